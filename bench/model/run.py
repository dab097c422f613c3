"""Coverage and error of fitted answers: python -m bench.model.run --data FOLDER [--only TEXT] [--encodings N].

Every campaign collects one population and asks it as SQL: single values, ranges of one attribute, cells and ranges of
two, cells of three. Measured are the share of 95 % intervals that hold, the most stated errors that an answer is off,
and the root mean squared error over that of the unbiased answer. results.json keeps what was measured.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tacit as tc
from bench.common import provenance, say, seed_of, write_part
from bench.model.populations import JOINED, POPULATIONS, attributes_of
from bench.model.tally import Tally, added, numbers, table_of, tally
from bench.simulated import Simulated

HERE = Path(__file__).parent
RESULTS, README = HERE / "results.json", HERE / "README.md"

DESIGN = [*itertools.product((1.0,), (100_000,)), (0.5, 30_000), (2.0, 300_000), (4.0, 30_000), (0.2, 1_000_000)]
"""Budgets and numbers of people."""

RANGES, CELLS = 16, 300
"""Ranges of a class, and cells of a table up to which it is asked for."""

Columns = dict[str, np.ndarray]


def questions(columns: Columns, sizes: dict[str, int], wide: list[str]) -> Iterator[tuple[str, str, str, np.ndarray]]:
    """Yield classes of questions: a name, what is selected, the rest of the statement, and the true numbers.

    Ranges are of the ``wide`` attributes.
    """
    source = np.random.default_rng(5)
    names = list(columns)
    for name in names:
        truth = np.bincount(columns[name], minlength=sizes[name])
        yield "value", f"{name}, COUNT(*) AS n", f"GROUP BY {name} ORDER BY {name}", truth
    for some, label in ((1, "range"), (2, "range of two"), (3, "range of three")):
        if len(wide) < some:
            continue
        shown, truth = [], []
        for k in range(RANGES):
            asked = [wide[place] for place in source.permutation(len(wide))[:some]]
            inside, texts = np.ones(len(columns[names[0]]), dtype=bool), []
            for name in asked:
                width = int(sizes[name] * source.choice([0.1, 0.25, 0.5])) or 1
                low = int(source.integers(0, sizes[name] - width + 1))
                texts.append(f"{name} BETWEEN {low} AND {low + width - 1}")
                inside &= (columns[name] >= low) & (columns[name] < low + width)
            shown.append(f"COUNT(*) FILTER (WHERE {' AND '.join(texts)}) AS n{k}")
            truth.append(inside.sum())
        yield label, ", ".join(shown), "", np.array(truth)
    for count, label in ((2, "cell of two"), (3, "cell of three")):
        for some_names in list(itertools.combinations(names, count))[:3]:
            shape = [sizes[name] for name in some_names]
            if math.prod(shape) <= CELLS:
                flat = np.ravel_multi_index(tuple(columns[name] for name in some_names), shape)
                listed = ", ".join(some_names)
                truth = np.bincount(flat, minlength=math.prod(shape))
                yield label, f"{listed}, COUNT(*) AS n", f"GROUP BY {listed} ORDER BY {listed}", truth


def answers(db: tc.Database, shown: str, rest: str, **options: Any) -> list[Any]:
    """Return the estimates of a question, over all services joined."""
    first, *others = [own.name for own in db.collections[0].schema.services]
    tables = " ".join([first, *(f"JOIN {own} USING (uid)" for own in others)])
    rows = list(db.sql(f"SELECT {shown} FROM {tables} {rest}", **options))
    return list(rows[0]) if not rest else [row[-1] for row in rows]


def campaign(population: str, epsilon: float, people: int, data: Path) -> tuple[Simulated, list[tuple[Any, ...]]]:
    """Return a population whose reports can be drawn, and its questions."""
    source = np.random.default_rng(seed_of(population, people))
    columns = POPULATIONS[population](people, source, data)
    attributes = attributes_of(columns)
    groups = [[own] for own in attributes] if population in JOINED else [attributes]
    services = [tc.Service(f"t{k}", key="uid", attributes=own) for k, own in enumerate(groups)]
    keys = {"uid": np.arange(people)}
    rows = {own.name: keys | {one.name: columns[one.name] for one in own.attributes} for own in services}
    sizes = {own.name: own.size for own in attributes}
    wide = [own.name for own in attributes if isinstance(own, tc.Ordinal) and own.size > 8]
    simulated = Simulated(tc.Collection(tc.Schema(services), epsilon, users=people), rows)
    return simulated, list(questions(columns, sizes, wide))


def measure(simulated: Simulated, asked: list[tuple[Any, ...]], seed: int) -> dict[str, Tally]:
    """Return, for each class, what the answers of newly drawn reports come to."""
    simulated.draw(seed)
    found: dict[str, Tally] = {}
    for label, shown, rest, truth in asked:
        fitted = answers(simulated.database, shown, rest, consistent=True)
        made = tally(truth.tolist(), fitted, unbiased_beside(simulated.database))
        found = added(found, {label: made})
    return found


def unbiased_beside(db: tc.Database) -> list[Any]:
    """Return the unbiased estimates that the last fitted answer was compared with; None where there is none."""
    [*_, (_, made)] = db._models._made.values()  # noqa: SLF001
    anchors: Any = made
    return [None if own is None else own[()].at(0.95) for own in anchors]


def designed() -> Iterator[tuple[str, float, int]]:
    """Yield all campaigns: first every population once, at budgets and sizes by turns, then at the next, and so on."""
    for turn in range(len(DESIGN)):
        for place, population in enumerate(POPULATIONS):
            yield population, *DESIGN[(place + turn) % len(DESIGN)]


def main() -> None:
    """Measure what is missing, campaign by campaign: encodings are added to those that were measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--encodings", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=360)
    options = parser.parse_args()
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"points": {}}
    start = time.monotonic()
    for population, epsilon, people in designed():
        key = f"{population} | {epsilon:g} | {people}"
        late = time.monotonic() - start > 60 * options.minutes
        before = known["points"].get(key, {"encodings": 0, "classes": {}})
        if options.only not in key or late or before["encodings"] >= options.encodings:
            continue
        simulated, asked = campaign(population, epsilon, people, options.data)
        classes = before["classes"]
        for one in range(before["encodings"], options.encodings):
            classes = added(classes, measure(simulated, asked, seed_of(population, epsilon, people, one)))
        simulated.close()
        known["points"][key] = {"encodings": options.encodings, "classes": classes}
        known["provenance"] = provenance(["numpy", "duckdb"])
        RESULTS.write_text(json.dumps(known, indent=1) + "\n")
        for label, own in classes.items():
            say(f"{key}: {label}: " + ", ".join(f"{name} {value:.3f}" for name, value in numbers(own).items()))
    write_part(README, "<!-- table -->", table_of(known["points"]))


if __name__ == "__main__":
    main()
