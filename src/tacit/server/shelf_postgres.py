"""An inbox in a PostgreSQL database: the same rows as in a file, looked up and stored a group at a time.

One collector uses a database at a time, which an advisory lock sees to. A connection that broke is made anew, so that
reports are taken again as soon as the server is back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tacit.errors import EngineError
from tacit.server.judge import Person, person_of, stored_key
from tacit.server.shelf import Identity, Pending, Place, Row

try:
    import psycopg
except ImportError:
    message = "PostgreSQL needs psycopg. Install tacit with its extra: pip install '.[postgres]'."
    raise EngineError(message, code="missing-extra") from None

__all__ = ["PostgresShelf"]

VERSION = 1
LOCK = 0x7461_6369
"""Number of the advisory lock: "taci"."""

TABLES = """
CREATE TABLE IF NOT EXISTS tacit_store (version INTEGER);
CREATE TABLE IF NOT EXISTS tacit_places (place SERIAL PRIMARY KEY, collection TEXT, service TEXT, round TEXT,
  UNIQUE (collection, service));
CREATE TABLE IF NOT EXISTS tacit_known (place INTEGER, person TEXT COLLATE "C", slot INTEGER, digest BYTEA,
  PRIMARY KEY (place, person, slot));
CREATE TABLE IF NOT EXISTS tacit_pending (number BIGSERIAL PRIMARY KEY, place INTEGER, person TEXT COLLATE "C",
  slot INTEGER, content BYTEA);
CREATE INDEX IF NOT EXISTS tacit_whole ON tacit_pending (place, person);
CREATE TABLE IF NOT EXISTS tacit_forgotten (collection TEXT, digest BYTEA, PRIMARY KEY (collection, digest));
CREATE TABLE IF NOT EXISTS tacit_totals (known BIGINT);
INSERT INTO tacit_store SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM tacit_store);
INSERT INTO tacit_totals SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM tacit_totals);
"""

Connection = psycopg.Connection[tuple[Any, ...]]


class PostgresShelf:
    """Rows in a database."""

    failures: tuple[type[Exception], ...] = (psycopg.Error,)

    def __init__(self, address: str) -> None:
        self._address = address
        try:
            self._writer, self._reader = self._locked(), self._open()
            with self._writer.transaction():
                self._writer.execute(TABLES)
            [(version,)] = self._rows("SELECT version FROM tacit_store")
            self.any_forgotten = bool(self._rows("SELECT 1 FROM tacit_forgotten LIMIT 1"))
        except psycopg.Error as cause:  # its words name host and user
            problem = f"The PostgreSQL database cannot be reached ({type(cause).__name__}). Check its address."
            raise EngineError(problem, code="unreadable-database") from None
        if version != VERSION:
            self.close()
            problem = f"The store is of version {version}; this program knows {VERSION}. Update tacit."
            raise EngineError(problem, code="store-too-new")

    def _open(self) -> Connection:
        connection = psycopg.connect(self._address, autocommit=True)
        connection.execute("SET synchronous_commit = on")  # acknowledged is committed is on disk
        return connection

    def _locked(self) -> Connection:
        """Return a connection that keeps other collectors out."""
        connection = self._open()
        row = connection.execute("SELECT pg_try_advisory_lock(%s)", [LOCK]).fetchone()
        if row is None or not row[0]:
            connection.close()
            problem = "Another collector uses this database. Stop it first, or name another database."
            raise EngineError(problem, code="store-in-use")
        return connection

    def _rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._writer.execute(query, parameters).fetchall()

    def code_of(self, failure: Exception) -> str:
        """Return the stable code of a failure: whether there is no room, or no store."""
        return "disk-full" if isinstance(failure, psycopg.errors.DiskFull) else "no-store"

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything inside, or nothing."""
        if self._writer.closed:
            self._writer = self._locked()
        with self._writer.transaction():
            yield

    def places(self) -> list[Place]:
        """Return all places."""
        query = "SELECT place, collection, service, round FROM tacit_places ORDER BY place"
        return [Place(*row) for row in self._rows(query)]

    def add_place(self, collection: str, service: str, round_: str) -> int:
        """Add a place and return its number."""
        insert = "INSERT INTO tacit_places (collection, service, round) VALUES (%s, %s, %s) RETURNING place"
        [(place,)] = self._rows(insert, [collection, service, round_])
        return int(place)

    def expect_parts(self) -> None:
        """Do nothing: the index is there."""

    def known(self, asked: Sequence[Identity]) -> dict[Identity, bytes]:
        """Return the digests of those reports that are stored."""
        query = (
            "SELECT k.place, k.person, k.slot, k.digest FROM tacit_known k "
            "JOIN (SELECT DISTINCT * FROM unnest(%s::int[], %s::text[], %s::int[])) AS a (place, person, slot) "
            "USING (place, person, slot)"
        )
        return {
            Identity(place, person_of(person), slot): digest
            for place, person, slot, digest in self._rows(query, _columns(asked))
        }

    def reported(self, asked: Iterable[tuple[int, Person]]) -> set[tuple[int, Person]]:
        """Return the places and people, of those asked for, with any report."""
        query = (
            "SELECT DISTINCT k.place, k.person FROM tacit_known k "
            "JOIN unnest(%s::int[], %s::text[]) AS a (place, person) USING (place, person)"
        )
        pairs = list(asked)
        if not pairs:
            return set()
        columns = [[place for place, _ in pairs], [stored_key(person) for _, person in pairs]]
        return {(place, person_of(person)) for place, person in self._rows(query, columns)}

    def forgotten(self, asked: Mapping[bytes, str]) -> set[bytes]:
        """Return the tombstones, of those asked for with their collections, that are there."""
        query = (
            "SELECT digest FROM tacit_forgotten "
            "JOIN unnest(%s::text[], %s::bytea[]) AS a (collection, digest) USING (collection, digest)"
        )
        return {digest for (digest,) in self._rows(query, [list(asked.values()), list(asked)])}

    def insert(self, rows: Sequence[Row]) -> None:
        """Store new reports."""
        columns = _columns([row.identity for row in rows])
        known = "INSERT INTO tacit_known SELECT * FROM unnest(%s::int[], %s::text[], %s::int[], %s::bytea[])"
        self._writer.execute(known, [*columns, [row.digest for row in rows]])
        pending = (
            "INSERT INTO tacit_pending (place, person, slot, content) "
            "SELECT * FROM unnest(%s::int[], %s::text[], %s::int[], %s::bytea[])"
        )
        self._writer.execute(pending, [*columns, [row.content for row in rows]])
        self._writer.execute("UPDATE tacit_totals SET known = known + %s", [len(rows)])

    def last_pending(self, place: int) -> int:
        """Return the number of the newest report of a place that is pending, or 0."""
        if self._reader.closed:
            self._reader = self._open()
        row = self._reader.execute("SELECT max(number) FROM tacit_pending WHERE place = %s", [place]).fetchone()
        return int(row[0]) if row and row[0] else 0

    def pending(self, place: int, sends: int, people: int) -> Pending:
        """Return reports of people whose slots are all there, of at most so many people, oldest first."""
        query = (
            "SELECT number, person, slot, content FROM tacit_pending WHERE place = %s AND person IN ("
            "SELECT person FROM tacit_pending WHERE place = %s GROUP BY person HAVING count(*) = %s "
            "ORDER BY min(number) LIMIT %s) ORDER BY number"
        )
        rows = self._reader.execute(query, [place, place, sends, people]).fetchall()
        if not rows:
            return Pending()
        numbers, keys, slots, contents = zip(*rows, strict=True)
        return Pending(numbers, [person_of(key) for key in keys], slots, json.loads(b"[" + b",".join(contents) + b"]"))

    def settled(self, place: int) -> int:
        """Return how many reports of a place are known and not pending."""
        count = "SELECT count(*) FROM tacit_{} WHERE place = %s"
        query = f"SELECT ({count.format('known')}) - ({count.format('pending')})"
        row = self._reader.execute(query, [place, place]).fetchone()
        return int(row[0]) if row else 0

    def drop(self, numbers: Sequence[int]) -> None:
        """Drop contents that are in the analytical database now."""
        self._writer.execute("DELETE FROM tacit_pending WHERE number = ANY(%s)", [list(numbers)])

    def chores(self) -> Iterator[Callable[[], object]]:
        """Yield nothing: the server looks after itself."""
        yield from ()

    def forget(self, collection: str, tombstone: bytes, places: Sequence[int], person: Person) -> tuple[int, int]:
        """Delete a person and leave a tombstone; return how many reports were known, and how many pending."""
        self._writer.execute(
            "INSERT INTO tacit_forgotten VALUES (%s, %s) ON CONFLICT DO NOTHING", [collection, tombstone]
        )
        self.any_forgotten = True
        hers = [list(places), stored_key(person)]
        known, pending = (
            self._writer.execute(f"DELETE FROM {table} WHERE place = ANY(%s) AND person = %s", hers).rowcount  # noqa: S608
            for table in ("tacit_known", "tacit_pending")
        )
        self._writer.execute("UPDATE tacit_totals SET known = known - %s", [known])
        return known, pending

    def counts(self) -> tuple[int, int]:
        """Return how many reports are known, and how many pending."""
        [(known, pending)] = self._rows("SELECT known, (SELECT count(*) FROM tacit_pending) FROM tacit_totals")
        return int(known), int(pending)

    def close(self) -> None:
        """Close the connections."""
        self._reader.close()
        self._writer.close()


def _columns(identities: Sequence[Identity]) -> list[list[Any]]:
    return [
        [identity.place for identity in identities],
        [stored_key(identity.person) for identity in identities],
        [identity.slot for identity in identities],
    ]
