"""Histograms of one and two columns against DAWA: python -m bench.curator.histograms --data FOLDER [--minutes N].

The tables of DPBench at epsilon 0.1 and 1: mean absolute error of 1,000 random ranges, of `method="auto"` and of the
comparator in `bench.curator.dawa`, over some releases of each. histograms.json keeps what was measured.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from bench.common import figure, provenance, say, seed_of, write_part
from bench.curator.dawa import dawa
from bench.dpcube.tables import dpbench
from bench.dpcube.trials import Ranges, released

HERE = Path(__file__).parent
RESULTS, README = HERE / "histograms.json", HERE / "README.md"

EPSILONS, RELEASES = ("0.1", "1"), {1: 6, 2: 3}


def names_of(folder: Path, dimensions: int) -> list[str]:
    """Return the tables of one or two columns."""
    file = folder / f"dpbench_{dimensions}d.parquet"
    return [name for (name,) in duckdb.sql(f"SELECT DISTINCT dataset FROM '{file}' ORDER BY 1").fetchall()]


def measure(folder: Path, dimensions: int, name: str, epsilon: str) -> dict[str, Any]:
    """Return the mean errors of both, and the share of our 95 % intervals that hold."""
    records = dpbench(folder, dimensions, name)
    ranges, ours, theirs = Ranges(records), [], []
    for one in range(RELEASES[dimensions]):
        body = released(records, "auto", epsilon)
        ours.append(ranges.errors(body)[0].mean())
        table = dawa(records.table(), float(epsilon), np.random.default_rng(seed_of(name, epsilon, one)))
        theirs.append(np.abs(ranges.counted(table) - ranges.truth).mean())
    return {
        "ours": figure(np.mean(ours)),
        "dawa": figure(np.mean(theirs)),
        "covered": figure(ranges.covered(body)),
        "shape": body.kind,
    }


def main() -> None:
    """Measure what histograms.json lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=14)
    options = parser.parse_args()
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"points": {}}
    start = time.monotonic()
    for epsilon, dimensions in itertools.product(EPSILONS, (1, 2)):
        for name in names_of(options.data, dimensions):
            key = f"{dimensions} | {name} | {epsilon}"
            if key in known["points"] or time.monotonic() - start > 60 * options.minutes:
                continue
            known["points"][key] = measure(options.data, dimensions, name, epsilon)
            known["provenance"] = provenance(["numpy", "opendp"])
            RESULTS.write_text(json.dumps(known, indent=1) + "\n")
            say(f"{key}: {known['points'][key]}")
    write_part(README, "<!-- histograms -->", table_of(known["points"]))


def table_of(points: dict[str, Any]) -> str:
    """Return the results as a table, and the geometric mean of each kind."""
    lines = ["| columns | data | epsilon | auto, error | shape | 95 % held | DAWA, error | auto / DAWA |"]
    lines.append("|--:|---|--:|--:|---|--:|--:|--:|")
    ratios: dict[str, list[float]] = {}
    for key, point in points.items():
        dimensions, name, epsilon = key.split(" | ")
        ratio = point["ours"] / point["dawa"]
        ratios.setdefault(f"{dimensions} columns at epsilon {epsilon}", []).append(ratio)
        lines.append(
            f"| {dimensions} | {name} | {epsilon} | {point['ours']:.0f} | {point['shape']} | {point['covered']:.2f} | "
            f"{point['dawa']:.0f} | {ratio:.2f} |"
        )
    means = []
    for name, own in ratios.items():
        mean = math.exp(float(np.mean(np.log(own))))
        means.append(f"{name}: {mean:.2f} in the geometric mean of {len(own)}, {max(own):.2f} at most")
    return "\n".join([*lines, "", "auto over DAWA, " + "; ".join(means) + "."])


if __name__ == "__main__":
    main()
