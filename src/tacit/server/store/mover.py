"""Moves reports from the inbox to the analytical database.

Every move is repeatable: the engine refuses reports that it already has, so a crash between the two stores repeats work
but loses nothing. A failure is kept as a fault, with a code and a reason, until a move succeeds. Of the collectors that
share a store, only the leader moves, deletes and rebuilds; it leads for one piece of work at a time.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.collection import Collection
from tacit.contract.contract import ServiceContract
from tacit.errors import EngineError, OverloadedError, TacitError
from tacit.server.store.analytical import Analytical
from tacit.server.store.base import Sizes, Standing
from tacit.server.store.batches import batch_of
from tacit.server.store.disk import has_room
from tacit.server.store.faults import fault_of
from tacit.server.store.inbox import Inbox
from tacit.server.store.snapshots import Snapshots
from tacit.server.store.stores import Stores

__all__ = ["Mover"]

MOVED_AT_ONCE = 20_000
"""Reports per batch to the analytical database."""

IDLE_SECONDS = 0.5
"""Seconds that reports may wait in the inbox between questions."""

SLICE_SECONDS = 0.5
"""Seconds of moving after which waiting questions run."""

PAUSE = 0.001
"""Seconds between slices: locks are not granted in order."""

FAULT_SECONDS = 2.0
"""Seconds until a failed move is retried."""

PASSING = ("move-failed", "no-store")
"""Faults that a second try may fix."""

TAKEN_OVER = ("store-in-use", "lease-lost")
"""Errors after which another collector may have changed the database."""

SUSPICIOUS = ("engine-failed", "io-error", "damaged-store")
"""Errors after which a writable database may contain unreadable pages."""

ALONE_SECONDS = 15.0
"""Seconds that exclusive work waits for other collectors: longer than a lease."""

LOG = logging.getLogger("tacit.server")

Learn = Callable[[Standing], None]


class Mover:
    """Moves reports of one collector, in its own thread and on request; ``learn`` gets the changes of others."""

    def __init__(
        self,
        inbox: Inbox,
        analytical: Analytical,
        folder: Path,
        snapshots: Snapshots,
        learn: Learn,
        *,
        is_elsewhere: bool,
    ) -> None:
        self._inbox, self._analytical, self._is_elsewhere = inbox, analytical, is_elsewhere
        self.stores = Stores(inbox, analytical, is_elsewhere=is_elsewhere)
        self._snapshots, self._folder, self._learn = snapshots, folder, learn
        self._lock = threading.Lock()  # no moves, deletions or copies at the same time
        self._has_passed = False  # whether another collector has led since this one did
        self._stopped = threading.Event()
        self._suspect = False  # whether the database failed and must be reopened
        self.fault: TacitError | None = None
        """Why the last move failed."""
        self._reopenings = inbox.reopenings
        with self._leading(ALONE_SECONDS) as leads:
            fault = self._put_in_order() if leads else _busy()
        if isinstance(fault, EngineError) and fault.code == "inbox-missing":
            raise fault
        self.fault = fault
        self._threads = [
            threading.Thread(target=self._repeat, args=(work,), name=name, daemon=True)
            for name, work in (
                ("mover", self._move_in_slices),
                ("tidier", lambda: self._inbox.tidy(self._stopped)),
                *([("watcher", self._watch)] if inbox.is_shared else ()),
            )
        ]

    def start(self) -> None:
        """Start moving in the background."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop moving."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    @contextmanager
    def still(self) -> Iterator[None]:
        """Pause moving and deleting; reports are still accepted."""
        with self._lock:
            yield

    @contextmanager
    def _leading(self, seconds: float) -> Iterator[bool]:
        """Lead the collectors of this store; yield whether it leads, after waiting up to ``seconds``."""
        with self._inbox.lead(seconds) as lead:
            if lead == "ended":  # the last leader may have been interrupted
                self.stores.compared = False
            self._has_passed = self._has_passed or lead == "passed"
            yield bool(lead)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Pause moving and deleting by all collectors of the store; raise if others are busy, or it is not healthy."""
        with self._lock, self._leading(ALONE_SECONDS) as leads:
            if not leads:
                raise _busy()
            if self._inbox.is_shared and (fault := self._put_in_order()):
                raise fault
            yield

    def version(self) -> object:
        """Return a version that every change of the database changes; it is always new while a deletion is pending."""
        if not self._inbox.is_shared:
            return self.stores.changes
        standing = self._inbox.standing()
        self._learn(standing)
        return object() if standing.deletions else (self.stores.changes, self._analytical.version)

    def _watch(self) -> None:
        """Learn what other collectors have stored, moved and published."""
        with contextlib.suppress(TacitError):  # an unreachable store, which a fault reports
            self._learn(self._inbox.standing())
            self._inbox.count_again()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change the database directly while nothing moves; raise if it is not healthy."""
        with self._lock, self._leading(ALONE_SECONDS) as leads:
            self.fault = self._put_in_order() if leads else _busy()
            if self.fault is not None:
                raise self.fault
            with self.stores.change():
                yield

    def move(self, seconds: float = float("inf"), *, since: float = float("inf")) -> int:
        """Move reports for at most ``seconds``, unless all pending at ``since`` are moved; failures become a fault."""
        with self._lock:
            self._refuse_at_the_end()
            try:
                is_moved = self.stores.turns.is_moved(since) and self.fault is None and not self._suspect
                if is_moved and not self._inbox.standing().deletions:
                    return 0
                with self._leading(min(seconds, ALONE_SECONDS)) as leads:
                    return self._move(seconds) if leads else 0
            except OverloadedError as cause:  # the lease cannot be reached
                self._refuse_at_the_end()
                self.fault = self._fault_of(cause)
                return 0

    def _move(self, seconds: float) -> int:
        began = time.monotonic()
        end = began + seconds
        self.stores.turns.begin_move()
        moved, self.fault = self._try(end)
        if self.fault is not None and self.fault.code in PASSING:  # a new connection may suffice
            more, self.fault = self._try(end)
            moved += more
        if self.fault is None and time.monotonic() < end:
            self.stores.turns.end_move(began)
        self._refuse_at_the_end()  # reports may have arrived in the meantime
        return moved

    def _move_in_slices(self) -> None:
        """Move everything in slices, with time for questions in between."""
        since = time.monotonic() - IDLE_SECONDS
        if self._inbox.is_shared and self.fault is None and self._is_idle():
            return
        while self.move(SLICE_SECONDS, since=since) and self.fault is None and not self.stores.turns.is_moved(since):
            time.sleep(PAUSE)

    def _is_idle(self) -> bool:
        """Return whether other collectors have moved everything, and record that this collector's reports are moved."""
        received = self._inbox.count_received()
        try:
            standing = self._inbox.standing()
        except OverloadedError:  # the move will report why
            return False
        if standing.is_waiting or standing.deletions:
            return False
        for collection, compiled in self.stores.services():
            self._inbox.catch_up(collection.id, [compiled.service.name], received)
        return True

    def _try(self, end: float) -> tuple[int, TacitError | None]:
        fault = self._put_in_order()
        return (0, fault) if fault else self._move_all(end)

    def delete(self, record: Callable[[], int]) -> int:
        """Record a deletion, apply it to the database, and return the result of recording; raise if that fails.

        Nothing runs in between: no report of the person may be in transit, no answer or copy may have half of it.
        """
        with self._lock, self._leading(ALONE_SECONDS) as leads:
            if not leads:
                raise _busy()
            recorded = record()
            self.fault = self._put_in_order()
            if self.fault is not None and self.fault.code in PASSING:
                self.fault = self._put_in_order()
            if self._inbox.deletions():
                message = "The deletion is recorded; the analytical database applies it as soon as possible."
                raise OverloadedError(message, code="deletion-pending", retry_after=5)
            return recorded

    def _refuse_at_the_end(self) -> None:
        """Raise if the store is closed or incomplete."""
        if self._stopped.is_set():
            message = "The collector is shutting down. Try again when it is back."
            raise OverloadedError(message, code="ending")

    def _put_in_order(self) -> TacitError | None:
        """Reopen the database if it failed or was replaced, compare it with the inbox, and apply deletions."""
        try:
            self._inbox.check()
            if self._reopenings != self._inbox.reopenings:  # another collector may have changed the database
                self._reopenings, self.stores.compared = self._inbox.reopenings, False
            if self._suspect or not self._analytical.is_in_place():
                self.stores.changes += 1
                self.stores.compared = False
                self._analytical.reopen()
                self._suspect = False
            if self._has_passed:
                self._analytical.read_stamp()
                self._has_passed = False
            self.stores.compare()
            if self._inbox.is_shared:
                self._learn(self._inbox.standing())
            self.stores.apply_deletions()
        except Exception as cause:
            return self._fault_of(cause)
        return None

    def probe(self) -> None:
        """Write to the database and read it back; if that fails, the next move reopens it."""
        try:
            self._analytical.probe()
        except Exception:
            self._suspect = True
            raise

    def has_failed(self, cause: Exception) -> bool:
        """Return whether a failure is the database's own, so that the next move must reopen it."""
        self._suspect = self._suspect or (isinstance(cause, EngineError) and cause.code in SUSPICIOUS)
        with contextlib.suppress(Exception):
            self.probe()
        return self._suspect

    def is_alive(self) -> bool:
        """Return whether its threads are running."""
        return all(thread.is_alive() for thread in self._threads)

    def _fault_of(self, cause: Exception) -> TacitError:
        """Return a failure as a fault; decide whether the database must be reopened."""
        fault = fault_of(cause, failed=self.has_failed(cause))
        if isinstance(cause, EngineError) and cause.code in TAKEN_OVER:
            self.stores.compared = False
        if self.fault is None or self.fault.code != fault.code:
            LOG.error("reports wait in the inbox: %s (%s)", fault.code, type(cause).__name__)
        return fault

    def _move_all(self, end: float) -> tuple[int, TacitError | None]:
        """Move what was there at the start; a failing service does not block the others."""
        if not self._is_elsewhere and not has_room(self._folder):
            message = "The disk is nearly full, so reports stay in the inbox. Free some space; nothing was lost."
            return 0, OverloadedError(message, code="disk-full", retry_after=5)
        moved, fault, received = 0, None, self._inbox.count_received()
        stuck: list[tuple[str, str]] = []
        for collection, services, batches in self._all_batches(end):
            try:
                for counts in batches:
                    moved += sum(counts.values())
                    for service, count in counts.items():
                        self._inbox.catch_up(collection, [service], received, count)
                if time.monotonic() < end and not self._stopped.is_set():
                    self._inbox.catch_up(collection, services, received)
            except Exception as cause:  # whatever fails, reports are safe in the inbox
                fault = fault or self._fault_of(cause)
                stuck += [(collection, service) for service in services]
        self._inbox.note_stuck(stuck)
        if fault is None and time.monotonic() < end and not self._stopped.is_set() and self.stores.is_rebuilding:
            fault = self.stores.end_rebuilding()
        return moved, fault

    def _all_batches(self, end: float) -> Iterator[tuple[str, list[str], Iterator[dict[str, int]]]]:
        """Return the movers of services with pending reports or, in snapshots, of collections."""
        if self._snapshots.least:
            for collection in self._analytical.database.collections:
                names = [compiled.service.name for compiled in collection.contract.services]
                yield collection.id, names, self._snapshot_batches(collection, end)
            return
        sizes = self._inbox.sizes()
        for collection, compiled in self.stores.services():
            name = compiled.service.name
            pending = sizes.get((collection.id, name), Sizes()).pending
            yield collection.id, [name], self._batches(collection, compiled, end) if pending else iter(())

    def _snapshot_batches(self, collection: Collection, end: float) -> Iterator[dict[str, int]]:
        """Move the people of one snapshot after the other, each with all their reports."""
        while not self._stopped.is_set() and time.monotonic() < end and (batch := self._snapshots.next(collection)):
            self._inbox.check()
            with self.stores.change():
                self._analytical.database.load(batch.tables)
            self._inbox.mark_moved_together(collection.id, batch.numbers)
            yield {service: len(numbers) for service, numbers in batch.numbers.items()}

    def _batches(self, collection: Collection, compiled: ServiceContract, end: float) -> Iterator[dict[str, int]]:
        """Move one service batch by batch; yield the number of reports in each.

        The settled count was read together with them: if they had been moved before, it would be less than the database
        has, and the database would then look up each of them.
        """
        name, sends = compiled.service.name, compiled.service.sends
        place = (collection.id, name)
        last = self._inbox.last_pending(*place)  # later reports wait for the next move, or this one might never end
        people = max(1, MOVED_AT_ONCE // sends)
        first = True
        while last and not self._stopped.is_set() and (first or time.monotonic() < end):
            first = False  # always move one batch, so that few reports are not left behind
            waiting = self._inbox.pending(*place, sends, people)
            if not waiting.numbers or waiting.numbers[0] > last:
                break
            table = batch_of(collection, compiled, waiting)
            self._inbox.check()  # another collector may have deleted some of them
            with self.stores.change():
                self._analytical.database.load({name: table})
            self._inbox.mark_moved(*place, waiting.numbers)
            yield {name: len(waiting.numbers)}

    def _repeat(self, work: Callable[[], object]) -> None:
        while not self._stopped.wait(IDLE_SECONDS if self.fault is None else FAULT_SECONDS):
            try:
                work()
            except Exception as cause:  # reports are safe, and the next move retries
                if not self._stopped.is_set():
                    LOG.error("work on the inbox failed: %s", type(cause).__name__)


def _busy() -> OverloadedError:
    message = "Another collector is working on this store. Try again in a moment."
    return OverloadedError(message, code="leader-busy", retry_after=2)
