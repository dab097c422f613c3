"""Parquet files of a lake: reports sorted by key, so that a person is found in few row groups, and counts of codes."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.engines.base import ReportBatch, rollup_of, unfit
from tacit.engines.lake.manifest import Columns, LakeTable, Stored, digest_of
from tacit.engines.lake.storage import Storage
from tacit.sql.names import PEOPLE
from tacit.tables.compute import pc

__all__ = ["add_counts", "cast_rows", "holds", "is_of", "merge_files", "plain_rows", "read_rows", "write_rows"]

MOST_ROWS = 4_000_000
"""Minimum rows of a file that is no longer merged: a merge holds the result in memory."""

FAN_IN = 8
"""Number of files of about the same size that are merged into one."""

GROUP_ROWS = 100_000
"""Rows of a row group, the unit that is read to find a person."""


def write_rows(storage: Storage, folder: str, table: pa.Table, *, key: str | None = None) -> Stored:
    """Write a table as one new file, sorted by its key."""
    if key is not None:
        table = table.sort_by(key)
    integers = [field.name for field in table.schema if field.name == key and pa.types.is_integer(field.type)]
    sink = pa.BufferOutputStream()
    pq.write_table(
        table.replace_schema_metadata(None),
        sink,
        row_group_size=GROUP_ROWS,
        compression="zstd",
        use_dictionary=[name for name in table.column_names if name not in integers],
        column_encoding=dict.fromkeys(integers, "DELTA_BINARY_PACKED") or None,
        write_page_checksum=True,
    )
    content = memoryview(sink.getvalue())
    name = f"{folder}/{uuid.uuid4().hex}.parquet"
    storage.create(name, content)
    return Stored(name, table.num_rows, content.nbytes, digest_of(content))


def read_rows(storage: Storage, files: Sequence[Stored], columns: Columns) -> pa.Table:
    """Return the rows of some files, with a table's columns."""
    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns])
    return pa.concat_tables([cast_rows(storage.parquet(file.name).read(), schema) for file in files])


def cast_rows(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows with the columns of a schema; columns without a type are empty."""
    columns = [
        pa.nulls(table.num_rows) if pa.types.is_null(field.type) else table[field.name].cast(field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def plain_rows(batch: ReportBatch, stored: LakeTable | None) -> pa.Table:
    """Return a batch with the stored types; refuse others.

    A column without any value so far takes the type of the first batch that has one.
    """
    known = dict(stored.columns) if stored else {}
    fields = []
    for field in batch.reports.schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        kind = pa.string() if pa.types.is_large_string(kind) else kind
        stored_type = known.get(field.name, "null")
        if pa.types.is_null(kind):
            kind = pa.type_for_alias(stored_type)
        if stored_type not in ("null", str(kind)):
            raise unfit(TypeError())
        fields.append(pa.field(field.name, kind))
    return cast_rows(batch.reports, pa.schema(fields))


def is_of(table: pa.Table, key: str, person: int | str) -> pa.ChunkedArray:
    """Return, for each row, whether it belongs to a person; ids are compared as text."""
    return pc.equal(pc.cast(table[key], pa.string()), str(person))


def holds(file: pq.ParquetFile, key: str, person: int | str) -> bool:
    """Return whether a file has rows of a person; only row groups whose key range includes the person are read."""
    column = file.schema_arrow.get_field_index(key)
    for number in range(file.num_row_groups):
        statistics = file.metadata.row_group(number).column(column).statistics
        if statistics is not None and statistics.has_min_max:
            try:
                wanted = type(statistics.min)(person)
            except ValueError:  # the id is text, but keys are numbers
                return False
            if not statistics.min <= wanted <= statistics.max:
                continue
        if pc.any(is_of(file.read_row_group(number, columns=[key]), key, person)).as_py():
            return True
    return False


def add_counts(storage: Storage, name: str, table: LakeTable, rows: pa.Table, *, sign: int = 1) -> LakeTable:
    """Return a table whose rollups include the rows or, with sign -1, exclude them."""
    if table.by is None:
        return table
    names = ["channel", "code", *table.by]
    counted = rows.select(names).group_by(names).aggregate([([], "count_all")]).rename_columns([*names, PEOPLE])
    signed = pc.multiply(counted[PEOPLE], pa.scalar(sign, pa.int64()))
    counted = counted.set_column(len(names), PEOPLE, signed)
    return table.with_rollups(*table.rollups, write_rows(storage, rollup_of(name), counted))


def merge_files(storage: Storage, name: str, table: LakeTable, key: str) -> LakeTable:
    """Merge small files of reports or rollups; return the same table if there is nothing to merge."""
    if small := _too_many(table.files):
        merged = write_rows(storage, name, read_rows(storage, small, table.columns), key=key)
        return table.with_files(*(file for file in table.files if file not in small), merged)
    if small := _too_many(table.rollups):
        rows = read_rows(storage, small, table.rollup_columns)
        names = rows.column_names[:-1]
        counted = rows.group_by(names).aggregate([(PEOPLE, "sum")]).rename_columns([*names, PEOPLE])
        merged = write_rows(storage, rollup_of(name), counted.filter(pc.not_equal(counted[PEOPLE], 0)))
        return table.with_rollups(*(file for file in table.rollups if file not in small), merged)
    return table


def _too_many(files: Sequence[Stored]) -> list[Stored]:
    """Return the files to merge into one, or none: `FAN_IN` files of one order of magnitude, a power of eight."""
    orders: dict[int, list[Stored]] = {}
    for file in files:
        if file.rows < MOST_ROWS:
            orders.setdefault(len(f"{file.rows:o}"), []).append(file)
    return next((same[:FAN_IN] for _, same in sorted(orders.items()) if len(same) >= FAN_IN), [])
