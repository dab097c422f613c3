"""Arithmetic, comparisons and logic on plain values, with NULL as None, as in DuckDB."""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from sqlglot import exp

from tacit.contract.budget import exact_number
from tacit.sql.dates import PARTS, differing, midnight, parse_day, truncate
from tacit.sql.vectors import kind_of

__all__ = [
    "COMPARISONS",
    "FALSE_WORDS",
    "TRUE_WORDS",
    "Function",
    "NotCondition",
    "NotScalar",
    "alike",
    "as_day",
    "between_days",
    "compare_values",
    "connect",
    "difference",
    "divide",
    "part",
    "product",
    "remainder",
    "round_half_away",
    "start",
    "strict",
    "total",
    "truth",
    "whole_part",
]

MOST_DIGITS = 18
"""Maximum digits of ROUND and TRUNC: those of a 64-bit integer."""

TRUE_WORDS, FALSE_WORDS = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
"""Texts that DuckDB reads as true and as false, in any case."""

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}

Function = Callable[[Sequence[Any]], Any]
"""From the values of a row's columns to a value."""


class NotScalar(Exception):  # noqa: N818  it says what a node is not, and never leaves the package
    """A node that is not a function of values."""

    def __init__(self, node: exp.Expr) -> None:
        super().__init__(node.key)
        self.node = node


class NotCondition(TypeError):  # noqa: N818  it says what a value is not, and never leaves the package
    """A value that is neither true nor false where a condition is needed."""


def truth(value: Any) -> bool | None:
    """Return whether a value is true, as in DuckDB: a number is if it is not 0, NULL is unknown."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float | Fraction):
        return value != 0
    word = value.lower() if isinstance(value, str) else ""
    if word not in TRUE_WORDS + FALSE_WORDS:
        raise NotCondition
    return word in TRUE_WORDS


def strict(function: Callable[..., Any], *arguments: Function) -> Function:
    """Return a function whose result is NULL where any of its arguments is."""

    def evaluate(row: Sequence[Any]) -> Any:
        values = [argument(row) for argument in arguments]
        return None if any(value is None for value in values) else function(*values)

    return evaluate


def connect(left: Function, right: Function, *, decisive: bool) -> Function:
    """Return OR (true decides) or AND (false decides) of two tests, either of which may be NULL."""

    def evaluate(row: Sequence[Any]) -> bool | None:
        sides = (truth(left(row)), truth(right(row)))
        if decisive in sides:
            return decisive
        return None if None in sides else not decisive

    return evaluate


def compare_values(compare: Callable[[Any, Any], bool], left: Function, right: Function) -> Function:
    """Return the comparison of two values."""
    return strict(lambda a, b: bool(compare(*alike(a, b))), left, right)


def alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Return two comparable values: a text becomes what it is compared with, a date, a boolean or a number."""
    if isinstance(left, str) != isinstance(right, str):
        left, right = (_read_as(left, right), right) if isinstance(left, str) else (left, _read_as(right, left))
    if isinstance(left, datetime.datetime) != isinstance(right, datetime.datetime):
        left, right = (midnight(side) if isinstance(side, datetime.date) else side for side in (left, right))
    if _kind(left) != _kind(right):
        raise TypeError
    return left, right


def _read_as(text: str, other: Any) -> Any:
    """Return a text as a value of the type of another one."""
    if isinstance(other, datetime.datetime):
        return parse_day(text)
    if isinstance(other, datetime.date):
        return midnight(parse_day(text)).date()
    if isinstance(other, bool):
        return truth(text)
    number = exact_number(text)
    if isinstance(other, int) and number.denominator != 1:  # SQL would round the text
        raise ValueError
    return number


def _kind(value: Any) -> str:
    return "number" if isinstance(value, Fraction) else kind_of(value)


def as_day(value: Any) -> datetime.date:
    """Return a date, or a text as one."""
    return parse_day(value) if isinstance(value, str) else value if isinstance(value, datetime.date) else _wrong()


def _wrong() -> Any:
    raise TypeError


def product(left: Any, right: Any) -> Any:
    """Return a product of numbers."""
    return _numeric(left) * _numeric(right)


def _numeric(value: Any) -> Any:
    return value if isinstance(value, int | float | Fraction) else _wrong()


def divide(left: Any, right: Any) -> float:
    """Return a quotient, as a number with a fraction."""
    left, right = _numeric(left), _numeric(right)
    return float(left) / float(right)


def whole_part(left: Any, right: Any) -> Any:
    """Return the integer quotient of whole numbers, and the quotient of others."""
    if isinstance(left, int) and isinstance(right, int):
        return math.trunc(Fraction(left, right))
    return divide(left, right)


def remainder(left: Any, right: Any) -> Any:
    """Return the remainder, with the sign of the dividend."""
    left, right = _numeric(left), _numeric(right)
    return left - right * math.trunc(left / right if isinstance(left, float) else Fraction(left) / Fraction(right))


def round_half_away(value: Any, digits: Any = 0) -> Any:
    """Round to a number of digits, halves away from zero; only whole numbers stay of the type of whole numbers."""
    if abs(digits) > MOST_DIGITS:
        raise ValueError
    unit = Fraction(10) ** -int(digits)
    places = Fraction(_numeric(value)) / unit
    rounded = math.floor(abs(places) + Fraction(1, 2)) * (1 if places >= 0 else -1) * unit
    return int(rounded) if isinstance(value, int) else rounded


def difference(left: Any, right: Any) -> Any:
    """Return a difference: of two dates, in days."""
    if isinstance(left, datetime.date) and isinstance(right, datetime.date):
        return (left - right).days
    if isinstance(left, datetime.date):
        return left - datetime.timedelta(days=int(right))
    return operator.sub(left, right)


def total(left: Any, right: Any) -> Any:
    """Return a sum; a date plus a number is that many days later."""
    if isinstance(left, datetime.date):
        return left + datetime.timedelta(days=int(right))
    return _wrong() if isinstance(left, str) or isinstance(right, str) else operator.add(left, right)


def part(unit: str, day: Any) -> int:
    """Return a part of a date."""
    return PARTS[unit](as_day(day))


def start(unit: str, day: Any) -> datetime.date:
    """Return the first day of a period."""
    return truncate(unit, as_day(day))


def between_days(unit: str, first: Any, second: Any) -> int:
    """Return the number of periods between two days."""
    return differing(unit, as_day(first), as_day(second))
