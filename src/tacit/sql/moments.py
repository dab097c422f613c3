"""Constant dates and times, as `TIMESTAMP '2026-01-01' - INTERVAL '1 month'`: computed before columns are bound.

A question with `now()` is answered as if it named the current hour (UTC), so that its answer changes once per hour.
"""

from __future__ import annotations

import datetime
import re
from typing import Any

from sqlglot import exp

from tacit.sql.expressions import compile_expression
from tacit.sql.parse_spans import span_of
from tacit.sql.scalars import NotScalar

__all__ = ["clock_for", "fold_moments", "moment_of", "notes_on_clock"]

CLOCK = re.compile(r"\b(now|today|getdate)\s*\(|\b(current_date|current_timestamp|localtimestamp)\b", re.IGNORECASE)

CLOCK_NAMES = frozenset({"now", "getdate"})

MOMENTS = frozenset({exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMPTZ, exp.DType.DATETIME})
"""Types of a time of a day."""

VARIABLE = (exp.Column, exp.Query, exp.Subquery, exp.Star, exp.Placeholder, exp.AggFunc, exp.Window)
"""Nodes whose value is not known before the reports are read."""

TEMPORAL = (exp.CurrentDate, exp.CurrentTimestamp, exp.Localtimestamp, exp.DateFromParts, exp.StrToTime, exp.Date)


def clock_for(text: str) -> datetime.datetime | None:
    """Return the current hour in UTC, which a question reads as the current time; None if it names none."""
    if not isinstance(text, str) or not CLOCK.search(text):
        return None
    now = datetime.datetime.now(datetime.UTC)
    return now.replace(minute=0, second=0, microsecond=0, tzinfo=None)


def moment_of(node: exp.Expr) -> str | None:
    """Return the text of a constant that is cast to a time; None for other nodes."""
    inner = node.this if isinstance(node, exp.Cast) and node.to.this in MOMENTS else None
    return str(inner.this) if isinstance(inner, exp.Literal) and inner.is_string else None


def fold_moments(statement: exp.Select, now: datetime.datetime | None) -> exp.Select:
    """Compute constant dates and times; without a clock, those that need one are left, to be refused."""
    return statement.transform(lambda node: _fold(node, now), copy=False)  # type: ignore[return-value]


def notes_on_clock(statement: exp.Expr) -> list[str]:
    """Return a note on what the current time was, if a constant was computed from it."""
    read = {str(node.meta["clock"]) for node in statement.find_all(exp.Cast) if "clock" in node.meta}
    return [f"the current time was read as {text}, the start of the hour (UTC)" for text in sorted(read)]


def _fold(node: exp.Expr, now: datetime.datetime | None) -> exp.Expr:
    if not isinstance(node, exp.Condition) or not _is_constant(node):
        return node
    has_clock = any(_is_clock(part) for part in node.walk())
    if has_clock and now is None:
        return node
    ready = node.transform(lambda part: _at(part, now)) if has_clock and now is not None else node
    try:
        value = compile_expression(ready, _no_column)(())
    except (NotScalar, TypeError, ValueError, KeyError, AttributeError, ArithmeticError):
        return node
    if not isinstance(value, datetime.date):
        return node
    literal = _cast(value)
    span = span_of(node)
    if span is not None:
        literal.this.meta.update(start=span[0], end=span[1] - 1)
    if has_clock and now is not None:
        literal.meta["clock"] = now.isoformat(sep=" ", timespec="minutes")
    return literal


def _is_constant(node: exp.Expr) -> bool:
    """Return whether a node has no columns, but a date or a time in it."""
    parts = list(node.walk())
    if any(isinstance(part, VARIABLE) for part in parts):
        return False
    return any(isinstance(part, TEMPORAL) or _is_clock(part) or _is_cast(part) for part in parts)


def _is_cast(node: exp.Expr) -> bool:
    return isinstance(node, exp.Cast) and node.to.this in {*MOMENTS, exp.DType.DATE}


def _is_clock(node: exp.Expr) -> bool:
    is_named = isinstance(node, exp.Anonymous) and str(node.this).lower() in CLOCK_NAMES and not node.expressions
    return is_named or isinstance(node, exp.CurrentDate | exp.CurrentTimestamp | exp.Localtimestamp)


def _at(node: exp.Expr, now: datetime.datetime) -> exp.Expr:
    """Return a mention of the current time as a constant."""
    if not _is_clock(node):
        return node
    return _cast(now.date() if isinstance(node, exp.CurrentDate) else now)


def _cast(value: datetime.date) -> exp.Cast:
    """Return a date, or a time, as a constant; midnight is the date that it begins."""
    is_time = isinstance(value, datetime.datetime)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value, is_time = value.date(), False
    text = value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else value.isoformat()
    kind = exp.DType.TIMESTAMPNTZ if is_time else exp.DType.DATE
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType(this=kind, nested=False))


def _no_column(column: exp.Column) -> Any:
    raise NotScalar(column)
