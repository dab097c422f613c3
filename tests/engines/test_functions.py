"""SQL functions: what they encode and add up is what the encoder and the database do."""

from __future__ import annotations

import warnings
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.engines import postgres_address, spark_session
from tacit.errors import TacitError
from tacit.functions import (
    Aggregate,
    Contribution,
    encode_in_spark,
    install_postgres,
    register_duckdb,
    register_spark,
    rewrite,
    share,
    sharing_statement,
)

KIND, SCORE = tc.Categorical("kind", ["x", "y"], null=True), tc.Ordinal("score", 0, 4, null=True)
PUBLIC = [tc.Public("os"), tc.Public("fee")]
USERS = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 9), KIND, SCORE, *PUBLIC])
ORDERS = tc.Service("orders", key="uid", attributes=[tc.Ordinal("pay", 0, 4)], at_most=3, sends=2)
COLLECTION = tc.Collection(tc.Schema([USERS, ORDERS]), 12.0)
N = 3_000
INNER = "SELECT COUNT(*) FROM users WHERE age < 4"
QUESTIONS = [
    "SELECT COUNT(*) AS x FROM users WHERE age < 4",
    "SELECT COUNT(*) AS x FROM users WHERE age < 4 AND os = 'i'",
    "SELECT os, SUM(age) AS x FROM users WHERE kind = 'x' GROUP BY os",
    "SELECT AVG(age) AS x FROM users WHERE os <> 'z'",
    "SELECT AVG(score) AS x FROM users u WHERE u.os <> 'z' AND u.age > 2",
    "SELECT AVG(fee) AS x FROM users WHERE age > 2",
]


def raw() -> dict[str, pa.Table]:
    source = np.random.default_rng(2)
    owner = np.repeat(np.arange(N), source.integers(0, 4, N))
    users = {
        "uid": np.arange(N),
        "age": source.integers(0, 10, N),
        "kind": pa.array(source.choice(["x", "y"], N), mask=source.random(N) < 0.1),
        "score": pa.array(source.integers(0, 5, N), mask=source.random(N) < 0.4),
        "os": source.choice(["i", "a"], N),
        "fee": pa.array(source.random(N), mask=source.random(N) < 0.5),
    }
    return {"users": pa.table(users), "orders": pa.table({"uid": owner, "pay": source.integers(0, 5, len(owner))})}


def reports_of(connection: duckdb.DuckDBPyConnection) -> dict[str, pa.Table]:
    """Share both tables by SQL and return what was written."""
    for name, table in raw().items():
        connection.register(name, table)
    connection.execute(
        "CREATE TABLE ldp_users (uid BIGINT, slot SMALLINT, channel INTEGER, code BIGINT, os VARCHAR, fee DOUBLE)"
    )
    connection.execute("CREATE TABLE ldp_orders (uid BIGINT, slot SMALLINT, channel INTEGER, code BIGINT)")
    assert share(connection, sharing_statement(COLLECTION, "users", "users", "ldp_users")) == N
    assert share(connection, sharing_statement(COLLECTION, "orders", "orders", "ldp_orders", people="users")) == 2 * N
    return {name: connection.sql(f"SELECT * FROM ldp_{name}").to_arrow_table() for name in ("users", "orders")}


def loaded(reports: dict[str, pa.Table]) -> tc.Database:
    database = tc.connect()
    database.create(COLLECTION)
    marked = {
        name: table.replace_schema_metadata({"tacit.collection": COLLECTION.id, "tacit.service": name})
        for name, table in reports.items()
    }
    assert all(one.refused == 0 for one in database.load(marked).values())
    return database


def check_close_to_the_truth(database: tc.Database) -> None:
    """n = 3,000; false alarm 1e-9 each."""
    table = raw()
    age, pay = np.asarray(table["users"]["age"]), np.asarray(table["orders"]["pay"])
    for question, truth in (
        (QUESTIONS[0], np.count_nonzero(age < 4)),
        ("SELECT SUM(pay) AS x FROM orders", pay.sum()),
        ("SELECT COUNT(*) AS x FROM orders", len(pay)),
    ):
        found = database.sql(question)["x"]
        assert abs(found.value - truth) < 6.11 * found.error
        assert found.error < 0.2 * truth


def test_sharing_and_rewriting_in_duckdb() -> None:
    connection = duckdb.connect()
    register_duckdb(connection, COLLECTION, rng=tc.insecure_rng(5))
    database = loaded(reports_of(connection))
    check_close_to_the_truth(database)
    for question in QUESTIONS:
        found = connection.sql(rewrite(COLLECTION, question, "ldp_users")).fetchall()
        expected = database.sql(question).rows
        for row, truth in zip(sorted(found), expected, strict=True):
            assert row[:-1] == truth[:-1]
            assert row[-1] == pytest.approx(truth[-1].value, rel=1e-9)
    with pytest.raises(TacitError):
        rewrite(COLLECTION, "SELECT kind, COUNT(*) FROM users GROUP BY kind", "ldp_users")
    with pytest.raises(TacitError):
        sharing_statement(COLLECTION, "orders", "orders", "ldp_orders")
    connection.execute("CREATE TABLE twice AS SELECT * FROM users UNION ALL (SELECT * FROM users LIMIT 1)")
    with pytest.raises(duckdb.Error, match="would report twice"):
        share(connection, sharing_statement(COLLECTION, "users", "twice", "ldp_users"))
    [(count,)] = connection.execute("SELECT count(*) FROM ldp_users").fetchall()
    assert count == N, "nothing was written"
    everybody_twice = sharing_statement(COLLECTION, "orders", "orders", "ldp_orders", people="twice")
    assert share(connection, everybody_twice) == 2 * N


def test_buffers_merge_over_any_partition() -> None:
    contribution = Contribution(COLLECTION, INNER)
    codes = np.random.default_rng(1).integers(0, contribution.alphabet, 1000)
    whole = Aggregate(contribution).iterate(codes).terminate()
    for seed in range(5):
        parts = np.array_split(np.random.default_rng(seed).permutation(codes), 7)
        merged = Aggregate(contribution)
        for part in parts:
            merged = Aggregate(contribution).iterate(part).merge(merged)
        assert merged.terminate().value == pytest.approx(whole.value, rel=1e-12)
        assert merged.terminate().error == pytest.approx(whole.error, rel=1e-9)
    one = Aggregate(contribution)
    for code in codes[:50]:
        one.iterate(code)
    assert one.total == pytest.approx(Aggregate(contribution).iterate(codes[:50]).total)
    for question in (
        "SELECT AVG(age) FROM users",
        "SELECT COUNT(*) FROM orders",
        "SELECT COUNT(*) FROM users WHERE os = 'i'",
    ):
        with pytest.raises(TacitError):
            Contribution(COLLECTION, question)


def test_the_aggregate_in_postgres() -> None:
    psycopg = pytest.importorskip("psycopg")
    reports = COLLECTION.encode(**raw(), rng=tc.insecure_rng(3))
    database = loaded(reports)
    with postgres_address() as address, psycopg.connect(address, autocommit=True) as connection:
        install_postgres(connection, COLLECTION, [INNER])
        connection.execute("CREATE TABLE ldp_users (uid BIGINT, code BIGINT, os TEXT)")
        with connection.cursor().copy("COPY ldp_users FROM STDIN") as copy:
            for row in zip(*(reports["users"][name].to_pylist() for name in ("uid", "code", "os")), strict=True):
                copy.write_row(row)
        [(text, (value, error))] = connection.execute(
            f"SELECT '{QUESTIONS[0]}', ldp_estimate(ldp_contribution(code, '{INNER}')) FROM ldp_users"
        ).fetchall()
        expected = database.sql(text, superpopulation=True)["x"]
        assert value == pytest.approx(expected.value, rel=1e-9)
        assert error == pytest.approx(expected.error, rel=1e-9)
        rewritten = rewrite(COLLECTION, QUESTIONS[1], "ldp_users", dialect="postgres")
        [(value,)] = connection.execute(rewritten).fetchall()
        assert value == pytest.approx(database.sql(QUESTIONS[1])["x"].value, rel=1e-9)


def test_sharing_and_rewriting_in_spark() -> None:
    pytest.importorskip("pyspark")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session: Any = spark_session("spark")
        frames = {name: session.createDataFrame(table) for name, table in raw().items()}
        reports = {
            "users": encode_in_spark(COLLECTION, "users", frames["users"]).toArrow(),
            "orders": encode_in_spark(COLLECTION, "orders", frames["orders"], people=frames["users"]).toArrow(),
        }
        database = loaded(reports)
        check_close_to_the_truth(database)
        register_spark(session, COLLECTION)
        session.createDataFrame(reports["users"]).createOrReplaceTempView("ldp_users")
        for question in QUESTIONS:
            found = session.sql(rewrite(COLLECTION, question, "ldp_users", dialect="spark")).collect()
            expected = database.sql(question).rows
            for row, truth in zip(sorted(tuple(row) for row in found), expected, strict=True):
                assert row[:-1] == truth[:-1]
                assert row[-1] == pytest.approx(truth[-1].value, rel=1e-9)
        for name, frame in frames.items():
            frame.createOrReplaceTempView(name)
        for name in ("users", "orders"):
            statement = sharing_statement(COLLECTION, name, name, "t", dialect="spark", people="users")
            written = session.sql(statement.partition("\n")[2])
            assert written.count() == (N if name == "users" else 2 * N)
