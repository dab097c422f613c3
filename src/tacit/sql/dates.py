"""Functions of dates and times: parts, the start of a period, and steps of the calendar, as DuckDB defines them."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable
from typing import Any

__all__ = ["PARTS", "bucket_start", "differing", "last_day", "midnight", "parse_day", "shift_day", "truncate"]

Day = datetime.date

PARTS: dict[str, Callable[[Any], int]] = {
    "year": lambda day: day.year,
    "quarter": lambda day: (day.month + 2) // 3,
    "month": lambda day: day.month,
    "week": lambda day: day.isocalendar()[1],
    "isoyear": lambda day: day.isocalendar()[0],
    "yearweek": lambda day: 100 * day.isocalendar()[0] + day.isocalendar()[1],
    "day": lambda day: day.day,
    "dow": lambda day: day.isoweekday() % 7,
    "dayofweek": lambda day: day.isoweekday() % 7,
    "weekday": lambda day: day.isoweekday() % 7,
    "isodow": lambda day: day.isoweekday(),
    "doy": lambda day: day.timetuple().tm_yday,
    "dayofyear": lambda day: day.timetuple().tm_yday,
    "hour": lambda day: getattr(day, "hour", 0),
    "minute": lambda day: getattr(day, "minute", 0),
    "epoch": lambda day: calendar.timegm(midnight(day).timetuple()),
}
"""Parts of a date as whole numbers; Sunday is day 0 of the week."""

STARTS: dict[str, Callable[[Day], Day]] = {
    "year": lambda day: day.replace(month=1, day=1),
    "quarter": lambda day: day.replace(month=3 * ((day.month - 1) // 3) + 1, day=1),
    "month": lambda day: day.replace(day=1),
    "week": lambda day: day - datetime.timedelta(days=day.weekday()),
    "day": lambda day: day,
}

MONTHS = {"month": 1, "quarter": 3, "year": 12}
DAYS = {"day": 1, "week": 7}


MOMENT = re.compile(
    r"(\d{4}-\d{2}(?:-\d{2})?)(?:[T ](\d{2}(?::\d{2}){0,2})(?:\.(\d{1,9}))?)?\s?(?:Z|UTC|[+-]00(?::?00)?)?\Z",
    re.IGNORECASE,
)
"""A month, a day or a time, in UTC if it names a zone."""


def parse_day(text: str) -> Day:
    """Return a text as a date or a time; a month becomes its first day.

    Examples
    --------
    >>> parse_day("2026-11").isoformat(), parse_day("2026-11-16T13").isoformat()
    ('2026-11-01', '2026-11-16T13:00:00')
    >>> parse_day("2026-11-16 13:00:59.9Z").isoformat()
    '2026-11-16T13:00:59.900000'
    """
    match = MOMENT.match(text.strip())
    if match is None:
        message = "not a date"
        raise ValueError(message)
    day, time, fraction = match.groups()
    if time is None:
        return datetime.date.fromisoformat(day if len(day) == len("2026-11-16") else f"{day}-01")
    moment = datetime.datetime.fromisoformat(f"{day} {time}")
    return moment.replace(microsecond=int((fraction or "0").ljust(6, "0")[:6]))


def midnight(day: Day) -> datetime.datetime:
    """Return a day as its first moment; a time stays as it is."""
    return day if isinstance(day, datetime.datetime) else datetime.datetime.combine(day, datetime.time())


def truncate(unit: str, day: Day) -> Day:
    """Return the start of the period that contains a day; a time stays a time."""
    if isinstance(day, datetime.datetime):
        if unit == "hour":
            return day.replace(minute=0, second=0, microsecond=0)
        return datetime.datetime.combine(STARTS[unit](day.date()), datetime.time())
    return STARTS[unit](day)


def shift_day(day: Day, count: int, unit: str) -> Day:
    """Return a day shifted by a number of periods; the day of the month is at most the month's last."""
    if unit in DAYS:
        return day + datetime.timedelta(days=DAYS[unit] * count)
    if unit == "hour" and isinstance(day, datetime.datetime):
        return day + datetime.timedelta(hours=count)
    place = 12 * day.year + day.month - 1 + MONTHS[unit] * count
    year, month = place // 12, place % 12 + 1
    return day.replace(year=year, month=month, day=min(day.day, calendar.monthrange(year, month)[1]))


def bucket_start(day: Day, count: int, unit: str) -> Day:
    """Return the start of the bucket of some periods that contains a day; buckets are counted from January 2000.

    Examples
    --------
    >>> bucket_start(datetime.date(2026, 11, 18), 2, "month").isoformat()
    '2026-11-01'
    """
    if unit in MONTHS:
        months, first = MONTHS[unit] * count, datetime.date(2000, 1, 1)
        return shift_day(first, differing("month", first, day) // months * months, "month")
    step = datetime.timedelta(hours=count) if unit == "hour" else datetime.timedelta(days=DAYS[unit] * count)
    monday = datetime.datetime(2000, 1, 3)
    start = monday + (midnight(day) - monday) // step * step
    return start if isinstance(day, datetime.datetime) else start.date()


def last_day(day: Day) -> Day:
    """Return the last day of a month."""
    return datetime.date(day.year, day.month, calendar.monthrange(day.year, day.month)[1])


def differing(unit: str, first: Day, second: Day) -> int:
    """Return the number of period starts between two days; of weeks, how many whole ones lie between them.

    Examples
    --------
    >>> sunday, monday = datetime.date(2026, 11, 15), datetime.date(2026, 11, 16)
    >>> differing("week", sunday, monday), differing("day", monday, sunday), differing("month", sunday, monday)
    (0, -1, 0)
    """
    if unit in MONTHS:
        places = [(12 * day.year + day.month - 1) // MONTHS[unit] for day in (first, second)]
        return places[1] - places[0]
    return int((second.toordinal() - first.toordinal()) / DAYS[unit])
