"""Convert any kind of table to an Arrow table with exactly the columns of its service."""

from __future__ import annotations

import difflib
from typing import Any

import pyarrow as pa

from tacit.contract.schema import Service
from tacit.encode.public import refuse_undeclared
from tacit.errors import RecordError
from tacit.tables.read import as_arrow

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
    table = as_arrow(service.name, source)
    expected = [service.key, *(attribute.name for attribute in service.attributes)]
    names = table.column_names
    for name in expected:
        if names.count(name) != 1:
            near = difflib.get_close_matches(name.lower(), [other.lower() for other in names], n=1)
            problem = "the column occurs twice" if name in names else "the column is missing"
            hint = " A column has a similar name: check the spelling." if near and name not in names else ""
            if table.schema.pandas_metadata and name not in names and not near:
                hint = " The index of a pandas frame is no column: call reset_index() if it is there."
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
