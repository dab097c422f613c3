"""The tables: ACS persons in place of the paper's IPUMS extract, and the histograms of DPBench, as records."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

import tacit as tc
from tacit.central.records import Records

__all__ = ["ATTRIBUTES", "acs", "acs_columns", "dpbench", "dpbench_names"]

ROWS = 1_000_000
SHUFFLE = 20_100_915
"""Seed of the order of rows; the first million are used."""

ATTRIBUTES = {
    "age": tc.Ordinal("age", 16, 94),
    "education": tc.Ordinal("education", 11, 24),
    "work": tc.Ordinal("work", 1, 23),
    "income": tc.Ordinal("income", 0, 99),
}
"""Domain sizes 79, 14, 23 and 100, as in the paper. ACS has 9 classes of worker; the other 14 values stay empty."""


@cache
def acs_columns(folder: Path) -> dict[str, npt.NDArray[np.int64]]:
    """Return a million adults: age, schooling, class of worker, income in steps of 2,000."""
    table = pq.read_table(folder / "acs2024_person.parquet", columns=["agep", "schl", "cow", "pincp"]).drop_null()
    chosen = np.random.default_rng(SHUFFLE).permutation(table.num_rows)[:ROWS]
    column = {name: table.column(name).to_numpy()[chosen].astype(np.int64) for name in table.column_names}
    return {
        "uid": np.arange(ROWS),
        "age": np.clip(column["agep"], 16, 94),
        "education": np.clip(column["schl"], 11, 24),
        "work": column["cow"],
        "income": np.clip(column["pincp"], 0, 199_999) // 2000,
    }


@cache
def acs(folder: Path, *names: str) -> Records:
    """Return the records of some attributes."""
    columns = acs_columns(folder)
    service = tc.Service("acs", key="uid", attributes=[ATTRIBUTES[name] for name in names])
    return Records.read({name: columns[name] for name in ("uid", *names)}, service)


def dpbench_names(folder: Path, dimensions: int) -> list[str]:
    """Return the names of the histograms of one or two dimensions."""
    table = pq.read_table(folder / f"dpbench_{dimensions}d.parquet", columns=["dataset"])
    return sorted(table.column("dataset").unique().to_pylist())


def dpbench(folder: Path, dimensions: int, name: str) -> Records:
    """Return a histogram as records: one for each of its counts."""
    table = pq.read_table(folder / f"dpbench_{dimensions}d.parquet", filters=[("dataset", "=", name)])
    counts = table.column("count").to_numpy()
    places = [table.column(axis).to_numpy().astype(np.int64) for axis in (["cell"], ["row", "col"])[dimensions - 1]]
    size = 4096 if dimensions == 1 else 256
    names = ("x", "y")[:dimensions]
    service = tc.Service("d", key="uid", attributes=[tc.Ordinal(axis, 0, size - 1) for axis in names])
    columns = {axis: np.repeat(place, counts) for axis, place in zip(names, places, strict=True)}
    return Records.read({"uid": np.arange(int(counts.sum())), **columns}, service)
