"""Whole distributions: how far ``GROUP BY`` over a fine ordinal, post-processed, is from the truth, by W1 distance.

Run ``python -m bench.distribution.run [--encodings N] [--minutes M]``. The collection is declared with ``users=`` and
that question. Beside it: square wave reporting with EM and smoothing (`square_wave`). W1 is the mean distance of two
cumulative distributions, as a fraction of the range. results.json keeps what was measured, so that a run goes on where
the last one stopped.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import tacit as tc
from bench.common import figure, provenance, say, seed_of, write_part
from bench.distribution.square_wave import square_wave
from bench.ranges.run import model_for

HERE = Path(__file__).parent
RESULTS, README = HERE / "results.json", HERE / "README.md"
PEOPLE, SIZES, EPSILONS = 100_000, (64, 256), ("0.5", "1", "2")
NAMES = ("beta", "lognormal", "modes", "rounded", "zipf")

Vector = npt.NDArray[np.float64]


def values_of(name: str, size: int) -> npt.NDArray[np.int64]:
    """Return everybody's value."""
    source = np.random.default_rng([sum(map(ord, name)), size])
    if name == "zipf":
        weights = 1 / np.arange(1, size + 1) ** 1.2
        return source.choice(size, PEOPLE, p=weights / weights.sum())
    if name == "beta":
        exact = source.beta(5, 2, PEOPLE)
    elif name == "modes":
        low, high = source.normal(0.3, 0.06, PEOPLE), source.normal(0.75, 0.03, PEOPLE)
        exact = np.where(source.random(PEOPLE) < 0.6, low, high)
    else:
        exact = source.lognormal(-1.8, 0.7, PEOPLE)
        if name == "rounded":
            exact = np.where(source.random(PEOPLE) < 0.5, np.round(exact * 20) / 20, exact)
    return np.floor(np.clip(exact, 0, 0.9999) * size).astype(np.int64)


@lru_cache(maxsize=2)
def collection_of(size: int, epsilon: str) -> tc.Collection:
    """Compile the collection that is designed for the question."""
    schema = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Ordinal("x", 0, size - 1)])])
    return tc.Collection(schema, epsilon, users=PEOPLE, questions=["SELECT x, COUNT(*) FROM t GROUP BY x"])


def distance(shares: Vector, truth: Vector) -> float:
    """Return the W1 distance, as a fraction of the range."""
    return float(np.abs((shares - truth).cumsum()).mean())


def measure(name: str, size: int, epsilon: str, encoding: int) -> list[float]:
    """Return the distances of one encoding: ours, and that of square wave."""
    values, collection = values_of(name, size), collection_of(size, epsilon)
    counts = np.bincount(values, minlength=size).astype(np.float64)
    seed = seed_of("distribution", name, size, epsilon, encoding)
    table = pa.table({"uid": np.arange(PEOPLE), "x": values})
    reports = collection.encode(t=table, rng=tc.insecure_rng(seed))
    codes, times = np.unique(np.asarray(reports["t"]["code"]), return_counts=True)
    fitted = model_for(collection.contract["t"], {0: (codes, times)}).table((0,))
    waves = square_wave(counts, float(epsilon), np.random.default_rng(seed))
    return [figure(distance(own, counts / PEOPLE)) for own in (fitted, waves)]


def main() -> None:
    """Measure what results.json lacks, one encoding of everything after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encodings", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=600)
    options = parser.parse_args()
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cells": {}}
    start = time.monotonic()
    for size in SIZES:
        for epsilon in EPSILONS:
            for name in NAMES:
                done = known["cells"].setdefault(f"{name} | {size} | {epsilon}", [])
                while len(done) < options.encodings and time.monotonic() - start < 60 * options.minutes:
                    done.append(measure(name, size, epsilon, len(done)))
    known["provenance"] = provenance(["numpy", "pyarrow"])
    RESULTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    write_part(README, "<!-- results -->", table_of(known["cells"]))
    say(f"{sum(map(len, known['cells'].values()))} encodings")


def table_of(cells: dict[str, list[list[float]]]) -> str:
    """Return a row for each cell, and the mean."""
    lines = ["| people | values | epsilon | ours | square wave | ratio | encodings |", "|---|--:|--:|--:|--:|--:|--:|"]
    ratios = []
    for key, runs in cells.items():
        if runs:
            ours, waves = np.mean(runs, axis=0)
            ratios.append(ours / waves)
            lines.append(f"| {key} | {ours:.5f} | {waves:.5f} | {ratios[-1]:.2f} | {len(runs)} |")
    mean = math.exp(float(np.mean(np.log(ratios)))) if ratios else math.nan
    above = sum(ratio > 1 for ratio in ratios)
    lines += [
        "",
        f"Geometric mean {mean:.2f}, at most {max(ratios, default=math.nan):.2f}; {above} of {len(ratios)} above 1.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
