"""Reports of an inbox as tables of the analytical database, in the form that the encoder produces."""

from __future__ import annotations

import pyarrow as pa

from tacit.collection import Collection
from tacit.contract.contract import ServiceContract
from tacit.encode.reports import ReportTable
from tacit.server.store.base import PendingReports
from tacit.server.store.validate import stored_key

__all__ = ["batch_of", "with_stored_keys"]


def batch_of(collection: Collection, compiled: ServiceContract, reports: PendingReports) -> ReportTable:
    """Return reports as the encoder would have made them.

    The batch states how many rows the engine must already have: those that have left the inbox. If it has no others,
    every report that is new to the inbox is new there too, and need not be looked up.
    """
    before = len(compiled.channels) * reports.settled
    said = reports.keys, reports.slots, reports.contents
    return ReportTable.from_json(collection.id, compiled, *said, rows_before=before)


def with_stored_keys(reports: pa.Table, key: str) -> pa.Table:
    """Return encoded reports with people's keys as a collector's database stores them: integers as marked text."""
    column = reports[key]
    if not pa.types.is_integer(column.type):
        return reports
    marked = pa.array([stored_key(person) for person in column.to_pylist()], pa.string())
    renamed = reports.set_column(reports.column_names.index(key), key, marked)
    return renamed.replace_schema_metadata(reports.schema.metadata)
