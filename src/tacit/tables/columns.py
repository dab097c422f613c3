"""Propose how to declare a column: its kind, its bounds or values, and a hint about the data.

A proposal may reveal the data it is computed from. So bounds come from the column's name, or are round numbers around
the middle 99 % of the values, never an extreme value; rare texts are not listed. The proposal is a draft: whoever
declares it should know the bounds and lists without the data.
"""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tacit.tables.compute import pc
from tacit.tables.numbers import number_text
from tacit.tables.read import plain_column
from tacit.tables.scales import ascending, separator_of_choices

__all__ = ["PERSON", "WITH_POINT", "Proposed", "is_whole", "propose_column"]

MOST_CATEGORIES = 64
"""A column with at most this many different texts becomes categorical."""

FEWEST_ROWS = 10
"""Rows in which a text must occur to be listed: a rarer one may identify somebody."""

MOST_EXACT_VALUES = 1_000
"""A column with a wider range of integers is collected in cells."""

CELLS = 100
"""Cells of a column with a wide range."""

MOST_CODES = 32
"""Whole numbers with fewer different values, all small, are collected from the first to the last."""

MIDDLE = (0.005, 0.995)
"""The quantiles that bounds are rounded from: a few outliers do not move them."""

ENOUGH_ROWS = 2_000
"""Fewest rows for which quantiles are shown: at least ten lie beyond each."""

KNOWN_BOUNDS: tuple[tuple[str, int, int], ...] = (
    (r"age|agep", 0, 99),
    (r"hours?_(per|a)_week|weekly_hours|wkhp", 0, 99),
    (r"weeks?(_worked)?|wkwn", 0, 52),
    (r"month(_of_year)?", 1, 12),
    (r"day(_of_month)?", 1, 31),
    (r"weekday|day_of_week", 0, 6),
    (r"hour(_of_day)?", 0, 23),
    (r"minute|second", 0, 59),
    (r"percent(age)?|pct", 0, 100),
    (r"rating|stars", 1, 5),
)
"""Names of columns with well-known bounds."""

EXACT = 2**53
"""Largest whole number up to which floating-point numbers are exact."""

IDENTIFIER = re.compile(
    r"(^|_)(id|uid|uuid|guid|code|zip|postcode|phone|email|invoice|serial(no)?|type|kind|status|category)$"
)
"""Names of columns whose numbers identify something: their totals and averages mean nothing."""


PERSON = re.compile(
    r"(user|customer|cust|person|people|household|patient|member|client|account|subscriber|employee|student|"
    r"respondent|owner)(_?(id|key|no|number|uid|uuid))?|u?id|hid|uuid|guid|key"
)
"""Names of columns that may hold a person's key."""

SIGNED = r"^[-+(]?\s*[$€£¥]?\s*-?(\d{1,3}([.,' ]\d{3})+|\d+)([.,]\d+)?\s*[%$€£¥)]*$"
"""Texts that are numbers with a sign for percent or money, or separators of thousands."""

WRITE_PLAIN = (
    "its texts are numbers with signs such as %, $ or thousands separators; write plain numbers, such as 1234.50, to "
    "collect it as a number"
)


WITH_POINT = "its whole numbers are stored with a decimal point (17.0); write them as whole numbers or texts"


@dataclass(frozen=True)
class Proposed:
    """The settings of an attribute, with a hint that describes the data; or why the column is left out."""

    name: str
    settings: dict[str, Any]
    hint: str = ""
    left_out: str = ""


def propose_column(name: str, column: pa.ChunkedArray) -> Proposed:
    """Return the settings proposed for a column."""
    column = plain_column(column)
    if column.null_count == len(column):
        return Proposed(name, {}, left_out="it is empty")
    null = {"null": True} if column.null_count else {}
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _texts(name, column, null)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _numbers(name, column, null)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _dates(name, column, null)
    if pa.types.is_boolean(kind):
        return Proposed(name, {"kind": "boolean"} | null)
    return Proposed(name, {}, left_out=f"columns of type {_type_word(kind)} have to be converted or declared by hand")


def _are_signed(texts: pa.Array) -> bool:
    """Return whether all texts are numbers, some of them with a sign that no plain number has."""
    numbers = pc.all(pc.match_substring_regex(texts, SIGNED)).as_py()
    return bool(numbers and pc.any(pc.match_substring_regex(texts, "[%$€£¥,]")).as_py())


def is_whole(column: pa.ChunkedArray) -> bool:
    """Return whether a column's numbers are whole, but stored with a decimal point, as where some were missing."""
    if not pa.types.is_floating(column.type) or column.null_count == len(column):
        return False
    numbers = column.drop_null()
    return bool(pc.all(pc.equal(pc.floor(numbers), numbers)).as_py())


def names_identifier(name: str) -> bool:
    """Return whether a column's name says that it identifies somebody or something."""
    return IDENTIFIER.search(name.lower()) is not None or PERSON.fullmatch(name.lower()) is not None


def _type_word(kind: pa.DataType) -> str:
    """Return a type's name; names of nested fields may be values, and are left out."""
    return "nested" if pa.types.is_nested(kind) else str(kind)


def _texts(name: str, column: pa.ChunkedArray, null: dict[str, Any]) -> Proposed:
    """List the texts that occur in enough rows; the others become one value."""
    counts = pc.value_counts(column.drop_null().combine_chunks())
    ordered = sorted(zip(counts.field("counts").to_pylist(), counts.field("values").to_pylist(), strict=True))[::-1]
    if len(ordered) == 1 and not null:
        return Proposed(name, {}, left_out="it is the same in all rows")
    signed = _are_signed(counts.field("values"))
    if signed and len(ordered) > MOST_CATEGORIES:
        return Proposed(name, {}, left_out=WRITE_PLAIN)
    listed = [text for count, text in ordered[: MOST_CATEGORIES - 1] if count >= _few(len(column))]
    covered = sum(count for count, _ in ordered[: len(listed)])
    if len(ordered) > MOST_CATEGORIES and covered < len(column) // 2:
        return Proposed(name, {}, left_out=f"it has {len(ordered):,} different texts, too many for categories")
    if not listed:
        return Proposed(
            name, {}, left_out=f"each of its {len(ordered):,} different texts is rare, and may name somebody"
        )
    settings: dict[str, Any] = {"kind": "categorical", "values": sorted(listed)}
    if len(listed) < len(ordered):
        settings["other"] = next(word for word in ("other", "other value", "any other value") if word not in listed)
    hint = f"the data has {len(ordered):,} different value{'s' if len(ordered) > 1 else ''}"
    if signed:
        hint += f"; {WRITE_PLAIN}"
    if len(ordered) > MOST_CATEGORIES:
        unlisted = 100 - 100 * covered / sum(count for count, _ in ordered)
        hint += f"; {unlisted:.2g} % of the rows have one that is not listed"
    if "other" not in settings and (values := ascending(listed)):
        settings |= {"values": values, "ordered": True}
    if separator := separator_of_choices(listed):
        hint += f"; some list several choices: split them at {separator!r} into a table with a row for each choice"
    return Proposed(name, settings | null, hint=hint)


def _numbers(name: str, column: pa.ChunkedArray, null: dict[str, Any]) -> Proposed:
    """Declare numbers between public bounds."""
    numbers = column.drop_null().cast(pa.float64(), safe=False)
    if pa.types.is_integer(column.type) and pc.max(pc.abs(numbers)).as_py() > EXACT:
        return Proposed(name, {}, left_out="its whole numbers are beyond 2^53, as those of identifiers are")
    if not pc.all(pc.is_finite(numbers)).as_py():
        return Proposed(name, {}, left_out="it has infinite numbers; make them NULL, or declare it by hand")
    is_integer = pa.types.is_integer(column.type)
    many = PERSON.fullmatch(name.lower()) or pc.count_distinct(numbers).as_py() > MOST_CATEGORIES
    if names_identifier(name) and many and is_whole(column):
        return Proposed(name, {}, left_out=f"it looks like an identifier, and {WITH_POINT}")
    if IDENTIFIER.search(name.lower()):
        if pc.count_distinct(numbers).as_py() > MOST_EXACT_VALUES:
            return Proposed(name, {}, left_out="it looks like an identifier, whose totals and averages mean nothing")
        if is_integer:
            return _with_numbers(_texts(name, column.cast(pa.large_string()), null))
    first, last = pc.quantile(numbers, q=list(MIDDLE)).to_pylist()
    bounds = _known_bounds(name, first, last) or (_codes(column) if is_integer else None)
    low, high = bounds or _round_bounds(first, last, is_integer=is_integer)
    settings: dict[str, Any] = {"low": _plain_number(low), "high": _plain_number(high)}
    if not is_integer or high - low >= MOST_EXACT_VALUES:
        settings["cells"] = CELLS
    outside = pc.sum(pc.or_(pc.less(numbers, float(low)), pc.greater(numbers, float(high)))).as_py() / len(numbers)
    hint = ""
    if len(numbers) >= ENOUGH_ROWS:
        hint = f"99 % of the data is between {number_text(first)} and {number_text(last)}"
        hint += f"; {outside * 100:.2g} % is outside these bounds and counts as a bound" if outside else ""
    return Proposed(name, settings | {"outside": "clamp"} | null, hint=hint)


def _with_numbers(proposed: Proposed) -> Proposed:
    """Return a proposal that lists numbers as numbers, if it lists all of them."""
    if not proposed.settings or "other" in proposed.settings:
        return proposed
    numbers = sorted(int(text) for text in proposed.settings["values"])
    return replace(proposed, settings=proposed.settings | {"values": numbers})


def _known_bounds(name: str, first: float, last: float) -> tuple[Decimal, Decimal] | None:
    """Return the bounds that the name suggests, if the data fits them."""
    for pattern, low, high in KNOWN_BOUNDS:
        if re.fullmatch(pattern, name.lower()) and low <= first and last <= high and last - first > (high - low) / 10:
            return Decimal(low), Decimal(high)
    return None


def _codes(column: pa.ChunkedArray) -> tuple[Decimal, Decimal] | None:
    """Return the bounds of a few small whole numbers, such as codes of answers, that occur in enough rows."""
    counts = pc.value_counts(column.drop_null().combine_chunks())
    enough = counts.field("values").filter(pc.greater_equal(counts.field("counts"), _few(len(column))))
    if len(counts) > MOST_CODES or not len(enough):
        return None
    ends = pc.min_max(enough).as_py()
    low, high = min(ends["min"], 1), ends["max"]
    return (Decimal(low), Decimal(high)) if 0 <= low < high < MOST_CODES else None


def _few(rows: int) -> int:
    return min(FEWEST_ROWS, rows // FEWEST_ROWS)


def _round_bounds(first: float, last: float, *, is_integer: bool) -> tuple[Decimal, Decimal]:
    """Return round numbers around the middle of the data.

    Examples
    --------
    >>> [int(bound) for bound in _round_bounds(3, 187_400, is_integer=True)]
    [0, 200000]
    >>> [float(bound) for bound in _round_bounds(0.02, 0.93, is_integer=False)]
    [0.0, 1.0]
    """
    span = last - (first if first < 0 or first > last / 2 else 0)
    place = math.floor(math.log10(span)) if span > 0 else 0
    if is_integer:
        place = max(place, 0)
    step = Decimal(1).scaleb(place)
    step *= next((part for part in (Decimal("0.1"), Decimal("0.2"), Decimal("0.5")) if span <= part * 10 * step), 1)
    if is_integer and step < 1:
        step = Decimal(1)
    low = _floor(first, step) if first < 0 or first > last / 2 else Decimal(0)
    high = -_floor(-last, step)
    if high <= low:
        high = low + step
    return low, high


def _floor(number: float, step: Decimal) -> Decimal:
    return Decimal(math.floor(Decimal(repr(number)) / step)) * step


def _plain_number(bound: Decimal) -> int | float:
    return int(bound) if bound == int(bound) else float(bound)


def _dates(name: str, column: pa.ChunkedArray, null: dict[str, Any]) -> Proposed:
    """Declare whole years around the middle of the data."""
    days = column.drop_null().cast(pa.date32(), safe=False).cast(pa.int32())
    ends = pc.quantile(days, q=list(MIDDLE), interpolation="nearest").to_pylist()
    first, last = (datetime.date(1970, 1, 1) + datetime.timedelta(days=int(end)) for end in ends)
    settings = {"kind": "date", "low": datetime.date(first.year, 1, 1), "high": datetime.date(last.year, 12, 31)}
    years = f"{first.year}" if first.year == last.year else f"{first.year} to {last.year}"
    return Proposed(name, settings | {"outside": "clamp"} | null, hint=f"99 % of the data is from {years}")
