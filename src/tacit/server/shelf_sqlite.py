"""An inbox in one file of SQLite: keyed, synced at every commit, read beside the writer.

``known`` has a row for every report, in the order of people. Those of one second are all over it, so that each would
change a page of its own, which is written twice. New rows are therefore appended to ``fresh``, which is also kept in
memory, and sorted in when they are many: then a page takes several, and nobody waits for it.
"""

from __future__ import annotations

import errno
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tacit.server.fresh import Fresh
from tacit.server.judge import Person
from tacit.server.room import has_room
from tacit.server.shelf import Identity, Pending, Place, Row
from tacit.server.tombstones import Tombstones
from tacit.server.versions import migrate
from tacit.transactions import transaction

__all__ = ["SqliteShelf"]

CACHE_KIB = 64 << 10
PAGES_IN_JOURNAL = 200_000
"""Pages that wait in the journal until a commit brings them to the file; `chores` do it before."""

FRESH, PARTS = 200_000, 5
"""Reports that are sorted in together, at about 300 bytes of memory each; more parts of them if more are waiting."""

SORTED_AT_ONCE, DROPPED_AT_ONCE = 1_000, 10_000
"""Fresh reports that one transaction sorts in, or drops, so that nobody's wait for long."""

SORTING_BYTES = 64 << 20
"""What the journal may take meanwhile; with less room on the disk, reports stay fresh."""

SYNCED_AT_ONCE = 10
"""Such transactions until the file is synced: what is synced at once keeps everybody's commits waiting."""

CHECKPOINT = "PRAGMA wal_checkpoint(PASSIVE)"

AT_ONCE = 100
"""Reports that one statement looks for or stores: Python's lock changes hands at every step of a statement, and may be
kept by another thread for a while, so statements have few steps."""

TABLES = """
CREATE TABLE IF NOT EXISTS places (place INTEGER PRIMARY KEY, collection TEXT, service TEXT, round TEXT,
  UNIQUE (collection, service));
CREATE TABLE IF NOT EXISTS known (place INTEGER, person, slot INTEGER, digest BLOB,
  PRIMARY KEY (place, person, slot)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pending (number INTEGER PRIMARY KEY AUTOINCREMENT, place INTEGER, person, slot INTEGER,
  content BLOB);
CREATE TABLE IF NOT EXISTS fresh (number INTEGER PRIMARY KEY AUTOINCREMENT, place INTEGER, person, slot INTEGER,
  digest BLOB);
CREATE TABLE IF NOT EXISTS forgotten (collection TEXT, digest BLOB, PRIMARY KEY (collection, digest)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sizes (place INTEGER PRIMARY KEY, known INTEGER);
"""


class SqliteShelf:
    """Rows in a file."""

    failures: tuple[type[Exception], ...] = (sqlite3.Error, OSError)

    def __init__(self, path: Path, tombstones: Tombstones) -> None:
        self._path = path
        self._writer = self._open()
        self._writer.executescript(TABLES)
        migrate(self._writer, tombstones)
        self._reader, self._keeper = self._open(), self._open()
        self._fresh, self._when_committed = Fresh(FRESH), list[Callable[[], None]]()
        stored = self._writer.execute("SELECT number, place, person, slot, digest FROM fresh ORDER BY number")
        while some := stored.fetchmany(FRESH):
            self._fresh.add([(Identity(*identity), digest) for _, *identity, digest in some], some[-1][0])
        self.any_forgotten = self._writer.execute("SELECT 1 FROM forgotten LIMIT 1").fetchone() is not None

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")  # forgotten people leave no traces in free pages
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {PAGES_IN_JOURNAL}")
        return connection

    def code_of(self, failure: Exception) -> str:
        """Return the stable code of a failure: a file that cannot be written has no room."""
        del failure
        return "disk-full"

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything inside, or nothing."""
        try:
            with transaction(self._writer):
                yield
            for change in self._when_committed:
                change()
        finally:
            self._when_committed = []

    def places(self) -> list[Place]:
        """Return all places."""
        return [Place(*row) for row in self._writer.execute("SELECT place, collection, service, round FROM places")]

    def add_place(self, collection: str, service: str, round_: str) -> int:
        """Add a place and return its number."""
        insert = "INSERT INTO places (collection, service, round) VALUES (?, ?, ?)"
        return int(self._writer.execute(insert, (collection, service, round_)).lastrowid or 0)

    def expect_parts(self) -> None:
        """Keep people who send several reports each in an index, by which those with all of them are found."""
        self._writer.execute("CREATE INDEX IF NOT EXISTS whole ON pending (place, person)")

    def known(self, asked: Sequence[Identity]) -> dict[Identity, bytes]:
        """Return the digests of those reports that are stored."""
        found = {one: digest for one in asked if (digest := self._fresh.digest(one))}
        for values, members in _some([one for one in asked if one not in found] if found else asked):
            query = (
                f"WITH asked (place, person, slot) AS ({values}) SELECT place, person, slot, digest "  # noqa: S608
                "FROM asked CROSS JOIN known USING (place, person, slot)"  # CROSS: one search for each of those asked
            )
            for *identity, digest in self._writer.execute(query, members):
                found[Identity(*identity)] = digest
        return found

    def reported(self, asked: Iterable[tuple[int, Person]]) -> set[tuple[int, Person]]:
        """Return the places and people, of those asked for, with any report."""
        query, find = "SELECT 1 FROM known WHERE place = ? AND person = ? LIMIT 1", self._writer.execute
        return {pair for pair in asked if pair in self._fresh or find(query, pair).fetchone() is not None}

    def forgotten(self, asked: Mapping[bytes, str]) -> set[bytes]:
        """Return the tombstones, of those asked for with their collections, that are there."""
        query = "SELECT 1 FROM forgotten WHERE collection = ? AND digest = ?"
        find = self._writer.execute
        return {digest for digest, name in asked.items() if find(query, (name, digest)).fetchone() is not None}

    def insert(self, rows: Sequence[Row]) -> None:
        """Store new reports, as long as there is room for everything else."""
        if not has_room(self._path.parent):
            raise OSError(errno.ENOSPC, "")
        last = 0
        for values, members in _some([(*row.identity, row.digest) for row in rows]):
            stored = self._writer.execute(f"INSERT INTO fresh (place, person, slot, digest) {values}", members)
            last = stored.lastrowid or last
        for values, members in _some([(*row.identity, row.content) for row in rows]):
            self._writer.execute(f"INSERT INTO pending (place, person, slot, content) {values}", members)
        for place, more in Counter(row.identity.place for row in rows).items():
            self._resize(place, more)
        noted = [(row.identity, row.digest) for row in rows]
        self._when_committed.append(partial(self._fresh.add, noted, last))

    def _resize(self, place: int, more: int) -> None:
        resize = "INSERT INTO sizes VALUES (?, ?) ON CONFLICT (place) DO UPDATE SET known = known + excluded.known"
        self._writer.execute(resize, (place, more))

    def last_pending(self, place: int) -> int:
        """Return the number of the newest report of a place that is pending, or 0."""
        query = "SELECT number FROM pending WHERE place = ? ORDER BY number DESC LIMIT 1"
        row = self._reader.execute(query, [place]).fetchone()
        return int(row[0]) if row else 0

    def pending(self, place: int, sends: int, people: int) -> Pending:
        """Return reports of people whose slots are all there, of at most so many people, oldest first.

        They come as one text, which is one step of the statement.
        """
        whole = "SELECT person FROM pending WHERE place = ? GROUP BY person HAVING count(*) = ? ORDER BY min(number)"
        chosen, given = f"AND person IN ({whole} LIMIT ?) ORDER BY number", [place, place, sends, people]
        if sends == 1:
            chosen, given = "ORDER BY number LIMIT ?", [place, people]
        query = (
            "SELECT json_group_array(json_array(number, person, slot, json(CAST(content AS TEXT)))) "  # noqa: S608
            f"FROM (SELECT * FROM pending WHERE place = ? {chosen})"
        )
        [text] = self._reader.execute(query, given).fetchone()
        return Pending(*zip(*json.loads(text), strict=True))

    def settled(self, place: int) -> int:
        """Return how many reports of a place are known and not pending."""
        query = (
            "SELECT coalesce((SELECT known FROM sizes WHERE place = ?), 0) - "
            "(SELECT count(*) FROM pending WHERE place = ?)"
        )
        row = self._reader.execute(query, (place, place)).fetchone()
        return int(row[0])

    def drop(self, numbers: Sequence[int]) -> None:
        """Drop contents that are in the analytical database now."""
        listed = "SELECT value FROM json_each(?)"
        self._writer.execute(f"DELETE FROM pending WHERE number IN ({listed})", [json.dumps(numbers)])  # noqa: S608

    def chores(self) -> Iterator[Callable[[], object]]:
        """Yield what to do while nobody writes, a little at a time; the rest is done in between.

        Fresh reports are sorted in if they are many, and the journal is brought to the file. It begins anew if nothing
        is left in it, and is kept short because every page that is read is looked for there first.
        """
        parts, last = self._fresh.ripe(PARTS)
        if parts and has_room(self._path.parent, SORTING_BYTES):
            ordered = "SELECT number FROM fresh WHERE number <= ? ORDER BY place, person, slot"
            [text] = self._keeper.execute(f"SELECT json_group_array(number) FROM ({ordered})", [last]).fetchone()  # noqa: S608
            numbers = json.loads(text)
            for start in range(0, len(numbers), SORTED_AT_ONCE):
                yield partial(self._sort_in, numbers[start : start + SORTED_AT_ONCE])
                if start % (SORTED_AT_ONCE * SYNCED_AT_ONCE) == 0:
                    yield from self._bring_journal()
            for some in range(last - len(numbers), last, DROPPED_AT_ONCE):
                yield partial(self._drop_fresh, min(some + DROPPED_AT_ONCE, last))
            yield partial(self._fresh.drop, parts)
        yield from self._bring_journal()

    def _bring_journal(self) -> Iterator[Callable[[], object]]:
        """Bring the journal to the file, most of it beside the writer."""
        self._keeper.execute(CHECKPOINT).fetchall()
        yield lambda: self._writer.execute(CHECKPOINT).fetchall()

    def _sort_in(self, numbers: Sequence[int]) -> None:
        """Sort fresh reports in; some may be already, if sorting did not come to its end the last time."""
        with self.transaction():
            self._writer.execute(
                "INSERT OR IGNORE INTO known SELECT place, person, slot, digest "
                "FROM json_each(?) CROSS JOIN fresh ON number = value",
                [json.dumps(numbers)],
            )

    def _drop_fresh(self, last: int) -> None:
        with self.transaction():
            self._writer.execute("DELETE FROM fresh WHERE number <= ?", [last])

    def forget(self, collection: str, tombstone: bytes, places: Sequence[int], person: Person) -> tuple[int, int]:
        """Delete a person and leave a tombstone; return how many reports were known, and how many pending."""
        self._writer.execute("INSERT OR IGNORE INTO forgotten VALUES (?, ?)", (collection, tombstone))
        self.any_forgotten = True
        known = pending = 0
        for place in places:
            hers = "WHERE place = ? AND person = ?"
            slots = f"SELECT slot FROM known {hers} UNION SELECT slot FROM fresh {hers}"  # noqa: S608
            fewer = len(self._writer.execute(slots, (place, person) * 2).fetchall())
            for table in ("known", "fresh"):
                self._writer.execute(f"DELETE FROM {table} {hers}", (place, person))  # noqa: S608
            self._when_committed.append(partial(self._fresh.forget, place, person))
            self._resize(place, -fewer)
            known += fewer
            pending += self._writer.execute(f"DELETE FROM pending {hers}", (place, person)).rowcount  # noqa: S608
        return known, pending

    def counts(self) -> tuple[int, int]:
        """Return how many reports are known, and how many pending."""
        [known] = self._writer.execute("SELECT coalesce(sum(known), 0) FROM sizes").fetchone()
        [pending] = self._writer.execute("SELECT count(*) FROM pending").fetchone()
        return int(known), int(pending)

    def close(self) -> None:
        """Close the file."""
        self._keeper.close()
        self._reader.close()
        self._writer.close()


def _some(rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[str, list[Any]]]:
    """Yield rows as the VALUES of statements, a hundred at a time, each with what takes the places of its marks."""
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        marks = f"({', '.join('?' * len(some[0]))})"
        yield f"VALUES {', '.join([marks] * len(some))}", [member for row in some for member in row]
