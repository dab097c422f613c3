"""Predicted errors against those that reports have: NULL, optional services, several rows, and larger designed sets.

Run ``python -m bench.limit.predicted [--data FOLDER]``: two real encodings of 200,000 people. What a person's reports
add, around the person's own truth, has a mean square that is compared with the predicted variance, for several
questions. Writes predicted.json and the table of the page. (`measured` has more people and no such services.)
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import tacit as tc
from bench.common import figure, provenance, say, seed_of, write_part
from bench.ranges.populations import population
from tacit.contract.contract import ServiceContract
from tacit.estimate.decoder import Decoder
from tacit.estimate.functional import Functional
from tacit.estimate.population import Population
from tacit.estimate.variance import expected_variance

HERE = Path(__file__).parent
RESULTS, README = HERE / "predicted.json", HERE / "README.md"
PEOPLE, SIZE, ENCODINGS = 200_000, 32, 2
POPULATIONS = ("uniform", "zipf", "lognormal", "census")
KINDS = ("NULL", "optional", "at most 3 rows, 1 sent", "at most 3 rows, 2 sent", "three attributes", "half the budget")
PLACE = np.arange(SIZE, dtype=np.float64)
QUESTIONS: dict[str, dict[int, npt.NDArray[np.float64]]] = {
    "COUNT(*) FILTER (WHERE x BETWEEN 3 AND 14)": {0: ((PLACE >= 3) & (PLACE <= 14)).astype(float)},
    "COUNT(*) FILTER (WHERE x = 2)": {0: (PLACE == 2).astype(float)},
    "SUM(x)": {0: PLACE},
    "COUNT(*) FILTER (WHERE x < 12 AND y >= 5)": {0: (PLACE < 12).astype(float), 1: (PLACE >= 5).astype(float)},
    "SUM(x) FILTER (WHERE y BETWEEN 4 AND 20)": {0: PLACE, 1: ((PLACE >= 4) & (PLACE <= 20)).astype(float)},
}
Values = npt.NDArray[np.int64]


def values_of(name: str, count: int, folder: Path | None) -> Values:
    """Return values of three independent attributes."""
    source = np.random.default_rng(seed_of("predicted", name))
    if name == "uniform":
        return source.integers(0, SIZE, (count, 3))
    if name == "zipf":
        weights = 1 / np.arange(1, SIZE + 1) ** 1.2
        return source.choice(SIZE, (count, 3), p=weights / weights.sum())
    if name == "lognormal":
        return np.minimum(source.lognormal(1.5, 0.9, (count, 3)), SIZE - 1).astype(np.int64)
    if folder is None:
        raise ValueError(name)
    real = np.minimum(population("census", count, folder)[:, :3] * SIZE // 100, SIZE - 1)
    return np.stack([source.permutation(column) for column in real.T], axis=1)


def case(kind: str, values: Values, rng: np.random.Generator) -> tuple[tc.Service, pa.Table]:
    """Return a service and the rows of its people."""
    null, third = kind == "NULL", kind == "three attributes"
    names = ["x", "y", "z"][: 2 + third]
    attributes = [tc.Ordinal(name, 0, SIZE - 1, null=null) for name in names]
    options: dict[str, Any] = {"optional": True} if kind == "optional" else {}
    owner = np.arange(len(values))
    if kind.startswith("at most"):
        options = {"at_most": 3, "sends": int(kind.split(", ")[1][0])}
        owner = np.repeat(np.arange(len(values)), rng.integers(0, 4, len(values)))[: len(values)]
    elif kind == "optional":
        owner = np.flatnonzero(rng.random(len(values)) < 0.6)
    rows = values[: len(owner)]
    columns = {
        name: pa.array(rows[:, i], mask=rng.random(len(rows)) < 0.2 if null else None) for i, name in enumerate(names)
    }
    return tc.Service("s", key="uid", attributes=attributes, **options), pa.table({"uid": owner, **columns})


def compare(kind: str, name: str, epsilon: float, folder: Path | None) -> list[float]:
    """Return for each question the measured variance of what a person adds around their truth, over the predicted."""
    rng = np.random.default_rng(seed_of("predicted", kind, name))
    service, table = case(kind, values_of(name, PEOPLE, folder), rng)
    half = epsilon / 2 if kind == "half the budget" else epsilon
    collection = tc.Collection(tc.Schema([service]), half)
    everybody = {"people": np.arange(PEOPLE)} if service.extras else {}
    compiled = collection.contract["s"]
    sizes = tuple(levels.size for levels in compiled.levels) + ((1 + service.extras,) if service.extras else ())
    owner = np.asarray(table["uid"])
    population = population_of(compiled, table)
    squares, foretold = np.zeros(len(QUESTIONS)), np.ones(len(QUESTIONS))
    for encoding in range(ENCODINGS):
        seed = tc.insecure_rng(seed_of(kind, name, epsilon, encoding))
        reports = collection.encode(s=table, rng=seed, **everybody)["s"]
        codes, place = np.unique(np.asarray(reports["code"]), return_inverse=True)
        uids = np.asarray(reports["uid"])
        for number, vectors in enumerate(QUESTIONS.values()):
            functional, truth = Functional.constant(sizes), np.ones(len(owner))
            for i, vector in vectors.items():
                own = np.append(vector, 0.0) if kind == "NULL" else vector
                functional = functional * Functional.of(sizes, i, own)
                values = table.column(1 + i).to_pandas().fillna(SIZE).to_numpy().astype(np.int64)
                truth *= np.append(vector, 0.0)[values]
            if service.extras:
                scale = service.at_most / service.sends if kind.startswith("at most") else 1.0
                present = np.array([scale] + [0.0] * service.extras)
                functional = functional * Functional.of(sizes, len(sizes) - 1, present)
            foretold[number] = expected_variance(Decoder(compiled), functional, population)
            [(coefficient, (factor,))] = Decoder(compiled).decode(functional).products
            added = coefficient * (factor.constant + factor.readings[0].contributions(codes))[place]
            whole = np.bincount(uids, added, PEOPLE) - np.bincount(owner, truth, PEOPLE)
            squares[number] += float((whole**2).mean()) / ENCODINGS
    return (squares / foretold).tolist()


def population_of(compiled: ServiceContract, table: pa.Table) -> Population:
    """Return the shares of values, and of people with so many rows, of whom those without any are known, too."""
    service = compiled.service
    columns = [table.column(1 + i).to_pandas().fillna(SIZE).to_numpy() for i in range(len(service.sensitive))]
    shares = [
        np.bincount(column.astype(np.int64), minlength=one.size) / len(column)
        for column, one in zip(columns, service.sensitive, strict=True)
    ]
    rows = np.bincount(np.bincount(np.asarray(table["uid"]), minlength=PEOPLE), minlength=service.rows_at_most + 1)
    return Population.of(compiled, shares, rows / PEOPLE)


def main() -> None:
    """Compare all kinds over all populations."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    names = POPULATIONS if options.data else POPULATIONS[:3]
    rows = []
    for kind in KINDS:
        for name in names:
            for epsilon in (1.0, 4.0):
                ratios = compare(kind, name, epsilon, options.data)
                rows.append({"kind": kind, "people": name, "epsilon": epsilon, "ratios": list(map(figure, ratios))})
                say(json.dumps(rows[-1]))
    RESULTS.write_text(json.dumps({"about": provenance(["numpy"]), "rows": rows}, indent=1) + "\n")
    lines = ["| service | people | epsilon 1 | epsilon 4 |", "|---|---|---|---|"]
    for one, two in zip(rows[::2], rows[1::2], strict=True):
        own = [f"{min(row['ratios']):.3f} to {max(row['ratios']):.3f}" for row in (one, two)]
        lines.append(f"| {one['kind']} | {one['people']} | {' | '.join(own)} |")
    write_part(README, "<!-- predicted -->", "\n".join(lines))


if __name__ == "__main__":
    main()
