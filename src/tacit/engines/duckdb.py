"""DuckDB: reports in keyless tables, contributions as Arrow tables, sums as plain SQL.

User text never reaches the engine: statements are built from the contract's names, and constants are parameters. If any
did, DuckDB is configured to open no other file, load no extension and change no setting.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.engines.base import ReportBatch, Stamp, Upload, is_long, rollup_of, unfit, unrunnable
from tacit.engines.duckdb_cursors import Counts, Cursors, count_values, run_statement
from tacit.engines.duckdb_files import SHUT, UNUSABLE, open_file
from tacit.engines.failures import REMEDIES, failure_code
from tacit.engines.statements import codes_of, count_of, dimension_of, insert_rows, rows_of, some_value, unknown_rows
from tacit.errors import EngineError, OverloadedError
from tacit.sql.report_tables import rolled_up, rollup_without_person
from tacit.tables.statements import Sql, compose

__all__ = ["SHUT", "DuckDB", "open_duckdb"]

COPIED_ROWS = 1 << 17
"""Rows copied at a time."""

LACKS = ("out-of-memory", "too-many-files")
"""Codes of failures of this process, which have nothing to do with a file that it writes."""

AS_TEXT = {
    "DOUBLE": "VARCHAR USING CASE WHEN {column} = trunc({column}) AND abs({column}) < 9007199254740992 "
    "THEN CAST(CAST({column} AS BIGINT) AS VARCHAR) ELSE CAST({column} AS VARCHAR) END",
    "BOOLEAN": "VARCHAR USING CAST({column} AS VARCHAR)",
}
"""Types that earlier collectors gave public columns by their first value, and how such a column becomes text."""

REPLACE = "CREATE OR REPLACE TABLE {table} AS {rows}"
TEMPORARY = "CREATE OR REPLACE TEMP TABLE {table} AS {rows}"
RETYPE = "ALTER TABLE {table} ALTER COLUMN {column} TYPE {type}"

CHANGES: Counter[Hashable] = Counter()
"""The number of changes of the reports in each file or in-memory database."""


class DuckDB:
    """An engine over one DuckDB database."""

    whole_alphabet = 4_000_000

    def __init__(self, path: str | Path | None = None, *, read_only: bool = False) -> None:
        self._door = threading.Lock()
        self._place: Hashable = object() if path is None else str(Path(path).resolve())
        self._known: tuple[int, dict[str, frozenset[str] | None]] = (0, {})
        if path is not None and any(mark in str(path) for mark in UNUSABLE):
            message = f"The path {str(path)!r} contains one of {' '.join(UNUSABLE)}, which DuckDB interprets."
            raise EngineError(f"{message} Choose another one.", code="bad-path")
        try:
            connection = open_file(str(path) if path is not None else ":memory:", read_only=read_only)
            self._cursors = Cursors(connection)
            self._cursor = self._cursors.lend
            if not read_only:
                connection.execute("CREATE TABLE IF NOT EXISTS tacit_collections (id TEXT, contract TEXT)")
        except duckdb.ConnectionException:
            message = (
                "This program already has the file open: read-only through tacit.dbapi or SQLAlchemy, or with other "
                "settings through DuckDB. Close it first."
            )
            raise EngineError(message, code="open-to-read") from None
        except (duckdb.Error, OSError) as cause:
            named, code = Path(str(path)).name, failure_code(cause)
            if code in ("store-in-use", "disk-full", "read-only-store", *LACKS):
                message = f"{named!r} cannot be opened ({type(cause).__name__}). {REMEDIES[code]}"
                raise EngineError(message, code=code) from None
            message = f"{named!r} cannot be opened ({type(cause).__name__}). Name a tacit database or a new file."
            raise EngineError(message, code="unreadable-database") from None

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Let one call at a time change reports, and number the change, whether it succeeds or not."""
        with self._door:
            try:
                yield
            finally:
                CHANGES[self._place] += 1

    def changes(self) -> int:
        """Return how often this process has changed the file's reports: no other process can while it is open."""
        return CHANGES[self._place]

    def _rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a small query."""
        with self._cursor() as cursor:
            return cursor.execute(query, list(parameters)).fetchall()

    def contracts(self) -> list[str]:
        """Return the texts of all contracts, in the order of their creation."""
        if not self.has_table("tacit_collections"):  # another program's file, opened read-only
            return []
        return [text for (text,) in self._rows("SELECT contract FROM tacit_collections ORDER BY rowid")]

    def add_contract(self, name: str, text: str) -> None:
        """Store a contract."""
        self._rows("INSERT INTO tacit_collections VALUES (?, ?)", [name, text])

    def store_dimension(self, name: str, key: str, table: pa.Table) -> None:
        """Store a public table; one of the same name is replaced."""
        stored = dimension_of(name)
        with self._door, self._cursor() as connection:
            connection.register("incoming", table)
            connection.execute("CREATE TABLE IF NOT EXISTS tacit_dimensions (name TEXT, key TEXT)")
            connection.execute("DELETE FROM tacit_dimensions WHERE name = ?", [name])
            connection.execute(compose("CREATE OR REPLACE TABLE {table} AS SELECT * FROM incoming", table=stored))
            connection.execute("INSERT INTO tacit_dimensions VALUES (?, ?)", [name, key])

    def dimensions(self) -> list[tuple[str, str, pa.Table]]:
        """Return all public tables with their names and keys."""
        if not self.has_table("tacit_dimensions"):
            return []
        rows = self._rows("SELECT name, key FROM tacit_dimensions ORDER BY name")
        return [(name, key, self.fetch(rows_of(dimension_of(name)), [], {})) for name, key in rows]

    def has_table(self, table: str) -> bool:
        """Return whether a report table exists."""
        if table in self._known_tables():
            return True
        query = "SELECT count(*) FROM duckdb_tables() WHERE table_name = ?"
        [(count,)] = self._rows(query, [table])
        if count:
            self._known_tables().setdefault(table, None)
        return bool(count)

    def _known_tables(self) -> dict[str, frozenset[str] | None]:
        """Return the tables known to exist since the last change of reports, and their text columns."""
        changes = self.changes()
        if self._known[0] != changes:
            self._known = changes, {}
        return self._known[1]

    def text_columns(self, table: str) -> frozenset[str]:
        """Return the columns of a report table that hold text."""
        known = self._known_tables()
        columns = known.get(table)
        if columns is None:
            query = "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND data_type = 'VARCHAR'"
            columns = frozenset(name for (name,) in self._rows(query, [table]))
            if table in known:
                known[table] = columns
        return columns

    def append(self, batches: Sequence[ReportBatch]) -> list[int]:
        """Add the reports of people who have not reported, all batches or none; return the refused rows of each.

        New rows are selected first and inserted in one transaction afterwards, into tables created with their rows.
        Both alternatives lose rows in DuckDB 2.0.0, from 200,000 rows on: an anti join inside an explicit transaction
        misses rows that an earlier one inserted, and scans find no rows in a table that was created empty in the same
        transaction.
        """
        try:
            with self._changing(), self._cursor() as connection:
                rolled = self.rollups()
                refused = [self._find_new(connection, i, batch) for i, batch in enumerate(batches)]
                for i, batch in enumerate(batches):
                    self._take_types(connection, i, batch)
                connection.begin()
                for i, batch in enumerate(batches):
                    known = self.has_table(batch.table)
                    store = "INSERT INTO {table} BY NAME {rows}" if known else "CREATE TABLE {table} AS {rows}"
                    connection.execute(compose(store, table=batch.table, rows=rows_of(f"new{i}")))
                    if batch.table in rolled:
                        added = rolled_up(f"new{i}", rolled[batch.table])
                        connection.execute(insert_rows(rollup_of(batch.table), added))
                connection.commit()
                for batch in batches:
                    self._compact(batch.table, rolled.get(batch.table))
            return refused
        except duckdb.Error as cause:
            failure = cause
        raise unfit(failure)

    def _find_new(self, connection: duckdb.DuckDBPyConnection, number: int, batch: ReportBatch) -> int:
        """Store the rows of people who have not reported in a temporary table; return how many rows are left out."""
        key, new, incoming = batch.service.key, f"new{number}", f"incoming{number}"
        connection.register(incoming, batch.reports)
        present = [(name, key) for name, key in batch.elsewhere if self.has_table(name)]
        if not present and batch.rows_before is not None and self._rows_of(batch.table) == batch.rows_before:
            connection.execute(compose(TEMPORARY, table=new, rows=rows_of(incoming)))
            return 0
        stored = batch.table if self.has_table(batch.table) else None
        connection.execute(compose(TEMPORARY, table=new, rows=unknown_rows(incoming, key, stored, present)))
        [(count,)] = connection.execute(count_of(new)).fetchall()
        return batch.rows - int(count)

    def _rows_of(self, table: str) -> int | None:
        return int(self._rows(count_of(table))[0][0]) if self.has_table(table) else None

    def _take_types(self, connection: duckdb.DuckDBPyConnection, number: int, batch: ReportBatch) -> None:
        """Give public columns without any value yet the types of a batch.

        A column that a collector stored by the type of its first value becomes text when text arrives.
        """
        types = "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? ORDER BY ALL"
        incoming = dict(connection.execute(types, [f"new{number}"]).fetchall())
        for table in (batch.table, rollup_of(batch.table)):
            for name, kind in self._rows(types, [table]):
                wanted = incoming.get(name, kind)
                if wanted != kind and self._has_no_value(table, name):
                    self._rows(compose(RETYPE, table=table, column=name, type=Sql(wanted)))
                elif batch.is_collected and wanted == "VARCHAR" and kind in AS_TEXT:
                    self._rows(compose(RETYPE, table=table, column=name, type=compose(AS_TEXT[kind], column=name)))

    def _has_no_value(self, table: str, column: str) -> bool:
        return not self._rows(some_value(table, column))

    def forget(self, tables: Sequence[tuple[str, str]], person: int | str) -> int:
        """Delete a person from tables, given with their keys, and from rollups; return the number of rows."""
        deleted = 0
        with self._changing(), self._cursor() as connection:
            rolled = self.rollups()
            connection.begin()
            for table, key in tables:
                if table in rolled:
                    fewer = rollup_without_person(table, key, rolled[table], str(person))
                    connection.execute(insert_rows(rollup_of(table), fewer), fewer.parameters)
                delete = compose("DELETE FROM {table} WHERE CAST({key} AS VARCHAR) = ?", table=table, key=key)
                [(count,)] = connection.execute(delete, [str(person)]).fetchall()
                deleted += count
            connection.commit()
        return deleted

    def add_rollup(self, table: str, by: Sequence[str]) -> None:
        """Maintain counts of codes by public columns for a report table, exact after every batch."""
        rollup = rollup_of(table)
        with self._changing(), self._cursor() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS tacit_rollups (name TEXT, columns TEXT[], rows BIGINT)")
            connection.begin()
            connection.execute(compose(REPLACE, table=rollup, rows=Sql(rolled_up(table, by).text)))
            connection.execute("DELETE FROM tacit_rollups WHERE name = ?", [table])
            [(size,)] = connection.execute(count_of(rollup)).fetchall()
            connection.execute("INSERT INTO tacit_rollups VALUES (?, ?, ?)", [table, list(by), size])
            connection.commit()

    def rollups(self) -> dict[str, tuple[str, ...]]:
        """Return the report tables that have a rollup, with its public columns."""
        if not self.has_table("tacit_rollups"):
            return {}
        return {name: tuple(by) for name, by in self._rows("SELECT name, columns FROM tacit_rollups")}

    def _compact(self, table: str, by: Sequence[str] | None) -> None:
        """Compact a rollup if it has become long."""
        if by is None:
            return
        name = rollup_of(table)
        [(rows,)] = self._rows(count_of(name))
        [(least,)] = self._rows("SELECT rows FROM tacit_rollups WHERE name = ?", [table])
        if is_long(rows, least):
            self._rows(compose(REPLACE, table=name, rows=Sql(rolled_up(name, by, again=True).text)))
            [(rows,)] = self._rows(count_of(name))
            self._rows("UPDATE tacit_rollups SET rows = ? WHERE name = ?", [rows, table])

    def codes(self, table: str, channel: int) -> npt.NDArray[np.int64]:
        """Return the distinct codes of a channel."""
        return np.asarray(self.fetch(codes_of(table), [channel], {}).column("code"), dtype=np.int64)

    def fetch(self, statement: str, parameters: Sequence[Any], uploads: Upload) -> pa.Table:
        """Run one statement over the reports and the uploaded tables."""
        try:
            with self._cursor() as connection:
                return run_statement(connection, statement, parameters, uploads)
        except duckdb.Error as cause:
            failure = cause
        raise unrunnable(failure)

    def count_column(self, statement: str, parameters: Sequence[Any]) -> Counts | None:
        """Run a statement with one column of whole numbers; return each number, in order, and its count."""
        with self._cursor() as connection:
            return count_values(connection, statement, parameters)

    def stamp(self) -> Stamp | None:
        """Return the stamp of a collector's database, or None if it has none."""
        rows = self._rows("SELECT identity, generation FROM tacit_stamp") if self.has_table("tacit_stamp") else []
        return Stamp(*rows[0]) if rows else None

    def set_stamp(self, stamp: Stamp) -> None:
        """Stamp the database; it is on disk when this returns."""
        with self._door, self._cursor() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS tacit_stamp (identity TEXT, generation BIGINT)")
            change = "UPDATE tacit_stamp SET identity = ?, generation = ?"
            if not connection.execute(change, list(stamp)).fetchall()[0][0]:
                connection.execute("INSERT INTO tacit_stamp VALUES (?, ?)", list(stamp))

    def probe(self) -> bool:
        """Write a value, and return whether it can be read back."""
        with self._door, self._cursor() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS tacit_probe AS SELECT 0::BIGINT AS number")
            [(before,)] = connection.execute("SELECT number FROM tacit_probe").fetchall()
            connection.execute("UPDATE tacit_probe SET number = number + 1")
            return bool(connection.execute("SELECT number FROM tacit_probe").fetchall() == [(before + 1,)])

    def read_all(self) -> None:
        """Read everything that is stored; a block with a wrong checksum raises."""
        for (table,) in self._rows("SELECT table_name FROM duckdb_tables() WHERE NOT temporary"):
            self._rows(compose("SELECT bit_xor(hash(t)) FROM {table} t", table=table))

    def clear(self, table: str) -> None:
        """Drop a report table and its rollup."""
        with self._changing(), self._cursor() as connection:
            if self.has_table("tacit_rollups"):
                connection.execute("DELETE FROM tacit_rollups WHERE name = ?", [table])
            for name in (rollup_of(table), table):
                connection.execute(compose("DROP TABLE IF EXISTS {table}", table=name))

    def copy_to(self, path: Any) -> None:
        """Copy everything to a new file, whose pages contain no deleted rows."""
        try:
            with self._door, self._cursor() as connection, duckdb.connect(str(path), config=SHUT) as copy:
                connection.begin()  # a consistent snapshot of all tables
                query = "SELECT table_name, sql FROM duckdb_tables() WHERE NOT temporary ORDER BY table_oid"
                for name, create in connection.execute(query).fetchall():
                    copy.execute(create)
                    rows = connection.sql(rows_of(name)).to_arrow_reader(COPIED_ROWS)
                    copy.register("incoming", rows)
                    copy.execute(compose("INSERT INTO {table} SELECT * FROM incoming", table=name))
                    copy.unregister("incoming")
                connection.rollback()
        except (duckdb.Error, EngineError) as cause:
            code = cause.code if isinstance(cause, EngineError) else failure_code(cause)
            if code in LACKS:
                raise OverloadedError(
                    f"The copy cannot be written. {REMEDIES[code]} Then try again.", code=code
                ) from None
            message = f"The copy cannot be written ({type(cause).__name__}). Name a new file on a disk with free space."
            raise EngineError(message, code="unwritable-file") from None

    def close(self) -> None:
        """Close the database: finish writing, and interrupt running questions."""
        with self._door:
            self._cursors.close()


def open_duckdb(path: str | Path | None, engine: object, *, read_only: bool) -> DuckDB:
    """Open a file, or a database in memory."""
    del engine
    return DuckDB(path, read_only=read_only)
