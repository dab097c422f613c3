"""Honest populations and naive attacks: how often does the test of views and seeds alarm?

    .venv/bin/python -m bench.detector.run [--trials 25] [--people 20000]

Honest people of several populations report by several mechanisms; then 5 % of them are replaced by attackers who all
send the code that raises a COUNT over random ranges most. ``results.json`` has the share of alarms of each cell.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import tacit as tc
from tacit.contract.contract import ServiceContract
from tacit.estimate.decoder import Decoder
from tacit.estimate.evenness import evenness_of
from tacit.estimate.functional import Functional

HERE = Path(__file__).parent
SHARE = 0.05
VALUES = 32

Codes = np.ndarray


def populations(rng: np.random.Generator, people: int) -> dict[str, np.ndarray]:
    """Return two columns of values for each population."""
    ranks = np.arange(1, VALUES + 1)
    zipf = rng.choice(VALUES, (people, 2), p=(1 / ranks) / (1 / ranks).sum())
    age = np.clip(rng.normal(12, 6, people), 0, VALUES - 1)
    hours = np.where(rng.random(people) < 0.4, 16, np.clip(age + rng.normal(4, 5, people), 0, VALUES - 1))
    return {
        "uniform": rng.integers(0, VALUES, (people, 2)),
        "zipf": zipf,
        "constant": np.full((people, 2), 7),
        "comb": 4 * rng.integers(0, VALUES // 4, (people, 2)),
        "census": np.stack([age, hours], axis=1).astype(np.int64),
    }


MECHANISMS: dict[str, dict[str, Any]] = {
    "auto": {"epsilon": 1},
    "auto, epsilon 4": {"epsilon": 4},
    "hio": {"epsilon": 1, "mechanism": "hio"},
    "hio, olh": {"epsilon": 1, "mechanism": "hio", "oracle": "olh"},
    "pairs": {"epsilon": 2, "mechanism": "pairs"},
    "fc, lh": {"epsilon": 1, "mechanism": "fc", "oracle": "lh"},
}


def best_code(service: ServiceContract, rng: np.random.Generator, codes: Codes) -> int:
    """Return the code, of those that occur where there are too many, that raises a COUNT over random ranges most."""
    sizes = (VALUES, VALUES)
    functional = Functional.constant(sizes)
    for attribute in range(2):
        low, high = sorted(rng.choice(VALUES + 1, 2, replace=False))
        functional = functional * Functional.of(
            sizes, attribute, (np.arange(VALUES) >= low) & (np.arange(VALUES) < high)
        )
    [(_, [factor])] = Decoder(service).decode(functional).products
    [(_, reading)] = factor.readings.items()
    tried = np.arange(reading.channel.alphabet) if reading.channel.alphabet <= 2_000_000 else np.unique(codes)
    return int(tried[reading.contributions(tried).argmax()])


def alarm(service: ServiceContract, codes: Codes) -> bool:
    """Tell whether the test alarms."""
    distinct, people = np.unique(codes, return_counts=True)
    return bool(evenness_of(service.channels[0], distinct, people.astype(np.float64)).problem)


def measure(trials: int, people: int) -> list[dict[str, Any]]:
    """Return the alarms of every mechanism and population."""
    rows = []
    for name, options in MECHANISMS.items():
        attributes = [tc.Ordinal("x", 0, VALUES - 1), tc.Ordinal("y", 0, VALUES - 1)]
        collection = tc.Collection(tc.Schema([tc.Service("s", key="uid", attributes=attributes)]), **options)
        service = collection.contract["s"]
        for number, population in enumerate(populations(np.random.default_rng(0), people)):
            honest = attacked = 0
            for trial in range(trials):
                rng = np.random.default_rng([number, trial])
                values = populations(rng, people)[population]
                raw = {"uid": np.arange(people), "x": values[:, 0], "y": values[:, 1]}
                drawn = collection.encode(s=raw, rng=tc.insecure_rng(1_000 * number + trial))["s"]
                codes = np.asarray(drawn["code"]).copy()
                honest += alarm(service, codes)
                codes[: int(SHARE * people)] = best_code(service, rng, codes)
                attacked += alarm(service, codes)
            rows.append({"mechanism": name, "population": population, "honest": honest, "attacked": attacked})
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--people", type=int, default=20_000)
    options = parser.parse_args()
    started = time.time()
    rows = measure(options.trials, options.people)
    runs = options.trials * len(rows)
    summary = {
        "trials": options.trials,
        "people": options.people,
        "attackers": SHARE,
        "false_alarms": sum(row["honest"] for row in rows) / runs,
        "flagged": sum(row["attacked"] for row in rows) / runs,
        "least_flagged": min(row["attacked"] for row in rows) / options.trials,
        "runs": runs,
        "seconds": round(time.time() - started),
    }
    (HERE / "results.json").write_text(json.dumps(summary | {"cells": rows}, indent=1) + "\n")
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
