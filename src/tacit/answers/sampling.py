"""Second moments from some of the codes: whole clusters of each view, corrected by what is known of all of them.

Errors need sums of squares of what people add, which is known for every code but costs a look at each. A view's codes
are sampled by clusters: of a linear hash, all answers to one seed, which together show every cell as often as any
other. What all reports of the view add is known from its table, so the sample is corrected by regression on it. That
leaves next to no error where a total is about a single cell, as groups are: there the square is a linear function of
what is added.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.contract.contract import Channel
from tacit.estimate.functional import Vector

__all__ = ["CodeCounts", "Control", "Part", "sampled"]

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CodeCounts:
    """What the engine added up, in the order of codes: a row for each code and public group; people come first."""

    codes: Codes
    group: Codes
    columns: list[Vector]
    groups: int

    def bounds(self, channel: Channel) -> Codes:
        """Return where each view's codes begin and end."""
        return np.searchsorted(self.codes, [*(view.offset for view in channel.views), channel.alphabet])


@dataclass(frozen=True, eq=False)
class Part:
    """Some codes of a view, counted within it, and columns x groups x codes that stand for all of its codes."""

    view: int
    codes: Codes
    weights: Vector
    is_sample: bool


def sampled(channel: Channel, counts: CodeCounts, read: frozenset[int], quota: int) -> Iterator[Part]:
    """Yield parts of all views, with about as many codes in all as the quota.

    All codes of a view that is not read add the same, so one stands for them. Few codes of the others are taken all, of
    many whole clusters; weights are as much larger as a sample may be too small.
    """
    bounds = counts.bounds(channel)
    sizes = {number: int(bounds[number + 1] - bounds[number]) for number in range(len(channel.views))}
    wanted = _divided(quota, {number: size for number, size in sizes.items() if number in read})
    for number, view in enumerate(channel.views):
        own = slice(bounds[number], bounds[number + 1])
        if not sizes[number]:
            continue
        if number not in read:
            together = [_by_group(counts, own, column) for column in counts.columns]
            yield Part(number, np.zeros(1, dtype=np.int64), np.stack(together)[:, :, None], is_sample=False)
            continue
        rows, scale = np.arange(own.start, own.stop), np.ones(counts.groups)
        is_sample = wanted[number] < len(rows)
        if is_sample:
            rows = rows[_in_clusters(view.oracle.cluster(counts.codes[own] - view.offset), wanted[number])]
            everybody, taken = (_by_group(counts, some, counts.columns[0]) for some in (own, rows))
            scale = np.divide(everybody, taken, out=np.ones(counts.groups), where=taken > 0)
            scale *= 1 + 1 / math.sqrt(quota)
        codes, place = np.unique(counts.codes[rows] - view.offset, return_inverse=True)
        weights = np.zeros((len(counts.columns), counts.groups, len(codes)))
        for column, values in enumerate(counts.columns):
            weights[column, counts.group[rows], place] = values[rows]
        yield Part(number, codes, weights * scale[:, None], is_sample=is_sample)


def _by_group(counts: CodeCounts, rows: slice | Codes, column: Vector) -> Vector:
    """Return the sums of a column over some rows, for each group."""
    return np.bincount(counts.group[rows], column[rows], minlength=counts.groups).astype(np.float64)


def _divided(quota: int, sizes: Mapping[int, int]) -> dict[int, int]:
    """Divide a number of codes evenly among views; what a view does not need goes to the larger ones."""
    wanted: dict[int, int] = {}
    views = sorted(sizes.items(), key=lambda one: one[1])
    for place, (number, size) in enumerate(views):
        wanted[number] = min(size, math.ceil(quota / (len(views) - place)))
        quota = max(0, quota - wanted[number])
    return wanted


def _in_clusters(cluster: Codes, wanted: int) -> npt.NDArray[np.bool_]:
    """Mark the members of random clusters, about as many as wanted; those of one cluster are next to each other."""
    starts = np.flatnonzero(np.diff(cluster, prepend=cluster[0] - 1))
    sizes = np.diff(starts, append=len(cluster))
    order = np.random.default_rng(len(cluster)).permutation(len(starts))
    chosen = np.zeros(len(starts), dtype=np.bool_)
    chosen[order[: 1 + int(np.searchsorted(np.cumsum(sizes[order]), wanted))]] = True
    return np.repeat(chosen, sizes)


class Control:
    """The regression of products of two totals on both of them, over a sample of one view's codes, for each group."""

    def __init__(self, left: Codes, right: Codes, groups: int, totals: int) -> None:
        self._left, self._right = left, right
        self._people = np.zeros((groups, 1))
        self._sums, self._squares = np.zeros((groups, totals)), np.zeros((groups, totals))
        self._products, self._by_left, self._by_right = (np.zeros((groups, len(left))) for _ in range(3))

    def add(self, weights: Vector, values: Vector, both: Vector) -> None:
        """Add codes: groups x codes, codes x totals, codes x pairs."""
        self._people += weights.sum(axis=1, keepdims=True)
        self._sums += weights @ values
        self._squares += weights @ np.square(values)
        self._products += weights @ both
        self._by_left += weights @ (both * values[:, self._left])
        self._by_right += weights @ (both * values[:, self._right])

    def correction(self, known: Vector) -> Vector:
        """Return what to add to the sums of products, given the sums of the totals over all of the view's codes."""
        people = np.maximum(self._people, 1.0)
        mean, product = self._sums / people, self._products / people
        spread = np.maximum(self._squares / people - mean**2, 0.0)
        left, right = mean[:, self._left], mean[:, self._right]
        a, b = spread[:, self._left], spread[:, self._right]
        both = np.where(self._left == self._right, a, product - left * right)
        by_left, by_right = self._by_left / people - product * left, self._by_right / people - product * right
        determinant = a * b - both**2
        alone = determinant <= 1e-9 * a * b  # the two totals are one, or go together
        safe, size = np.where(alone, 1.0, determinant), np.where(a > 0, a, 1.0)
        slope_left = np.where(alone, np.where(a > 0, by_left / size, 0.0), (by_left * b - by_right * both) / safe)
        slope_right = np.where(alone, 0.0, (by_right * a - by_left * both) / safe)
        missing = known - self._sums
        corrected: Vector = slope_left * missing[:, self._left] + slope_right * missing[:, self._right]
        return corrected
