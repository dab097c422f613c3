"""Random questions of many shapes have the answers of DuckDB on the raw rows, or are refused with a reason."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pytest

import tacit as tc
from support.shaped_questions import SHAPED, ShapedQuestions, shaped_tables
from support.tiers import how_many
from tacit.errors import TacitError
from tacit.estimate.answer import Answer
from tacit.estimate.estimate import Estimate
from tacit.testing import identity_collection, reveal

Databases = tuple[tc.Database, duckdb.DuckDBPyConnection]


@pytest.fixture(scope="module")
def databases() -> Databases:
    collection = identity_collection(SHAPED)
    database, connection = tc.connect(), duckdb.connect()
    database.create(collection)
    tables = shaped_tables()
    database.load(reveal(collection, **tables))
    for name, table in tables.items():
        connection.register("raw", table)
        connection.execute(f"CREATE TABLE {name} AS FROM raw")
    return database, connection


def plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date()
    return float(value) if isinstance(value, Decimal) else value


def is_near(cell: Any, truth: Any) -> bool:
    """Return whether a cell is the truth; nothing to add up is 0 in estimates, and NULL in SQL."""
    value = cell.value if isinstance(cell, Estimate) else cell
    if truth is None or isinstance(value, str | datetime.date | None):
        return value == truth or (isinstance(value, float) and (math.isnan(value) or abs(value) < 1e-6))
    return abs(value - float(truth)) <= 1e-6 * max(1.0, abs(float(truth)))


def is_of_nobody(cells: list[Any]) -> bool:
    """Return whether a row may be of a group that nobody is in: a count is 0 there, and averages divide 0 by 0."""
    exact = [isinstance(cell, Estimate) and cell.error == 0 for cell in cells]
    return all(exact) or any(is_near(cell, None) for cell in cells)


def difference(answer: Answer, names: list[str], rows: list[tuple[Any, ...]]) -> str:
    """Return how an answer differs from the true rows; empty if it does not."""
    if list(answer.columns) != names:
        return f"columns {answer.columns} instead of {names}"
    keys = [place for place, name in enumerate(names) if name not in answer.estimates]
    cells = [place for place in range(len(names)) if place not in keys]
    expected: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for row in rows:
        expected.setdefault(tuple(plain(row[place]) for place in keys), []).append(row)
    for row in answer.rows:
        candidates = expected.get(tuple(plain(row[place]) for place in keys), [])
        same = [true for true in candidates if all(is_near(row[place], true[place]) for place in cells)]
        if same:
            candidates.remove(same[0])
        elif candidates or not is_of_nobody([row[place] for place in cells]):
            return f"{[str(cell) for cell in row]}, but {candidates}"
    missing = [row for candidates in expected.values() for row in candidates]
    return f"missing {missing}" if missing else ""


def test_random_questions_equal_sql_on_the_raw_rows(databases: Databases) -> None:
    count = how_many(16, 600, "questions of many shapes, equal to SQL on the raw rows")
    questions = ShapedQuestions(np.random.default_rng(2026_11))
    database, connection = databases
    refused: Counter[str] = Counter()
    for _ in range(count):
        question = questions.question()
        truth = connection.execute(question)
        try:
            answer = database.sql(question)
        except TacitError as refusal:
            refused[refusal.code] += 1
            continue
        names = [column[0] for column in truth.description]
        assert not difference(answer, names, truth.fetchall()), question
    assert sum(refused.values()) <= count // 5, refused
    for shape in ("join", "projection", "group", "having", "union", "groups"):
        assert questions.made[shape] >= 1, questions.made


def test_the_comparison_can_fail(databases: Databases) -> None:
    database, connection = databases
    answer = database.sql("SELECT mode, COUNT(*) AS n FROM trips GROUP BY mode")
    for wrong in ("WHERE cost > 0", "WHERE mode <> 'bus'"):
        rows = connection.execute(f"SELECT mode, COUNT(*) AS n FROM trips {wrong} GROUP BY mode").fetchall()
        assert difference(answer, ["mode", "n"], rows)
