"""PostgreSQL: every change of reports is noticed, loads look people up, joins may run in several workers."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.engines import postgres_address
from tacit.encode.reports import report_table
from tacit.engines.dialect import question_in_postgres
from tacit.engines.failures import failure_code
from tacit.engines.postgres import Postgres
from tacit.engines.postgres_columns import NumberArray, use_number_arrays
from tacit.errors import EngineError, ReportError

psycopg = pytest.importorskip("psycopg")

SCHEMA = tc.Schema(
    [
        tc.Service("t", key="uid", attributes=[tc.Categorical("a", list("xyz")), tc.Public("os")]),
        tc.Service("o", key="uid", attributes=[tc.Categorical("b", list("pqrstu"))]),
    ]
)
COLLECTION = tc.Collection(SCHEMA, 4.0)
GROUPS = "SELECT a, COUNT(*) AS n FROM t GROUP BY a"
TABLE = report_table(COLLECTION.id, "t")


def load(db: tc.Database, first: int, count: int) -> Any:
    people = np.arange(first, first + count)
    rows = {"t": {"uid": people, "a": ["x"] * count, "os": ["i"] * count}, "o": {"uid": people, "b": ["p"] * count}}
    return db.load(COLLECTION.encode(**rows, rng=tc.insecure_rng(first)))


@pytest.fixture
def address() -> Iterator[str]:
    with postgres_address() as made:
        yield made


@pytest.fixture
def db(address: str) -> Iterator[tc.Database]:
    made = tc.connect(address)
    made.create(COLLECTION)
    load(made, 0, 100)
    yield made
    made.close()


def test_every_change_is_seen_whoever_makes_it(db: tc.Database, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    fetch = Postgres.fetch

    def noted(self: Postgres, statement: str, *rest: object) -> object:
        asked.append(statement)
        return fetch(self, statement, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Postgres, "fetch", noted)

    def people() -> int:
        return db.sql(GROUPS)["n"][0].n

    assert [people(), people()] == [100, 100]
    assert len([text for text in asked if 'GROUP BY "0code0"' in text]) == 1  # the second came from kept sums
    load(db, 100, 50)
    assert people() == 150
    db.forget(3)
    assert people() == 149
    with psycopg.connect(address) as other:  # somebody else, with plain SQL
        other.execute(f'DELETE FROM "{TABLE}" WHERE uid = 4')
        assert people() == 149  # not committed yet
    assert people() == 148
    with psycopg.connect(address) as other:
        other.execute(f'DELETE FROM "{TABLE}" WHERE uid < 50')
        other.rollback()
    assert people() == 148
    with psycopg.connect(address) as other:
        other.execute(f'ALTER TABLE "{TABLE}" DISABLE TRIGGER tacit_changed')
        other.execute(f'DELETE FROM "{TABLE}" WHERE uid = 5')
    assert people() == 147  # nothing is kept where changes could go unnoticed


def test_partitions_have_versions_of_their_own(address: str) -> None:
    attributes = [tc.Ordinal("a", 0, 15), tc.Ordinal("b", 0, 15)]
    schema = tc.Schema([tc.Service("t", key="uid", attributes=attributes)])
    collection = tc.Collection(schema, 4.0, mechanism="sc")
    db, engine = tc.connect(address), Postgres(address)
    db.create(collection)
    rows = {"uid": np.arange(50), "a": np.arange(50) % 16, "b": np.arange(50) % 16}
    db.load(collection.encode(t=rows, rng=tc.insecure_rng(1)))
    with psycopg.connect(address) as other:
        parts = "SELECT relid::regclass::text FROM pg_partition_tree(%s::regclass) WHERE isleaf"
        [(part,), *others] = other.execute(parts, [f'"{report_table(collection.id, "t")}"']).fetchall()
    assert others
    before = engine.changes()
    with psycopg.connect(address) as other:
        other.execute(f"DELETE FROM {part} WHERE uid = 1")
    assert engine.changes() != before
    db.close()
    engine.close()


def test_a_small_load_reads_no_more_than_its_people(db: tc.Database, address: str) -> None:
    load(db, 1_000, 20_000)

    def rows_read() -> int:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("SELECT pg_stat_force_next_flush()")
            query = "SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname LIKE 'reports_%'"
            [(count,)] = connection.execute(query).fetchall()
        return int(count)

    before = rows_read()
    assert load(db, 20_990, 20)["t"].stored == 10  # ten are known, ten are new
    db.forget(20_995)
    db.close()  # what its connection has counted is reported
    assert rows_read() - before < 1_000


def test_workers_may_join_contributions(address: str) -> None:
    with psycopg.connect(address, cursor_factory=psycopg.RawCursor) as connection:
        use_number_arrays(connection)
        connection.execute("CREATE TABLE r AS SELECT i AS uid, i % 100 AS code FROM generate_series(1, 200000) i")
        connection.execute("ANALYZE r")
        connection.execute("SET LOCAL min_parallel_table_scan_size = 0")
        sent = pa.table({"code": np.arange(100), "0f": np.arange(100) / 8})
        text = 'SELECT r.code % 2 AS parity, sum(c."0f") AS "0x" FROM r JOIN contributions0 c ON r.code = c.code '
        made = question_in_postgres(text + "GROUP BY parity", (("contributions0", ("code", "0f")),), 0)
        given = [NumberArray(column) for column in sent.columns]
        plan = connection.execute(f"EXPLAIN {made.text}", given).fetchall()
        rows = connection.execute(made.text, given, binary=True).fetchall()
    assert any("Parallel Seq Scan" in line for (line,) in plan)
    assert any("Hash Join" in line and "->" in line for (line,) in plan)
    [(parities, sums)] = rows
    expected = {parity: 2_000 * sum(i / 8 for i in range(parity, 100, 2)) for parity in (0, 1)}
    assert dict(zip(parities.tolist(), sums.tolist(), strict=True)) == expected


def test_many_may_open_a_new_database_at_once(address: str) -> None:
    engines: list[Postgres] = []
    threads = [threading.Thread(target=lambda: engines.append(Postgres(address))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(engines) == 8
    assert {engine.changes() for engine in engines} == {""}
    for engine in engines:
        engine.close()


def test_arrays_bring_missing_numbers_back() -> None:
    with postgres_address() as address:
        engine = Postgres(address)
        rows = engine.fetch(
            "SELECT a AS k, max(b) AS m FROM (VALUES (1, 2), (1, 3), (2, NULL)) t(a, b) GROUP BY k", [], {}
        )
        none = engine.fetch("SELECT a AS k, max(b) AS m FROM (VALUES (1, 2)) t(a, b) WHERE a > 1 GROUP BY k", [], {})
        engine.close()
    assert sorted(zip(*rows.to_pydict().values(), strict=True)) == [(1, 3), (2, None)]
    assert none.num_rows == 0


def test_a_server_that_does_not_answer_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port, start = silent.getsockname()[1], time.monotonic()
        with pytest.raises(EngineError) as failure:
            tc.connect(f"postgresql://nobody@127.0.0.1:{port}/none")
    assert failure.value.code == "unreadable-database"
    assert time.monotonic() - start < 30


def test_keys_of_another_type_do_not_fit_and_the_store_is_there(db: tc.Database) -> None:
    """The server has no operator between the two types; that is no outage, and waiting would not help."""
    people = ["u-1", "u-2"]
    rows = {"t": {"uid": people, "a": ["x"] * 2, "os": ["i"] * 2}, "o": {"uid": people, "b": ["p"] * 2}}
    with pytest.raises(ReportError) as refused:
        db.load(COLLECTION.encode(**rows, rng=tc.insecure_rng(1)))
    assert refused.value.code == "reports-do-not-fit"
    assert db.sql("SELECT COUNT(*) AS n FROM t")["n"].value == 100


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("UndefinedFunction", None),
        ("InvalidTextRepresentation", None),
        ("UniqueViolation", None),
        ("DiskFull", "disk-full"),
        ("OutOfMemory", "out-of-memory"),
        ("InsufficientPrivilege", "read-only-store"),
        ("ReadOnlySqlTransaction", "read-only-store"),
        ("UndefinedTable", "no-store"),
        ("AdminShutdown", "no-store"),
    ],
)
def test_failures_of_the_server_and_of_statements_are_told_apart(name: str, code: str | None) -> None:
    assert failure_code(getattr(psycopg.errors, name)("")) == code
