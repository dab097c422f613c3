"""The collector's parts together: contracts, the inbox, the analytical database, and what moves between them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.answer import Answer
from tacit.collection import Collection
from tacit.contract import ServiceContract
from tacit.contributions import Contributions
from tacit.database import Database, connect
from tacit.engines.base import ROWS_BEFORE
from tacit.errors import OverloadedError, UnknownNameError
from tacit.privacy import decimal_text
from tacit.schema import Public
from tacit.server.inbox import Inbox, Status
from tacit.server.judge import Judge, Person, Refused, Report, stored_key
from tacit.server.ledger import cost_of, round_of
from tacit.server.log import Log, hash_of
from tacit.server.room import has_room
from tacit.server.shelf import Pending
from tacit.sql.mixed import stored_text

__all__ = ["Collector"]

MOVED_AT_ONCE = 20_000
"""Reports that go to the analytical database in one batch."""

IDLE_SECONDS = 1.0
"""How long reports may wait in the inbox while nobody asks."""

TYPES = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
TAKEN = {"stored": {"status": "stored"}, "again": {"status": "again"}}
LOG = logging.getLogger("tacit.server")


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
    """

    def __init__(self, folder: Path, store: str = "", *, person_epsilon: Fraction | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # keys of people are in it
        self.folder, self._elsewhere, self.person_epsilon = folder, bool(store), person_epsilon
        self.inbox = Inbox(folder / "inbox.db", store)
        self.log = Log(folder / "log.db")
        self.database: Database = connect(store or folder / "reports.tacit")
        self._judges: dict[str, Judge] = {}
        self._moving = threading.Lock()
        self._settled: dict[tuple[str, str], int] = {}  # reports that have left the inbox
        self._stopped = threading.Event()
        for collection in self.database.collections:
            self._open(collection)
        self._mover = threading.Thread(target=self._move_now_and_then, name="mover", daemon=True)
        self._mover.start()

    def publish(self, collection: Collection) -> None:
        """Take reports of a collection from now on; publishing it again changes nothing."""
        collection.refuse_unsafe()
        if collection.id not in self.collections:
            contract = collection.contract
            told = {"epsilon": decimal_text(contract.epsilon), "round": contract.round, "tier": contract.tier}
            self.log.add("contract-published", collection=collection.id, **told)
        self.database.create(collection)
        self._open(collection)

    def _open(self, collection: Collection) -> None:
        contract = collection.contract
        sends = {service.name: service.sends for service in collection.schema.services}
        self.inbox.add_collection(collection.id, sends, round_of(collection))
        if self.person_epsilon is not None:
            costs = {(collection.id, one.service.name): cost_of(one) for one in contract.services}
            self.inbox.limit(self.person_epsilon, costs)
        self._judges[collection.id] = Judge(contract)

    @property
    def collections(self) -> dict[str, Collection]:
        """Published collections by their ids."""
        return {collection.id: collection for collection in self.database.collections}

    def collection(self, name: str) -> Collection:
        """Return a published collection."""
        found = self.collections.get(name)
        if found is None:
            raise UnknownNameError("collection", name[:64], (), code="unknown-collection")
        return found

    def accept(
        self, collection: str, reports: Sequence[Any], objection: Callable[[Report], str | None] | None = None
    ) -> Future[list[dict[str, str]]]:
        """Judge and store reports; the statuses, one for each, come once what they acknowledge is on disk.

        ``objection`` is why the sender may not send a report that is acceptable otherwise, if there is a reason.
        """
        judge = self._judges.get(collection) or self._judges[self.collection(collection).id]
        judged = [judge(report) for report in reports]
        if objection:
            judged = [Refused(why) if isinstance(one, Report) and (why := objection(one)) else one for one in judged]
        good = [report for report in judged if isinstance(report, Report)]
        answer: Future[list[dict[str, str]]] = Future()
        if not good:
            answer.set_result([_shown(report) for report in judged if isinstance(report, Refused)])
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
            answer.set_result([_shown(one if isinstance(one, Refused) else next(statuses)) for one in judged])

        stored.add_done_callback(tell)
        return answer

    def query(self, text: str, *, asker: str = "", **options: Any) -> Answer:
        """Answer a question about everything that was acknowledged before it was asked; ``asker`` is a key's name."""
        self.log.add("question", sql=hash_of(text), key=asker)
        self.move()
        return self.database.sql(text, **options)

    def contributions(self, text: str, *, asker: str = "", **options: Any) -> Contributions:
        """Return what tuples add to an answer; who looks at single reports is in the log."""
        self.log.add("contributions", sql=hash_of(text), key=asker)
        self.move()
        return self.database.contributions(text, **options)

    def forget(
        self, person: Person, collection: str | None = None, services: Sequence[str] = (), *, asker: str = ""
    ) -> int:
        """Delete a person's reports, of one collection or of all, and refuse later ones; return how many there were.

        With ``services``, only reports of those are deleted and refused. The log is told of it first: a deletion that
        is not logged does not happen.
        """
        names = list(self.collections) if collection is None else [self.collection(collection).id]
        scopes = {name: self._known_services(name, services) for name in names}
        traces = {
            f"{name}/{service}" if service else name: self.inbox.tombstone(name, person, service).hex()
            for name, some in scopes.items()
            for service in some or (() if services else ("",))
        }
        self.log.add("person-deleted", tombstones=traces, key=asker)
        deleted = 0
        with self._moving:  # nothing of this person may be on its way
            for name, some in scopes.items():
                if some or not services:
                    deleted += self.inbox.forget(name, person, some)
                    self.database.forget(stored_key(person), [name], some)
            self._settled.clear()
        return deleted

    def _known_services(self, collection: str, services: Sequence[str]) -> list[str]:
        """Return those services that a collection has."""
        return [one.name for one in self.collections[collection].schema.services if one.name in services]

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
        with self._moving:
            yield

    def move(self) -> int:
        """Bring all complete reports from the inbox to the analytical database, if there is room; return how many."""
        with self._moving:
            self._refuse_at_the_end()
            if not self._elsewhere and not has_room(self.folder):
                return 0
            moved = sum(
                self._moved(collection, compiled)
                for collection in self.database.collections
                for compiled in collection.contract.services
            )
            self._refuse_at_the_end()  # it may have come meanwhile, and there may be more to move
            return moved

    def _refuse_at_the_end(self) -> None:
        """Refuse to touch a store that is closed, or to answer about less than was acknowledged."""
        if self._stopped.is_set():
            message = "The collector is ending. Ask it again when it is back."
            raise OverloadedError(message)

    def _moved(self, collection: Collection, compiled: ServiceContract) -> int:
        """Move one service; what cannot be moved stays in the inbox, and keeps no other service waiting."""
        try:
            return self._move(collection, compiled)
        except Exception as cause:  # whatever it is, reports are safe where they are
            LOG.error("reports of %s wait in the inbox: %s", compiled.service.name, type(cause).__name__)
            return 0

    def _move(self, collection: Collection, compiled: ServiceContract) -> int:
        name, moved = compiled.service.name, 0
        place, sends = (collection.id, name), compiled.service.sends
        last = self.inbox.last_pending(*place)  # what comes from now on is for the next time: there may be no end of it
        people = max(1, MOVED_AT_ONCE // sends)
        while last and (waiting := self.inbox.pending(*place, sends, people)).numbers:
            if waiting.numbers[0] > last or self._stopped.is_set():
                break
            before = self._settled.pop(place, None)  # kept only by moves that do not fail
            if before is None:
                before = self.inbox.settled(*place)
            self.database.load({name: _table(collection, compiled, waiting, before)})
            self.inbox.moved(waiting.numbers)
            self._settled[place] = before + len(waiting.numbers)
            moved += len(waiting.numbers)
        return moved

    def _move_now_and_then(self) -> None:
        while not self._stopped.wait(IDLE_SECONDS):
            try:
                self.move()
                self.inbox.tidy(self._stopped)
            except Exception as cause:  # reports are safe where they are, and it is tried again
                if not self._stopped.is_set():
                    LOG.error("the inbox could not be tidied: %s", type(cause).__name__)

    def close(self) -> None:
        """Store what waits, and close; what is in the inbox is brought to the database at the next start."""
        self._stopped.set()
        self._mover.join()
        with self._moving:  # a question may be at it
            try:
                self.inbox.close()
            finally:
                self.log.close()
                self.database.close()


def _shown(status: Refused | Status) -> dict[str, str]:
    if isinstance(status, Refused):
        return {"status": "refused", "code": status.code}
    return TAKEN.get(status) or {"status": "refused", "code": status}


def _table(
    collection: Collection,
    compiled: ServiceContract,
    reports: Pending,
    settled: int,
) -> pa.Table:
    """Return reports as the encoder would have made them.

    The engine is told how many rows there must be before: those that have left the inbox, all of which are there. If
    there are no others, what the inbox calls new is new there, too, and need not be looked for among all of them.
    """
    service, channels = compiled.service, len(compiled.channels)
    rows = len(reports.numbers)
    repeat = pa.array(np.repeat(np.arange(rows), channels))
    columns: dict[str, Any] = {
        service.key: pa.array([stored_key(person) for person in reports.people], pa.string()).take(repeat),
        "slot": pa.array(reports.slots, pa.int16()).take(repeat),
        "channel": pa.array(np.tile(np.arange(channels, dtype=np.int32), rows)),
        "code": pa.array([code for codes, _ in reports.contents for code in codes], pa.int64()),
    }
    for number, attribute in enumerate(service.public):
        values = [public[number] for _, public in reports.contents]
        columns[attribute.name] = _public(attribute, values).take(repeat)
    metadata = {"tacit.collection": collection.id, "tacit.service": service.name}
    metadata |= {ROWS_BEFORE.decode(): str(channels * settled)}
    return pa.table(columns).replace_schema_metadata(metadata)


def _public(attribute: Public, values: list[Any]) -> pa.Array:
    """Return values as a column of the declared type; where none is declared, as text."""
    if not attribute.typed:
        return pa.array([stored_text(value) for value in values], pa.string())
    declared = attribute.type or ("str" if isinstance((attribute.values or ("",))[0], str) else "int")
    if declared == "float":
        values = [None if value is None else float(value) for value in values]
    return pa.array(values, TYPES[declared])
