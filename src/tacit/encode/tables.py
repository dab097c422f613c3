"""Whatever holds a table becomes an Arrow table with exactly the columns of its service.

Errors of the libraries that read tables may quote values, so they are never chained.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from tacit.errors import RecordError, UnknownNameError
from tacit.schema import Service

__all__ = ["as_table", "with_plain_text"]

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
        table = with_plain_text(table, attribute.name)
        if not any(test(table.schema.field(attribute.name).type) for test in PUBLIC_TYPES):
            problem = "a public column must hold numbers, text, booleans, dates or times. Convert it."
            raise RecordError(problem, code="wrong-type", service=service.name, column=attribute.name)
    return table


def with_plain_text(table: pa.Table, name: str) -> pa.Table:
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
