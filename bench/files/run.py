"""From five real files to a first private answer by the printed commands alone, and forecasts against repetitions."""

from __future__ import annotations

import argparse
import json
import math
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

import tacit as tc
from bench.common import figure, provenance, say, seed_of
from tacit.estimate.estimate import Estimate

FILES = {
    "adult": ["adult"],
    "nyc": ["nyc_green_taxi"],
    "retail": ["online_retail_customer", "online_retail_line"],
    "acs": ["acs2024_household"],
    "kdd": ["census_income_kdd"],
}
"""The tables of each run."""

LONGEST = 180.0
"""Seconds from the file to the first answer."""

NEAR = 0.25
"""Relative distance between the forecast standard error and the spread over encodings."""

PEOPLE, REPETITIONS, QUESTIONS = 10_000, 100, 4
RESULTS = Path(__file__).with_name("results.json")


def first_answer(tables: list[Path]) -> dict[str, Any]:
    """Run `tacit init` and what it prints, in an empty folder; return the seconds and the answer."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        printed = _tacit(["init", *map(str, tables)], folder)
        commands = re.findall(r"^  (tacit .*)$", printed, re.MULTILINE)
        for command in commands:
            printed = _tacit(shlex.split(command)[1:], folder)
        return {
            "seconds": figure(time.perf_counter() - start),
            "commands": 1 + len(commands),
            "answer": printed.strip(),
        }


def _tacit(words: list[str], folder: str) -> str:
    command = [sys.executable, "-m", "tacit.cli", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def spreads(tables: list[Path], repetitions: int) -> list[dict[str, Any]]:
    """Return the forecast errors of some questions about some of the people, and the spread over encodings of them."""
    named = {path.stem: _some(pyarrow.parquet.read_table(path)) for path in tables}
    collection = tc.Collection(tc.Schema.from_table(**named), epsilon=2)
    prepared = collection.prepare(**named)
    report = collection.report(like=named)
    asked = [one.question for one in report if one.relative < 1]  # weaker ratios have no standard deviation
    asked += [one.question for one in report if 1 <= one.relative < math.inf and "AVG" not in one.question]
    asked = asked[:QUESTIONS]
    values: dict[tuple[str, int], list[float]] = {}
    for repetition in range(repetitions):
        db = tc.connect()
        db.create(collection)
        db.load(collection.encode(**prepared, rng=tc.insecure_rng(seed_of(*named, repetition))))
        for question in asked:
            for place, cell in enumerate(_cells(db.sql(question))):
                values.setdefault((question, place), []).append(cell.value)
        db.close()
    rows = []
    like = {name: table for name, table in prepared.items() if name != "people"}
    users = len(prepared.get("people", ())) or next(
        t.num_rows for n, t in like.items() if collection.schema[n].one_to_one
    )
    for question in asked:
        for place, cell in enumerate(_cells(collection.predict(question, users=users, like=like))):
            spread = statistics.stdev(values[question, place])
            ratio = figure(cell.error / spread)
            rows.append(
                {
                    "question": question,
                    "row": place,
                    "forecast": figure(cell.error),
                    "spread": figure(spread),
                    "ratio": ratio,
                }
            )
    return rows


def _some(table: pa.Table) -> pa.Table:
    return (
        table.slice(0, PEOPLE)
        if table.num_rows < 10 * PEOPLE
        else table.take(pa.array(range(0, table.num_rows, table.num_rows // PEOPLE)))
    )


def _cells(answer: tc.Answer) -> list[Estimate]:
    return [cell for row in answer.rows for cell in row if isinstance(cell, Estimate)]


def main() -> int:
    """Measure, write the results, and return 1 if a claim fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--slice", action="store_true", help="one file only, few repetitions, nothing is written")
    parser.add_argument("--only", choices=FILES, help="one file only; its results replace the committed ones")
    options = parser.parse_args()
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"files": {}}
    good = True
    for name in [options.only] if options.only else ["adult"] if options.slice else FILES:
        tables = [options.data / f"{table}.parquet" for table in FILES[name]]
        result = first_answer(tables)
        rows = spreads(tables, 20 if options.slice else REPETITIONS)
        result |= {"forecasts": rows, "within": sum(abs(row["ratio"] - 1) <= NEAR for row in rows)}
        say(f"{name}: {result['seconds']} s, {result['within']} of {len(rows)} forecasts within {NEAR:.0%}")
        good &= result["seconds"] <= LONGEST and (options.slice or result["within"] == len(rows))
        found["files"][name] = result | provenance(["numpy", "pyarrow", "duckdb"])
        if not options.slice:
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
