"""Attributes and services by meaning: booleans, dates, times, sets of choices, places.

Each is a short way to declare ordinal and categorical attributes, so that mechanisms, audits and clients need to know
those two only; values are converted by `tacit.client.labels`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Literal

from tacit.client.labels import BOOLEANS
from tacit.client.scalars import plain_scalar
from tacit.contract.attributes import NumberLike, Ordinal
from tacit.contract.budget import decimal_text
from tacit.contract.categories import Categorical
from tacit.contract.schema import Service
from tacit.errors import SchemaError

__all__ = ["Boolean", "Choices", "Date", "Place", "Timestamp"]

MAX_LABELS = 10_000
"""Maximum months or hours of one attribute: more do not fit in a contract."""

FINEST = 2**20
"""Maximum steps along a side of a box."""

DateLike = str | datetime.date


def Boolean(name: str, *, null: bool = False) -> Categorical:  # noqa: N802  reads like the attributes that it makes
    """Declare true or false; records hold booleans, questions ask ``WHERE smoker`` or ``smoker = TRUE``.

    Examples
    --------
    >>> Boolean("smoker").values
    ('false', 'true')
    """
    return Categorical(name, BOOLEANS, null=null)


def Date(  # noqa: N802
    name: str,
    low: DateLike,
    high: DateLike,
    *,
    unit: Literal["day", "week", "month"] = "day",
    outside: Literal["refuse", "clamp"] = "refuse",
    null: bool = False,
    fanout: int = 5,
) -> Ordinal | Categorical:
    """Declare dates from ``low`` to ``high``, both included, as days, weeks from Monday to Sunday, or months.

    Weeks and months are whole ones; answers show the first day of a week, and months as ``2026-11``.

    Examples
    --------
    >>> Date("day", low="2026-01-01", high="2026-12-31").size, Date("m", "2026-01-01", "2026-12-31", unit="month").size
    (365, 12)
    """
    first, last = _date(name, "low", low), _date(name, "high", high)
    _check_order(name, first, last)
    if unit == "month":
        return _labels(name, _months(first, last), outside, null=null)
    if unit == "day":
        return Ordinal(name, first, last, outside=outside, null=null, fanout=fanout)
    if unit != "week":
        raise _bad_unit(name, unit, "day, week or month")
    start = first - datetime.timedelta(days=first.weekday())
    weeks = (last - start).days // 7 + 1
    end = start + datetime.timedelta(days=7 * weeks - 1)
    if weeks < 2:
        message = f"{name}: from {first} to {last} is only one week. Use unit='day', or a longer range."
        raise SchemaError(message, code="bad-bound")
    return Ordinal(name, start, end, cells=weeks, dither=False, outside=outside, null=null, fanout=fanout)


def Timestamp(  # noqa: N802
    name: str,
    low: DateLike,
    high: DateLike,
    *,
    unit: Literal["hour", "day", "week", "month"] = "day",
    outside: Literal["refuse", "clamp"] = "refuse",
    null: bool = False,
) -> Ordinal | Categorical:
    """Declare times from ``low`` to ``high``, cut to hours, days, weeks or months; `Collection.prepare` cuts tables.

    Examples
    --------
    >>> Timestamp("at", low="2026-11-15T22", high="2026-11-16T01", unit="hour").values[-1]
    '2026-11-16T01'
    """
    if unit != "hour":
        if unit not in ("day", "week", "month"):
            raise _bad_unit(name, unit, "hour, day, week or month")
        ends = (_time(name, "low", low), _time(name, "high", high))
        return Date(name, ends[0].date(), ends[1].date(), unit=unit, outside=outside, null=null)
    first, last = _time(name, "low", low), _time(name, "high", high)
    _check_order(name, first, last)
    count = int((last - first) / datetime.timedelta(hours=1)) + 1
    if count > MAX_LABELS:
        message = f"{name}: {count:,} hours; at most {MAX_LABELS:,} fit. Use unit='day', or a shorter range."
        raise SchemaError(message, code="domain-too-large")
    hours = [(first + datetime.timedelta(hours=i)).isoformat()[:13] for i in range(count)]
    return _labels(name, hours, outside, null=null)


def Choices(name: str, key: str, values: Sequence[str] | Sequence[int], *, at_most: int) -> Service:  # noqa: N802
    """Declare a set: each person chooses up to ``at_most`` of the values. It is a service with a row for each choice.

    `Collection.prepare` takes a table with a list in each row, in a column named like the service, or a row per choice.

    Examples
    --------
    >>> Choices("likes", key="uid", values=["tea", "coffee", "milk"], at_most=2).attributes[0].name
    'choice'
    """
    return Service(name, key, [Categorical("choice", values)], at_most=at_most)


def Place(  # noqa: N802
    name: str, *, south: NumberLike, west: NumberLike, north: NumberLike, east: NumberLike, cells: int = 256
) -> tuple[Ordinal, Ordinal]:
    """Declare places in a box as ``name_lat`` and ``name_lon``, each in ``cells`` bins with four parts per level.

    Levels of both together are those of a quadtree. Use it with a star: ``attributes=[*tc.Place("home", …)]``.

    Examples
    --------
    >>> [one.name for one in Place("home", south=59, west=10, north=60, east=11)]
    ['home_lat', 'home_lon']
    """
    if isinstance(cells, bool) or not isinstance(cells, int) or cells.bit_count() != 1 or not 2 <= cells <= FINEST:
        message = f"{name}: cells is {cells!r}; it must be a power of two from 2 to {FINEST:,}, such as 256."
        raise SchemaError(message, code="bad-option")
    lat, lon = (
        _axis(f"{name}_{axis}", low, high, cells) for axis, low, high in (("lat", south, north), ("lon", west, east))
    )
    return lat, lon


def _axis(name: str, low: NumberLike, high: NumberLike, cells: int) -> Ordinal:
    """Return equal bins whose edges are exact: the last step below ``high`` ends the last bin."""
    checked = Ordinal(name, low, high, cells=2)  # checks the bounds
    start, end = checked.start, checked.start + checked.unit * (checked.ticks - 1)
    step = (end - start) / FINEST
    if step == 0:
        message = f"{name}: the box is empty, from {low} to {high}. Widen it."
        raise SchemaError(message, code="empty-domain")
    low_text, high_text, step_text = (decimal_text(number) for number in (start, end - step, step))
    return Ordinal(name, low_text, high_text, step=step_text, cells=cells, dither=False, fanout=4, outside="clamp")


def _bad_unit(name: str, unit: object, known: str) -> SchemaError:
    return SchemaError(f"{name}: unit is {unit!r}; it must be {known}.", code="bad-option")


def _check_order(name: str, low: datetime.date, high: datetime.date) -> None:
    if high < low:
        message = f"{name}: high {high} is before low {low}, so the domain is empty. Swap them."
        raise SchemaError(message, code="empty-domain")


def _parse_text(value: object, parse: Callable[[str], object]) -> object:
    """Return a value, parsed if it is text; None if that fails."""
    value = plain_scalar(value)
    try:
        return parse(value) if isinstance(value, str) else value
    except ValueError:
        return None


def _time(name: str, setting: str, value: object) -> datetime.datetime:
    value = _parse_text(value, datetime.datetime.fromisoformat)
    if type(value) is datetime.date:
        value = datetime.datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime.datetime) or value.tzinfo is not None:
        message = f"{name}: {setting} must be a time without time zone, such as 2026-11-15T10."
        raise SchemaError(message, code="bad-bound")
    return value.replace(minute=0, second=0, microsecond=0)


def _date(name: str, setting: str, value: object) -> datetime.date:
    value = _parse_text(value, datetime.date.fromisoformat)
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        value = value.date()
    if type(value) is not datetime.date:
        message = f"{name}: {setting} must be a date such as 2026-11-15."
        raise SchemaError(message, code="bad-bound")
    return value


def _months(first: datetime.date, last: datetime.date) -> list[str]:
    start, end = first.year * 12 + first.month - 1, last.year * 12 + last.month - 1
    return [f"{month // 12:04}-{month % 12 + 1:02}" for month in range(start, end + 1)]


def _labels(name: str, values: list[str], outside: str, *, null: bool) -> Categorical:
    if outside != "refuse":
        message = f"{name}: months and hours outside the range are refused. Remove outside=, or use unit='day'."
        raise SchemaError(message, code="bad-option")
    if len(values) > MAX_LABELS:
        message = f"{name}: {len(values):,} values; at most {MAX_LABELS:,} fit in a contract. Use a shorter range."
        raise SchemaError(message, code="domain-too-large")
    return Categorical(name, values, null=null, ordered=True)
