"""A lake at growing numbers of reports: what a batch, a deletion and questions cost, and whether Spark agrees.

``python -m bench.lake.run`` writes results.json (100 million reports: some minutes, 4 GB of disk); ``--slice`` measures
two million and exits with 1 if a claim fails there. Codes are drawn evenly: what is measured does not depend on them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import tacit as tc
from bench.common import ROOT, provenance, say, timed
from tacit.encode.reports import ReportTable
from tacit.engines.lake.copies import back_up, verify
from tacit.engines.lake.engine import Lake
from tacit.engines.lake.storage import Folder

RESULTS = ROOT / "bench" / "lake" / "results.json"
PACKAGES = ("tacit", "numpy", "pyarrow", "duckdb", "pyspark")
MILLION = 1_000_000
BATCH = MILLION

USERS = tc.Service(
    "users",
    key="uid",
    attributes=[
        tc.Ordinal("age", 0, 99),
        tc.Categorical("state", [f"s{i}" for i in range(50)]),
        tc.Public("os", values=["a", "i"]),
    ],
)
COLLECTION = tc.Collection(tc.Schema([USERS]), 2.0)
QUESTIONS = {
    "count with a range": "SELECT COUNT(*) AS x FROM users WHERE age BETWEEN 20 AND 40",
    "50 groups": "SELECT state, COUNT(*) AS x FROM users GROUP BY state",
    "mean by public column": "SELECT os, AVG(age) AS x FROM users GROUP BY os",
}


def batch_of(number: int) -> ReportTable:
    """Return a million reports of people who have not reported, as a collector would bring them."""
    rng = np.random.default_rng(number)
    compiled = COLLECTION.contract["users"]
    people = pa.chunked_array([rng.permutation(np.arange(number * BATCH, (number + 1) * BATCH)).astype(np.int64)])
    codes = rng.integers(0, compiled.channels[0].alphabet, BATCH)
    public = pa.table({"os": np.array(["a", "i"])[rng.integers(0, 2, BATCH)]})
    made = ReportTable.from_codes(COLLECTION.id, compiled, people, [codes], public)
    return ReportTable(made.collection, compiled, made.arrow, rows_before=number * BATCH or None)


def used(work: Callable[[], object]) -> dict[str, float]:
    """Return seconds of the clock and of the processor."""
    before = time.process_time()
    seconds = timed(work)
    return {"seconds": round(seconds, 3), "processor": round(time.process_time() - before, 3)}


def values(database: tc.Database) -> list[float]:
    """Return the values and errors of all questions."""
    rows = [row for text in QUESTIONS.values() for row in database.sql(text).rows]
    return [number for row in rows for number in (row[-1].value, row[-1].error)]


def measure(folder: Path, batches: int, *, spark: bool) -> dict[str, Any]:
    """Fill a lake and measure it."""
    place = folder / "lake"
    database = tc.connect(f"{place}/")
    database.create(COLLECTION)
    loads = []
    for number in range(batches):
        batch = batch_of(number)
        loads.append(used(lambda batch=batch: database.load({"users": batch}))["processor"])  # type: ignore[misc]
        if number % 10 == 9:
            say(f"{number + 1} million reports, {loads[-1]:.2f} s of the processor for the last million")
    manifest = Lake(place).versions.latest()
    [table] = manifest.tables.values()
    result: dict[str, Any] = {
        "reports": batches * BATCH,
        "alphabet": COLLECTION.contract["users"].channels[0].alphabet,
        "files": len(table.files),
        "rollup_rows": sum(file.rows for file in table.rollups),
        "bytes_per_report": round(sum(file.bytes for file in table.files) / table.rows, 2),
        "batch_processor": {
            "first": loads[0],
            "median": float(np.median(loads)),
            "last": loads[-1],
            "most": max(loads),
        },
    }
    cold = tc.connect(place)
    result["first answer"] = used(lambda: cold.sql(QUESTIONS["count with a range"]))
    for name, text in QUESTIONS.items():
        fresh = tc.connect(place)
        fresh.sql("SELECT COUNT(*) AS n FROM users")
        result[name] = used(lambda fresh=fresh, text=text: fresh.sql(text))  # type: ignore[misc]
        other = text.replace("age", "age + 1")  # another question on the sums that are kept
        result[f"{name}, again"] = used(lambda fresh=fresh, other=other: fresh.sql(other))  # type: ignore[misc]
    before = {file.name for file in table.files}
    result["deletion"] = used(lambda: database.forget(12_345))
    after = {file.name for file in next(iter(Lake(place).versions.latest().tables.values())).files}
    result["deletion"]["files_rewritten"] = len(before - after)
    result["verification"] = used(lambda: verify(Folder(place)))
    result["backup"] = used(lambda: back_up(Folder(place), Folder(folder / "backup")))
    database.load({"users": batch_of(batches)})
    result["incremental backup"] = used(lambda: back_up(Folder(place), Folder(folder / "backup")))
    if spark:
        other = tc.connect(place, engine="spark")
        expected, got = np.array(values(tc.connect(place))), np.array(values(other))
        result["spark_relative_difference"] = float(np.max(np.abs(got - expected) / np.abs(expected)))
    return result


def main() -> int:
    """Measure, write or check."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--slice", action="store_true")
    parser.add_argument("--millions", type=int, default=100)
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        result = measure(Path(folder), 2 if options.slice else options.millions, spark=not options.slice)
    say(json.dumps(result, indent=1))
    if options.slice:
        return 0 if result["deletion"]["files_rewritten"] == 1 and result["50 groups"]["processor"] < 1 else 1
    RESULTS.write_text(json.dumps(provenance(PACKAGES, **result), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
