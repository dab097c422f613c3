"""The scaling study: each engine at growing numbers of reports, each in a process of its own.

The full run writes results.json. ``--slice`` measures a million reports on DuckDB, prints the numbers next to the
committed ones, and exits with 1 if a claim fails there. ``--against`` measures an earlier commit and this one in turns
and writes compared.json.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.common import ROOT, provenance, say

HERE = Path(__file__).parent
RESULTS, COMPARED = HERE / "results.json", HERE / "compared.json"
PACKAGES = ("tacit", "numpy", "pyarrow", "duckdb", "sqlglot", "psycopg", "pyspark")
MILLION = 1_000_000
SIZES = {
    "duckdb": (1, 3, 10, 30, 100),
    "postgres": (1, 3, 10, 30, 100),
    "spark1": (1, 3, 10, 30, 100),
    "spark2": (1, 3, 10, 30, 100),
}
"""Millions of reports."""

BYTES, OVERHEAD, ROLLED_UP = 16.0, 2.0, 0.05
"""Claimed for 100 million reports on DuckDB: bytes each on disk, times a bare scan and join, seconds from a rollup."""


def measured(engine: str, reports: int, source: Path = ROOT / "src") -> dict[str, Any]:
    """Measure one engine at one size, with the package as it is in a folder."""
    words = [sys.executable, "-W", "ignore", "-m", "bench.scale.measure", engine, str(reports)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(source), str(ROOT)])}
    result = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    if result.returncode:
        return {"engine": engine, "reports": reports, "failed": result.stderr.strip().splitlines()[-1][:200]}
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


def compare(commit: str, engines: Sequence[str], sizes: Sequence[int]) -> None:
    """Measure an earlier commit and this one, one after the other at each size."""
    results = provenance(PACKAGES, earlier=commit, points=[])
    with tempfile.TemporaryDirectory() as folder:
        sources = {when: Path(folder) / when / "src" for when in ("before", "after")}
        for source, measured_commit in zip(sources.values(), (commit, "HEAD"), strict=True):
            archive = ["git", "archive", measured_commit, "src"]
            packed = subprocess.run(archive, cwd=ROOT, check=True, capture_output=True).stdout
            source.parent.mkdir()
            subprocess.run(["tar", "-x", "-C", str(source.parent)], input=packed, check=True)
        for engine, size in itertools.product(engines, sizes):
            for when, source in sources.items():
                load = os.getloadavg()[0]
                point = {"when": when, "load_average": round(load, 1)} | measured(engine, size * MILLION, source)
                results["points"].append(point)
                say(json.dumps(point))
                COMPARED.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def holds(found: dict[str, Any]) -> dict[str, bool]:
    """Judge the claims at one size of DuckDB."""
    return {
        "bytes": found["bytes_per_report"] <= BYTES,
        "overhead": found["query_seconds"] <= OVERHEAD * found["bare_seconds"],
        "rollup": found["rollup_query_seconds"] <= ROLLED_UP,
    }


def main() -> int:
    """Run in full, or the slice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slice", action="store_true", help="a million reports on DuckDB only")
    parser.add_argument("--engine", choices=list(SIZES), help="renew one engine's part")
    parser.add_argument("--against", metavar="COMMIT", help="measure an earlier commit too: PostgreSQL and Spark")
    parser.add_argument("--millions", type=int, nargs="+", default=[1, 10], help="sizes of --against")
    options = parser.parse_args()
    if options.against:
        compare(options.against, [options.engine] if options.engine else ["postgres", "spark2"], options.millions)
        return 0
    if options.slice:
        found = measured("duckdb", MILLION)
        before = json.loads(RESULTS.read_text(encoding="utf-8"))["points"]
        [committed] = [p for p in before if (p["engine"], p["reports"]) == ("duckdb", MILLION)]
        for word in ("bytes_per_report", "query_seconds", "rollup_query_seconds"):
            say(f"{word}: {found[word]}, committed {committed[word]}")
        return int(found["rollup_query_seconds"] > 4 * ROLLED_UP)
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))["points"] if options.engine and RESULTS.exists() else []
    results = provenance(PACKAGES) | {"points": [p for p in kept if p["engine"] != options.engine]}
    start = time.perf_counter()
    for engine, sizes in SIZES.items():
        for size in sizes if options.engine in (None, engine) else ():
            point = measured(engine, size * MILLION)
            results["points"].append(point)
            say(f"{time.perf_counter() - start:.0f} s: {json.dumps(point)}")
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    largest = [p for p in results["points"] if p["engine"] == "duckdb"][-1]
    results["claims"] = holds(largest)
    results["seconds"] = round(time.perf_counter() - start)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    say(f"claims at {largest['reports']:,} reports: {results['claims']}")
    return int(not all(results["claims"].values()))


if __name__ == "__main__":
    sys.exit(main())
