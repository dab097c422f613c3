"""Convert raw tables to the columns of their services, and report each change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tacit.contract.schema import Categorical, Ordinal, Schema, Service
from tacit.errors import RecordError
from tacit.tables.compute import pc
from tacit.tables.naming import with_allowed_names
from tacit.tables.proposal import ROW_NUMBER
from tacit.tables.read import as_arrow, plain_column

__all__ = ["prepare_tables"]


def prepare_tables(schema: Schema, sources: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments of `encode`, and a note about each change.

    Columns that are not declared are left out, as are rows without a key; NaN becomes NULL; numbers whose declared
    values are texts become texts; rows are numbered if the declared key is a row number. If no service has one row
    for everybody, the people are those with rows.
    """
    notes: list[str] = []
    tables: dict[str, Any] = {}
    for name, source in sources.items():
        tables[name] = _fit_table(schema[name], with_allowed_names(as_arrow(name, source)), notes)
    if not any(service.one_to_one for service in schema.services):
        keys = [tables[service.name].column(service.key) for service in schema.services if service.name in tables]
        everybody = pa.chunked_array([chunk for column in keys for chunk in column.chunks]) if keys else pa.array([])
        tables["people"] = pc.unique(everybody)
        notes.append(f"{len(tables['people']):,} people take part: those with rows")
    return tables, notes


def _fit_table(service: Service, table: pa.Table, notes: list[str]) -> pa.Table:
    if service.key == ROW_NUMBER and service.key not in table.column_names:
        table = table.append_column(service.key, pa.array(range(1, table.num_rows + 1), pa.int64()))
        notes.append(f"{service.name}: rows are numbered; each is a person")
    table = _one_row_per_choice(service, table, notes)
    declared = [service.key, *(attribute.name for attribute in service.attributes)]
    missing = [name for name in declared if name not in table.column_names]
    if missing:
        problem = f"the column is missing. Columns of the table: {', '.join(table.column_names)}."
        raise RecordError(problem, code="missing-column", service=service.name, column=missing[0])
    left_out = [name for name in table.column_names if name not in declared]
    if left_out:
        notes.append(f"{service.name}: left out {', '.join(left_out)}")
    table = table.select(declared)
    nobody = table.column(service.key).null_count
    if nobody:
        table = table.filter(pc.is_valid(table.column(service.key)))
        notes.append(f"{service.name}: left out {nobody:,} rows without {service.key}")
    for attribute in service.sensitive:
        column = plain_column(table.column(attribute.name))
        if isinstance(attribute, Ordinal) and attribute.is_date and pa.types.is_timestamp(column.type):
            column = column.cast(pa.date32(), safe=False)
            notes.append(f"{service.name}: the times of {attribute.name} are cut to days")
        texts = isinstance(attribute, Categorical) and attribute.has_text
        if texts and pa.types.is_integer(column.type):
            column = column.cast(pa.large_string())
            notes.append(f"{service.name}: the numbers of {attribute.name} are read as texts")
        table = table.set_column(table.column_names.index(attribute.name), attribute.name, column)
    return table


def _one_row_per_choice(service: Service, table: pa.Table, notes: list[str]) -> pa.Table:
    """Return a row for each choice, if the table lists choices in a column named like the service."""
    only = service.sensitive[0].name if len(service.attributes) == 1 else ""
    if not only or only in table.column_names or {service.name, service.key} - set(table.column_names):
        return table
    lists = table.column(service.name).combine_chunks()
    if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)):
        return table
    keys = table.column(service.key).combine_chunks().take(pc.list_parent_indices(lists))
    notes.append(f"{service.name}: each item of a list is a row")
    return pa.table({service.key: keys, only: pc.list_flatten(lists)})
