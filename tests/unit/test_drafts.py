"""Drafts: contracts for predictions only, nearly as good as those that people collect with."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from support.tiers import keeping
from tacit.answers.forecast.drafts import draft_contract
from tacit.answers.forecast.expectation import predict
from tacit.contract.layouts import Levels
from tacit.estimate.answer import Options
from tacit.estimate.partitions import Partitions
from tacit.estimate.threads import one_thread

QUESTIONS = (
    "SELECT AVG(age) AS x FROM users",
    "SELECT COUNT(*) AS x FROM users WHERE age >= 50 AND wage >= 500",
    "SELECT COUNT(*) AS x FROM users WHERE plan = 'a'",
)


def people(epsilon: float, **options: object) -> tc.Collection:
    attributes = [tc.Ordinal("age", 0, 99), tc.Ordinal("wage", 0, 999, cells=50), tc.Categorical("plan", list("abc"))]
    schema = tc.Schema(
        [tc.Service("users", "uid", [*attributes, tc.Ordinal("x", 0, 9), tc.Date("d", "2025-01-01", "2026-12-31")])]
    )
    return tc.Collection(schema, epsilon, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", keeping([2], [2, 8], "budgets of drafts"))
@one_thread
def test_errors_of_drafts_are_within_a_tenth(epsilon: int) -> None:
    draft = draft_contract(people(1).contract, epsilon=Fraction(epsilon))
    final = people(epsilon).contract
    assert draft.epsilon == final.epsilon
    assert draft.services != final.services, "a draft takes less effort"
    for question in QUESTIONS:
        errors = [
            predict(contract, question, users=100_000, like=None, options=Options())["x"].margin
            for contract in (draft, final)
        ]
        assert errors[0] == pytest.approx(errors[1], rel=0.1)


@one_thread
def test_drafts_of_a_panels_round_have_its_budget() -> None:
    panel = people(4, panel="2026", rounds=4, reports=2)
    for contract in (panel.contract, panel.round(3).contract):
        draft = draft_contract(contract, epsilon=contract.epsilon * 2)
        assert (draft.epsilon, draft.member, draft.round) == (contract.epsilon * 2, contract.member, contract.round)
        before, after = (sum(c.epsilon for c in some.services[0].channels) for some in (contract, draft))
        assert after == 2 * before


def test_overlapping_cells_are_solved_for_ones_as_for_any_vector() -> None:
    levels = Levels.of_runs(40, [(16, 0), (16, 8), (4, 0), (4, 2), (1, 0)], null=True)
    solver = Partitions(levels, [0.5, 1.0, 2.0, 0.25, 0.0, 1.5])
    tables = [level.table() for level in levels.levels]
    dense = sum(w * (table[:, None] == table) for w, table in zip(solver.weights, tables, strict=True))
    np.testing.assert_array_equal(solver.matrix, dense)
    np.testing.assert_allclose(solver.ones_solved, solver.inverse.sum(axis=1), rtol=1e-12)
    for known, other in zip(solver.ones_split, solver.split(np.ones(levels.size)), strict=True):
        assert (known is None) == (other is None)
        if known is not None and other is not None:
            np.testing.assert_allclose(known, other, rtol=1e-10)
