"""Does the time of an encoding tell the value? Welch's t between classes of records, for both clients.

Encodings of the two classes of a case are interleaved in random order and timed one by one. The full run writes
results.json; ``--slice`` measures less and prints what it finds. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.common import figure, provenance, say
from bench.timing.cases import CASES, Case
from tacit.client import Interpreter

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"

ENCODINGS = 100_000
"""Per class."""

WARM_UP = 2_000
POOL = 1_000
"""Sets of draws per class; both classes use the same ones, except where a case is about the draws."""

CROP = 0.9
"""Share of encodings, the fastest ones, that the cropped figures keep: what is slower was interrupted."""

WANTED_T = 4.5


def draws_of(case: Case, source: np.random.Generator) -> list[list[list[int]]]:
    """Return sets of draws for each class."""
    count = Interpreter(case.contract).draws("s")
    pool = source.integers(0, 2**53, (POOL, count)).tolist()
    if case.answers is None:
        return [pool, pool]
    bounds = [source.integers(low, high, POOL).tolist() for low, high in case.answers]
    return [[[*own[:-1], answer] for own, answer in zip(pool, answers, strict=True)] for answers in bounds]


def time_python(case: Case, draws: list[list[list[int]]], order: list[int]) -> np.ndarray:
    """Return the nanoseconds of each encoding."""
    encode, clock = Interpreter(case.contract).encode_rows, time.perf_counter_ns
    classes, found = [case.left, case.right], []
    gc.collect()
    gc.disable()
    for number, own in enumerate(order):
        rows, drawn = classes[own], draws[own][number % POOL]
        start = clock()
        encode("s", rows, drawn)
        found.append(clock() - start)
    gc.enable()
    return np.array(found, dtype=np.float64)


def time_typescript(case: Case, draws: list[list[list[int]]], order: list[int]) -> np.ndarray:
    """Return the nanoseconds of each encoding."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.bin"
        asked = {"contract": case.contract, "classes": [case.left, case.right], "draws": draws, "order": order}
        text = json.dumps(asked | {"out": str(out)})
        subprocess.run([str(shutil.which("node")), str(HERE / "time.mjs")], input=text, text=True, check=True)
        return np.fromfile(out, dtype=np.float64)


def compare(found: np.ndarray, order: list[int]) -> dict[str, float]:
    """Return t over all encodings and over the fastest ones, and how much longer the second class takes."""
    kinds = np.array(order)
    left, right = (found[WARM_UP:][kinds[WARM_UP:] == own] for own in (0, 1))
    bar = np.quantile(found[WARM_UP:], CROP)
    low, high = left[left <= bar], right[right <= bar]
    return {
        "t": figure(_welch(left, right)),
        "t_cropped": figure(_welch(low, high)),
        "nanoseconds": figure(float(high.mean() - low.mean())),
        "median_difference": figure(float(np.median(right) - np.median(left))),
        "median": figure(float(np.median(left))),
    }


def _welch(left: np.ndarray, right: np.ndarray) -> float:
    spread = left.var(ddof=1) / len(left) + right.var(ddof=1) / len(right)
    return float((right.mean() - left.mean()) / np.sqrt(spread))


LANGUAGES = {"python": time_python, "typescript": time_typescript}


def measure(encodings: int, wanted: str, languages: list[str]) -> dict[str, Any]:
    """Return what every case shows in each language."""
    source, found = np.random.default_rng(int.from_bytes(os.urandom(8), "little")), {}
    for case in CASES:
        if wanted not in case.name:
            continue
        draws = draws_of(case, source)
        for language in languages:
            order = source.permutation(np.repeat([0, 1], encodings + WARM_UP // 2)).tolist()
            result = compare(LANGUAGES[language](case, draws, order), order)
            found[f"{language}, {case.name}"] = result
            shown = f"t {result['t']:8.1f}, cropped {result['t_cropped']:8.1f}, {result['nanoseconds']:8.1f} ns"
            say(f"{language:10} {case.name:44} {shown} of {result['median']:.0f}")
    return found


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slice", action="store_true", help="5,000 encodings per class; writes nothing")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--client", choices=LANGUAGES, help="one of the clients")
    options = parser.parse_args()
    languages = [options.client] if options.client else list(LANGUAGES)
    found = measure(5_000 if options.slice else ENCODINGS, options.only, languages)
    if not options.slice and not options.only and not options.client:
        RESULTS.write_text(
            json.dumps(provenance(("numpy",), load=figure(os.getloadavg()[0])) | {"cases": found}, indent=1)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
