"""Sums by code are fetched once, and again after every change of the reports."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import tacit as tc
from tacit.answers import answer_cache, code_cache
from tacit.engines.duckdb import DuckDB

SCHEMA = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Categorical("a", list("xyz")), tc.Public("os")])])
COLLECTION = tc.Collection(SCHEMA, 4.0)
GROUPS = "SELECT a, COUNT(*) AS n FROM t GROUP BY a"


def load(db: tc.Database, first: int, count: int) -> None:
    rows = {"uid": np.arange(first, first + count), "a": ["x"] * count, "os": ["i"] * count}
    db.load(COLLECTION.encode(t=rows, rng=tc.insecure_rng(first)))


@pytest.fixture(autouse=True)
def _answers_are_computed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "MOST_CELLS", 0)


@pytest.fixture
def db() -> tc.Database:
    made = tc.connect()
    made.create(COLLECTION)
    load(made, 0, 100)
    return made


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the statements that add up by code, or list codes to be counted, as they are run."""
    statements: list[str] = []
    fetch, count = DuckDB.fetch, DuckDB.count_column

    def noted(self: DuckDB, statement: str, *rest: object) -> object:
        if 'GROUP BY "0code0"' in statement:
            statements.append(statement)
        return fetch(self, statement, *rest)  # type: ignore[arg-type]

    def counted(self: DuckDB, statement: str, *rest: object) -> object:
        statements.append(statement)
        return count(self, statement, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(DuckDB, "fetch", noted)
    monkeypatch.setattr(DuckDB, "count_column", counted)
    return statements


def test_questions_about_one_service_share_their_sums(db: tc.Database, fetched: list[str]) -> None:
    db.sql(GROUPS)
    db.sql(GROUPS)
    db.sql("SELECT COUNT(*) AS n FROM t WHERE a = 'x'")
    assert len(fetched) == 1
    db.sql("SELECT COUNT(*) AS n FROM t WHERE a = 'x' AND os = 'i'")
    db.sql("SELECT COUNT(*) AS n FROM t WHERE a = 'x' AND os = 'j'")
    assert len(fetched) == 3


def test_every_change_is_seen(db: tc.Database, fetched: list[str]) -> None:
    def people() -> int:
        return db.sql(GROUPS)["n"][0].n

    assert people() == 100
    load(db, 100, 50)
    assert people() == 150
    db.forget(3)
    assert people() == 149
    db.rollup("t", by=["os"])
    assert people() == 149
    load(db, 200, 1)
    assert people() == 150
    assert len(fetched) == 5


def test_another_connection_to_the_same_file_is_seen(tmp_path: Path) -> None:
    first = tc.connect(tmp_path / "reports.tacit")
    first.create(COLLECTION)
    load(first, 0, 100)
    second = tc.connect(tmp_path / "reports.tacit")
    assert second.sql(GROUPS)["n"][0].n == 100
    load(first, 100, 50)
    assert second.sql(GROUPS)["n"][0].n == 150


def test_what_was_used_longest_ago_is_dropped(
    db: tc.Database, fetched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_cache, "MOST_BYTES", 0)
    db.sql(GROUPS)
    db.sql(GROUPS)
    assert len(fetched) == 2


def test_who_asks_at_once_waits_for_one_fetch(db: tc.Database, fetched: list[str]) -> None:
    answers: list[float] = []
    threads = [threading.Thread(target=lambda: answers.append(db.sql(GROUPS)["n"][0].value)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    assert len(set(answers)) == 1
    assert len(fetched) == 1


def test_questions_about_a_join_share_the_sums_of_equal_weights(fetched: list[str]) -> None:
    ages = tc.Ordinal("age", 0, 9)
    plans = tc.Service("p", key="uid", attributes=[tc.Categorical("plan", list("bcd"))])
    both = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Categorical("a", list("vwxyz")), ages]), plans])
    collection, uid = tc.Collection(both, 4.0), np.arange(300)
    rows = {"uid": uid, "a": np.array(list("vwxyz"))[uid % 5], "age": uid % 10}
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(t=rows, p={"uid": uid, "plan": ["b"] * 300}, rng=tc.insecure_rng(1)))

    def people(plan: str, decoder: str = "blue") -> list[float]:
        question = f"SELECT a, COUNT(*) AS n FROM t JOIN p USING (uid) WHERE plan = '{plan}' GROUP BY a"
        return [estimate.value for estimate in db.sql(question, decoder=decoder)["n"]]

    assert people("b") == people("b")
    assert len(fetched) == 1
    db.sql("SELECT age, COUNT(*) AS n FROM t JOIN p USING (uid) WHERE plan = 'b' GROUP BY age")
    assert len(fetched) == 1
    assert sum(people("b")) > 150 > sum(people("c"))  # other weights, and a sum that differs
    assert len(fetched) == 2
    db.sql("SELECT a, MEDIAN(age) AS m FROM t JOIN p USING (uid) WHERE plan = 'c' GROUP BY a")
    assert len(fetched) == 2  # tests of all groups, and their correlation
    db.forget(3)
    people("b")
    assert len(fetched) == 3
