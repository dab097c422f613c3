"""Collections that are designed for questions: every kind of service compiles, and what is named becomes sharper."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import tacit as tc
from support.tiers import keeping
from tacit.answers.forecast.wanted import asked_by_service
from tacit.errors import UsageError

ATTRIBUTES = [tc.Ordinal("a", 0, 39), tc.Categorical("b", ["p", "q"]), tc.Ordinal("c", 0, 9, null=True)]
KINDS: list[dict[str, Any]] = [{}, {"optional": True}, {"at_most": 3}, {"at_most": 3, "sends": 2}]
QUESTIONS = [
    "SELECT AVG(a) AS n FROM s",
    "SELECT SUM(a) AS n FROM s WHERE b = 'p'",
    "SELECT COUNT(*) AS n FROM s WHERE a < 13 AND b = 'p' AND c > 4",
    "SELECT COUNT(*) AS n FROM s WHERE c IS NULL",
]


@pytest.mark.parametrize(
    ("question", "kind"),
    keeping(
        list(zip(QUESTIONS, KINDS, strict=True)), itertools.product(QUESTIONS, KINDS), "designs for kinds of services"
    ),
    ids=str,
)
def test_what_is_named_is_sharper_than_without(kind: dict[str, Any], question: str) -> None:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=ATTRIBUTES, **kind)])
    designed = tc.Collection(schema, 2.0, questions=[(question, 2.0)])
    nested = tc.Collection(schema, 2.0, mechanism="hio")
    assert designed.audit().ok
    assert tc.Collection.from_json(designed.to_json()) == designed
    errors = [one.predict(question, users=100_000).rows[0][0].error for one in (designed, nested)]
    assert errors[0] < 0.9 * errors[1]


COUNT = "SELECT COUNT(*) FROM s"


@pytest.mark.parametrize("questions", [COUNT, [3], [None], [(COUNT, 0)], [(COUNT, True)], [(COUNT, 1.0, 2.0)]], ids=str)
def test_questions_are_texts_with_weights_above_zero(questions: Any) -> None:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=ATTRIBUTES)])
    with pytest.raises(UsageError, match="questions are SQL texts"):
        tc.Collection(schema, 2.0, questions=questions)


def asked(question: str) -> list[tuple[float, dict[int, list[float]]]]:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=ATTRIBUTES)])
    return [
        (one.weight, {i: list(v) for i, v in one.vectors.items()})
        for one in asked_by_service(schema, [(question, 2.0)])["s"]
    ]


def test_groups_along_an_ordered_attribute_are_a_distribution_whose_running_totals_count() -> None:
    told = asked("SELECT a, COUNT(*) FROM s WHERE b = 'p' GROUP BY a")
    totals = [vectors for _, vectors in told if sum(vectors.get(0, [])) > 1]
    assert sum(weight for weight, _ in told) == pytest.approx(2.0)
    assert len(totals) >= len(told) // 2 - 1
    for vectors in totals:
        places = [place for place, value in enumerate(vectors[0]) if value]
        assert places == list(range(len(places)))  # everything up to the group
        assert vectors[1] == [1.0, 0.0]  # the condition stays


@pytest.mark.parametrize("grouped", ["b", "c"])
def test_few_groups_are_asked_for_as_they_are(grouped: str) -> None:
    told = asked(f"SELECT {grouped}, COUNT(*) FROM s WHERE a BETWEEN 3 AND 7 GROUP BY {grouped}")
    assert all(sum(map(bool, next(v for i, v in vectors.items() if i))) == 1 for _, vectors in told)
    assert all(sum(vectors[0]) == 5 for _, vectors in told)


def test_a_distribution_is_as_sharp_as_one_designed_for_ranges() -> None:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=[tc.Ordinal("a", 0, 63)])])
    ranges = [f"SELECT COUNT(*) AS n FROM s WHERE a <= {k}" for k in range(0, 63, 4)]
    distribution = tc.Collection(schema, 1.0, questions=["SELECT a, COUNT(*) FROM s GROUP BY a"])
    designed = tc.Collection(schema, 1.0, questions=ranges)
    errors = [
        sum(one.predict(text, users=100_000).rows[0][0].error for text in ranges) for one in (distribution, designed)
    ]
    assert errors[0] < 1.1 * errors[1]
