"""How often intervals of quantiles, CORR and REGR hold, over independent encodings of one population.

python -m bench.quantiles.run [--encodings 4000] [--minutes 12]     adds chunks to results.json until it has as many
python -m bench.quantiles.run --table                writes the table of the page
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import tacit as tc
from bench.common import provenance, say, seed_of, write_part
from tacit.contract.randomness import insecure_rng

PEOPLE, VALUES, EPSILON = 1_000, 400, 3.0
SHARES = (0.25, 0.5, 0.9)
CHUNK = 100
"""Encodings of one store: each is a group of a public column."""

RESULTS, PAGE = Path(__file__).with_name("results.json"), Path(__file__).with_name("README.md")

Numbers = npt.NDArray[Any]
Held = dict[str, dict[str, list[int]]]
"""For each kind of data and question: how many intervals held, and how many there were, column by column."""


def populations() -> dict[str, Numbers]:
    """Return the values of every person: hardly any, and very many, share one."""
    draw = np.random.default_rng(17)
    return {
        "smooth": draw.normal(VALUES / 2, 0.15 * VALUES, PEOPLE).round().clip(0, VALUES - 1).astype(int),
        "heavy": draw.lognormal(np.log(VALUES / 10), 1, PEOPLE).round().clip(0, VALUES - 1).astype(int),
        "lumpy": draw.choice([0, 40, 80, 200, VALUES - 1], PEOPLE, p=[0.3, 0.3, 0.2, 0.15, 0.05]),
    }


def _sides() -> tuple[Numbers, Numbers]:
    draw = np.random.default_rng(18)
    return draw.choice(["x", "y"], PEOPLE), draw.choice(["x", "y"], PEOPLE)


def of_quantiles(name: str, values: Numbers, chunk: int) -> Held:
    """Ask for quantiles of everybody, of groups by a sensitive column, and over a join.

    Each question has a collection of its own: what it needs is reported, and answers cost a tenth of the time.
    """
    kind, other = _sides()
    number, a = tc.Public("n", type="int"), tc.Ordinal("a", 0, VALUES - 1)
    sides = {one: tc.Categorical(one, ["x", "y"]) for one in ("kind", "other")}
    alone = tc.Service("s", key="uid", attributes=[a, number])
    grouped = tc.Service("s", key="uid", attributes=[a, sides["kind"], number])
    beside = tc.Service("t", key="uid", attributes=[sides["other"]])
    asked = ", ".join(f"QUANTILE(a, {share}) AS q{place}" for place, share in enumerate(SHARES))
    questions = {
        "all": ([alone], "n", "", np.ones(PEOPLE, dtype=bool)),
        "group": ([grouped], "n, kind", "", kind == "x"),
        "join": ([alone, beside], "n", "JOIN t USING (uid) WHERE other = 'x'", other == "x"),
    }
    columns = {"a": values, "kind": kind, "other": other}
    found: Held = {}
    for question, (services, keys, rest, chosen) in questions.items():
        collection = tc.Collection(tc.Schema(services), epsilon=EPSILON)
        database = tc.connect()
        database.create(collection)
        tables = {one.name: _people(one, columns) for one in services}
        database.load(collection.encode(**tables, rng=insecure_rng(seed_of(name, question, chunk))))
        answer = database.sql(f"SELECT {keys}, {asked} FROM s {rest} GROUP BY {keys}")
        own = [row for row in answer.rows if row[1] != "y"]
        for place, share in enumerate(SHARES):
            truth = float(np.quantile(values[chosen], share, method="inverted_cdf"))
            cells = [row[place - len(SHARES)] for row in own]
            held = sum(bool(cell.low <= truth <= cell.high) for cell in cells)
            found.setdefault(f"{name} {question}", {})[f"{share}"] = [held, len(cells)]
    return found


def _people(service: tc.Service, columns: dict[str, Numbers]) -> pa.Table:
    """Return the rows of a chunk's encodings, each person once in every group."""
    shown = {one.name: np.tile(columns[one.name], CHUNK) for one in service.sensitive}
    number = {"n": np.repeat(np.arange(CHUNK), PEOPLE)} if len(service.attributes) > len(service.sensitive) else {}
    return pa.table({"uid": np.arange(CHUNK * PEOPLE), **shown, **number})


def of_pairs(chunk: int) -> Held:
    """Ask how two attributes go together: of everybody, and of public groups."""
    draw = np.random.default_rng(19)
    x = draw.normal(25, 8, PEOPLE).round().clip(0, 49).astype(int)
    y = (0.5 * x + draw.lognormal(2, 0.7, PEOPLE)).round().clip(0, 49).astype(int)
    kind, _ = _sides()
    rows, number = np.arange(CHUNK * PEOPLE), np.repeat(np.arange(CHUNK), PEOPLE)
    attributes = [tc.Ordinal("x", 0, 49), tc.Ordinal("y", 0, 49), tc.Public("kind", type="str")]
    service = tc.Service("s", key="uid", attributes=[*attributes, tc.Public("n", type="int")])
    collection = tc.Collection(tc.Schema([service]), epsilon=EPSILON)
    people = {"uid": rows, "x": np.tile(x, CHUNK), "y": np.tile(y, CHUNK), "kind": np.tile(kind, CHUNK), "n": number}
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(s=pa.table(people), rng=insecure_rng(seed_of("pairs", chunk))))
    found: Held = {}
    asked = "CORR(y, x) AS r, REGR_SLOPE(y, x) AS b, REGR_INTERCEPT(y, x) AS c"
    for question, keys, chosen in (("all", "n", np.ones(PEOPLE, dtype=bool)), ("group", "n, kind", kind == "x")):
        answer = database.sql(f"SELECT {keys}, {asked} FROM s GROUP BY {keys}")
        own = [row for row in answer.rows if row[1] != "y"]
        slope, intercept = np.polyfit(x[chosen], y[chosen], 1)
        truths = {"CORR": np.corrcoef(x[chosen], y[chosen])[0, 1], "REGR_SLOPE": slope, "REGR_INTERCEPT": intercept}
        for place, (word, truth) in enumerate(truths.items()):
            cells = [row[place - 3] for row in own]
            held = sum(bool(cell.low <= truth <= cell.high) for cell in cells)
            found.setdefault(f"pairs {question}", {})[word] = [held, len(cells)]
    return found


def table(held: Held) -> str:
    """Return the page's table."""
    lines = ["| data, question | encodings | intervals that hold, column by column | mean |", "|---|---|---|---|"]
    for name, counts in held.items():
        parts = ", ".join(f"{column} {good / most:.3f}" for column, (good, most) in counts.items())
        good, most = (sum(one[place] for one in counts.values()) for place in (0, 1))
        lines.append(f"| {name} | {next(iter(counts.values()))[1]:,} | {parts} | {good / most:.4f} |")
    return "\n".join(lines)


def main() -> None:
    """Add chunks, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encodings", type=int, default=4_000)
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no chunk after so many minutes")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    known = json.loads(given.output.read_text(encoding="utf-8")) if given.output.exists() else {"chunks": 0, "held": {}}
    if given.table:
        write_part(PAGE, "<!-- held -->", table(known["held"]))
        return
    start = time.monotonic()
    while known["chunks"] * CHUNK < given.encodings and time.monotonic() - start < 60 * given.minutes:
        chunk, found = known["chunks"], {}
        for name, values in populations().items():
            found |= of_quantiles(name, values, chunk)
        found |= of_pairs(chunk)
        for name, counts in found.items():
            before = known["held"].setdefault(name, {})
            for column, (good, most) in counts.items():
                old = before.get(column, [0, 0])
                before[column] = [old[0] + good, old[1] + most]
        known |= {"chunks": chunk + 1, "provenance": provenance(["numpy", "duckdb"])}
        given.output.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
        say(f"{known['chunks'] * CHUNK} encodings\n{table(known['held'])}")


if __name__ == "__main__":
    main()
