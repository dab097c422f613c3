"""Convert any kind of table to an Arrow table with exactly the columns of its service.

Errors of the libraries that read tables may quote values, so they are never chained.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from tacit.client.scalars import plain_scalar
from tacit.contract.schema import Service
from tacit.encode.public import refuse_undeclared
from tacit.errors import RecordError

__all__ = ["as_arrow", "as_table", "read_file", "with_plain_text"]

READABLE = (
    "Pass a pandas, polars, Arrow or DuckDB table, a dict of columns of one type and length each, "
    "or the path of a Parquet or CSV file. Whole numbers must fit 64 bits, text must be Unicode."
)

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


def as_arrow(name: str, source: Any) -> pa.Table:
    """Return any kind of table as an Arrow table; errors name it, and show none of its content."""
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


def as_table(service: Service, source: Any) -> pa.Table:
    """Return the source as an Arrow table with the key and attributes of the service, in order."""
    table = as_arrow(service.name, source)
    expected = [service.key, *(attribute.name for attribute in service.attributes)]
    names = table.column_names
    for name in expected:
        if names.count(name) != 1:
            near = difflib.get_close_matches(name.lower(), [other.lower() for other in names], n=1)
            problem = "the column occurs twice" if name in names else "the column is missing"
            hint = " A column has a similar name: check the spelling." if near and name not in names else ""
            advice = f"{problem}.{hint} Expected columns: {', '.join(expected)}."
            raise RecordError(advice, code="missing-column", service=service.name, column=name)
    for name in names:
        if name not in expected:
            problem = f"the column is not in the schema. Select only: {', '.join(expected)}."
            raise RecordError(problem, code="unknown-column", service=service.name, column=name)
    if table.num_rows == 0 and service.one_to_one:
        problem = "the table is empty. Pass at least one row."
        raise RecordError(problem, code="empty-table", service=service.name)
    table = table.select(expected)
    for attribute in service.public:
        table = with_plain_text(table, attribute.name)
        if not any(test(table.schema.field(attribute.name).type) for test in PUBLIC_TYPES):
            problem = "a public column must hold numbers, text, booleans, dates or times. Convert it."
            raise RecordError(problem, code="wrong-type", service=service.name, column=attribute.name)
        if attribute.typed:
            refuse_undeclared(service.name, attribute, table.column(attribute.name))
    return table


def with_plain_text(table: pa.Table, name: str) -> pa.Table:
    """Return the table with dictionary and view columns decoded, so that every engine can store it."""
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    return table.set_column(table.column_names.index(name), name, column)


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
    problem = f"a {type(source).__name__} is not a table. {READABLE}"
    raise RecordError(problem, code="unreadable-table", service=name)


def _column(values: Any) -> pa.Array:
    """Return a column; objects that Arrow does not support are converted to scalars."""
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError):
        return pa.array([plain_scalar(value) for value in values])


def read_file(name: str, source: str | Path) -> pa.Table:
    """Read a Parquet or CSV file of a service."""
    path = Path(source)
    readers = {".parquet": pa.parquet.read_table, ".csv": pa.csv.read_csv}
    problem = ""
    if path.suffix.lower() not in readers:
        problem = "the path does not end in .parquet or .csv."
    elif not path.is_file():
        problem = "the file does not exist."
    if problem:
        raise RecordError(problem, code="unreadable-table", service=name)
    return readers[path.suffix.lower()](path)
