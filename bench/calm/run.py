"""Measure all methods on the cells of the paper's figures: python -m bench.calm.run --data FOLDER [--slice] [--only N].

Results are written after every cell; what is there already is not measured again, unless --again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.calm.figures import CELLS, CURATED, EPSILONS, MIXED, QUESTIONS, RUNS, SHAPES, name_of
from bench.calm.methods import METHODS, Tables, calm_of, priview, questions, squared_errors
from bench.calm.noise import check
from bench.calm.populations import Population, population
from bench.calm.speed import speed
from bench.calm.svm import svm_points
from bench.common import figure, provenance, say, seed_of, verdict
from tacit.contract.layouts.calm import view_sets
from tacit.contract.layouts.covering import spread

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
SLICE = [name_of("4", "retail", 8, 3, 2**16, 1.0, method) for method in ("tacit", "CALM", "FT")]
FEW_QUESTIONS = 20
"""Questions for EM, which is slow, and for figures 7 to 9."""

Work = dict[str, Callable[[], dict[str, Any]]]


class Populations:
    """Populations, made once."""

    def __init__(self, data: Path) -> None:
        self._data, self._made = data, {}  # type: ignore[var-annotated]

    def __call__(self, name: str, attributes: int, people: int) -> Population:
        key = name, attributes, people
        if key not in self._made:
            self._made[key] = population(self._data, name, attributes, people)
        return self._made[key]


def point(people: Population, tables: Tables | None, asked: int, count: int = QUESTIONS) -> dict[str, Any]:
    """Return the mean sum of squared errors over runs, and its standard deviation."""
    if tables is None:
        return {"left_out": "more views or coefficients than people"}
    errors = squared_errors(people, tables, questions(people, asked, count))
    spread_of = float(errors.std(ddof=1)) if len(errors) > 1 else 0.0
    return {"sse": figure(errors.mean()), "sse_std": figure(spread_of), "repeated_rows": people.repeated}


@cache
def viewed(people: Population, sets: tuple[tuple[int, ...], ...], epsilon: float, asked: int) -> dict[str, Any]:
    """Return the errors of CALM with given views: the same views give the same number, as in the paper."""
    rng = np.random.default_rng(seed_of(len(people.rows), sets, epsilon, asked))
    return point(people, calm_of(people, sets, epsilon, RUNS, rng), asked, FEW_QUESTIONS)


def work_of(made: Populations) -> Work:
    """Return every point of every figure, by name, in the order of importance."""
    work: Work = {}
    for cell in CELLS:
        for epsilon in EPSILONS:
            for method, collected in METHODS.items():
                name = name_of(cell.figure, cell.data, cell.attributes, cell.asked, cell.people, epsilon, method)

                def measure(
                    cell: Any = cell, epsilon: float = epsilon, method: Any = collected, name: str = name
                ) -> Any:
                    people = made(cell.data, cell.attributes, cell.people)
                    rng = np.random.default_rng(seed_of(name))
                    tables = method(people, epsilon, cell.asked, RUNS, rng)
                    return point(people, tables, cell.asked, FEW_QUESTIONS if name.endswith("EM") else QUESTIONS)

                work[name] = measure
    for figured, data, d, k, n, epsilon, other in MIXED:
        name = name_of(figured, data, d, k, n, epsilon, f"for {other}")

        def mixed(d: int = d, k: int = k, n: int = n, e: float = epsilon, other: int = other) -> Any:
            people = made("retail", d, n)
            return viewed(people, tuple(view_sets(people.sizes, n, e, other)), e, k)

        work[name] = mixed
    for figured, data, d, k, n, epsilon in CURATED:
        name = name_of(figured, data, d, k, n, epsilon, "PriView")

        def curated(d: int = d, k: int = k, n: int = n, e: float = epsilon, name: str = name) -> Any:
            people, rng = made("retail", d, n), np.random.default_rng(seed_of(name))
            return point(people, priview(people, e, RUNS, rng), k, FEW_QUESTIONS)

        work[name] = curated
    for data, d, k, n, epsilon, shown, views in SHAPES:
        name = name_of("7", data, d, k, n, epsilon, f"{views} of {shown}")

        def shaped(
            d: int = d, k: int = k, n: int = n, e: float = epsilon, one: int = shown, m: int = views, name: str = name
        ) -> Any:
            people, rng = made("retail", d, n), np.random.default_rng(seed_of(name))
            return point(people, calm_of(people, spread(d, one, m), e, RUNS, rng), k, FEW_QUESTIONS)

        work[name] = shaped
    return work


def main() -> None:
    """Measure what is missing, or recompute a slice and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--slice", action="store_true", help="recompute a few points and compare with the committed ones"
    )
    parser.add_argument("--only", default="", help="points whose names hold this")
    parser.add_argument("--again", action="store_true", help="measure what is there already, too")
    options = parser.parse_args()
    work = work_of(Populations(options.data)) | svm_points(options.data) | {"speed": speed}
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"points": {}}
    if options.slice:
        for name in SLICE:
            now = work[name]()["sse"]
            _, said = verdict(now, results["points"][name]["sse"], 1.05)
            say(f"{name}: {now:.4g}, {said}")
        return
    results |= provenance(["numpy", "duckdb"], runs=RUNS, questions=QUESTIONS, people_by="seed 2018")
    people = population(options.data, "retail", 8, 2**16)
    results["simulated_over_encoded"] = figure(check(people, [(0, 1), (2, 3), (4, 5)], 1.0))
    for name, measure in work.items():
        if options.only in name and (options.again or name not in results["points"]):
            start = time.perf_counter()
            results["points"][name] = measure() | {"seconds": figure(time.perf_counter() - start)}
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
            say(f"{name}: {results['points'][name]}")


if __name__ == "__main__":
    main()
