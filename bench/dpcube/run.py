"""The DPCube paper's figures on public census data, the histograms of DPBench, and the speed of a release.

The full run writes results.json, in about ten minutes on one core. ``--slice`` measures a few points again, prints them
next to the committed ones, and exits with 1 if one is off by more than the tolerance or a claim fails.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.common import ROOT, provenance, say, verdict
from bench.dpcube.figures import (
    METHODS,
    one_dimension,
    several_alphas,
    several_heights,
    several_queries,
    several_thresholds,
)
from bench.dpcube.tables import ATTRIBUTES, acs, dpbench, dpbench_names
from bench.dpcube.trials import measured
from tacit.central.advisor import advise

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PACKAGES = ("tacit", "opendp", "numpy")
DPBENCH_ALPHAS = ("0.05", "0.2", "1")
RELEASES = {1: 8, 2: 4}
"""Releases of each method on histograms of one and two dimensions."""

AGAIN = 20
"""Releases of the advised method, the kd-tree and the default where the default seemed to be behind."""

TOLERANCE = 2.0
"""Factor within which means over five fresh releases agree: the ranges of one share its noise, so that errors of single
releases scatter by up to 40 %, and two such means differ by a factor 2 about once in 200 times."""

SPEED_SECONDS, SPEED_GIB = 10.0, 2.0


def histograms(folder: Path, dimensions: int) -> dict[str, Any]:
    """Return all methods on all histograms of DPBench."""
    found: dict[str, Any] = {}
    for name in dpbench_names(folder, dimensions):
        begun, records = time.perf_counter(), dpbench(folder, dimensions, name)
        found[name] = {"rows": len(records)}
        for alpha in DPBENCH_ALPHAS:
            found[name][alpha] = {
                method: measured(records, method, alpha, 1 if method == "hierarchical" else RELEASES[dimensions])
                for method in (*METHODS, "blue", "adaptive")
            }
        say(f"{name}: {len(records):,} rows in {time.perf_counter() - begun:.1f} s")
    return found


def verdicts(found: dict[str, Any]) -> dict[str, Any]:
    """Compare the default with the kd-tree, dataset by dataset, and the best method where it is behind."""
    ratios = {
        (name, alpha): one[alpha]["auto"]["absolute"] / one[alpha]["kdtree"]["absolute"]
        for name, one in found.items()
        for alpha in DPBENCH_ALPHAS
    }
    behind = {}
    for (name, alpha), ratio in ratios.items():
        if ratio > 1:
            errors = {method: found[name][alpha][method]["absolute"] for method in found[name][alpha]}
            behind[f"{name} at {alpha}"] = {"ratio": round(ratio, 2), "best": min(errors, key=errors.__getitem__)}
    medians = {a: round(float(np.median([r for (_, at), r in ratios.items() if at == a])), 3) for a in DPBENCH_ALPHAS}
    per_dataset = [np.exp(np.mean([np.log(ratios[name, a]) for a in DPBENCH_ALPHAS])) for name in found]
    return {"median_ratio": medians, "median_dataset": round(float(np.median(per_dataset)), 3), "behind": behind}


SPEED = """
import json, resource, sys, time
from pathlib import Path
import tacit as tc
from tacit import central
from bench.dpcube.tables import ATTRIBUTES, acs_columns
columns = acs_columns(Path(sys.argv[1]))
service = tc.Service("acs", key="uid", attributes=list(ATTRIBUTES.values()))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begun = time.perf_counter()
made = central.release(columns, service, 1, method=sys.argv[2])
taken = time.perf_counter() - begun
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"seconds": round(taken, 2), "peak_mib": peak // 1024, "numbers": made.body.columns().num_rows}))
"""


def speed(folder: Path, method: str) -> dict[str, Any]:
    """Time a release of a million rows with four attributes in a process of its own, import of the library included."""
    words = [sys.executable, "-c", SPEED, str(folder.resolve()), method]
    result = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def advice(folder: Path, found: dict[str, Any]) -> dict[str, Any]:
    """Ask the advisor about every dataset and alpha where the default is behind the kd-tree; the data are public."""
    told = {}
    for dimensions in (1, 2):
        for key in found[f"verdicts{dimensions}"]["behind"]:
            name, _, alpha = key.partition(" at ")
            records = dpbench(folder, dimensions, name)
            names = [attribute.name for attribute in records.service.sensitive]
            table = {"uid": np.arange(len(records)), **dict(zip(names, records.values, strict=True))}
            said = advise(records.service, alpha, len(records), like=table)
            ours, theirs, default = (
                measured(records, method, alpha, AGAIN)["absolute"] for method in (said.method, "kdtree", "auto")
            )
            told[key] = {"method": said.method, "ratio": round(ours / theirs, 2), "auto": round(default / theirs, 2)}
            say(f"{key}: {told[key]}")
    return told


def speeds(folder: Path) -> dict[str, Any]:
    """Time the methods that large domains allow."""
    return {method: speed(folder, method) for method in ("kdtree", "adaptive", "cells")}


def four_attributes(folder: Path) -> dict[str, Any]:
    """Return errors on all four attributes."""
    four = acs(folder, *ATTRIBUTES)
    return {
        alpha: {method: measured(four, method, alpha, 1) for method in ("hierarchical", "kdtree", "adaptive", "auto")}
        for alpha in ("0.1", "1")
    }


PARTS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "speed": speeds,
    "one_dimension": one_dimension,
    "heights": several_heights,
    "thresholds": several_thresholds,
    "alphas": several_alphas,
    "queries": several_queries,
    "four": four_attributes,
    "dpbench1": partial(histograms, dimensions=1),
    "dpbench2": partial(histograms, dimensions=2),
}


def measure(folder: Path, names: Sequence[str], found: dict[str, Any]) -> dict[str, Any]:
    """Run some parts; keep what is known of the others."""
    for name in names:
        begun = time.perf_counter()
        found[name] = PARTS[name](folder)
        found.setdefault("measured", {})[name] = provenance(PACKAGES) | {"seconds": round(time.perf_counter() - begun)}
        say(f"{name}: {found['measured'][name]['seconds']} s")
    for dimensions in (1, 2):
        found[f"verdicts{dimensions}"] = verdicts(found[f"dpbench{dimensions}"])
    found["advice"] = advice(folder, found)
    return found


def check_slice(folder: Path) -> int:
    """Measure a few points again; return 1 if one is far off, or a release is too slow."""
    committed, failed = json.loads(RESULTS.read_text(encoding="utf-8")), False
    both = acs(folder, "age", "income")
    for method in METHODS:
        now = measured(both, method, "0.1", 5)["absolute"]
        before = committed["alphas"][method]["0.1"]["absolute"]
        near, words = verdict(now, before, TOLERANCE)
        say(f"figure 13, {method} at 0.1: error {now:.5g}, committed {before:.5g}: {words}.")
        failed |= not near
    found = speed(folder, "kdtree")
    fast = found["seconds"] < SPEED_SECONDS and found["peak_mib"] < SPEED_GIB * 1024
    say(f"kdtree, four attributes, a million rows: {found}: {'within' if fast else 'NOT within'} 10 s and 2 GiB.")
    return int(failed or not fast)


def plain(value: Any) -> Any:
    """Return numpy's numbers as JSON has them."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def main() -> int:
    """Run in full or in part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with acs2024_person and dpbench_* (.parquet)")
    parser.add_argument("--slice", action="store_true", help="measure a few points and compare with results.json")
    parser.add_argument("--part", action="append", choices=list(PARTS), help="measure only this part again")
    options = parser.parse_args()
    if options.slice:
        return check_slice(options.data)
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if options.part else {}
    results = measure(options.data, options.part or list(PARTS), known)
    RESULTS.write_text(json.dumps(results, indent=1, default=plain) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
