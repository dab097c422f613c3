"""With a channel that hides nothing, answers must be those of SQL on the raw rows."""

from __future__ import annotations

import math

import duckdb
import numpy as np
import pytest

import tacit as tc
from support.adult import SCHEMA, adult_table
from support.questions import Questions
from support.tiers import how_many
from tacit.errors import PrivacyError, QueryError
from tacit.estimate.estimate import Estimate
from tacit.testing import identity_collection, reveal


@pytest.fixture(scope="module")
def database() -> tc.Database:
    collection = identity_collection(SCHEMA)
    made = tc.connect()
    made.create(collection)
    made.load(reveal(collection, adult=adult_table()))
    return made


def equal(estimate: float, truth: float | None) -> bool:
    if truth is None or math.isnan(float(truth)):
        return math.isnan(estimate) or abs(estimate) < 1e-6
    return abs(estimate - float(truth)) <= 1e-9 * max(1.0, abs(float(truth))) * 1e3


def check(database: tc.Database, question: str) -> bool:
    """Compare the answer with the truth; return whether the question was accepted at all."""
    try:
        answer = database.sql(question)
    except QueryError:
        return False
    people = adult_table()
    connection = duckdb.connect()
    connection.register("adult", people)
    truth = connection.execute(question).fetchall()
    width = len([cell for cell in answer.rows[0] if not isinstance(cell, Estimate)]) if answer.rows else 0
    found = {row[:width]: row[width:] for row in answer.rows}
    assert len(found) == len(answer.rows)
    for row in truth:
        if row[:width] not in found:
            assert not answer.rows or width == 0, f"{question}: a group is missing"
            assert all(value in (None, 0) for value in row[width:])
            continue
        for cell, value in zip(found.pop(row[:width]), row[width:], strict=True):
            assert equal(cell.value, value), f"{question}: {cell.value} instead of {value}"
    for cells in found.values():  # groups that nobody is in
        assert all(math.isnan(cell.value) or abs(cell.value) < 1e-6 for cell in cells), question
    return True


def test_generated_questions_agree_with_the_raw_rows(database: tc.Database) -> None:
    count = how_many(40, 520, "generated questions, equal to SQL on the raw rows")
    questions = Questions(np.random.default_rng(2026))
    accepted = 0
    for _ in range(count):
        question = questions.question()
        accepted += check(database, question)
    assert accepted >= 0.9 * count
    for word in ("AND", "OR", "NOT", "IN", "BETWEEN", "GROUP BY", "AVG", "STDDEV"):
        assert questions.made[word] >= count // 10, word
    assert questions.made["three deep"] >= count // 5


def test_the_comparison_can_fail(database: tc.Database) -> None:
    question = "SELECT SUM(age) AS x0 FROM adult WHERE age < 4"
    assert check(database, question)
    people = adult_table()
    connection = duckdb.connect()
    connection.register("adult", people)
    [(truth,)] = connection.execute(question.replace("< 4", "<= 4")).fetchall()
    assert not equal(database.sql(question)["x0"].value, truth)


def test_the_identity_is_out_of_reach() -> None:
    collection = identity_collection(SCHEMA)
    assert not collection.audit().ok
    with pytest.raises(PrivacyError):
        collection.encode(adult=adult_table())


EQUIVALENT = [
    ("age BETWEEN 2 AND 4", "age >= 2 AND age <= 4"),
    ("NOT (age < 3 OR work = 'self')", "age >= 3 AND work <> 'self'"),
    ("work IN ('private', 'self')", "work = 'private' OR work = 'self'"),
    ("3 > age", "age < 3"),
    ("age < 3.5", "age <= 3"),
    ("work IS NOT NULL", "work IN ('private', 'public', 'self')"),
    ("NOT work = 'self'", "work IN ('private', 'public')"),
    ("edu > hours", "(hours = 0 AND edu >= 1) OR (hours = 1 AND edu >= 2) OR (hours = 2 AND edu = 3)"),
    ("edu = 1 OR sex = 'Male'", "sex = 'Male' OR (edu = 1 AND NOT sex = 'Male')"),
    ("TRUE", "age = age"),
    ("FALSE", "age < age"),
]


@pytest.mark.parametrize(("left", "right"), EQUIVALENT)
def test_equivalent_conditions_have_equal_answers(database: tc.Database, left: str, right: str) -> None:
    first, second = (database.sql(f"SELECT COUNT(*) AS n FROM adult WHERE {text}")["n"] for text in (left, right))
    assert first.value == pytest.approx(second.value, abs=1e-6)
    assert check(database, f"SELECT COUNT(*) AS x0 FROM adult WHERE {left}")


REFUSED = [
    ("not-readable", "SELEC COUNT(*) FROM adult"),
    ("not-readable", ""),
    ("not-readable", "SELECT COUNT(*) FROM adult WHERE"),
    ("several-statements", "SELECT COUNT(*) FROM adult; SELECT 1"),
    ("not-a-select", "DROP TABLE adult"),
    ("not-a-select", "COPY adult TO 'x.csv'"),
    ("too-deep", "SELECT COUNT(*) FROM adult WHERE " + "(" * 60 + "age = 1" + ")" * 60),
    ("too-deep", "SELECT " + "ARRAY[" * 30 + "1" + "]" * 30 + " FROM adult"),  # read, it would take hours
    ("too-long", "SELECT COUNT(*) FROM adult WHERE age = 1" + " " * 20_000),
    ("unknown-table", "SELECT COUNT(*) FROM adults"),
    ("unknown-column", "SELECT COUNT(*) FROM adult WHERE agee = 1"),
    ("key-column", "SELECT AVG(uid) FROM adult"),
    ("ambiguous-column", "SELECT COUNT(*) AS n, SUM(age) AS n FROM adult"),
    ("ambiguous-column", "SELECT COUNT(*) AS n, SUM(age) AS n_error FROM adult"),
    ("unknown-value", "SELECT COUNT(*) FROM adult WHERE work = 'Private'"),
    ("wrong-constant", "SELECT COUNT(*) FROM adult WHERE age = 'old'"),
    ("no-order", "SELECT COUNT(*) FROM adult WHERE work > 'a'"),
    ("not-a-number", "SELECT SUM(work) FROM adult"),
    ("not-grouped", "SELECT work, COUNT(*) FROM adult"),
    ("not-an-aggregate", "SELECT age + 1 FROM adult"),
    ("count-distinct", "SELECT COUNT(DISTINCT age) FROM adult"),
    ("unsupported-aggregate", "SELECT MAX(age) FROM adult"),
    ("wrong-constant", "SELECT COUNT(*) FROM adult WHERE age = work"),
    ("no-order", "SELECT COUNT(*) FROM adult WHERE age < work"),
    ("not-a-condition", "SELECT COUNT(*) FROM adult WHERE work"),
    ("not-a-condition", "SELECT COUNT(*) FROM adult WHERE NOT work"),
    ("not-a-condition", "SELECT COUNT(*) FROM adult WHERE age > 3 OR work"),
    ("not-a-condition", "SELECT COUNT(*) FROM adult WHERE work IS TRUE"),
    ("not-a-condition", "SELECT COUNT_IF(work) FROM adult"),
    ("not-a-condition", "SELECT SUM(CASE WHEN work THEN 1 ELSE 0 END) FROM adult"),
    ("not-a-condition", "SELECT COUNT(*) FROM adult WHERE CASE WHEN age > 5 THEN work ELSE work END"),
    ("not-a-condition", "SELECT CASE WHEN work THEN 1 END AS k, COUNT(*) FROM adult GROUP BY k"),
    ("not-a-condition", "SELECT COUNT(*) FROM adult WHERE UPPER(work)"),
    ("not-a-condition", "SELECT work, COUNT(*) FROM adult GROUP BY work HAVING UPPER(work)"),
    ("unsupported-order", "SELECT work, COUNT(*) FROM adult GROUP BY work ORDER BY IF(work, 1, 2)"),
    ("unsupported-subquery", "SELECT COUNT(*) FROM adult WHERE age IN (SELECT 1)"),
    ("unsupported-order", "SELECT COUNT(*) FROM adult HAVING age > 1"),
    ("unsupported-order", "SELECT COUNT(*) FROM adult ORDER BY age"),
    ("unsupported-group", "SELECT COUNT(*) FROM adult GROUP BY width_bucket(age, 5, 1, 3)"),
    ("unsupported-group", "SELECT COUNT(*) FROM adult GROUP BY 7"),
    ("unsupported-join", "SELECT COUNT(*) FROM adult JOIN adult b ON adult.age = b.age"),
    ("unsupported-join", "SELECT COUNT(*) FROM adult, adult b"),
    ("ambiguous-table", "SELECT COUNT(*) FROM adult JOIN adult USING (uid)"),
    ("unsupported-order", "SELECT work, COUNT(*) n FROM adult GROUP BY work ORDER BY nothing"),
]


@pytest.mark.parametrize(("code", "question"), REFUSED)
def test_what_cannot_be_answered_is_refused_by_its_code(database: tc.Database, code: str, question: str) -> None:
    with pytest.raises(tc.TacitError) as caught:
        database.sql(question)
    assert caught.value.code == code


def test_errors_point_at_the_place(database: tc.Database) -> None:
    with pytest.raises(QueryError) as caught:
        database.sql("SELECT COUNT(*) FROM adult WHERE agee = 1")
    assert str(caught.value).splitlines()[-1].index("~") == 2 + len("SELECT COUNT(*) FROM adult WHERE ")


def test_order_and_limit_select_on_estimates_and_say_so(database: tc.Database) -> None:
    answer = database.sql("SELECT work, COUNT(*) AS n FROM adult GROUP BY work ORDER BY n DESC, 1 LIMIT 2")
    counts = [cell.value for cell in answer["n"]]
    assert len(counts) == 2
    assert counts == sorted(counts, reverse=True)
    assert any("sorted by noisy estimates" in note for note in answer.notes)
    plain = database.sql("SELECT work, COUNT(*) AS n FROM adult GROUP BY work ORDER BY work LIMIT 2")
    assert not any("ordered" in note for note in plain.notes)
