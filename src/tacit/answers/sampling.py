"""Second moments from a sample of the codes: whole clusters of each view, corrected with known totals.

Errors need sums of squared contributions, which are known for every code but costly to compute for all. A view's codes
are sampled by clusters: for a linear hash, all answers to one seed, which together show every cell equally often. The
sum of contributions over all reports of the view is known from its table, so `tacit.answers.moments` corrects the
sample by regression on it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.contract.contract import Channel
from tacit.contract.oracles import Reader
from tacit.contract.oracles.base import Codes
from tacit.estimate.blocks import Way, known_row, rows_of_codes
from tacit.estimate.functional import Vector
from tacit.estimate.tallies import Tallies

__all__ = ["GroupedCodes", "Part", "Sample", "Stack", "enough_codes", "sample_parts"]

LEAST = 16
"""Minimum codes sampled from a view, however small its share in the variance."""

FEW_CODES = 2**9
"""Codes of a view that are no more than what is taken of it."""

USUAL_RATE = 1 / 8
"""Share of a view's codes that support a cell, for which quotas were chosen: that of a linear hash at 2 nats."""

MOST_CODES = 2**16
"""Codes up to which a sample grows because few of them support a cell."""

MOST_NUMBERS = 2**40
"""Maximum number of strata before empty ones are removed."""


@dataclass(frozen=True, eq=False, repr=False)
class GroupedCodes:
    """The engine's sums, in the order of codes: a row per code and public group; the first column counts people."""

    codes: Codes
    group: Codes
    columns: list[Vector]
    groups: int

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(array.nbytes for array in (self.codes, self.group, *self.columns))

    def of_group(self, group: int, column: int) -> tuple[Codes, Vector]:
        """Return the codes of a group and their values in a column."""
        if self.groups == 1:
            return self.codes, self.columns[column]
        rows = np.flatnonzero(self.group == group)
        return self.codes[rows], self.columns[column][rows]

    @cached_property
    def people(self) -> Vector:
        """How many people each group has."""
        return np.asarray(np.bincount(self.group, self.columns[0], minlength=self.groups), np.float64)

    @cached_property
    def strata(self) -> tuple[Codes, int]:
        """The stratum of each row, and how many there are: public groups, by which weights are zero."""
        if self.groups == len(self.columns) == 1:
            return np.zeros(len(self.codes), dtype=np.int64), min(1, len(self.codes))
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
    """A sample of a view's codes, numbered within it, with weights (columns x groups x codes) for all its codes."""

    view: int
    codes: Codes
    weights: Vector
    is_sample: bool


def sample_parts(channel: Channel, counts: GroupedCodes, read: Mapping[int, float], quota: int) -> Iterator[Part]:
    """Yield samples of all views, with about as many codes in total as the quota.

    ``read`` has the views that the question reads, each with its share in the variance. All codes of any other view
    contribute the same, so one represents them. From the views that are read, all codes are taken if they are few, else
    whole clusters, more where the share is larger, and equally many from each stratum, so that small groups and rare
    conditions are represented. Weights are scaled up for what is not sampled.
    """
    bounds = counts.bounds(channel)
    sizes = np.diff(bounds)
    views = sorted(read)
    numbers = _divide_by_shares(quota, sizes[views], np.array([read[view] for view in views]))
    wanted = dict(zip(views, numbers.tolist(), strict=True))
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
            levels = stratum[rows]
            chosen = _in_clusters(view.oracle.cluster(counts.codes[rows] - view.offset), levels, strata, wanted[number])
            everybody = np.bincount(levels, counts.columns[0][rows], minlength=strata)
            rows, levels = rows[chosen], levels[chosen]
            taken = np.bincount(levels, counts.columns[0][rows], minlength=strata)
            scale = (everybody / np.maximum(taken, 1))[levels] * (1 + 0.5 / math.sqrt(quota))
        codes = counts.codes[rows] - view.offset
        is_new = np.diff(codes, prepend=-1) != 0  # rows are in the order of codes
        codes, place = codes[is_new], np.cumsum(is_new) - 1
        weights = np.zeros((len(counts.columns), counts.groups, len(codes)))
        for column, values in enumerate(counts.columns):
            weights[column, counts.group[rows], place] = values[rows] * scale
        yield Part(number, codes, weights, is_sample=is_sample)


def enough_codes(channel: Channel, shares: Mapping[int, float], quota: int) -> int:
    """Return how many codes to sample, given how many are enough where one in eight codes supports a cell.

    The squares of a cell's contributions come from the codes that support it: with a large epsilon, these are few.
    """
    rates = [(share, channel.views[view].oracle) for view, share in shares.items()]
    rates = [(share, oracle) for share, oracle in rates if oracle.alphabet > FEW_CODES]  # all codes of others are taken
    total = sum(share for share, _ in rates)
    rate = (sum(share * oracle.support_rates[1] for share, oracle in rates) / total if total else 0.0) or 1.0
    return min(math.ceil(quota * max(1.0, USUAL_RATE / rate)), max(quota, MOST_CODES))


def _divide_by_shares(quota: int, sizes: Codes, shares: Vector) -> Codes:
    """Divide a number of codes by shares, with a minimum for each view; unused codes go to views that have more."""
    wanted, most = np.zeros(len(sizes)), sizes.astype(np.float64)
    shares = np.where(shares > 0, shares, 1e-12)
    while (open_ := wanted < most).any() and wanted.sum() < quota - 0.5:
        proposed = wanted + (quota - wanted.sum()) * np.where(open_, shares, 0.0) / shares[open_].sum()
        wanted = np.minimum(proposed, most)
    return np.minimum(np.maximum(np.ceil(wanted), LEAST), sizes).astype(np.int64)


def _divide(quota: int, sizes: Codes) -> Codes:
    """Divide a number of codes evenly; unused codes go to views that have more."""
    wanted = np.zeros(len(sizes), dtype=np.int64)
    order = np.argsort(sizes, kind="stable")
    for place, number in enumerate(order.tolist()):
        wanted[number] = min(int(sizes[number]), math.ceil(quota / (len(order) - place)))
        quota = max(0, quota - int(wanted[number]))
    return wanted


def _in_clusters(cluster: Codes, stratum: Codes, strata: int, wanted: int) -> npt.NDArray[np.bool_]:
    """Mark the members of random clusters, the same ones in all strata, until each stratum has its share."""
    first = np.diff(cluster, prepend=cluster[0] - 1) != 0  # members of a cluster are next to each other
    number = np.cumsum(first) - 1
    rank = _scatter(np.arange(int(number[-1]) + 1))[number]
    if strata == 1:
        return np.asarray(rank <= np.partition(rank, wanted - 1)[wanted - 1])
    sizes = np.bincount(stratum, minlength=strata)
    part = _divide(wanted, sizes)
    ordered = rank[np.lexsort((rank, stratum))]
    last = np.cumsum(sizes) - sizes + part - 1
    limit = np.where(part > 0, ordered[np.maximum(last, 0)], np.iinfo(np.int64).min)
    return np.asarray(rank <= limit[stratum])


def _scatter(numbers: Codes) -> Codes:
    """Permute 64-bit numbers so that their order is unrelated to any hash (the finalizer of SplitMix64)."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))).view(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Stack:
    """A grid's rows for the sampled codes of some views, with the sums over all reports and what the sample lacks."""

    rows: Vector
    known: Vector
    """Groups x cells: the sum of the rows of everybody."""
    missing: Vector
    """Groups x cells: by how much the sums of sampled views are too small, each times its view's size."""


class Sample:
    """Samples of all views, and those parts of reading them that do not depend on the question."""

    def __init__(self, channel: Channel, parts: Sequence[Part], people: Sequence[Tallies]) -> None:
        self.channel, self.people = channel, people
        self.parts = {part.view: part for part in parts}
        self._weights: dict[Hashable, npt.NDArray[Any]] = {}
        self._people: dict[Hashable, Vector] = {}
        self._readers: dict[int, Reader] = {}
        self._stacks: dict[tuple[tuple[int, ...], Way], Vector] = {}
        self._sums: dict[Hashable, tuple[Vector, Vector]] = {}
        self._sizes: dict[Hashable, Vector] = {}

    def reader(self, view: int) -> Reader:
        """Return what reads the codes of a view."""
        if view not in self._readers:
            self._readers[view] = self.channel.views[view].oracle.reader(self.parts[view].codes, self.precision(view))
        return self._readers[view]

    def precision(self, view: int) -> type[np.floating[Any]]:
        """Return the floating-point type for values of codes: single precision for samples.

        Coefficients are below 1e30 (`tacit.sql.totals`), so single precision holds every contribution.
        """
        return np.float32 if self.parts[view].is_sample else np.float64

    def stacked_weights(
        self, views: tuple[int, ...], columns: tuple[int, ...], lead: Way | None, dtype: npt.DTypeLike
    ) -> npt.NDArray[Any]:
        """Return codes x weights of each group: columns, then people times the sizes of views, and times their squares.

        Without a lead all sizes are 1.
        """
        key = views, columns, lead, dtype
        if key not in self._weights:
            weights = np.concatenate([self.parts[view].weights for view in views], axis=2)  # columns x groups x codes
            sizes = np.ones(weights.shape[2]) if lead is None else self.sizes(views, lead)
            every = [*weights[list(columns)], weights[0] * sizes, weights[0] * np.square(sizes)]
            self._weights[key] = np.ascontiguousarray(np.concatenate(every).T, dtype=dtype)
        return self._weights[key]

    def people_of(self, views: tuple[int, ...], column: int) -> Vector:
        """Return the sum of a column of weights over all codes of some views, for each group."""
        key = views, column
        if key not in self._people:
            self._people[key] = np.sum([self.parts[view].weights[column].sum(axis=1) for view in views], axis=0)
        return self._people[key]

    def sizes(self, views: tuple[int, ...], lead: Way) -> Vector:
        """Return, for each code, the size of its view's rows; 0 where all codes of the view were taken."""
        key = views, lead
        if key not in self._sizes:
            parts = [self.parts[view] for view in views]
            size_of_views = [
                _size(rows) * part.is_sample for rows, part in zip(self._rows(views, lead), parts, strict=True)
            ]
            self._sizes[key] = np.repeat(size_of_views, [len(part.codes) for part in parts])
        return self._sizes[key]

    def _rows(self, views: tuple[int, ...], way: Way) -> list[Vector]:
        """Return the rows of each view's codes; the same ones as a stack has, once there is one."""
        codes = [self.parts[view].codes for view in views]
        known = self._stacks.get((views, way))
        if known is not None:
            return np.split(known, np.cumsum([len(listed) for listed in codes])[:-1])
        rows = [rows_of_codes(way, view, listed) for view, listed in zip(views, codes, strict=True)]
        self._stacks[views, way] = np.concatenate(rows)
        return rows

    def stack(self, views: tuple[int, ...], way: Way, lead: Way) -> Stack:
        """Return how some views are read; sizes are those of the lead."""
        key = views, way, lead
        if key not in self._sums:
            rows = self._rows(views, way)
            known = [np.stack([known_row(way, view, people) for people in self.people]) for view in views]
            first = np.cumsum([0, *(len(listed) for listed in rows)])
            sizes = self.sizes(views, lead)
            missing = np.zeros_like(known[0])
            for view, listed, everybody, place in zip(views, rows, known, first[:-1].tolist(), strict=True):
                if self.parts[view].is_sample:
                    missing += sizes[place] * (everybody - self.parts[view].weights[0] @ listed)
            self._sums[key] = np.sum(known, axis=0), missing
        return Stack(self._stacks[views, way], *self._sums[key])


def _size(rows: Vector) -> float:
    return math.sqrt(float(np.square(rows).mean())) if rows.size else 0.0
