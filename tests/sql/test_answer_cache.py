"""Answers are kept until reports or definitions change, and what the caller does to one changes no other."""

from __future__ import annotations

import numpy as np
import pytest

import tacit as tc
from tacit import database
from tacit.errors import TacitError

SCHEMA = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Categorical("a", list("xyz")), tc.Public("os")])])
COLLECTION = tc.Collection(SCHEMA, 4.0)
GROUPS = "SELECT a, COUNT(*) AS n FROM t GROUP BY a"


def load(db: tc.Database, first: int) -> None:
    rows = {"uid": np.arange(first, first + 100), "a": ["x"] * 100, "os": ["i"] * 100}
    db.load(COLLECTION.encode(t=rows, rng=tc.insecure_rng(first)))


@pytest.fixture
def db() -> tc.Database:
    made = tc.connect()
    made.create(COLLECTION)
    load(made, 0)
    return made


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return the questions that are computed."""
    real, found = database.run, []
    monkeypatch.setattr(database, "run", lambda bound, *rest: found.append(bound) or real(bound, *rest))
    return found


def test_the_same_question_is_computed_once(db: tc.Database, computed: list[object]) -> None:
    first, second = db.sql(GROUPS), db.sql(GROUPS)
    assert len(computed) == 1
    assert first.rows == second.rows
    first.rows.clear()
    assert len(db.sql(GROUPS)) == 3
    db.sql(GROUPS, confidence=0.9)
    db.sql("SELECT COUNT(*) AS n FROM t WHERE os = ?", ["i"])
    db.sql("SELECT COUNT(*) AS n FROM t WHERE os = ?", ["j"])
    assert len(computed) == 4


def test_every_change_is_seen(db: tc.Database, computed: list[object]) -> None:
    assert db.sql(GROUPS)["n"][0].n == 100
    load(db, 100)
    assert db.sql(GROUPS)["n"][0].n == 200
    db.forget(3)
    assert db.sql(GROUPS)["n"][0].n == 199
    assert len(computed) == 3
    db.rollup("t")
    assert "rollup: used" in db.sql(GROUPS).explain()
    named = "SELECT name, COUNT(*) AS n FROM t JOIN d USING (a) GROUP BY name"
    for names in ("one", "two", "six"), ("uno", "due", "sei"):
        db.dimension("d", {"a": list("xyz"), "name": names}, key="a")
        assert {row[0] for row in db.sql(named)} == set(names)


def test_refusals_are_not_kept(db: tc.Database) -> None:
    for parameters in ([["a list"]], [{}]):
        with pytest.raises(TacitError):
            db.sql("SELECT COUNT(*) AS n FROM t WHERE os = ?", parameters)
    wrong = "SELECT COUNT(*) AS n FROM t WHERE b = 1"
    for _ in range(2):
        with pytest.raises(TacitError):
            db.sql(wrong)


def test_the_crowd_of_a_kept_answer_is_counted_now(db: tc.Database) -> None:
    db.sql(GROUPS)
    load(db, 100)
    privacy = db.sql(GROUPS).privacy
    assert privacy is not None
    assert "newcomers" in str(privacy)
