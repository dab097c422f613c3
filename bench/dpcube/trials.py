"""Releases and random ranges: errors of a method on a table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.common import figure, seed_of
from tacit.central.body import Body
from tacit.central.methods import method_of
from tacit.central.noise import OpenDp
from tacit.central.records import Records
from tacit.estimate.functional import Functional

__all__ = ["Ranges", "measured", "released"]

FLOOR = 0.001
"""Relative errors are to the truth, or to this share of all rows where that is more: empty ranges have no own."""

COVERED = 60
"""Ranges whose intervals are looked at."""

Array = npt.NDArray[np.float64]


def released(records: Records, method: str, epsilon: str, **options: Any) -> Body:
    """Make a release with fresh noise."""
    return method_of(method, options).run(records, Fraction(epsilon), OpenDp())


def _below(table: npt.NDArray[Any]) -> Array:
    """Return sums over all cells below each corner."""
    found = np.zeros([size + 1 for size in table.shape])
    inner = table.astype(np.float64)
    for axis in range(table.ndim):
        inner = inner.cumsum(axis=axis)
    found[tuple(slice(1, None) for _ in table.shape)] = inner
    return found


@dataclass(frozen=True, eq=False)
class Ranges:
    """Random ranges on all attributes of a table, with their true counts."""

    records: Records
    count: int = 1000

    @cached_property
    def ends(self) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """First and last values, attribute by attribute: two uniform ends, in order."""
        rng = np.random.default_rng(seed_of("ranges", self.records.sizes))
        pairs = [np.sort(rng.integers(0, size, (self.count, 2)), axis=1) for size in self.records.sizes]
        return [(pair[:, 0], pair[:, 1]) for pair in pairs]

    @cached_property
    def truth(self) -> Array:
        """True counts."""
        return self.counted(self.records.table())

    def counted(self, table: npt.NDArray[Any]) -> Array:
        """Return a table's counts of all ranges, by inclusion and exclusion of corners."""
        below, total = _below(table), np.zeros(self.count)
        for corner in range(2**table.ndim):
            picks = [(corner >> axis) & 1 for axis in range(table.ndim)]
            index = tuple(high + 1 if pick else low for pick, (low, high) in zip(picks, self.ends, strict=True))
            total += (-1) ** (table.ndim - sum(picks)) * below[index]
        return total

    def functional(self, place: int) -> Functional:
        """Return a range as a functional."""
        found = Functional.constant(self.records.sizes)
        for i, (low, high) in enumerate(self.ends):
            marks = np.arange(self.records.sizes[i])
            found = found * Functional.of(self.records.sizes, i, (marks >= low[place]) & (marks <= high[place]))
        return found

    def marks(self) -> Iterator[npt.NDArray[np.bool_]]:
        """Yield each range as a table that says which cells are in it."""
        for place in range(self.count):
            inside = np.zeros(self.records.sizes, dtype=bool)
            inside[tuple(slice(low[place], high[place] + 1) for low, high in self.ends)] = True
            yield inside

    def errors(self, body: Body) -> tuple[Array, Array]:
        """Return absolute and relative errors of a release."""
        off = np.abs(self.counted(body.cell_estimates()) - self.truth)
        return off, off / np.maximum(self.truth, FLOOR * len(self.records))

    def covered(self, body: Body) -> float:
        """Return the share of 95 % intervals that hold the truth."""
        held = 0
        for place in range(COVERED):
            functional = self.functional(place)
            error = body.deviation(functional)[0]
            held += abs(body.value(functional) - self.truth[place]) <= 1.96 * error
        return held / COVERED


def measured(records: Records, method: str, epsilon: str, releases: int, **options: Any) -> dict[str, float]:
    """Return the mean errors of a method over independent releases, with the standard deviation between releases."""
    ranges = Ranges(records)
    absolute, relative = [], []
    for _ in range(releases):
        body = released(records, method, epsilon, **options)
        off, share = ranges.errors(body)
        absolute.append(off.mean())
        relative.append(share.mean())
    covered = ranges.covered(body)
    return {
        "absolute": figure(np.mean(absolute)),
        "absolute_std": figure(np.std(absolute)),
        "relative": figure(np.mean(relative)),
        "covered": figure(covered),
        "numbers": math.floor(body.columns().num_rows),
    }
