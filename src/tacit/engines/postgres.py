"""PostgreSQL: reports in tables without key or index, contributions copied into temporary tables.

A table of several channels is partitioned by channel, since most questions read a few of them; those of one channel
are plain tables. Statements are translated from DuckDB's dialect. Every thread that asks has a connection of its own.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from tacit.engines.base import Batch, Stamp, Upload, counted, is_long, rollup_of, uncounted, unfit, unrunnable
from tacit.engines.deadline import interruptible
from tacit.engines.dialect import in_postgres, short_name
from tacit.errors import EngineError

try:
    import psycopg
except ImportError:
    message = "PostgreSQL needs psycopg. Install tacit with its extra: pip install '.[postgres]'."
    raise EngineError(message, code="missing-extra") from None

__all__ = ["Postgres", "open_postgres"]

COPY_ROWS = 1 << 16
"""Rows that are copied at a time."""

Connection = psycopg.Connection[tuple[Any, ...]]


class Postgres:
    """An engine over one PostgreSQL database."""

    whole_alphabet = 100_000

    def __init__(self, address: str) -> None:
        self._address = address
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        with self._connection() as connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS tacit_collections (number BIGSERIAL, id TEXT UNIQUE, contract TEXT)"
            )
            connection.execute("CREATE TABLE IF NOT EXISTS tacit_dimensions (name TEXT PRIMARY KEY, key TEXT)")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS tacit_rollups (name TEXT PRIMARY KEY, by TEXT[], rows BIGINT)"
            )
            connection.execute("CREATE TABLE IF NOT EXISTS tacit_stamp (identity TEXT, generation BIGINT)")

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """Lend a connection inside a transaction; one whose transaction fails is thrown away."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        try:
            connection = connection or psycopg.connect(self._address, cursor_factory=psycopg.RawCursor)
        except psycopg.Error as cause:  # its words name host and user
            problem = f"The PostgreSQL database cannot be reached ({type(cause).__name__}). Check its address."
            raise EngineError(problem, code="unreadable-database") from None
        try:
            with connection.transaction():
                yield connection
        except BaseException:
            if connection.broken:  # the server went away: the others are no better
                self.close()
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)

    def contracts(self) -> list[str]:
        """Return the texts of all contracts, in the order of their creation."""
        with self._connection() as connection:
            rows = connection.execute("SELECT contract FROM tacit_collections ORDER BY number").fetchall()
        return [text for (text,) in rows]

    def add_contract(self, name: str, text: str) -> None:
        """Store a contract."""
        with self._connection() as connection:
            insert = "INSERT INTO tacit_collections (id, contract) VALUES ($1, $2) ON CONFLICT DO NOTHING"
            connection.execute(insert, [name, text])

    def store_dimension(self, name: str, key: str, table: pa.Table) -> None:
        """Keep a public table; one of the same name is replaced."""
        stored = _quoted(f"dimension_{name}")
        with self._connection() as connection:
            connection.execute(f"DROP TABLE IF EXISTS {stored}")
            connection.execute(f"CREATE TABLE {stored} ({_columns(table)})")
            _copy(connection, stored, table)
            insert = "INSERT INTO tacit_dimensions VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET key = $2"
            connection.execute(insert, [name, key])

    def dimensions(self) -> list[tuple[str, str, pa.Table]]:
        """Return all public tables with their names and keys."""
        with self._connection() as connection:
            rows = connection.execute("SELECT name, key FROM tacit_dimensions ORDER BY name").fetchall()
            return [
                (name, key, _table(connection.execute(f"SELECT * FROM {_quoted(f'dimension_{name}')}")))  # noqa: S608
                for name, key in rows
            ]

    def has_table(self, table: str) -> bool:
        """Tell whether a report table exists."""
        with self._connection() as connection:
            return _exists(connection, table)

    def text_columns(self, table: str) -> frozenset[str]:
        """Return the columns of a report table that hold text."""
        with self._connection() as connection:
            return frozenset(name for name, kind in _kinds(connection, table) if kind == "text")

    def append(self, batches: Sequence[Batch]) -> list[int]:
        """Add the reports of people who have not reported, all batches or none; return how many each refused."""
        try:
            with self._connection() as connection:
                rolled = _rollups(connection)
                return [self._append(connection, batch, rolled) for batch in batches]
        except psycopg.Error as cause:
            failure = cause
        raise unfit(failure)

    def _append(self, connection: Connection, batch: Batch, rolled: Mapping[str, Sequence[str]]) -> int:
        key, table = _quoted(batch.service.key), _quoted(batch.table)
        if not _exists(connection, batch.table):
            _create(connection, batch)
        connection.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")  # one batch at a time
        connection.execute(f"CREATE TEMP TABLE incoming ({_columns(batch.reports)}) ON COMMIT DROP")
        _copy(connection, "incoming", batch.reports)
        known = [(table, f"o.{key} = n.{key} AND o.slot = n.slot AND o.channel = n.channel")]
        known += [
            (_quoted(name), f"o.{_quoted(own)} = n.{key}") for name, own in batch.elsewhere if _exists(connection, name)
        ]
        unknown = " AND ".join(f"NOT EXISTS (SELECT 1 FROM {name} o WHERE {same})" for name, same in known)  # noqa: S608
        names = ", ".join(_quoted(name) for name in batch.reports.column_names)
        connection.execute(
            f"CREATE TEMP TABLE accepted ON COMMIT DROP AS SELECT DISTINCT ON ({key}, slot, channel) {names} "  # noqa: S608
            f"FROM incoming n WHERE {unknown}"
        )
        for stored_in in (batch.table, rollup_of(batch.table)):
            _take_types(connection, stored_in, batch)
        stored = connection.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM accepted").rowcount  # noqa: S608
        if batch.table in rolled:
            self._roll_up(connection, batch.table, rolled[batch.table])
        connection.execute("DROP TABLE incoming, accepted")
        return batch.rows - stored

    def _roll_up(self, connection: Connection, table: str, by: Sequence[str]) -> None:
        """Add the accepted reports to a rollup, and roll it up again if it has become long."""
        name = rollup_of(table)
        connection.execute(in_postgres(f'INSERT INTO "{name}" {counted("accepted", by)}'))
        [(rows,)] = connection.execute(f"SELECT count(*) FROM {_quoted(name)}").fetchall()  # noqa: S608
        [(least,)] = connection.execute("SELECT rows FROM tacit_rollups WHERE name = $1", [table]).fetchall()
        if is_long(rows, least):
            self._replace_rollup(connection, table, by, counted(name, by, again=True))

    def _replace_rollup(self, connection: Connection, table: str, by: Sequence[str], rows: str) -> None:
        name = _quoted(rollup_of(table))
        connection.execute(f"CREATE TEMP TABLE rolled ON COMMIT DROP AS {in_postgres(rows)}")
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        size = connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rolled").rowcount  # noqa: S608
        connection.execute("DROP TABLE rolled")
        insert = "INSERT INTO tacit_rollups VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE SET by = $2, rows = $3"
        connection.execute(insert, [table, list(by), size])

    def forget(self, tables: Sequence[tuple[str, str]], person: int | str) -> int:
        """Delete a person from tables, given with their keys, and from their rollups; return how many rows."""
        deleted = 0
        with self._connection() as connection:
            rolled = _rollups(connection)
            for table, key in tables:
                if table in rolled:
                    fewer = f'INSERT INTO "{rollup_of(table)}" {uncounted(table, key, rolled[table])}'
                    connection.execute(in_postgres(fewer), [str(person)])
                query = f"DELETE FROM {_quoted(table)} WHERE {_quoted(key)}::text = $1"  # noqa: S608
                deleted += connection.execute(query, [str(person)]).rowcount
        return deleted

    def add_rollup(self, table: str, by: Sequence[str]) -> None:
        """Keep counts of codes by public columns beside a report table from now on, exact after every batch."""
        with self._connection() as connection:
            connection.execute(f"LOCK TABLE {_quoted(table)} IN SHARE ROW EXCLUSIVE MODE")
            self._replace_rollup(connection, table, by, counted(table, by))

    def rollups(self) -> dict[str, tuple[str, ...]]:
        """Return the report tables that have a rollup, with its public columns."""
        with self._connection() as connection:
            return _rollups(connection)

    def codes(self, table: str, channel: int) -> npt.NDArray[np.int64]:
        """Return the distinct codes of a channel, in order."""
        query = f"SELECT DISTINCT code FROM {_quoted(table)} WHERE channel = $1 ORDER BY code"  # noqa: S608
        with self._connection() as connection:
            return np.array([code for (code,) in connection.execute(query, [channel])], dtype=np.int64)

    def changes(self) -> None:
        """Other processes may change reports at any time."""

    def fetch(self, statement: str, parameters: Sequence[Any], uploads: Upload) -> pa.Table:
        """Run one statement over the reports and the uploaded tables."""
        try:
            with self._connection() as connection:
                for name, table in uploads.items():
                    connection.execute(f"CREATE TEMP TABLE {name} ({_columns(table)}) ON COMMIT DROP")
                    _copy(connection, name, table)
                    connection.execute(f"ANALYZE {name}")
                with interruptible(connection.cancel_safe):
                    return _table(connection.execute(in_postgres(statement), list(parameters)))
        except psycopg.Error as cause:
            failure = cause
        raise unrunnable(failure)

    def stamp(self) -> Stamp | None:
        """Return the stamp of a collector's database, or None if it has none."""
        with self._connection() as connection:
            rows = connection.execute("SELECT identity, generation FROM tacit_stamp").fetchall()
        return Stamp(*rows[0]) if rows else None

    def set_stamp(self, stamp: Stamp) -> None:
        """Stamp the database; it is on disk when this returns."""
        with self._connection() as connection:
            connection.execute("SET LOCAL synchronous_commit = on")
            if not connection.execute("UPDATE tacit_stamp SET identity = $1, generation = $2", list(stamp)).rowcount:
                connection.execute("INSERT INTO tacit_stamp VALUES ($1, $2)", list(stamp))

    def probe(self) -> bool:
        """Write something and tell whether it can be read back."""
        with self._connection() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS tacit_probe (number BIGINT)")
            connection.execute("DELETE FROM tacit_probe")
            connection.execute("INSERT INTO tacit_probe VALUES (1)")
        with self._connection() as connection:
            return bool(connection.execute("SELECT number FROM tacit_probe").fetchall())

    def read_all(self) -> None:
        """Do nothing: the server checks its own pages."""

    def clear(self, table: str) -> None:
        """Drop a report table and its rollup."""
        with self._connection() as connection:
            connection.execute("DELETE FROM tacit_rollups WHERE name = $1", [table])
            for name in (rollup_of(table), table):
                connection.execute(f"DROP TABLE IF EXISTS {_quoted(name)}")

    def copy_to(self, path: Any) -> None:
        """Refuse: there are better tools."""
        del path
        message = "Copy a PostgreSQL database with pg_dump."
        raise EngineError(message, code="kept-elsewhere")

    def close(self) -> None:
        """Close all connections that nobody uses."""
        with self._lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()


def open_postgres(path: Any, engine: Any, *, read_only: bool) -> Postgres:
    """Open the database at an address, which stands in either place."""
    del read_only
    return Postgres(next(one for one in (path, engine) if str(one).startswith(("postgresql:", "postgres:"))))


def _quoted(name: str) -> str:
    return '"' + short_name(name).replace('"', '""') + '"'


def _exists(connection: Connection, table: str) -> bool:
    query = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1"
    [(count,)] = connection.execute(query, [short_name(table)]).fetchall()
    return bool(count)


def _rollups(connection: Connection) -> dict[str, tuple[str, ...]]:
    rows = connection.execute("SELECT name, by FROM tacit_rollups").fetchall()
    return {name: tuple(by) for name, by in rows}


def _create(connection: Connection, batch: Batch) -> None:
    """Make a table for reports, in parts by channel where there are several."""
    table, channels = _quoted(batch.table), sorted(set(batch.reports["channel"].to_pylist()))
    parts = " PARTITION BY LIST (channel)" if len(channels) > 1 else ""
    connection.execute(f"CREATE TABLE {table} ({_columns(batch.reports)}){parts}")
    if parts:
        for channel in channels:  # reports of a person are complete, so every batch has all of them
            part = _quoted(f"{batch.table}_{channel}")
            connection.execute(f"CREATE TABLE {part} PARTITION OF {table} FOR VALUES IN ({int(channel)})")


def _kinds(connection: Connection, table: str) -> list[tuple[str, str]]:
    """Return the names and types of a table's columns."""
    query = (
        "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute "
        "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped"
    )
    return [(str(name), str(kind)) for name, kind in connection.execute(query, [_quoted(table)])]


def _take_types(connection: Connection, table: str, batch: Batch) -> None:
    """Give public columns that hold no value yet the types of a batch: its first ones said nothing about them.

    A column that a collector stored by the kind of its first value becomes text when text comes.
    """
    incoming = {short_name(field.name): _type(field.type) for field in batch.reports.schema}
    for name, kind in _kinds(connection, table):
        column, wanted = _quoted(name), incoming.get(name, "TEXT")
        if batch.is_collected and wanted == "TEXT" and kind in ("double precision", "boolean"):
            connection.execute(f"ALTER TABLE {_quoted(table)} ALTER COLUMN {column} TYPE TEXT USING {column}::text")
        if kind == "text" and wanted != "TEXT":
            some = connection.execute(f"SELECT 1 FROM {_quoted(table)} WHERE {column} IS NOT NULL LIMIT 1").fetchall()  # noqa: S608
            if not some:
                connection.execute(f"ALTER TABLE {_quoted(table)} ALTER COLUMN {column} TYPE {wanted} USING NULL")


def _type(kind: pa.DataType) -> str:
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
        (lambda one: pa.types.is_timestamp(one) and one.tz is not None, "TIMESTAMPTZ"),
        (pa.types.is_timestamp, "TIMESTAMP"),
    ]
    return next((text for is_kind, text in known if is_kind(kind)), "TEXT")


def _columns(table: pa.Table) -> str:
    return ", ".join(f"{_quoted(field.name)} {_type(field.type)}" for field in table.schema)


def _copy(connection: Connection, name: str, table: pa.Table) -> None:
    """Copy rows as CSV, in which quoted text is never NULL."""
    plain = pa.csv.WriteOptions(include_header=False, quoting_style="all_valid")
    with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:
        for batch in table.to_batches(max_chunksize=COPY_ROWS):
            written = io.BytesIO()
            pa.csv.write_csv(_decoded(batch), written, plain)
            copy.write(written.getbuffer())


def _decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return plain columns of dictionary-encoded ones, which CSV does not know."""
    columns = [
        column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _table(cursor: psycopg.Cursor[tuple[Any, ...]]) -> pa.Table:
    names = [column.name for column in cursor.description or ()]
    rows = cursor.fetchall()
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in names]
    return pa.table([pa.array(column) for column in columns], names=names)
