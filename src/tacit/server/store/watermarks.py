"""How many acknowledged reports an answer counts, measured in both stores while nothing changes between them.

If reports arrive faster than they are moved, or the disk is full, an answer counts fewer reports than were acknowledged
and says so. With any other fault there is no answer, but a 503 with a code and the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, TypeVar

from tacit.answers.marks import Mark, Sizes, notes_of
from tacit.collection import Collection
from tacit.contract.contract import ServiceContract
from tacit.database import Database
from tacit.engines.deadline import time_asked
from tacit.engines.failures import REMEDIES
from tacit.errors import EngineError, OverloadedError, ReportError, TacitError
from tacit.estimate.answer import Watermark
from tacit.server.store.analytical import Analytical
from tacit.server.store.inbox import Inbox
from tacit.server.store.ledger import round_of
from tacit.server.store.mover import Mover
from tacit.server.store.stores import Service

__all__ = ["Watermarks"]

MOVING_SECONDS = 2.0
"""Seconds from when a question was asked until it waits no longer for reports to be moved; its note counts the rest."""

TRIES = 3
"""Maximum repetitions of a question because reports were moved in the meantime; moving waits for the last one."""

SAID = ("disk-full",)
"""Faults of moving with which questions are still answered, with a note."""

T = TypeVar("T")

Text = str | tuple[Sequence[str], str | None]
"""A question, or the attributes and service of a table or synthetic rows."""


class _AgainError(OverloadedError):
    """The database failed during a question, or others change it; asking again may help."""


class Watermarks:
    """Queries the database, and measures the watermark."""

    def __init__(self, inbox: Inbox, analytical: Analytical, mover: Mover) -> None:
        self._inbox, self._analytical, self._mover = inbox, analytical, mover

    def measure(self, text: Text, parameters: Sequence[Any], ask: Callable[[Database], T]) -> tuple[T, Mark]:
        """Return an answer and the watermark of exactly the reports it counts, which are those of a question's text."""
        since = time_asked()
        for _ in range(1 if self._inbox.is_shared else TRIES - 1):  # other collectors may move at any time
            self.settle(since)
            with suppress(_AgainError), ExitStack() as answering:
                with self._mover.still():
                    before = self._mover.version()
                    mark = self._mark(text, parameters, certain=not self._inbox.is_shared)
                    answering.enter_context(self._mover.stores.turns.question())
                try:
                    answer = self.read(ask)
                except OverloadedError:
                    raise
                except TacitError:
                    if self._mover.version() == before:
                        raise
                    continue  # the database may be changing
                if self._mover.version() == before:
                    return answer, mark
        self.settle(since)
        with self._mover.alone():
            self._mover.version()  # it also adopts what others have published
            mark = self._mark(text, parameters)
            return self.read(ask), mark

    def settle(self, since: float) -> None:
        """Move what was pending when a question was asked; raise if the stores cannot be trusted."""
        self._inbox.check()
        self._mover.move(max(0.0, since + MOVING_SECONDS - time.monotonic()), since=since)
        fault = self._mover.fault
        if fault is not None and fault.code not in SAID:
            raise fault
        if self._mover.stores.is_rebuilding:
            message = "The analytical database is being rebuilt from the inbox. Ask again when that is done."
            raise OverloadedError(message, code="rebuilding", retry_after=5)

    def read(self, work: Callable[[Database], T]) -> T:
        """Return the result of reading the database; raise a fault with the reason if it cannot be read."""
        database = self._analytical.database
        try:
            return work(database)
        except Exception as cause:
            if isinstance(cause, OverloadedError) and cause.code not in REMEDIES:
                raise  # it took too long, or the collector is shutting down
            if isinstance(cause, TacitError) and not isinstance(cause, EngineError):
                raise  # an error in the question
            if self._analytical.database is database and not self._mover.has_failed(cause):
                raise
            message = f"The analytical database cannot be read ({type(cause).__name__}). It will be reopened."
            raise _AgainError(message, code="no-store") from None

    def _mark(self, text: Text, parameters: Sequence[Any], *, certain: bool = True) -> Mark:
        """Return the watermark of a question, while nothing moves; other collectors may if it is not certain."""
        sizes = self._inbox.sizes()
        services = self._asked_about(text, parameters, sizes, certain=certain)
        self._refuse_short(services, certain=certain)
        read = [sizes.get((collection.id, service.service.name), Sizes()) for collection, service in services]
        counted = self.read(lambda _: sum(self._analytical.count(*pair) for pair in services))
        watermark = Watermark(sum(size.acknowledged for size in read), counted)
        return Mark(watermark, tuple(notes_of(watermark, read)))

    def _refuse_short(self, services: Sequence[Service] | None = None, *, certain: bool) -> None:
        """Refuse to answer from a database that lacks reports; where others may be moving them, look again first."""
        if self.read(lambda _: self._mover.stores.is_short(services, certain=certain)):
            raise _short() if certain else _AgainError("Reports are being moved.", code="rebuilding", retry_after=5)

    def _asked_about(
        self, text: Text, parameters: Sequence[Any], sizes: dict[tuple[str, str], Sizes], *, certain: bool
    ) -> list[tuple[Collection, ServiceContract]]:
        """Return the services that a question reads, even if the database has none of their reports.

        These include tiers of the same rounds, and newer collections of which no report was moved yet.
        """
        try:
            services = self.read(lambda database: _asked_about(database, text, parameters))
        except ReportError as cause:
            self._refuse_short(certain=certain)
            if self._mover.fault is None and not _are_pending(cause, sizes):
                raise
            message = "Reports were acknowledged, but none can be counted yet. Ask again later."
            error = OverloadedError if certain else _AgainError
            raise error(message, code="reports-behind", retry_after=5) from None
        names, ids = {service.service.name for _, service in services}, [collection.id for collection, _ in services]
        rounds = {round_of(collection) for collection, _ in services}
        every = self._mover.stores.services()
        absent = [
            (collection, service)
            for collection, service in every
            if collection.id not in ids and round_of(collection) in rounds and service.service.name in names
        ]
        newest = max((number for number, (collection, _) in enumerate(every) if collection.id in ids), default=0)
        unseen = [
            (collection, service)
            for collection, service in every[newest + 1 :]
            if service.service.name in names
            and round_of(collection) not in rounds
            and _is_unseen(sizes.get((collection.id, service.service.name), Sizes()))
        ]
        return [*services, *absent, *unseen]


def _asked_about(database: Database, text: Text, parameters: Sequence[Any]) -> list[tuple[Collection, ServiceContract]]:
    return database.asked_about(text, parameters) if isinstance(text, str) else database.newest_tiers(*text)


def _are_pending(cause: ReportError, sizes: Mapping[tuple[str, str], Sizes]) -> bool:
    """Tell whether a question without reports is about a service with acknowledged ones that are not moved yet."""
    names = {name.lower() for name in cause.services}
    matching = [size for (_, service), size in sizes.items() if not names or service.lower() in names]
    return cause.code == "no-reports" and any(size.pending for size in matching)


def _short() -> OverloadedError:
    message = "The analytical database lacks reports and is being rebuilt from the inbox. Ask again later."
    return OverloadedError(message, code="rebuilding", retry_after=5)


def _is_unseen(size: Sizes) -> bool:
    return size.pending > 0 and size.settled == 0
