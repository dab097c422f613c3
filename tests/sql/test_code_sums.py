"""Sums by code against the join of reports with contributions: equal values, equal errors from samples."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from engines.test_conformance import fill
from sql.test_rows_and_joins import join_questions
from support.questions import Questions
from support.tiers import how_many
from tacit.answers import answer_cache, batches, code_sums, moments, sums
from tacit.errors import QueryError, TacitError
from tacit.estimate.estimate import Estimate

PEOPLE = 50_000


@pytest.fixture(autouse=True)
def _answers_are_computed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "MOST_CELLS", 0)


@pytest.fixture(scope="module")
def small() -> tc.Database:
    """Few people: every code is looked at, and errors are the same to rounding."""
    made = tc.connect()
    fill(made)
    return made


@pytest.fixture(scope="module")
def large() -> tc.Database:
    """More codes than are looked at for second moments; half of the people have one age, state and income."""
    source = np.random.default_rng(5)
    half = source.random(PEOPLE) < 0.5
    attributes = [
        tc.Ordinal("age", 0, 39),
        tc.Ordinal("income", 0, 49),
        tc.Categorical("state", [f"s{i}" for i in range(12)]),
        tc.Public("os", values=["a", "b", "c"]),
        tc.Public("weight", type=float),
    ]
    schema = tc.Schema(
        [
            tc.Service("adults", key="uid", attributes=attributes),
            tc.Service("orders", key="uid", at_most=2, sends=1, attributes=[tc.Ordinal("amount", 0, 19)]),
        ]
    )
    collection = tc.Collection(schema, 4.0, users=PEOPLE)
    people = pa.table(
        {
            "uid": np.arange(PEOPLE),
            "age": np.where(half, 31, source.integers(0, 40, PEOPLE)),
            "income": np.where(half, 9, source.integers(0, 50, PEOPLE)),
            "state": [f"s{i}" for i in np.where(half, 3, source.integers(0, 12, PEOPLE))],
            "os": np.array(["a", "b", "c"])[source.integers(0, 3, PEOPLE)],
            "weight": source.normal(5, 1, PEOPLE),
        }
    )
    buyers = np.repeat(np.arange(PEOPLE), source.integers(0, 3, PEOPLE))
    orders = pa.table({"uid": buyers, "amount": source.integers(0, 20, len(buyers))})
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(adults=people, orders=orders, rng=tc.insecure_rng(5)))
    return db


def estimates(db: tc.Database, question: str) -> list[Estimate]:
    return [cell for row in db.sql(question).rows for cell in row if isinstance(cell, Estimate)]


def joined(db: tc.Database, question: str, monkeypatch: pytest.MonkeyPatch) -> list[Estimate]:
    """Answer a question without sums by code."""
    with monkeypatch.context() as patched:
        for module in (batches, sums):
            patched.setattr(module, "fetch_by_code", lambda *_: None)
        return estimates(db, question)


def from_all_codes(db: tc.Database, question: str, monkeypatch: pytest.MonkeyPatch) -> list[Estimate]:
    """Answer a question by code, with second moments from all codes that occur."""
    with monkeypatch.context() as patched:
        for name in ("SAMPLED", "SAMPLED_WEIGHTED", "SAMPLED_VALUES"):
            patched.setattr(code_sums, name, 2**60)
        return estimates(db, question)


def uses_codes(db: tc.Database, question: str) -> bool:
    return "the engine sums by code" in str(db.sql(question).explain())


def test_generated_questions_have_the_same_answers(small: tc.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions about one service and joins, of every shape the generators know."""
    questions = Questions(np.random.default_rng(101))
    asked = [questions.question() for _ in range(how_many(6, 800, "questions answered by code and by join"))]
    asked += join_questions(np.random.default_rng(102), how_many(3, 200, "joins answered by code and by join"))
    by_code = compared = 0
    for question in asked:
        try:
            made = estimates(small, question)
        except (QueryError, TacitError):
            continue
        by_code += uses_codes(small, question)
        for own, right in zip(made, joined(small, question, monkeypatch), strict=True):
            compared += 1
            size = max(abs(number) if math.isfinite(number) else 0.0 for number in (right.value, right.error))
            assert np.isclose(own.value, right.value, rtol=0, atol=1e-9 * size, equal_nan=True), question
            if right.value:  # the variance of a single value is zero, and its error what rounding leaves
                assert np.isclose(own.error, right.error, rtol=1e-6, atol=1e-9 * size, equal_nan=True), question
    assert by_code >= len(asked) // 4
    assert compared >= len(asked)


LARGE = [
    "SELECT COUNT(*) AS n FROM adults WHERE age BETWEEN 20 AND 40",
    "SELECT state, COUNT(*) AS n, AVG(income) AS m FROM adults GROUP BY state",
    "SELECT age, COUNT(*) AS n FROM adults GROUP BY age",
    "SELECT os, COUNT(*) AS n FROM adults WHERE age < 30 OR state = 's3' GROUP BY os",
    "SELECT state, os, AVG(income) AS m FROM adults GROUP BY state, os",
    "SELECT state, SUM(income * 1e20) AS s FROM adults GROUP BY state",
    "SELECT state, SUM(weight) AS s, AVG(weight) AS m FROM adults WHERE os <> 'a' GROUP BY state",
    "SELECT state, AVG(amount) AS m FROM orders JOIN adults USING (uid) GROUP BY state",
]


@pytest.mark.parametrize("question", LARGE)
def test_sampled_errors_are_those_of_all_codes(
    large: tc.Database, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors within 5 % where a denominator is not weak, however people are spread; values to rounding."""
    assert uses_codes(large, question)
    for own, right in zip(estimates(large, question), from_all_codes(large, question, monkeypatch), strict=True):
        size = max(abs(right.value), right.error if math.isfinite(right.error) else 0.0)
        assert np.isclose(own.value, right.value, rtol=0, atol=1e-9 * size, equal_nan=True)
        if math.isfinite(right.error) and right.error < abs(right.value) / 4:
            assert 0.95 <= own.error / right.error <= 1.05


def test_all_codes_give_the_errors_of_the_join(large: tc.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    question = "SELECT COUNT(*) AS n, AVG(income) AS m FROM adults WHERE age < 20"
    pairs = zip(from_all_codes(large, question, monkeypatch), joined(large, question, monkeypatch), strict=True)
    for own, right in pairs:
        assert (own.value, own.error) == pytest.approx((right.value, right.error), rel=1e-9)


def test_a_sample_that_is_not_corrected_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 people, 40 categories by subset selection: squares are linear in what is added, so nothing is open."""
    schema = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Categorical("a", list(range(40)))])])
    collection = tc.Collection(schema, 2.0, mechanism="am(1)")
    db = tc.connect()
    db.create(collection)
    rows = {"uid": np.arange(20_000), "a": np.arange(20_000) % 40}
    db.load(collection.encode(t=rows, rng=tc.insecure_rng(1)))
    question = "SELECT a, COUNT(*) AS n FROM t GROUP BY a"
    right = np.array([one.error for one in from_all_codes(db, question, monkeypatch)])

    def spread() -> float:
        return float(np.std([one.error for one in estimates(db, question)] / right))

    for name in ("SAMPLED", "SAMPLED_LEAST"):
        monkeypatch.setattr(code_sums, name, 2**11)
    assert spread() < 1e-3
    monkeypatch.setattr(moments, "_slope", lambda *_: 0.0)
    assert spread() > 1e-2


def test_explain_names_the_statement_of_sums_by_code(large: tc.Database) -> None:
    text = str(large.sql("SELECT state, COUNT(*) AS n FROM adults GROUP BY state").explain())
    assert "tacit reads all totals from the views' tables" in text
    assert 'GROUP BY "0code0"' in text


def test_a_rollup_answers_like_the_reports(large: tc.Database) -> None:
    """Also after people were deleted, whose rows of the rollup count nobody."""
    question = "SELECT state, os, COUNT(*) AS n FROM adults GROUP BY state, os"
    before = estimates(large, question)
    large.rollup("adults", by=["os"])
    assert "rollup: used" in str(large.sql(question).explain())
    after = estimates(large, question)
    assert [one.value for one in after] == pytest.approx([one.value for one in before], rel=1e-9)
    assert [one.error for one in after] == pytest.approx([one.error for one in before], rel=1e-9)


def test_huge_domains_fall_back_to_the_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tallying would visit too many cells, contributions are joined; answers stay the same."""
    db = tc.connect()
    schema = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Ordinal("a", 0, 99), tc.Ordinal("b", 0, 99)])])
    collection = tc.Collection(schema, 1.0, mechanism="pairs")
    db.create(collection)
    values = np.arange(500) % 100
    rows = {"uid": np.arange(500), "a": values, "b": values[::-1]}
    db.load(collection.encode(t=rows, rng=tc.insecure_rng(1)))
    question = "SELECT COUNT(*) AS n FROM t WHERE a < 50 AND b < 50"
    assert uses_codes(db, question)
    right = estimates(db, question)
    monkeypatch.setattr(code_sums, "MOST_WORK", 0)
    with monkeypatch.context() as patched:
        patched.setattr(code_sums, "fetch_code_sums", lambda *_: pytest.fail("codes were counted in vain"))
        assert not uses_codes(db, question)
    assert [one.value for one in estimates(db, question)] == pytest.approx([one.value for one in right], rel=1e-9)
