"""DAWA, as a comparator: its partition as its authors' program makes it, then a hierarchy over the buckets.

A quarter of the budget chooses intervals of 1, 2, 4, … cells by the sum of distances from their mean, with Laplace
noise of scale (2 - 1/length - 1/cells) / epsilon on intervals of two cells and more, at least 0, plus the error of
counting one. The rest counts the buckets by the authors' hierarchy, Greedy-H, which is weighted for the very questions
that are then asked; above `MOST` buckets by blue. Two attributes follow Hilbert's curve. Long intervals start at every
32nd part of their length, not at every cell. Noise is continuous and drawn by numpy: for comparison only. The choice is
not epsilon-private as it stands: see decision 0092.

Reference   Li, Hay and Miklau 2014.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.central.blue import Views, aggregate
from tacit.central.noise import OpenDp
from tacit.central.shares import shares_of
from tacit.contract.schema import Ordinal

__all__ = ["dawa"]

Array = npt.NDArray[Any]

SHARE = 0.25
"""Part of the budget that chooses the buckets."""

MOST = 3_000
"""Most buckets that Greedy-H counts: it needs a matrix of all pairs."""


def dawa(table: Array, epsilon: float, source: np.random.Generator, questions: Iterable[Array]) -> Array:
    """Return estimates of all cells of a table of one or two attributes, for questions about its cells."""
    if table.ndim > 1:  # as its authors do: the curve runs through a square whose side is a power of two
        side, shape = 1 << (max(table.shape) - 1).bit_length(), table.shape
        padding = [(0, side - size) for size in shape]
        if any(behind for _, behind in padding):
            padded = (np.pad(question, padding) for question in questions)
            return dawa(np.pad(table, padding), epsilon, source, padded)[: shape[0], : shape[1]]
    order = np.arange(table.size) if table.ndim == 1 else _hilbert(table.shape)
    counts, rest = table.ravel()[order], (1 - SHARE) * epsilon
    starts = _buckets(counts, SHARE * epsilon, rest, source)
    sums, lengths = np.add.reduceat(counts, starts), np.diff(np.append(starts, len(counts)))
    if len(starts) <= MOST:
        means = np.array([np.add.reduceat(question.ravel()[order], starts) / lengths for question in questions])
        found = _by_greedy(sums, means.T @ means, rest, source)
    else:
        found = _by_blue(sums, rest)
    made = np.empty(table.size)
    made[order] = np.repeat(found / lengths, lengths)
    return made.reshape(table.shape)


def _by_blue(sums: Array, epsilon: float) -> Array:
    shares = shares_of(Ordinal("run", 0, len(sums) - 1), Fraction(0))
    views = Views((len(sums),), Fraction(epsilon).limit_denominator(10**6), [(shares.levels, shares.shares)])
    for depths, law in views.laws.items():
        views.counts[depths] = OpenDp().noisy(aggregate(sums, views.levels_of(depths)), law)
    return views.cell_estimates()


def _by_greedy(sums: Array, gram: Array, epsilon: float, source: np.random.Generator) -> Array:
    """Return least squares of noisy weighted sums of the runs of a binary tree; a cell's weights add up to 1."""
    _, inverse, asked = _greedy(gram, 0, len(sums), 0)
    below, read = np.concatenate([[0], np.cumsum(sums)]), np.zeros(len(sums))
    for weight, first, behind in asked:
        read[first:behind] += weight * (weight * (below[behind] - below[first]) + source.laplace(0, 1 / epsilon))
    return inverse @ read


def _greedy(gram: Array, first: int, behind: int, depth: int) -> tuple[float, Array, list[tuple[float, int, int]]]:
    """Return a subtree's error, the inverse of its normal matrix, and its runs with their weights.

    A node's weight w is a percentage, its halves' weights are scaled by 1 - w: the least error of the node's questions,
    where what its own sum improves counts less the deeper it is.
    """
    size, columns = behind - first, gram[:, first:behind]
    if size == 1 or not np.ptp(columns, axis=1).any():
        return float((columns[:, 0] ** 2).sum()), np.full((size, size), 1 / size**2), [(1.0, first, behind)]
    half = size // 2
    parts = [(first, first + half), (first + half, behind)]
    solved = [_greedy(gram, *part, depth + 1) for part in parts]
    inverse = np.zeros((size, size))
    inverse[:half, :half], inverse[half:, half:] = solved[0][1], solved[1][1]
    total = inverse.sum(axis=0)
    halves = sum(float(((columns[:, s] @ total[s]) ** 2).sum()) for s in (slice(0, half), slice(half, None)))
    less = 0.5 ** (depth / 2)
    gain = (float(((columns @ total) ** 2).sum()) - halves) * less + halves
    weight = np.arange(100) / 100
    ratio = less * weight**2 / ((1 - weight) ** 2 + less * weight**2 * total.sum())
    errors = (sum(error for error, _, _ in solved) - gain * ratio) / (1 - weight) ** 2
    best = float(weight[np.argmin(errors)])
    shrunk = best**2 / ((1 - best) ** 2 + best**2 * total.sum())
    asked = [((1 - best) * own, a, b) for _, _, below in solved for own, a, b in below]
    asked += [(best, first, behind)] if best else []
    return float(errors.min()), (inverse - shrunk * np.outer(total, total)) / (1 - best) ** 2, asked


def _buckets(counts: Array, choice: float, rest: float, source: np.random.Generator) -> Array:
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


def _hilbert(shape: tuple[int, ...]) -> Array:
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
