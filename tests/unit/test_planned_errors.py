"""Planned errors of groups: those of values that no view orders are computed once, and equal to those of each value."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tacit as tc
from tacit.answers import people, quantiles
from tacit.answers.people import People
from tacit.errors import TacitError
from tacit.estimate.functional import Functional, with_values_sorted

WORDS = [f"w{i}" for i in range(40)]


def a_database(mechanism: str) -> tc.Database:
    attributes = [tc.Categorical("word", WORDS, null=True), tc.Ordinal("age", 0, 19)]
    collection = tc.Collection(tc.Schema([tc.Service("u", key="uid", attributes=attributes)]), 2.0, mechanism=mechanism)
    source = np.random.default_rng(3)
    rows = {"uid": range(600), "word": source.choice(WORDS, 600), "age": source.integers(0, 20, 600)}
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(u=rows, rng=tc.insecure_rng(5)))
    return db


@pytest.mark.parametrize("mechanism", ["hio", pytest.param("auto", marks=pytest.mark.long)])
def test_planned_errors_of_groups_are_those_of_each_group(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    question = "SELECT word, AVG(age) AS a, COUNT(*) AS n, MEDIAN(age) AS m FROM u GROUP BY word"
    computed = []
    joint_variance = people.joint_variance

    def counted(*given: object) -> float:
        computed.append(1)
        return joint_variance(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(people, "joint_variance", counted)
    together = a_database(mechanism).sql(question)
    assert 0 < len(computed) < 40, "each of 40 values was planned by itself"
    monkeypatch.setattr(People, "_unordered", frozenset[int]())
    for row, alone in zip(together.rows, a_database(mechanism).sql(question).rows, strict=True):
        for cell, other in zip(row[1:], alone[1:], strict=True):
            assert math.isclose(cell.value, other.value, rel_tol=1e-9) or math.isnan(cell.value)
            assert math.isclose(cell.error, other.error, rel_tol=1e-9) or not math.isfinite(cell.error)


def test_values_are_sorted_in_all_functionals_alike() -> None:
    left = Functional.of((3, 2), 0, [0, 5, 1]) * Functional.of((3, 2), 1, [1, 0])
    right = Functional.of((3, 2), 0, [2, 0, 0])
    once, twice = with_values_sorted([left, right], {0})
    for before, after in ((left * right, once * twice), (left + right, once + twice)):
        of_all = [sorted(each((a, b)) for a in range(3)) for each in (before, after) for b in range(2)]
        assert of_all[:2] == of_all[2:]
    assert with_values_sorted([left], {1})[0].terms[0].factors[0].tolist() == [0, 5, 1]


def test_quantiles_of_very_many_groups_are_refused_before_they_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantiles, "MOST_TESTS", 800)
    with pytest.raises(TacitError, match="820 numbers in all") as caught:
        a_database("hio").sql("SELECT word, MEDIAN(age) AS m FROM u GROUP BY word")
    assert caught.value.code == "too-many-groups"
    answer = a_database("hio").sql("SELECT word, MEDIAN(age) AS m FROM u WHERE word LIKE 'w3%' GROUP BY word")
    assert answer.rows


def test_fewer_errors_are_computed_for_each_of_many_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    question = "SELECT word, MEDIAN(age) AS m FROM u GROUP BY word"
    every = a_database("hio").sql(question)
    monkeypatch.setattr(quantiles, "MEASURED_IN_ALL", 1)
    ratios = []
    for row, few in zip(every.rows, a_database("hio").sql(question).rows, strict=True):
        assert row[1].value == few[1].value or math.isnan(row[1].value)
        ratios.append(few[1].error / row[1].error)
    assert 0.9 < float(np.nanmedian(ratios)) < 1.1
