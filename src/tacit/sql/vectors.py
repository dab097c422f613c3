"""Comparisons of one attribute with constants, as vectors over its value indices.

NULL satisfies no comparison, positive or negative. Conditions must not split a bin; on dithered cells they give a
linear ramp, which a note states.
"""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Callable
from difflib import get_close_matches
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.client.labels import BOOLEANS, unit_of
from tacit.contract.budget import exact_number
from tacit.contract.schema import Categorical, Ordinal
from tacit.errors import BindError
from tacit.estimate.functional import Vector
from tacit.sql.dates import midnight, parse_day

__all__ = [
    "OPERATORS",
    "Sensitive",
    "category_vector",
    "cell_ends",
    "comparison_vector",
    "exact_values",
    "is_boolean",
    "kind_of",
    "measure_vector",
    "null_vector",
    "ordered_values",
    "shown_value",
]

Sensitive = Ordinal | Categorical

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""Comparisons of plain values, by SQL operator."""

MOST_TRIED = 5_000
"""Maximum values among which a similar one is searched for a hint."""

_EPOCH = datetime.date(1970, 1, 1)


def kind_of(value: Any) -> str:
    """Return the type class of a plain value for comparisons: all numbers are one class, other types their own."""
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def is_boolean(attribute: Sensitive) -> bool:
    """Return whether the values of an attribute are false and true."""
    if not isinstance(attribute, Categorical) or attribute.dictionary or len(attribute.values) != len(BOOLEANS):
        return False
    return unit_of(attribute.values) == "boolean"


def null_vector(attribute: Sensitive) -> Vector:
    """Return the vector that marks NULL."""
    vector = np.zeros(attribute.size)
    if attribute.null:
        vector[-1] = 1
    return vector


@lru_cache(maxsize=64)
def measure_vector(attribute: Sensitive) -> Vector:
    """Return the number that each value index stands for; NULL counts as 0."""
    if isinstance(attribute, Categorical):
        if isinstance(attribute.values[0], str):
            known, instead = "text", "Use COUNT, or group by it."
            if is_boolean(attribute):
                known, instead = "true and false", f"Use COUNT_IF({attribute.name}) or AVG({attribute.name}::INT)."
            message = f"{attribute.name} holds {known}, which has no sum. {instead}"
            raise BindError(message, code="not-a-number")
        numbers = [float(value) for value in attribute.values]
    elif attribute.is_date:
        message = f"{attribute.name} holds dates, which have no sum. Use COUNT, or group by it."
        raise BindError(message, code="not-a-number")
    else:
        numbers = [float(value) for value in exact_values(attribute)]
    vector = np.array(numbers + [0.0] * attribute.null)
    vector.setflags(write=False)
    return vector


def exact_values(attribute: Ordinal) -> list[Fraction]:
    """Return the number that each value index stands for, NULL left out."""
    return [attribute.start + attribute.unit * tick for tick in _centres(attribute)]


@lru_cache(maxsize=64)
def _centres(attribute: Ordinal) -> list[Fraction]:
    """Return the tick that a value index stands for: itself, a representative, or the middle of a bin."""
    count, ticks = attribute.values, attribute.ticks
    if count == ticks:
        return [Fraction(tick) for tick in range(ticks)]
    if attribute.dither:
        return [Fraction(j * (ticks - 1), count - 1) for j in range(count)]
    edges = [-(-j * ticks // count) for j in range(count + 1)]
    return [Fraction(edges[j] + edges[j + 1] - 1, 2) for j in range(count)]


def cell_ends(attribute: Ordinal) -> tuple[Vector, Vector, Vector, Vector]:
    """Return the range that each coarser cell stands for, and the range of values that it may contain.

    For a bin both are its own values. A representative stands for the values nearest to it, and may contain values up
    to its neighbours.
    """
    count, ticks = attribute.values, attribute.ticks
    if attribute.dither:
        centres = np.array([float(tick) for tick in _centres(attribute)])
        middles = (centres[:-1] + centres[1:]) / 2
        low, high = np.append(centres[0], middles), np.append(middles, centres[-1])
        least, most = np.append(centres[0], centres[:-1]), np.append(centres[1:], centres[-1])
    else:
        edges = [-(-j * ticks // count) for j in range(count + 1)]
        least = low = np.array(edges[:-1], dtype=np.float64)
        most = high = np.array(edges[1:], dtype=np.float64) - 1
    start, unit = float(attribute.start), float(attribute.unit)
    return start + unit * low, start + unit * high, start + unit * least, start + unit * most


def ordered_values(attribute: Sensitive, comparison: str) -> list[Any]:
    """Return the values that indices stand for, without NULL, in a form that can be compared between attributes."""
    if isinstance(attribute, Categorical):
        if comparison not in ("=", "<>"):
            message = (
                f"{attribute.name} holds categories, which can be compared with other columns by = or <> only. Use "
                f"constants."
            )
            raise BindError(message, code="no-order")
        return [value if isinstance(value, str) else Fraction(value) for value in attribute.values]
    if attribute.values < attribute.ticks:
        message = f"{attribute.name} was collected in coarser cells; compare it with constants instead."
        raise BindError(message, code="cuts-a-bin")
    numbers = [attribute.start + attribute.unit * tick for tick in range(attribute.ticks)]
    return [_EPOCH + datetime.timedelta(days=int(number)) for number in numbers] if attribute.is_date else numbers


def category_vector(attribute: Categorical, wanted: list[str | int]) -> Vector:
    """Return the vector that marks listed values; refuse a value that is not in the list."""
    vector = np.zeros(attribute.size)
    for value in wanted:
        if value == "" and attribute.has_text and attribute.other is None and not is_boolean(attribute):
            continue  # tools ask for "not empty"; no list of values has it
        if value not in attribute.values:
            known = ", ".join(map(str, attribute.values[:8])) + (", …" if len(attribute.values) > 8 else "")
            listed = [str(listed).lower() for listed in attribute.values]
            near = get_close_matches(str(value).lower(), _likely(str(value).lower(), listed), 1, 0.6)
            meant = [label for label in attribute.values if str(label).lower() in near]
            hint = f" Did you mean {str(meant[0])!r}?" if meant else ""
            message = f"{attribute.name} has no value {str(value)[:40]!r}.{hint} Values: {known}."
            raise BindError(message, code="unknown-value")
        vector[attribute.values.index(value)] = 1
    return vector


def _likely(value: str, listed: list[str]) -> list[str]:
    """Return candidates for a hint: of many values, those with the longest common beginning."""
    length = len(value) if len(listed) > MOST_TRIED else 0
    while length and not any(text.startswith(value[:length]) for text in listed):
        length -= 1
    return [text for text in listed if text.startswith(value[:length])][:MOST_TRIED]


def _tick(attribute: Ordinal, literal: str, *, is_text: bool) -> Fraction:
    """Return a constant as a (possibly fractional) tick."""
    number: Fraction | None
    is_whole = attribute.unit.denominator == attribute.start.denominator == 1
    try:
        number = _days(literal, is_text=is_text) if attribute.is_date else exact_number(literal)
        if is_text and not attribute.is_date and is_whole and number.denominator != 1:  # SQL would round it
            number = None
    except ValueError:
        number = None
    if number is None:
        wanted = f"a date such as '{attribute.low}'" if attribute.is_date else "a number"
        message = (
            f"{attribute.name} must be compared with {wanted}; its values are {attribute.low} to {attribute.high}."
        )
        raise BindError(message, code="wrong-constant")
    return (number - attribute.start) / attribute.unit


def _days(literal: str, *, is_text: bool) -> Fraction:
    """Return a constant as days since 1970; of a text only the day counts, of a time all of it, as in DuckDB."""
    if len(literal) < len("2026-11-15"):
        message = "not a day"
        raise ValueError(message)
    day = parse_day(literal)
    days = Fraction((datetime.date(day.year, day.month, day.day) - _EPOCH).days)
    if is_text or not isinstance(day, datetime.datetime):
        return days
    return days + Fraction((day - midnight(day.date())) / datetime.timedelta(days=1))


def comparison_vector(attribute: Ordinal, comparison: str, literal: str, *, is_text: bool) -> Vector:
    """Return the vector of ``attribute comparison literal`` for one of = <> < <= > >=."""
    tick = _tick(attribute, literal, is_text=is_text)
    low, high = -math.inf, math.inf
    negated = comparison == "<>"
    if comparison in ("=", "<>"):
        low = high = tick if tick.denominator == 1 else None  # type: ignore[assignment]
        if low is None:
            low, high = 1, 0  # between two values: equal to none
    elif comparison == "<":
        high = math.ceil(tick) - 1
    elif comparison == "<=":
        high = math.floor(tick)
    elif comparison == ">":
        low = math.floor(tick) + 1
    else:
        low = math.ceil(tick)
    vector = _ticks_between(attribute, low, high)
    if negated:
        vector = 1 - vector
    return np.concatenate([vector, np.zeros(int(attribute.null))])


def _ticks_between(attribute: Ordinal, low: float | Fraction, high: float | Fraction) -> Vector:
    """Return, for each value except NULL, the share of its ticks from low to high."""
    count, ticks = attribute.values, attribute.ticks
    first = int(max(low, 0)) if low != math.inf else ticks
    last = int(min(high, ticks - 1)) if high != -math.inf else -1
    if count == ticks or not attribute.dither:
        edges = np.array([-(-j * ticks // count) for j in range(count + 1)], dtype=np.float64)
        inside = np.minimum(edges[1:], last + 1) - np.maximum(edges[:-1], first)
        shares: Vector = np.maximum(inside, 0) / np.diff(edges)
        if ((shares > 0) & (shares < 1)).any():
            message = (
                f"{attribute.name} was collected in {count} equal bins, and this condition splits one. "
                f"Compare with bin edges: every {ticks / count:.6g} steps from {attribute.low}."
            )
            raise BindError(message, code="cuts-a-bin")
        return shares
    centres = np.array([float(tick) for tick in _centres(attribute)])
    return ((centres >= first) & (centres <= last)).astype(np.float64)


def shown_value(attribute: Sensitive, index: int) -> Any:
    """Return a value index as answers show it: None for NULL, a representative for coarser cells."""
    if attribute.null and index == attribute.size - 1:
        return None
    if isinstance(attribute, Categorical):
        return bool(index) if is_boolean(attribute) else attribute.values[index]
    value = attribute.start + attribute.unit * _centres(attribute)[index]
    if attribute.is_date and attribute.values < attribute.ticks and not attribute.dither:  # the first day of a bin
        value = attribute.start + attribute.unit * -(-index * attribute.ticks // attribute.values)
    if attribute.is_date:
        return _EPOCH + datetime.timedelta(days=int(value))
    return int(value) if value.denominator == 1 else float(value)
