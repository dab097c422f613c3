"""A wallet: what every report cost a person, and the very reports that were drawn for her, in one SQLite file.

Cost, memory and outbox change in one transaction, synced to disk before anything leaves. So a crash can neither leave a
report that was sent but not remembered, which would be drawn again, nor one that was remembered but not charged. A
report is drawn once for a (collection, person, service); asking again finds it. Nothing in here is a raw value.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit.client.record import is_person
from tacit.errors import PrivacyError, UsageError

__all__ = ["Entry", "Person", "Waiting", "Wallet"]

Person = int | str

TABLES = """
CREATE TABLE IF NOT EXISTS entries (collection TEXT, person TEXT, service TEXT, round TEXT, epsilon TEXT,
  PRIMARY KEY (collection, person, service)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reports (number INTEGER PRIMARY KEY, collection TEXT, person TEXT, service TEXT,
  slot INTEGER, body TEXT, status TEXT, code TEXT, UNIQUE (collection, person, service, slot));
CREATE INDEX IF NOT EXISTS waiting ON reports (collection, number) WHERE status = 'waiting';
CREATE TABLE IF NOT EXISTS forgotten (collection TEXT, person TEXT, told INTEGER, PRIMARY KEY (collection, person));
CREATE TABLE IF NOT EXISTS contracts (collection TEXT PRIMARY KEY, contract TEXT);
"""

Draw = Callable[[], Sequence[str]]
"""Draws the bodies of a service's reports, one for each slot."""


@dataclass(frozen=True)
class Entry:
    """One service in one round, as the wallet remembers it: its cost, and what became of its reports."""

    collection: str
    round: str
    service: str
    epsilon: Fraction
    bodies: tuple[str, ...]
    statuses: tuple[str, ...]


@dataclass(frozen=True)
class Waiting:
    """A report that the collector has not acknowledged."""

    number: int
    body: str
    person: Person


class Wallet:
    """Reports and budgets of any number of people on this device."""

    def __init__(self, path: str | Path) -> None:
        self._lock = threading.RLock()
        try:
            Path(path).touch(mode=0o600)  # which services somebody uses is nobody else's business on a shared device
            self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = FULL")
            self._file.execute("PRAGMA secure_delete = ON")  # forgotten reports leave no traces in free pages
            self._file.executescript(TABLES)
        except (sqlite3.Error, OSError) as cause:
            message = f"The wallet {Path(path).name!r} cannot be used ({type(cause).__name__}). Name another file."
            raise UsageError(message, code="unusable-wallet") from None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._file.execute("BEGIN IMMEDIATE")
            try:
                yield self._file
                self._file.execute("COMMIT")
            except BaseException:
                if self._file.in_transaction:
                    self._file.execute("ROLLBACK")
                raise

    def contract(self, collection: str) -> str | None:
        """Return a contract that was fetched before."""
        with self._lock:
            row = self._file.execute("SELECT contract FROM contracts WHERE collection = ?", (collection,)).fetchone()
        return None if row is None else str(row[0])

    def keep_contract(self, collection: str, text: str) -> None:
        """Remember a contract whose hash was checked."""
        with self._transaction() as file:
            file.execute("INSERT OR REPLACE INTO contracts VALUES (?, ?)", (collection, text))

    def claim(
        self, collection: str, person: Person, service: str, round_: str, epsilon: Fraction, cap: Fraction, draw: Draw
    ) -> Entry:
        """Return the reports of a service: those that were drawn before, or new ones, charged and stored.

        New ones are held: nobody sends them before `release`.
        """
        who = _key(person)
        with self._transaction() as file:
            if self._is_forgotten(collection, who):
                message = "This person has left this round. What was spent stays spent; the next round is open."
                raise PrivacyError(message, code="forgotten")
            known = self._entry(collection, who, service)
            if known is not None:
                return known
            spent = self._spent(who)
            if spent + epsilon > cap:
                message = (
                    f"This would spend {float(epsilon):g}, and {float(cap - spent):g} of {float(cap):g} is left for "
                    "this person. Nothing was drawn."
                )
                raise PrivacyError(message, code="cap-exceeded")
            row = (collection, who, service, round_, str(epsilon))
            file.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", row)
            for slot, body in enumerate(draw()):
                file.execute(
                    "INSERT INTO reports (collection, person, service, slot, body, status) VALUES (?, ?, ?, ?, ?, ?)",
                    (collection, who, service, slot, body, "held"),
                )
            made = self._entry(collection, who, service)
        if made is None:
            message = "The wallet lost what it was told. Nothing was sent."
            raise PrivacyError(message, code="unusable-wallet")
        return made

    def release(self, collection: str, person: Person, service: str) -> None:
        """Let the reports of a service leave."""
        where = (collection, _key(person), service)
        with self._transaction() as file:
            file.execute(
                "UPDATE reports SET status = 'waiting' "
                "WHERE collection = ? AND person = ? AND service = ? AND status = 'held'",
                where,
            )

    def _entry(self, collection: str, who: str, service: str) -> Entry | None:
        where = (collection, who, service)
        query = "SELECT round, epsilon FROM entries WHERE collection = ? AND person = ? AND service = ?"
        row = self._file.execute(query, where).fetchone()
        if row is None:
            return None
        query = "SELECT body, status FROM reports WHERE collection = ? AND person = ? AND service = ? ORDER BY slot"
        reports = self._file.execute(query, where).fetchall()
        bodies, statuses = tuple(body for body, _ in reports), tuple(status for _, status in reports)
        return Entry(collection, row[0], service, Fraction(row[1]), bodies, statuses)

    def _is_forgotten(self, collection: str, who: str) -> bool:
        query = "SELECT 1 FROM forgotten WHERE collection = ? AND person = ?"
        return self._file.execute(query, (collection, who)).fetchone() is not None

    def _spent(self, who: str) -> Fraction:
        rows = self._file.execute("SELECT epsilon FROM entries WHERE person = ?", (who,))
        return sum((Fraction(text) for (text,) in rows), Fraction(0))

    def spent(self, person: Person) -> Fraction:
        """Return what a person has spent, over all services and rounds."""
        with self._lock:
            return self._spent(_key(person))

    def history(self, person: Person) -> list[Entry]:
        """Return everything that was drawn for a person, by round and service."""
        who = _key(person)
        with self._lock:
            query = "SELECT collection, service FROM entries WHERE person = ? ORDER BY round, service, collection"
            rows = self._file.execute(query, (who,)).fetchall()
            found = [self._entry(collection, who, service) for collection, service in rows]
        return [entry for entry in found if entry is not None]

    def waiting(self, collection: str, most: int, after: int = 0) -> list[Waiting]:
        """Return reports that may leave and were not acknowledged, oldest first, from a number on."""
        query = (
            "SELECT number, body, person FROM reports "
            "WHERE collection = ? AND status = 'waiting' AND number > ? ORDER BY number LIMIT ?"
        )
        with self._lock:
            rows = self._file.execute(query, (collection, after, most))
            return [Waiting(number, body, json.loads(who)) for number, body, who in rows]

    def settle(self, outcomes: Sequence[tuple[int, str, str]]) -> None:
        """Note what became of reports: numbers, statuses and codes."""
        with self._transaction() as file:
            file.executemany(
                "UPDATE reports SET status = ?, code = ? WHERE number = ?",
                ((status, code, number) for number, status, code in outcomes),
            )

    def counts(self, collection: str) -> dict[str, int]:
        """Return how many reports have each status."""
        query = "SELECT status, count(*) FROM reports WHERE collection = ? GROUP BY status"
        with self._lock:
            return {status: int(count) for status, count in self._file.execute(query, (collection,))}

    def forget(self, collection: str, person: Person) -> None:
        """Delete a person's reports of a collection; what was spent stays spent, and nothing is drawn again."""
        where = (collection, _key(person))
        with self._transaction() as file:
            file.execute("INSERT OR IGNORE INTO forgotten VALUES (?, ?, 0)", where)
            file.execute("DELETE FROM reports WHERE collection = ? AND person = ?", where)

    def untold(self, collection: str) -> list[Person]:
        """Return people whom the collector has yet to be told to forget."""
        query = "SELECT person FROM forgotten WHERE collection = ? AND told = 0"
        with self._lock:
            return [json.loads(who) for (who,) in self._file.execute(query, (collection,))]

    def told(self, collection: str, person: Person) -> None:
        """Note that the collector has forgotten a person."""
        with self._transaction() as file:
            where = (collection, _key(person))
            file.execute("UPDATE forgotten SET told = 1 WHERE collection = ? AND person = ?", where)

    def close(self) -> None:
        """Close the file; what waits is kept for the next start."""
        with self._lock:
            self._file.close()


def _key(person: Any) -> str:
    """Return a person as the wallet knows her: 42 and "42" are different people."""
    if not is_person(person):
        message = "A person is text of 1 to 200 letters that can be printed, or a whole number of 64 bits."
        raise UsageError(message, code="wrong-person")
    return json.dumps(person)
