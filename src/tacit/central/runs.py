"""Ours for one attribute with few people per cell: runs of cells that are nearly even, then blue over the runs.

Steps       1. Cells are put in order; several attributes along a curve that stays near. 2. A quarter of the budget
            chooses a partition into runs of 1, 2, 4, … cells: that of least cost. A run costs how far its cells are
            from even, ``sum |count - mean|``, with noise, but at least 0, and the error that counting it will have.
            3. The rest counts the runs, level by level (`tacit.central.blue`); people are even within a run.
Guarantee   epsilon: any partition has one run with a given cell. Fix the noise of all runs without the cell of a record
            that is added: then the choice is report-noisy-min over the runs with it, each with its own noise, and the
            best partition of the rest. A record changes a run's cost by less than 2, and by at most 2 if rounded down,
            so noise of scale 4 / epsilon is enough, on every run, single cells among them. (The authors' program has
            noise of half this scale, and none on single cells: our argument does not cover that.) Counts add up.
Error       Noise, and unevenness within runs: a run is chosen if its cells differ by no more than noise of a known
            scale, which is what answers that split a run state.
Reference   Li, Hay and Miklau 2014 (DAWA).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
import pyarrow as pa

from tacit.central.blue import Views, aggregate
from tacit.central.body import Body, dot
from tacit.central.charges import Charge
from tacit.central.noise import Ints, Laplace, Source
from tacit.central.records import Records
from tacit.central.shares import shares_of
from tacit.contract.schema import Ordinal, Service
from tacit.errors import LayoutError
from tacit.estimate.functional import Functional, Vector

__all__ = ["RunCounts", "Runs", "curve", "fits_runs"]

CHOICE_SHARE = Fraction(1, 4)
"""Part of the budget that chooses runs."""

SENSITIVITY = 4
"""Twice the change of a run's cost by one record: report-noisy-min of scores that may go up or down."""

MAX_CELLS = 2**16
"""Maximum cells that are put in runs: about seven draws of noise for each."""

EVERY = 16
"""Runs of up to this many cells begin anywhere, longer ones at every sixteenth part of their length."""

AT_ONCE = 2**22
"""Cells of runs that are compared at once."""

KEPT = 16
"""Functionals whose weights are cached."""


def fits_runs(service: Service) -> bool:
    """Tell whether a service's cells are few enough to be put in runs."""
    return math.prod(attribute.size for attribute in service.sensitive) <= MAX_CELLS


@dataclass(frozen=True)
class Runs:
    """The method."""

    def charges(self, service: Service, epsilon: Fraction) -> list[Charge]:
        """Return what it spends; refuse too many cells."""
        if not fits_runs(service):
            message = f"{service.name}: runs takes at most {MAX_CELLS:,} cells in all. Use method='auto'."
            raise LayoutError(message, code="domain-too-large")
        return [
            Charge(epsilon * CHOICE_SHARE, "release: choice of runs of cells"),
            Charge(epsilon * (1 - CHOICE_SHARE), "release: counts of runs"),
        ]

    def run(self, records: Records, epsilon: Fraction, source: Source) -> Body:
        """Return the noisy runs."""
        counts = records.table().ravel()[curve(records.sizes)]
        choice = Laplace(epsilon * CHOICE_SHARE, SENSITIVITY)
        rest = epsilon * (1 - CHOICE_SHARE)
        starts = _best_runs(counts, choice, 1 / float(rest), source)
        made = RunCounts(records.sizes, starts, _views(len(starts), rest), choice.scale)
        table = np.add.reduceat(counts, starts)
        for depths, law in made.views.laws.items():
            made.views.counts[depths] = source.noisy(aggregate(table, made.views.levels_of(depths)), law)
        return made


def curve(sizes: tuple[int, ...]) -> Ints:
    """Return the cells of a table in the order of the runs: by the bits of all attributes in turn (Morton's order)."""
    if len(sizes) == 1:
        return np.arange(sizes[0])
    places = np.indices(sizes).reshape(len(sizes), -1)
    key = np.zeros(places.shape[1], dtype=np.int64)
    for bit in reversed(range(max(sizes).bit_length())):
        for own in places:
            key = key * 2 + (own >> bit & 1)
    return np.argsort(key, kind="stable")


def _views(runs: int, epsilon: Fraction) -> Views:
    shares = shares_of(Ordinal("run", 0, runs - 1), Fraction(0))
    return Views((runs,), epsilon, [(shares.levels, shares.shares)])


def _best_runs(counts: Ints, law: Laplace, each: float, source: Source) -> Ints:
    """Return the first cells of the runs of least cost; ``each`` is the error of counting one."""
    cells = len(counts)
    below = np.concatenate([[0], np.cumsum(counts)])
    lengths = [1 << k for k in range(cells.bit_length()) if 1 << k <= cells]
    firsts = [np.arange(0, cells - length + 1, max(1, length // EVERY)) for length in lengths]
    uneven = [_unevenness(counts, below, first, length) for first, length in zip(firsts, lengths, strict=True)]
    noisy = source.noisy(np.concatenate(uneven), law)  # one choice among all runs
    parts = np.split(np.maximum(noisy, 0) + each, np.cumsum([len(first) for first in firsts])[:-1])
    costs = []
    for length, first, part in zip(lengths, firsts, parts, strict=True):
        own = np.full(cells, np.inf)
        own[first] = part
        costs.append((length, own.tolist()))
    least, came = [0.0] + [math.inf] * cells, [0] * (cells + 1)
    for end in range(1, cells + 1):
        for length, cost_at in costs:
            if length > end:
                break
            cost = least[end - length] + cost_at[end - length]
            if cost <= least[end]:  # the longer run of two that cost the same
                least[end], came[end] = cost, length
    starts, end = [], cells
    while end:
        end -= came[end]
        starts.append(end)
    return np.array(starts[::-1], dtype=np.int64)


def _unevenness(counts: Ints, below: Ints, first: Ints, length: int) -> Ints:
    """Return the sum of distances from the mean in each run, rounded down: whole numbers, so that nothing is lost."""
    windows = np.lib.stride_tricks.sliding_window_view(counts, length)
    made = np.empty(len(first), dtype=np.int64)
    step = max(1, AT_ONCE // length)
    for start in range(0, len(first), step):
        some = first[start : start + step]
        total = below[some + length] - below[some]
        made[start : start + step] = np.abs(length * windows[some] - total[:, None]).sum(axis=1) // length
    return made


class RunCounts:
    """Noisy counts of runs of cells, read by blue."""

    kind, unbiased = "runs", False
    assumption = "people are assumed to be even within runs of cells; errors include an estimate of what that misses"

    def __init__(self, sizes: tuple[int, ...], starts: Ints, views: Views, uneven: float) -> None:
        self.sizes, self.starts, self.views, self.uneven = sizes, starts, views, uneven
        self._order = curve(sizes)
        self._lengths = np.diff(np.append(starts, math.prod(sizes)))
        self._kept: dict[Hashable, tuple[Functional, Vector]] = {}

    def _means(self, functional: Functional) -> tuple[Functional, Vector]:
        """Return a functional's mean over each run, as a functional of runs, and its variance within each."""
        key = functional.key
        if key not in self._kept:
            while len(self._kept) >= KEPT:
                self._kept.pop(next(iter(self._kept)))
            table = np.zeros(self.sizes)
            for term in functional.terms:
                product = np.full((), term.coefficient)
                for i, size in enumerate(self.sizes):
                    product = np.multiply.outer(product, term.factors.get(i, np.ones(size)))
                table += product
            flat = table.ravel()[self._order]
            mean, square = (np.add.reduceat(own, self.starts) / self._lengths for own in (flat, flat**2))
            runs = Functional.of((len(self.starts),), 0, mean)
            self._kept[key] = runs, np.maximum(square - mean**2, 0.0)
        return self._kept[key]

    def value(self, functional: Functional) -> float:
        """Return the estimate of a functional's total."""
        return self.views.value(self._means(functional)[0])

    def covariance(self, left: Functional, right: Functional) -> float:
        """Return the covariance of noise, and of people within runs that both functionals split."""
        (first, _), (second, _) = self._means(left), self._means(right)
        both, apart = (self._means(own)[1] for own in (left + right, left - right))
        return self.views.covariance(first, second) + dot(self._within, both - apart) / 4

    @property
    def _within(self) -> Vector:
        """The variance, within each run, of a functional of variance 1: of who is where, and of uneven cells."""
        people = np.maximum(self.views.cell_estimates(), 0.0)
        return np.asarray(people + np.minimum(self.uneven, people) ** 2 * (self._lengths > 1))

    def deviation(self, functional: Functional) -> tuple[float, float]:
        """Return the standard error of an estimate, and the equivalent number of equal draws."""
        runs, within = self._means(functional)
        error, draws = self.views.deviation(runs)
        return math.sqrt(error**2 + dot(self._within, within)), draws

    def cell_estimates(self) -> Vector:
        """Return an estimate for every cell."""
        table = np.empty(math.prod(self.sizes))
        table[self._order] = np.repeat(self.views.cell_estimates() / self._lengths, self._lengths)
        return table.reshape(self.sizes)

    def facts(self) -> dict[str, Any]:
        """Return the metadata of a file."""
        return self.views.facts() | {"lengths": _encoded(self._lengths), "uneven": self.uneven}

    def columns(self) -> pa.Table:
        """Return the counts of all levels of runs, one after another."""
        return self.views.columns()

    @classmethod
    def of_file(cls, sizes: tuple[int, ...], facts: Mapping[str, Any], table: pa.Table) -> Self:
        """Return the body stored in a file."""
        lengths = np.repeat([length for length, _ in facts["lengths"]], [times for _, times in facts["lengths"]])
        views = Views.of_file((len(lengths),), facts, table)
        return cls(sizes, np.concatenate([[0], np.cumsum(lengths)[:-1]]), views, float(facts["uneven"]))


def _encoded(lengths: Ints) -> list[tuple[int, int]]:
    """Return lengths as pairs of a length and how often it follows itself."""
    return [(length, len(list(same))) for length, same in itertools.groupby(lengths.tolist())]
