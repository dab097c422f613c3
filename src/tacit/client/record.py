"""One raw value to its value index, by the rules a contract declares for the attribute."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeGuard

from tacit.errors import RecordError

__all__ = ["bound_of", "is_person", "is_plain", "value_index"]

LONGEST_PERSON = 200
"""Letters of a key."""

OFF_STEP = 1e-6
"""How far from a step, in steps, a number may be and still count as on it."""

_EPOCH = datetime.date(1970, 1, 1)

Data = dict[str, Any]


def value_index(service: str, attribute: Data, value: Any, draw: int | None) -> int:
    """Return the value index; ``draw`` rounds a dithered attribute. Errors never show the value."""

    def refuse(problem: str, code: str) -> RecordError:
        return RecordError(problem, code=code, service=service, column=attribute["name"])

    if value is None:
        if attribute.get("null"):
            return int(attribute["count"])
        message = "values are missing. Declare null=True to collect missing values as a value of their own."
        raise refuse(message, "missing-value")
    if attribute["kind"] == "categorical":
        return _category(attribute, value, refuse)
    tick = _tick(attribute, value, refuse)
    count, ticks = attribute["count"], attribute["ticks"]
    if count == ticks:
        return tick
    if draw is None:
        return int(tick * count // ticks)
    lower, rest = divmod(tick * (count - 1), ticks - 1)
    return int(lower + (draw % (ticks - 1) < rest))


def _category(attribute: Data, value: Any, refuse: Any) -> int:
    listed = attribute["values"]
    text = isinstance(listed[0], str)
    if text:
        if not isinstance(value, str) or any("\ud800" <= letter <= "\udfff" for letter in value):
            problem = "the value is not text, but the declared values are. Convert it."
            raise refuse(problem, "wrong-type")
    elif not _is_whole(value):
        problem = "the value is not a whole number, but the declared values are. Convert it."
        raise refuse(problem, "wrong-type")
    if value in listed:
        return int(listed.index(value))
    if "other" not in attribute:
        problem = "values are not in the declared list. List them, or name a catch-all with other=."
        raise refuse(problem, "unknown-category")
    return int(listed.index(attribute["other"]))


def _is_whole(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -(2**63) <= value < 2**63 and value == int(value)


def bound_of(attribute: Data, name: str) -> Fraction:
    """Return a declared bound; dates count as days."""
    text = attribute[name]
    if attribute["kind"] == "date":
        return Fraction((datetime.date.fromisoformat(text) - _EPOCH).days)
    return Fraction(text)


def _number(attribute: Data, value: Any, refuse: Any) -> int | float:
    if attribute["kind"] == "date":
        if isinstance(value, datetime.datetime) and value.tzinfo is None and value.time() == datetime.time():
            value = value.date()
        if type(value) is not datetime.date:
            problem = "the value is not a date, but the declared values are. Convert it."
            raise refuse(problem, "wrong-type")
        return (value - _EPOCH).days
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        problem = "the value is not a number, but the declared values are. Convert it."
        raise refuse(problem, "wrong-type")
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            problem = "the number is beyond 64 bits. Convert it."
            raise refuse(problem, "wrong-type")
        return value
    number = math.nan if isinstance(value, Decimal) and value.is_nan() else float(value)
    if not math.isfinite(number):
        problem = "values are NaN or infinite. Remove them, or make them NULL and declare null=True."
        raise refuse(problem, "not-finite")
    return number


def _tick(attribute: Data, value: Any, refuse: Any) -> int:
    number = _number(attribute, value, refuse)
    low, unit, ticks = bound_of(attribute, "low"), Fraction(attribute["step"]), int(attribute["ticks"])
    high = low + unit * (ticks - 1)
    if isinstance(number, int) and unit == 1 and low.denominator == 1:
        return int(_inside(attribute, number, int(low), int(high), refuse) - int(low))
    start, step = float(low), float(unit)
    number = _inside(attribute, float(number), start, float(high), refuse)
    steps = (number - start) / step
    tick = math.floor(steps + 0.5)
    if "cells" not in attribute and abs(steps - tick) > OFF_STEP:
        problem = f"values lie between steps of {attribute['step']}. Declare a finer step=, or cells=."
        raise refuse(problem, "between-steps")
    return int(min(max(tick, 0), ticks - 1))


def _inside(attribute: Data, number: Any, low: Any, high: Any, refuse: Any) -> Any:
    if low <= number <= high:
        return number
    if attribute.get("outside", "refuse") == "refuse":
        problem = (
            f"values are outside {attribute['low']}..{attribute['high']}. Widen the range, or set outside='clamp'."
        )
        raise refuse(problem, "outside-domain")
    return min(max(number, low), high)


def is_person(value: object) -> TypeGuard[int | str]:
    """Tell whether a value is a key: text of 1 to 200 letters that can be printed, or a whole number of 64 bits."""
    if isinstance(value, str):
        return 0 < len(value) <= LONGEST_PERSON and value.isprintable()
    return type(value) is int and -(2**63) <= value < 2**63


def is_plain(value: object) -> bool:
    """Tell whether a public value can be sent: text, a number of 64 bits, true, false or nothing."""
    if isinstance(value, str):
        return "\0" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool) or (type(value) is int and -(2**63) <= value < 2**63)
