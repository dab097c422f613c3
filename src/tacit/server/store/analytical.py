"""The analytical database of a collector: whether it exists, is the right one, and what it contains.

It is derived from the inbox, and can be rebuilt from it. A stamp in both identifies the store and counts changes, so a
file that was deleted, replaced or restored from an older copy is detected.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Hashable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tacit.answers.marks import count_reports
from tacit.collection import Collection
from tacit.contract.contract import ServiceContract
from tacit.database import Database
from tacit.encode.reports import report_table
from tacit.engines import open_engine
from tacit.engines.base import Engine, Stamp
from tacit.engines.lake.place import is_lake
from tacit.errors import EngineError, OverloadedError
from tacit.server.store.disk import has_room
from tacit.sql.report_tables import people_in

__all__ = ["Analytical"]

DAMAGED = ("engine-failed", "unreadable-database")

LOG = logging.getLogger("tacit.server")


class _File(NamedTuple):
    device: int
    number: int


class Analytical:
    """One database, in a file or on a PostgreSQL server.

    Parameters
    ----------
    path : Path
        A file of DuckDB.
    store : str
        The address of a PostgreSQL database to use instead of that file.
    """

    def __init__(self, path: Path, store: str = "") -> None:
        self._path, self._store = path, store
        self._file: _File | None = None
        self.unbound: set[str] = set()
        """Collections in whose reports ids are not bound to people; every database that is opened here shares it."""
        self.open()

    @property
    def is_lake(self) -> bool:
        """Whether reports are moved to a lake, which is copied file by file."""
        return bool(self._store) and is_lake(self._store, "duckdb")

    def open(self, *, check: bool = False) -> None:
        """Open the database; set a damaged file aside and create a new one.

        A file is damaged if the engine cannot open it although the disk can read all of it; ``check`` also reads all of
        its content.
        """
        try:
            self._open(check=check)
        except EngineError as cause:
            if self._store or cause.code not in DAMAGED or not self._is_usable():
                raise
            self.close()
            self.set_aside()
            self._open()

    def _open(self, *, check: bool = False) -> None:
        self._engine: Engine = open_engine(self._store or self._path, "duckdb")
        try:
            self.database = Database(self._engine, self.unbound)
            if check:
                self._engine.read_all()
        except BaseException:
            self._engine.close()
            raise
        self._file = self._find_file()

    def _is_usable(self) -> bool:
        """Return whether the file can be read in full and the disk has space: then its content is the problem."""
        try:
            if not has_room(self._path.parent):
                return False
            with self._path.open("r+b") as file:
                while file.read(1 << 20):
                    pass
        except OSError:
            return False
        return True

    def _find_file(self) -> _File | None:
        if self._store:
            return None
        try:
            status = self._path.stat()
        except OSError:
            return None
        return _File(status.st_dev, status.st_ino)

    def is_in_place(self) -> bool:
        """Return whether the open file is still the one in the folder."""
        return self._find_file() == self._file

    def reopen(self) -> None:
        """Reopen the database and read all of it: after a failure, an engine may refuse everything until then."""
        self.close()
        self.open(check=True)

    def begin_anew(self, *, keep: bool, is_own: bool = True) -> None:
        """Drop all reports; ``keep`` sets the file aside if it has reports that exist nowhere else.

        Public tables are copied to the new file, if they can still be read and are this store's own.
        """
        if self._store:
            for collection in self.database.collections:
                for service in collection.schema.services:
                    self._engine.clear(report_table(collection.id, service.name))
            self.database = Database(self._engine, self.unbound)
            return
        tables: list[tuple[str, str, pa.Table]] = []
        with contextlib.suppress(Exception):  # an engine that failed may refuse everything
            tables = self._engine.dimensions() if is_own else []
        self.close()
        if keep:
            self.set_aside()
        for end in ("", ".wal"):
            self._path.with_name(self._path.name + end).unlink(missing_ok=True)
        self.open()
        for name, key, table in tables:
            self._engine.store_dimension(name, key, table)
        self.database = Database(self._engine, self.unbound)

    def rollups(self, remembered: str | None) -> str:
        """Return which tables have rollups, by which columns, as JSON; as remembered if the database has none."""
        defined: dict[str, tuple[str, ...]] = {}
        with contextlib.suppress(Exception):
            defined = self._engine.rollups()
        return json.dumps(defined) if defined else remembered or "{}"

    def roll_up(self, remembered: str | None) -> None:
        """Recreate rollups that a rebuilt database lacks; without them answers are the same, but slower."""
        try:
            known = self._engine.rollups()
            for table, by in json.loads(remembered or "{}").items():
                if table not in known and self._engine.has_table(table):
                    self._engine.add_rollup(table, by)
        except Exception as cause:  # such as a full disk; questions then read the reports themselves
            LOG.error("rollups cannot be defined again: %s", type(cause).__name__)
        self.database = Database(self._engine, self.unbound)

    def set_aside(self) -> None:
        """Rename the file so that nothing reads it again."""
        number = 1
        while (aside := self._path.with_name(f"{self._path.name}.aside-{number}")).exists():
            number += 1
        if self._path.exists():
            self._path.rename(aside)
            LOG.error("the analytical database is set aside as %s: analytical-set-aside", aside.name)
        journal = self._path.with_name(f"{self._path.name}.wal")
        if journal.exists():
            journal.rename(aside.with_name(f"{aside.name}.wal"))

    def read_stamp(self) -> None:
        """Read the stamp again, to compare changes with the one another collector left."""
        self._engine.stamp()

    @property
    def version(self) -> Hashable:
        """A version that every change of stored reports increases, in any process."""
        return self._engine.changes()

    @property
    def stamp(self) -> Stamp | None:
        """The stamp it carries."""
        return self._engine.stamp()

    @stamp.setter
    def stamp(self, stamp: Stamp) -> None:
        self._engine.set_stamp(stamp)

    def count(self, collection: Collection, service: ServiceContract) -> int:
        """Return how many reports of a service the database has."""
        return count_reports(self._engine, collection.id, service)

    def people(self, collection: Collection, service: ServiceContract) -> list[str]:
        """Return the stored keys of all people with reports to a service."""
        table, key = report_table(collection.id, service.service.name), service.service.key
        return self._engine.fetch(*people_in(table, key), {})[key].to_pylist() if self._engine.has_table(table) else []

    def probe(self) -> None:
        """Write a value and read it back."""
        if not self.is_in_place():
            message = "The analytical database was deleted or replaced. It will be rebuilt from the inbox."
            raise OverloadedError(message, code="store-replaced", retry_after=5)
        if not self._engine.probe():
            message = "A row written to the analytical database could not be read back."
            raise OverloadedError(message, code="no-store")

    def close(self) -> None:
        """Close the database, in any state."""
        with contextlib.suppress(Exception):  # a failed engine may refuse that as well
            self._engine.close()
