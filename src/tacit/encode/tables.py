"""Whatever holds a table becomes an Arrow table with exactly the columns of its service.

Errors of the libraries that read tables may quote values, so they are never chained.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from tacit.errors import RecordError, UnknownNameError
from tacit.schema import Service

__all__ = ["as_table", "check_people", "key_column"]

BUCKET_BITS = 3
"""Buckets of keys, as a power of two: enough to keep all cores sorting, few enough to scan for each."""

DENSE = 4
"""Keys are dense if their range is at most this many times their number: a byte per possible key is then cheap."""

PUBLIC_TYPES = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_decimal,
    pa.types.is_null,
)


def as_table(service: Service, source: Any) -> pa.Table:
    """Return the source as an Arrow table with the key and attributes of the service, in order."""
    try:
        table = _read(source)
    except (RecordError, UnknownNameError):
        raise
    except (pa.ArrowException, UnicodeError, OverflowError, TypeError, ValueError, OSError) as cause:
        problem = (
            f"the table cannot be read ({type(cause).__name__}: mixed types in a column, text that is not Unicode, "
            "numbers beyond 64 bits, or an unreadable file). Pass a pandas, polars, Arrow or DuckDB table, or a path."
        )
        raise RecordError(problem, code="unreadable-table", service=service.name) from None
    expected = [service.key, *(attribute.name for attribute in service.attributes)]
    found = table.column_names
    for name in expected:
        if found.count(name) != 1:
            problem = "the column is missing" if name not in found else "the column occurs twice"
            allowed = f"{problem}. Expected columns: {', '.join(expected)}."
            raise RecordError(allowed, code="missing-column", service=service.name, column=name)
    for name in found:
        if name not in expected:
            raise UnknownNameError(f"column of {service.name}", name, expected, code="unknown-column")
    if table.num_rows == 0:
        problem = "the table is empty. Pass at least one row."
        raise RecordError(problem, code="empty-table", service=service.name)
    table = table.select(expected)
    for attribute in service.public:
        table = _with_plain_text(table, attribute.name)
        if not any(test(table.schema.field(attribute.name).type) for test in PUBLIC_TYPES):
            problem = "a public column must hold numbers, text, booleans, dates or times. Convert it."
            raise RecordError(problem, code="wrong-type", service=service.name, column=attribute.name)
    return table


def _with_plain_text(table: pa.Table, name: str) -> pa.Table:
    """Return the table with a column's dictionaries and views decoded, so that every engine can store it."""
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    return table.set_column(table.column_names.index(name), name, column)


def _read(source: Any) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, str | Path):
        return _read_path(Path(source))
    if type(source).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(source, preserve_index=False)
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, Mapping):
        return pa.table({name: pa.array(values) for name, values in source.items()})
    raise TypeError


def _read_path(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pa.parquet.read_table(path)
    if path.suffix == ".csv":
        return pa.csv.read_csv(path)
    problem = f"the file name ends in {path.suffix!r}. Readable files end in .parquet or .csv."
    raise RecordError(problem, code="unreadable-table")


def key_column(service: Service, table: pa.Table) -> pa.ChunkedArray:
    """Return the key column as 64-bit integers or text, after refusing missing and repeated keys."""
    column = _with_plain_text(table, service.key).column(service.key)

    def refuse(problem: str, code: str, rows: int = 0, first_row: int | None = None) -> RecordError:
        return RecordError(problem, code=code, service=service.name, column=service.key, rows=rows, first_row=first_row)

    if column.null_count:
        first = pc.index(pc.is_null(column), True).as_py()
        raise refuse("a key is missing. Every row names its person.", "missing-key", column.null_count, first)
    if pa.types.is_integer(column.type):
        try:
            column = column.cast(pa.int64())
        except pa.ArrowInvalid:
            raise refuse("a key is beyond 63 bits. Keys are 64-bit integers or text.", "wrong-type") from None
        repeats = _count_repeats(np.concatenate([np.asarray(chunk) for chunk in column.chunks]))
        if repeats:
            raise refuse("a person occurs in more than one row. Keep one row per person.", "duplicate-key", repeats)
        return column
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.large_string())
        repeats = len(column) - pc.count_distinct(column).as_py()
        if repeats:
            raise refuse("a person occurs in more than one row. Keep one row per person.", "duplicate-key", repeats)
        return column
    raise refuse("keys are 64-bit integers or text. Convert the column.", "wrong-type")


def _count_repeats(keys: npt.NDArray[np.int64]) -> int:
    """Count keys that occurred before: by marking a dense range, else by sorting buckets of keys.

    A hash table of the keys would take ten times the memory.
    """
    lowest, highest = int(keys.min()), int(keys.max())
    if highest - lowest < DENSE * len(keys):
        seen = np.zeros(highest - lowest + 1, dtype=np.bool_)
        seen[keys - lowest if lowest else keys] = True
        return len(keys) - int(np.count_nonzero(seen))
    scattered = keys.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # multiplicative hashing spreads any pattern
    bucket = (scattered >> np.uint64(64 - BUCKET_BITS)).astype(np.uint8)

    def repeats(index: int) -> int:
        mine = np.sort(keys[bucket == index])
        return int(np.count_nonzero(mine[1:] == mine[:-1]))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return sum(pool.map(repeats, range(1 << BUCKET_BITS)))


def _sorted_integers(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    return np.sort(np.concatenate([np.asarray(chunk) for chunk in column.chunks]))


def check_people(keys: Mapping[str, pa.ChunkedArray], people: Iterable[int] | Iterable[str] | None) -> None:
    """Refuse services whose people differ: everybody in a round reports to every service."""
    names = list(keys)
    if people is None:
        reference, expected = f"the keys of {names[0]}", keys[names[0]]
        others = names[1:]
    else:
        reference, others = "people=", names
        try:
            expected = pa.chunked_array([pa.array(people)])
        except (pa.ArrowException, OverflowError, TypeError):
            problem = "people= must be a list of keys, all whole numbers or all text."
            raise RecordError(problem, code="wrong-type") from None
        expected = expected.cast(keys[names[0]].type, safe=True)
    for name in others:
        if keys[name].type != expected.type:
            problem = "its keys are of another type than the other services'. Use one type for the person's key."
            raise RecordError(problem, code="wrong-type", service=name)
        for problem, absent in (
            (
                f"keys that are not among {reference}. Encode the same people in every service.",
                _missing(keys[name], expected),
            ),
            (
                f"no row for some of {reference}. Encode the same people in every service.",
                _missing(expected, keys[name]),
            ),
        ):
            if absent:
                raise RecordError(problem, code="people-differ", service=name, rows=absent)


def _missing(keys: pa.ChunkedArray, among: pa.ChunkedArray) -> int:
    """Return how many keys are not among the others."""
    if pa.types.is_integer(keys.type):
        ordered, wanted = _sorted_integers(among), _sorted_integers(keys)
        if len(ordered) == len(wanted) and bool(np.array_equal(ordered, wanted)):
            return 0
        place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
        return int(np.count_nonzero(ordered[place] != wanted))
    found = pc.is_in(keys, value_set=pa.chunked_array(among).combine_chunks())
    return len(keys) - int(pc.sum(found).as_py() or 0)
