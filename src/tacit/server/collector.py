"""The collector's parts together: contracts, the inbox, the analytical database, and what moves between them.

Every answer carries a watermark: the reports that were acknowledged, and those that it counts. If reports are missing
because they come faster than they are moved, or because the disk is full, the answer says so. If a store is gone,
cannot be written, or is being rebuilt, there is no answer but the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from tacit.answers.contributions import Contributions
from tacit.answers.crowds import privacy_of
from tacit.collection import Collection
from tacit.contract.budget import decimal_text
from tacit.contract.readers import Privacy
from tacit.database import Database, Loaded
from tacit.engines.failures import opening
from tacit.errors import TacitError, UnknownNameError, UsageError
from tacit.estimate.answer import Answer
from tacit.server.store.analytical import Analytical
from tacit.server.store.batches import with_stored_keys
from tacit.server.store.folder import FolderLock
from tacit.server.store.inbox import Inbox, Status
from tacit.server.store.ledger import cost_of, round_of
from tacit.server.store.log import Log, hash_of
from tacit.server.store.mover import Mover
from tacit.server.store.snapshots import Snapshots
from tacit.server.store.tombstones import scope_of
from tacit.server.store.validate import Person, Refused, Report, Validator
from tacit.server.store.watermarks import Watermarks

__all__ = ["Collector"]

T = TypeVar("T")
TAKEN = {"stored": {"status": "stored"}, "again": {"status": "again"}}


class Collector:
    """Takes reports and answers questions, in one folder.

    Parameters
    ----------
    folder : Path
        Where everything is kept: ``inbox.db``, ``reports.tacit`` and ``log.db``.
    store : str
        The address of a PostgreSQL database that keeps the reports instead of the first two.
    person_epsilon : Fraction, optional
        What a person may give away over all collections: reports that would exceed it are refused.
    snapshot : int, optional
        People by whom answers advance at least, or 0 to count every report as it comes. Default: as it was before.
    """

    def __init__(
        self, folder: Path, store: str = "", *, person_epsilon: Fraction | None = None, snapshot: int | None = None
    ) -> None:
        self.folder, self._elsewhere, self.person_epsilon = folder, bool(store), person_epsilon
        self._validators: dict[str, Validator] = {}
        self._published: dict[str, Collection] = {}
        self._is_closed = False
        with ExitStack() as opened:  # closed again if anything cannot be opened
            self._open_files(folder, store, opened)
            self.snapshots = Snapshots(self.inbox, snapshot)
            self.mover = Mover(self.inbox, self.analytical, folder, self.snapshots, is_elsewhere=self._elsewhere)
            with opening(folder / "log.db"):
                self._go_on_with_log()
            self._watermarks = Watermarks(self.inbox, self.analytical, self.mover)
            self._open_all()
            opened.pop_all()
        self.mover.start()

    def _open_files(self, folder: Path, store: str, opened: ExitStack) -> None:
        with opening(folder):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # keys of people are in it
            self._lock = FolderLock(folder)
        opened.callback(self._lock.release)
        with opening(folder / "inbox.db"):
            self.inbox = Inbox(folder / "inbox.db", store)
        opened.callback(self.inbox.close)
        with opening(folder / "log.db"):
            self.log = Log(folder / "log.db")
        opened.callback(self.log.close)
        with opening(folder / "reports.tacit"):
            self.analytical = Analytical(folder / "reports.tacit", store)
        opened.callback(self.analytical.close)

    def _go_on_with_log(self) -> None:
        """Say in the log if it is not the one that this store had before."""
        entries, _, head = (self.inbox.remembered("log-head") or "0 ").partition(" ")
        if self.log.head().entries < int(entries):
            self.log.add("log-begun-anew", entries=int(entries), head=head)
        self._remember_log()

    def _remember_log(self) -> None:
        head = self.log.head()
        self.inbox.remember(**{"log-head": f"{head.entries} {head.hash}"})

    def check_keys(self, *, has_keys: bool) -> None:
        """Remember that there are keys; refuse to go on without any if there were: the folder may be another one."""
        if has_keys:
            self.inbox.remember(keys="required")
        elif self.inbox.remembered("keys") == "required":
            message = (
                "This store had keys, and the folder has none. Copy keys.json from the former folder, or make keys."
            )
            raise UsageError(message, code="no-keys")

    @property
    def database(self) -> Database:
        """The analytical database; another one after it was opened anew."""
        return self.analytical.database

    def publish(self, collection: Collection) -> None:
        """Take reports of a collection from now on; publishing it again changes nothing."""
        collection.refuse_unsafe()
        if collection.id not in self.collections:
            self.database.check_new(collection)  # before anything is kept: a store with two such would be unusable
            contract = collection.contract
            told = {"epsilon": decimal_text(contract.epsilon), "round": contract.round, "tier": contract.tier}
            self.log.add("contract-published", collection=collection.id, **told)
        self.inbox.add_contract(collection.id, collection.to_json())
        self.database.create(collection)
        self._open(collection)

    def load(self, reports: Mapping[str, pa.Table]) -> dict[str, Loaded]:
        """Load encoded reports in bulk, past the inbox; the watermark counts them as acknowledged."""
        owners = {
            name: self.collection(table.schema.metadata[b"tacit.collection"].decode()).contract[name]
            for name, table in reports.items()
        }
        keyed = {name: with_stored_keys(table, owners[name].service.key) for name, table in reports.items()}
        with self.mover.changing():
            loaded = self.database.load(keyed)
            for name, table in reports.items():
                place = (table.schema.metadata[b"tacit.collection"].decode(), name)
                self.inbox.add_bulk(*place, loaded[name].stored // len(owners[name].channels))
            for name in {table.schema.metadata[b"tacit.collection"].decode() for table in reports.values()}:
                self.snapshots.loaded(name, partial(self.database.class_sizes, self.collection(name)))
        return loaded

    def _open_all(self) -> None:
        """Open all collections of both stores: reports are taken, and people deleted, also while one lacks some."""
        contracts = self.inbox.contracts()
        for text in contracts.values():
            self._open(Collection.from_json(text))
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
            costs = {(collection.id, one.service.name): cost_of(one) for one in contract.services}
            self.inbox.limit(self.person_epsilon, costs)
        self.snapshots.add(collection)
        self._validators[collection.id] = Validator(contract)
        self._published = self._published | {collection.id: collection}

    @property
    def collections(self) -> dict[str, Collection]:
        """Published collections by their ids, whatever the analytical database knows of them; panels as a whole."""
        return {name: one for name, one in self._published.items() if not one.contract.member}

    def collection(self, name: str) -> Collection:
        """Return a published collection, or a round of a panel."""
        found = self._published.get(name)
        if found is None:
            raise UnknownNameError("collection", name[:64], None, code="unknown-collection")
        return found

    def accept(
        self, collection: str, reports: Sequence[Any], objection: Callable[[Report], str | None] | None = None
    ) -> Future[list[dict[str, str]]]:
        """Validate and store reports; the statuses, one for each, come once what they acknowledge is on disk.

        ``objection`` is why the sender may not send a report that is acceptable otherwise, if there is a reason.
        """
        validator = self._validators.get(collection)
        if validator is None:
            self.collection(collection)  # says so if there is none
            message = "This is a panel. Send reports to the id of one of its rounds."
            raise UsageError(message, code="panel-as-a-whole")
        validated = [validator(report) for report in reports]
        if objection:
            validated = [
                Refused(why) if isinstance(one, Report) and (why := objection(one)) else one for one in validated
            ]
        good = [report for report in validated if isinstance(report, Report)]
        answer: Future[list[dict[str, str]]] = Future()
        if not good:
            answer.set_result([_shown(report) for report in validated if isinstance(report, Refused)])
            return answer
        stored = self.inbox.put(collection, good)

        def tell(done: Future[list[Status]]) -> None:
            if not answer.set_running_or_notify_cancel():
                return  # nobody waits for it any more
            failure = done.exception()
            if failure is not None:
                answer.set_exception(failure)
                return
            statuses = iter(done.result())
            answer.set_result([_shown(one if isinstance(one, Refused) else next(statuses)) for one in validated])

        stored.add_done_callback(tell)
        return answer

    def query(self, text: str, *, asker: str = "", **options: Any) -> Answer:
        """Answer a question about everything that was acknowledged before it was asked; ``asker`` is a key's name."""
        self.log.add("question", sql=hash_of(text), key=asker)
        parameters = options.get("parameters", ())
        answer, mark = self._watermarks.measured(text, parameters, lambda db: db.sql(text, **options))
        rounds = self.read(lambda db: [one for one, _ in db.asked_about(text, parameters)])
        return answer.with_privacy(partial(self.privacy, *rounds)).with_watermark(mark.watermark, *mark.notes)

    def privacy(self, *collections: Collection) -> Privacy:
        """Return what reports tell about a person of some collections, and what answers tell by now."""
        rounds = [part for one in collections for part in self.snapshots.counted(one.parts)]
        return privacy_of(rounds, lambda one: self.snapshots.crowd(one.id))

    def contributions(self, text: str, *, asker: str = "", **options: Any) -> tuple[Contributions, dict[str, int]]:
        """Return what tuples add to an answer, and its watermark; who looks at single reports is in the log."""
        self.log.add("contributions", sql=hash_of(text), key=asker)
        found, mark = self._watermarks.measured(text, (), lambda db: db.contributions(text, **options))
        return found, mark.watermark._asdict()

    def read(self, work: Callable[[Database], T]) -> T:
        """Return what is read from the database; if it cannot be read, say why."""
        return self._watermarks.read(work)

    def forget(
        self, person: Person, collection: str | None = None, services: Sequence[str] = (), *, asker: str = ""
    ) -> int:
        """Delete a person's reports, of one collection or of all, and refuse later ones; return how many there were.

        With ``services``, only reports of those are deleted and refused. The log is told of it first: a deletion that
        is not logged does not happen. No move, question or copy comes between log, inbox and analytical database; if
        the last one cannot do it now, the next move does, and no question is answered before.
        """
        wanted = self.collections.values() if collection is None else [self.collection(collection)]
        names = [part.id for one in wanted for part in one.parts]
        scopes = {name: self._known_services(name, services) for name in names}
        traces = {
            scope_of(name, service): self.inbox.tombstone(name, person, service).hex()
            for name, some in scopes.items()
            for service in some or (() if services else ("",))
        }

        def record() -> int:
            self.log.add("person-deleted", tombstones=traces, key=asker)
            deleted = 0
            for name, some in scopes.items():
                if (some or not services) and (count := self.inbox.forget(name, person, some)):
                    self.snapshots.forgot(self._published[name], some)
                    deleted += count
            return deleted

        return self.mover.delete(record)

    def _known_services(self, collection: str, services: Sequence[str]) -> list[str]:
        """Return those services that a collection has."""
        return [one.name for one in self._published[collection].schema.services if one.name in services]

    def taken(self, collection: str, person: Person, services: Sequence[str] | None = ()) -> list[tuple[str, int]]:
        """Return the services and slots, of some services or all, that take no report of a person any more.

        They hold one, or the person was deleted from them.
        """
        found = []
        for service in self.collection(collection).schema.services:
            if services and service.name not in services:
                continue
            slots = self.inbox.slots(collection, service.name, person, service.sends)
            if not slots and self.inbox.is_forgotten(collection, person, service.name):
                slots = list(range(service.sends))
            found += [(service.name, slot) for slot in slots]
        return found

    @property
    def is_elsewhere(self) -> bool:
        """Whether reports are kept in PostgreSQL, not in the folder."""
        return self._elsewhere

    @contextmanager
    def still(self) -> Iterator[None]:
        """Move and delete nothing for a while; reports are taken as always."""
        with self.mover.still():
            yield

    def move(self) -> int:
        """Bring all complete reports from the inbox to the analytical database, if possible; return how many."""
        return self.mover.move()

    def is_running(self) -> bool:
        """Tell whether all threads run that store and move reports."""
        return self.inbox.is_alive() and self.mover.is_alive()

    def close(self) -> None:
        """Store what waits, and close; what is in the inbox is brought to the database at the next start."""
        if self._is_closed:
            return
        self._is_closed = True
        self.mover.stop()
        with suppress(TacitError):  # a store that is away
            self._remember_log()
        with self.mover.still():  # a question may be at it
            try:
                self.inbox.close()
            finally:
                self.log.close()
                self.analytical.close()
                self._lock.release()


def _shown(status: Refused | Status) -> dict[str, str]:
    if isinstance(status, Refused):
        return {"status": "refused", "code": status.code}
    return TAKEN.get(status) or {"status": "refused", "code": status}
