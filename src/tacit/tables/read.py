"""Read any kind of table as an Arrow table: frames, relations, dicts of columns, and files.

Errors of the libraries that read tables may quote values, so they are never chained.
"""

from __future__ import annotations

from collections.abc import Mapping
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
        return pa.table({column: _column(values) for column, values in source.items()})
    if isinstance(source, list) and source and all(isinstance(row, Mapping) for row in source):
        columns = dict.fromkeys(column for row in source for column in row)
        return pa.table({column: _column([row.get(column) for row in source]) for column in columns})
    problem = f"a {type(source).__name__} is not a table. {READABLE}"
    raise RecordError(problem, code="unreadable-table", service=name)


def _column(values: Any) -> pa.Array:
    """Return a column; objects that Arrow does not support are converted to scalars."""
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError):
        return pa.array([plain_scalar(value) for value in values])


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
