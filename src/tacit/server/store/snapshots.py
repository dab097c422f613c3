"""Snapshots: answers count new reports in steps of a minimum number of people, so no two answers differ by a few.

A person is counted when all reports to all services of the collection are there, together with at least ``least - 1``
others who were not counted before. The store remembers the last report of the newest snapshot before anything of it is
moved: after a crash, or when the analytical database is rebuilt, the same people are counted as before. It also
remembers the smallest class, by public columns, added in one step: these people hide each other.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tacit.answers.crowds import OPEN, ClassSizes
from tacit.collection import Collection
from tacit.encode.reports import ReportTable, contents_of
from tacit.errors import UsageError
from tacit.server.store.base import PendingReports
from tacit.server.store.batches import batch_of
from tacit.server.store.inbox import Inbox
from tacit.server.store.validate import Person

__all__ = ["SnapshotBatch", "Snapshots"]

MOST_AT_ONCE = 100_000
"""Maximum people of one snapshot, and of the setting."""

MIXED = "some reports were counted as they arrived, before snapshots were enabled or while they were off."


PARTLY = "a person was deleted from some services only, and is the only one without reports to them."

BULK = "reports were loaded in bulk beside others, so the people of each step are unknown."


@dataclass(frozen=True)
class _State:
    """The stored state of a collection's snapshots."""

    last: int = 0
    people: int = 0
    smallest: int = 0
    forgotten: int = 0
    reason: str = ""


@dataclass(frozen=True)
class SnapshotBatch:
    """The reports of people who are counted together, by service."""

    tables: dict[str, ReportTable]
    numbers: dict[str, Sequence[int]]


class Snapshots:
    """Decides who is counted when; ``least`` is None to use the stored setting, and 0 for no snapshots."""

    def __init__(self, inbox: Inbox, least: int | None) -> None:
        if least is not None and least != 0 and not 2 <= least <= MOST_AT_ONCE:
            message = f"A snapshot takes from 2 to {MOST_AT_ONCE:,} people, or 0 for none."
            raise UsageError(message, code="bad-option")
        self._inbox = inbox
        self._waiting: dict[str, tuple[int, str | None]] = {}
        before = int(inbox.recall("snapshot") or 0)
        self.least = before if least is None else least
        if self.least != before:
            inbox.remember(snapshot=str(self.least))

    def add(self, collection: Collection) -> None:
        """Add a collection; remember whether reports were counted without snapshots."""
        state = self._state(collection.id)
        if not state.reason and self._count_reports(collection.id) and not (self.least and state.people):
            self._remember(collection.id, replace(state, reason=MIXED))

    def _count_reports(self, collection: str) -> int:
        """Return how many reports of a collection are counted."""
        return sum(size.settled + size.bulk for (name, _), size in self._inbox.sizes().items() if name == collection)

    def next(self, collection: Collection) -> SnapshotBatch | None:
        """Return the next people to count, or None: those of the last snapshot who are not counted, or a new one.

        A new snapshot is remembered before it is returned.
        """
        state = self._state(collection.id)
        total = collection.contract.reports
        now = (self._inbox.stored, self._inbox.recall("generation"))
        if self._waiting.get(collection.id) == now:
            return None  # nothing has arrived since there were too few
        while True:
            complete = _complete_people(self._inbox.waiting(collection.id), total)
            due = [person for person, numbers in complete.items() if numbers[-1] <= state.last]
            chosen = due or sorted(complete, key=lambda person: complete[person][-1])[:MOST_AT_ONCE]
            if not due and len(chosen) < self.least:
                self._waiting[collection.id] = now
                return None
            numbers = {number for person in chosen for number in complete[person]}
            read = {
                service.service.name: self._inbox.pending_of(collection.id, service.service.name, sorted(numbers))
                for service in collection.contract.services
            }
            if sum(len(waiting.numbers) for waiting in read.values()) == len(numbers):
                break  # otherwise some were damaged, so their people are incomplete
        if not due:
            last = max(complete[person][-1] for person in chosen)
            self.note_growth(collection.id, last, len(chosen), _smallest(read))
        tables = {
            service.service.name: batch_of(collection, service, read[service.service.name])
            for service in collection.contract.services
        }
        return SnapshotBatch(tables, {name: waiting.numbers for name, waiting in read.items()})

    def note_growth(self, collection: str, last: int, people: int, smallest: int) -> None:
        """Record the people added in one step."""
        state = self._state(collection)
        least = min(smallest, state.smallest) if state.people else smallest
        grown = replace(state, last=max(last, state.last), people=state.people + people, smallest=least)
        self._remember(collection, grown)

    def note_deletion(self, collection: Collection, services: Sequence[str]) -> None:
        """Record that a person who may have been counted was deleted, so that fewer are left.

        A person who is deleted from some services only is the only one without reports to them.
        """
        state = self._state(collection.id)
        state = replace(state, forgotten=state.forgotten + 1)
        if services and len(services) < len(collection.schema.services):
            state = replace(state, reason=PARTLY)
        self._remember(collection.id, state)

    def add_load(self, collection: str, sizes: Callable[[], ClassSizes]) -> None:
        """Record a bulk load, given the class sizes after it; the first load is a snapshot."""
        if not self.least:
            return
        state = self._state(collection)
        if state.people:
            self._remember(collection, replace(state, reason=BULK))
        else:
            self.note_growth(collection, 0, *sizes())

    def rounds_with_people(self, parts: Sequence[Collection]) -> Sequence[Collection]:
        """Return the rounds of a panel in which people were counted (at least the first), or the collection itself."""
        return [part for part in parts if self._state(part.id).people] or parts[:1]

    def crowd(self, collection: str) -> ClassSizes | str:
        """Return the people who hide each other in answers about a collection, or why there are none."""
        state = self._state(collection)
        if not self.least:
            return OPEN
        if state.reason:
            return state.reason
        sizes = [size for (name, _), size in self._inbox.sizes().items() if name == collection]
        gone = state.forgotten + sum(size.damaged + size.lost for size in sizes)
        return ClassSizes(max(0, state.people - gone), max(0, state.smallest - gone))

    def _state(self, collection: str) -> _State:
        text = self._inbox.recall(f"snapshot {collection}")
        return _State(**json.loads(text)) if text else _State()

    def _remember(self, collection: str, state: _State) -> None:
        self._inbox.remember(**{f"snapshot {collection}": json.dumps(asdict(state))})


def _complete_people(waiting: Iterable[tuple[int, Person]], total: int) -> dict[Person, list[int]]:
    """Return the people whose reports have all arrived, with their sorted numbers."""
    numbers: dict[Person, list[int]] = defaultdict(list)
    for number, person in waiting:
        numbers[person].append(number)
    return {person: sorted(listed) for person, listed in numbers.items() if len(listed) == total}


def _smallest(read: Mapping[str, PendingReports]) -> int:
    """Return the people of the smallest class by all public columns."""
    shown: dict[Person, list[Any]] = defaultdict(list)
    for waiting in read.values():
        for person, (_, public) in zip(waiting.people, contents_of(waiting.contents), strict=True):
            shown[person].append(tuple(public))
    return min(Counter(repr(values) for values in shown.values()).values())
