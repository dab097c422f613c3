"""Coverage and error of fitted answers: python -m bench.model.run --data FOLDER [--only TEXT] [--encodings N].

Every campaign collects one population and asks it as SQL: single values, ranges of one attribute, cells and ranges of
two, cells of three. Measured are the share of 95 % intervals that hold, the most stated errors that an answer is off,
and the root mean squared error over that of the unbiased answer. results.json keeps what was measured.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tacit as tc
from bench.common import seed_of
from bench.model.campaigns import measure_missing
from bench.model.populations import JOINED, POPULATIONS, attributes_of
from bench.model.tally import Tally, added, tally
from bench.simulated import Simulated

RESULTS = Path(__file__).parent / "results.json"

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
    [*_, (_, made)] = db._models._results.values()  # noqa: SLF001
    anchors: Any = made
    return [None if own is None else own[()].at(0.95) for own in anchors]


def designed() -> Iterator[tuple[str, float, int]]:
    """Yield all campaigns: first every population once, at budgets and sizes by turns, then at the next, and so on."""
    for turn in range(len(DESIGN)):
        for place, population in enumerate(POPULATIONS):
            yield population, *DESIGN[(place + turn) % len(DESIGN)]


def encodings_of(population: str, epsilon: float, people: int, data: Path, numbers: range) -> dict[str, Tally]:
    """Return the sums over some encodings of one campaign."""
    simulated, asked = campaign(population, epsilon, people, data)
    sums: dict[str, Tally] = {}
    for number in numbers:
        sums = added(sums, measure(simulated, asked, seed_of(population, epsilon, people, number)))
    simulated.close()
    return sums


def main() -> None:
    """Measure what results.json lacks."""
    campaigns = (
        (f"{name} | {epsilon:g} | {people}", partial(encodings_of, name, epsilon, people))
        for name, epsilon, people in designed()
    )
    measure_missing(campaigns, results=RESULTS, part="<!-- table -->", minutes=360, description=__doc__)


if __name__ == "__main__":
    main()
