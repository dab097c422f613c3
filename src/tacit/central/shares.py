"""How to split a budget among the levels of an attribute, so that ranges have the least error.

Reading level j with a share a_j of the budget has noise of variance 1/a_j**2, so for a vector f the least variance is
``f' G^-1 f`` with ``G = sum_j a_j**2 W_j'W_j`` (`tacit.estimate.split.BlueTree`). Its mean F over a workload has the
derivative ``-2 a_j S_j``, S_j being the mean of ``|W_j x|**2`` with x = G^-1 f. At the best shares a_j S_j is the same
for all levels in use, which a multiplicative step approaches. Budgets multiply over attributes, and so do F's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.contract.layouts.levels import Levels
from tacit.contract.schema import Categorical, Ordinal, Service
from tacit.estimate.functional import Vector
from tacit.estimate.split import BlueTree

__all__ = ["Shares", "service_shares", "shares_of"]

FANOUTS = (2, 4, 8, 16)
"""Fan-outs tried in addition to the declared one."""

PARTS = 1_000
"""Shares are multiples of one thousandth: exact budgets that people can read."""

SMALLEST = 20
"""Levels with a smaller share, in thousandths, are left out."""

ROUNDS = 60
"""Steps of the optimisation: enough for all digits kept."""

FEW, UNASKED = 2, Fraction(1, 5)
"""Weight of questions that leave an attribute out, where there are more than a few attributes; else none does."""

SAMPLE = 20_000
"""Maximum numbers in a workload: ranges times values."""


@dataclass(frozen=True)
class Shares:
    """The levels of an attribute, and each one's share of the budget."""

    levels: Levels
    shares: tuple[Fraction, ...]
    cost: float
    """Mean variance of the workload's questions, in units of a single count's with the whole budget."""
    cells: float = math.nan
    """The same if only single values were counted: how many a question adds up."""

    @property
    def weights(self) -> Vector:
        """Squares of the shares: the weights of the levels' counts."""
        return np.array([float(share) ** 2 for share in self.shares])


def service_shares(service: Service) -> list[Shares]:
    """Return the levels and shares of all attributes of a service."""
    unasked = UNASKED if len(service.sensitive) > FEW else Fraction(0)
    return [shares_of(attribute, unasked) for attribute in service.sensitive]


@lru_cache(maxsize=256)
def shares_of(attribute: Ordinal | Categorical, unasked: Fraction) -> Shares:
    """Return the best levels and shares for an attribute, on random ranges (or sets of categories) and the whole."""
    if isinstance(attribute, Categorical):
        return _best(Levels.of(attribute), *_with_whole(_sets(attribute.size), float(unasked)))
    ranges = _with_whole(_ranges(attribute.values, attribute.null), float(unasked))
    fanouts = [b for b in dict.fromkeys((attribute.fanout, *FANOUTS)) if b < attribute.values] or [attribute.fanout]
    tried = [_best(Levels.build(attribute.values, fanout=b, null=attribute.null), *ranges) for b in fanouts]
    return min(tried, key=lambda shares: shares.cost)


def _count(values: int) -> int:
    return max(16, min(200, SAMPLE // values))


def _ranges(values: int, null: bool) -> Vector:  # noqa: FBT001
    """Return random ranges as rows; NULL is in none."""
    source = np.random.default_rng(values)  # a workload, not noise: the same for everybody
    ends = np.sort(source.integers(0, values, (_count(values), 2)), axis=1)
    place = np.arange(values)
    rows = ((place >= ends[:, :1]) & (place <= ends[:, 1:])).astype(np.float64)
    return np.hstack([rows, np.zeros((len(rows), int(null)))])


def _sets(size: int) -> Vector:
    """Return random sets of categories as rows."""
    source = np.random.default_rng(size)
    return (source.random((_count(size), size)) < source.random((_count(size), 1))).astype(np.float64)


def _with_whole(rows: Vector, unasked: float) -> tuple[Vector, Vector]:
    """Return rows and the whole, and how often each is asked for."""
    weights = np.full(len(rows), (1 - unasked) / len(rows))
    return np.vstack([rows, np.ones(rows.shape[1])]), np.append(weights, unasked)


def _best(levels: Levels, rows: Vector, weights: Vector) -> Shares:
    """Return the shares of least mean variance, in whole thousandths."""
    shares = np.full(len(levels), 1 / len(levels))
    for _ in range(ROUNDS if len(levels) > 1 else 0):
        pull = shares * _squares(levels, shares, rows, weights)
        shares = np.maximum(shares * (pull / pull.max()) ** 0.5, 1e-6)
        shares /= shares.sum()
    parts = np.floor(shares * PARTS).astype(np.int64)
    parts[:-1][parts[:-1] < SMALLEST] = 0
    parts[-1] = PARTS - parts[:-1].sum()
    exact = tuple(Fraction(int(part), PARTS) for part in parts)
    rounded = parts / PARTS
    cost = float((rounded**2 * _squares(levels, rounded, rows, weights)).sum())
    return Shares(levels, exact, cost, float(weights @ rows.sum(axis=1)))


def _squares(levels: Levels, shares: Vector, rows: Vector, weights: Vector) -> Vector:
    sums = BlueTree(levels, shares**2).cell_sums(rows)
    return np.array([float(weights @ (level**2).sum(axis=1)) for level in sums])
