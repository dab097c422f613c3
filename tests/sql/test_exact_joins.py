"""E[c | record] = f(record), exactly and through the engine, for joins, stars and tiers.

Everything a person may send is loaded, each combination as a person of its own whose public weight is its probability
given their record. The sum of weighted contributions is then their mean.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.people import drawn_places, slot_row
from support.tiers import how_many, keeping
from tacit.contract.contract import ServiceContract

USERS = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 2), tc.Public("w")])
CARD = tc.Service("card", key="owner", attributes=[tc.Ordinal("points", 0, 1)], optional=True)
ORDERS = tc.Service("orders", key="uid", attributes=[tc.Categorical("item", ["a", "b", "c"])], at_most=2)
PRODUCTS = pa.table({"item": ["a", "b"], "price": [5.0, 7.0], "made": ["here", "there"]})

Record = tuple[int, tuple[int, ...], tuple[int, ...]]
"""A person's age, points of their card if they have one, and items of their orders."""

RECORDS: list[Record] = [
    (age, card, orders)
    for age, card, orders in itertools.product(
        range(3), [(), (0,), (1,)], [(), (0,), (2,), (0, 0), (0, 1), (1, 2), (0, 1, 2)]
    )
]


def chances(service: ServiceContract, rows: tuple[int, ...]) -> list[float]:
    """Return P(code) of a person's one report."""
    [channel] = service.channels
    total = [Fraction(0)] * channel.alphabet
    for places, chance in drawn_places(service, len(rows)):
        own = slot_row(service, channel, [(row,) for row in rows], places[0])
        total = [a + chance * b for a, b in zip(total, own, strict=True)]
    return [float(p) for p in total]


class Everything:
    """All that a person may send, of one or more tiers."""

    def __init__(self, tiers: list[tc.Collection]) -> None:
        self.tiers = tiers

    def mean(self, record: Record, question: str) -> float:
        database, first = tc.connect(), 0
        database.dimension("products", PRODUCTS, key="item")
        for collection in self.tiers:
            parts = [
                chances(compiled, rows)
                for compiled, rows in zip(collection.contract.services, ((record[0],), *record[1:]), strict=True)
            ]
            weights = np.array([np.prod(chance) for chance in itertools.product(*parts)])
            codes = list(itertools.product(*(range(len(part)) for part in parts)))
            database.create(collection)
            keys = np.arange(first, first + len(codes))
            first += len(codes)
            reports = {}
            for place, compiled in enumerate(collection.contract.services):
                columns = {
                    compiled.service.key: keys,
                    "slot": np.zeros(len(codes), dtype=np.int16),
                    "channel": np.zeros(len(codes), dtype=np.int32),
                    "code": np.array([code[place] for code in codes], dtype=np.int64),
                }
                if compiled.service.public:
                    columns["w"] = weights
                metadata = {"tacit.collection": collection.id, "tacit.service": compiled.service.name}
                reports[compiled.service.name] = pa.table(columns).replace_schema_metadata(metadata)
            database.load(reports)
        found = database.sql(question)["x"].value
        database.close()
        return found


def truth(record: Record, question: str) -> float:
    """Return the answer on the person's own rows; at most two orders count."""
    age, card, orders = record
    fewer = min(1.0, 2 / max(1, len(orders)))
    price, made = {0: 5.0, 1: 7.0}, {0: "here", 1: "there"}
    answers = {
        TWO: sum(item != 1 for item in orders) * (age < 2),
        THREE: age * (card == (1,)) * sum(item == 0 for item in orders),
        EITHER: sum(item == 2 or age == 0 for item in orders),
        STAR: sum(price.get(item, 0.0) for item in orders) * (age > 0),
        MADE: sum(made.get(item) == "there" for item in orders),
    }
    return float(answers[question]) * fewer


TWO = "SELECT SUM(w) AS x FROM users JOIN orders USING (uid) WHERE age < 2 AND item <> 'b'"
THREE = (
    "SELECT SUM(w * age) AS x FROM users JOIN orders USING (uid) JOIN card ON users.uid = card.owner "
    "WHERE points = 1 AND item = 'a'"
)
EITHER = "SELECT SUM(w) AS x FROM users JOIN orders USING (uid) WHERE item = 'c' OR age = 0"
STAR = (
    "SELECT SUM(w * price) AS x FROM users JOIN orders USING (uid) JOIN products ON orders.item = products.item "
    "WHERE age > 0"
)
MADE = (
    "SELECT SUM(w) AS x FROM users JOIN orders USING (uid) JOIN products ON orders.item = products.item "
    "WHERE made = 'there'"
)


@pytest.mark.parametrize("question", keeping([TWO, MADE], [TWO, THREE, EITHER, STAR, MADE], "joins of an exact mean"))
def test_means_of_joins_are_exact(question: str) -> None:
    collection = tc.Collection(tc.Schema([USERS, CARD, ORDERS]), 3.0, mechanism="fc", oracle="grr")
    everything = Everything([collection])
    for record in RECORDS[:: len(RECORDS) // how_many(4, 31, "records of a join, every code of each")]:
        assert everything.mean(record, question) == pytest.approx(truth(record, question), abs=1e-9), record


def test_means_of_tiers_are_exact() -> None:
    """Everybody is there once in each tier."""
    schema = tc.Schema([USERS, CARD, ORDERS])
    tiers = [
        tc.Collection(schema, epsilon, mechanism="fc", oracle="grr", tier=tier)
        for tier, epsilon in (("low", 1.5), ("high", 4.0))
    ]
    everything = Everything(tiers)
    for record in RECORDS[::5]:
        assert everything.mean(record, THREE) == pytest.approx(2 * truth(record, THREE), abs=1e-9), record
