"""Correct a fitted table where the data contradict it: where the data are precise, they decide.

Along the eigenvectors of the data's information, from the best known to the least, a fitted table differs from the
least-squares table by coefficients whose noise is known. Where the fit is right these differences are pure noise.
Directions of about the same information form a block. Either the m differences of a block are noise, or they are larger
by a factor: e is the sum of their squares in units of noise, over m. The second is more likely by

    log B = m (e - 1 - log e) / 2 - DOUBT,

and B / (1 + B) (1 - 1 / e) of the differences is added to the table. A fit that is right stays as it is; one that is
wrong by much more than the noise becomes least squares. Tables of two and three cells have too few directions for a fit
to be better than least squares wherever the truth lies. They become least squares as far as the data are more precise
than a uniform distribution over all possible shares. Tables of up to `FEW` cells add the share of James and Stein,
1 - (m - 2) / (m e), with which the risk is not above that of least squares: so few differences say little for a fit.

Reference   James and Stein 1961; Efron and Morris 1973 (combining possibly related estimation problems).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np

from tacit.estimate.functional import Vector
from tacit.model.evidence import Observed
from tacit.model.nonnegative import norm_sub

__all__ = ["MOST_CELLS", "draw_to_data"]

MOST_CELLS = 512
"""Maximum cells: a matrix of them is decomposed."""

DOUBT = 4.0
"""Logarithm of how much likelier it is at first that the differences of a block are noise."""

BLOCK = 6
"""Directions of the first block, which has the best-known ones; each further block has twice as many."""

SHRUNK = 3
"""Directions of a block from which on a fit can be better than least squares whatever is true."""

FEW = 12
"""Maximum cells of a table that is least squares shrunk towards the fit, whatever the fit's likelihood says."""

KNOWN = 1e-9
"""Information, relative to the largest, below which a direction counts as unobserved."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A corrected table: the directions along which the data are known, with what share of them was added."""

    table: Vector
    directions: Vector
    known: Vector
    share: Vector

    def variance(self, weights: Vector) -> Vector:
        """Return the variance of weighted sums of cells due to the noise of the data that was added."""
        onto = weights.reshape(len(weights), -1) @ self.directions
        return cast("Vector", (onto**2 * (self.share / self.known)).sum(axis=1))


def draw_to_data(observed: Observed, table: Vector) -> Drawn:
    """Return a table of one attribute, or a small one of two whose margins are given, corrected by the data."""
    most = MOST_CELLS if table.ndim == 1 else FEW
    if not 1 < table.size <= most or (table.ndim > 1 and (table.ndim > 2 or not table.all())):
        return Drawn(table, np.zeros((table.size, 0)), np.zeros(0), np.zeros(0))
    known, directions = _directions(observed)
    off = directions.T @ -observed.gradient(table).ravel() / known
    moved, start, size, added = table.ravel().copy(), 0, BLOCK, np.zeros(len(known))
    while start < len(known):
        stop = len(known) if len(known) - start < 2 * size else start + size
        part = slice(start, stop)
        excess = float((known[part] * off[part] ** 2).mean())
        share = known[part] / (known[part] + (table.size + 1) * table.size)
        if stop - start >= SHRUNK:
            share = np.full(stop - start, _share_to_add(excess, stop - start, table.size))
        added[part] = share
        moved += directions[:, part] @ (share * off[part])
        start, size = stop, 2 * size
    return Drawn(norm_sub(moved, float(table.sum())).reshape(table.shape), directions, known, added)


def _directions(observed: Observed) -> tuple[Vector, Vector]:
    """Return what the data know about directions, and these, from the best known; sums along each axis are given."""
    cells = math.prod(observed.shape)
    if len(observed.stacks) == 1:
        [stack] = observed.stacks
        information = stack.T @ (observed.weight[:, None] * stack)
    else:
        information = observed.information(np.eye(cells).reshape(-1, *observed.shape)).reshape(cells, cells)
    inside: Vector = np.eye(1)
    for size in observed.shape:
        inside = np.kron(inside, np.eye(size) - 1 / size).astype(np.float64)
    known, directions = np.linalg.eigh(inside @ information @ inside)
    order = np.argsort(-known)
    order = order[known[order] > KNOWN * known[order[0]]] if known[order[0]] > 0 else order[:0]
    return known[order], directions[:, order]


def _share_to_add(excess: float, count: int, cells: int) -> float:
    """Return which part of some differences is added, given their mean square in units of noise."""
    if cells <= FEW:
        return max(0.0, 1 - (count - 2) / (count * excess)) if excess > 0 else 0.0
    if excess <= 1:
        return 0.0
    likelier = count * (excess - 1 - math.log(excess)) / 2 - DOUBT
    return (1 - 1 / excess) / (1 + math.exp(-min(likelier, 50.0)))
