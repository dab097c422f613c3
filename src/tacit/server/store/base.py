"""The storage of an inbox: a narrow protocol, implemented by an SQLite file and a PostgreSQL database.

The inbox is the source of truth: it stores the content of every report with a digest, so that the analytical database
can be rebuilt from it at any time, and changes by the disk are detected. A report is pending until it is in the
analytical database. When a transaction ends, its changes are on disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, NamedTuple, Protocol

from tacit.answers.marks import Sizes
from tacit.errors import OverloadedError
from tacit.server.store.validate import Person, stored_key

__all__ = [
    "DIGEST_BYTES",
    "Identity",
    "Lead",
    "PendingReports",
    "RacedError",
    "ReportStore",
    "Row",
    "ServicePlace",
    "Sizes",
    "Standing",
    "Unshared",
    "content_digest",
    "digest_of",
    "digests_of",
]

DIGEST_BYTES = 12
"""Bytes of a report's digest: by chance one of 2**96 differing reports has the same."""

Lead = Literal["", "same", "passed", "ended"]
"""Whether this collector leads, and what happened since: nobody else led, another did, or its lease ran out."""


class RacedError(OverloadedError):
    """Another collector changed the same rows at the same time; nothing was stored, and a retry helps."""

    def __init__(self) -> None:
        super().__init__("Another collector is storing the same reports. Try again in a moment.", code="leader-busy")


class Identity(NamedTuple):
    """The identity of a report: a service of a collection, a person, and one of their slots."""

    place: int
    person: Person
    slot: int


class Row(NamedTuple):
    """A new report."""

    identity: Identity
    digest: bytes
    content: bytes

    def __repr__(self) -> str:
        """Show where it is stored, but nothing of its content."""
        return f"Row(place {self.identity.place})"


class ServicePlace(NamedTuple):
    """A service of a collection, and the round it belongs to."""

    number: int
    collection: str
    service: str
    round: str


class PendingReports(NamedTuple):
    """Reports not yet in the analytical database, oldest first: a list for each column."""

    numbers: Sequence[int] = ()
    people: Sequence[Person] = ()
    slots: Sequence[int] = ()
    digests: Sequence[bytes] = ()
    contents: Sequence[bytes] = ()
    """Codes and public values of each report, as JSON."""

    settled: int = 0
    """Reports of the same place that were already in the analytical database when these were read."""

    @property
    def keys(self) -> list[str]:
        """Their people's keys as the analytical database stores them."""
        return [person if type(person) is str else stored_key(person) for person in self.people]

    def __repr__(self) -> str:
        """Show how many there are, but nothing of their content."""
        return f"Pending({len(self.numbers)} reports)"


class Standing(NamedTuple):
    """What other collectors of a shared store may have changed."""

    deletions: int = 0
    """Deletions that the analytical database has yet to apply."""

    contracts: int = 0
    is_waiting: bool = True
    """Whether any report may be pending."""

    unbound: frozenset[str] = frozenset()
    """Settings that mark collections whose people may have chosen their ids."""

    programs: frozenset[str] = frozenset()
    """Versions of the collectors that use the store."""

    used: tuple[str, ...] = ()
    """What other collectors remember of their quotas."""


def digest_of(identity: Identity, content: bytes) -> bytes:
    """Return the digest of a stored report, over its identity and content, so that any change to a row shows."""
    [digest] = digests_of(identity.place, [stored_key(identity.person)], [identity.slot], [content])
    return digest


def digests_of(place: int, keys: Sequence[str], slots: Sequence[int], contents: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the digests of reports of one place, given with their people's stored keys."""
    blake = hashlib.blake2b
    for key, slot, content in zip(keys, slots, contents, strict=True):
        yield blake(f"{place} {slot} {key}\0".encode() + content, digest_size=DIGEST_BYTES).digest()


def content_digest(content: bytes) -> bytes:
    """Return the digest of the content alone, as stores before version 4 kept it."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()


class ReportStore(Protocol):
    """Rows of an inbox. One thread at a time writes or looks up rows; `pending` may run concurrently."""

    failures: tuple[type[Exception], ...]
    """The exceptions it raises when it cannot store."""

    reopened: bool
    """Whether it was reopened since this was last set to False, so that cached data may be outdated."""

    any_forgotten: bool
    """Whether there are any tombstones, so that most stores need not look for them."""

    is_shared: bool
    """Whether other collectors may use it at the same time."""

    collector: str
    """A random name of this process among those that share the store."""

    address: str
    """Where a shared store is; the sessions of this address carry the collector's name."""

    def code_of(self, failure: Exception) -> str:
        """Return the stable code of a failure, such as a full disk or an unreachable store."""

    def transaction(self) -> AbstractContextManager[None]:
        """Write everything inside, or nothing."""

    def lead(self, seconds: float) -> AbstractContextManager[Lead]:
        """Lead the collectors of this store within a context; yield whether it leads, after up to ``seconds``."""

    def begin_storing(self, people: Iterable[Person]) -> None:
        """Block deletions until the transaction ends, and other collectors from storing these people."""

    def standing(self) -> Standing:
        """Return what other collectors may have changed."""

    def places(self) -> list[ServicePlace]:
        """Return all places."""

    def add_place(self, collection: str, service: str, round_: str) -> int:
        """Add a place and return its number."""

    def expect_parts(self) -> None:
        """Prepare for people who send several reports each, which are pending until all have arrived."""

    def known_digests(self, identities: Sequence[Identity]) -> dict[Identity, bytes]:
        """Return the digests of those reports that are stored."""

    def with_reports(self, pairs: Iterable[tuple[int, Person]]) -> set[tuple[int, Person]]:
        """Return which of the given places and people have any report."""

    def forgotten(self, tombstones: Mapping[bytes, str]) -> set[bytes]:
        """Return which of the given tombstones, by collection, exist."""

    def insert(self, rows: Sequence[Row]) -> None:
        """Store new reports."""

    def last_pending(self, place: int) -> int:
        """Return the number of the newest pending report of a place, or 0."""

    def pending(self, place: int, sends: int, people: int, numbers: Sequence[int] | None = None) -> PendingReports:
        """Return pending reports of people whose slots have all arrived, oldest first; or those given by `numbers`."""

    def waiting(self, places: Sequence[int]) -> list[tuple[int, Person]]:
        """Return the numbers of all pending reports of some places, with their people."""

    def sizes(self) -> dict[int, Sizes]:
        """Return the numbers of reports, by place."""

    def drop(self, place: int, numbers: Sequence[int]) -> None:
        """Mark reports as no longer pending, now that the analytical database has them."""

    def set_aside(self, place: int, numbers: Sequence[int]) -> None:
        """Mark damaged reports as no longer pending; they are never counted."""

    def refill(self, after: int, most: int) -> int:
        """Mark up to `most` reports after a number as pending again; return the last number, or 0 at the end."""

    def lacks_contents(self) -> bool:
        """Return whether there are reports without content, from an earlier version."""

    def count_lost(self) -> None:
        """Mark the reports lost with an analytical database: those without content, and all loaded in bulk."""

    def add_bulk(self, place: int, reports: int) -> None:
        """Record reports that were loaded in bulk."""

    def state(self, name: str) -> str | None:
        """Return a remembered setting, or None."""

    def remember(self, name: str, value: str) -> None:
        """Remember a setting."""

    def contracts(self) -> dict[str, str]:
        """Return the texts of all contracts, by collection id, in order of publication."""

    def add_contract(self, name: str, text: str) -> None:
        """Store a contract, without which reports cannot be read."""

    def chores(self) -> Iterator[Callable[[], object]]:
        """Yield maintenance steps to run while the store is idle."""

    def forget(self, collection: str, service: str, tombstone: bytes, places: Sequence[int], person: Person) -> int:
        """Delete a person, leave a tombstone, and record a pending deletion; return how many reports were known.

        The places are those of the collection, or of one service of it, if that is named.
        """

    def deletions(self) -> list[tuple[str, str, Person]]:
        """Return the deletions, by collection and service, that the analytical database may not have applied yet."""

    def finish_deletion(self, collection: str, service: str, person: Person) -> None:
        """Record that the analytical database has applied a deletion."""

    def check(self) -> None:
        """Raise if the store is not the one that was opened, or now belongs to another collector."""

    def close(self) -> None:
        """Close the store."""


class Unshared:
    """The part of a store that one process uses alone: that process always leads."""

    is_shared, collector, address = False, "", ""

    def lead(self, seconds: float) -> AbstractContextManager[Lead]:
        """Lead."""
        del seconds
        return nullcontext("same")

    def begin_storing(self, people: Iterable[Person]) -> None:
        """Do nothing: one thread stores and deletes at a time."""

    def standing(self) -> Standing:
        """Return that nobody else has changed anything."""
        return Standing()
