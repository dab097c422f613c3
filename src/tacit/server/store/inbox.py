"""The inbox: a keyed store that commits for many requests at once.

It decides which reports are new, repeated or different. A status is returned only after its commit is on disk. Reports
leave the inbox only after their digests are checked.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Literal, NamedTuple

from tacit.engines.failures import outage
from tacit.errors import InternalError, OverloadedError
from tacit.server.store.base import Identity, RacedError, Row, Standing, content_digest, digest_of
from tacit.server.store.ledger import PersonLedger
from tacit.server.store.quotas import USED, Quotas
from tacit.server.store.records import ReportRecords
from tacit.server.store.validate import Person, Report

__all__ = ["Inbox", "Status"]

Status = Literal["stored", "again", "report-differs", "forgotten", "wrong-tier", "over-total"]

GROUP = 200
"""Requests per commit."""

WAITING_REQUESTS, WAITING_REPORTS = 2_000, 10_000
"""Queue limit, about half a second of work; more is refused."""

TRIES = 20
"""Maximum retries of a transaction after another collector stored the same reports."""

MOST_BEHIND = 100_000
"""Reports that may wait for the analytical database; more are refused, so that questions wait only seconds."""


@dataclass(frozen=True, slots=True)
class _Request:
    collection: str
    reports: Sequence[Report]
    answer: Future[list[Status]]


class _Incoming(NamedTuple):
    """A report with everything needed to decide about it."""

    collection: str
    report: Report
    identity: Identity
    tiers: tuple[int, ...]


@dataclass
class _Validated:
    """What a group of requests looked up and will store."""

    known: dict[Identity, bytes] = field(default_factory=dict)
    reported: set[tuple[int, Person]] = field(default_factory=set)
    rows: list[Row] = field(default_factory=list)


class Inbox(ReportRecords):
    """One store with one writer thread; parameters are those of `ReportRecords`."""

    def __init__(self, path: Path, store: str = "") -> None:
        super().__init__(path, store)
        self._requests: queue.Queue[_Request | None] = queue.Queue(maxsize=WAITING_REQUESTS)
        self._waiting, self._counting = 0, threading.Lock()
        self._is_open, self._entering = True, threading.Lock()
        self._total: Fraction | None = None
        self._costs: dict[int, Fraction] = {}
        self._quotas = Quotas({}, None)
        self._thread = threading.Thread(target=self._serve, name="inbox", daemon=True)
        self._thread.start()

    def limit(self, total: Fraction, costs: Mapping[tuple[str, str], Fraction]) -> None:
        """Limit each person's total epsilon, by what the services of collections cost."""
        self._total = total
        new = {self._places[place][0]: cost for place, cost in costs.items()}
        self._costs = self._costs | new  # the writer thread may be iterating over them

    def set_quotas(self, limits: Mapping[str, int]) -> None:
        """Limit the reports of services that are stored in a day."""
        self._quotas = Quotas(limits, self.recall(self._used))

    @property
    def _used(self) -> str:
        return f"{USED} {self.collector}".strip()

    def learn_quotas(self, standing: Standing) -> None:
        """Count what other collectors have stored."""
        self._quotas.learn(standing.used)

    @property
    def _services(self) -> dict[int, str]:
        return {place: service for (_, service), (place, _) in self._places.items()}

    def check_room(self, wanted: Iterable[tuple[str, str]] = ()) -> None:
        """Refuse a request if too many reports wait to be stored, or to be moved like its own.

        Services that can be moved and services that cannot each have a limit, so that one of the latter stops no other.
        Without ``wanted`` services, refuse only what would be refused for all of them.
        """
        if self._waiting >= WAITING_REPORTS or self._requests.full():
            message = "Too many reports are waiting. Try again in a moment."
            raise OverloadedError(message)
        every, stuck = self._place_numbers(), self._stuck
        full = [group for group in (every - stuck, every & stuck) if self._behind(group) >= MOST_BEHIND]
        if not full:
            return
        places = frozenset(self._places[service][0] for service in wanted)
        if places & frozenset().union(*full) if places else every <= frozenset().union(*full):
            message = "The analytical database is too far behind. Try again in a few seconds."
            raise OverloadedError(message, retry_after=5)

    def is_alive(self) -> bool:
        """Return whether the writer thread is running."""
        return self._thread.is_alive()

    def put(self, collection: str, reports: Sequence[Report]) -> Future[list[Status]]:
        """Store validated reports; the statuses are returned once they are on disk."""
        self.check_room({(collection, report.service) for report in reports})
        self._quotas.check(report.service for report in reports)
        answer: Future[list[Status]] = Future()
        with self._entering:
            if not self._is_open:  # the writer has stopped, so nobody would answer
                message = "The collector is shutting down. Send it again when it is back."
                raise OverloadedError(message, code="ending")
            with self._counting:
                self._waiting += len(reports)
            self._requests.put(_Request(collection, reports, answer))
        return answer

    def _serve(self) -> None:
        """Take queued requests, store them in one transaction, then answer all of them."""
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
        try:
            for tries_left in reversed(range(TRIES)):
                try:
                    results = self._store_group(group)
                    break
                except RacedError:  # another collector has stored the same report: validate again
                    if not tries_left:
                        raise
        except OverloadedError as failure:
            for request in group:
                request.answer.set_exception(failure)
            return
        except Exception as cause:  # whatever fails, every request must get an answer
            message = f"Reports cannot be stored ({type(cause).__name__}). Nothing was stored."
            problem = outage("Reports cannot be stored", cause) or InternalError(message)
            for request in group:
                request.answer.set_exception(problem)
            return
        for request, statuses in zip(group, results, strict=True):
            request.answer.set_result(statuses)

    def _store_group(self, group: list[_Request]) -> list[list[Status]]:
        """Store the new reports of a group of requests; return the status of each report."""
        validated = _Validated()
        with self._lock:
            with self._transaction():
                results = self._validate(group, validated)
                if validated.rows:
                    self._store.insert(validated.rows)
                services = [self._services[row.identity.place] for row in validated.rows] if self._quotas.any else []
                if services:
                    self._store.remember(self._used, self._quotas.with_more(services))
            self._quotas.add(services)
            self._known, self._pending = self._known + len(validated.rows), self._pending + len(validated.rows)
            self._stored.update(row.identity.place for row in validated.rows)
        return results

    def _validate(self, group: Sequence[_Request], validated: _Validated) -> list[list[Status]]:
        """Return the status of each report, and collect the rows of new ones."""
        requested = [[self._incoming(request.collection, report) for report in request.reports] for request in group]
        every = [report for reports in requested for report in reports]
        self._store.begin_storing(
            {incoming.report.person for incoming in every if incoming.tiers or self._total is not None}
        )
        forgotten = self._forgotten(every)
        validated.known = self._store.known_digests([incoming.identity for incoming in every])
        validated.reported = self._store.with_reports(
            {(tier, incoming.report.person) for incoming in every for tier in incoming.tiers}
        )

        ledger = self._ledger({incoming.report.person for incoming in every})

        def status(incoming: _Incoming) -> Status:
            identity, person = incoming.identity, incoming.report.person
            digest = digest_of(identity, incoming.report.content)
            if forgotten and (incoming.collection, person, incoming.report.service) in forgotten:
                return "forgotten"
            if identity in validated.known:
                same = validated.known[identity] in (digest, content_digest(incoming.report.content))
                return "again" if same else "report-differs"
            if incoming.tiers and any((tier, person) in validated.reported for tier in incoming.tiers):
                return "wrong-tier"
            if ledger is not None and not ledger.takes(person, identity.place):
                return "over-total"
            validated.known[identity] = digest
            validated.reported.add((identity.place, person))
            validated.rows.append(Row(identity, digest, incoming.report.content))
            return "stored"

        return [[status(incoming) for incoming in reports] for reports in requested]

    def _ledger(self, people: Collection[Person]) -> PersonLedger | None:
        """Return what people have been charged, from their reports and tombstones, if there is a limit."""
        if self._total is None:
            return None
        charged: dict[Person, set[int]] = {person: set() for person in people}
        for place, person in self._store.with_reports(
            (place, member) for member in people for place, _ in self._places.values()
        ):
            charged[person].add(place)
        if self._store.any_forgotten:
            traces = [
                (self.tombstone(collection, person, scope), collection, person, place)
                for (collection, service), (place, _) in self._places.items()
                for person in people
                for scope in ("", service)
            ]
            deleted = self._store.forgotten({trace: collection for trace, collection, *_ in traces})
            for trace, _, person, place in traces:
                if trace in deleted:
                    charged[person].add(place)
        return PersonLedger(self._total, self._costs, charged)

    def _incoming(self, collection: str, report: Report) -> _Incoming:
        place, tiers = self._places[collection, report.service]
        return _Incoming(collection, report, Identity(place, report.person, report.slot), tiers)

    def _forgotten(self, every: Sequence[_Incoming]) -> set[tuple[str, Person, str]]:
        """Return who of these was deleted: from the service or all services, of the collection or another tier."""
        if not self._store.any_forgotten:
            return set()
        tiers = {name: self._tiers(name) for name in {incoming.collection for incoming in every}}
        traces = {
            (incoming.collection, incoming.report.person, incoming.report.service): {
                self.tombstone(tier, incoming.report.person, service): tier
                for tier in tiers[incoming.collection]
                for service in ("", incoming.report.service)
            }
            for incoming in every
        }
        deleted = self._store.forgotten(
            {trace: tier for of_report in traces.values() for trace, tier in of_report.items()}
        )
        return {identity for identity, of_report in traces.items() if not deleted.isdisjoint(of_report)}

    def close(self) -> None:
        """Store and answer queued requests, then close the store."""
        with self._entering:
            self._is_open = False
            self._requests.put(None)
        self._thread.join()
        with self._lock:
            self._store.close()
