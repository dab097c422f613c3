"""A collector's records: reports, deletions and contracts in one store, and how much has been moved.

`inbox` decides whether a new report may be stored; everything else about the store is here.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tacit.engines.failures import REMEDIES
from tacit.errors import OverloadedError
from tacit.server.store.base import Identity, Lead, PendingReports, RacedError, ReportStore, Sizes, Standing, digests_of
from tacit.server.store.sqlite import SqliteStore
from tacit.server.store.tombstones import Tombstones
from tacit.server.store.validate import Person

__all__ = ["ReportRecords"]

DROPPED_AT_ONCE = 5_000
"""Pending reports dropped per transaction, so that no request waits long."""

REFILLED_AT_ONCE = 50_000
"""Reports made pending again per transaction, for the same reason."""

PAUSE = 0.001
"""Seconds between maintenance steps, so that others get the store: locks are not granted in order."""

LOG = logging.getLogger("tacit.server")


class ReportRecords:
    """One store.

    Parameters
    ----------
    path : Path
        A file of SQLite.
    store : str
        The address of a PostgreSQL database to use instead of that file.
    """

    def __init__(self, path: Path, store: str = "") -> None:
        self._store = _open_store(path, store)
        self.is_shared, self.collector, self.address = self._store.is_shared, self._store.collector, self._store.address
        self._tombstones = Tombstones(bytes.fromhex(self._store.state("tombstone-key") or ""))
        self._lock = threading.Lock()  # between the writer thread and all other writers
        self.reopenings = 0
        """How often the store was reopened; another collector may have written each time."""
        self._load()

    def _load(self) -> None:
        """Fill the in-memory caches: at the start, and after another collector may have written."""
        self._places = self._read_places()
        sizes = self._count()
        refilled = self._store.state("rebuilding") == "yes"  # reports are accepted while the database is rebuilt
        self._stored = Counter({} if refilled else {place: size.pending for place, size in sizes.items()})
        self._seen: Counter[int] = Counter()
        self._stuck: frozenset[int] = frozenset()
        self.reopenings += self._store.reopened
        self._store.reopened = False

    def _count(self) -> dict[int, Sizes]:
        """Count known and pending reports."""
        sizes = self._store.sizes()
        self._known = sum(size.known for size in sizes.values())
        self._pending = sum(size.pending for size in sizes.values())
        return sizes

    def lead(self, seconds: float) -> AbstractContextManager[Lead]:
        """Lead the collectors of this store within a context; yield whether it leads, after up to ``seconds``."""
        return self._store.lead(seconds)

    def standing(self) -> Standing:
        """Return what other collectors may have changed."""
        try:
            return self._store.standing()
        except self._store.failures as cause:
            raise self._unavailable(cause) from None

    def count_again(self) -> None:
        """Count what other collectors have stored and moved."""
        with self._reading():
            self._count()

    def add_collection(self, collection: str, services: Mapping[str, int], round_: str) -> None:
        """Create places for services, given the reports per person; a place belongs to one collection of a round."""
        new = [service for service in services if (collection, service) not in self._places]
        if max(services.values()) > 1:
            with self._lock, self._transaction():
                self._store.expect_parts()
        if new:
            with self._lock, self._transaction():
                for service in new:
                    self._store.add_place(collection, service, round_)  # unless another collector has
            with self._reading():
                self._places = self._read_places()

    def _read_places(self) -> dict[tuple[str, str], tuple[int, tuple[int, ...]]]:
        """Return the number of each place, and the places of its round in other tiers."""
        places = self._store.places()
        return {
            (place.collection, place.service): (
                place.number,
                tuple(p.number for p in places if p.round == place.round and p.collection != place.collection),
            )
            for place in places
        }

    def _tiers(self, collection: str) -> list[str]:
        """Return a collection and those of its rounds: a person reports to one of them, and is deleted from all."""
        others = {tier for (name, _), (_, tiers) in self._places.items() if name == collection for tier in tiers}
        return [collection, *{name: None for (name, _), (place, _) in self._places.items() if place in others}]

    @property
    def behind(self) -> int:
        """Reports received since the last complete move began, minus those moved since."""
        return self._behind(self._place_numbers())

    def _behind(self, places: Iterable[int]) -> int:
        return sum(max(0, self._stored[place] - self._seen[place]) for place in places)

    def _place_numbers(self) -> frozenset[int]:
        return frozenset(place for place, _ in self._places.values())

    def count_received(self) -> dict[int, int]:
        """Return how many reports of each place were stored since the start, including those pending at the start."""
        return dict(self._stored)

    def catch_up(
        self, collection: str, services: Iterable[str], received: Mapping[int, int], moved: int | None = None
    ) -> None:
        """Record how many reports of each service have been moved as far as possible, as totals or as increments."""
        for place in (self._places[collection, service][0] for service in services):
            first = received.get(place, 0)
            seen = first if moved is None else min(self._seen[place] + moved, first)
            self._seen[place] = min(seen, self._stored[place])  # starts again when the store is reopened

    def note_stuck(self, services: Iterable[tuple[str, str]]) -> None:
        """Record which services of collections could not be moved; others are then not refused because of them."""
        self._stuck = frozenset(self._places[service][0] for service in services)

    @property
    def stored(self) -> int:
        """How many reports were stored since the start, including those pending at the start."""
        return self._stored.total()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Write everything inside, or nothing."""
        try:
            with self._store.transaction():
                if self._store.reopened:
                    self._load()
                yield
        except RacedError:
            raise
        except self._store.failures as cause:
            raise self._unavailable(cause) from None

    def _unavailable(self, cause: Exception) -> OverloadedError:
        """Return a failure of the store as an error for waiting requests."""
        code = self._store.code_of(cause)
        message = f"The inbox cannot be used ({type(cause).__name__}). {REMEDIES.get(code, 'Try again later.')}"
        return OverloadedError(message, code=code)

    def check(self) -> None:
        """Raise unless the store exists, is the one that was opened, and belongs to this collector."""
        with self._reading():
            self._store.check()
            if self._store.reopened:
                self._load()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Use the store exclusively, without writing to it."""
        try:
            with self._lock:
                yield
        except self._store.failures as cause:
            raise self._unavailable(cause) from None

    def probe(self) -> None:
        """Write a value and read it back."""
        with self._lock, self._transaction():
            self._store.check()
            name = f"probe {self.collector}".strip()
            before = int(self.state(name) or 0)
            self._store.remember(name, str(before + 1))
        with self._reading():
            if self.state(name) != str(before + 1):
                message = "A row written to the inbox could not be read back."
                raise OverloadedError(message, code="no-store")

    def last_pending(self, collection: str, service: str) -> int:
        """Return the number of the newest pending report of a service, or 0."""
        return self._store.last_pending(self._places[collection, service][0])

    def pending(self, collection: str, service: str, sends: int, people: int) -> PendingReports:
        """Return reports of a service that are not yet in the analytical database.

        They belong to people all of whose slots have arrived, because a person's reports belong together; incomplete
        people do not block others. Reports that the disk altered are set aside and never counted.
        """
        return self._pending_reports(collection, service, sends, people)

    def waiting(self, collection: str) -> list[tuple[int, Person]]:
        """Return the numbers of all pending reports of a collection, with their people."""
        places = [place for (name, _), (place, _) in self._places.items() if name == collection]
        if self.is_shared:
            with self._lock, self._transaction():
                return self._store.waiting(places)
        try:
            return self._store.waiting(places)
        except self._store.failures as cause:
            raise self._unavailable(cause) from None

    def pending_of(self, collection: str, service: str, numbers: Sequence[int]) -> PendingReports:
        """Return these reports of a service, as `pending` does."""
        return self._pending_reports(collection, service, 1, 0, numbers)

    def _pending_reports(
        self, collection: str, service: str, sends: int, people: int, numbers: Sequence[int] | None = None
    ) -> PendingReports:
        place = self._places[collection, service][0]
        while True:
            try:
                pending = self._store.pending(place, sends, people, numbers)
            except self._store.failures as cause:
                raise self._unavailable(cause) from None
            bad = _find_altered(place, pending)
            if not bad:
                return pending
            with self._lock:
                with self._transaction():
                    self._store.set_aside(place, bad)
                self._pending -= len(bad)
            LOG.error("%d reports of %s do not match their digests: damaged-reports", len(bad), service)

    def sizes(self) -> dict[tuple[str, str], Sizes]:
        """Return the numbers of reports of each service."""
        try:
            sizes = self._store.sizes()
        except self._store.failures as cause:
            raise self._unavailable(cause) from None
        return {key: sizes.get(place, Sizes()) for key, (place, _) in self._places.items()}

    def mark_moved(self, collection: str, service: str, numbers: Sequence[int]) -> None:
        """Mark reports as no longer pending, now that the analytical database has them."""
        place = self._places[collection, service][0]
        for start in range(0, len(numbers), DROPPED_AT_ONCE):
            batch = numbers[start : start + DROPPED_AT_ONCE]
            with self._lock:
                with self._transaction():
                    self._store.drop(place, batch)
                self._pending -= len(batch)

    def mark_moved_together(self, collection: str, numbers: Mapping[str, Sequence[int]]) -> None:
        """Drop reports of several services from those that are pending, all or none."""
        with self._lock:
            with self._transaction():
                for service, moved in numbers.items():
                    self._store.drop(self._places[collection, service][0], moved)
            self._pending -= sum(map(len, numbers.values()))

    def refill(self) -> None:
        """Make all reports pending again, for a new analytical database."""
        with self._lock, self._transaction():
            self._store.count_lost()
        last = 0
        while True:
            with self._lock, self._transaction():
                last = self._store.refill(last, REFILLED_AT_ONCE)
            if not last:
                break
        self.count_again()

    def lacks_contents(self) -> bool:
        """Return whether there are reports of an earlier version, whose content only the analytical database has."""
        with self._reading():
            return self._store.lacks_contents()

    def add_bulk(self, collection: str, service: str, reports: int) -> None:
        """Record reports that were loaded into the analytical database in bulk."""
        with self._lock, self._transaction():
            self._store.add_bulk(self._places[collection, service][0], reports)

    def state(self, name: str) -> str | None:
        """Return a remembered setting, or None; for callers that already hold the store."""
        return self._store.state(name)

    def recall(self, name: str) -> str | None:
        """Return a remembered setting, or None."""
        with self._reading():
            return self._store.state(name)

    def remember(self, **values: str) -> None:
        """Remember some settings, all or none."""
        with self._lock, self._transaction():
            for name, value in values.items():
                self._store.remember(name, value)

    def contracts(self) -> dict[str, str]:
        """Return the texts of all contracts, by collection id, in order of publication."""
        with self._reading():
            return self._store.contracts()

    def add_contract(self, name: str, text: str) -> None:
        """Store a contract, so that its reports can be read even without the analytical database."""
        with self._lock, self._transaction():
            self._store.add_contract(name, text)

    def tidy(self, stopped: threading.Event) -> None:
        """Run the store's maintenance until stopped, and let others use it in between."""
        for chore in self._store.chores():
            with self._lock:
                chore()
            if stopped.wait(PAUSE):
                return

    def forget(self, collection: str, person: Person, services: Sequence[str] = ()) -> int:
        """Delete a person's reports of a collection, or of some of its services, and refuse later ones.

        Return how many there were. The deletion stays pending for the analytical database until `finish_deletion`.
        """
        known = 0
        with self._lock:
            with self._transaction():
                for service in services or ("",):
                    trace = self.tombstone(collection, person, service)
                    places = [
                        number
                        for (owner, name), (number, _) in self._places.items()
                        if owner == collection and service in ("", name)
                    ]
                    known += self._store.forget(collection, service, trace, places, person)
            self._known -= known
            self._pending = sum(size.pending for size in self._store.sizes().values())
        return known

    def deletions(self) -> list[tuple[str, str, Person]]:
        """Return the deletions, by collection and service, that the analytical database may not have applied yet."""
        with self._reading():
            return self._store.deletions()

    def finish_deletion(self, collection: str, service: str, person: Person) -> None:
        """Record that the analytical database has applied a deletion."""
        with self._lock, self._transaction():
            self._store.finish_deletion(collection, service, person)

    def tombstone(self, collection: str, person: Person, service: str) -> bytes:
        """Return the tombstone of a person."""
        return self._tombstones.of(collection, person, service)

    def is_forgotten(self, collection: str, person: Person, service: str) -> bool:
        """Return whether a person was deleted from a service, or from the whole collection, or from another tier."""
        scopes = [(tier, scope) for tier in self._tiers(collection) for scope in ("", service)]
        traces = {self.tombstone(tier, person, scope): tier for tier, scope in scopes}
        with self._reading():
            return bool(self._store.any_forgotten and self._store.forgotten(traces))

    def is_in_other_tier(self, collection: str, person: Person, services: Sequence[str]) -> bool:
        """Return whether a person has reported to some services, or to any, in another tier of a collection's round."""
        tiers, named = self._tiers(collection)[1:], self._places.items()
        places = [place for (tier, name), (place, _) in named if tier in tiers and (not services or name in services)]
        with self._reading():
            return bool(self._store.with_reports((place, person) for place in places))

    def slots(self, collection: str, service: str, person: Person, sends: int) -> list[int]:
        """Return the slots of a person that have a report."""
        place = self._places[collection, service][0]
        with self._reading():
            digests = self._store.known_digests([Identity(place, person, slot) for slot in range(sends)])
        return sorted(digest.slot for digest in digests)

    def counts(self) -> dict[str, int]:
        """Return how many reports are known and how many are pending, without asking the store."""
        return {"known": self._known, "pending": self._pending}


def _open_store(path: Path, store: str) -> ReportStore:
    if not store:
        return SqliteStore(path)
    from tacit.server.store.shared.postgres import PostgresStore

    return PostgresStore(store, path.parent)


def _find_altered(place: int, pending: PendingReports) -> list[int]:
    """Return the numbers of reports that do not match their digests."""
    digests = digests_of(place, pending.keys, pending.slots, pending.contents)
    rows = zip(pending.numbers, pending.digests, digests, strict=True)
    return [number for number, stored, digest in rows if stored != digest]
