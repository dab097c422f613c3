"""The interactive interface: what it answers, what it charges, and what it refuses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from support.chances import FALSE_ALARM, assert_mean
from support.tape import Tape
from tacit import central
from tacit.errors import BudgetError, RecordError, SchemaError, TacitError, UnsupportedSqlError

SERVICE = tc.Service(
    "users",
    key="uid",
    attributes=[
        tc.Ordinal("age", 0, 9),
        tc.Ordinal("pay", low="-2.5", high="10", step="0.5", null=True),
        tc.Categorical("state", ["CA", "NY", "WA"]),
        tc.Categorical("stars", [1, 3, 5]),
    ],
)
TABLE = {
    "uid": list(range(6)),
    "age": [0, 3, 3, 9, 5, 5],
    "pay": [-2.5, 10.0, None, 0.5, 0.5, 3.0],
    "state": ["CA", "NY", "CA", "CA", "NY", "CA"],
    "stars": [1, 5, 5, 3, 3, 1],
}


def opened(epsilon: object = 10, outputs: object = ()) -> tuple[central.Ledger, central.Data, Tape]:
    tape = Tape(outputs)  # type: ignore[arg-type]
    ledger = central.Ledger(None, epsilon)  # type: ignore[arg-type]
    return ledger, ledger.open(TABLE, SERVICE, source=tape), tape


def test_counts_and_sums_without_noise_are_right() -> None:
    ledger, data, tape = opened()
    assert data.noisy_count(1).value == 6
    assert data.where("age BETWEEN 3 AND 5").noisy_count(1).value == 4
    assert data.where("state = 'CA' OR pay IS NULL").noisy_count(1).value == 4
    assert data.where("NOT (pay > 0)").noisy_count(1).value == 1
    assert data.noisy_sum("age", 1).value == 25
    assert data.noisy_sum("pay", 1).value == 11.5
    assert data.noisy_sum("stars", 1).value == 18
    assert [scale for _, scale in tape.asked] == [1, 1, 1, 1, 9, 20, 5]  # the largest value, in units
    assert ledger.spent == 7


def test_partitions_cost_their_most_expensive_part() -> None:
    ledger, data, _ = opened()
    states = data.partition("state")
    counts = {states.labels(i)[0]: part.noisy_count("0.25").value for i, part in enumerate(states)}
    assert counts == {"CA": 4, "NY": 2, "WA": 0}
    assert ledger.spent == Fraction(1, 4)
    states[0].noisy_sum("age", "0.5")
    assert ledger.spent == Fraction(3, 4)
    states[1].partition("stars").noisy_counts("0.1")  # inside a cheaper part: nothing more
    assert ledger.spent == Fraction(3, 4)
    data.partition("state").noisy_counts("0.2")  # another partition: adds up
    assert ledger.spent == Fraction(95, 100)
    table = data.partition("state", "stars").noisy_counts(1)
    assert table.columns == ("state", "stars", "count")
    assert {(state, stars): cell.value for state, stars, cell in table if cell.value} == {
        ("CA", 1): 2, ("CA", 3): 1, ("CA", 5): 1, ("NY", 3): 1, ("NY", 5): 1
    }  # fmt: skip


def test_a_charge_comes_before_the_noise_and_an_overspent_one_never_draws() -> None:
    ledger, data, tape = opened("0.3")
    data.noisy_count("0.3")
    with pytest.raises(BudgetError):
        data.noisy_count("0.01")
    with pytest.raises(BudgetError):
        data.partition("state").noisy_counts("0.01")
    assert len(tape.asked) == 1
    assert ledger.remaining == 0


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda data: data.noisy_count(0), "epsilon-out-of-range"),
        (lambda data: data.noisy_count(-1), "epsilon-out-of-range"),
        (lambda data: data.noisy_count(float("inf")), "epsilon-not-a-number"),
        (lambda data: data.noisy_count(1, confidence=2), "bad-option"),
        (lambda data: data.noisy_sum("state", 1), "not-a-number"),
        (lambda data: data.noisy_sum("height", 1), "unknown-column"),
        (lambda data: data.noisy_sum("age", 1, confidence=0), "bad-option"),
        (lambda data: data.partition("height"), "unknown-column"),
        (lambda data: data.partition(), "bad-option"),
        (lambda data: data.where("height > 3"), "unknown-column"),
        (lambda data: data.where("age > 3 GROUP BY state"), "unsupported-condition"),
        (lambda data: data.where("age > 3; SELECT 1"), "several-statements"),
        (lambda data: data.where("round = 'x'"), "unsupported-condition"),
        (lambda data: data.where("state = 'TX'"), "unknown-value"),
    ],
)
def test_mistakes_are_named_and_cost_nothing(ask, code: str) -> None:
    ledger, data, tape = opened()
    with pytest.raises(TacitError) as caught:
        ask(data)
    assert caught.value.code == code
    assert ledger.spent == 0
    assert not tape.asked


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"uid": [1, 1, 2, 3, 4, 5]}, "duplicate-key"),
        ({"age": [0, 3, 3, 77, 5, 5]}, "outside-domain"),
        ({"state": ["CA", "NY", "CA", "TX", "NY", "CA"]}, "unknown-category"),
        ({"age": [0, 3, 3, None, 5, 5]}, "missing-value"),
        ({"extra": [1] * 6}, "unknown-column"),
    ],
)
def test_bad_tables_are_refused_without_a_value(change: dict[str, list[object]], code: str) -> None:
    ledger = central.Ledger(None, 1)
    with pytest.raises(RecordError) as caught:
        ledger.open(TABLE | change, SERVICE)
    assert caught.value.code == code
    assert "TX" not in str(caught.value)
    assert "77" not in str(caught.value)
    with pytest.raises(RecordError):
        ledger.open({name: column[:0] for name, column in TABLE.items()}, SERVICE)


def test_services_that_cannot_be_protected_are_refused() -> None:
    many = tc.Service("orders", key="uid", at_most=3, attributes=[tc.Ordinal("x", 0, 3)])
    public = tc.Service("users", key="uid", attributes=[tc.Ordinal("x", 0, 3), tc.Public("os")])
    for service, code in ((many, "one-row-per-person"), (public, "public-not-possible")):
        with pytest.raises(SchemaError) as caught:
            central.Ledger(None, 1).open({}, service)
        assert caught.value.code == code


def test_a_schema_of_one_service_will_do() -> None:
    assert central.Ledger(None, 1).open(TABLE, tc.Schema([SERVICE]), source=Tape()).noisy_count(1).value == 6
    other = tc.Service("orders", key="uid", attributes=[tc.Ordinal("x", 0, 3)])
    with pytest.raises(SchemaError):
        central.Ledger(None, 1).open(TABLE, tc.Schema([SERVICE, other]))


def test_what_is_printed_shows_nothing() -> None:
    _, data, _ = opened()
    for thing in (data, data.records, data.partition("state")):
        assert "withheld" in repr(thing)
        assert "9" not in repr(thing)


def test_a_subquery_is_no_condition() -> None:
    with pytest.raises((UnsupportedSqlError, TacitError)):
        opened()[1].where("age IN (SELECT age FROM users)")


def test_intervals_of_single_draws_hold_at_their_level() -> None:
    """n = 20,000 draws at 90 %: the share inside is binomial, false alarms below 1e-9. The mutant is a normal interval
    at 80 %."""
    service = tc.Service("s", key="uid", attributes=[tc.Ordinal("x", 0, 9_999)])
    data = central.Ledger(None, 1).open({"uid": [0], "x": [3]}, service)
    cells = data.partition("x").noisy_counts("0.05", confidence=0.9)
    again = central.Ledger(None, 1).open({"uid": [0], "x": [3]}, service).partition("x")
    more = again.noisy_counts("0.05", confidence=0.9)
    inside = [cell.low <= (value == 3) <= cell.high for value, cell in (*cells, *more)]
    assert FALSE_ALARM == 1e-9
    assert_mean(float(np.mean(inside)), 0.9, (0.9 * 0.1 / len(inside)) ** 0.5, mutant=0.8)


def test_estimates_of_one_session_combine() -> None:
    _, data, _ = opened()
    first, second = data.noisy_count(1), data.noisy_count(1)
    assert (first + second).error == pytest.approx(np.hypot(first.error, second.error))
    assert (first - first).error == 0
    assert (first + second).margin < first.margin + second.margin
