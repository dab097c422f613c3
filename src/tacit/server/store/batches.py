"""Reports of an inbox as tables of the analytical database, in the form that the encoder produces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.collection import Collection
from tacit.contract.contract import ServiceContract
from tacit.contract.schema import Public
from tacit.engines.base import ROWS_BEFORE
from tacit.server.store.base import Pending
from tacit.server.store.records import Content
from tacit.server.store.validate import stored_key
from tacit.sql.mixed import stored_text

__all__ = ["batch_of", "with_stored_keys"]

TYPES = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}


def batch_of(
    collection: Collection,
    compiled: ServiceContract,
    reports: Pending,
    contents: Sequence[Content],
) -> pa.Table:
    """Return reports as the encoder would have made them.

    The batch states how many rows the engine must already have: those that have left the inbox. If it has no others,
    every report that is new to the inbox is new there too, and need not be looked up.
    """
    service, channels = compiled.service, len(compiled.channels)
    rows = len(reports.numbers)
    repeat = pa.array(np.repeat(np.arange(rows), channels))
    columns: dict[str, Any] = {
        service.key: pa.array([stored_key(person) for person in reports.people], pa.string()).take(repeat),
        "slot": pa.array(reports.slots, pa.int16()).take(repeat),
        "channel": pa.array(np.tile(np.arange(channels, dtype=np.int32), rows)),
        "code": pa.array([code for codes, _ in contents for code in codes], pa.int64()),
    }
    for number, attribute in enumerate(service.public):
        values = [public[number] for _, public in contents]
        columns[attribute.name] = _public(attribute, values).take(repeat)
    metadata = {"tacit.collection": collection.id, "tacit.service": service.name}
    metadata |= {ROWS_BEFORE.decode(): str(channels * reports.settled)}
    return pa.table(columns).replace_schema_metadata(metadata)


def with_stored_keys(reports: pa.Table, key: str) -> pa.Table:
    """Return encoded reports with people's keys as a collector's database stores them: integers as marked text."""
    column = reports[key]
    if not pa.types.is_integer(column.type):
        return reports
    marked = pa.array([stored_key(person) for person in column.to_pylist()], pa.string())
    renamed = reports.set_column(reports.column_names.index(key), key, marked)
    return renamed.replace_schema_metadata(reports.schema.metadata)


def _public(attribute: Public, values: list[Any]) -> pa.Array:
    """Return values as a column of the declared type, or as text if none is declared."""
    if not attribute.typed:
        return pa.array([stored_text(value) for value in values], pa.string())
    declared = attribute.type or ("str" if isinstance((attribute.values or ("",))[0], str) else "int")
    if declared == "float":
        values = [None if value is None else float(value) for value in values]
    return pa.array(values, TYPES[declared])
