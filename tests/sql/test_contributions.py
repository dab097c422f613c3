"""Contributions of tuples add up to the answer, page by page, for generated questions of every shape."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import tacit as tc
from engines.test_conformance import SHAPES, fill
from sql.test_rows_and_joins import join_questions
from support.engines import engine_named
from support.questions import Questions
from support.tiers import how_many, keeping
from tacit.errors import QueryError, TacitError
from tacit.estimate.estimate import Estimate

CLOSE = 1e-9
"""Relative difference between an answer and the sum of its tuples; of answers below their error, of the error."""


@pytest.fixture(scope="module")
def database() -> tc.Database:
    made = tc.connect()
    fill(made)
    return made


def equal(found: float, cell: Estimate) -> bool:
    if math.isnan(cell.value):
        return math.isnan(found)
    size = max(abs(cell.value), cell.error if math.isfinite(cell.error) else 0.0)
    return abs(found - cell.value) <= CLOSE * size


def added_up(database: tc.Database, question: str, *, rows: int = 2) -> int:
    """Compare some rows of an answer with the sums of their tuples; return how many estimates were compared."""
    try:
        answer = database.sql(question)
    except QueryError:
        return 0
    compared = 0
    for row in answer.rows[:: max(1, len(answer.rows) // rows)]:
        cells = dict(zip(answer.columns, row, strict=True))
        group = {name: cell for name, cell in cells.items() if not isinstance(cell, Estimate)}
        found = database.contributions(question, group=group, limit=1)
        for name in answer.estimates:
            assert equal(found.values[name], cells[name]), (question, name, found.values[name], cells[name].value)
            compared += 1
    return compared


def test_tuples_of_generated_questions_add_up_to_the_answer(database: tc.Database) -> None:
    questions = Questions(np.random.default_rng(77))
    asked = [questions.question() for _ in range(how_many(6, 300, "generated questions whose tuples add up"))]
    asked += join_questions(np.random.default_rng(78), how_many(3, 100, "generated joins whose tuples add up"))
    answered = [added_up(database, question) for question in asked]
    assert sum(count > 0 for count in answered) >= 0.55 * len(asked)  # pairs refuses conditions on three attributes
    assert sum(answered) >= len(asked)


@pytest.mark.parametrize("question", SHAPES)
def test_every_shape_adds_up(database: tc.Database, question: str) -> None:
    assert added_up(database, question, rows=5) > 0


def test_the_comparison_can_fail(database: tc.Database) -> None:
    cell = database.sql("SELECT SUM(age) AS s FROM adult WHERE age < 4")["s"]
    assert equal(database.contributions("SELECT SUM(age) AS s FROM adult WHERE age < 4").values["s"], cell)
    assert not equal(database.contributions("SELECT SUM(age) AS s FROM adult WHERE age <= 4").values["s"], cell)


AVERAGE = "SELECT AVG(amount) AS mean FROM users JOIN orders USING (uid) WHERE age < 5"


@pytest.mark.parametrize(
    ("descending", "order"),
    keeping(
        [(True, "size"), (False, "person")],
        itertools.product([True, False], ["size", "value", "person"]),
        "orders of pages of tuples",
    ),
)
def test_pages_are_in_order_and_add_up(database: tc.Database, order: str, *, descending: bool) -> None:
    first = database.contributions(AVERAGE, order=order, descending=descending, measure=0)
    assert first.columns == {"mean": [0, 1]}
    assert [name for name, _ in first.measures] == ["mean: numerator", "mean: denominator"]
    rows, sums = [], np.zeros(2)
    for offset in range(0, first.people, 70):
        page = database.contributions(AVERAGE, order=order, descending=descending, offset=offset, limit=70)
        assert page.before == pytest.approx(sums.tolist(), rel=1e-12, abs=1e-9)
        rows += page.rows
        sums = np.sum([added for _, added, _ in rows], axis=0)
    assert len({person for person, _, _ in rows}) == len(rows) == first.people
    assert sums.tolist() == pytest.approx(first.parts[first.part][2], rel=1e-12)
    keys = [abs(a[0]) if order == "size" else a[0] if order == "value" else person for person, a, _ in rows]
    assert keys == sorted(keys, reverse=descending)
    assert np.sum([total for _, _, total in first.parts], axis=0).tolist() == pytest.approx(first.totals)


def test_tuples_carry_their_reports_and_what_these_say(database: tc.Database) -> None:
    found = database.contributions("SELECT COUNT(*) AS n FROM users JOIN orders USING (uid)", limit=20)
    for _, _, reports in found.rows:
        assert {report.service for report in reports} == {"users", "orders"}
        for report in reports:
            assert 0 < report.meaning.fits <= 1
            assert report.meaning.about
        assert all(set(report.public) == ({"os"} if report.service == "users" else set()) for report in reports)


GROUPED = "SELECT os, kind, COUNT(*) AS n FROM users GROUP BY os, kind"


@pytest.mark.parametrize(
    ("code", "question", "options"),
    [
        ("group-needed", GROUPED, {}),
        ("group-needed", "SELECT COUNT(*) AS n FROM users GROUP BY kind", {"group": {"kind": "x"}}),
        ("unknown-name", GROUPED, {"group": {"os": "i", "kind": "nothing"}}),
        ("unknown-name", AVERAGE, {"order": "age; DROP TABLE x"}),
        ("bad-option", AVERAGE, {"measure": 2}),
        ("bad-option", AVERAGE, {"measure": "0"}),
        ("bad-option", AVERAGE, {"part": 2}),
        ("bad-option", AVERAGE, {"descending": [1]}),
        ("bad-option", AVERAGE, {"descending": "no"}),
        ("bad-option", AVERAGE, {"limit": 100_000}),
        ("bad-option", AVERAGE, {"offset": -1}),
        ("unknown-column", "SELECT COUNT(*) FROM users WHERE nothing = 1", {}),
    ],
)
def test_what_has_no_tuples_is_refused(
    database: tc.Database, code: str, question: str, options: dict[str, object]
) -> None:
    with pytest.raises(TacitError) as caught:
        database.contributions(question, **options)  # type: ignore[arg-type]
    assert caught.value.code == code


def test_other_engines_show_the_same_tuples(database: tc.Database, tmp_path: Path) -> None:
    questions = [AVERAGE, SHAPES[2], SHAPES[17]]
    with engine_named("postgres", tmp_path) as other:
        fill(other)
        for question in questions:
            mine, theirs = (one.contributions(question, limit=30, order="person") for one in (database, other))
            assert [person for person, _, _ in mine.rows] == [person for person, _, _ in theirs.rows]
            assert [reports for _, _, reports in mine.rows] == [reports for _, _, reports in theirs.rows]
            assert theirs.totals == pytest.approx(mine.totals, rel=CLOSE)
            for (_, left, _), (_, right, _) in zip(mine.rows, theirs.rows, strict=True):
                assert left == pytest.approx(right, rel=CLOSE, abs=1e-9)
