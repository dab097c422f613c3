"""Joins and one-to-many services: unbiased, and covered as claimed. 1,400 independent encodings of 500 people.

Every repetition is a group of a public column of the first service. False alarm 1e-9 a check; mutants: a bias of a
third of a standard error, and errors a quarter too small (`make test-all` has 2,000 encodings). Where people have
several rows, errors are those of a sample,
which are somewhat large: they must cover at least as claimed, and not be a quarter wider.
"""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import tacit as tc
from support.chances import FALSE_ALARM, assert_mean
from support.tiers import how_many, keeping
from tacit.contract.randomness import insecure_rng

REPETITIONS, PEOPLE = how_many(1_400, 2_000, "encodings of joined services"), 500

USERS = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 9), tc.Public("repetition")])


def schema(sends: int) -> tc.Schema:
    orders = [tc.Ordinal("amount", 0, 24), tc.Categorical("item", ["a", "b"])]
    return tc.Schema(
        [
            USERS,
            tc.Service("orders", key="uid", at_most=3, sends=sends, attributes=orders),
            tc.Service("card", key="uid", optional=True, attributes=[tc.Ordinal("points", 0, 5)]),
        ]
    )


def one_population() -> dict[str, pa.Table]:
    source = np.random.default_rng(6)
    owner = np.repeat(np.arange(PEOPLE), source.integers(0, 4, PEOPLE))
    holders = np.flatnonzero(source.random(PEOPLE) < 0.5)
    return {
        "users": pa.table({"uid": np.arange(PEOPLE), "age": source.integers(0, 10, PEOPLE)}),
        "orders": pa.table(
            {
                "uid": owner,
                "amount": np.minimum(source.poisson(9, len(owner)), 24),
                "item": source.choice(["a", "b"], len(owner), p=[0.7, 0.3]),
            }
        ),
        "card": pa.table({"uid": holders, "points": source.integers(0, 6, len(holders))}),
    }


def repeated() -> dict[str, pa.Table]:
    tables = {}
    for name, table in one_population().items():
        shift = np.repeat(np.arange(REPETITIONS) * PEOPLE, table.num_rows)
        whole = pa.concat_tables([table] * REPETITIONS)
        tables[name] = whole.set_column(0, "uid", pa.array(np.asarray(whole["uid"]) + shift))
    people = np.asarray(tables["users"]["uid"])
    tables["users"] = tables["users"].append_column("repetition", pa.array(people // PEOPLE))
    return tables


CASES = [
    ("hio", "blue", 1, "users JOIN card USING (uid)", "COUNT(*)", "age < 5 AND points > 1"),
    ("hio", "rdc", 1, "users JOIN card USING (uid)", "COUNT(*)", "age < 5 AND points > 1"),
    ("sc", "cover", 1, "users JOIN card USING (uid)", "SUM(points)", "age < 5"),
    ("hio", "blue", 1, "users JOIN orders USING (uid)", "COUNT(*)", "age < 5 AND amount > 7"),
    ("hio", "blue", 1, "users JOIN orders USING (uid)", "SUM(amount)", "age < 5 AND item = 'a'"),
    ("hio", "blue", 2, "users JOIN orders USING (uid)", "SUM(amount)", "age < 5 AND item = 'a'"),
    ("pairs", "blue", 3, "users JOIN orders USING (uid)", "SUM(amount * age)", "item = 'a'"),
    ("sc", "rdc", 1, "users JOIN orders USING (uid)", "COUNT(*)", "item = 'a' AND amount > 7"),
    ("hio", "blue", 2, "users JOIN orders USING (uid) JOIN card USING (uid)", "COUNT(*)", "item = 'a' OR points > 2"),
]


@pytest.mark.parametrize(
    ("mechanism", "decoder", "sends", "tables", "aggregate", "where"),
    keeping([CASES[6], CASES[8]], CASES, "encodings of joins; two of nine shapes stay"),
)
def test_unbiased_and_covering(
    mechanism: str, decoder: str, sends: int, tables: str, aggregate: str, where: str, seed: int
) -> None:
    collection = tc.Collection(schema(sends), 20.0 if mechanism == "sc" else 10.0, mechanism=mechanism)
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(**repeated(), rng=insecure_rng(seed)))
    question = f"SELECT repetition, {aggregate} AS x FROM {tables} WHERE {where} GROUP BY repetition"
    cells = database.sql(question, confidence=0.9, decoder=decoder)["x"]  # type: ignore[arg-type]
    assert len(cells) == REPETITIONS
    connection = duckdb.connect()
    for name, table in one_population().items():
        connection.register(name, table)
    [(truth,)] = connection.execute(f"SELECT {aggregate} FROM {tables} WHERE {where}").fetchall()
    values, errors = (np.array([getattr(cell, word) for cell in cells]) for word in ("value", "error"))
    spread = float(values.std(ddof=1))
    assert len(np.unique(values)) > 0.99 * REPETITIONS
    assert_mean(float(values.mean()), float(truth), spread / REPETITIONS**0.5, mutant=float(truth) + spread / 3)
    margins = np.array([cell.margin for cell in cells])
    lowest, highest = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], REPETITIONS, 0.9)
    hits = np.count_nonzero(np.abs(values - truth) <= margins)
    assert hits >= lowest
    if "orders" in tables:
        assert np.median(errors) < 1.25 * spread
    else:
        assert hits <= highest
        assert np.count_nonzero(np.abs(values - truth) <= 0.75 * margins) < lowest, "the test has no power"
