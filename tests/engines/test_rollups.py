"""Rollups answer what they can, exactly as the reports would, after every batch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tacit as tc
from support.engines import engine_named
from tacit.errors import TacitError

USERS = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 24), tc.Public("os"), tc.Public("w")])
ORDERS = tc.Service("orders", key="uid", at_most=3, sends=2, attributes=[tc.Ordinal("pay", 0, 9)])
SCHEMA = tc.Schema([USERS, ORDERS])

QUESTIONS = {
    "SELECT COUNT(*) AS x FROM users": True,
    "SELECT COUNT(*) AS x FROM users WHERE age BETWEEN 3 AND 11": True,
    "SELECT os, AVG(age) AS x FROM users GROUP BY os": True,
    "SELECT STDDEV(age) AS x FROM users WHERE os = 'i' OR age < 5": True,
    "SELECT COUNT(*) FILTER (WHERE os = 'a') AS x FROM users WHERE age > 3": True,
    "SELECT round, COUNT(*) AS x FROM users WHERE age > 3 GROUP BY round": True,
    "SELECT SUM(w) AS x FROM users WHERE age > 3": False,
    "SELECT COUNT(*) AS x FROM users JOIN orders USING (uid) WHERE age > 3": False,
}
"""Questions, and whether a rollup by os answers them."""


def people(first: int, count: int) -> dict[str, dict[str, np.ndarray]]:
    keys = np.arange(first, first + count)
    users = {"uid": keys, "age": keys * 7 % 25, "os": np.where(keys % 3, "i", "a"), "w": keys % 11}
    return {"users": users, "orders": {"uid": keys[::2], "pay": keys[::2] % 10}}


@pytest.mark.parametrize("name", ["duckdb", "lake", "postgres"])
def test_rollups_equal_reports_after_every_batch(name: str, tmp_path: Path) -> None:
    """The second batch repeats people; the rest make the rollup long enough to be rolled up again."""
    collection = tc.Collection(SCHEMA, 4.0, oracle="ss", mechanism="hio", round="r")
    plain = tc.connect()
    plain.create(collection)
    with engine_named(name, tmp_path) as database:
        database.create(collection)
        for number, first in enumerate([0, 500, 1000, *range(2000, 12_000, 1000)]):
            reports = collection.encode(**people(first, 1000), rng=tc.insecure_rng(number))
            assert database.load(reports) == plain.load(reports)
            if number == 0:
                database.rollup("users", by=["os"])
            if number in (0, 2, 12):
                for question, serves in QUESTIONS.items():
                    found, expected = database.sql(question), plain.sql(question)
                    assert ("rollup: used" in found.explain()) == serves, question
                    for row, truth in zip(found.rows, expected.rows, strict=True):
                        assert row[:-1] == truth[:-1]
                        assert row[-1].n == truth[-1].n
                        assert row[-1].value == pytest.approx(truth[-1].value, rel=1e-9)
                        assert row[-1].error == pytest.approx(truth[-1].error, rel=1e-6)
        assert database.forget(3) == plain.forget(3) == 3  # one report to users, two to orders
        for question in (q for q, serves in QUESTIONS.items() if serves):
            for row, truth in zip(database.sql(question).rows, plain.sql(question).rows, strict=True):
                assert row[-1].n == truth[-1].n
                assert row[-1].value == pytest.approx(truth[-1].value, rel=1e-9)
        lines = database.sql("EXPLAIN SELECT w, COUNT(*) AS x FROM users WHERE age > 3 GROUP BY w")["explain"]
        assert any("it does not include w" in line for line in lines)


def test_rollups_of_what_they_cannot_hold_are_refused() -> None:
    collection = tc.Collection(SCHEMA, 4.0)
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(**people(0, 50)))
    for service, by, code in (("orders", [], "several-reports"), ("users", ["age"], "unknown-name")):
        with pytest.raises(TacitError) as caught:
            database.rollup(service, by=by)
        assert caught.value.code == code, str(caught.value)
