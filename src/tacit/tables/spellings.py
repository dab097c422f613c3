"""Numbers and dates as spreadsheets export them: separators of thousands, decimal commas, days before months."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from tacit.tables.compute import pc

__all__ = ["DECIMAL_COMMA", "read_spellings"]

DECIMAL_COMMA = re.compile(r"-?(\d+|\d{1,3}(\.\d{3})+),\d+\Z")
"""A number with a decimal comma, and perhaps points between thousands."""

GROUPED = {".": r"^-?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?$", ",": r"^-?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?$"}
"""Numbers by their decimal sign, with or without separators of thousands."""

FIRST = 100
"""Rows that are compared with a pattern before all others are."""

THOUSANDS = {".": ",", ",": "."}


@dataclass(frozen=True)
class _Spelling:
    """Dates of one spelling: a pattern, its format, and which of its parts must exceed 12 somewhere, if any."""

    pattern: str
    format: str
    beyond: str = ""


DATES = (
    _Spelling(r"^(?P<day>\d{1,2})\.\d{1,2}\.\d{4}$", "%d.%m.%Y"),
    _Spelling(r"^\d{4}/\d{1,2}/(?P<day>\d{1,2})$", "%Y/%m/%d"),
    _Spelling(r"^(?P<day>\d{1,2})/\d{1,2}/\d{4}$", "%d/%m/%Y", r"^(1[3-9]|2\d|3[01])/"),
    _Spelling(r"^\d{1,2}/(?P<day>\d{1,2})/\d{4}$", "%m/%d/%Y", r"/(1[3-9]|2\d|3[01])/"),
)
"""Spellings of dates; with slashes, some day above 12 must show whether days or months come first."""


def read_spellings(table: pa.Table, decimal: str) -> pa.Table:
    """Return a table whose columns of texts that are all numbers, or all dates, are numbers and dates."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            column = table.column(place)
            read = _as_numbers(column, decimal)
            read = _as_dates(column) if read is None else read
            table = table if read is None else table.set_column(place, field.name, read)
    return table


def _all_match(column: pa.ChunkedArray, pattern: str) -> bool:
    if column.null_count == len(column):
        return False
    first = column.slice(0, FIRST)  # most columns of other texts are told by these
    matches = (pc.match_substring_regex(part, pattern) for part in (first, column))
    return all(pc.all(part, min_count=0).as_py() for part in matches)


def _as_numbers(column: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray | None:
    if not _all_match(column, GROUPED[decimal]):
        return None
    plain = pc.replace_substring(column, THOUSANDS[decimal], "")
    if not pc.any(pc.match_substring(plain, decimal)).as_py():
        return _cast(plain, pa.int64())
    return _cast(pc.replace_substring(plain, decimal, "."), pa.float64())


def _as_dates(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    for spelling in DATES:
        shows = not spelling.beyond or pc.any(pc.match_substring_regex(column, spelling.beyond)).as_py()
        if shows and _all_match(column, spelling.pattern):
            parsed = pc.strptime(column, format=spelling.format, unit="s", error_is_null=True)
            day = pc.struct_field(pc.extract_regex(column, spelling.pattern), "day").cast(pa.int64())
            exists = parsed.null_count == column.null_count and pc.all(pc.equal(pc.day(parsed), day)).as_py()
            return parsed.cast(pa.date32()) if exists else None  # the 31st of February is read as one of March
    return None


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:  # more digits than fit: it stays text
        return None
