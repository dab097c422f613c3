"""Histograms of one and two columns against DAWA: python -m bench.curator.histograms --data FOLDER [--minutes N].

The tables of DPBench, and others that were used for no choice (`bench.curator.held`), at epsilon 0.1 and 1: mean
absolute error of 1,000 random ranges, of `method="auto"`, of the methods it chooses from, and of the comparator in
`bench.curator.dawa`, over some releases of each. histograms.json keeps what was measured.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from bench.common import figure, provenance, say, seed_of, write_part
from bench.curator.dawa import dawa
from bench.curator.held import HELD, held
from bench.dpcube.tables import dpbench
from bench.dpcube.trials import Ranges, released
from tacit.central.records import Records

HERE = Path(__file__).parent
RESULTS, README = HERE / "histograms.json", HERE / "README.md"

EPSILONS, RELEASES = ("0.1", "1"), {1: 2, 2: 2}
METHODS = ("auto", "blue", "adaptive", "multiscale")
SHAPES = {"views": "blue", "boxes": "adaptive", "multiscale": "multiscale"}


def names_of(folder: Path) -> list[tuple[str, int, str]]:
    """Return all tables: where they are from, the number of columns, and the name."""
    names = [("held", len(columns), name) for name, (_, columns) in HELD.items()]
    for columns in (2, 1):
        file = folder / f"dpbench_{columns}d.parquet"
        found = duckdb.sql(f"SELECT DISTINCT dataset FROM '{file}' ORDER BY 1").fetchall()
        names += [("DPBench", columns, name) for (name,) in found]
    return names


def measure(records: Records, epsilon: str, name: str) -> dict[str, Any]:
    """Return the mean errors of all, and the share of auto's 95 % intervals that hold."""
    ranges, releases = Ranges(records), RELEASES[len(records.sizes)]
    errors: dict[str, list[float]] = {method: [] for method in (*METHODS, "dawa")}
    for number in range(releases):
        for method in METHODS:
            body = released(records, method, epsilon)
            errors[method].append(float(ranges.errors(body)[0].mean()))
            if method == "auto":
                last = body
        source = np.random.default_rng(seed_of(name, epsilon, number))
        table = dawa(records.table(), float(epsilon), source, ranges.marks())
        errors["dawa"].append(float(np.abs(ranges.counted(table) - ranges.truth).mean()))
    means = {method: figure(np.mean(found)) for method, found in errors.items()}
    return means | {"covered": figure(ranges.covered(last)), "shape": last.kind, "people": len(records)}


def main() -> None:
    """Measure what histograms.json lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=14)
    options = parser.parse_args()
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"points": {}}
    start = time.monotonic()
    for origin, columns, name in sorted(names_of(options.data), key=lambda named: -named[1]):
        keys = {epsilon: f"{origin} | {columns} | {name} | {epsilon}" for epsilon in EPSILONS}
        if all(key in known["points"] for key in keys.values()):
            continue
        records = held(options.data, name) if origin == "held" else dpbench(options.data, columns, name)
        for epsilon, key in keys.items():
            if key in known["points"] or time.monotonic() - start > 60 * options.minutes:
                continue
            known["points"][key] = measure(records, epsilon, name)
            known["provenance"] = provenance(["numpy", "opendp"])
            RESULTS.write_text(json.dumps(known, indent=1) + "\n")
            say(f"{key}: {known['points'][key]}")
    write_part(README, "<!-- histograms -->", table_of(known["points"]))


def _mean(ratios: Iterable[float]) -> float:
    return math.exp(float(np.mean(np.log(list(ratios)))))


def table_of(points: dict[str, Any]) -> str:
    """Return the results as a table, and the geometric mean of each kind."""
    lines = ["| tables | columns | data | people | epsilon | auto, error | it took | DAWA, error | auto / DAWA |"]
    lines.append("|---|--:|---|--:|--:|--:|---|--:|--:|")
    ratios: dict[str, list[tuple[float, float]]] = {}
    for key, point in points.items():
        origin, columns, name, epsilon = key.split(" | ")
        chosen = SHAPES[point["shape"]]
        ours = (point["auto"] + point[chosen]) / 2  # the same method twice
        ratio, best = ours / point["dawa"], min(ours, *(point[method] for method in METHODS[1:] if method != chosen))
        ratios.setdefault(f"{origin} | {columns} | {epsilon}", []).append((ratio, ours / best))
        lines.append(
            f"| {origin} | {columns} | {name} | {point['people']:,} | {epsilon} | {ours:.0f} | "
            f"{chosen} | {point['dawa']:.0f} | {ratio:.2f} |"
        )
    lines += [
        "",
        "| tables | columns | epsilon | number | auto / DAWA, geometric mean | largest | auto / best of ours |",
    ]
    lines.append("|---|--:|--:|--:|--:|--:|--:|")
    for name, pairs in ratios.items():
        to_dawa = [ratio for ratio, _ in pairs]
        to_best = _mean(ratio for _, ratio in pairs)
        lines.append(f"| {name} | {len(pairs)} | {_mean(to_dawa):.2f} | {max(to_dawa):.2f} | {to_best:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
