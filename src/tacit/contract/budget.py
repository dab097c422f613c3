"""Budgets and exact losses. Everything is a fraction; where rounding is needed it goes towards privacy.

A channel with integer weights ``w[cell, code]`` satisfies eps-LDP exactly when, for every code, the largest weight is
at most ``e**eps`` times the smallest. ``e**eps`` is irrational, so weights are built against a rational *lower* bound
of it and audited against a sharper one.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from tacit.errors import UsageError

__all__ = [
    "LEAST_EPSILON",
    "MAX_EPSILON",
    "BudgetLike",
    "decimal_text",
    "exact_number",
    "exp_below",
    "log_above",
    "parse_epsilon",
    "read_fraction",
    "within",
]

LEAST_EPSILON = Fraction(1, 100_000)
"""Minimum budget of a report: at this budget, a share estimated from ten billion people has a standard error of 1."""

MAX_EPSILON = 30
"""Above this, a 53-bit draw cannot represent the flip probability, and hardly any privacy is left."""

BUILD_DIGITS = 40
"""Digits of the bound for building thresholds: far more precise than a 53-bit draw."""

AUDIT_DIGITS = 200
"""Digits of the bound for audits: a product of 10,000 build bounds stays below it."""

BudgetLike = int | float | str | Decimal | Fraction


_PLAIN = re.compile(r"\s*[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40}|\d{1,40}/\d{1,40})\s*\Z")


def exact_number(value: object) -> Fraction:
    """Return a number as the exact decimal the user wrote (a float as its shortest decimal), or raise ValueError.

    Texts are plain decimals or fractions: an exponent could make a short text a huge number.
    """
    item = getattr(value, "item", None)  # numpy scalars
    if callable(item) and not isinstance(value, Fraction | Decimal):
        value = item()
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal | Fraction):
        raise ValueError
    if isinstance(value, float):
        value = format(Decimal(repr(value)), "f") if math.isfinite(value) and abs(value) < 1e40 else "x"
    if isinstance(value, Decimal):
        value = format(value, "f") if value.is_finite() and abs(value.adjusted()) < 40 else "x"
    if isinstance(value, str) and not _PLAIN.match(value):
        raise ValueError
    return Fraction(value)


def parse_epsilon(value: BudgetLike) -> Fraction:
    """Return epsilon as the exact decimal the user wrote.

    Examples
    --------
    >>> parse_epsilon(0.1)
    Fraction(1, 10)
    """
    try:
        exact = exact_number(value)
    except (ValueError, ZeroDivisionError):
        message = f"epsilon is {str(value)[:40]!r}; it must be a finite number above 0, such as 1.0."
        raise UsageError(message, code="epsilon-not-a-number") from None
    if not 0 < exact <= MAX_EPSILON:
        message = f"epsilon is {str(value)[:40]}; it must be above 0 and at most {MAX_EPSILON}, usually from 0.5 to 4."
        raise UsageError(message, code="epsilon-out-of-range")
    return exact


def exp_below(epsilon: Fraction, digits: int = BUILD_DIGITS) -> Fraction:
    """Return a rational below ``e**epsilon``, short of it by at most a few units in the last of ``digits`` digits.

    ``decimal`` rounds ``exp`` correctly; the exponent is rounded down first and the result lowered by one unit, so the
    bound is below whatever the directions of the roundings were.

    Examples
    --------
    >>> float(exp_below(Fraction(1)))
    2.718281828459045
    """
    down = Context(prec=digits, rounding=ROUND_FLOOR)
    exponent = down.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    return Fraction(down.next_minus(down.exp(exponent)))


def within(ratio: Fraction, epsilon: Fraction) -> bool:
    """Return whether ``ratio <= e**epsilon``, using a bound of 200 digits; undecided cases count as no."""
    return ratio <= exp_below(epsilon, AUDIT_DIGITS)


def log_above(ratio: Fraction) -> float:
    """Return the natural logarithm of ``ratio`` as a double, rounded up.

    Examples
    --------
    >>> log_above(Fraction(1))
    0.0
    """
    if ratio == 1:
        return 0.0
    context = Context(prec=60)
    # Both steps are correctly rounded to 60 digits; the margin covers them generously.
    exact = context.ln(context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    bound = Fraction(exact) + abs(Fraction(exact)) / 10**50 + Fraction(1, 10**55)
    nearest = float(bound)
    return nearest if Fraction(nearest) >= bound else math.nextafter(nearest, math.inf)


def read_fraction(text: object) -> Fraction:
    """Return what `decimal_text` or ``str`` wrote, from data of others; ValueError for anything else.

    An exponent would make a short text a number of a billion digits.

    Examples
    --------
    >>> read_fraction("0.125"), read_fraction("1/3")
    (Fraction(1, 8), Fraction(1, 3))
    """
    if not isinstance(text, str) or not set(text) <= set("0123456789./-"):
        raise ValueError
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError from None


def decimal_text(value: Fraction) -> str:
    """Write a fraction as a decimal if it has one, else as ``a/b``: the form in contracts.

    Examples
    --------
    >>> decimal_text(Fraction(1, 8)), decimal_text(Fraction(1, 3)), decimal_text(Fraction(2))
    ('0.125', '1/3', '2')
    """
    odd, twos, fives = value.denominator, 0, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    while odd % 5 == 0:
        odd, fives = odd // 5, fives + 1
    if odd != 1:
        return f"{value.numerator}/{value.denominator}"
    places = max(twos, fives)
    digits = str(abs(int(value * 10**places))).zfill(places + 1)
    sign = "-" if value < 0 else ""
    return sign + (digits if places == 0 else f"{digits[:-places]}.{digits[-places:]}")
