"""An inbox in one SQLite file: keyed, synced at every commit, and read concurrently with the writer.

``reports`` has every report in order of arrival; ``waiting`` lists those not yet in the analytical database. ``known``
has a short row for every report, ordered by person, with the number of the report. Reports that arrive in the same
second are spread all over ``known``, so inserting each at once would write a separate page, twice. The newest reports
are therefore indexed in memory and inserted into ``known`` in large batches: then several share a page, and no request
waits for it.
"""

from __future__ import annotations

import errno
import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from tacit.contract.sqlite import prove_writable, transaction
from tacit.engines.failures import failure_code
from tacit.server.store.base import Identity, PendingReports, Row, ServicePlace, Sizes, Unshared
from tacit.server.store.disk import has_room
from tacit.server.store.recent import Recent
from tacit.server.store.sqlite_statements import (
    DELETE_LISTED,
    DIGESTS,
    LISTED,
    PENDING,
    PEOPLE_WITH_ALL,
    READ_AGAIN,
    REPORTS_OF,
    RESIZE,
    SETTLED,
    WAITING,
)
from tacit.server.store.tombstones import KEY_FILE
from tacit.server.store.validate import Person, person_of, stored_key
from tacit.server.store.versions import migrate
from tacit.tables.statements import Sql, compose

__all__ = ["SqliteStore"]

CACHE_KIB = 64 << 10
"""Size of the page cache in KiB."""

PAGES_IN_JOURNAL = 200_000
"""Pages that wait in the journal until a commit checkpoints them; `chores` does it earlier."""

RECENT, PARTS = 200_000, 5
"""Reports merged together, at about 300 bytes of memory each; more parts if more are waiting."""

SORTED_AT_ONCE = 1_000
"""Recent reports inserted into `known` per transaction, so that no request waits long."""

SORTING_BYTES = 64 << 20
"""Bytes the journal may use meanwhile; with less disk space, reports stay in memory."""

SYNCED_AT_ONCE = 10
"""Transactions between syncs of the file: a large sync makes all commits wait."""

COLUMNS = "place, person, slot, digest, content"

CHECKPOINT = "PRAGMA wal_checkpoint(PASSIVE)"

AT_ONCE = 100
"""Reports that one statement looks for or stores: Python's lock changes hands at every step of a statement, and may be
kept by another thread for a while, so statements have few steps."""


class SqliteStore(Unshared):
    """Rows in a file."""

    failures: tuple[type[Exception], ...] = (sqlite3.Error, OSError)

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer = self._open()
        try:
            migrate(self._writer, path.with_name(KEY_FILE))
            prove_writable(self._writer)
        except BaseException:
            self._writer.close()
            raise
        self._reader, self._keeper, self._reading = self._open(), self._open(), threading.Lock()
        self._files = self._identity()
        self.reopened = False
        self._recent, self._when_committed = Recent(RECENT), list[Callable[[], None]]()
        recent = "SELECT number, place, person, slot, digest FROM reports WHERE number > ? ORDER BY number"
        stored = self._writer.execute(recent, [self._sorted_to])
        while rows := stored.fetchmany(RECENT):
            self._recent.add([(Identity(*identity), digest) for _, *identity, digest in rows], rows[-1][0])
        self.any_forgotten = self._writer.execute("SELECT 1 FROM forgotten LIMIT 1").fetchone() is not None

    @property
    def _sorted_to(self) -> int:
        """The number up to which all reports are in `known`."""
        return int(self.state("sorted-to") or 0)

    def _identity(self) -> list[tuple[int, int]]:
        """Return the identity of the files: somebody may delete or replace them while they are open."""
        files = [self._path.with_name(self._path.name + end).stat() for end in ("", "-wal")]
        return [(file.st_dev, file.st_ino) for file in files]

    def check(self) -> None:
        """Raise if the file was deleted or replaced: later writes would be lost after a restart."""
        if self._identity() != self._files:
            raise FileNotFoundError(errno.ENOENT, "the inbox was replaced")

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")  # deleted people leave no traces in free pages
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {PAGES_IN_JOURNAL}")
        return connection

    def code_of(self, failure: Exception) -> str:
        """Return the stable code of a failure."""
        return failure_code(failure) or "no-store"

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything inside, or nothing."""
        self.check()
        try:
            with transaction(self._writer):
                yield
            for change in self._when_committed:
                change()
        finally:
            self._when_committed = []

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """Read the newest state, concurrently with the writer.

        One thread at a time: a statement that starts while another one of the same connection runs would see the state
        at the other one's start, in which reports that were moved since are still pending.
        """
        with self._reading:
            self._reader.execute("BEGIN")
            try:
                yield self._reader
            finally:
                if self._reader.in_transaction:  # an error may have ended it
                    self._reader.execute("ROLLBACK")

    def places(self) -> list[ServicePlace]:
        """Return all places."""
        return [
            ServicePlace(*row) for row in self._writer.execute("SELECT place, collection, service, round FROM places")
        ]

    def add_place(self, collection: str, service: str, round_: str) -> int:
        """Add a place and return its number."""
        insert = "INSERT INTO places (collection, service, round) VALUES (?, ?, ?)"
        return int(self._writer.execute(insert, (collection, service, round_)).lastrowid or 0)

    def expect_parts(self) -> None:
        """Index people who send several reports each, to find those whose reports have all arrived."""
        self._writer.execute("CREATE INDEX IF NOT EXISTS whole ON waiting (place, person)")

    def known_digests(self, identities: Sequence[Identity]) -> dict[Identity, bytes]:
        """Return the digests of those reports that are stored."""
        digests = {identity: digest for identity in identities if (digest := self._recent.digest(identity))}
        for values, members in _value_lists(
            [identity for identity in identities if identity not in digests] if digests else identities
        ):
            for *identity, digest in self._writer.execute(compose(DIGESTS, values=values), members):
                digests[Identity(*identity)] = digest
        return digests

    def with_reports(self, pairs: Iterable[tuple[int, Person]]) -> set[tuple[int, Person]]:
        """Return which of the given places and people have any report."""
        query, find = "SELECT 1 FROM known WHERE place = ? AND person = ? LIMIT 1", self._writer.execute
        return {pair for pair in pairs if pair in self._recent or find(query, pair).fetchone() is not None}

    def forgotten(self, tombstones: Mapping[bytes, str]) -> set[bytes]:
        """Return which of the given tombstones, by collection, exist."""
        query = "SELECT 1 FROM forgotten WHERE collection = ? AND digest = ?"
        find = self._writer.execute
        return {digest for digest, name in tombstones.items() if find(query, (name, digest)).fetchone() is not None}

    def insert(self, rows: Sequence[Row]) -> None:
        """Store new reports, while the reserved disk space is free."""
        if not has_room(self._path.parent):
            raise OSError(errno.ENOSPC, "")
        last = 0
        for values, members in _value_lists([(*row.identity, row.digest, row.content) for row in rows]):
            stored = self._writer.execute(f"INSERT INTO reports ({COLUMNS}) {values}", members)
            last = stored.lastrowid or last
        first = last - len(rows)
        self._writer.execute("INSERT INTO waiting SELECT number, place, person FROM reports WHERE number > ?", [first])
        for place, more in Counter(row.identity.place for row in rows).items():
            self._resize(place, known=more)
        noted = [(row.identity, row.digest) for row in rows]
        self._when_committed.append(partial(self._recent.add, noted, last))

    def _resize(self, place: int, *, known: int = 0, damaged: int = 0, lost: int = 0, bulk: int = 0) -> None:
        self._writer.execute(RESIZE, (place, known, damaged, lost, bulk))

    def add_bulk(self, place: int, reports: int) -> None:
        """Record reports that were loaded in bulk."""
        self._resize(place, bulk=reports)

    def last_pending(self, place: int) -> int:
        """Return the number of the newest pending report of a place, or 0."""
        query = "SELECT number FROM waiting WHERE place = ? ORDER BY number DESC LIMIT 1"
        with self._snapshot() as file:
            row = file.execute(query, [place]).fetchone()
        return int(row[0]) if row else 0

    def waiting(self, places: Sequence[int]) -> list[tuple[int, Person]]:
        """Return the numbers of all pending reports of some places, with their people."""
        with self._snapshot() as file:
            return file.execute(WAITING, [json.dumps(places)]).fetchall()

    def pending(self, place: int, sends: int, people: int, numbers: Sequence[int] | None = None) -> PendingReports:
        """Return pending reports of people whose slots have all arrived, oldest first; or those given by `numbers`."""
        # One text is one step of the statement; hexadecimal, because a disk may have altered what is stored.
        parameters: list[Any] = [place, place, sends, people]
        chosen = PEOPLE_WITH_ALL
        if numbers is not None:
            chosen, parameters = LISTED, [place, json.dumps(numbers)]
        elif sends == 1:
            chosen, parameters = Sql("ORDER BY number LIMIT ?"), [place, people]
        with self._snapshot() as file:
            [text] = file.execute(compose(PENDING, chosen=chosen), parameters).fetchone()
            [settled] = file.execute(SETTLED, [place]).fetchone() or [0]
        rows = json.loads(text)
        if not rows:
            return PendingReports()
        numbers, keys, whole_numbers, slots, digests, contents = zip(*rows, strict=True)
        people_found = _people(keys, whole_numbers)
        hashes, texts = map(bytes.fromhex, digests), map(bytes.fromhex, contents)
        return PendingReports(numbers, people_found, slots, [*hashes], [*texts], settled)

    def sizes(self) -> dict[int, Sizes]:
        """Return the numbers of reports, by place."""
        with self._snapshot() as file:
            waiting = dict(file.execute("SELECT place, count(*) FROM waiting GROUP BY place").fetchall())
            stored = file.execute("SELECT place, known, damaged, lost, bulk FROM sizes").fetchall()
        return {place: Sizes(known, waiting.get(place, 0), *more) for place, known, *more in stored}

    def drop(self, place: int, numbers: Sequence[int]) -> None:
        """Mark reports as no longer pending, now that the analytical database has them."""
        del place  # numbers belong to one place
        self._writer.execute(compose(DELETE_LISTED, table="waiting"), [json.dumps(numbers)])

    def set_aside(self, place: int, numbers: Sequence[int]) -> None:
        """Mark damaged reports as no longer pending; they are never counted."""
        self.drop(place, numbers)
        listed = json.dumps(numbers)
        added = self._writer.execute("INSERT OR IGNORE INTO damaged SELECT value FROM json_each(?)", [listed]).rowcount
        self._resize(place, damaged=added)

    def refill(self, after: int, most: int) -> int:
        """Mark up to `most` reports after a number as pending again; return the last number, or 0 at the end."""
        [last] = self._writer.execute("SELECT max(number) FROM reports").fetchone()
        if last is None or after >= last:
            return 0
        self._writer.execute(READ_AGAIN, [after, after + most])
        return after + most

    def lacks_contents(self) -> bool:
        """Return whether there are reports without content, from an earlier version."""
        return self._writer.execute("SELECT 1 FROM known WHERE number IS NULL LIMIT 1").fetchone() is not None

    def count_lost(self) -> None:
        """Mark the reports lost with an analytical database: those without content, and all loaded in bulk."""
        lost = "(SELECT count(*) FROM known WHERE known.place = sizes.place AND number IS NULL)"
        self._writer.execute(compose("UPDATE sizes SET lost = {lost}", lost=Sql(lost)))

    def state(self, name: str) -> str | None:
        """Return a remembered setting, or None."""
        row = self._writer.execute("SELECT value FROM state WHERE name = ?", [name]).fetchone()
        return None if row is None else str(row[0])

    def remember(self, name: str, value: str) -> None:
        """Remember a setting."""
        self._writer.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", [name, value])

    def contracts(self) -> dict[str, str]:
        """Return the texts of all contracts, by collection id, in order of publication."""
        return dict(self._writer.execute("SELECT id, contract FROM contracts ORDER BY rowid").fetchall())

    def add_contract(self, name: str, text: str) -> None:
        """Store a contract, without which reports cannot be read."""
        self._writer.execute("INSERT OR IGNORE INTO contracts VALUES (?, ?)", [name, text])

    def chores(self) -> Iterator[Callable[[], object]]:
        """Yield short maintenance steps to run while the store is idle.

        Recent reports are merged if there are many, and the journal is checkpointed. It is reset when it is empty, and
        kept short because every page read is looked up in it first.
        """
        parts, last = self._recent.ripe(PARTS)
        if parts and has_room(self._path.parent, SORTING_BYTES):
            collected = (
                "SELECT json_group_array(number) FROM "
                "(SELECT number FROM reports WHERE number > ? AND number <= ? ORDER BY place, person, slot)"
            )
            done = "SELECT coalesce(max(CAST(value AS INTEGER)), 0) FROM state WHERE name = 'sorted-to'"
            [sorted_to] = self._keeper.execute(done).fetchone()  # the writer's connection may be in use
            [text] = self._keeper.execute(collected, [sorted_to, last]).fetchone()
            numbers = json.loads(text)
            for start in range(0, len(numbers), SORTED_AT_ONCE):
                yield partial(self._sort_in, numbers[start : start + SORTED_AT_ONCE])
                if start % (SORTED_AT_ONCE * SYNCED_AT_ONCE) == 0:
                    yield from self._bring_journal()
            yield partial(self._end_sorting, last, parts)
        yield from self._bring_journal()

    def _bring_journal(self) -> Iterator[Callable[[], object]]:
        """Checkpoint the journal, mostly concurrently with the writer."""
        self._keeper.execute(CHECKPOINT).fetchall()
        yield lambda: self._writer.execute(CHECKPOINT).fetchall()

    def _sort_in(self, numbers: Sequence[int]) -> None:
        """Merge recent reports; some may be merged already, if the last attempt was interrupted."""
        with self.transaction():
            self._writer.execute(
                "INSERT OR IGNORE INTO known SELECT place, person, slot, digest, number "
                "FROM json_each(?) CROSS JOIN reports ON number = value",
                [json.dumps(numbers)],
            )

    def _end_sorting(self, last: int, parts: int) -> None:
        with self.transaction():
            self.remember("sorted-to", str(last))
        self._recent.drop(parts)

    def forget(self, collection: str, service: str, tombstone: bytes, places: Sequence[int], person: Person) -> int:
        """Delete a person, leave a tombstone, and record a pending deletion; return how many reports were known."""
        self._writer.execute("INSERT OR IGNORE INTO forgotten VALUES (?, ?)", (collection, tombstone))
        to_do = (collection, service, stored_key(person))
        self._writer.execute("INSERT OR IGNORE INTO deletions VALUES (?, ?, ?)", to_do)
        self.any_forgotten = True
        known = 0
        for place in places:
            rows = self._writer.execute(REPORTS_OF, (place, person, place, person, self._sorted_to)).fetchall()
            numbers = json.dumps([number for _, number in rows if number is not None])
            damaged = self._writer.execute(compose(DELETE_LISTED, table="damaged"), [numbers]).rowcount
            for table in ("reports", "waiting"):
                self._writer.execute(compose(DELETE_LISTED, table=table), [numbers])
            self._writer.execute("DELETE FROM known WHERE place = ? AND person = ?", (place, person))
            self._when_committed.append(partial(self._recent.forget, place, person))
            without = sum(number is None for _, number in rows)
            [lost] = self._writer.execute(
                "SELECT coalesce(sum(lost), 0) FROM sizes WHERE place = ?", [place]
            ).fetchone()
            fewer = len({slot for slot, _ in rows})
            self._resize(place, known=-fewer, damaged=-damaged, lost=-min(without, lost))
            known += fewer
        return known

    def deletions(self) -> list[tuple[str, str, Person]]:
        """Return the deletions, by collection and service, that the analytical database may not have applied yet."""
        rows = self._writer.execute("SELECT collection, service, person FROM deletions").fetchall()
        return [(collection, service, person_of(key)) for collection, service, key in rows]

    def finish_deletion(self, collection: str, service: str, person: Person) -> None:
        """Record that the analytical database has applied a deletion."""
        done = "DELETE FROM deletions WHERE collection = ? AND service = ? AND person = ?"
        self._writer.execute(done, (collection, service, stored_key(person)))

    def close(self) -> None:
        """Close the file."""
        self._keeper.close()
        with self._reading:  # SQLite would crash if a statement were running
            self._reader.close()
        self._writer.close()


def _value_lists(rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[Sql, list[Any]]]:
    """Yield rows as the VALUES of statements, a hundred at a time, each with its parameters."""
    for start in range(0, len(rows), AT_ONCE):
        batch = rows[start : start + AT_ONCE]
        marks = f"({', '.join('?' * len(batch[0]))})"
        yield Sql(f"VALUES {', '.join([marks] * len(batch))}"), [member for row in batch for member in row]


def _people(keys: Sequence[str], whole_numbers: Sequence[int]) -> list[Person]:
    """Return the people encoded in the store's hexadecimal texts; text where the disk altered a number."""
    texts: list[Person] = [bytes.fromhex(key).decode(errors="replace") for key in keys]
    for place in [place for place, is_number in enumerate(whole_numbers) if is_number]:
        with suppress(ValueError):
            texts[place] = int(texts[place])
    return texts
