"""A lake: reports as immutable Parquet files with a manifest, queried with DuckDB.

A batch is written as new files and counts as soon as a new manifest names them. Small files are merged into larger
ones; deleting a person rewrites the files that hold their reports. Counts of codes are stored beside the reports and
summed, so the cost of a load depends only on the batch, and a question about one service reads small tables.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.engines.base import ReportBatch, Stamp, Upload, check_known, rollup_of, unfit, unrunnable
from tacit.engines.duckdb_cursors import Cursors, run_statement
from tacit.engines.lake.copies import verify
from tacit.engines.lake.manifest import Columns, LakeTable, Manifest, Stored, StoredDimension, digest_of
from tacit.engines.lake.parquet import (
    add_counts,
    cast_rows,
    holds,
    is_of,
    merge_files,
    plain_rows,
    read_rows,
    write_rows,
)
from tacit.engines.lake.place import is_other_folder
from tacit.engines.lake.storage import Folder, Storage, storage_at
from tacit.engines.lake.versions import TRIES, Versions
from tacit.engines.statements import codes_of, unknown_rows
from tacit.errors import EngineError, TacitError, UsageError
from tacit.tables.compute import pc
from tacit.tables.statements import Sql, compose

__all__ = ["Lake", "named_tables", "open_lake"]

MOST_GROUPS = 1_000
"""Maximum combinations of declared public values by which codes are counted automatically."""


class Lake:
    """An engine over the files of one lake."""

    whole_alphabet = 4_000_000

    def __init__(self, place: str | Path, *, read_only: bool = False) -> None:
        self.storage: Storage = storage_at(place)
        self.versions = Versions(self.storage, read_only=read_only)
        self._cursors = Cursors(_closed_connection(self.storage))
        self._stamp: Stamp | None = None  # last read or written by this process
        self._unaltered: set[tuple[str, float]] = set()  # files whose digest was checked, with their date

    def contracts(self) -> list[str]:
        """Return the texts of all contracts, in the order of their creation."""
        contracts = [file for _, file in self.versions.latest().contracts]
        self.check_files(contracts)
        return [self.storage.read(file.name).decode() for file in contracts]

    def add_contract(self, name: str, text: str) -> None:
        """Store a contract."""
        content = text.encode()
        file = Stored(f"contracts/{name}.json", 1, len(content), digest_of(content))

        def change(before: Manifest) -> Manifest:
            if name in dict(before.contracts):
                return before
            with suppress(FileExistsError):
                self.storage.create(file.name, content)
            return replace(before, contracts=(*before.contracts, (name, file)))

        self.versions.commit(change)

    def store_dimension(self, name: str, key: str, table: pa.Table) -> None:
        """Store a public table; one of the same name is replaced."""

        def change(before: Manifest) -> Manifest:
            others = [dimension for dimension in before.dimensions if dimension.name != name]
            added = StoredDimension(name, key, write_rows(self.storage, "dimensions", table))
            return replace(before, dimensions=(*others, added))

        self.versions.commit(change)

    def dimensions(self) -> list[tuple[str, str, pa.Table]]:
        """Return all public tables with their names and keys."""
        stored = sorted(self.versions.latest().dimensions)
        self.check_files([dimension.file for dimension in stored])
        return [
            (dimension.name, dimension.key, self.storage.parquet(dimension.file.name).read()) for dimension in stored
        ]

    def has_table(self, table: str) -> bool:
        """Return whether a report table exists."""
        return table in self.versions.latest().tables

    def text_columns(self, table: str) -> frozenset[str]:
        """Return the columns of a report table that hold text."""
        stored = self.versions.latest().tables.get(table)
        return frozenset(name for name, kind in (stored.columns if stored else ()) if kind == "string")

    def append(self, batches: Sequence[ReportBatch]) -> list[int]:
        """Add the reports of people who have not reported, all batches or none; return the refused rows of each."""
        refused: list[int] = []

        def change(before: Manifest) -> Manifest:
            check_known(self._stamp, before.stamp)
            refused.clear()
            after = before
            for batch in batches:
                rows = self._new_rows(after, batch)
                refused.append(batch.rows - rows.num_rows)
                after = self._with_rows(after, batch, rows)
            return after

        try:
            self.versions.commit(change)
            for batch in batches:
                with suppress(TacitError):  # such as a full disk; the batch is stored, and the next one tries again
                    self._merge(batch.table, batch.service.key)
            return refused
        except duckdb.Error as cause:
            failure = cause
        raise unfit(failure)

    def _new_rows(self, before: Manifest, batch: ReportBatch) -> pa.Table:
        """Return the rows of people who have not reported."""
        stored = before.tables.get(batch.table)
        elsewhere = [(name, key) for name, key in batch.elsewhere if name in before.tables]
        rows = plain_rows(batch, stored)
        if not elsewhere and batch.rows_before is not None and (stored.rows if stored else None) == batch.rows_before:
            return rows
        with self._cursors.lend() as cursor:
            self._show(cursor, before, [batch.table, *(name for name, _ in elsewhere)])
            cursor.register("incoming", rows)
            new = unknown_rows("incoming", batch.service.key, batch.table if stored else None, elsewhere)
            return cast_rows(cursor.sql(new).to_arrow_table(), rows.schema)

    def _with_rows(self, before: Manifest, batch: ReportBatch, rows: pa.Table) -> Manifest:
        """Return the version with new rows, and with counts of their codes."""
        table = before.tables.get(batch.table) or LakeTable((), by=_rollup_columns(batch))
        table = replace(table, columns=tuple((field.name, str(field.type)) for field in rows.schema))
        if rows.num_rows:
            file = write_rows(self.storage, batch.table, rows, key=batch.service.key)
            table = add_counts(self.storage, batch.table, table.with_files(*table.files, file), rows)
        return before.with_table(batch.table, table)

    def _merge(self, name: str, key: str) -> None:
        """Merge small files of a table until there are few of each order of magnitude."""

        def change(before: Manifest) -> Manifest:
            table = before.tables[name]
            self.check_files([*table.files, *table.rollups])
            merged = merge_files(self.storage, name, table, key)
            return before if merged is table else before.with_table(name, merged)

        number = -1
        while (latest := self.versions.commit(change).number) != number:
            number = latest

    def forget(self, tables: Sequence[tuple[str, str]], person: int | str) -> int:
        """Delete a person from tables, given with their keys; rewrite the files that hold their rows.

        Earlier versions of the lake are removed, because they contain the rows.
        """
        deleted = 0

        def change(before: Manifest) -> Manifest:
            nonlocal deleted
            check_known(self._stamp, before.stamp)
            after, deleted = before, 0
            for name, key in tables:
                table, rows = self._without(name, before.tables[name], key, person)
                if rows:
                    after, deleted = after.with_table(name, table), deleted + rows
            return replace(after, since=before.number + 1) if deleted else before

        self.versions.commit(change)
        return deleted

    def _without(self, name: str, table: LakeTable, key: str, person: int | str) -> tuple[LakeTable, int]:
        """Return a table without a person's rows, and how many there were."""
        deleted = 0
        self.check_files(table.files)
        for file in table.files:
            if not holds(self.storage.parquet(file.name), key, person):
                continue
            rows = read_rows(self.storage, [file], table.columns)
            is_theirs = is_of(rows, key, person)
            remaining, gone = rows.filter(pc.invert(is_theirs)), rows.filter(is_theirs)
            rewritten = [write_rows(self.storage, name, remaining, key=key)] if remaining.num_rows else []
            table = table.with_files(*(other for other in table.files if other != file), *rewritten)
            table = add_counts(self.storage, name, table, gone, sign=-1)
            deleted += gone.num_rows
        return table, deleted

    def add_rollup(self, table: str, by: Sequence[str]) -> None:
        """Maintain counts of codes by public columns for a report table, exact after every batch."""

        def change(before: Manifest) -> Manifest:
            counted = replace(before.tables[table], by=tuple(by), rollups=())
            self.check_files(counted.files)
            for file in counted.files:
                counted = add_counts(self.storage, table, counted, read_rows(self.storage, [file], counted.columns))
            return before.with_table(table, counted)

        self.versions.commit(change)

    def rollups(self) -> dict[str, tuple[str, ...]]:
        """Return the report tables that have a rollup, with its public columns."""
        tables = self.versions.latest().tables
        return {name: table.by for name, table in tables.items() if table.by is not None}

    def codes(self, table: str, channel: int) -> npt.NDArray[np.int64]:
        """Return the distinct codes of a channel, in order."""
        return np.asarray(self.fetch(codes_of(table), [channel], {}).column("code"), dtype=np.int64)

    def changes(self) -> Hashable | None:
        """Return the version number, which every change of the lake increases."""
        return self.versions.latest().number

    def fetch(self, statement: str, parameters: Sequence[Any], uploads: Upload) -> pa.Table:
        """Run one statement over the reports and the uploaded tables."""
        for tries_left in reversed(range(TRIES)):
            manifest = self.versions.latest()
            try:
                return self._run(manifest, statement, parameters, uploads)
            except EngineError:  # merged or rewritten files may be gone
                if not tries_left or self.versions.latest().number == manifest.number:
                    raise
        raise AssertionError  # the last try returns or raises

    def _run(self, manifest: Manifest, statement: str, parameters: Sequence[Any], uploads: Upload) -> pa.Table:
        try:
            with self._cursors.lend() as cursor:
                self._show(cursor, manifest, statement.split('"')[1::2])
                return run_statement(cursor, statement, parameters, uploads)
        except duckdb.Error as cause:
            failure = cause
        raise unrunnable(failure)

    def _show(self, cursor: duckdb.DuckDBPyConnection, manifest: Manifest, names: Sequence[str]) -> None:
        """Create views of the tables that a statement names."""
        for name, files, columns in named_tables(manifest, names):
            source: Any = pa.schema([(column, pa.type_for_alias(kind)) for column, kind in columns]).empty_table()
            self.check_files(files)
            if files:
                source = self.storage.source([file.name for file in files])
            if isinstance(source, str):
                show = "CREATE OR REPLACE TEMP VIEW {view} AS SELECT * FROM {source}"
                cursor.execute(compose(show, view=name, source=Sql(source)))
            else:
                cursor.register(name, source)

    def check_files(self, files: Sequence[Stored]) -> None:
        """Raise unless files are as they were written: sizes always, digests in folders once for each file and process.

        Parquet's own sums do not cover everything: some altered bits are read as other codes.
        """
        has_sizes = self.storage.has_sizes({file.name: file.bytes for file in files})
        if not has_sizes or (isinstance(self.storage, Folder) and not all(map(self._is_unaltered, files))):
            message = "A file of the lake is missing or altered. `tacit lake verify` names it; restore a backup."
            raise EngineError(message, code="damaged-store")

    def _is_unaltered(self, file: Stored) -> bool:
        """Return whether a file has its digest; one that was checked is checked again once it has another date."""
        with suppress(FileNotFoundError):
            mark = file.name, self.storage.time_written(file.name)
            if mark not in self._unaltered and digest_of(self.storage.read(file.name)) == file.digest:
                self._unaltered.add(mark)
            return mark in self._unaltered
        return False

    def stamp(self) -> Stamp | None:
        """Return the stamp of a collector's database, or None if it has none."""
        self._stamp = self.versions.latest().stamp
        return self._stamp

    def set_stamp(self, stamp: Stamp) -> None:
        """Stamp the lake; it is on disk when this returns."""

        def change(before: Manifest) -> Manifest:
            check_known(self._stamp, before.stamp)
            return before if before.stamp == stamp else replace(before, stamp=stamp)

        self.versions.commit(change)
        self._stamp = stamp

    def probe(self) -> bool:
        """Write a value, and return whether it can be read back."""
        name, content = f"probes/{uuid.uuid4().hex}", uuid.uuid4().bytes
        self.storage.create(name, content)
        try:
            return self.storage.read(name) == content
        finally:
            self.storage.remove(name)

    def read_all(self) -> None:
        """Read everything that is stored; raise if a file is missing or altered."""
        if problems := verify(self.storage):
            message = f"The lake is damaged: {problems[0]}. Restore a backup: tacit lake restore."
            raise EngineError(message, code="damaged-store")

    def clear(self, table: str) -> None:
        """Drop a report table and its rollup."""

        def change(before: Manifest) -> Manifest:
            check_known(self._stamp, before.stamp)
            return before.with_table(table, None) if table in before.tables else before

        self.versions.commit(change)

    def copy_to(self, path: Any) -> None:
        """Refuse: a lake is copied file by file."""
        del path
        message = "A lake is copied file by file: tacit lake backup LAKE FOLDER."
        raise EngineError(message, code="kept-elsewhere")

    def close(self) -> None:
        """Release the engine's resources."""
        self._cursors.close()


def named_tables(manifest: Manifest, names: Sequence[str]) -> list[tuple[str, tuple[Stored, ...], Columns]]:
    """Return the files and columns of the tables and rollups that a statement names."""
    stored: list[tuple[str, tuple[Stored, ...], Columns]] = []
    for name, table in manifest.tables.items():
        stored += [(name, table.files, table.columns), (rollup_of(name), table.rollups, table.rollup_columns)]
    return [dimension for dimension in stored if dimension[0] in names]


def _closed_connection(storage: Storage) -> duckdb.DuckDBPyConnection:
    """Return a database in memory that reads the lake's folder, and nothing else."""
    connection = duckdb.connect(":memory:")
    if isinstance(storage, Folder):
        quoted = str(storage.root).replace("'", "''")
        connection.execute(f"SET allowed_directories = ['{quoted}']")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _rollup_columns(batch: ReportBatch) -> tuple[str, ...] | None:
    """Return the public columns to count codes by from the first batch on; None if people send several reports."""
    if batch.service.sends > 1 or pc.any(pc.not_equal(batch.reports["channel"], 0)).as_py():
        return None
    declared = [column for column in batch.service.public if column.values is not None]
    groups = math.prod(len(column.values or ()) + 1 for column in declared)
    return tuple(column.name for column in declared) if groups <= MOST_GROUPS else ()


def open_lake(path: Any, engine: Any, *, read_only: bool) -> Lake:
    """Open a lake, or create one in an empty folder; ``engine`` may select Spark to run the statements."""
    if path is None:
        message = "Name the folder of the lake: tc.connect('folder', engine='lake')."
        raise UsageError(message, code="no-folder")
    if is_other_folder(path):
        message = f"{Path(path).name!r} is a folder with other files. Name a lake, or a new or empty folder."
        raise UsageError(message, code="not-empty")
    if engine in ("duckdb", "lake"):
        return Lake(path, read_only=read_only)
    from tacit.engines.lake.spark import SparkLake

    return SparkLake(path, engine)
