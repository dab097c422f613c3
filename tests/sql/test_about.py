"""Statements about no reports: what cannot be computed is refused with a code, and no part of one is ignored."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tacit as tc

COLLECTION = tc.Collection(tc.Schema([tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 9)])]), 1.0)


@pytest.fixture(scope="module")
def database() -> tc.Database:
    made = tc.connect()
    made.create(COLLECTION)
    rows = {"uid": np.arange(50), "age": np.arange(50) % 10}
    made.load(COLLECTION.encode(users=rows, rng=tc.insecure_rng(1)))
    return made


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ",
        "SELECT *",
        "SELECT 1/0",
        "SELECT 1%0",
        "SELECT 10^1000",
        "SELECT 'a' + 1",
        "SELECT -'a'",
        "SELECT CAST('x' AS INT)",
        "SELECT DATE 'x'",
        "SELECT SQRT(-1)",
        "SELECT 1 WHERE 'abc'",
        "SELECT CASE WHEN 'x' THEN 1 END",
        "SELECT table_name FROM information_schema.tables WHERE table_name",
        "SELECT LN(0)",
        "SELECT ROUND(1.5, 400)",
        "SELECT 99999999999999999999999999999",
        "SELECT FROM information_schema.tables",
        "SELECT table_name FROM information_schema.tables GROUP BY 1",
        "SELECT table_name FROM information_schema.tables OFFSET 1",
        "SELECT table_name FROM information_schema.tables LIMIT x",
    ],
)
def test_what_cannot_be_computed_is_refused_with_a_code(database: tc.Database, text: str) -> None:
    with pytest.raises(tc.TacitError) as refused:
        database.sql(text).to_json()
    assert refused.value.code != "internal"


def test_no_part_of_a_statement_is_ignored(database: tc.Database) -> None:
    def rows(text: str) -> int:
        return len(json.loads(database.sql(text).to_json())["rows"])

    columns = "FROM information_schema.columns"
    assert rows(f"SELECT table_name {columns}") > 1
    assert rows(f"SELECT DISTINCT table_name {columns}") == 1
    assert rows(f"SELECT column_name {columns} LIMIT 1") == 1
    assert rows("SELECT 1 LIMIT 0") == 0
