"""Propose how to declare tables: who the people are, how many rows of a person count, and each column.

The person's key is the given column; or a column whose values differ in all rows; or the key of another table; or a
column named like a person's key, whose repeated values make the table one-to-many. Without any, each row is a person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.errors import SchemaError, UnknownNameError
from tacit.tables.columns import PERSON, WITH_POINT, Proposed, is_whole, propose_column
from tacit.tables.compute import pc
from tacit.tables.naming import with_allowed_names
from tacit.tables.read import as_arrow, plain_column

__all__ = ["ROW_NUMBER", "ProposedService", "propose_services"]

ROW_NUMBER = "row_number"
"""The key where each row is a person: the row's number, from 1 on."""

MOST_ROWS = 100
"""Maximum of the proposed ``at_most``: with more rows, little of the budget is left for each."""

ENOUGH = 0.9
"""Share of the people whose rows should all count."""


@dataclass(frozen=True)
class ProposedService:
    """A table's proposal: its key, the rows of a person that count (None: exactly one), and its columns."""

    name: str
    key: str
    at_most: int | None
    columns: tuple[Proposed, ...]
    people: int
    rows: int
    notes: tuple[str, ...] = ()

    def settings(self) -> dict[str, Any]:
        """Return the service as the settings of a collection file."""
        many = {} if self.at_most is None else {"at_most": self.at_most, "sends": 1}
        attributes = [{"name": column.name} | column.settings for column in self.columns if column.settings]
        return {"name": self.name, "key": self.key} | many | {"attributes": attributes}


def propose_services(sources: Mapping[str, Any], key: str | None = None) -> list[ProposedService]:
    """Return a proposal for each table; tables with one row for each person come first."""
    tables = {name: with_allowed_names(as_arrow(name, source)) for name, source in sources.items()}
    keys = {name: _key(name, table, key) for name, table in tables.items()}
    known = {column for column in keys.values() if column is not None}
    for name, table in tables.items():
        keys[name] = keys[name] or next(
            (column_name for column_name in table.column_names if column_name in known), None
        )
        keys[name] = keys[name] or next(
            (column_name for column_name in table.column_names if _names_people(table, column_name)), None
        )
    proposed = [_service(name, table, keys[name]) for name, table in tables.items()]
    return sorted(proposed, key=lambda service: service.at_most is not None)


def _key(name: str, table: pa.Table, key: str | None) -> str | None:
    """Return the given key, or a column that is different in all rows: one named like a key, or the first column."""
    if not table.num_rows:
        message = f"{name}: the table has no rows to propose columns from. Pass at least one row."
        raise SchemaError(message, code="empty-table")
    if key is not None:
        if key not in table.column_names:
            raise UnknownNameError(f"column of {name}", key, table.column_names)
        if not _may_be_key(table.column(key)):
            message = f"{name}: the key {key!r} must be a column of whole numbers or text."
            raise SchemaError(message, code="bad-option")
        return key
    names = [
        *(column_name for column_name in table.column_names if _names_people(table, column_name)),
        table.column_names[0],
    ]
    return next((column for column in names if _differs(table.column(column))), None)


def _may_be_key(column: pa.ChunkedArray) -> bool:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return any(
        test(kind)
        for test in (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )


def _names_people(table: pa.Table, name: str) -> bool:
    return PERSON.fullmatch(name.lower()) is not None and _may_be_key(table.column(name))


def _differs(column: pa.ChunkedArray) -> bool:
    column = plain_column(column)
    return _may_be_key(column) and not column.null_count and pc.count_distinct(column).as_py() == len(column)


def _service(name: str, table: pa.Table, key: str | None) -> ProposedService:
    notes, at_most, people = [], None, table.num_rows
    if key is None:
        key = ROW_NUMBER
        notes.append("no column is a key, so each row is a person, with the row's number as key")
        for name_of_key in filter(PERSON.fullmatch, map(str.lower, table.column_names)):
            column = next(table.column(each) for each in table.column_names if each.lower() == name_of_key)
            if is_whole(plain_column(column)):
                notes.append(
                    f"{name_of_key} may be the key, but {WITH_POINT}: whoever has several rows counts as several"
                )
    else:
        column = plain_column(table.column(key))
        if column.null_count:
            notes.append(f"{column.null_count:,} rows have no {key}, and belong to nobody")
        counts = np.asarray(pc.value_counts(column.drop_null().combine_chunks()).field("counts"))
        people = len(counts)
        if people and counts.max() > 1:
            at_most = _rows_that_count(counts)
            beyond = float((counts > at_most).mean())
            notes.append(f"{key} repeats, so a person has several rows, of which {at_most} count; the data has up to")
            notes[-1] += f" {counts.max():,}, and {beyond * 100:.2g} % of the people have more than count"
    columns = [
        propose_column(column_name, table.column(column_name))
        for column_name in table.column_names
        if column_name != key
    ]
    if not any(column.settings for column in columns):
        why = "; ".join(f"{column.name}: {column.left_out}" for column in columns) or "it has no column beside the key"
        message = f"{name}: no column can be collected as it is ({why}). Convert a column, or write the file by hand."
        raise SchemaError(message, code="empty-domain")
    return ProposedService(name, key, at_most, tuple(columns), people, table.num_rows, tuple(notes))


def _rows_that_count(counts: np.ndarray[Any, Any]) -> int:
    """Return how many rows of a person count: all of them for most people, as a round number."""
    enough = max(2, int(np.quantile(counts, ENOUGH)))
    return next((limit for limit in (2, 3, 5, 10, 20, 50) if enough <= limit), MOST_ROWS)
