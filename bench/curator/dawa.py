"""DAWA, as a comparator: its partition as its authors' program makes it, then a hierarchy over the buckets.

A quarter of the budget chooses intervals of 1, 2, 4, … cells by the sum of distances from their mean, with Laplace
noise of scale (2 - 1/length - 1/cells) / epsilon on intervals of two cells and more, at least 0, plus the error of
counting one. The rest counts the buckets by blue, which is at least as good a hierarchy as the authors' for random
ranges. Two attributes follow Hilbert's curve. Noise of the choice is continuous and drawn by numpy: for comparison
only. The choice is not epsilon-private as it stands: see decision 0092.

Reference   Li, Hay and Miklau 2014.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tacit.central.blue import Views, aggregate
from tacit.central.noise import OpenDp
from tacit.central.shares import shares_of
from tacit.contract.schema import Ordinal

__all__ = ["dawa"]

SHARE = 0.25


def dawa(table: np.ndarray, epsilon: float, source: np.random.Generator) -> np.ndarray:
    """Return estimates of all cells of a table of one or two attributes."""
    order = np.arange(table.size) if table.ndim == 1 else _hilbert(table.shape)
    counts = table.ravel()[order]
    starts = _buckets(counts, SHARE * epsilon, (1 - SHARE) * epsilon, source)
    sums = np.add.reduceat(counts, starts)
    shares = shares_of(Ordinal("run", 0, len(starts) - 1), Fraction(0))
    rest = Fraction((1 - SHARE) * epsilon).limit_denominator(10**6)
    views = Views((len(starts),), rest, [(shares.levels, shares.shares)])
    for depths, law in views.laws.items():
        views.counts[depths] = OpenDp().noisy(aggregate(sums, views.levels_of(depths)), law)
    lengths = np.diff(np.append(starts, len(counts)))
    made = np.empty(table.size)
    made[order] = np.repeat(views.cell_estimates() / lengths, lengths)
    return made.reshape(table.shape)


def _buckets(counts: np.ndarray, choice: float, rest: float, source: np.random.Generator) -> np.ndarray:
    cells = len(counts)
    below = np.concatenate([[0], np.cumsum(counts)])
    costs, length = [], 1
    while length <= cells:
        first = np.arange(0, cells - length + 1, max(1, length // 32))
        windows = np.lib.stride_tricks.sliding_window_view(counts, length)
        off = np.empty(len(first))
        for start in range(0, len(first), max(1, 2**21 // length)):
            some = first[start : start + max(1, 2**21 // length)]
            mean = (below[some + length] - below[some]) / length
            off[start : start + len(some)] = np.abs(windows[some] - mean[:, None]).sum(axis=1)
        if length > 1:
            off += source.laplace(0, (2 - 1 / length - 1 / cells) / choice, len(first))
        own = np.full(cells, np.inf)
        own[first] = np.maximum(off, 0) + 1 / rest
        costs.append((length, own.tolist()))
        length *= 2
    least, came = [0.0] + [np.inf] * cells, [0] * (cells + 1)
    for end in range(1, cells + 1):
        for length, cost_at in costs:
            if length > end:
                break
            cost = least[end - length] + cost_at[end - length]
            if cost <= least[end]:
                least[end], came[end] = cost, length
    starts, end = [], cells
    while end:
        end -= came[end]
        starts.append(end)
    return np.array(starts[::-1])


def _hilbert(shape: tuple[int, ...]) -> np.ndarray:
    """Return the cells of a square table, whose side is a power of two, along Hilbert's curve."""
    side = max(shape)
    distance = np.arange(side * side)
    x, y, left = np.zeros_like(distance), np.zeros_like(distance), distance.copy()
    step = 1
    while step < side:
        right = 1 & (left // 2)
        up = 1 & (left ^ right)
        turn, flip = up == 0, (up == 0) & (right == 1)
        x, y = np.where(flip, step - 1 - x, x), np.where(flip, step - 1 - y, y)
        x, y = np.where(turn, y, x), np.where(turn, x, y)
        x, y = x + step * right, y + step * up
        left //= 4
        step *= 2
    return x * side + y
