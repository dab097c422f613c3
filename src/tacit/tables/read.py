"""Read any kind of table as an Arrow table: frames, relations, dicts of columns, and files.

Errors of the libraries that read tables may quote values, so they are never chained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacit.client.scalars import plain_scalar
from tacit.errors import RecordError
from tacit.tables.compute import pc
from tacit.tables.files import read_file

__all__ = ["as_arrow", "plain_column"]

READABLE = (
    "Pass a pandas, polars, Arrow or DuckDB table, a dict of columns of one type and length each, a list of dicts, "
    "or the path of a Parquet, CSV or JSON lines file. Whole numbers must fit 64 bits, text must be Unicode."
)

COLUMN = (
    "A column is a list or array of values of one kind: numbers, texts, dates or booleans. Whole numbers must fit "
    "64 bits, text must be Unicode."
)

MOST_NAMED = 8
"""Columns that an error lists."""


def as_arrow(name: str, source: Any) -> pa.Table:
    """Return any kind of table as an Arrow table; errors name it but show none of its content."""
    table, failure = None, ""
    try:
        table = _read(name, source)
    except RecordError:
        raise
    except Exception as cause:  # any library may fail here, and its message may quote values
        failure = type(cause).__name__
    if table is None:  # raised outside the handler, so that the cause is not chained
        problem = f"the table cannot be read ({failure}). {READABLE}"
        raise RecordError(problem, code="unreadable-table", service=name)
    return _with_large_texts(table)


def _with_large_texts(table: pa.Table) -> pa.Table:
    """Return a table whose texts Arrow can select and decode: those of polars are views."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(pa.large_string()))
        elif pa.types.is_dictionary(field.type) and pa.types.is_string_view(field.type.value_type):
            chunks = [
                pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.large_string()))
                for chunk in table.column(place).chunks
            ]
            kind = pa.dictionary(field.type.index_type, pa.large_string())
            table = table.set_column(place, field.name, pa.chunked_array(chunks, kind))
    return table


def _read(name: str, source: Any) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, str | Path):
        return read_file(name, source)
    module = type(source).__module__.partition(".")[0]
    if module == "pandas" and hasattr(source, "columns"):
        return pa.Table.from_pandas(source, preserve_index=False)
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source)
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, Mapping):
        return _of_columns(name, source)
    if isinstance(source, list) and source and all(isinstance(row, Mapping) for row in source):
        columns = dict.fromkeys(column for row in source for column in row)
        return _of_columns(name, {column: [row.get(column) for row in source] for column in columns})
    refusal = f"a {type(source).__name__} is not a table.{_first_step(source)}"
    raise RecordError(f"{refusal} {READABLE}", code="unreadable-table", service=name)


def _first_step(source: Any) -> str:
    """Return what turns something into a table, if it is known."""
    for method in ("collect", "to_table"):  # of lazy frames, and of datasets
        if callable(getattr(source, method, None)):
            return f" Call {method}() first."
    return " Make a list of it first." if isinstance(source, Iterator) else ""


def _of_columns(name: str, source: Mapping[Any, Any]) -> pa.Table:
    columns = {str(column): _column(name, str(column), values) for column, values in source.items()}
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        counts = ", ".join(f"{column} {len(values):,}" for column, values in [*columns.items()][:MOST_NAMED])
        problem = f"columns have different numbers of values: {counts}. Give each column a value for each row."
        raise RecordError(problem, code="unreadable-table", service=name)
    return pa.table(columns)


def _column(name: str, column: str, values: Any) -> pa.Array:
    """Return a column; objects that Arrow does not support are converted to scalars."""
    failure = ""
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        try:
            return pa.array([plain_scalar(value) for value in values])
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as cause:
            failure = type(cause).__name__
    problem = f"the column cannot be read ({failure}). {COLUMN}"
    raise RecordError(problem, code="unreadable-table", service=name, column=column)


def plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with dictionaries and views decoded, and NaN as NULL."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string_view(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.large_string())
    if pa.types.is_floating(column.type):
        nan = pc.is_nan(column)
        if pc.any(nan).as_py():
            column = pc.if_else(nan, pa.scalar(None, column.type), column)
    return column
