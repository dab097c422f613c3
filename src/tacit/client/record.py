"""Raw values to value indices, by the rules a contract declares for the attribute.

The time this takes must not reveal the value: values are looked up instead of searched, NULL is treated like a
substitute value, every value is clamped, and all indices are above BIAS, where Python's integer arithmetic takes
constant time.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeGuard

from tacit.client.labels import label_of, unit_of
from tacit.errors import RecordError

__all__ = ["BIAS", "AttributeEncoder", "Read", "bound_of", "is_person", "is_plain"]

BIAS = 1 << 29
"""Added to value indices: small integers are faster in Python, and these still fit one machine word."""

Read = tuple[int, bool]
"""A step plus BIAS, and whether the value is NULL."""

LONGEST_PERSON = 200
"""Maximum characters of a key."""

OFF_STEP = 1e-6
"""Tolerance, in steps, within which a number counts as on a step."""

_EPOCH = datetime.date(1970, 1, 1)

Data = dict[str, Any]


class AttributeEncoder:
    """One attribute: turns raw values into value indices plus BIAS, with the same work for every valid value."""

    def __init__(self, service: str, attribute: Data) -> None:
        self._service, self._attribute, self.name = service, attribute, str(attribute["name"])
        self._nullable = bool(attribute.get("null"))
        self._null = BIAS + int(attribute["count"])
        self._default: Any = None
        self._categorical = attribute["kind"] == "categorical"
        if self._categorical:
            listed = attribute["values"]
            self._default, self._text = listed[0], isinstance(listed[0], str)
            self._places: dict[Any, int] = {value: BIAS + place for place, value in enumerate(listed)}
            self._other = self._places.get(attribute.get("other"))
            self._unit = None if "dictionary" in attribute else unit_of(listed, attribute.get("other"))
            return
        self._count, self._ticks = int(attribute["count"]), int(attribute["ticks"])
        low, step = bound_of(attribute, "low"), Fraction(attribute["step"])
        high = low + step * (self._ticks - 1)
        self._is_integer = step == 1 and low.denominator == 1
        self._default = int(low) if self._is_integer else float(low)
        if attribute["kind"] == "date":
            self._default = _EPOCH + datetime.timedelta(int(low))
        self._bounds, self._clamps = (int(low), int(high)), attribute.get("outside", "refuse") != "refuse"
        self._start, self._stop, self._step = float(low), float(high), float(step)
        self.is_dithered = bool(attribute.get("dither", False)) and self._count < self._ticks

    is_dithered = False
    """Whether a draw rounds its values."""

    def read(self, record: Mapping[str, Any]) -> Read:
        """Return a record's value as a step plus BIAS, and whether it is NULL; errors never show the value."""
        if self.name not in record:
            problem = "the column is missing."
            raise self._refuse(problem, "missing-column")
        value = record[self.name]
        is_null = value is None
        if is_null > self._nullable:
            message = "values are missing. Declare null=True to collect missing values as a value of their own."
            raise self._refuse(message, "missing-value")
        value = (value, self._default)[is_null]
        return (self._category(value) if self._categorical else self._tick(value)), is_null

    def index(self, read: Read, draw: int) -> int:
        """Return the value index plus BIAS; the draw rounds a dithered attribute."""
        tick, is_null = read
        if self._categorical or self._count == self._ticks:
            return (tick, self._null)[is_null]
        if not self.is_dithered:
            shifted = tick * self._count + BIAS * (self._ticks - self._count)
            return (shifted // self._ticks, self._null)[is_null]
        top, ticks = self._count - 1, self._ticks - 1
        lower, remainder = divmod(tick * top + BIAS * (ticks - top), ticks)
        return (lower + (draw % ticks < remainder), self._null)[is_null]

    def filler(self) -> Any:
        """Return a valid value, for rows that only equalise the work."""
        return self._default

    def _refuse(self, problem: str, code: str) -> RecordError:
        return RecordError(problem, code=code, service=self._service, column=self.name)

    def _category(self, value: Any) -> int:
        value = label_of(value, self._unit)
        if self._text:
            if not isinstance(value, str) or not _has_bytes(value):
                problem = "the value is not text, but the declared values are. Convert it."
                raise self._refuse(problem, "wrong-type")
        elif not _is_whole(value):
            problem = "the value is not a whole number, but the declared values are. Convert it."
            raise self._refuse(problem, "wrong-type")
        place = self._places.get(value, self._other)
        if place is None:
            problem = "values are not in the declared list. List them, or name a catch-all with other=."
            raise self._refuse(problem, "unknown-category")
        return place

    def _tick(self, value: Any) -> int:
        number = self._number(value)
        if isinstance(number, int) and self._is_integer:
            low, high = self._bounds
            return int(self._inside(number, low, high) + (BIAS - low))
        number = self._inside(float(number), self._start, self._stop)
        steps = (number - self._start) / self._step
        tick = math.floor(steps + 0.5)
        if "cells" not in self._attribute and abs(steps - tick) > OFF_STEP:
            problem = f"values lie between steps of {self._attribute['step']}. Declare a finer step=, or cells=."
            raise self._refuse(problem, "between-steps")
        return int(min(max(tick, 0), self._ticks - 1) + BIAS)

    def _inside(self, number: Any, low: Any, high: Any) -> Any:
        if not self._clamps and not low <= number <= high:
            low, high = self._attribute["low"], self._attribute["high"]
            problem = f"values are outside {low}..{high}. Widen the range, or set outside='clamp'."
            raise self._refuse(problem, "outside-domain")
        return min(max(number, low), high)

    def _number(self, value: Any) -> int | float:
        if self._attribute["kind"] == "date":
            if isinstance(value, datetime.datetime) and value.tzinfo is None and value.time() == datetime.time():
                value = value.date()
            if type(value) is not datetime.date:
                problem = "the value is not a date, but the declared values are. Convert it."
                raise self._refuse(problem, "wrong-type")
            return (value - _EPOCH).days
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            problem = "the value is not a number, but the declared values are. Convert it."
            raise self._refuse(problem, "wrong-type")
        if isinstance(value, int):
            if not -(2**63) <= value < 2**63:
                problem = "the number is beyond 64 bits. Convert it."
                raise self._refuse(problem, "wrong-type")
            return value
        number = math.nan if isinstance(value, Decimal) and value.is_nan() else float(value)
        if not math.isfinite(number):
            problem = "values are NaN or infinite. Remove them, or make them NULL and declare null=True."
            raise self._refuse(problem, "not-finite")
        return number


def _has_bytes(text: str) -> bool:
    """Return whether text is valid Unicode: lone surrogates have no portable encoding."""
    try:
        return len(text.encode()) >= 0
    except UnicodeEncodeError:
        return False


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


def is_person(value: object) -> TypeGuard[int | str]:
    """Return whether a value is a key: printable text of 1 to 200 characters, or a 64-bit integer."""
    if isinstance(value, str):
        return 0 < len(value) <= LONGEST_PERSON and value.isprintable()
    return type(value) is int and -(2**63) <= value < 2**63


def is_plain(value: object) -> bool:
    """Return whether a public value can be sent: text, a 64-bit number, true, false or None."""
    if isinstance(value, str):
        return "\0" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool) or (type(value) is int and -(2**63) <= value < 2**63)
