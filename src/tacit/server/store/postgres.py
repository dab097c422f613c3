"""An inbox in a PostgreSQL database: the same rows as in a file, looked up and stored in groups.

An advisory lock ensures that one collector uses a database at a time. The connection that holds the lock does all
writes. If it breaks, a new connection takes the lock before anything else; while another collector has it, this one
refuses everything.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from tacit.errors import EngineError
from tacit.server.store.base import Identity, Pending, Place, Row, Sizes, content_digest, digest_of
from tacit.server.store.tombstones import KEY_FILE, adopt_key
from tacit.server.store.validate import Person, person_of, stored_key
from tacit.tables.statements import Sql, compose

try:
    import psycopg
except ImportError:
    message = "PostgreSQL needs psycopg. Install tacit with its extra: pip install '.[postgres]'."
    raise EngineError(message, code="missing-extra") from None

__all__ = ["PostgresStore"]

VERSION = 2
LOCK = 0x7461_6369
"""Number of the advisory lock: "taci"."""

HAS_LOCK = """
SELECT count(*) FROM pg_locks
WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid() AND classid = 0 AND objid = %s AND objsubid = 1
"""

CONNECT_SECONDS = 3
"""Seconds after which an unresponsive server counts as unreachable; readiness must report it within five."""

TABLES = """
CREATE TABLE IF NOT EXISTS tacit_store (version INTEGER);
CREATE TABLE IF NOT EXISTS tacit_places (place SERIAL PRIMARY KEY, collection TEXT, service TEXT, round TEXT,
  UNIQUE (collection, service));
CREATE TABLE IF NOT EXISTS tacit_known (place INTEGER, person TEXT COLLATE "C", slot INTEGER, digest BYTEA,
  PRIMARY KEY (place, person, slot));
CREATE TABLE IF NOT EXISTS tacit_pending (number BIGSERIAL PRIMARY KEY, place INTEGER, person TEXT COLLATE "C",
  slot INTEGER, content BYTEA);
CREATE TABLE IF NOT EXISTS tacit_forgotten (collection TEXT, digest BYTEA, PRIMARY KEY (collection, digest));
INSERT INTO tacit_store SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM tacit_store);
"""

RESIZE = """
INSERT INTO tacit_sizes AS old VALUES (%s, %s, %s, %s, %s) ON CONFLICT (place) DO UPDATE SET
known = old.known + excluded.known, damaged = old.damaged + excluded.damaged, lost = old.lost + excluded.lost,
bulk = old.bulk + excluded.bulk
"""

LISTED = Sql("number = ANY(%s)")

KEEP_CONTENTS = """
CREATE TABLE tacit_state (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE tacit_contracts (number BIGSERIAL, id TEXT PRIMARY KEY, contract TEXT);
CREATE TABLE tacit_damaged (number BIGINT PRIMARY KEY, place INTEGER);
CREATE TABLE tacit_deletions (collection TEXT, service TEXT, person TEXT COLLATE "C",
  PRIMARY KEY (collection, service, person));
CREATE TABLE tacit_sizes (place INTEGER PRIMARY KEY, known BIGINT DEFAULT 0, damaged BIGINT DEFAULT 0,
  lost BIGINT DEFAULT 0, bulk BIGINT DEFAULT 0);
INSERT INTO tacit_sizes (place, known) SELECT place, count(*) FROM tacit_known GROUP BY place;
ALTER TABLE tacit_known ADD COLUMN number BIGINT;
UPDATE tacit_known k SET number = p.number FROM tacit_pending p
  WHERE (p.place, p.person, p.slot) = (k.place, k.person, k.slot);
CREATE TABLE tacit_waiting (number BIGINT PRIMARY KEY, place INTEGER, person TEXT COLLATE "C");
INSERT INTO tacit_waiting SELECT number, place, person FROM tacit_pending;
CREATE INDEX tacit_whole_people ON tacit_waiting (place, person);
DROP INDEX IF EXISTS tacit_whole;
ALTER TABLE tacit_pending RENAME TO tacit_reports;
ALTER TABLE tacit_reports ADD COLUMN digest BYTEA;
DROP TABLE IF EXISTS tacit_totals;
UPDATE tacit_store SET version = 2;
"""
"""From version 1 to 2 (3 to 4 for a file): stores contents and digests of whole rows."""

Connection = psycopg.Connection[tuple[Any, ...]]


class PostgresStore:
    """Rows in a database."""

    failures: tuple[type[Exception], ...] = (psycopg.Error, EngineError)

    def __init__(self, address: str, folder: Path) -> None:
        self._address, self.reopened = address, False
        try:
            with ExitStack() as opened:  # closed again if the store is not usable
                self._writer = opened.enter_context(closing(self._lock_database()))
                self._reader = opened.enter_context(closing(self._open()))
                self._migrate(folder / KEY_FILE)
                self.any_forgotten = self._has_tombstones()
                opened.pop_all()
        except psycopg.Error as cause:  # its message names host and user
            problem = f"The PostgreSQL database cannot be reached ({type(cause).__name__}). Check its address."
            raise EngineError(problem, code="unreadable-database") from None

    def _migrate(self, key: Path) -> None:
        """Migrate the tables to the newest version; refuse tables newer than this program."""
        with self._writer.transaction():
            self._writer.execute(TABLES)
            [(version,)] = self._rows("SELECT version FROM tacit_store")
            if version == 1:
                self._writer.execute(KEEP_CONTENTS)
                self._redigest()
                self.remember("tombstone-key", adopt_key(key, needed=self._has_tombstones()).hex())
                self.remember("identity", secrets.token_hex(16))
        if version > VERSION:
            problem = f"The store has version {version}; this program supports up to {VERSION}. Update tacit."
            raise EngineError(problem, code="store-too-new")
        key.unlink(missing_ok=True)

    def _redigest(self) -> None:
        """Give pending reports the digests of their whole rows; an altered one keeps its old digest."""
        query = (
            "SELECT number, r.place, r.person, r.slot, k.digest, content "
            "FROM tacit_reports r JOIN tacit_known k USING (number)"
        )
        pairs = [
            (number, digest_of(Identity(place, person_of(person), slot), content))
            if content_digest(content) == digest
            else (number, digest)
            for number, place, person, slot, digest, content in self._rows(query)
        ]
        columns = [[number for number, _ in pairs], [digest for _, digest in pairs]]
        for table in ("tacit_reports", "tacit_known"):
            update = (
                "UPDATE {table} t SET digest = u.digest "
                "FROM unnest(%s::bigint[], %s::bytea[]) AS u (number, digest) WHERE t.number = u.number"
            )
            self._writer.execute(compose(update, table=table), columns)

    def _has_tombstones(self) -> bool:
        return bool(self._rows("SELECT 1 FROM tacit_forgotten LIMIT 1"))

    def _open(self) -> Connection:
        connection = psycopg.connect(self._address, autocommit=True, connect_timeout=CONNECT_SECONDS)
        connection.execute("SET synchronous_commit = on")  # acknowledged means committed and on disk
        return connection

    def _lock_database(self) -> Connection:
        """Return a connection that locks other collectors out."""
        connection = self._open()
        row = connection.execute("SELECT pg_try_advisory_lock(%s)", [LOCK]).fetchone()
        if row is None or not row[0]:
            connection.close()
            problem = "Another collector uses this database. Stop it first, or name another database."
            raise EngineError(problem, code="store-in-use")
        return connection

    def check(self) -> None:
        """Take the lock again if it was lost with its connection; raise while another collector has it."""
        try:
            if not self._writer.closed and self._rows(HAS_LOCK, [LOCK]) == [(1,)]:
                return
        except psycopg.Error:
            pass  # the connection broke
        self.close()
        self._writer = self._lock_database()
        self._reader = self._open()
        self.any_forgotten = self._has_tombstones()
        self.reopened = True

    def _beside(self) -> Connection:
        """Return the connection that reads concurrently with the writer."""
        if self._reader.closed:
            self._reader = self._open()
        return self._reader

    def _rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._writer.execute(query, parameters).fetchall()

    def code_of(self, failure: Exception) -> str:
        """Return the stable code of a failure: a full disk, an unreachable store, or a lost lock."""
        if isinstance(failure, EngineError):
            return failure.code
        return "disk-full" if isinstance(failure, psycopg.errors.DiskFull) else "no-store"

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything inside, or nothing."""
        if self._writer.closed:
            self.check()
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
        """Do nothing: the index exists."""

    def known_digests(self, asked: Sequence[Identity]) -> dict[Identity, bytes]:
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

    def with_reports(self, asked: Iterable[tuple[int, Person]]) -> set[tuple[int, Person]]:
        """Return which of the given places and people have any report."""
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
        """Return which of the given tombstones, by collection, exist."""
        query = (
            "SELECT digest FROM tacit_forgotten "
            "JOIN unnest(%s::text[], %s::bytea[]) AS a (collection, digest) USING (collection, digest)"
        )
        return {digest for (digest,) in self._rows(query, [list(asked.values()), list(asked)])}

    def insert(self, rows: Sequence[Row]) -> None:
        """Store new reports."""
        columns = _columns([row.identity for row in rows])
        reports = (
            "WITH new AS (INSERT INTO tacit_reports (place, person, slot, digest, content) "
            "SELECT * FROM unnest(%s::int[], %s::text[], %s::int[], %s::bytea[], %s::bytea[]) "
            "RETURNING number, place, person, slot, digest), "
            "listed AS (INSERT INTO tacit_waiting SELECT number, place, person FROM new) "
            "INSERT INTO tacit_known SELECT place, person, slot, digest, number FROM new"
        )
        self._writer.execute(reports, [*columns, [row.digest for row in rows], [row.content for row in rows]])
        for place, more in Counter(row.identity.place for row in rows).items():
            self._resize(place, known=more)

    def _resize(self, place: int, *, known: int = 0, damaged: int = 0, lost: int = 0, bulk: int = 0) -> None:
        self._writer.execute(RESIZE, [place, known, damaged, lost, bulk])

    def add_bulk(self, place: int, reports: int) -> None:
        """Record reports that were loaded in bulk."""
        self._resize(place, bulk=reports)

    def last_pending(self, place: int) -> int:
        """Return the number of the newest pending report of a place, or 0."""
        row = self._beside().execute("SELECT max(number) FROM tacit_waiting WHERE place = %s", [place]).fetchone()
        return int(row[0]) if row and row[0] else 0

    def waiting(self, places: Sequence[int]) -> list[tuple[int, Person]]:
        """Return the numbers of all pending reports of some places, with their people."""
        query = "SELECT number, person FROM tacit_waiting WHERE place = ANY(%s)"
        return [(number, person_of(key)) for number, key in self._beside().execute(query, [list(places)]).fetchall()]

    def pending(self, place: int, sends: int, people: int, numbers: Sequence[int] | None = None) -> Pending:
        """Return reports of people all of whose slots have arrived, at most so many people, oldest first; or these."""
        whole = Sql(
            "w.person IN (SELECT person FROM tacit_waiting WHERE place = %s GROUP BY person HAVING count(*) = %s "
            "ORDER BY min(number) LIMIT %s)"
        )
        chosen, given = (whole, [place, sends, people]) if numbers is None else (LISTED, [list(numbers)])
        query = (
            "SELECT number, r.person, slot, digest, content, "
            "(SELECT known - damaged - lost FROM tacit_sizes WHERE place = %s) - "
            "(SELECT count(*) FROM tacit_waiting WHERE place = %s) "
            "FROM tacit_reports r JOIN tacit_waiting w USING (number) "
            "WHERE w.place = %s AND {chosen} ORDER BY number"
        )
        rows = self._beside().execute(compose(query, chosen=chosen), [place, place, place, *given]).fetchall()
        if not rows:
            return Pending()
        numbers, keys, slots, digests, contents, settled = zip(*rows, strict=True)
        return Pending(numbers, [person_of(key) for key in keys], slots, digests, contents, settled[0])

    def sizes(self) -> dict[int, Sizes]:
        """Return the numbers of reports, by place."""
        query = (
            "SELECT s.place, known, coalesce(n, 0), damaged, lost, bulk FROM tacit_sizes s LEFT JOIN "
            "(SELECT place, count(*) AS n FROM tacit_waiting GROUP BY place) w ON w.place = s.place"
        )
        return {place: Sizes(*map(int, counts)) for place, *counts in self._beside().execute(query).fetchall()}

    def drop(self, place: int, numbers: Sequence[int]) -> None:
        """Mark reports as no longer pending, now that the analytical database has them."""
        del place  # numbers belong to one place
        self._writer.execute("DELETE FROM tacit_waiting WHERE number = ANY(%s)", [list(numbers)])

    def set_aside(self, place: int, numbers: Sequence[int]) -> None:
        """Mark damaged reports as no longer pending; they are never counted."""
        self.drop(place, numbers)
        insert = "INSERT INTO tacit_damaged SELECT *, %s FROM unnest(%s::bigint[]) ON CONFLICT DO NOTHING"
        self._resize(place, damaged=self._writer.execute(insert, [place, list(numbers)]).rowcount)

    def refill(self, after: int, most: int) -> int:
        """Make up to so many reports after a number pending again; return the last number, or 0 at the end."""
        [(last,)] = self._rows("SELECT max(number) FROM tacit_reports")
        if last is None or after >= last:
            return 0
        self._writer.execute(
            "INSERT INTO tacit_waiting SELECT number, place, person FROM tacit_reports WHERE number > %s "
            "AND number <= %s AND number NOT IN (SELECT number FROM tacit_damaged) ON CONFLICT DO NOTHING",
            [after, after + most],
        )
        return after + most

    def lacks_contents(self) -> bool:
        """Return whether there are reports without content, from an earlier version."""
        return bool(self._rows("SELECT 1 FROM tacit_known WHERE number IS NULL LIMIT 1"))

    def count_lost(self) -> None:
        """Mark the reports lost with an analytical database: those without content, and all loaded in bulk."""
        lost = "(SELECT count(*) FROM tacit_known k WHERE k.place = s.place AND number IS NULL)"
        self._writer.execute(compose("UPDATE tacit_sizes s SET lost = {lost}", lost=Sql(lost)))

    def state(self, name: str) -> str | None:
        """Return a remembered setting, or None."""
        rows = self._rows("SELECT value FROM tacit_state WHERE name = %s", [name])
        return rows[0][0] if rows else None

    def remember(self, name: str, value: str) -> None:
        """Remember a setting."""
        insert = "INSERT INTO tacit_state VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        self._writer.execute(insert, [name, value])

    def contracts(self) -> dict[str, str]:
        """Return the texts of all contracts, by collection id, in order of publication."""
        return dict(self._rows("SELECT id, contract FROM tacit_contracts ORDER BY number"))

    def add_contract(self, name: str, text: str) -> None:
        """Store a contract, without which reports cannot be read."""
        insert = "INSERT INTO tacit_contracts (id, contract) VALUES (%s, %s) ON CONFLICT DO NOTHING"
        self._writer.execute(insert, [name, text])

    def chores(self) -> Iterator[Callable[[], object]]:
        """Yield nothing: the server maintains itself."""
        yield from ()

    def forget(self, collection: str, service: str, tombstone: bytes, places: Sequence[int], person: Person) -> int:
        """Delete a person, leave a tombstone, and record a pending deletion; return how many reports were known."""
        key = stored_key(person)
        forgotten = "INSERT INTO tacit_forgotten VALUES (%s, %s) ON CONFLICT DO NOTHING"
        self._writer.execute(forgotten, [collection, tombstone])
        to_do = "INSERT INTO tacit_deletions VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
        self._writer.execute(to_do, [collection, service, key])
        self.any_forgotten = True
        known = 0
        for place in places:
            delete = "DELETE FROM tacit_known WHERE place = %s AND person = %s RETURNING number"
            rows = [number for (number,) in self._rows(delete, [place, key])]
            numbers = [number for number in rows if number is not None]
            for table in ("tacit_reports", "tacit_waiting"):
                self._writer.execute(compose("DELETE FROM {table} WHERE number = ANY(%s)", table=table), [numbers])
            damaged = self._writer.execute("DELETE FROM tacit_damaged WHERE number = ANY(%s)", [numbers]).rowcount
            lost = self._rows("SELECT lost FROM tacit_sizes WHERE place = %s", [place])
            fewer = min(len(rows) - len(numbers), lost[0][0] if lost else 0)
            self._resize(place, known=-len(rows), damaged=-damaged, lost=-fewer)
            known += len(rows)
        return known

    def deletions(self) -> list[tuple[str, str, Person]]:
        """Return the deletions, by collection and service, that the analytical database may not have applied yet."""
        rows = self._rows("SELECT collection, service, person FROM tacit_deletions")
        return [(collection, service, person_of(key)) for collection, service, key in rows]

    def finish_deletion(self, collection: str, service: str, person: Person) -> None:
        """Record that the analytical database has applied a deletion."""
        done = "DELETE FROM tacit_deletions WHERE collection = %s AND service = %s AND person = %s"
        self._writer.execute(done, [collection, service, stored_key(person)])

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
