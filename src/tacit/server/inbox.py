"""Where reports land: a keyed store that commits for many requests at once.

It decides what is new, what came again, and what differs. A status is returned after the commit that holds it is on
disk, and never before.
"""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Literal, NamedTuple

from tacit.errors import InternalError, OverloadedError
from tacit.server.judge import Person, Report
from tacit.server.ledger import Ledger
from tacit.server.shelf import DIGEST_BYTES, Identity, Pending, Row, Shelf
from tacit.server.shelf_sqlite import SqliteShelf
from tacit.server.tombstones import Tombstones

__all__ = ["Inbox", "Status"]

Status = Literal["stored", "again", "report-differs", "forgotten", "wrong-tier", "over-total"]

GROUP = 200
"""Requests that one commit may serve."""

WAITING_REQUESTS, WAITING_REPORTS = 2_000, 10_000
"""What may wait, half a second's work or so; more is turned away."""

DROPPED_AT_ONCE = 5_000
"""Contents that one transaction drops, so that nobody's reports wait for long."""

PAUSE = 0.001
"""Seconds between chores, in which others get the store: whoever asks for a lock first need not get it."""


@dataclass(frozen=True, slots=True)
class _Request:
    collection: str
    reports: Sequence[Report]
    answer: Future[list[Status]]


class _Asked(NamedTuple):
    """A report with what decides about it."""

    collection: str
    report: Report
    identity: Identity
    tiers: tuple[int, ...]


@dataclass
class _Judged:
    """What a group of requests finds and brings."""

    known: dict[Identity, bytes] = field(default_factory=dict)
    reported: set[tuple[int, Person]] = field(default_factory=set)
    rows: list[Row] = field(default_factory=list)


class Inbox:
    """One store, one writer.

    Parameters
    ----------
    path : Path
        A file of SQLite; the key of tombstones is beside it.
    store : str
        The address of a PostgreSQL database to use instead of that file.
    """

    def __init__(self, path: Path, store: str = "") -> None:
        self._tombstones = Tombstones(path.with_name("tombstones.key"))
        self._shelf = _shelf(path, store, self._tombstones)
        self._requests: queue.Queue[_Request | None] = queue.Queue(maxsize=WAITING_REQUESTS)
        self._lock = threading.Lock()  # between the writer thread and everything else that writes
        self._places = self._read_places()
        self._known, self._pending = self._shelf.counts()
        self._waiting, self._counting = 0, threading.Lock()
        self._total: Fraction | None = None
        self._costs: dict[int, Fraction] = {}
        self._thread = threading.Thread(target=self._serve, name="inbox", daemon=True)
        self._thread.start()

    def limit(self, total: Fraction, costs: Mapping[tuple[str, str], Fraction]) -> None:
        """Let nobody give away more than a total, by what the services of collections cost."""
        self._total = total
        self._costs |= {self._places[place][0]: cost for place, cost in costs.items()}

    def add_collection(self, collection: str, services: Mapping[str, int], round_: str) -> None:
        """Make places for services, given with the reports of each person; one has one collection of a round."""
        new = [service for service in services if (collection, service) not in self._places]
        if max(services.values()) > 1:
            with self._lock, self._transaction():
                self._shelf.expect_parts()
        if new:
            with self._lock, self._transaction():
                for service in new:
                    self._shelf.add_place(collection, service, round_)
            self._places = self._read_places()

    def _read_places(self) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
        """Return the number of each place, and those of its round in other tiers."""
        places = self._shelf.places()
        return {
            (one.collection, one.service): (
                one.number,
                tuple(p.number for p in places if p.round == one.round and p.collection != one.collection),
            )
            for one in places
        }

    def check_room(self) -> None:
        """Turn somebody away if more waits than can be stored soon."""
        if self._waiting >= WAITING_REPORTS or self._requests.full():
            message = "Too many reports are waiting. Try again in a moment."
            raise OverloadedError(message)

    def put(self, collection: str, reports: Sequence[Report]) -> Future[list[Status]]:
        """Store reports that a judge has passed; the statuses come once they are on disk."""
        self.check_room()
        answer: Future[list[Status]] = Future()
        with self._counting:
            self._waiting += len(reports)
        self._requests.put(_Request(collection, reports, answer))
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
            with self._counting:
                self._waiting -= sum(len(request.reports) for request in group)
            if stop:
                return

    def _commit(self, group: list[_Request]) -> None:
        judged = _Judged()
        try:
            with self._lock:
                with self._transaction():
                    found = self._judge(group, judged)
                    if judged.rows:
                        self._shelf.insert(judged.rows)
                self._known, self._pending = self._known + len(judged.rows), self._pending + len(judged.rows)
        except OverloadedError as failure:
            for request in group:
                request.answer.set_exception(failure)
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
        """Write everything inside, or nothing."""
        try:
            with self._shelf.transaction():
                yield
        except self._shelf.failures as cause:
            message = f"Reports cannot be stored ({type(cause).__name__}). Make room; nothing was lost."
            raise OverloadedError(message, code=self._shelf.code_of(cause)) from None

    def _judge(self, group: Sequence[_Request], judged: _Judged) -> list[list[Status]]:
        """Return the status of each report; note the rows of those that are new."""
        asked = [[self._asked(request.collection, report) for report in request.reports] for request in group]
        every = [one for some in asked for one in some]
        forgotten = self._forgotten(every)
        judged.known = self._shelf.known([one.identity for one in every])
        judged.reported = self._shelf.reported({(tier, one.report.person) for one in every for tier in one.tiers})

        ledger = self._ledger({one.report.person for one in every})

        def status(one: _Asked) -> Status:
            identity, digest, person = one.identity, _digest(one.report.content), one.report.person
            if forgotten and not forgotten.isdisjoint(_scopes(one)):
                return "forgotten"
            if identity in judged.known:
                return "again" if judged.known[identity] == digest else "report-differs"
            if one.tiers and any((tier, person) in judged.reported for tier in one.tiers):
                return "wrong-tier"
            if ledger is not None and not ledger.takes(person, identity.place):
                return "over-total"
            judged.known[identity] = digest
            judged.reported.add((identity.place, person))
            judged.rows.append(Row(identity, digest, one.report.content))
            return "stored"

        return [[status(one) for one in some] for some in asked]

    def _ledger(self, people: Collection[Person]) -> Ledger | None:
        """Return what people are charged for, by their reports and tombstones, if there is a total to keep to."""
        if self._total is None:
            return None
        charged: dict[Person, set[int]] = {person: set() for person in people}
        for place, person in self._shelf.reported((place, one) for one in people for place in self._costs):
            charged[person].add(place)
        if self._shelf.any_forgotten:
            traces = [
                (self.tombstone(collection, person, scope), collection, person, place)
                for (collection, service), (place, _) in self._places.items()
                for person in people
                for scope in ("", service)
            ]
            found = self._shelf.forgotten({trace: collection for trace, collection, *_ in traces})
            for trace, _, person, place in traces:
                if trace in found:
                    charged[person].add(place)
        return Ledger(self._total, self._costs, charged)

    def _asked(self, collection: str, report: Report) -> _Asked:
        place, tiers = self._places[collection, report.service]
        return _Asked(collection, report, Identity(place, report.person, report.slot), tiers)

    def _forgotten(self, every: Sequence[_Asked]) -> set[tuple[str, Person, str]]:
        """Return those who were deleted, with collections and services they were deleted from; "" is all services."""
        if not self._shelf.any_forgotten:
            return set()
        people = {(one.collection, one.report.person, service) for one in every for service in ("", one.report.service)}
        tombstones = {self.tombstone(*one): one for one in people}
        found = self._shelf.forgotten({digest: collection for digest, (collection, *_) in tombstones.items()})
        return {tombstones[digest] for digest in found}

    def last_pending(self, collection: str, service: str) -> int:
        """Return the number of the newest report of a service that is pending, or 0."""
        return self._shelf.last_pending(self._places[collection, service][0])

    def pending(self, collection: str, service: str, sends: int, people: int) -> Pending:
        """Return reports of a service that are not in the analytical database yet, of people whose slots are all there.

        A person's reports belong together; who has sent a part of them waits, and keeps nobody else waiting.
        """
        return self._shelf.pending(self._places[collection, service][0], sends, people)

    def settled(self, collection: str, service: str) -> int:
        """Return how many reports of a service have left the inbox."""
        return self._shelf.settled(self._places[collection, service][0])

    def moved(self, numbers: Sequence[int]) -> None:
        """Drop contents that are in the analytical database now."""
        for start in range(0, len(numbers), DROPPED_AT_ONCE):
            some = numbers[start : start + DROPPED_AT_ONCE]
            with self._lock:
                with self._transaction():
                    self._shelf.drop(some)
                self._pending -= len(some)

    def tidy(self, stopped: threading.Event) -> None:
        """Do the store's chores, until told to stop, and let others at it in between."""
        for chore in self._shelf.chores():
            with self._lock:
                chore()
            if stopped.wait(PAUSE):
                return

    def forget(self, collection: str, person: Person, services: Sequence[str] = ()) -> int:
        """Delete a person's reports of a collection, or of some services of it, and refuse later ones.

        Return how many there were.
        """
        known = pending = 0
        with self._lock:
            with self._transaction():
                for service in services or ("",):
                    trace, places = self.tombstone(collection, person, service), self._places_of(collection, service)
                    deleted = self._shelf.forget(collection, trace, places, person)
                    known, pending = known + deleted[0], pending + deleted[1]
            self._known, self._pending = self._known - known, self._pending - pending
        return known

    def _places_of(self, collection: str, service: str) -> list[int]:
        """Return the numbers of a service of a collection, or of all of them."""
        return [
            number
            for (owner, name), (number, _) in self._places.items()
            if owner == collection and service in ("", name)
        ]

    def tombstone(self, collection: str, person: Person, service: str = "") -> bytes:
        """Return the trace that a deleted person leaves."""
        return self._tombstones.of(collection, person, service)

    def is_forgotten(self, collection: str, person: Person, service: str) -> bool:
        """Tell whether a person was deleted from a service, or from all of the collection."""
        traces = {self.tombstone(collection, person, one): collection for one in ("", service)}
        with self._lock:
            return bool(self._shelf.any_forgotten and self._shelf.forgotten(traces))

    def slots(self, collection: str, service: str, person: Person, sends: int) -> list[int]:
        """Return the slots of a person that hold a report."""
        place = self._places[collection, service][0]
        with self._lock:
            found = self._shelf.known([Identity(place, person, slot) for slot in range(sends)])
        return sorted(one.slot for one in found)

    def counts(self) -> dict[str, int]:
        """Return how many reports are known, and how many are pending, without asking the store."""
        return {"known": self._known, "pending": self._pending}

    def close(self) -> None:
        """Store what waits, answer it, and close the store."""
        self._requests.put(None)
        self._thread.join()
        self._shelf.close()


def _shelf(path: Path, store: str, tombstones: Tombstones) -> Shelf:
    if not store:
        return SqliteShelf(path, tombstones)
    from tacit.server.shelf_postgres import PostgresShelf

    return PostgresShelf(store)


def _scopes(one: _Asked) -> tuple[tuple[str, Person, str], ...]:
    """Return what a person may have been deleted from so that this report is refused."""
    return tuple((one.collection, one.report.person, service) for service in ("", one.report.service))


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()
