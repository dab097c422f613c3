"""Correct a fitted table where the data contradict it: where the data are precise, they decide.

A fitted table differs from the least-squares table along **directions**, each of which the data know with noise 1. They
are functions asked for most, if there are any: the first waves of an ordered attribute, which carry its mean, variance
and coarse ranges. Then come the eigenvectors of the data's information, from the best known to the least, as far as
they are orthogonal to the directions before. Blocks of m directions are corrected one by one; r is the sum of squares
of a block's differences.

**The first waves, and all directions of tables of up to `FEW` cells,** are least squares shrunk towards the fit:
1 - (m - 2) (1 - f) / r of the differences are added. Here f is the share of the data that the fit follows: the mean of
its derivatives, which are its posterior variances in units of noise. A fit that follows a share f of the data differs
from them by 1 - f of what they differ from the fit's own base, so this shrinks least squares towards that base by the
share of James and Stein, whose risk is not above that of least squares. Tables of two and three cells have too few
directions for that. They become least squares as far as the data are more precise than a uniform distribution over all
possible shares.

**Other directions** are either noise or larger by a factor e = r / m, which is likelier by

    log B = m (e - 1 - log e) / 2 - DOUBT,

and B / (1 + B) (1 - 1 / e) of the differences are added. A fit that is right stays as it is; one that is wrong by much
more than the noise becomes least squares.

Reference   James and Stein 1961; Stein 1981 (derivatives); Green and Strawderman 1991 (an unbiased estimate combined
            with a biased one).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from tacit.estimate.functional import Vector
from tacit.model.evidence import Observed
from tacit.model.nonnegative import nearest_shares

__all__ = ["FEW", "KNOWN", "MOST_CELLS", "draw_to_data"]

MOST_CELLS = 512
"""Maximum cells: a matrix of them is decomposed."""

DOUBT = 4.0
"""Logarithm of how much likelier it is at first that the differences of a block are noise."""

BLOCK = 6
"""Eigenvectors of the first block of them, which has the best-known ones; each further block has twice as many."""

SHRUNK = 3
"""Directions of a block from which on a fit can be better than least squares whatever is true."""

FEW = 12
"""Maximum cells of a table that is least squares shrunk towards the fit, whatever the fit's likelihood says."""

KNOWN = 1e-9
"""Information, relative to the largest, below which a direction counts as unobserved."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A corrected table: the directions that the data know with noise 1, with what share of them was added."""

    table: Vector
    directions: Vector
    share: Vector

    def variance(self, weights: Vector) -> Vector:
        """Return the variance of weighted sums of cells due to the noise of the data that was added."""
        onto = weights.reshape(len(weights), -1) @ self.directions
        return cast("Vector", (onto**2 * self.share).sum(axis=1))


def draw_to_data(observed: Observed, table: Vector, spread: Callable[[Vector], Vector], waves: Vector) -> Drawn:
    """Return a table of one attribute, or a small one of two whose margins are given, corrected by the data.

    ``spread`` returns the fit's posterior variance of weighted sums of cells; ``waves`` are functions asked for most,
    in columns.
    """
    most = MOST_CELLS if table.ndim == 1 else FEW
    if not 1 < table.size <= most or (table.ndim > 1 and (table.ndim > 2 or not table.all())):
        return Drawn(table, np.zeros((table.size, 0)), np.zeros(0))
    information = _information(observed)
    known, directions = _eigenvectors(information, observed.shape)
    root, small = np.sqrt(known), table.size <= FEW
    preferred = 0 if small else min(waves.shape[1], len(known) // 2)
    turned = _preferred_first(waves[:, :preferred].T @ directions / root) if preferred else np.eye(len(known))
    ways = directions / root @ turned
    off = ways.T @ -observed.gradient(table).ravel()
    share, start, size = np.zeros(len(known)), 0, preferred or BLOCK
    while start < len(known):
        stop = len(known) if len(known) - start < 2 * size else start + size
        part, count = slice(start, stop), stop - start
        if count < SHRUNK:
            share[part] = known[part] / (known[part] + (table.size + 1) * table.size)
        elif small or start < preferred:
            functions = (directions * root @ turned[:, part]).T.reshape(-1, *table.shape)
            followed = float(np.minimum(spread(functions), 1.0).mean())
            share[part] = _part_beside_fit(float(off[part] @ off[part]), count, followed)
        else:
            share[part] = _part_if_wrong(float(off[part] @ off[part]) / count, count)
        start, size = stop, (BLOCK if start < preferred else 2 * size)
    moved = nearest_shares(table.ravel() + ways @ (share * off), information, float(table.sum()))
    return Drawn(moved.reshape(table.shape), ways, share)


def _information(observed: Observed) -> Vector:
    """Return the matrix of what the data know about cells."""
    cells = math.prod(observed.shape)
    if len(observed.stacks) == 1:
        [stack] = observed.stacks
        matrix: Vector = stack.T @ (observed.weight[:, None] * stack)
        return matrix
    return observed.information(np.eye(cells).reshape(-1, *observed.shape)).reshape(cells, cells)


def _eigenvectors(information: Vector, shape: tuple[int, ...]) -> tuple[Vector, Vector]:
    """Return what the data know about directions, and these, from the best known; sums along each axis are given."""
    inside: Vector = np.eye(1)
    for size in shape:
        inside = np.kron(inside, np.eye(size) - 1 / size).astype(np.float64)
    known, directions = np.linalg.eigh(inside @ information @ inside)
    order = np.argsort(-known)
    order = order[known[order] > KNOWN * known[order[0]]] if known[order[0]] > 0 else order[:0]
    return known[order], directions[:, order]


def _preferred_first(functions: Vector) -> Vector:
    """Return orthogonal directions in columns: those that functions (rows) depend on, then the others in order."""
    count = functions.shape[1]
    turned: Vector = np.linalg.qr(np.concatenate([np.linalg.qr(functions.T)[0], np.eye(count)], axis=1))[0]
    return turned


def _part_beside_fit(squares: float, count: int, followed: float) -> float:
    """Return which part of differences is added to a fit that follows a share of the data."""
    return 1 - min(1.0, (count - 2) * (1 - followed) / squares) if squares > 0 else 0.0


def _part_if_wrong(excess: float, count: int) -> float:
    """Return which part of differences is added, given their mean square in units of noise."""
    if excess <= 1:
        return 0.0
    likelier = count * (excess - 1 - math.log(excess)) / 2 - DOUBT
    return (1 - 1 / excess) / (1 + math.exp(-min(likelier, 50.0)))
