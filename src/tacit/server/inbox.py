"""Where reports land: a keyed SQLite file that commits for many requests at once.

``known`` has one short row for every report ever stored, by its identity, with a digest of its content: it decides what
is new, what came again, and what differs. ``pending`` has the contents until they are in the analytical database. A
status is returned after the commit that holds it is on disk, and never before.
"""

from __future__ import annotations

import hashlib
import queue
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tacit.errors import InternalError, OverloadedError
from tacit.server.judge import Person, Report
from tacit.server.tombstones import Tombstones
from tacit.server.versions import migrate

__all__ = ["Inbox", "Pending", "Status"]

Status = Literal["stored", "again", "report-differs", "forgotten", "wrong-tier", "wrong-public"]

GROUP = 200
"""Requests that one commit may serve."""

WAITING = 2_000
"""Requests that may wait; more are turned away while there is nothing better to do with them."""

TABLES = """
CREATE TABLE IF NOT EXISTS places (place INTEGER PRIMARY KEY, collection TEXT, service TEXT, round TEXT,
  UNIQUE (collection, service));
CREATE TABLE IF NOT EXISTS known (place INTEGER, person, slot INTEGER, digest BLOB,
  PRIMARY KEY (place, person, slot)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pending (number INTEGER PRIMARY KEY AUTOINCREMENT, place INTEGER, person, slot INTEGER,
  content BLOB);
CREATE INDEX IF NOT EXISTS whole ON pending (place, person);
CREATE TABLE IF NOT EXISTS kinds (place INTEGER, number INTEGER, kind TEXT, PRIMARY KEY (place, number));
CREATE TABLE IF NOT EXISTS forgotten (collection TEXT, digest BLOB, PRIMARY KEY (collection, digest)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Pending:
    """A report that is not in the analytical database yet."""

    number: int
    person: Person
    slot: int
    content: bytes


@dataclass(frozen=True, slots=True)
class _Request:
    collection: str
    reports: Sequence[Report]
    answer: Future[list[Status]]


class Inbox:
    """One file, one writer; reading is for anybody."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._requests: queue.Queue[_Request | None] = queue.Queue(maxsize=WAITING)
        self._writer = self._open()
        self._writer.executescript(TABLES)
        self._tombstones = Tombstones(path.with_name("tombstones.key"))
        migrate(self._writer, self._tombstones)
        self._lock = threading.Lock()  # between the writer thread and everything else that writes
        self._places = {
            (collection, service): (place, round_)
            for place, collection, service, round_ in self._writer.execute("SELECT * FROM places")
        }
        self._kinds = self._read_kinds()
        self._thread = threading.Thread(target=self._serve, name="inbox", daemon=True)
        self._thread.start()

    def _read_kinds(self) -> dict[tuple[int, int], str]:
        return {(place, number): kind for place, number, kind in self._writer.execute("SELECT * FROM kinds")}

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")  # forgotten people leave no traces in free pages
        return connection

    def add_collection(self, collection: str, services: Sequence[str], round_: str) -> None:
        """Make places for the services of a collection; a person reports to one collection of a round."""
        with self._lock:
            for service in services:
                if (collection, service) in self._places:
                    continue
                insert = "INSERT INTO places (collection, service, round) VALUES (?, ?, ?)"
                cursor = self._writer.execute(insert, (collection, service, round_))
                self._places[collection, service] = (int(cursor.lastrowid or 0), round_)

    def put(self, collection: str, reports: Sequence[Report]) -> Future[list[Status]]:
        """Store reports that a judge has passed; the statuses come once they are on disk."""
        answer: Future[list[Status]] = Future()
        try:
            self._requests.put_nowait(_Request(collection, reports, answer))
        except queue.Full:
            message = "Too many requests are waiting. Try again in a moment."
            raise OverloadedError(message) from None
        return answer

    def _serve(self) -> None:
        """Take what waits, store it in one transaction, then answer everybody."""
        while (first := self._requests.get()) is not None:
            group = [first]
            stop = False
            while len(group) < GROUP:
                try:
                    more = self._requests.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    stop = True
                    break
                group.append(more)
            self._commit(group)
            if stop:
                return

    def _commit(self, group: list[_Request]) -> None:
        try:
            with self._lock, self._transaction():
                found = [self._store(request) for request in group]
        except sqlite3.Error as cause:
            message = f"Reports cannot be stored ({type(cause).__name__}). Make room on the disk; nothing was lost."
            for request in group:
                request.answer.set_exception(OverloadedError(message, code="disk-full"))
            return
        except Exception as cause:  # a mistake of ours: nobody may wait for ever because of it
            message = f"Reports cannot be stored ({type(cause).__name__}). Nothing was."
            for request in group:
                request.answer.set_exception(InternalError(message))
            return
        for request, statuses in zip(group, found, strict=True):
            request.answer.set_result(statuses)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._writer.execute("COMMIT")
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            self._kinds = self._read_kinds()  # those of this transaction were never stored
            raise

    def _store(self, request: _Request) -> list[Status]:
        statuses: list[Status] = []
        for report in request.reports:
            place, round_ = self._places[request.collection, report.service]
            digest = _digest(report.content)
            if self._is_forgotten(request.collection, report.person):
                statuses.append("forgotten")
            elif (status := self._known(place, report, digest)) is not None:
                statuses.append(status)
            elif self._is_elsewhere(round_, report.person, request.collection):
                statuses.append("wrong-tier")
            elif not self._fits(place, report.kinds):
                statuses.append("wrong-public")
            else:
                identity = (place, report.person, report.slot)
                self._writer.execute("INSERT INTO known VALUES (?, ?, ?, ?)", (*identity, digest))
                self._writer.execute(
                    "INSERT INTO pending (place, person, slot, content) VALUES (?, ?, ?, ?)",
                    (*identity, report.content),
                )
                statuses.append("stored")
        return statuses

    def _fits(self, place: int, kinds: Sequence[str | None]) -> bool:
        """Note the kind of a public column's first value; tell whether all values are of their column's kind."""
        for number, kind in enumerate(kinds):
            if kind is not None and self._kinds.get((place, number), kind) != kind:
                return False
        for number, kind in enumerate(kinds):
            if kind is not None and (place, number) not in self._kinds:
                self._writer.execute("INSERT INTO kinds VALUES (?, ?, ?)", (place, number, kind))
                self._kinds[place, number] = kind
        return True

    def kinds(self, collection: str, service: str, count: int) -> list[str]:
        """Return the kinds of a service's public columns; one without a value yet counts as text."""
        place, _ = self._places[collection, service]
        return [self._kinds.get((place, number), "text") for number in range(count)]

    def _known(self, place: int, report: Report, digest: bytes) -> Status | None:
        query = "SELECT digest FROM known WHERE place = ? AND person = ? AND slot = ?"
        row = self._writer.execute(query, (place, report.person, report.slot)).fetchone()
        if row is None:
            return None
        return "again" if row[0] == digest else "report-differs"

    def _is_elsewhere(self, round_: str, person: Person, collection: str) -> bool:
        """Tell whether a person has reported to another tier of the round."""
        query = "SELECT 1 FROM known WHERE place = ? AND person = ? LIMIT 1"
        others = [p for (owner, _), (p, own) in self._places.items() if own == round_ and owner != collection]
        return any(self._writer.execute(query, (place, person)).fetchone() is not None for place in others)

    def _is_forgotten(self, collection: str, person: Person) -> bool:
        query = "SELECT 1 FROM forgotten WHERE collection = ? AND digest = ?"
        return self._writer.execute(query, (collection, self.tombstone(collection, person))).fetchone() is not None

    def pending(self, collection: str, service: str, sends: int, people: int) -> list[Pending]:
        """Return reports of a service that are not in the analytical database yet, of people whose slots are all there.

        A person's reports belong together; who has sent a part of them waits, and keeps nobody else waiting.
        """
        place, _ = self._places[collection, service]
        whole = "SELECT person FROM pending WHERE place = ? GROUP BY person HAVING count(*) = ? ORDER BY min(number)"
        query = (
            "SELECT number, person, slot, content FROM pending "  # noqa: S608
            f"WHERE place = ? AND person IN ({whole} LIMIT ?) ORDER BY number"
        )
        with self._lock:
            return [Pending(*row) for row in self._writer.execute(query, (place, place, sends, people))]

    def moved(self, numbers: Sequence[int]) -> None:
        """Drop contents that are in the analytical database now."""
        with self._lock, self._transaction():
            self._writer.executemany("DELETE FROM pending WHERE number = ?", ((number,) for number in numbers))

    def forget(self, collection: str, person: Person) -> int:
        """Delete a person's reports of a collection and refuse later ones; return how many there were."""
        places = [place for (owner, _), (place, _) in self._places.items() if owner == collection]
        deleted = 0
        with self._lock, self._transaction():
            row = (collection, self.tombstone(collection, person))
            self._writer.execute("INSERT OR IGNORE INTO forgotten VALUES (?, ?)", row)
            for place in places:
                self._writer.execute("DELETE FROM pending WHERE place = ? AND person = ?", (place, person))
                cursor = self._writer.execute("DELETE FROM known WHERE place = ? AND person = ?", (place, person))
                deleted += cursor.rowcount
        return deleted

    def tombstone(self, collection: str, person: Person) -> bytes:
        """Return the trace that a deleted person leaves."""
        return self._tombstones.of(collection, person)

    def counts(self) -> dict[str, int]:
        """Return how many reports are known, and how many are pending."""
        with self._lock:
            return {
                name: int(self._writer.execute(f"SELECT count(*) FROM {name}").fetchone()[0])  # noqa: S608
                for name in ("known", "pending")
            }

    def close(self) -> None:
        """Store what waits, answer it, and close the file."""
        self._requests.put(None)
        self._thread.join()
        self._writer.close()


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=12).digest()
