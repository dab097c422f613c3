"""A budget that is found from what readers of answers may learn."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import tacit as tc
from tacit.cli import main
from tacit.errors import UsageError

AGE = tc.Schema([tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 124)])])
SHOWN = tc.Schema([tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 124), tc.Public("os")])])


@pytest.mark.parametrize(("central", "users"), [(0.5, 1_000_000), (0.05, 1_000_000), (0.3, 20_000)])
@pytest.mark.parametrize("mechanism", ["hio", "fc"])
def test_the_largest_budget_within_the_limit(central: float, users: int, mechanism: str) -> None:
    """A hundredth more would exceed it; the collector learns the budget that was found."""
    collection = tc.Collection(AGE, central_epsilon=central, users=users, mechanism=mechanism)
    found = collection.audit(people=users).central_epsilon
    assert found is not None
    assert 0.98 * central < found <= central
    more = tc.Collection(AGE, collection.contract.epsilon + Fraction(3, 100), users=users, mechanism=mechanism)
    assert (more.audit(people=users).central_epsilon or 99) > central
    assert collection.audit().worst_loss > central


def test_a_crowd_that_hides_nobody_gets_the_limit_itself() -> None:
    assert tc.Collection(AGE, central_epsilon=0.5, users=2).contract.epsilon == Fraction(1, 2)


def test_what_cannot_be_planned_is_refused() -> None:
    with pytest.raises(UsageError, match="central_epsilon needs users"):
        tc.Collection(AGE, central_epsilon=0.5)
    with pytest.raises(UsageError, match="Give epsilon"):
        tc.Collection(AGE)
    with pytest.raises(UsageError, match="Give epsilon"):
        tc.Collection(AGE, 1, central_epsilon=0.5, users=1_000)
    with pytest.raises(UsageError, match=r"users\.os"):
        tc.Collection(SHOWN, central_epsilon=0.5, users=1_000_000)
    found = tc.Collection(SHOWN, central_epsilon=0.5, users=1_000_000, alike=5_000)
    assert (found.audit(people=1_000_000, alike=5_000).central_epsilon or 99) <= 0.5


def test_files_may_say_it() -> None:
    text = """
        central_epsilon = 0.5
        users = 100_000
        [[services]]
        name = "users"
        key = "uid"
        attributes = [{name = "age", kind = "ordinal", low = 0, high = 9}]
    """
    collection = tc.Collection.from_toml(text)
    assert (collection.audit(people=100_000).central_epsilon or 99) <= 0.5 < collection.contract.epsilon


def test_plan_prints_budgets_with_both_losses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.json"
    file.write_text(tc.Collection(AGE, 2).to_json())
    asked = ["plan", str(file), "SELECT AVG(age) AS a FROM users", "--users", "100000", "--budgets"]
    assert main([*asked, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) >= 6
    assert all(row["central"] < row["local"] for row in rows if row["central"])
    assert [row["half_width"] for row in rows] == sorted((row["half_width"] for row in rows), reverse=True)
    assert main(asked) == 0
    assert "readers of answers" in capsys.readouterr().out
