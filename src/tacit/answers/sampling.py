"""Second moments from some of the codes: whole clusters of each view, corrected by what is known of all of them.

Errors need sums of squares of what people add, which is known for every code but costs a look at each. A view's codes
are sampled by clusters: of a linear hash, all answers to one seed, which together show every cell as often as any
other. What all reports of the view add is known from its table, so the sample is corrected by regression on it. That
leaves next to no error where a total is about a single cell, as groups are: there the square is a linear function of
what is added.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.contract.contract import Channel
from tacit.estimate.functional import Vector

__all__ = ["CodeCounts", "Control", "Part", "sample_parts"]

Codes = npt.NDArray[np.int64]

MOST_NUMBERS = 2**40
"""Numbers of strata before those that do not occur are left out."""


@dataclass(frozen=True, eq=False, repr=False)
class CodeCounts:
    """What the engine added up, in the order of codes: a row for each code and public group; people come first."""

    codes: Codes
    group: Codes
    columns: list[Vector]
    groups: int

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(array.nbytes for array in (self.codes, self.group, *self.columns))

    def of_group(self, group: int, column: int) -> tuple[Codes, Vector]:
        """Return the codes of a group and what a column says of them."""
        if self.groups == 1:
            return self.codes, self.columns[column]
        rows = np.flatnonzero(self.group == group)
        return self.codes[rows], self.columns[column][rows]

    @cached_property
    def strata(self) -> tuple[Codes, int]:
        """The stratum of each row, and how many there are: public groups, by which weights are zero."""
        number, numbers = self.group, self.groups
        for column in self.columns[1:]:
            number, numbers = 2 * number + (column != 0), 2 * numbers
            if numbers > MOST_NUMBERS:
                number = np.unique(number, return_inverse=True)[1]
                numbers = int(number.max(initial=0)) + 1
        present, stratum = np.unique(number, return_inverse=True)
        return stratum, len(present)

    def bounds(self, channel: Channel) -> Codes:
        """Return where each view's codes begin and end."""
        return np.searchsorted(self.codes, [*(view.offset for view in channel.views), channel.alphabet])


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """Some codes of a view, counted within it, and columns x groups x codes that stand for all of its codes."""

    view: int
    codes: Codes
    weights: Vector
    is_sample: bool


def sample_parts(channel: Channel, counts: CodeCounts, read: frozenset[int], quota: int) -> Iterator[Part]:
    """Yield parts of all views, with about as many codes in all as the quota.

    All codes of a view that is not read add the same, so one stands for them. Few codes of the others are taken all, of
    many whole clusters: as many of each stratum, so that a small group, or a rare condition, is not left to chance.
    Weights are as much larger as a sample may be too small.
    """
    bounds = counts.bounds(channel)
    sizes = np.diff(bounds)
    wanted = dict(zip(sorted(read), _divide(quota, sizes[sorted(read)]).tolist(), strict=True))
    stratum, strata = counts.strata
    for number, view in enumerate(channel.views):
        rows = np.arange(bounds[number], bounds[number + 1])
        if not len(rows):
            continue
        if number not in read:
            together = [
                np.bincount(counts.group[rows], column[rows], minlength=counts.groups) for column in counts.columns
            ]
            weights = np.stack(together).astype(np.float64)[:, :, None]
            yield Part(number, np.zeros(1, dtype=np.int64), weights, is_sample=False)
            continue
        scale, is_sample = np.ones(len(rows)), wanted[number] < len(rows)
        if is_sample:
            own = stratum[rows]
            chosen = _in_clusters(view.oracle.cluster(counts.codes[rows] - view.offset), own, strata, wanted[number])
            everybody = np.bincount(own, counts.columns[0][rows], minlength=strata)
            rows, own = rows[chosen], own[chosen]
            taken = np.bincount(own, counts.columns[0][rows], minlength=strata)
            scale = (everybody / np.maximum(taken, 1))[own] * (1 + 1 / math.sqrt(quota))
        codes, place = np.unique(counts.codes[rows] - view.offset, return_inverse=True)
        weights = np.zeros((len(counts.columns), counts.groups, len(codes)))
        for column, values in enumerate(counts.columns):
            weights[column, counts.group[rows], place] = values[rows] * scale
        yield Part(number, codes, weights, is_sample=is_sample)


def _divide(quota: int, sizes: Codes) -> Codes:
    """Divide a number of codes evenly; what one does not need goes to those that have more."""
    wanted = np.zeros(len(sizes), dtype=np.int64)
    order = np.argsort(sizes, kind="stable")
    for place, number in enumerate(order.tolist()):
        wanted[number] = min(int(sizes[number]), math.ceil(quota / (len(order) - place)))
        quota = max(0, quota - int(wanted[number]))
    return wanted


def _in_clusters(cluster: Codes, stratum: Codes, strata: int, wanted: int) -> npt.NDArray[np.bool_]:
    """Mark the members of random clusters, the same ones in all strata, until each stratum has its part of them."""
    first = np.diff(cluster, prepend=cluster[0] - 1) != 0  # members of a cluster are next to each other
    number = np.cumsum(first) - 1
    rank = np.random.default_rng(len(cluster)).permutation(int(number[-1]) + 1)[number]
    sizes = np.bincount(stratum, minlength=strata)
    part = _divide(wanted, sizes)
    ordered = rank[np.lexsort((rank, stratum))]
    last = np.cumsum(sizes) - sizes + part - 1
    limit = np.where(part > 0, ordered[np.maximum(last, 0)], -1)
    return np.asarray(rank <= limit[stratum])


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
