"""The tables: census persons in place of IPUMS, and Adult, as columns of bucket indices.

Every numeric column is cut into buckets of equal width over a fixed range; values beyond the range count into its first
or last bucket, and "not applicable" counts as 0. The measure is the usual number of weekly hours, 0 for who does not
work, as in the paper's sample questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
import pyarrow.parquet as pq

__all__ = ["ACS", "ADULT", "MEASURE", "Population", "load"]

ACS, ADULT = "acs", "adult"
MEASURE = "hours"

SHUFFLE = 20_190_630
"""Seed of the order of rows: a sample of n rows is the first n, so smaller samples are part of larger ones."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Source:
    """A file, its numeric columns with their ranges, its categorical ones, and its measure."""

    file: str
    ordinals: dict[str, tuple[str, int, int]]
    categories: dict[str, str]
    measure: str


SOURCES = {
    ACS: _Source(
        "acs2024_person.parquet",
        {
            "income": ("pincp", 0, 200_000),
            "weight": ("pwgtp", 0, 400),
            "age": ("agep", 0, 97),
            "school": ("schl", 0, 25),
        },
        {"marital": "mar", "sex": "sex", "race": "rac1p", "work": "esr"},
        "wkhp",
    ),
    ADULT: _Source("adult.parquet", {"weight": ("fnlwgt", 0, 600_000)}, {}, "hours_per_week"),
}


@dataclass(frozen=True)
class Population:
    """All rows of a table, shuffled: numbers before bucketing, categories, and the measure."""

    name: str
    numbers: dict[str, Ints]
    categories: dict[str, Ints]
    measure: npt.NDArray[np.float64]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.measure)

    def buckets(self, column: str, size: int, rows: int) -> Ints:
        """Return the bucket, 0..size-1, of the first ``rows`` values of a numeric column."""
        _, low, high = SOURCES[self.name].ordinals[column]
        inside = np.clip(self.numbers[column][:rows], low, high - 1)
        return (inside - low) * size // (high - low)


@cache
def load(folder: Path, name: str) -> Population:
    """Read a table; Adult's rows with a missing value are left out, as in the paper."""
    source = SOURCES[name]
    table = pq.read_table(folder / source.file)
    if name == ADULT:
        table = table.drop_null()

    def column(of: str) -> Ints:
        values: Ints = pc.fill_null(table.column(of), 0).to_numpy().astype(np.int64)
        return values[order]

    order = np.random.default_rng(SHUFFLE).permutation(table.num_rows)
    numbers = {ours: column(theirs) for ours, (theirs, _, _) in source.ordinals.items()}
    categories = {ours: column(theirs) for ours, theirs in source.categories.items()}
    return Population(name, numbers, categories, column(source.measure).astype(np.float64))
