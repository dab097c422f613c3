"""Fitted answers over joins: python -m bench.model.joins --data FOLDER [--only TEXT] [--encodings N] [--minutes N].

SYN-2 (two services of a person, each with a number of 125 values and a category of 500) and households of Indiana with
up to ten persons each (ACS), as in `bench.joint`. Budgets are those of a person over both services. Measured as in
`bench.model.run`: coverage of 95 % intervals, stated errors off, error and width over those of the unbiased answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tacit as tc
from bench.common import seed_of
from bench.joint.census import CITY, Households
from bench.joint.worlds import Syn2, World
from bench.model.campaigns import measure_missing
from bench.model.run import unbiased_beside
from bench.model.tally import Tally, added, tally
from bench.simulated import Simulated

RESULTS = Path(__file__).parent / "joins.json"

EPSILONS, PEOPLE = (1.0, 2.0, 4.0), (200_000, 1_000_000)

HOUSEHOLDS = 39_214
"""Households of Indiana in the sample; they are copied until there are enough."""

ASKED = 16
"""Questions of a class."""

Draw = Callable[[int], tc.Database]


def _range(source: np.random.Generator, name: str, low: int, high: int) -> str:
    width = int((high - low + 1) * source.choice([0.1, 0.25, 0.5]))
    first = int(source.integers(low, high - width + 2))
    return f"{name} BETWEEN {first} AND {first + width - 1}"


def syn2() -> dict[str, list[str]]:
    """Return classes of questions about SYN-2."""
    source = np.random.default_rng(11)
    ranges = [
        f"COUNT(*) FILTER (WHERE {_range(source, 'o1', 1, 125)} AND {_range(source, 'o2', 1, 125)})"
        for _ in range(ASKED)
    ]
    point_range = [
        f"COUNT(*) FILTER (WHERE c1 = {int(source.integers(500))} AND {_range(source, 'o2', 1, 125)})"
        for _ in range(ASKED)
    ]
    sums = [f"SUM(o2) FILTER (WHERE {_range(source, 'o1', 1, 125)})" for _ in range(ASKED)]
    return {"range and range": ranges, "category and range": point_range, "sum, range": sums}


def households() -> dict[str, list[str]]:
    """Return classes of questions about households and persons: rows are persons."""
    source = np.random.default_rng(12)
    city = f"city = {CITY[18]}"
    ages = [f"COUNT(*) FILTER (WHERE {city} AND {_range(source, 'age', 0, 99)})" for _ in range(ASKED)]
    incomes = [f"COUNT(*) FILTER (WHERE {city} AND {_range(source, 'income', 0, 124)})" for _ in range(ASKED)]
    return {"city and age": ages, "city and income": incomes}


def drawing(world: World, epsilon: float) -> Draw:
    """Return how a population's reports are drawn again and again."""
    services = []
    for name, attributes in world.attributes.items():
        several: dict[str, Any] = {"at_most": world.at_most[name]} if name in world.at_most else {}
        services.append(tc.Service(name, key="uid", attributes=attributes, **several))
    collection = tc.Collection(tc.Schema(services), epsilon, users=world.people)
    if not world.at_most:
        columns = {
            name: {one: table.column(one).to_numpy() for one in table.column_names}
            for name, table in world.tables.items()
        }
        simulated = Simulated(collection, columns)

        def draw(seed: int) -> tc.Database:
            simulated.draw(seed)
            return simulated.database

        return draw

    def encode(seed: int) -> tc.Database:
        db = tc.connect()
        db.create(collection)
        tables: dict[str, Any] = dict(world.tables)
        db.load(collection.encode(**tables, rng=tc.insecure_rng(seed)))
        return db

    return encode


def measure(world: World, asked: dict[str, list[str]], epsilon: float, seeds: list[int]) -> dict[str, Tally]:
    """Return what the answers of all draws come to, by class."""
    draw = drawing(world, epsilon)
    texts = {
        label: f"SELECT {', '.join(f'{one} AS n{k}' for k, one in enumerate(own))} FROM {world.source}"
        for label, own in asked.items()
    }
    truths = {label: [float(value or 0) for value in world.plain(text)] for label, text in texts.items()}
    found: dict[str, Tally] = {}
    for seed in seeds:
        db = draw(seed)
        for label, text in texts.items():
            [fitted] = db.sql(text, consistent=True)
            found = added(found, {label: tally(truths[label], list(fitted), unbiased_beside(db))})
    return found


def encodings_of(name: str, epsilon: float, people: int, key: str, data: Path, numbers: range) -> dict[str, Tally]:
    """Return the sums over some encodings of one campaign."""
    copies = -(-people // HOUSEHOLDS)
    kind = Syn2(many=False, rows=people) if name == "SYN-2" else Households(18, "Indiana", copies)
    asked = syn2() if name == "SYN-2" else households()
    return measure(kind.build(data), asked, epsilon, [seed_of(key, number) for number in numbers])


def campaigns() -> Iterator[tuple[str, partial[dict[str, Tally]]]]:
    """Yield all campaigns by name."""
    for people, epsilon, name in itertools.product(PEOPLE, EPSILONS, ("SYN-2", "households")):
        key = f"{name} | {epsilon:g} | {people}"
        yield key, partial(encodings_of, name, epsilon, people, key)


def main() -> None:
    """Measure what joins.json lacks."""
    measure_missing(campaigns(), results=RESULTS, part="<!-- joins -->", minutes=14, description=__doc__)


if __name__ == "__main__":
    main()
