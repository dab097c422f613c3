"""Moves reports from the inbox to the analytical database, and keeps the two in step.

Every move is repeatable: the engine refuses reports that it already has, so a crash between the two stores repeats work
but loses nothing. Deletions are applied to the inbox first, and then to the database until they succeed. If the
database is missing, replaced, older than the inbox expects, or lacks reports, it is rebuilt from the inbox. A failure
is kept as a fault, with a code and a reason, until a move succeeds.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tacit.collection import Collection
from tacit.contract.contract import ServiceContract
from tacit.engines.base import Stamp
from tacit.errors import EngineError, OverloadedError, TacitError
from tacit.server.store.analytical import Analytical
from tacit.server.store.base import Sizes
from tacit.server.store.batches import batch_of
from tacit.server.store.belonging import is_of
from tacit.server.store.disk import has_room
from tacit.server.store.faults import fault_of
from tacit.server.store.inbox import Inbox
from tacit.server.store.snapshots import Snapshots
from tacit.server.store.turns import Turns
from tacit.server.store.validate import stored_key

__all__ = ["Mover"]

MOVED_AT_ONCE = 20_000
"""Reports per batch to the analytical database."""

IDLE_SECONDS = 0.5
"""Seconds that reports may wait in the inbox while nobody asks."""

SLICE_SECONDS = 0.5
"""Seconds of moving after which a waiting question has its turn."""

PAUSE = 0.001
"""Seconds between slices: locks are not granted in order."""

FAULT_SECONDS = 2.0
"""Seconds until a failed move is retried."""

PASSING = ("move-failed", "no-store")
"""Faults that may be gone at the second try."""

SUSPICIOUS = ("engine-failed", "io-error", "damaged-store")
"""Errors after which a writable database may contain unreadable pages."""

LOG = logging.getLogger("tacit.server")

Service = tuple[Collection, ServiceContract]


class Mover:
    """Moves reports of one collector, in its own thread and on request."""

    def __init__(
        self, inbox: Inbox, analytical: Analytical, folder: Path, snapshots: Snapshots, *, is_elsewhere: bool
    ) -> None:
        self._inbox, self._analytical, self._snapshots = inbox, analytical, snapshots
        self._folder, self._is_elsewhere = folder, is_elsewhere
        self._lock = threading.Lock()  # no moves, deletions or copies at the same time
        self.turns = Turns()
        self._stopped = threading.Event()
        self._suspect = False  # whether the database failed and must be reopened
        self.fault: TacitError | None = None
        """Why the last move failed."""
        self.changes = 0
        """Number of changes to the database; the same number before and after means no change."""
        self._compared = False  # whether the database is known to belong to this inbox
        self._reopenings = inbox.reopenings
        if isinstance(fault := self._put_in_order(), EngineError) and fault.code == "inbox-missing":
            raise fault
        self.fault = fault
        self._threads = [
            threading.Thread(target=self._repeat, args=(work,), name=name, daemon=True)
            for name, work in (
                ("mover", self._move_in_slices),
                ("tidier", lambda: self._inbox.tidy(self._stopped)),
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

    @property
    def is_rebuilding(self) -> bool:
        """Whether the database is being rebuilt and still incomplete."""
        return self._inbox.recall("rebuilding") == "yes"

    @contextmanager
    def still(self) -> Iterator[None]:
        """Pause moving and deleting; reports are still accepted."""
        with self._lock:
            yield

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change the database directly while nothing moves; raise if it is not healthy."""
        with self._lock:
            self.fault = self._put_in_order()
            if self.fault is not None:
                raise self.fault
            with self._change():
                yield

    def move(self, seconds: float = float("inf"), *, since: float = float("inf")) -> int:
        """Move reports, for some seconds at most, unless all pending ``since`` a moment were. Failures are a fault."""
        with self._lock:
            self._refuse_at_the_end()
            if self.turns.is_moved(since) and self.fault is None and not self._suspect:
                return 0
            began = time.monotonic()
            end = began + seconds
            self.turns.begin_move()
            moved, self.fault = self._try(end)
            if self.fault is not None and self.fault.code in PASSING:  # a new connection may be enough
                more, self.fault = self._try(end)
                moved += more
            if self.fault is None and time.monotonic() < end:
                self.turns.end_move(began)
            self._refuse_at_the_end()  # reports may have arrived meanwhile
            return moved

    def _move_in_slices(self) -> None:
        """Move everything, and let questions have the database in between."""
        since = time.monotonic() - IDLE_SECONDS
        while self.move(SLICE_SECONDS, since=since) and self.fault is None and not self.turns.is_moved(since):
            time.sleep(PAUSE)

    def _try(self, end: float) -> tuple[int, TacitError | None]:
        fault = self._put_in_order()
        return (0, fault) if fault else self._move_all(end)

    def delete(self, record: Callable[[], int]) -> int:
        """Record a deletion, apply it to the database, and return the result of recording; raise if that fails.

        Nothing runs in between: no report of the person may be in transit, no answer or copy may have half of it.
        """
        with self._lock:
            recorded = record()
            self.fault = self._put_in_order()
            if self.fault is not None and self.fault.code in PASSING:
                self.fault = self._put_in_order()
            if self._inbox.deletions():
                message = "The deletion is recorded; the analytical database applies it as soon as possible."
                raise OverloadedError(message, code="deletion-pending", retry_after=5)
            return recorded

    def _refuse_at_the_end(self) -> None:
        """Refuse to use a closed store, or to answer from an incomplete one."""
        if self._stopped.is_set():
            message = "The collector is shutting down. Try again when it is back."
            raise OverloadedError(message, code="ending")

    def _put_in_order(self) -> TacitError | None:
        """Reopen the database if it failed or was replaced, compare it with the inbox, and apply deletions."""
        try:
            self._inbox.check()
            if self._reopenings != self._inbox.reopenings:  # another collector may have changed the database
                self._reopenings, self._compared = self._inbox.reopenings, False
            if self._suspect or not self._analytical.is_in_place():
                self.changes += 1
                self._compared = False
                self._analytical.reopen()
                self._suspect = False
            if not self._compared:
                self._compare()
                self._compared = True
            self._delete()
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

    def is_short(self, services: Sequence[Service] | None = None) -> bool:
        """Return whether the database lacks reports that have left the inbox; the next move then rebuilds it."""
        if self._lacking(services):
            self._compared = False
        return not self._compared

    def _fault_of(self, cause: Exception) -> TacitError:
        """Return a failure as a fault; decide whether the database must be reopened."""
        fault = fault_of(cause, failed=self.has_failed(cause))
        self._compared = self._compared and not (isinstance(cause, EngineError) and cause.code == "store-in-use")
        if self.fault is None or self.fault.code != fault.code:
            LOG.error("reports wait in the inbox: %s (%s)", fault.code, type(cause).__name__)
        return fault

    def _bring_contracts(self) -> None:
        """Copy contracts so that both stores have the same; a new database has none."""
        kept = self._inbox.contracts()
        for collection in self._analytical.database.collections:
            if collection.contract_id not in kept:
                self._inbox.add_contract(collection.contract_id, collection.to_json())
        known = {collection.contract_id for collection in self._analytical.database.collections}
        for name, text in kept.items():
            if name not in known:
                self._analytical.database.create(Collection.from_json(text))

    def _compare(self) -> None:
        """Adopt the database if it belongs to the inbox; otherwise rebuild it.

        Only then is any of its content used: contracts of another store may contradict those of this one.
        """
        identity, generation = self._inbox.recall("identity") or "", self._inbox.recall("generation")
        stamp = self._analytical.stamp
        mine = is_of(stamp, identity, generation, is_elsewhere=self._is_elsewhere)
        if stamp is not None and mine and self._is_elsewhere:  # changes by a collector that lost its lock now fail
            stamp = Stamp(identity, stamp.generation + 1)
            self._mark(stamp.generation)
        fits = generation is None if stamp is None else mine and stamp.generation >= int(generation or 0)
        if fits:
            self._bring_contracts()
        if fits and not self._lacking():
            self._inbox.remember(rollups=self._analytical.rollups(self._inbox.recall("rollups")))
            self._mark(stamp.generation if stamp else 0)
        else:
            self._rebuild(keep=stamp is not None and not mine)

    def _mark(self, generation: int) -> None:
        """Record the number of changes to the database, there first and then in the inbox."""
        identity = self._inbox.recall("identity") or ""
        self._analytical.stamp = Stamp(identity, generation)
        self._inbox.remember(generation=str(generation))

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Count a change of the database before making it, so that readers notice it."""
        self.turns.wait()
        self.changes += 1
        yield
        self._mark(int(self._inbox.recall("generation") or 0) + 1)

    def _lacking(self, services: Sequence[Service] | None = None) -> list[str]:
        """Return the services, of these or of all, whose reports the database lacks although they left the inbox."""
        sizes = self._inbox.sizes()
        return [
            compiled.service.name
            for collection, compiled in services or self.services()
            if self._analytical.count(collection, compiled)
            < sizes.get((collection.id, compiled.service.name), Sizes()).settled
        ]

    def _rebuild(self, *, keep: bool = False) -> None:
        """Recreate the database, and make all reports of the inbox pending again."""
        LOG.error("the analytical database is rebuilt from the inbox: rebuilding")
        resumed = self.is_rebuilding and self._analytical.stamp is not None and not keep
        rollups = self._inbox.recall("rollups")
        self._inbox.remember(rebuilding="yes", rollups=(rollups or "") if keep else self._analytical.rollups(rollups))
        with self._change():
            if not resumed:
                kept_nowhere_else = any(size.bulk or size.lost for size in self._inbox.sizes().values())
                aside = keep or kept_nowhere_else or self._inbox.lacks_contents()
                self._analytical.begin_anew(keep=aside, is_own=not keep)
            self._bring_contracts()
            self._inbox.refill()

    def services(self) -> list[Service]:
        """Return all services with their collections."""
        collections = self._analytical.database.collections
        return [(collection, compiled) for collection in collections for compiled in collection.contract.services]

    def _delete(self) -> None:
        """Apply the deletions of the inbox; applying one twice changes nothing."""
        for collection, service, person in self._inbox.deletions():
            with self._change():
                self._analytical.database.forget(stored_key(person), [collection], [service] if service else ())
            self._inbox.finish_deletion(collection, service, person)
            self._fit_bulk(collection)

    def _fit_bulk(self, name: str) -> None:
        """Record how many reports loaded in bulk are left after a deletion."""
        sizes = self._inbox.sizes()
        for collection, compiled in self.services():
            size = sizes.get((collection.id, compiled.service.name), Sizes())
            if collection.id == name and size.bulk:
                left = max(0, self._analytical.count(collection, compiled) - size.settled)
                self._inbox.add_bulk(name, compiled.service.name, min(0, left - size.bulk))

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
        if fault is None and time.monotonic() < end and not self._stopped.is_set() and self.is_rebuilding:
            fault = self._end_rebuilding()
        return moved, fault

    def _all_batches(self, end: float) -> Iterator[tuple[str, list[str], Iterator[dict[str, int]]]]:
        """Return what moves each service with pending reports or, in snapshots, each collection."""
        if self._snapshots.least:
            for one in self._analytical.database.collections:
                names = [compiled.service.name for compiled in one.contract.services]
                yield one.id, names, self._snapshot_batches(one, end)
            return
        sizes = self._inbox.sizes()
        for collection, compiled in self.services():
            name = compiled.service.name
            pending = sizes.get((collection.id, name), Sizes()).pending
            yield collection.id, [name], self._batches(collection, compiled, end) if pending else iter(())

    def _snapshot_batches(self, collection: Collection, end: float) -> Iterator[dict[str, int]]:
        """Move the people of one snapshot after the other, each with all their reports."""
        while not self._stopped.is_set() and time.monotonic() < end and (batch := self._snapshots.next(collection)):
            self._inbox.check()
            with self._change():
                self._analytical.database.load(batch.tables)
            self._inbox.moved_together(collection.id, batch.numbers)
            yield {service: len(numbers) for service, numbers in batch.numbers.items()}

    def _batches(self, collection: Collection, compiled: ServiceContract, end: float) -> Iterator[dict[str, int]]:
        """Move one service batch by batch; yield the number of reports in each.

        The settled count was read together with them: if they had been moved before, it would be less than the database
        has, and the database would then look up each of them.
        """
        name, sends = compiled.service.name, compiled.service.sends
        place = (collection.id, name)
        last = self._inbox.last_pending(*place)  # later reports wait for the next move: there may be no end
        people = max(1, MOVED_AT_ONCE // sends)
        first = True
        while last and not self._stopped.is_set() and (first or time.monotonic() < end):
            first = False  # one batch is moved in any case: of few reports, none may be left
            waiting, contents = self._inbox.pending(*place, sends, people)
            if not waiting.numbers or waiting.numbers[0] > last:
                break
            table = batch_of(collection, compiled, waiting, contents)
            self._inbox.check()  # another collector may have deleted some of them
            with self._change():
                self._analytical.database.load({name: table})
            self._inbox.mark_moved(*place, waiting.numbers)
            yield {name: len(waiting.numbers)}

    def _end_rebuilding(self) -> TacitError | None:
        lacking = self._lacking()
        if lacking:
            message = f"The rebuilt analytical database lacks reports of {', '.join(lacking)}. Restore an archive."
            return OverloadedError(message, code="rebuild-short", retry_after=60)
        self._analytical.roll_up(self._inbox.recall("rollups"))
        self._inbox.remember(rebuilding="")
        LOG.error("the analytical database is rebuilt: rebuilt")
        return None

    def _repeat(self, work: Callable[[], object]) -> None:
        while not self._stopped.wait(IDLE_SECONDS if self.fault is None else FAULT_SECONDS):
            try:
                work()
            except Exception as cause:  # reports are safe, and the next move retries
                if not self._stopped.is_set():
                    LOG.error("work on the inbox failed: %s", type(cause).__name__)
