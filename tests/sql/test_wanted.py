"""Collections that are designed for questions: every kind of service compiles, and what is named becomes sharper."""

from __future__ import annotations

from typing import Any

import pytest

import tacit as tc
from tacit.errors import UsageError

ATTRIBUTES = [tc.Ordinal("a", 0, 39), tc.Categorical("b", ["p", "q"]), tc.Ordinal("c", 0, 9, null=True)]
KINDS: list[dict[str, Any]] = [{}, {"optional": True}, {"at_most": 3}, {"at_most": 3, "sends": 2}]
QUESTIONS = [
    "SELECT AVG(a) AS n FROM s",
    "SELECT SUM(a) AS n FROM s WHERE b = 'p'",
    "SELECT COUNT(*) AS n FROM s WHERE a < 13 AND b = 'p' AND c > 4",
    "SELECT COUNT(*) AS n FROM s WHERE c IS NULL",
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("question", QUESTIONS)
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
