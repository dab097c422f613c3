"""Bounds are on the right side, and tight."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import pytest

from tacit.contract.budget import decimal_text, exp_below, log_above, parse_epsilon, within
from tacit.errors import UsageError


def exp_series(x: Fraction, terms: int) -> Fraction:
    """Return a partial sum of the exponential series: below e**x for x > 0, by an independent road."""
    total, term = Fraction(0), Fraction(1)
    for k in range(1, terms):
        total += term
        term = term * x / k
    return total


@pytest.mark.parametrize("text", ["0.001", "0.1", "1/3", "1", "2.5", "8", "30"])
def test_exp_below_is_below_and_within_an_ulp_of_its_digits(text: str) -> None:
    x = Fraction(text)
    sharp = exp_series(x, 400)
    for digits in (20, 40, 200):
        bound = exp_below(x, digits)
        assert bound < sharp
        assert bound > sharp * (1 - Fraction(1, 10 ** (digits - 3)))


@pytest.mark.parametrize("ratio", [Fraction(3, 2), Fraction(10**15 + 1, 10**15), Fraction(10**9), Fraction(1, 3)])
def test_log_above_is_above_by_at_most_one_double(ratio: Fraction) -> None:
    getcontext().prec = 80
    exact = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
    bound = log_above(ratio)
    assert Decimal(bound) >= exact
    assert Decimal(math.nextafter(bound, -math.inf)) < exact + Decimal(10) ** -45


def test_within_decides_on_either_side() -> None:
    assert within(exp_below(Fraction(1), 100), Fraction(1))
    assert not within(exp_below(Fraction(1), 100) + Fraction(1, 10**90), Fraction(1))


@pytest.mark.parametrize(
    "bad", [0, -1, float("nan"), float("inf"), "one", None, True, "1/0", 31, "-0.0", [], Decimal("NaN")]
)
def test_epsilon_must_be_a_finite_number_above_zero(bad: object) -> None:
    with pytest.raises(UsageError) as caught:
        parse_epsilon(bad)  # type: ignore[arg-type]
    assert caught.value.code.startswith("epsilon-")


def test_epsilon_is_the_decimal_that_was_written() -> None:
    assert parse_epsilon(0.1) == parse_epsilon("0.1") == parse_epsilon(Decimal("0.10")) == Fraction(1, 10)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1/8", "0.125"),
        ("-1/8", "-0.125"),
        ("1/3", "1/3"),
        ("200", "200"),
        ("1/100", "0.01"),
        ("0", "0"),
        ("-7/2", "-3.5"),
    ],
)
def test_decimal_text(value: str, text: str) -> None:
    assert decimal_text(Fraction(value)) == text
    assert Fraction(text) == Fraction(value)
