"""Schemas are validated at the door, and say what is wrong by a stable code."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import pytest

import tacit as tc
from tacit.errors import SchemaError, UnknownNameError

AGE = tc.Ordinal("age", 0, 124)
DAY = datetime.date(2026, 1, 1)

BAD = {
    "bad-name": [
        lambda: tc.Ordinal("1age", 0, 1),
        lambda: tc.Ordinal("", 0, 1),
        lambda: tc.Ordinal("a b", 0, 1),
        lambda: tc.Public("a" * 64),
        lambda: tc.Categorical(None, ["x"]),
        lambda: tc.Service("naïve", key="uid", attributes=[AGE]),
    ],
    "reserved-name": [lambda: tc.Ordinal("code", 0, 1), lambda: tc.Service("people", key="uid", attributes=[AGE])],
    "duplicate-name": [
        lambda: tc.Service("s", key="uid", attributes=[AGE, tc.Public("AGE")]),
        lambda: tc.Service("s", key="age", attributes=[AGE]),
        lambda: tc.Categorical("c", ["x", "x"]),
        lambda: tc.Schema([tc.Service(name, key="uid", attributes=[AGE]) for name in ("s", "S")]),
    ],
    "empty-domain": [
        lambda: tc.Ordinal("a", 5, 4),
        lambda: tc.Categorical("c", []),
        lambda: tc.Service("s", key="uid", attributes=[]),
        lambda: tc.Service("s", key="uid", attributes=[tc.Public("os")]),
        lambda: tc.Schema([]),
    ],
    "bad-bound": [
        lambda: tc.Ordinal("a", float("nan"), 1),
        lambda: tc.Ordinal("a", 0, float("inf")),
        lambda: tc.Ordinal("a", "low", 1),
        lambda: tc.Ordinal("a", None, 1),
        lambda: tc.Ordinal("a", True, 1),
        lambda: tc.Ordinal("a", Fraction(1, 3), 1),
        lambda: tc.Ordinal("a", DAY, 5),
        lambda: tc.Ordinal("a", 0, 1, step=0),
        lambda: tc.Ordinal("a", DAY, DAY, step="0.5"),
    ],
    "uneven-step": [lambda: tc.Ordinal("a", 0, 1, step="0.3")],
    "bad-option": [
        lambda: tc.Ordinal("a", 0, 1, fanout=1),
        lambda: tc.Ordinal("a", 0, 1, fanout=2.5),
        lambda: tc.Ordinal("a", 0, 1, cells=1),
        lambda: tc.Ordinal("a", 0, 9, cells="5"),
        lambda: tc.Ordinal("a", 0, 9, cells=11, step=1),
        lambda: tc.Ordinal("a", 0, 1, outside="drop"),
        lambda: tc.Ordinal("a", 0, 1, null="yes"),
        lambda: tc.Categorical("c", "abc"),
        lambda: tc.Categorical("c", ["x", 1]),
        lambda: tc.Categorical("c", [1.5]),
        lambda: tc.Categorical("c", ["\ud800"]),
        lambda: tc.Categorical("c", [2**53]),
        lambda: tc.Service("s", key="uid", attributes=["age"]),
        lambda: tc.Service("s", key="uid", attributes=[AGE], at_most=0),
        lambda: tc.Service("s", key="uid", attributes=[AGE], at_most=2, sends=3),
        lambda: tc.Service("s", key="uid", attributes=[AGE], sends=2),
        lambda: tc.Service("s", key="uid", attributes=[AGE], at_most=2, optional=True),
        lambda: tc.Schema(["s"]),
    ],
    "public-not-possible": [
        lambda: tc.Service("s", key="uid", attributes=[AGE, tc.Public("os")], at_most=5),
        lambda: tc.Service("s", key="uid", attributes=[AGE, tc.Public("os")], optional=True),
    ],
    "domain-too-large": [lambda: tc.Ordinal("a", 0, 2_000_000), lambda: tc.Ordinal("a", 0, 10**12)],
}


@pytest.mark.parametrize(("code", "make"), [(code, make) for code, makes in BAD.items() for make in makes])
def test_what_cannot_be_is_refused_by_its_code(code: str, make: object) -> None:
    with pytest.raises(SchemaError) as caught:
        make()  # type: ignore[operator]
    assert caught.value.code == code
    assert caught.value.message.endswith(".")


def test_numbers_have_one_spelling() -> None:
    assert tc.Ordinal("a", 0.5, 2) == tc.Ordinal("a", "0.5", Decimal("2.0"))
    assert tc.Ordinal("a", 0, 1) == tc.Ordinal("a", 0, 1, step=1)
    assert tc.Ordinal("a", "0.00", "9.99").ticks == 1000
    assert tc.Ordinal("d", DAY, datetime.date(2026, 12, 31)).ticks == 365


def test_cells_bring_a_step_at_most_a_thousandth_of_a_cell() -> None:
    amount = tc.Ordinal("amount", 0, 499, cells=125)
    assert (amount.values, amount.unit, amount.dithered) == (125, Fraction(1, 1000), True)
    income = tc.Ordinal("income", 0, 200_000, cells=100)
    assert (income.values, income.unit) == (100, 1)
    assert not tc.Ordinal("a", 0, 9, cells=10, step=1).dithered


def test_schemas_are_frozen_and_services_found_by_name() -> None:
    schema = tc.Schema([tc.Service("users", key="uid", attributes=[AGE])])
    with pytest.raises(AttributeError):
        AGE.low = 1  # type: ignore[misc]
    assert schema["users"].sensitive == (AGE,)
    with pytest.raises(UnknownNameError) as caught:
        schema["user"]
    assert "users" in caught.value.message


def test_the_catch_all_is_a_value_and_null_is_the_last_index() -> None:
    attribute = tc.Categorical("c", ["x", "y"], other="rest", null=True)
    assert attribute.values == ("x", "y", "rest")
    assert attribute.size == 4
