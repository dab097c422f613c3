"""Answers about a panel: unbiased, with errors that know who was asked, and far better than splitting the budget."""

from __future__ import annotations

import numpy as np
import pytest

import tacit as tc
from bench.panels.run import drifting, measure
from tacit.errors import UnanswerableError, UsageError

SCHEMA = tc.Schema([tc.Service("users", key="uid", attributes=[tc.Categorical("x", ["a", "b", "c"])])])
HELD = "SUM(CASE WHEN x = 'a' THEN 1 ELSE 0 END) AS n"


@pytest.mark.parametrize("reports", [1, 2])
def test_intervals_hold_and_nothing_is_biased(reports: int) -> None:
    """150 groups of 500 people, seed 3: coverage within 4.5 standard errors of 95 %, means within 5 of zero.

    The mutant whose errors forget who was asked has a spread above 1.2 in averages over the people asked.
    """
    found = measure(150, reports, 3)
    for name, one in found.items():
        count = one["intervals"] if name in ("differences", "slopes") else one["intervals"] / reports
        assert 0.95 - 4.5 * (0.95 * 0.05 / count) ** 0.5 <= one["held"] <= 1, name
        assert abs(one["mean"]) <= 5 / count**0.5, name
        assert 0.75 <= one["spread"] <= 1.2, name


def test_a_round_is_at_least_five_times_more_accurate_than_with_a_split_budget() -> None:
    """52 rounds of a drifting population of 20,800: the error of each round beside 52 rounds that share epsilon."""
    rounds, people, epsilon = 52, 20_800, 1
    panel = tc.Collection(SCHEMA, epsilon, panel="year", rounds=rounds)
    split = tc.Collection(SCHEMA, f"{epsilon}/{rounds}").predict(f"SELECT {HELD} FROM users", users=people)["n"].error
    base, database = np.random.default_rng(5).random(people), tc.connect()
    database.create(panel)
    truth = []
    for number in range(rounds):
        values = drifting(base, number, rounds)
        truth.append(int((values == "a").sum()))
        table = {"uid": np.arange(people), "x": values}
        database.load(panel.round(number + 1).encode(users=table, rng=tc.insecure_rng(number)))
    answer = database.sql(f"SELECT round, {HELD} FROM users GROUP BY round ORDER BY round")
    errors = np.array([one.error for one in answer["n"]])
    off = np.array([one.value for one in answer["n"]]) - truth
    assert split / errors.max() > 5
    assert np.abs(off / errors).max() < 4.5
    assert 0.7 < (off / errors).std() < 1.3
    newest = database.sql(f"SELECT {HELD} FROM users")["n"]
    assert newest.value == answer["n"][-1].value, "without a round, a question is about the newest one"
    assert answer.privacy is not None
    assert answer.privacy.local == pytest.approx(epsilon), "52 rounds, of which everybody is in one"


def test_people_who_leave_are_missing_and_never_made_up_for() -> None:
    """Half of those asked in the second round do not report: its total is half, not rescaled by who came."""
    panel = tc.Collection(SCHEMA, 4, panel="p", rounds=2)
    ids = np.arange(40_000)
    database = tc.connect()
    database.create(panel)
    for number, some in ((1, ids), (2, ids[::2])):
        table = {"uid": some, "x": ["a"] * len(some)}
        database.load(panel.round(number).encode(users=table, rng=tc.insecure_rng(number)))
    first, second = database.sql("SELECT round, COUNT(*) AS n FROM users GROUP BY round ORDER BY round")["n"]
    assert abs(first.value - 40_000) < 6 * first.error
    assert abs(second.value - 20_000) < 6 * second.error
    assert first.error == pytest.approx((40_000 * 1) ** 0.5, rel=0.05), "n (T/k - 1): who was asked is random"


def test_what_does_not_know_panels_is_refused() -> None:
    panel = tc.Collection(SCHEMA, 4, panel="p", rounds=2)
    database = tc.connect()
    database.create(panel)
    table = {"uid": [1, 2, 3, 4, 5, 6], "x": ["a"] * 6}
    for part in panel.parts:
        database.load(part.encode(users=table, rng=tc.insecure_rng(1)))
    with pytest.raises(UnanswerableError, match="unbiased answers only"):
        database.sql("SELECT COUNT(*) AS n FROM users", consistent=True)
    with pytest.raises(UnanswerableError):
        database.marginal(["x"])
    with pytest.raises(UsageError, match="not predicted"):
        panel.predict("SELECT COUNT(*) AS n FROM users", users=100)


def test_panels_survive_closing_the_database(tmp_path: object) -> None:
    panel = tc.Collection(SCHEMA, 4, panel="p", rounds=3)
    path = f"{tmp_path}/reports.tacit"
    database = tc.connect(path)
    database.create(panel)
    database.create(panel)
    table = {"uid": list(range(300)), "x": ["a"] * 300}
    database.load(panel.round(2).encode(users=table, rng=tc.insecure_rng(1)))
    before = database.sql("SELECT COUNT(*) AS n FROM users")["n"].value
    database.close()
    again = tc.connect(path)
    assert again.sql("SELECT COUNT(*) AS n FROM users")["n"].value == before
    assert len(again.collections) == 3
    again.load(panel.round(3).encode(users=table, rng=tc.insecure_rng(2)))
    assert len(again.sql("SELECT round, COUNT(*) AS n FROM users GROUP BY round")) == 2
