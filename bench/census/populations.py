"""Populations whose answers are checked: census and other real tables, and made ones that are hard to smooth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

import tacit as tc

__all__ = ["FILES", "Column", "made", "read", "services"]

MOST_VALUES = 128
"""Values of an attribute at most; other columns are left out."""

FILES = {
    "census": "census_income_kdd.parquet",
    "adult": "adult.parquet",
    "acs": "acs2024_person.parquet",
    "nist": "nist_acs_excerpts.parquet",
    "taxi": "nyc_green_taxi.parquet",
    "retail": "online_retail_line.parquet",
}

LEFT_OUT = {"split", "instance_weight", "hid", "sporder", "puma", "pwgtp", "wgtp", "invoice", "customer_id"}


@dataclass(frozen=True, eq=False)
class Column:
    """One attribute of everybody: codes from 0 on, of so many values, in an order that means something or not."""

    name: str
    codes: npt.NDArray[np.int64]
    size: int
    ordered: bool

    def attribute(self) -> Any:
        """Return the attribute to declare."""
        if self.ordered:
            return tc.Ordinal(self.name, low=0, high=self.size - 1)
        return tc.Categorical(self.name, values=list(range(self.size)))


def read(name: str, folder: Path) -> list[Column]:
    """Return the columns of a file that have few enough values."""
    table = pa.parquet.read_table(folder / FILES[name])
    columns = (_coded(field.name, table.column(field.name)) for field in table.schema if field.name not in LEFT_OUT)
    return [column for column in columns if column is not None]


def _coded(name: str, column: pa.ChunkedArray) -> Column | None:
    distinct = pc.count_distinct(column, mode="all").as_py()
    number = pa.types.is_integer(column.type)
    if number and not column.null_count:
        values = np.asarray(column).astype(np.int64)
        if values.max() - values.min() < MOST_VALUES:
            return Column(name, values - values.min(), int(values.max() - values.min()) + 1, ordered=True)
    if not 2 <= distinct <= MOST_VALUES:
        return None
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return Column(name, np.asarray(encoded.indices).astype(np.int64), len(encoded.dictionary), ordered=False)


def made(people: int, seed: int) -> list[Column]:
    """Return attributes of 64 values whose shape is known: even, smooth, spiked, with gaps, and one value for all."""
    source = np.random.default_rng(seed)
    ranks = np.arange(1, 65)
    two = np.full(64, 0.2 / 62)
    two[[7, 50]] = 0.4
    sparse = np.where(source.random(64) < 0.85, 0.0, source.exponential(1.0, 64))
    shapes: dict[str, npt.NDArray[np.float64]] = {
        "even": np.ones(64),
        "normal": np.exp(-((ranks - 32) ** 2) / 200),
        "zipf": source.permutation(1 / ranks),
        "two_spikes": two,
        "gaps": sparse + 1e-9,
        "one_value": (ranks == 20) + 0.0,
    }
    return [
        Column(f"{name}_{kind}", source.choice(64, people, p=shape / shape.sum()), 64, ordered=kind == "ordered")
        for name, shape in shapes.items()
        for kind in ("ordered", "coded")
    ]


def services(columns: list[Column], together: int) -> Iterator[list[Column]]:
    """Yield columns in services of so many attributes."""
    for start in range(0, len(columns), together):
        yield columns[start : start + together]
