"""Errors predicted for people with any number of rows and for joins are those that occur."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.tiers import keeping
from tacit.answers.forecast.curves import half_width

PEOPLE = 60_000
MOST = 3
"""Numbers of rows are uniform from 0 to this, as predictions assume."""


def collection_of(mechanism: str, sends: int) -> tc.Collection:
    users = [tc.Ordinal("age", 0, 24, fanout=5), tc.Categorical("sex", ["f", "m"])]
    orders = [tc.Ordinal("pay", 0, 24, fanout=5), tc.Categorical("kind", ["x", "y", "z"])]
    services = [
        tc.Service("users", key="uid", attributes=users),
        tc.Service("orders", key="uid", attributes=orders, at_most=MOST, sends=sends),
    ]
    if mechanism != "ahio":
        services.append(tc.Service("health", key="uid", attributes=[tc.Ordinal("bmi", 0, 9)], optional=True))
    return tc.Collection(tc.Schema(services), 6.0, mechanism=mechanism)


def records(source: np.random.Generator) -> dict[str, dict[str, np.ndarray]]:
    owner = np.repeat(np.arange(PEOPLE), source.integers(0, MOST + 1, PEOPLE))
    fit = np.flatnonzero(source.integers(0, 2, PEOPLE))
    return {
        "users": {
            "uid": np.arange(PEOPLE),
            "age": source.integers(0, 25, PEOPLE),
            "sex": np.array(["f", "m"])[source.integers(0, 2, PEOPLE)],
        },
        "orders": {
            "uid": owner,
            "pay": source.integers(0, 25, len(owner)),
            "kind": np.array(["x", "y", "z"])[source.integers(0, 3, len(owner))],
        },
        "health": {"uid": fit, "bmi": source.integers(0, 10, len(fit))},
    }


ORDERS, BOTH, ALL = "orders", "users JOIN orders USING (uid)", "users JOIN health USING (uid) JOIN orders USING (uid)"
QUESTIONS = [
    ("COUNT(*)", "1", f"{ORDERS}"),
    ("COUNT(*)", "1", f"{ORDERS} WHERE pay BETWEEN 5 AND 12 AND kind = 'y'"),
    ("SUM(pay)", "pay", f"{ORDERS} WHERE kind <> 'x'"),
    ("AVG(pay)", "(pay - (SELECT AVG(pay) FROM orders)) / (SELECT COUNT(*) FROM orders)", f"{ORDERS}"),
    ("COUNT(*)", "1", f"{BOTH} WHERE age < 10 AND pay > 6"),
    ("SUM(pay)", "pay", f"{BOTH} WHERE sex = 'f'"),
]
ONLY_OURS = [
    ("COUNT(*)", "1", f"{BOTH} WHERE age < 10 OR pay > 6"),
    ("COUNT(*)", "1", "health WHERE bmi > 3"),
    ("SUM(age)", "age", f"{ALL} WHERE bmi > 5"),
]
"""What is asked, what a row adds to it at first order, and of which rows."""


@pytest.mark.parametrize(
    ("mechanism", "sends"),
    keeping(
        [("partitions", 2)],
        [("hio", 1), ("hio", 2), ("partitions", 1), ("pairs", 2), ("partitions", 2), ("ahio", 1), ("ahio", 2)],
        "predicted errors of 60,000 people, by layout",
    ),
)
def test_foretold_errors_are_those_that_occur(mechanism: str, sends: int, seed: int) -> None:
    """n = 60,000; errors stated for a population are those predicted plus the spread of people, within 6 %.

    Their own error is below 1 % (thousands of reports really count), so that is six of theirs. The mutant predicts for
    half as many people: 41 % off.
    """
    collection = collection_of(mechanism, sends)
    services = [service.name for service in collection.schema.services]
    raw = {name: pa.table(columns) for name, columns in records(np.random.default_rng(5)).items() if name in services}
    database, plain = tc.connect(), duckdb.connect()
    for name, table in raw.items():
        plain.register(name, table)
    database.create(collection)
    database.load(collection.encode(**raw, rng=tc.insecure_rng(seed)))
    options: dict[str, Any] = {"decoder": "rdc" if mechanism == "ahio" else "blue"}
    for aggregate, value, rows in QUESTIONS + (ONLY_OURS if mechanism != "ahio" else []):
        question = f"SELECT {aggregate} AS x FROM {rows}"
        stated = database.sql(question, superpopulation=True, **options)["x"].error
        totals = f"SELECT uid, SUM({value}) AS own FROM {rows} GROUP BY uid"
        whole = f"SELECT SUM(own * own), SUM(own) FROM ({totals})"
        [(squares, total)] = plain.sql(whole).fetchall()
        spread = float(squares) - float(total) ** 2 / PEOPLE
        for like in (None, raw):
            predicted = collection.predict(question, users=PEOPLE, like=like, **options)["x"].error
            mutant = collection.predict(question, users=PEOPLE // 2, like=like, **options)["x"].error
            assert math.sqrt(predicted**2 + spread) == pytest.approx(stated, rel=0.06), question
            assert math.sqrt(mutant**2 + spread) != pytest.approx(stated, rel=0.06), question


def test_rounding_counts_in_joins_and_in_services_with_several_rows(seed: int) -> None:
    """n = 60,000; coarse cells at a large budget, where rounding is most of the error; within 6 % as above."""
    users = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 9)])
    pay = tc.Ordinal("pay", 0, 999, cells=3, dither=True)
    orders = tc.Service("orders", key="uid", attributes=[pay], at_most=MOST)
    collection = tc.Collection(tc.Schema([users, orders]), 24.0, mechanism="fc")
    source = np.random.default_rng(6)
    owner = np.repeat(np.arange(PEOPLE), source.integers(0, MOST + 1, PEOPLE))
    paid = source.integers(0, 1000, len(owner))
    age = source.integers(0, 10, PEOPLE)
    raw = {"users": {"uid": np.arange(PEOPLE), "age": age}, "orders": {"uid": owner, "pay": paid}}
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(**raw, rng=tc.insecure_rng(seed)))
    for rows, kept in (("orders", paid), ("users JOIN orders USING (uid) WHERE age < 9", paid * (age[owner] < 9))):
        question = f"SELECT SUM(pay) AS x FROM {rows}"
        own = np.bincount(owner, kept, minlength=PEOPLE)
        spread = float(own @ own) - float(own.sum()) ** 2 / PEOPLE
        predicted = collection.predict(question, users=PEOPLE, like=raw)["x"].error
        stated = database.sql(question, superpopulation=True)["x"].error
        assert math.sqrt(predicted**2 + spread) == pytest.approx(stated, rel=0.06), rows


def test_the_widest_group_may_have_no_interval() -> None:
    """One group has nearly everybody, the other one value of many: the forecast is that of the other."""
    attributes = [tc.Ordinal("x", 0, 15), tc.Categorical("c", values=list(range(50)))]
    collection = tc.Collection(tc.Schema([tc.Service("t", key="uid", attributes=attributes)]), 1.0, mechanism="pairs")
    question = "SELECT CASE WHEN c = 7 THEN 'rare' ELSE 'rest' END AS g, AVG(x) AS m FROM t GROUP BY g"
    assert {row[0]: math.isinf(row[1].margin) for row in collection.predict(question, users=20_000)} == {
        "rare": True,
        "rest": False,
    }
    assert math.isinf(half_width(collection, question, people=20_000)[1])
    assert math.isfinite(half_width(collection, question, people=10**9)[1])


@pytest.mark.parametrize("alike", [False, True])
def test_what_is_assumed_about_rows_is_said_and_on_the_safe_side(alike: bool) -> None:
    """400 batches of 200 people: with their numbers of rows the error is right (10 %); of rows alike, too large."""
    batches, people = 400, 200
    source = np.random.default_rng(5)
    owner = np.repeat(np.arange(people), MOST)
    value = np.clip(source.normal(9, 3, people)[owner] if alike else source.normal(9, 3, len(owner)), 0, 15)
    schema = tc.Schema(
        [
            tc.Service("users", key="uid", attributes=[tc.Ordinal("y", 0, 1), tc.Public("batch")]),
            tc.Service("orders", key="uid", at_most=MOST, attributes=[tc.Ordinal("x", 0, 15)]),
        ]
    )
    collection = tc.Collection(schema, 8.0, mechanism="fc")
    users = {"uid": np.arange(batches * people), "y": np.zeros(batches * people, dtype=np.int64)}
    users["batch"] = users["uid"] // people
    orders = {
        "uid": (np.arange(batches)[:, None] * people + owner).ravel(),
        "x": np.tile(value.astype(np.int64), batches),
    }
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(users=users, orders=orders, rng=tc.insecure_rng(1)))
    answer = db.sql("SELECT batch, AVG(x) AS v FROM orders JOIN users USING (uid) GROUP BY batch")
    spread = np.std([estimate.value for estimate in answer["v"]])
    like = {
        name: {column: values[:count] for column, values in table.items()}
        for name, table, count in (("users", users, people), ("orders", orders, len(owner)))
    }
    informed = collection.predict("SELECT AVG(x) AS v FROM orders", users=people, like=like)
    assert informed["v"].error > 1.15 * spread if alike else abs(informed["v"].error / spread - 1) < 0.1
    assert any("errors are smaller" in note for note in informed.notes)
    plain = collection.predict("SELECT AVG(x) AS v FROM orders", users=people)
    assert any("assumes that 0 to 3 rows in orders per person are equally likely" in note for note in plain.notes)
