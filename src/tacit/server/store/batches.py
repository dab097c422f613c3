"""Reports of an inbox as tables of the analytical database: what the encoder would have made."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tacit.collection import Collection
from tacit.contract.contract import ServiceContract
from tacit.encode.reports import Content, ReportTable
from tacit.server.store.base import Pending
from tacit.server.store.validate import stored_key

__all__ = ["batch_of", "with_stored_keys"]


def batch_of(
    collection: Collection, compiled: ServiceContract, reports: Pending, contents: Sequence[Content]
) -> ReportTable:
    """Return reports as the encoder would have made them.

    The engine is told how many rows there must be before: those that have left the inbox, all of which are there. If
    there are no others, what the inbox calls new is new there, too, and need not be looked for among all of them.
    """
    keys, rows_before = [stored_key(person) for person in reports.people], len(compiled.channels) * reports.settled
    return ReportTable.from_json(collection.id, compiled, keys, reports.slots, contents, rows_before=rows_before)


def with_stored_keys(reports: pa.Table, key: str) -> pa.Table:
    """Return encoded reports with people as a collector's database knows them: whole numbers as marked text."""
    column = reports[key]
    if not pa.types.is_integer(column.type):
        return reports
    marked = pa.array([stored_key(person) for person in column.to_pylist()], pa.string())
    renamed = reports.set_column(reports.column_names.index(key), key, marked)
    return renamed.replace_schema_metadata(reports.schema.metadata)
