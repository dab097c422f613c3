"""Booleans, months and hours as the texts that contracts list: one spelling for clients, encoders and questions.

A list of `false` and `true` takes booleans; a list of months (`2026-11`) or of hours (`2026-11-15T10`) takes dates or
times, which are cut to that unit. So a contract needs no separate kind for them.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["BOOLEANS", "PATTERNS", "label_of", "unit_of"]

BOOLEANS = ("false", "true")

PATTERNS = {"month": re.compile(r"\d{4}-\d{2}"), "hour": re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}")}
"""How values of a unit are written; their order as texts is that of time."""

LENGTHS = {"month": 7, "hour": 13}


def unit_of(values: Sequence[Any], other: Any = None) -> str | None:
    """Return the unit that a list of values is written in: boolean, month or hour; None for any other list.

    Examples
    --------
    >>> unit_of(["false", "true"]), unit_of(["2026-01", "2026-02"]), unit_of(["a"]), unit_of([1, 2])
    ('boolean', 'month', None, None)
    """
    listed = [value for value in values if value != other]
    if tuple(listed) == BOOLEANS:
        return "boolean"
    for unit, pattern in PATTERNS.items():
        if listed and all(isinstance(value, str) and pattern.fullmatch(value) for value in listed):
            return unit
    return None


def label_of(value: Any, unit: str | None) -> Any:
    """Return a boolean, a date or a time as the text of a unit; anything else unchanged, to be refused later."""
    if unit == "boolean":
        return BOOLEANS[value] if isinstance(value, bool) else value
    is_time = isinstance(value, datetime.datetime) and value.tzinfo is None
    if is_time or (unit == "month" and type(value) is datetime.date):
        return value.isoformat()[: LENGTHS[unit]] if unit else value
    return value
