"""The collector: contracts, the inbox, the analytical database, and moving reports between them.

Every answer has a watermark: the number of reports acknowledged, and of those counted. If reports are missing because
they arrive faster than they are moved, or because the disk is full, the answer says so. If a store is missing, cannot
be written, or is being rebuilt, there is an error with the reason instead of an answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tacit.collection import Collection
from tacit.contract.budget import decimal_text
from tacit.database import Database, Loaded
from tacit.encode.reports import ReportTable
from tacit.engines.failures import opening
from tacit.engines.lake.place import as_lake
from tacit.errors import TacitError, UnknownNameError, UsageError
from tacit.server.asking import Asking
from tacit.server.store.analytical import Analytical
from tacit.server.store.base import Standing
from tacit.server.store.batches import with_stored_keys
from tacit.server.store.coins import UNBOUND, Coins
from tacit.server.store.folder import FolderLock
from tacit.server.store.inbox import Inbox, Status
from tacit.server.store.ledger import cost_of, round_of
from tacit.server.store.log import Log
from tacit.server.store.mover import Mover
from tacit.server.store.snapshots import Snapshots
from tacit.server.store.tombstones import scope_of
from tacit.server.store.validate import Person, Refused, Report, Validator
from tacit.server.store.watermarks import Watermarks

if TYPE_CHECKING:
    from tacit.server.store.shared.log import SharedLog

__all__ = ["Collector"]

TAKEN = {"stored": {"status": "stored"}, "again": {"status": "again"}}


class Collector(Asking):
    """Stores reports and answers questions, in one folder.

    Parameters
    ----------
    folder : Path
        The folder with ``inbox.db``, ``reports.tacit`` and ``log.db``.
    store : str
        The address of a PostgreSQL database that stores the reports instead of the first two files.
    lake : str
        The folder or address of a lake that answers questions instead of ``reports.tacit`` or that database.
    person_epsilon : Fraction, optional
        Limit on a person's total epsilon over all collections; reports beyond it are refused.
    snapshot : int, optional
        Minimum number of people by which answers advance; 0 counts every report. Default: the stored setting.
    """

    def __init__(
        self,
        folder: Path,
        store: str = "",
        *,
        lake: str = "",
        person_epsilon: Fraction | None = None,
        snapshot: int | None = None,
    ) -> None:
        self.folder, self._elsewhere, self.person_epsilon = folder, bool(store), person_epsilon
        self._validators: dict[str, Validator] = {}
        self._published: dict[str, Collection] = {}
        self._is_closed = False
        self._opened, self._opening = 0, threading.Lock()
        with ExitStack() as opened:  # closed again if a part fails to open
            self._open_files(folder, store, lake, opened)
            self.snapshots, self._coins = Snapshots(self.inbox, snapshot), Coins(self.inbox)
            self.mover = Mover(
                self.inbox, self.analytical, folder, self.snapshots, self._learn, is_elsewhere=self._elsewhere
            )
            with opening(folder / "log.db"):
                self._go_on_with_log()
            self._watermarks = Watermarks(self.inbox, self.analytical, self.mover)
            self._open_all()
            opened.pop_all()
        self.mover.start()

    def _open_files(self, folder: Path, store: str, lake: str, opened: ExitStack) -> None:
        with opening(folder):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # it contains people's ids
            self._lock = FolderLock(folder)
        opened.callback(self._lock.release)
        with opening(folder / "inbox.db"):
            self.inbox = Inbox(folder / "inbox.db", store)
        opened.callback(self.inbox.close)
        with opening(folder / "log.db"):
            self.log = self._open_log(folder / "log.db")
        opened.callback(self.log.close)
        self._check_lake(lake)
        with opening(folder / "reports.tacit"):
            self.analytical = Analytical(folder / "reports.tacit", as_lake(lake) or self.inbox.address)
        opened.callback(self.analytical.close)

    def _open_log(self, path: Path) -> Log | SharedLog:
        """Open the log: a file, or a table that continues the file of this folder."""
        if not self.inbox.is_shared:
            return Log(path)
        from tacit.server.store.shared.log import SharedLog

        log = SharedLog(self.inbox.address)
        log.adopt(path)
        return log

    def _check_lake(self, lake: str) -> None:
        """Remember that reports are in a lake, and refuse to start without it."""
        if lake:
            self.inbox.remember(lake="required")
        elif self.inbox.recall("lake") == "required":
            message = "The reports of this store are in a lake. Pass its folder or address: tacit serve --lake LAKE."
            raise UsageError(message, code="no-lake")

    def _go_on_with_log(self) -> None:
        """Add a log entry if the log is not the one this store had before."""
        entries, _, head = (self.inbox.recall("log-head") or "0 ").partition(" ")
        if self.log.head().entries < int(entries):
            self.log.add("log-begun-anew", entries=int(entries), head=head)
        self._remember_log()

    def _remember_log(self) -> None:
        if self.inbox.is_shared:
            return  # the log is in the same store
        head = self.log.head()
        self.inbox.remember(**{"log-head": f"{head.entries} {head.hash}"})

    def check_keys(self, *, has_keys: bool) -> None:
        """Remember that there are keys. If there were keys and now there are none, refuse: it may be another folder."""
        if has_keys:
            self.inbox.remember(keys="required")
        elif self.inbox.recall("keys") == "required":
            message = (
                "This store had keys, but the folder has none. Copy keys.json from the previous folder, or create keys."
            )
            raise UsageError(message, code="no-keys")

    @property
    def database(self) -> Database:
        """The analytical database; a different object after it was reopened."""
        return self.analytical.database

    def publish(self, collection: Collection) -> None:
        """Accept reports of a collection from now on; publishing it again changes nothing."""
        collection.refuse_unsafe()
        with self.mover.alone() if self.inbox.is_shared else nullcontext():
            self._learn(self.inbox.standing())
            self._coins.prepare(collection)
            if collection.id not in self.collections:
                self.database.check_new(collection)  # check first: a store with two such collections would be unusable
                contract = collection.contract
                details = {"epsilon": decimal_text(contract.epsilon), "round": contract.round, "tier": contract.tier}
                self.log.add("contract-published", collection=collection.id, **details)
            self.inbox.add_contract(collection.id, collection.to_json())
            self.database.create(collection)
            self._open(collection)

    def load(self, reports: Mapping[str, pa.Table]) -> dict[str, Loaded]:
        """Load encoded reports in bulk, past the inbox; the watermark counts them as acknowledged."""
        owners = {name: self.collection(ReportTable.owner(table)).contract[name] for name, table in reports.items()}
        keyed = {name: with_stored_keys(table, owners[name].service.key) for name, table in reports.items()}
        with self.mover.changing():
            loaded = self.database.load(keyed, key=self.coin_key)
            for name, table in reports.items():
                people = loaded[name].stored // len(owners[name].channels)
                self.inbox.add_bulk(ReportTable.owner(table), name, people)
            for owner in {ReportTable.owner(table) for table in reports.values()}:
                self.snapshots.add_load(owner, partial(self.database.class_sizes, self.collection(owner)))
        return loaded

    def _learn(self, standing: Standing) -> None:
        """Adopt what other collectors have published and stored, and whether they stored reports without proof."""
        self.inbox.learn_quotas(standing)
        if standing.contracts > self._opened and not self._is_closed:
            with self._opening:
                contracts = self.inbox.contracts()
                for name, text in contracts.items():
                    if name not in self._published:
                        collection = Collection.from_json(text)
                        self.database.create(collection)
                        self._open(collection)
                self._opened = len(contracts)
        for name in standing.unbound:
            if (collection_id := name.removeprefix(UNBOUND)) not in self.analytical.unbound:
                self.database.unbind(collection_id)

    def _open_all(self) -> None:
        """Open all collections of both stores. Reports and deletions work even if one store lacks some."""
        contracts = self.inbox.contracts()
        for text in contracts.values():
            self._open(Collection.from_json(text))
        self._opened = len(contracts)
        for collection in self.database.collections:
            if collection.contract_id not in contracts:
                self._open_part(collection)

    def _open(self, collection: Collection) -> None:
        """Open a collection or, of a panel, every round."""
        self._published = self._published | {collection.id: collection}
        for part in collection.parts:
            self._open_part(part)

    def _open_part(self, collection: Collection) -> None:
        contract = collection.contract
        sends = {service.name: service.sends for service in collection.schema.services}
        self.inbox.add_collection(collection.id, sends, round_of(collection))
        if self.person_epsilon is not None:
            costs = {(collection.id, service.service.name): cost_of(service) for service in contract.services}
            self.inbox.limit(self.person_epsilon, costs)
        self.snapshots.add(collection)
        self._validators[collection.id] = Validator(contract, self._coins.assignment(collection))
        if self._coins.is_unbound(collection):
            self.analytical.unbound.add(collection.id)
        self._published = self._published | {collection.id: collection}

    @property
    def coin_key(self) -> str | None:
        """The key that assigns views and seeds in this store; None before there is a collection that needs one."""
        return self._coins.key

    def coin(self, collection: str, person: Person) -> str:
        """Return the coin that assigns a person's views and seeds in a collection, or a round of a panel."""
        return self._coins.coin(self.collection(collection), person)

    @property
    def collections(self) -> dict[str, Collection]:
        """Published collections by id, even if the analytical database does not have them now; panels as a whole."""
        return {name: collection for name, collection in self._published.items() if not collection.contract.member}

    def collection_here(self, name: str) -> Collection | None:
        """Return a collection, or a round of a panel, that this collector knows; never waits for the store."""
        return self._published.get(name)

    def collection(self, name: str) -> Collection:
        """Return a published collection, or a round of a panel; another collector may have published it just now."""
        if name not in self._published and self.inbox.is_shared:
            self._learn(self.inbox.standing())
        collection = self._published.get(name)
        if collection is None:
            raise UnknownNameError("collection", name[:64], None, code="unknown-collection")
        return collection

    def accept(
        self,
        collection: str,
        reports: Sequence[Any],
        objection: Callable[[Report], str | None] | None = None,
        *,
        proven: bool = False,
    ) -> Future[list[dict[str, str]]]:
        """Validate and store reports; the statuses are returned once everything acknowledged is on disk.

        ``objection`` returns why the sender may not send a valid report, if so; ``proven``: tokens bind the ids.
        """
        self.collection(collection)  # raises if there is none
        validator = self._validators.get(collection)
        if validator is None:
            message = "This is a panel. Send reports to the id of one of its rounds."
            raise UsageError(message, code="panel-as-a-whole")
        validated = [validator(report) for report in reports]
        if objection:
            validated = [Refused(why) if isinstance(r, Report) and (why := objection(r)) else r for r in validated]
        good = [report for report in validated if isinstance(report, Report)]
        answer: Future[list[dict[str, str]]] = Future()
        if not good:
            answer.set_result([_status_json(report) for report in validated if isinstance(report, Refused)])
            return answer
        if not proven:
            self._note_unbound(collection)
        stored = self.inbox.put(collection, good)

        def tell(done: Future[list[Status]]) -> None:
            if not answer.set_running_or_notify_cancel():
                return  # the client is gone
            failure = done.exception()
            if failure is not None:
                answer.set_exception(failure)
                return
            statuses = iter(done.result())
            answer.set_result([_status_json(r if isinstance(r, Refused) else next(statuses)) for r in validated])

        stored.add_done_callback(tell)
        return answer

    def is_to_note(self, collection: str) -> bool:
        """Return whether the first report without a token to a collection changes what its answers state."""
        return self._published[collection].contract.assigned and collection not in self.analytical.unbound

    def _note_unbound(self, collection: str) -> None:
        """Remember that liars may have chosen their ids, where it matters: answers then state a wider bound."""
        if self.is_to_note(collection):
            self._coins.note_unbound(self._published[collection])
            self.database.unbind(collection)

    def forget(
        self, person: Person, collection: str | None = None, services: Sequence[str] = (), *, asker: str = ""
    ) -> int:
        """Delete a person's reports from one collection or all, and refuse later ones; return how many there were.

        With ``services``, only reports of those are deleted and refused. The deletion is logged first: without a log
        entry it does not happen. No move, question or copy runs between log, inbox and analytical database; if the last
        one cannot apply it now, the next move does, and no question is answered before.
        """
        wanted = self.collections.values() if collection is None else [self.collection(collection)]
        names = [part.id for published in wanted for part in published.parts]
        scopes = {name: self._known_services(name, services) for name in names}
        traces = {
            scope_of(name, service): self.inbox.tombstone(name, person, service).hex()
            for name, scope in scopes.items()
            for service in scope or (() if services else ("",))
        }

        def record() -> int:
            self.log.add("person-deleted", tombstones=traces, key=asker)
            deleted = 0
            for name, scope in scopes.items():
                if (scope or not services) and (count := self.inbox.forget(name, person, scope)):
                    self.snapshots.note_deletion(self._published[name], scope)
                    deleted += count
            return deleted

        return self.mover.delete(record)

    def _known_services(self, collection: str, services: Sequence[str]) -> list[str]:
        """Return the named services that a collection has."""
        return [service.name for service in self._published[collection].schema.services if service.name in services]

    def reported_slots(
        self, collection: str, person: Person, services: Sequence[str] | None = (), *, of_round: bool = False
    ) -> list[tuple[str, int]]:
        """Return the (service, slot) pairs, of some services or all, that accept no more reports of a person.

        They have a report, or the person was deleted from them; or, of a round, has reported in another tier of it.
        """
        slots_taken = []
        for service in self.collection(collection).schema.services:
            if services and service.name not in services:
                continue
            slots = self.inbox.slots(collection, service.name, person, service.sends)
            in_other_tier = of_round and self.inbox.is_in_other_tier(collection, person, services or ())
            if in_other_tier or (not slots and self.inbox.is_forgotten(collection, person, service.name)):
                slots = list(range(service.sends))
            slots_taken += [(service.name, slot) for slot in slots]
        return slots_taken

    @property
    def is_elsewhere(self) -> bool:
        """Whether reports are stored in PostgreSQL instead of the folder."""
        return self._elsewhere

    @contextmanager
    def still(self) -> Iterator[None]:
        """Pause moving and deleting; reports are still accepted."""
        with self.mover.still():
            yield

    def move(self) -> int:
        """Move all complete reports from the inbox to the analytical database, if possible; return how many."""
        return self.mover.move()

    def is_running(self) -> bool:
        """Return whether all threads that store and move reports are running."""
        return self.inbox.is_alive() and self.mover.is_alive()

    def close(self) -> None:
        """Store queued reports and close; the next start moves the reports left in the inbox."""
        if self._is_closed:
            return
        self._is_closed = True
        self.mover.stop()
        with suppress(TacitError):  # an unreachable store
            self._remember_log()
        with self.mover.still():  # a question may still use it
            try:
                self.inbox.close()
            finally:
                self.log.close()
                self.analytical.close()
                self._lock.release()


def _status_json(status: Refused | Status) -> dict[str, str]:
    if isinstance(status, Refused):
        return {"status": "refused", "code": status.code}
    return TAKEN.get(status) or {"status": "refused", "code": status}
