"""Parameters are constants of the question: in the order of the text, of any kind, and nothing but constants."""

from __future__ import annotations

import datetime
import enum
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

import tacit as tc
from sql.test_hostile_text import Spy
from tacit import dbapi
from tacit.sql.parse import parse

CANARY = "canary7391"

SCHEMA = tc.Schema(
    [
        tc.Service(
            "town",
            key="uid",
            attributes=[
                tc.Ordinal("age", 0, 9),
                tc.Ordinal("born", datetime.date(2026, 1, 1), datetime.date(2026, 1, 8)),
                tc.Categorical("kind", ["x", "it's; --", CANARY], null=True),
                tc.Public("os"),
                tc.Public("since"),
            ],
        )
    ]
)


@pytest.fixture(scope="module")
def spy() -> Spy:
    return Spy()


@pytest.fixture(scope="module")
def town(spy: Spy) -> dbapi.Connection:
    database = tc.Database(spy)
    collection = tc.Collection(SCHEMA, 2.0)
    database.create(collection)
    columns = {
        "uid": range(200),
        "age": [1, 5] * 100,
        "born": [datetime.date(2026, 1, 2), datetime.date(2026, 1, 7)] * 100,
        "kind": ["x", None] * 100,
        "os": ["a", "b", "it's; --", CANARY] * 50,
        "since": [datetime.date(2025, 1, 1), datetime.date(2026, 1, 1)] * 100,
    }
    database.load(collection.encode(town=columns, rng=tc.insecure_rng(3)))
    return dbapi.connect(database)


@pytest.mark.parametrize(
    ("condition", "values", "written"),
    [
        ("age < ?", [5], "age < 5"),
        ("age < ?", [np.int64(5)], "age < 5"),
        ("age <= ?", [np.float32(4.5)], "age <= 4.5"),
        ("age > ?", [-3], "age > -3"),
        ("age < ?", [Decimal("4.50")], "age < 4.50"),
        ("age BETWEEN ? AND ?", [2, 7], "age BETWEEN 2 AND 7"),
        ("NOT age IN (?, ?, ?)", (1, 2, 3), "NOT age IN (1, 2, 3)"),
        ("kind = ?", ["x"], "kind = 'x'"),
        ("kind = ?", [enum.StrEnum("Kind", [("A", "x")]).A], "kind = 'x'"),
        ("kind = ?", ["it's; --"], "kind = 'it''s; --'"),
        ("os = ? OR kind = ?", ["a", "x"], "os = 'a' OR kind = 'x'"),
        ("os IN (?, ?)", ["a", "it's; --"], "os IN ('a', 'it''s; --')"),
        ("born >= ?", [datetime.date(2026, 1, 3)], "born >= '2026-01-03'"),
        ("since >= ?", [datetime.date(2025, 6, 1)], "since >= DATE '2025-06-01'"),
        ("since >= ?", [datetime.datetime(2025, 6, 1, 12)], "since >= '2025-06-01 12:00:00'"),
        ("?", [True], "TRUE"),
        ("? OR age < ?", [False, 3], "FALSE OR age < 3"),
        ("? < age", [3], "3 < age"),
    ],
)
def test_a_parameter_is_the_constant_written_there(
    town: dbapi.Connection, condition: str, values: list[Any], written: str
) -> None:
    asked = town.cursor().execute(f"SELECT COUNT(*) AS n FROM town WHERE {condition}", values).fetchone()
    expected = town.cursor().execute(f"SELECT COUNT(*) AS n FROM town WHERE {written}").fetchone()
    assert asked == pytest.approx(expected, rel=1e-9)


def test_parameters_are_counted_as_the_text_is_read(town: dbapi.Connection) -> None:
    """The tree keeps LIMIT before WHERE, and WHERE before GROUP BY; the text does not."""
    question = (
        "SELECT CASE WHEN age < {} THEN {} ELSE {} END AS who, SUM(age * {}) FILTER (WHERE kind = {}) AS s FROM town "
        "WHERE age BETWEEN {} AND {} GROUP BY 1 HAVING COUNT(*) > {} ORDER BY 1 LIMIT {}"
    )
    values = [4, "young", "old", 3, "x", 0, 8, -1000, 2]
    written = [f"'{value}'" if isinstance(value, str) else value for value in values]
    asked = town.cursor().execute(question.format(*["?"] * 9), values).fetchall()
    assert [row[0] for row in asked] == ["old", "young"]
    for row, expected in zip(asked, town.cursor().execute(question.format(*written)), strict=True):
        assert row[1:] == pytest.approx(expected[1:], rel=1e-9)


def test_groups_with_parameters_are_those_selected(town: dbapi.Connection) -> None:
    question = "SELECT width_bucket(age, ?, ?, ?) AS b, COUNT(*) AS n FROM town GROUP BY width_bucket(age, ?, ?, ?)"
    rows = town.cursor().execute(question, [0, 10, 2] * 2).fetchall()
    assert [row[0] for row in rows] == [1, 2]


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("SELECT COUNT(*) FROM ?", ["town"]),
        ("SELECT COUNT(*) AS ? FROM town", ["n"]),
        ("SELECT COUNT(*) FROM town WHERE town.? = 1", ["age"]),
        ("SELECT COUNT(*) FROM town AS ?", ["t"]),
        ("SELECT COUNT(*) FROM town a JOIN town b USING (?)", ["uid"]),
        ("SELECT COUNT(*) FROM town WHERE age = $1", [1]),
        ("SELECT COUNT(*) FROM town WHERE age = :age", {"age": 1}),
        ("SELECT COUNT(*) FROM town WHERE age = ?", []),
        ("SELECT COUNT(*) FROM town WHERE age = ?", None),
        ("SELECT COUNT(*) FROM town WHERE age = ?", [1, 2]),
        ("SELECT COUNT(*) FROM town WHERE age = 1", [1]),
        ("SELECT COUNT(*) FROM town WHERE kind = '?'", ["x"]),
        ("SELECT COUNT(*) FROM town WHERE age = ?", "1"),
        ("SELECT COUNT(*) FROM town WHERE age = ?", {"a": 1}),
        ("SELECT COUNT(*) FROM town WHERE age = ? -- ?", [1, 2]),
    ],
)
def test_parameters_that_do_not_fit_are_refused(town: dbapi.Connection, question: str, values: Any) -> None:
    with pytest.raises(dbapi.ProgrammingError) as caught:
        town.cursor().execute(question, values)
    assert caught.value.code in ("wrong-parameters", "not-readable")


NO_NUMBERS = (float("nan"), float("inf"), np.float64("-inf"), 10**5000, Decimal("NaN"), Decimal("1e200"), 1j)
NO_TEXTS = (b"x", "\0", "\ud800", "x" * 20_000)
NO_DATES = (datetime.time(1), datetime.timedelta(1))
NO_CONSTANTS = (*NO_NUMBERS, *NO_TEXTS, *NO_DATES, object(), [1])


@pytest.mark.parametrize("value", NO_CONSTANTS, ids=range(len(NO_CONSTANTS)))
def test_values_that_are_no_constants_are_refused(town: dbapi.Connection, value: Any) -> None:
    with pytest.raises(dbapi.ProgrammingError) as caught:
        town.cursor().execute("SELECT COUNT(*) FROM town WHERE os = ?", [value])
    assert caught.value.code == "bad-parameter"


def test_null_satisfies_nothing_as_in_sql(town: dbapi.Connection) -> None:
    nobody = town.cursor().execute("SELECT COUNT(*) FROM town WHERE age = ?", [None])
    assert nobody.fetchone()[0] == 0
    rows = town.cursor().execute("SELECT SUM(CASE WHEN age < 5 THEN ? ELSE ? END) AS s FROM town", [None, None])
    assert rows.fetchone()[0] == 0


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=3, max_size=3))
def test_any_text_stays_one_literal(values: list[str]) -> None:
    statement = parse("SELECT COUNT(*) FROM town WHERE os = ? OR kind IN (?, ?)", values)
    literals = list(statement.find(exp.Where).find_all(exp.Literal, bfs=False))
    assert [literal.this for literal in literals] == values
    assert all(literal.is_string for literal in literals)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.integers(-(10**99), 10**99), st.floats(-1e99, 1e99), st.decimals(-(10**9), 10**9, places=4)))
def test_any_number_stays_one_number(value: Any) -> None:
    statement = parse("SELECT COUNT(*) FROM town WHERE age = ?", [value])
    made = statement.find(exp.EQ).expression
    [literal] = made.find_all(exp.Literal)
    assert not literal.is_string
    assert (-1 if isinstance(made, exp.Neg) else 1) * type(value)(literal.this) == value


HOSTILE = (
    f"{CANARY}",
    f"'{CANARY}",
    f"x' OR 1=1; DROP TABLE town; -- {CANARY}",
    f'"{CANARY}"',
    f"\\'{CANARY}",
    f"$${CANARY}$$",
    f"/*{CANARY}*/",
    f"? {CANARY} ?",
    f"{CANARY}\n--",
)


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize(
    "question",
    [
        "SELECT COUNT(*) AS n FROM town WHERE os = ?",
        "SELECT os, COUNT(*) AS n FROM town WHERE os <> ? GROUP BY os",
        "SELECT COUNT(*) AS n FROM town WHERE os IN (?, 'a') OR age < 5",
        "SELECT CASE WHEN age < 5 THEN ? ELSE 'no' END AS who, COUNT(*) AS n FROM town GROUP BY who",
        "SELECT COUNT(*) FILTER (WHERE os = ?) AS n FROM town",
        "EXPLAIN SELECT COUNT(*) AS n FROM town WHERE os = ?",
    ],
)
def test_no_parameter_is_in_a_statement_of_the_engine(
    town: dbapi.Connection, spy: Spy, question: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.answers.code_cache.MOST_BYTES", 0)  # every question runs a statement
    spy.statements.clear()
    town.cursor().execute(question, [value])
    assert spy.statements
    assert not [statement for statement in spy.statements if CANARY in statement]
    assert town.cursor().execute("SELECT COUNT(*) AS n FROM town").fetchone()[0] == 200


def test_refusals_show_the_question_and_not_its_parameters(town: dbapi.Connection) -> None:
    with pytest.raises(dbapi.Error) as caught:
        town.cursor().execute("SELECT COUNT(*) FROM town WHERE born = ?", [f"{CANARY}-secret"])
    assert CANARY not in str(caught.value)
