"""DuckDB's codes are counted here, not by its statements: the counts are equal, and so are errors."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

import tacit as tc
from tacit.answers import answer_cache, code_cache
from tacit.engines import duckdb_cursors
from tacit.engines.deadline import Deadline
from tacit.engines.duckdb import DuckDB
from tacit.engines.duckdb_cursors import count_values
from tacit.errors import OverloadedError, TacitError

SCHEMA = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Ordinal("a", 0, 9), tc.Public("os")])])
QUESTION = "SELECT a, COUNT(*) AS n FROM t WHERE os = 'i' GROUP BY a"


@pytest.fixture
def db() -> tc.Database:
    collection = tc.Collection(SCHEMA, 4.0)
    made = tc.connect()
    made.create(collection)
    rows = {"uid": np.arange(5_000), "a": np.arange(5_000) % 10, "os": np.array(["i", "j"])[np.arange(5_000) % 2]}
    made.load(collection.encode(t=rows, rng=tc.insecure_rng(1)))
    return made


@pytest.mark.parametrize("kind", ["INTEGER", "BIGINT"])
@pytest.mark.parametrize("at_once", [1, 2_048, 10_000, 2**22])
def test_counts_equal_those_of_a_statement(kind: str, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_cursors, "COUNTED_AT_ONCE", at_once)
    cursor = duckdb.connect()
    cursor.execute(f"CREATE TABLE t AS SELECT (hash(range) % 70)::{kind} AS c FROM range(20_000)")
    counted = count_values(cursor, "SELECT c FROM t WHERE c <> ?", [7])
    assert counted is not None
    expected = cursor.sql("SELECT c, COUNT(*) FROM t WHERE c <> 7 GROUP BY c ORDER BY c").fetchall()
    assert list(zip(*(column.tolist() for column in counted), strict=True)) == expected


def test_nothing_has_no_counts() -> None:
    counted = count_values(duckdb.connect(), "SELECT 1 AS c WHERE ?", [False])
    assert counted is not None
    assert [len(column) for column in counted] == [0, 0]


def test_answers_equal_those_of_a_statement(db: tc.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "MOST_CELLS", 0)
    monkeypatch.setattr(code_cache, "MOST_BYTES", 0)
    counted = db.sql(QUESTION)["n"]
    monkeypatch.setattr(DuckDB, "count_column", lambda *_: None)
    grouped = db.sql(QUESTION)["n"]
    assert [(cell.value, cell.error, cell.n) for cell in counted] == [(c.value, c.error, c.n) for c in grouped]


def test_a_statement_that_fails_says_why(db: tc.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert count_values(duckdb.connect(), "SELECT c FROM missing", []) is None

    def fail(*_: object) -> object:
        raise TacitError("no disk", code="unrunnable")

    monkeypatch.setattr(DuckDB, "count_column", lambda *_: None)
    monkeypatch.setattr(DuckDB, "fetch", fail)
    with pytest.raises(TacitError, match="no disk"):
        db.sql(QUESTION)


def test_a_deadline_ends_counting() -> None:
    cursor = duckdb.connect()
    with Deadline(0.2)(), pytest.raises(OverloadedError):
        count_values(cursor, "SELECT range AS c FROM range(?::BIGINT) ORDER BY hash(range)", [10**10])
