"""Functions of dates and times in expressions over values, by their syntax nodes."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from tacit.sql import scalars
from tacit.sql.dates import PARTS, bucket_start, last_day
from tacit.sql.scalars import Function, NotScalar, strict

__all__ = ["DATE_FUNCTIONS", "Maker", "Read", "constant_interval", "date_of", "unit_of"]

Read = Callable[[exp.Expr], Function]
Maker = Callable[[Any, Read], Function]

EPOCH = datetime.datetime(1970, 1, 1)

UNITS = frozenset({"hour", "day", "week", "month", "quarter", "year"})
"""Units of intervals."""


def _of_day(function: Callable[[Any], Any]) -> Maker:
    return lambda node, read: strict(lambda value: function(scalars.as_day(value)), read(node.this))


def date_of(value: Any) -> datetime.date:
    """Return the day of a date or a time."""
    if not isinstance(value, datetime.date):
        raise TypeError
    return datetime.date(value.year, value.month, value.day)


def unit_of(node: exp.Expr, text: str) -> str:
    """Return the unit that a text names; refuse unknown ones."""
    unit = text.lower().strip("'")
    if unit not in PARTS:
        raise NotScalar(node)
    return unit


def _extract(node: exp.Extract, read: Read) -> Function:
    unit = unit_of(node, node.name or str(node.this))
    return strict(lambda day: scalars.part(unit, day), read(node.expression))


def _part(unit: str) -> Maker:
    return _of_day(PARTS[unit])


def _truncate(node: exp.Expr, read: Read) -> Function:
    unit = unit_of(node, node.args["unit"].name)
    return strict(lambda day: scalars.start(unit, day), read(node.this))


def _differing(node: exp.DateDiff, read: Read) -> Function:
    unit = unit_of(node, node.args["unit"].name if node.args.get("unit") else "day")
    return strict(lambda last, first: scalars.between_days(unit, first, last), read(node.this), read(node.expression))


def _format(node: exp.TimeToStr, read: Read) -> Function:
    day, pattern = node.this, node.args["format"]
    if isinstance(day, exp.Literal) and day.is_string:  # STRFTIME('%Y-%m', day)
        day, pattern = pattern, day
    if not isinstance(pattern, exp.Literal):
        raise NotScalar(node)
    return strict(lambda value: scalars.as_day(value).strftime(str(pattern.this)), read(day))


def constant_interval(node: exp.Expr) -> tuple[int, str] | None:
    """Return the count and the unit of a constant interval, as INTERVAL '1 month' or (3 || ' days')::INTERVAL."""
    node = node.unnest()
    words: list[str] = []
    if isinstance(node, exp.Interval) and isinstance(node.this, exp.Literal | exp.Paren):
        words = [node.this.unnest().name, str(node.args.get("unit") or "")]
    if isinstance(node, exp.Cast) and node.to.this == exp.DType.INTERVAL:
        inner = node.this.unnest()
        parts = [inner.left.unnest(), inner.right.unnest()] if isinstance(inner, exp.DPipe) else [inner]
        words = " ".join(part.sql().strip("'") for part in parts).split()
    unit = words[-1].lower().removesuffix("s") if words else ""
    is_known = len(words) == 2 and re.fullmatch(r"-?[0-9]{1,6}", words[0]) and unit in UNITS
    return (int(words[0]), unit) if is_known else None


def _make_date(node: exp.DateFromParts, read: Read) -> Function:
    return strict(datetime.date, *(read(node.args[word]) for word in ("year", "month", "day")))


def _time_bucket(node: exp.DateBin, read: Read) -> Function:
    width = node.this
    if isinstance(width, exp.Literal) and width.is_string:  # time_bucket('7 days', day)
        width = exp.cast(width.copy(), exp.DType.INTERVAL)
    interval = constant_interval(width)
    if interval is None or interval[0] < 1 or node.args.get("zone"):
        raise NotScalar(node)
    return strict(lambda day: bucket_start(scalars.as_day(day), *interval), read(node.expression))


def _from_epoch(seconds: Any) -> datetime.datetime:
    return EPOCH + datetime.timedelta(seconds=float(seconds))


def _in_utc(node: exp.AtTimeZone, read: Read) -> Function:
    zone = node.args.get("zone")
    if not isinstance(zone, exp.Literal) or str(zone.this).upper() not in ("UTC", "GMT", "ETC/UTC", "Z"):
        raise NotScalar(node)
    return read(node.this)


DATE_FUNCTIONS: dict[type[exp.Expr], Maker] = {
    exp.DateFromParts: _make_date,
    exp.UnixToTime: lambda node, read: strict(_from_epoch, read(node.this)),
    exp.DateBin: _time_bucket,
    exp.Extract: _extract,
    exp.Year: _part("year"),
    exp.Quarter: _part("quarter"),
    exp.Month: _part("month"),
    exp.Week: _part("week"),
    exp.WeekOfYear: _part("week"),
    exp.Day: _part("day"),
    exp.Hour: _part("hour"),
    exp.Minute: _part("minute"),
    exp.DayOfWeek: _part("dow"),
    exp.DayOfWeekIso: _part("isodow"),
    exp.DayOfYear: _part("doy"),
    exp.DayOfMonth: _part("day"),
    exp.LastDay: _of_day(lambda day: last_day(day)),
    exp.AtTimeZone: _in_utc,
    exp.TimestampTrunc: _truncate,
    exp.DateTrunc: _truncate,
    exp.DateDiff: _differing,
    exp.TimeToStr: _format,
    exp.TimeToUnix: _part("epoch"),
    exp.Dayname: _of_day(lambda day: day.strftime("%A")),
    exp.Monthname: _of_day(lambda day: day.strftime("%B")),
    exp.Date: _of_day(lambda value: date_of(value)),
}
