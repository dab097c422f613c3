"""How a budget is divided among the levels of an attribute, so that ranges cost least.

Reading level j with a share a_j of the budget has noise of variance 1/a_j**2, so for a vector f the least variance is
``f' G^-1 f`` with ``G = sum_j a_j**2 W_j'W_j`` (`tacit.decode.split.BlueTree`). Its mean F over a workload has the
derivative ``-2 a_j S_j``, S_j being the mean of ``|W_j x|**2`` with x = G^-1 f. At the best shares a_j S_j is the same
for all levels in use, which a multiplicative step approaches. Budgets multiply over attributes, and so do F's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.decode.functional import Vector
from tacit.decode.split import BlueTree
from tacit.layouts.levels import Levels
from tacit.schema import Categorical, Ordinal

__all__ = ["Shares", "shares_of"]

FANOUTS = (2, 3, 4, 5, 6, 8, 10, 12, 16)
"""Fan-outs that are tried beside the declared one."""

PARTS = 1_000
"""Shares are multiples of one thousandth: exact budgets that people can read."""

SMALLEST = 20
"""Levels with a smaller share, in thousandths, are left out."""

ROUNDS = 200
"""Steps of the optimisation: far beyond the digits that are kept."""

UNASKED = Fraction(1, 5)
"""Weight of questions that do not look at an attribute."""

SAMPLE = 2_000_000
"""Numbers in a workload: ranges times values."""


@dataclass(frozen=True)
class Shares:
    """The levels of an attribute and the share of the budget that each gets."""

    levels: Levels
    shares: tuple[Fraction, ...]
    cost: float
    """Mean variance of the workload's questions, in units of a single count's with the whole budget."""
    cells: float = math.nan
    """The same if only single values were counted: how many a question adds up."""

    @property
    def weights(self) -> Vector:
        """Squares of the shares: what a level's counts weigh."""
        return np.array([float(share) ** 2 for share in self.shares])


@lru_cache(maxsize=256)
def shares_of(attribute: Ordinal | Categorical) -> Shares:
    """Return the best levels and shares for an attribute, on random ranges (or sets of categories)."""
    if isinstance(attribute, Categorical):
        return _best(Levels.of(attribute), *_sets(attribute.size))
    ranges = _ranges(attribute.values, attribute.null)
    fanouts = [b for b in dict.fromkeys((attribute.fanout, *FANOUTS)) if b < attribute.values] or [attribute.fanout]
    tried = [_best(Levels.build(attribute.values, fanout=b, null=attribute.null), *ranges) for b in fanouts]
    return min(tried, key=lambda one: one.cost)


def _ranges(values: int, null: bool) -> tuple[Vector, Vector]:  # noqa: FBT001
    """Return random ranges and the whole, as rows, and their weights."""
    source = np.random.default_rng(values)  # a workload, not noise: the same for everybody
    ends = np.sort(source.integers(0, values, (max(16, min(200, SAMPLE // values)), 2)), axis=1)
    place = np.arange(values)
    rows = ((place >= ends[:, :1]) & (place <= ends[:, 1:])).astype(np.float64)
    return _with_whole(np.hstack([rows, np.zeros((len(rows), int(null)))]))


def _sets(size: int) -> tuple[Vector, Vector]:
    """Return random sets of categories and the whole, as rows, and their weights."""
    source = np.random.default_rng(size)
    rows = source.random((max(16, min(200, SAMPLE // size)), size)) < source.random((1, 1))
    return _with_whole(rows.astype(np.float64))


def _with_whole(rows: Vector) -> tuple[Vector, Vector]:
    weights = np.full(len(rows), float(1 - UNASKED) / len(rows))
    return np.vstack([rows, np.ones(rows.shape[1])]), np.append(weights, float(UNASKED))


def _best(levels: Levels, rows: Vector, weights: Vector) -> Shares:
    """Return the shares of least mean variance, in whole thousandths."""
    shares = np.full(len(levels), 1 / len(levels))
    for _ in range(ROUNDS if len(levels) > 1 else 0):
        pull = shares * _squares(levels, shares, rows, weights)
        shares = np.maximum(shares * (pull / pull.max()) ** 0.3, 1e-6)
        shares /= shares.sum()
    parts = np.floor(shares * PARTS).astype(np.int64)
    parts[:-1][parts[:-1] < SMALLEST] = 0
    parts[-1] = PARTS - parts[:-1].sum()
    exact = tuple(Fraction(int(part), PARTS) for part in parts)
    kept = parts / PARTS
    cost = float((kept**2 * _squares(levels, kept, rows, weights)).sum())
    return Shares(levels, exact, cost, float(weights @ rows.sum(axis=1)))


def _squares(levels: Levels, shares: Vector, rows: Vector, weights: Vector) -> Vector:
    sums = BlueTree(levels, shares**2).cell_sums(rows)
    return np.array([float(weights @ (level**2).sum(axis=1)) for level in sums])
