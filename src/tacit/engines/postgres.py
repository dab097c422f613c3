"""PostgreSQL: reports in tables with an index on people, contributions sent as arrays.

A table of several channels is partitioned by channel, because most questions read only a few of them; a table of one
channel is not partitioned. Statements are translated from DuckDB's dialect. Every thread has its own connection.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.engines.base import ReportBatch, Stamp, Upload, is_long, rollup_of, unfit, unrunnable
from tacit.engines.deadline import interruptible
from tacit.engines.dialect import in_postgres, question_in_postgres, short_name
from tacit.engines.statements import dimension_of, insert_rows
from tacit.errors import EngineError
from tacit.sql.report_tables import rolled_up, rollup_without_person
from tacit.tables.statements import Sql

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    from tacit.engines.postgres_changes import LOCK, change_rows, count_rows, prepare_versions, version_of
    from tacit.engines.postgres_columns import (
        Connection,
        NumberArray,
        columns_of,
        compose_postgres,
        copy_rows,
        kinds_of,
        quote,
        read_rows,
        take_types,
        use_number_arrays,
    )
    from tacit.engines.postgres_stamp import check_stamp, replace_stamp, stamp_of
    from tacit.engines.postgres_tables import create_table, exists, index_people, is_looked_up
except ImportError:
    message = "PostgreSQL needs psycopg. Install tacit with its extra: pip install '.[postgres]'."
    raise EngineError(message, code="missing-extra") from None

__all__ = ["Postgres", "open_postgres"]

CONNECT_SECONDS = 3
"""Seconds after which an unresponsive server counts as unreachable, unless the address says otherwise."""

OPENING = 0x7461_6376
"""Advisory lock held while a database is opened: "tacv"."""

MOST_ARRAY_BYTES = 2**28
"""Maximum contributions sent as arrays; PostgreSQL accepts at most 1 GB."""


class Postgres:
    """An engine over one PostgreSQL database."""

    whole_alphabet = 100_000

    def __init__(self, address: str) -> None:
        self._address = address
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._stamp: Stamp | None = None  # last read or written by this process
        with self._connection() as connection:
            connection.execute("SELECT pg_advisory_xact_lock($1)", [OPENING])  # creating a table twice would fail
            connection.execute(
                "CREATE TABLE IF NOT EXISTS tacit_collections (number BIGSERIAL, id TEXT UNIQUE, contract TEXT)"
            )
            connection.execute("CREATE TABLE IF NOT EXISTS tacit_dimensions (name TEXT PRIMARY KEY, key TEXT)")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS tacit_rollups (name TEXT PRIMARY KEY, by TEXT[], rows BIGINT)"
            )
            connection.execute("CREATE TABLE IF NOT EXISTS tacit_stamp (identity TEXT, generation BIGINT)")
            prepare_versions(connection)

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """Lend a connection inside a transaction; discard it if the transaction fails."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        try:
            connection = connection or self._connect()
        except psycopg.Error as cause:  # its message names host and user
            problem = f"The PostgreSQL database cannot be reached ({type(cause).__name__}). Check its address."
            raise EngineError(problem, code="unreadable-database") from None
        try:
            with connection.transaction():
                yield connection
        except BaseException:
            if connection.broken:  # the server is gone, so discard the other connections too
                self.close()
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)

    def _connect(self) -> Connection:
        settings = {"connect_timeout": CONNECT_SECONDS} | conninfo_to_dict(self._address)
        connection = psycopg.connect(make_conninfo("", **settings), cursor_factory=psycopg.RawCursor)
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED  # what was committed before a lock is seen
        use_number_arrays(connection)
        return connection

    def contracts(self) -> list[str]:
        """Return the texts of all contracts, in the order of their creation."""
        with self._connection() as connection:
            return [text for (text,) in connection.execute("SELECT contract FROM tacit_collections ORDER BY number")]

    def add_contract(self, name: str, text: str) -> None:
        """Store a contract."""
        with self._connection() as connection:
            insert = "INSERT INTO tacit_collections (id, contract) VALUES ($1, $2) ON CONFLICT DO NOTHING"
            connection.execute(insert, [name, text])

    def store_dimension(self, name: str, key: str, table: pa.Table) -> None:
        """Store a public table; one of the same name is replaced."""
        stored = quote(dimension_of(name))
        with self._connection() as connection:
            connection.execute(f"DROP TABLE IF EXISTS {stored}")
            connection.execute(f"CREATE TABLE {stored} ({columns_of(table)})")
            copy_rows(connection, stored, table)
            insert = "INSERT INTO tacit_dimensions VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET key = $2"
            connection.execute(insert, [name, key])

    def dimensions(self) -> list[tuple[str, str, pa.Table]]:
        """Return all public tables with their names and keys."""
        with self._connection() as connection:
            rows = connection.execute("SELECT name, key FROM tacit_dimensions ORDER BY name").fetchall()
            tables = [compose_postgres("SELECT * FROM {table}", table=dimension_of(name)) for name, _ in rows]
            return [(*row, read_rows(connection.execute(table))) for row, table in zip(rows, tables, strict=True)]

    def has_table(self, table: str) -> bool:
        """Return whether a report table exists."""
        with self._connection() as connection:
            return exists(connection, table)

    def count_rows(self, table: str) -> int:
        """Return how many rows a report table has, 0 if there is none."""
        with self._connection() as connection:
            return count_rows(connection, table) if exists(connection, table) else 0

    def text_columns(self, table: str) -> frozenset[str]:
        """Return the columns of a report table that hold text."""
        with self._connection() as connection:
            return frozenset(name for name, kind in kinds_of(connection, table) if kind == "text")

    def append(self, batches: Sequence[ReportBatch]) -> list[int]:
        """Add the reports of people who have not reported, all batches or none; return the refused rows of each."""
        try:
            with self._connection() as connection:
                check_stamp(connection, self._stamp)
                rolled = _rollups(connection)
                return [self._append(connection, batch, rolled) for batch in batches]
        except psycopg.Error as cause:
            failure = cause
        raise unfit(failure)

    def _append(self, connection: Connection, batch: ReportBatch, rolled: Mapping[str, Sequence[str]]) -> int:
        if not exists(connection, batch.table):
            create_table(connection, batch)
        with change_rows(connection, batch.table) as change:  # one batch at a time
            change.more = self._insert(connection, batch)
        if batch.table in rolled:
            self._roll_up(connection, batch.table, rolled[batch.table])
        connection.execute("DROP TABLE incoming, accepted")
        return batch.rows - change.more

    def _insert(self, connection: Connection, batch: ReportBatch) -> int:
        """Insert the reports of people who have not reported, which stay in a table `accepted`; return their number."""
        connection.execute(f"CREATE TEMP TABLE incoming ({columns_of(batch.reports)}) ON COMMIT DROP")
        copy_rows(connection, "incoming", batch.reports)
        connection.execute("ANALYZE incoming")
        elsewhere = [(name, key) for name, key in batch.elsewhere if exists(connection, name)]
        names = batch.reports.column_names
        searched = [(batch.table, batch.service.key), *elsewhere]
        looked_up = all(is_looked_up(connection, batch, name, key) for name, key in searched)
        _set_joins(connection, "off" if looked_up else "DEFAULT")
        connection.execute(_accept(batch, elsewhere))
        _set_joins(connection, "DEFAULT")
        for stored_in in (batch.table, rollup_of(batch.table)):
            take_types(connection, stored_in, batch)
        insert = "INSERT INTO {table} ({names}) SELECT {names} FROM accepted"
        stored = connection.execute(compose_postgres(insert, table=batch.table, names=names)).rowcount
        index_people(connection, batch.table, batch.service.key)
        return stored

    def _roll_up(self, connection: Connection, table: str, by: Sequence[str]) -> None:
        """Add the accepted reports to a rollup, and compact it if it has become long."""
        name = rollup_of(table)
        connection.execute(in_postgres(insert_rows(name, rolled_up("accepted", by))))
        [(rows,)] = connection.execute(compose_postgres("SELECT count(*) FROM {table}", table=name)).fetchall()
        [(least,)] = connection.execute("SELECT rows FROM tacit_rollups WHERE name = $1", [table]).fetchall()
        if is_long(rows, least):
            self._replace_rollup(connection, table, by, rolled_up(name, by, again=True).text)

    def _replace_rollup(self, connection: Connection, table: str, by: Sequence[str], rows: str) -> None:
        name = rollup_of(table)
        connection.execute(f"CREATE TEMP TABLE rolled ON COMMIT DROP AS {in_postgres(rows)}")
        connection.execute(compose_postgres("DROP TABLE IF EXISTS {table}", table=name))
        create = compose_postgres("CREATE TABLE {table} AS SELECT * FROM rolled", table=name)
        size = connection.execute(create).rowcount
        connection.execute("DROP TABLE rolled")
        insert = "INSERT INTO tacit_rollups VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE SET by = $2, rows = $3"
        connection.execute(insert, [table, list(by), size])

    def forget(self, tables: Sequence[tuple[str, str]], person: int | str) -> int:
        """Delete a person from tables, given with their keys, and from rollups; return the number of rows."""
        deleted = 0
        with self._connection() as connection:
            check_stamp(connection, self._stamp)
            rolled = _rollups(connection)
            for table, key in tables:
                with change_rows(connection, table) as change:
                    if table in rolled:
                        fewer = rollup_without_person(table, key, rolled[table], str(person))
                        connection.execute(in_postgres(insert_rows(rollup_of(table), fewer)), list(fewer.parameters))
                    same = _is_person(key, dict(kinds_of(connection, table))[short_name(key)], str(person))
                    delete = compose_postgres("DELETE FROM {table} WHERE {same}", table=table, same=same)
                    change.more = -connection.execute(delete, [str(person)]).rowcount
                deleted -= change.more
        return deleted

    def add_rollup(self, table: str, by: Sequence[str]) -> None:
        """Maintain counts of codes by public columns for a report table, exact after every batch."""
        with self._connection() as connection:
            connection.execute(compose_postgres(LOCK, table=table))
            self._replace_rollup(connection, table, by, rolled_up(table, by).text)

    def rollups(self) -> dict[str, tuple[str, ...]]:
        """Return the report tables that have a rollup, with its public columns."""
        with self._connection() as connection:
            return _rollups(connection)

    def codes(self, table: str, channel: int) -> npt.NDArray[np.int64]:
        """Return the distinct codes of a channel, in order."""
        distinct = "SELECT array_agg(code) FROM (SELECT code FROM {table} WHERE channel = $1 GROUP BY code) AS c"
        with self._connection() as connection:
            [(codes,)] = connection.execute(compose_postgres(distinct, table=table), [channel], binary=True)
        return np.sort(np.asarray(() if codes is None else codes, dtype=np.int64))

    def changes(self) -> str | None:
        """Return the versions of all report tables; None if one has none yet (nothing was loaded since an upgrade)."""
        with self._connection() as connection:
            return version_of(connection)

    def fetch(self, statement: str, parameters: Sequence[Any], uploads: Upload) -> pa.Table:
        """Run one statement over the reports and the uploaded tables."""
        arrays = {name: table for name, table in uploads.items() if table.nbytes <= MOST_ARRAY_BYTES}
        sent = tuple((name, tuple(table.column_names)) for name, table in arrays.items())
        translated = question_in_postgres(statement, sent, len(parameters))
        values = [*parameters, *(NumberArray(column) for table in arrays.values() for column in table.columns)]
        try:
            with self._connection() as connection:
                for name in uploads.keys() - arrays.keys():  # too many for arrays; disables parallel workers
                    connection.execute(f"CREATE TEMP TABLE {name} ({columns_of(uploads[name])}) ON COMMIT DROP")
                    copy_rows(connection, name, uploads[name])
                    connection.execute(f"ANALYZE {name}")
                with interruptible(connection.cancel_safe):
                    cursor = connection.execute(translated.text, values, prepare=False, binary=translated.as_arrays)
                    return read_rows(cursor, as_arrays=translated.as_arrays)
        except psycopg.Error as cause:
            failure = cause
        raise unrunnable(failure)

    def stamp(self) -> Stamp | None:
        """Return the stamp of a collector's database, or None if it has none."""
        with self._connection() as connection:
            self._stamp = stamp_of(connection)
        return self._stamp

    def set_stamp(self, stamp: Stamp) -> None:
        """Stamp the database; it is on disk when this returns."""
        with self._connection() as connection:
            connection.execute("SET LOCAL synchronous_commit = on")
            replace_stamp(connection, self._stamp, stamp)
        self._stamp = stamp

    def probe(self) -> bool:
        """Write a value, and return whether it can be read back."""
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
            check_stamp(connection, self._stamp)
            connection.execute("DELETE FROM tacit_rollups WHERE name = $1", [table])
            for name in (rollup_of(table), table):
                connection.execute(f"DROP TABLE IF EXISTS {quote(name)}")

    def copy_to(self, path: Any) -> None:
        """Refuse: PostgreSQL has its own tools."""
        del path
        message = "Copy a PostgreSQL database with pg_dump."
        raise EngineError(message, code="kept-elsewhere")

    def close(self) -> None:
        """Close all idle connections."""
        with self._lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()


def open_postgres(path: Any, engine: Any, *, read_only: bool) -> Postgres:
    """Open the database at an address, given as path or engine."""
    del read_only
    return Postgres(
        next(address for address in (path, engine) if str(address).startswith(("postgresql:", "postgres:")))
    )


def _rollups(connection: Connection) -> dict[str, tuple[str, ...]]:
    rows = connection.execute("SELECT name, by FROM tacit_rollups").fetchall()
    return {name: tuple(by) for name, by in rows}


def _accept(batch: ReportBatch, elsewhere: Sequence[tuple[str, str]]) -> Sql:
    """Return the statement that selects the incoming reports of people who have not reported."""
    key, names = batch.service.key, batch.reports.column_names
    same = compose_postgres("o.{key} = n.{key} AND o.slot = n.slot AND o.channel = n.channel", key=key)
    known = [(batch.table, same)]
    known += [(name, compose_postgres("o.{own} = n.{key}", own=other_key, key=key)) for name, other_key in elsewhere]
    absent = "NOT EXISTS (SELECT 1 FROM {table} o WHERE {same})"
    unknown = Sql(" AND ".join(compose_postgres(absent, table=name, same=same) for name, same in known))
    accept = (
        "CREATE TEMP TABLE accepted ON COMMIT DROP AS SELECT DISTINCT ON ({key}, slot, channel) {names} "
        "FROM incoming n WHERE {unknown}"
    )
    return compose_postgres(accept, key=key, names=names, unknown=unknown)


def _is_person(key: str, kind: str, person: str) -> Sql:
    """Return the condition that a row belongs to the person in $1, in a form that can use an index on the key."""
    condition = "{key}::text = $1"
    if kind == "text":
        condition = "{key} = $1"
    elif kind == "bigint" and re.fullmatch(r"-?\d{1,18}", person):
        condition = "{key} = $1::text::bigint AND {key}::text = $1::text"
    return compose_postgres(condition, key=key)


def _set_joins(connection: Connection, setting: str) -> None:
    """Allow or forbid joins that read whole tables, until the transaction ends."""
    for name in ("enable_hashjoin", "enable_mergejoin"):
        connection.execute(f"SET LOCAL {name} TO {setting}")
