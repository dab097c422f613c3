"""Random questions: drawn once for a setting and a workload, and asked of every mechanism alike."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.common import seed_of
from bench.mda.figures import QUERIES, Setting, Workload
from bench.mda.populations import MEASURE, Population

__all__ = ["Question", "Sample", "draw"]

NEAR = 1.5
"""A question is "around" a selectivity if it is off by at most this factor."""

ALIKE = 2.0
"""Its mean of the measure is within this factor of everybody's: children work no hours, and 0 has no relative error."""

TRIAL_ROWS = 100_000
"""Rows on which selectivities are tried; the true answers come from all rows."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Question:
    """A conjunction of ranges; a category is a range of one value."""

    ranges: tuple[tuple[str, int, int], ...]

    @property
    def where(self) -> str:
        """The condition in SQL."""
        shown = (f"{name} = {a}" if a == b else f"{name} BETWEEN {a} AND {b}" for name, a, b in self.ranges)
        return " AND ".join(shown)


@dataclass(frozen=True)
class Sample:
    """The first rows of a population in the buckets of a setting."""

    columns: dict[str, Ints]
    measure: npt.NDArray[np.float64]

    @classmethod
    def of(cls, population: Population, setting: Setting, rows: int) -> Sample:
        """Cut ``rows`` rows into buckets."""
        columns = {name: population.buckets(name, size, rows) for name, size in setting.ordinals}
        columns |= {name: population.categories[name][:rows] for name in setting.categories}
        return cls(columns, population.measure[:rows])

    def holds(self, question: Question) -> npt.NDArray[np.bool_]:
        """Mark the rows that satisfy a question."""
        marks = np.ones(len(self.measure), dtype=np.bool_)
        for name, low, high in question.ranges:
            marks &= (self.columns[name] >= low) & (self.columns[name] <= high)
        return marks

    def truth(self, question: Question) -> dict[str, float]:
        """Return the true count, sum and mean of the measure."""
        marks = self.holds(question)
        count, total = float(marks.sum()), float(self.measure[marks].sum())
        return {"count": count, "sum": total, "avg": total / count if count else math.nan}

    def table(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the columns to encode."""
        return {"uid": np.arange(len(self.measure)), **self.columns, MEASURE: self.measure}


def draw(population: Population, setting: Setting, workload: Workload) -> list[Question]:
    """Return the random questions of a workload."""
    rng = np.random.default_rng(seed_of(setting.name, workload.name))
    if workload.kind is None:
        return [_by_volume(setting, workload.share, rng) for _ in range(QUERIES)]
    trial = Sample.of(population, setting, min(TRIAL_ROWS, population.rows))
    found: list[Question] = []
    while len(found) < QUERIES:
        question = _of_type(trial, setting, workload.kind, workload.share, rng)
        holds = trial.holds(question)
        near = 1 / NEAR <= holds.mean() / workload.share <= NEAR
        if near and 1 / ALIKE <= trial.measure[holds].mean() / trial.measure.mean() <= ALIKE:
            found.append(question)
    return found


def _by_volume(setting: Setting, volume: float, rng: np.random.Generator) -> Question:
    """Draw one range on each ordinal, each the same share of its domain."""
    ranges = []
    for name, size in setting.ordinals:
        width = max(1, round(size * volume ** (1 / len(setting.ordinals))))
        low = int(rng.integers(0, size - width + 1))
        ranges.append((name, low, low + width - 1))
    return Question(tuple(ranges))


def _of_type(
    trial: Sample, setting: Setting, kind: tuple[int, int], selectivity: float, rng: np.random.Generator
) -> Question:
    """Draw categories from a random row, then ranges that leave about the selectivity, shared among them at random."""
    ordinals = rng.choice(len(setting.ordinals), kind[0], replace=False)
    categories = rng.choice(len(setting.categories), kind[1], replace=False).tolist() if kind[1] else []
    row = int(rng.integers(len(trial.measure)))
    ranges = []
    for index in categories:
        name = setting.categories[index]
        value = int(trial.columns[name][row])
        ranges.append((name, value, value))
    left = trial.holds(Question(tuple(ranges)))
    for place, index in enumerate(ordinals):
        name, size = setting.ordinals[index]
        wanted = min(1.0, selectivity / max(left.mean(), 1e-9))
        if place < len(ordinals) - 1:
            wanted **= rng.random()
        low, high = _range_holding(trial.columns[name][left], size, wanted, rng)
        ranges.append((name, low, high))
        left = trial.holds(Question(tuple(ranges)))
    return Question(tuple(ranges))


def _range_holding(values: Ints, size: int, share: float, rng: np.random.Generator) -> tuple[int, int]:
    """Return a random range that holds about a share of the values."""
    below = np.concatenate(([0.0], np.cumsum(np.bincount(values, minlength=size)))) / max(1, len(values))
    start = rng.random() * (1 - share)
    low = int(np.searchsorted(below, start, side="right")) - 1
    high = int(np.searchsorted(below, min(1.0, below[low] + share), side="left")) - 1
    return low, max(low, min(high, size - 1))
