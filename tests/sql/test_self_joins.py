"""One-to-many services joined with themselves: pairs of rows, read from two different reports of a person."""

from __future__ import annotations

import itertools

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.chances import assert_mean
from support.people import drawn_places, possible_people, slot_row
from support.tiers import keeping
from tacit.errors import TacitError, UnsupportedSqlError
from tacit.testing import identity_collection, reveal

ITEM = tc.Categorical("item", ["a", "b", "c"])


def schema_of(most: int, sends: int) -> tc.Schema:
    orders = tc.Service("orders", key="uid", attributes=[ITEM, tc.Ordinal("pay", 0, 3)], at_most=most, sends=sends)
    return tc.Schema([tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 9)]), orders])


def raw_tables(people: int, most: int) -> dict[str, pa.Table]:
    source = np.random.default_rng(4)
    owner = np.repeat(np.arange(people), source.integers(0, most + 1, people))
    item = source.choice(["a", "b", "c"], len(owner), p=[0.5, 0.3, 0.2])
    orders = {"uid": owner, "item": item, "pay": source.integers(0, 4, len(owner))}
    users = {"uid": np.arange(people), "age": source.integers(0, 10, people)}
    return {"users": pa.table(users), "orders": pa.table(orders)}


QUESTIONS = [
    "SELECT COUNT(*) AS n FROM orders a JOIN orders b USING (uid)",
    "SELECT COUNT(*) AS n FROM orders a JOIN orders b USING (uid) WHERE a.item = 'a' AND b.item = 'b'",
    "SELECT SUM(a.pay) AS n FROM orders a JOIN orders b ON a.uid = b.uid WHERE b.item <> 'c'",
    "SELECT SUM(a.pay * b.pay) AS n FROM orders a JOIN orders b USING (uid)",
    "SELECT COUNT(*) AS n FROM orders a JOIN orders b USING (uid) WHERE a.item = 'a' OR b.pay > 1",
    "SELECT SUM(a.pay) AS n FROM users JOIN orders a USING (uid) JOIN orders b USING (uid) WHERE age < 4",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_pairs_of_rows_equal_sql_on_the_raw_tables(question: str) -> None:
    """Everybody sends all their rows unchanged: at_most = sends."""
    collection, raw = identity_collection(schema_of(3, 3)), raw_tables(200, 3)
    database, plain = tc.connect(), duckdb.connect()
    database.create(collection)
    database.load(reveal(collection, **raw))
    for name, table in raw.items():
        plain.register(name, table)
    [(truth,)] = plain.execute(question).fetchall()
    assert database.sql(question)["n"].value == pytest.approx(float(truth), abs=1e-6)


@pytest.mark.parametrize("most", keeping([2], [2, 3], "rows of a person, all draws of pairs of them"))
def test_means_over_all_draws_are_totals_of_pairs(most: int) -> None:
    """Two slots drawn without replacement of up to ``most`` rows; of more, that many at random count."""
    orders = tc.Service("orders", key="uid", attributes=[ITEM], at_most=most, sends=2)
    collection = tc.Collection(tc.Schema([orders]), 2.0, mechanism="fc")
    service = collection.contract["orders"]
    [channel] = service.channels
    database = tc.connect()
    database.create(collection)
    question = "SELECT COUNT(*) AS n FROM orders a JOIN orders b USING (uid) WHERE a.item = 'a' AND b.item <> 'c'"
    alphabet = channel.alphabet
    pairs = list(itertools.product(range(alphabet), repeat=2))
    values = {}
    for number, (first, second) in enumerate(pairs):
        reports = pa.table(
            {
                "uid": [number, number],
                "slot": pa.array([0, 1], pa.int16()),
                "channel": pa.array([0, 0], pa.int32()),
                "code": pa.array([first, second], pa.int64()),
            }
        ).replace_schema_metadata({"tacit.collection": collection.id, "tacit.service": "orders"})
        own = tc.connect()
        own.create(collection)
        own.load({"orders": reports})
        values[first, second] = own.sql(question)["n"].value
    for rows in possible_people(3, most):
        mean = 0.0
        for places, chance in drawn_places(service, len(rows)):
            left, right = (slot_row(service, channel, rows, place) for place in places)
            mean += float(chance) * sum(float(left[i] * right[j]) * values[i, j] for i, j in pairs)
        same = sum(row == (0,) for row in rows)
        others = sum(a == (0,) and b != (2,) for a, b in itertools.permutations(rows, 2))
        count = max(len(rows), most)
        truth = same * most / count + others * most * (most - 1) / (count * (count - 1))
        assert mean == pytest.approx(truth, abs=1e-9)


def test_unbiased_through_sql(seed: int) -> None:
    """n = 200,000; false alarm 1e-9; the mutant counts pairs of different rows only."""
    collection, raw = tc.Collection(schema_of(3, 2), 12.0), raw_tables(200_000, 3)
    database, plain = tc.connect(), duckdb.connect()
    database.create(collection)
    database.load(collection.encode(**raw, rng=tc.insecure_rng(seed)))
    plain.register("orders", raw["orders"])
    question = "SELECT COUNT(*) AS n FROM orders a JOIN orders b USING (uid) WHERE a.item = 'a' AND b.item <> 'c'"
    [(truth,)] = plain.execute(question).fetchall()
    [(same,)] = plain.execute("SELECT COUNT(*) FROM orders WHERE item = 'a'").fetchall()
    found = database.sql(question)["n"]
    assert_mean(found.value, float(truth), found.error, mutant=float(truth - same))


@pytest.mark.parametrize(
    ("sends", "question", "code"),
    [
        (1, QUESTIONS[0], "unsupported-join"),
        (
            2,
            "SELECT COUNT(*) AS n FROM orders a JOIN orders b USING (uid) JOIN orders c USING (uid)",
            "unsupported-join",
        ),
        (2, "SELECT COUNT(DISTINCT a.uid) AS n FROM orders a JOIN orders b USING (uid)", "count-distinct"),
        (2, "SELECT COUNT(*) AS n FROM orders a JOIN orders b USING (uid) WHERE item = 'a'", "ambiguous-column"),
    ],
)
def test_what_two_reports_cannot_tell_is_refused(sends: int, question: str, code: str) -> None:
    collection = tc.Collection(schema_of(3, sends), 4.0)
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(**raw_tables(50, 3)))
    with pytest.raises(TacitError) as caught:
        database.sql(question)
    assert caught.value.code == code


def test_several_channels_and_predictions_are_refused() -> None:
    with pytest.raises(UnsupportedSqlError):
        tc.Collection(schema_of(3, 2), 4.0).predict(QUESTIONS[0], users=1000)
    collection = tc.Collection(schema_of(3, 2), 4.0, mechanism="hi")
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(**raw_tables(50, 3)))
    with pytest.raises(TacitError) as caught:
        database.sql(QUESTIONS[0])
    assert "one channel" in str(caught.value)
