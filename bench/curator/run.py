"""Releases of many columns: python -m bench.curator.run --data FOLDER [--only NAME].

Mean L1 distance of one-, two- and three-way tables (shares of people) from the truth, over all columns, pairs and 40
triples, for `method="marginals"` and a maximum-spanning-tree mechanism with the same guarantee. results.json keeps what
was measured; a point that it has is not measured again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import tacit as tc
from bench.common import figure, provenance, say, seed_of, write_part
from bench.curator.mst import Mst
from tacit import central
from tacit.central.marginals import MarginalTables

HERE = Path(__file__).parent
RESULTS, README = HERE / "results.json", HERE / "README.md"

ADULT = (
    "sex", "race", "relationship", "marital_status", "workclass", "income",
    "education", "occupation", "age", "native_country", "hours_per_week", "capital_gain", "capital_loss",
)  # fmt: skip
ACS = (
    "sex", "rac1p", "mar", "esr", "cow", "cit", "hicov", "dis",
    "hisp", "schl", "agep", "wkhp", "state", "pincp", "wagp",
)  # fmt: skip
SETS = {
    "adult 6": ("adult", ADULT[:6]),
    "adult 9": ("adult", ADULT[:9]),
    "adult 13": ("adult", ADULT),
    "acs 15": ("acs", ACS),
}
FILES = {"adult": "adult.parquet", "acs": "acs2024_person.parquet"}
EPSILONS, RUNS, TRIPLES, MOST, PEOPLE = (0.1, 1.0), 3, 40, 100, 200_000


def read(data: Path, name: str) -> tuple[np.ndarray, list[Any]]:
    """Return columns as small numbers, and their attributes; numbers of many values are in 100 even bins."""
    file, names = SETS[name]
    query = (
        f"SELECT {', '.join(names)} FROM '{data / FILES[file]}' USING SAMPLE reservoir({PEOPLE} ROWS) REPEATABLE (7)"
    )
    frame = duckdb.sql(query).df()
    columns, attributes = [], []
    for own in names:
        values = frame[own]
        ordered = values.dtype.kind in "if" and values.nunique() > 12 and own != "state"
        if ordered:
            numbers = values.fillna(0).to_numpy(dtype=float)
            low, high = numbers.min(), numbers.max()
            bins = int(min(MOST, high - low + 1))
            coded = np.minimum((numbers - low) / (high - low + 1e-9) * bins, bins - 1).astype(np.int64)
            attributes.append(tc.Ordinal(own, 0, bins - 1))
        else:
            kinds, coded = np.unique([str(own) for own in values], return_inverse=True)
            attributes.append(tc.Categorical(own, [str(kind) for kind in kinds]))
        columns.append(coded)
    return np.stack(columns, axis=1), attributes


def truth(rows: np.ndarray, sizes: tuple[int, ...], asked: tuple[int, ...]) -> np.ndarray:
    """Return the shares of people in each cell."""
    shape = [sizes[i] for i in asked]
    flat = np.ravel_multi_index(tuple(rows[:, i] for i in asked), shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape) / len(rows)


def distances(table: Any, rows: np.ndarray, sizes: tuple[int, ...]) -> list[float]:
    """Return the mean L1 distance of one-, two- and three-way tables."""
    count, source = len(sizes), np.random.default_rng(1)
    triples = list(itertools.combinations(range(count), 3))
    some = [triples[k] for k in source.permutation(len(triples))[:TRIPLES]]
    some = [own for own in some if np.prod([sizes[i] for i in own]) <= 2**20]
    sets = [[(i,) for i in range(count)], list(itertools.combinations(range(count), 2)), some]
    return [figure(np.mean([np.abs(table(own) - truth(rows, sizes, own)).sum() for own in one])) for one in sets]


def ours(rows: np.ndarray, attributes: list[Any], epsilon: float) -> Any:
    """Return the tables of a release by ``method="marginals"``."""
    columns: dict[str, Any] = {"uid": np.arange(len(rows))}
    for i, own in enumerate(attributes):
        columns[own.name] = rows[:, i] if isinstance(own, tc.Ordinal) else np.array(own.values)[rows[:, i]]
    service = tc.Service("t", key="uid", attributes=attributes)
    body = central.release(columns, service, epsilon, method="marginals").body
    assert isinstance(body, MarginalTables)
    return body.model.table


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"points": {}}
    for name in SETS:
        rows, attributes = read(options.data, name)
        sizes = tuple(own.size for own in attributes)
        for epsilon, method in itertools.product(EPSILONS, ("marginals", "mst")):
            key = f"{name} | {epsilon:g} | {method}"
            if key in known["points"] or options.only not in key:
                continue
            runs, start = [], time.perf_counter()
            for run in range(RUNS):
                source = np.random.default_rng(seed_of(key, run))
                table = (
                    ours(rows, attributes, epsilon)
                    if method == "marginals"
                    else Mst(rows, sizes, epsilon, source).table
                )
                runs.append(distances(table, rows, sizes))
            seconds = (time.perf_counter() - start) / RUNS
            known["points"][key] = {"l1": [figure(own) for own in np.mean(runs, axis=0)], "seconds": figure(seconds)}
            say(f"{key}: {known['points'][key]}")
            known["provenance"] = provenance(["numpy", "opendp"])
            RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    write_part(README, "<!-- table -->", table_of(known["points"]))


def table_of(points: dict[str, Any]) -> str:
    """Return the results as a table."""
    lines = ["| data | epsilon | marginals, 1/2/3-way | tree, 1/2/3-way | marginals / tree |", "|---|--:|---|---|---|"]
    for name, epsilon in itertools.product(SETS, EPSILONS):
        both = [points.get(f"{name} | {epsilon:g} | {method}") for method in ("marginals", "mst")]
        if all(both):
            left, right = (own["l1"] for own in both if own)
            shown = [" / ".join(f"{value:.4f}" for value in own) for own in (left, right)]
            ratio = " / ".join(f"{a / b:.2f}" for a, b in zip(left, right, strict=True))
            lines.append(f"| {name} | {epsilon:g} | {shown[0]} | {shown[1]} | {ratio} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
