"""Releases of many columns: python -m bench.curator.run --data FOLDER [--only NAME] [--peers FOLDER].

Mean L1 distance of one-, two- and three-way tables (shares of people) from the truth, over all columns, pairs and 40
triples, for `method="marginals"` and a maximum-spanning-tree mechanism with the same guarantee; with Gaussian noise
and a delta, beside MST and AIM of private-pgm, which `bench/curator/peers.py` runs. results.json keeps what was
measured; a point that it has is not measured again.
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
PURE, WITH_DELTA, DELTA = ("marginals", "mst"), ("gaussian", "pgm mst", "pgm aim"), 1e-9


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


def ours(rows: np.ndarray, attributes: list[Any], epsilon: float, options: dict[str, Any]) -> Any:
    """Return the tables of a release by ``method="marginals"``."""
    columns: dict[str, Any] = {"uid": np.arange(len(rows))}
    for i, own in enumerate(attributes):
        columns[own.name] = rows[:, i] if isinstance(own, tc.Ordinal) else np.array(own.values)[rows[:, i]]
    service = tc.Service("t", key="uid", attributes=attributes)
    body = central.release(columns, service, epsilon, method="marginals", **options).body
    assert isinstance(body, MarginalTables)
    return body.model.table


def drawn(folder: Path | None, key: str, run: int, sizes: tuple[int, ...]) -> Any:
    """Return the tables of the rows that a peer drew, or None if it has not."""
    file = folder / f"{key.replace(' | ', '-').replace(' ', '_')}-{run}.npy" if folder else None
    if file is None or not file.exists():
        return None
    rows = np.load(file)
    return lambda asked: truth(rows, sizes, asked)


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--peers", type=Path, help="where coded columns are written for peers, and their rows are read")
    options = parser.parse_args()
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"points": {}}
    for name in SETS:
        rows, attributes = read(options.data, name)
        sizes = tuple(own.size for own in attributes)
        if options.peers:
            np.savez(options.peers / f"{name.replace(' ', '_')}.npz", rows=rows, sizes=sizes)
        for epsilon, method in itertools.product(EPSILONS, PURE + WITH_DELTA):
            key = f"{name} | {epsilon:g} | {method}"
            if key in known["points"] or options.only not in key:
                continue
            runs, start = [], time.process_time()
            for run in range(RUNS):
                if method == "marginals":
                    table = ours(rows, attributes, epsilon, {})
                elif method == "gaussian":
                    table = ours(rows, attributes, epsilon, {"noise": "gaussian", "delta": DELTA})
                elif method == "mst":
                    table = Mst(rows, sizes, epsilon, np.random.default_rng(seed_of(key, run))).table
                else:
                    table = drawn(options.peers, key, run, sizes)
                if table is not None:
                    runs.append(distances(table, rows, sizes))
            if not runs:
                continue
            seconds = (time.process_time() - start) / len(runs)
            known["points"][key] = {"l1": [figure(own) for own in np.mean(runs, axis=0)], "seconds": figure(seconds)}
            say(f"{key}: {known['points'][key]}")
            known["provenance"] = provenance(["numpy", "opendp"])
            RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    write_part(README, "<!-- table -->", table_of(known["points"], PURE))
    write_part(README, "<!-- delta -->", table_of(known["points"], WITH_DELTA))


def table_of(points: dict[str, Any], methods: tuple[str, ...]) -> str:
    """Return the results of some methods as a table: distances, and the first one's over the best of the others."""
    heads = " | ".join(f"{own}, 1/2/3-way" for own in methods)
    lines = [f"| data | epsilon | {heads} | {methods[0]} / best |", "|---|--:|" + "---|" * (len(methods) + 1)]
    for name, epsilon in itertools.product(SETS, EPSILONS):
        measured = [points.get(f"{name} | {epsilon:g} | {method}", {}).get("l1") for method in methods]
        if not measured[0]:
            continue
        shown = [" / ".join(f"{value:.4f}" for value in own) if own else "not run" for own in measured]
        others = np.array([own for own in measured[1:] if own])
        ratio = [a / b for a, b in zip(measured[0], others.min(axis=0), strict=True)] if len(others) else []
        lines.append(f"| {name} | {epsilon:g} | {' | '.join(shown)} | {' / '.join(f'{own:.2f}' for own in ratio)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
