"""Convert columns to and from PostgreSQL: SQL types of Arrow tables, rows as CSV, numbers as binary arrays.

Arrays are parameters and results of one statement, so contributions need no temporary table, which parallel workers
could not read. Numbers become NumPy arrays without a Python object for each.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
import pyarrow as pa
import pyarrow.csv
from psycopg.adapt import Buffer, Dumper, Loader
from psycopg.pq import Format

from tacit.engines.base import ReportBatch
from tacit.engines.dialect import short_name
from tacit.tables.statements import Sql, compose, quote_name

__all__ = [
    "Connection",
    "NumberArray",
    "columns_of",
    "compose_postgres",
    "copy_rows",
    "kinds_of",
    "quote",
    "read_rows",
    "take_types",
    "type_of",
    "use_number_arrays",
]

COPY_ROWS = 1 << 16
"""Rows copied at a time."""

Connection = psycopg.Connection[tuple[Any, ...]]

HEADER = struct.Struct(">iiIii")
"""Header of a binary array: dimensions, whether it has NULLs, element type, number of elements, first index."""

ELEMENTS = {1005: (21, ">i2"), 1007: (23, ">i4"), 1016: (20, ">i8"), 1021: (700, ">f4"), 1022: (701, ">f8")}
"""For each array type, the type of its elements and their binary format."""

INTEGERS, FLOATS = 1016, 1022
"""Oids of the array types that are sent."""


def quote(name: str) -> str:
    """Return a name as SQL, shortened if PostgreSQL would cut it off."""
    return quote_name(short_name(name))


def compose_postgres(template: str, /, **parts: str | Iterable[str]) -> Sql:
    """Return a template with its parts, names quoted as PostgreSQL keeps them."""
    return compose(template, quote=quote, **parts)


def type_of(kind: pa.DataType) -> str:
    """Return the SQL type of an Arrow type."""
    known = [
        (pa.types.is_boolean, "BOOLEAN"),
        (pa.types.is_int8, "SMALLINT"),
        (pa.types.is_int16, "SMALLINT"),
        (pa.types.is_uint8, "SMALLINT"),
        (pa.types.is_int32, "INTEGER"),
        (pa.types.is_uint16, "INTEGER"),
        (pa.types.is_uint64, "NUMERIC"),
        (pa.types.is_integer, "BIGINT"),
        (pa.types.is_float32, "REAL"),
        (pa.types.is_floating, "DOUBLE PRECISION"),
        (pa.types.is_decimal, "NUMERIC"),
        (pa.types.is_date, "DATE"),
        (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None, "TIMESTAMPTZ"),
        (pa.types.is_timestamp, "TIMESTAMP"),
    ]
    return next((text for is_kind, text in known if is_kind(kind)), "TEXT")


def columns_of(table: pa.Table) -> str:
    """Return the columns of a table as SQL, with their types."""
    return ", ".join(f"{quote(field.name)} {type_of(field.type)}" for field in table.schema)


def copy_rows(connection: Connection, name: str, table: pa.Table) -> None:
    """Copy rows as CSV, in which quoted text is never NULL."""
    plain = pa.csv.WriteOptions(include_header=False, quoting_style="all_valid")
    with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:
        for batch in table.to_batches(max_chunksize=COPY_ROWS):
            written = io.BytesIO()
            pa.csv.write_csv(_decode(batch), written, plain)
            copy.write(written.getbuffer())


def _decode(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Decode dictionary-encoded columns, which the CSV writer does not support."""
    columns = [
        column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def read_rows(cursor: psycopg.Cursor[tuple[Any, ...]], *, as_arrays: bool = False) -> pa.Table:
    """Return the selected rows, which come as rows or as one row with an array for each column."""
    names = [column.name for column in cursor.description or ()]
    rows = cursor.fetchall()
    if as_arrays:
        [row] = rows
        columns = [() if column is None else column for column in row]
    else:
        columns = list(zip(*rows, strict=True)) if rows else [() for _ in names]
    return pa.table([pa.array(column) for column in columns], names=names)


class NumberArray:
    """A column of numbers, to be sent as an array."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        floating = pa.types.is_floating(column.type)
        self.oid = FLOATS if floating else INTEGERS
        self._values = column.to_numpy().astype(np.float64 if floating else np.int64, copy=False)

    def __bytes__(self) -> bytes:
        """Return the array in PostgreSQL's binary format: a header, then length and value of each element."""
        element, kind = ELEMENTS[self.oid]
        framed = np.empty(len(self._values), dtype=[("length", ">i4"), ("value", kind)])
        framed["length"], framed["value"] = np.dtype(kind).itemsize, self._values
        return HEADER.pack(1, 0, element, len(framed), 1) + framed.tobytes()


class _Integers(Dumper):
    """Sends integers in binary."""

    format, oid = Format.BINARY, INTEGERS

    def get_key(self, obj: NumberArray, format: Any) -> Any:  # noqa: A002  psycopg's name
        """Return the key that distinguishes dumpers of different types."""
        del format
        return (NumberArray, obj.oid)

    def upgrade(self, obj: NumberArray, format: Any) -> Dumper:  # noqa: A002
        """Return the dumper of an array's type."""
        del format
        return self if obj.oid == self.oid else _Floats(NumberArray)

    def dump(self, obj: NumberArray) -> bytes:
        """Return the bytes of an array."""
        return bytes(obj)


class _Floats(_Integers):
    """Sends floating-point numbers in binary."""

    oid = FLOATS


class _Numbers(Loader):
    """Reads an array of numbers; one with NULLs, element by element."""

    format = Format.BINARY

    def load(self, data: Buffer) -> npt.NDArray[Any] | list[int | float | None]:
        """Return the numbers."""
        view = memoryview(data)
        if len(view) < HEADER.size:  # zero dimensions
            return []
        _, has_nulls, element, length, _ = HEADER.unpack_from(view)
        kind = np.dtype(next(kind for oid, kind in ELEMENTS.values() if oid == element))
        if not has_nulls:
            framed = np.frombuffer(view, [("length", ">i4"), ("value", kind)], length, HEADER.size)
            return framed["value"].astype(kind.newbyteorder("="))
        values: list[int | float | None] = []
        place = HEADER.size
        for _ in range(length):
            [size] = struct.unpack_from(">i", view, place)
            place += 4
            values.append(None if size < 0 else np.frombuffer(view, kind, 1, place)[0].item())
            place += max(size, 0)
        return values


def use_number_arrays(connection: Connection) -> None:
    """Let a connection send and receive arrays of numbers in binary."""
    connection.adapters.register_dumper(NumberArray, _Integers)
    for array in ELEMENTS:
        connection.adapters.register_loader(array, _Numbers)


def kinds_of(connection: Connection, table: str) -> list[tuple[str, str]]:
    """Return the names and types of a table's columns."""
    query = (
        "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute "
        "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped"
    )
    return [(str(name), str(kind)) for name, kind in connection.execute(query, [quote(table)])]


def take_types(connection: Connection, table: str, batch: ReportBatch) -> None:
    """Give public columns without any value yet the types of a batch.

    A column that a collector stored by the type of its first value becomes text when text arrives.
    """
    incoming = {short_name(field.name): type_of(field.type) for field in batch.reports.schema}
    for name, kind in kinds_of(connection, table):
        column, wanted = quote(name), incoming.get(name, "TEXT")
        if batch.is_collected and wanted == "TEXT" and kind in ("double precision", "boolean"):
            connection.execute(f"ALTER TABLE {quote(table)} ALTER COLUMN {column} TYPE TEXT USING {column}::text")
        if kind == "text" and wanted != "TEXT":
            query = "SELECT 1 FROM {table} WHERE {column} IS NOT NULL LIMIT 1"
            if not connection.execute(compose_postgres(query, table=table, column=name)).fetchall():
                connection.execute(f"ALTER TABLE {quote(table)} ALTER COLUMN {column} TYPE {wanted} USING NULL")
