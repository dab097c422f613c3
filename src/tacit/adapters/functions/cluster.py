"""Bulk encoding in Spark: raw tables never leave the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.adapters.functions.sharing import Sharing, sharing_rows
from tacit.collection import Collection
from tacit.encode.reports import NUMBERS, column_names, report_columns

__all__ = ["encode_in_spark"]

SPARK_TYPES = {pa.int16(): "SMALLINT", pa.int32(): "INT", pa.int64(): "BIGINT"}
"""Names of the types of a report's numbers."""


def encode_in_spark(collection: Collection, service: str, frame: Any, *, people: Any = None) -> Any:
    """Return a DataFrame of a service's reports, encoded on the executors that hold its rows.

    Parameters
    ----------
    collection : Collection
        What is collected.
    service : str
        The service whose rows the frame holds.
    frame : pyspark.sql.DataFrame
        The owner's rows.
    people : pyspark.sql.DataFrame, optional
        Everybody who takes part, needed if people may have no row: a frame with the key.

    Notes
    -----
    Spark may run a task again, and then draws again: write the reports to a table once, and use that table.
    """
    compiled = collection.contract[service]
    declared, sharing, channels = compiled.service, Sharing(collection.to_json()), len(compiled.channels)
    gathered = sharing_rows(collection, service, frame, people)
    public = [attribute.name for attribute in declared.public]
    types = {field.name: field.dataType.simpleString() for field in gathered.schema}
    types |= {name: SPARK_TYPES[kind] for name, kind in NUMBERS.items()}
    columns = [f"`{name}` {types[name]}" for name in column_names(declared)]
    sensitive = [attribute.name for attribute in declared.sensitive] if declared.one_to_one else ["rows_"]

    def encode_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            lists = sharing(pa.array([declared.name] * batch.num_rows), *(batch.column(name) for name in sensitive))
            width = len(lists.flatten()) // batch.num_rows
            place = np.tile(np.arange(width), batch.num_rows)
            row = pa.array(np.repeat(np.arange(batch.num_rows), width))
            shown = [batch.column(name).take(row) for name in public]
            keys, slots, channel = batch.column(declared.key).take(row), place // channels, place % channels
            yield pa.RecordBatch.from_pydict(report_columns(declared, keys, slots, channel, lists.flatten(), shown))

    return gathered.mapInArrow(encode_batches, ", ".join(columns))
