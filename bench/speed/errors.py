"""Stated errors from samples of codes, over those from all codes, on populations that no sample was tuned on.

Every cell is one population, epsilon and number of attributes; its questions group by sensitive and public columns,
weigh by a public number, and join two services. A cell that was measured is not measured again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import tacit as tc
from bench.common import provenance, say
from tacit.answers import answer_cache, code_sums
from tacit.errors import TacitError
from tacit.estimate.estimate import Estimate

RESULTS = Path(__file__).parent / "errors.json"
SEED, PEOPLE = 20_250_818, 200_000
EPSILONS, ATTRIBUTES = (0.5, 1.0, 4.0, 8.0), (2, 3, 4)
CLAIMED = 0.05
"""How far a stated error may be off."""

STATES = [f"s{i}" for i in range(20)]
Draw = Callable[[np.random.Generator, int, int], np.ndarray[Any, Any]]

POPULATIONS: dict[str, Draw] = {
    "skewed": lambda rng, size, count: np.minimum(rng.geometric(6 / (size + 6), count) - 1, size - 1),
    "one cell": lambda _, size, count: np.full(count, size // 3),
    "rare": lambda rng, size, count: np.where(rng.random(count) < 0.002, rng.integers(0, size, count), size - 1),
    "two ends": lambda rng, size, count: np.where(rng.random(count) < 0.5, 0, size - 1 - rng.integers(0, 3, count)),
}

QUESTIONS = (
    "SELECT COUNT(*) AS n FROM u WHERE age BETWEEN 10 AND 24",
    "SELECT COUNT(*) AS n FROM u WHERE age = 20 AND state = 's6' AND os = 'c'",
    "SELECT state, COUNT(*) AS n FROM u GROUP BY state",
    "SELECT age, COUNT(*) AS n FROM u GROUP BY age",
    "SELECT state, age, COUNT(*) AS n FROM u WHERE age < 10 GROUP BY state, age",
    "SELECT state, os, COUNT(*) AS n, AVG(age) AS m FROM u GROUP BY state, os",
    "SELECT state, SUM(weight) AS s FROM u WHERE os <> 'a' GROUP BY state",
    "SELECT income, COUNT(*) AS n FROM u WHERE state = 's6' OR state = 's19' GROUP BY income",
    "SELECT kind, AVG(income) AS m, COUNT(*) AS n FROM u GROUP BY kind",
    "SELECT state, COUNT(*) AS n, SUM(amount) AS s FROM o JOIN u USING (uid) GROUP BY state",
)


def database(population: str, epsilon: float, attributes: int) -> tc.Database:
    """Return reports of one population: ages and states, incomes, kinds; and one or no order a person."""
    rng, draw = np.random.default_rng(SEED), POPULATIONS[population]
    declared = [
        tc.Ordinal("age", 0, 59),
        tc.Categorical("state", STATES),
        tc.Ordinal("income", 0, 99),
        tc.Categorical("kind", list("abcde")),
    ][:attributes]
    public = [tc.Public("os", values=["a", "b", "c"]), tc.Public("weight", type=float)]
    services = [
        tc.Service("u", key="uid", attributes=[*declared, *public]),
        tc.Service("o", key="uid", at_most=1, attributes=[tc.Ordinal("amount", 0, 19)]),
    ]
    columns: dict[str, Any] = {"uid": np.arange(PEOPLE)}
    for one in declared:
        values = draw(rng, one.size, PEOPLE)
        columns[one.name] = np.array(one.values)[values] if isinstance(one, tc.Categorical) else values
    columns["os"] = np.array(["a", "b", "c"])[np.digitize(rng.random(PEOPLE), [0.9, 0.99])]
    columns["weight"] = rng.lognormal(0, 1, PEOPLE)
    buyers = np.flatnonzero(rng.random(PEOPLE) < 0.3)
    orders = pa.table({"uid": buyers, "amount": draw(rng, 20, len(buyers))})
    collection = tc.Collection(tc.Schema(services), epsilon, users=PEOPLE)
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(u=pa.table(columns), o=orders, rng=tc.insecure_rng(SEED)))
    return db


@contextmanager
def _all_codes() -> Iterator[None]:
    """Take second moments from all codes."""
    names = ("SAMPLED", "SAMPLED_WEIGHTED", "SAMPLED_VALUES")
    kept = [getattr(code_sums, name) for name in names]
    for name in names:
        setattr(code_sums, name, 2**60)
    try:
        yield
    finally:
        for name, value in zip(names, kept, strict=True):
            setattr(code_sums, name, value)


def ratios(db: tc.Database, question: str) -> list[float]:
    """Return the stated error over that of all codes, of estimates whose denominators are not weak."""

    def estimates() -> list[Estimate]:
        return [cell for row in db.sql(question).rows for cell in row if isinstance(cell, Estimate)]

    sampled = estimates()
    with _all_codes():
        exact = estimates()
    is_ratio = "AVG" in question
    pairs = zip(sampled, exact, strict=True)
    return [
        own.error / right.error
        for own, right in pairs
        if right.error and math.isfinite(right.error) and not (is_ratio and right.error > abs(right.value) / 4)
    ]


def cell(population: str, epsilon: float, attributes: int) -> dict[str, Any]:
    """Measure one cell."""
    db = database(population, epsilon, attributes)
    worst, every = {}, []
    for question in QUESTIONS:
        try:
            own = ratios(db, question)
        except TacitError:  # an attribute that is not collected, or not together with another
            continue
        every += own
        if own:
            worst[question] = [round(min(own), 4), round(max(own), 4)]
    db.close()
    outside = sum(abs(ratio - 1) > CLAIMED for ratio in every)
    spread = {"errors": len(every), "outside": outside, "least": min(every), "most": max(every)}
    return {name: round(value, 4) for name, value in spread.items()} | {
        "deviation": round(float(np.std(every)), 4),
        "worst": worst,
    }


def main() -> None:
    """Measure all cells that are not measured yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=1_000, help="measure at most so many cells now")
    options = parser.parse_args()
    answer_cache.MOST_CELLS = 0
    known: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"cells": {}}
    left = options.cells
    for population, epsilon, attributes in itertools.product(POPULATIONS, EPSILONS, ATTRIBUTES):
        name = f"{population}, epsilon {epsilon:g}, {attributes} attributes"
        if name not in known["cells"] and left:
            known["cells"][name], left = cell(population, epsilon, attributes), left - 1
            say(f"{name}: {known['cells'][name]}")
            made = provenance(["tacit", "numpy"], parameters={"people": PEOPLE, "seed": SEED}) | {
                "cells": known["cells"]
            }
            RESULTS.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    every = known["cells"].values()
    errors, outside = (sum(one[name] for one in every) for name in ("errors", "outside"))
    say(f"{len(every)} cells, {errors:,} errors, {outside} of them off by more than {CLAIMED:.0%}")


if __name__ == "__main__":
    main()
