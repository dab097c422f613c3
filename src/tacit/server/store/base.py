"""Where an inbox keeps its rows: one narrow protocol, which a file of SQLite and a PostgreSQL database fill.

The inbox is the source of truth: it keeps the content of every report with a digest, so that the analytical database
can be rebuilt from it at any time, and what a disk has altered is noticed. A report is pending until it is in the
analytical database. What is written inside a transaction is on disk when it ends.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from tacit.server.store.validate import Person, stored_key

__all__ = ["DIGEST_BYTES", "Identity", "Pending", "Place", "ReportStore", "Row", "Sizes", "content_digest", "digest_of"]

DIGEST_BYTES = 12


class Identity(NamedTuple):
    """What a report is about: a service of a collection, a person, and one of her slots."""

    place: int
    person: Person
    slot: int


class Row(NamedTuple):
    """A new report."""

    identity: Identity
    digest: bytes
    content: bytes

    def __repr__(self) -> str:
        """Say where it is stored, and nothing of it."""
        return f"Row(place {self.identity.place})"


class Place(NamedTuple):
    """A service of a collection, and the round it belongs to."""

    number: int
    collection: str
    service: str
    round: str


class Pending(NamedTuple):
    """Reports that are not in the analytical database yet, oldest first: a list for each column."""

    numbers: Sequence[int] = ()
    people: Sequence[Person] = ()
    slots: Sequence[int] = ()
    digests: Sequence[bytes] = ()
    contents: Sequence[bytes] = ()
    """Codes and public values of each, as JSON."""

    settled: int = 0
    """Reports of the same place that were in the analytical database already when these were read."""

    def __repr__(self) -> str:
        """Say how many there are, and nothing of them."""
        return f"Pending({len(self.numbers)} reports)"


class Sizes(NamedTuple):
    """Reports of one place."""

    known: int = 0
    """Acknowledged and not deleted."""

    pending: int = 0
    """Of these, not in the analytical database yet."""

    damaged: int = 0
    """Of these, altered by the disk, and never counted."""

    lost: int = 0
    """Of these, lost with an analytical database: their contents are not in the inbox."""

    bulk: int = 0
    """Not sent by people, but loaded in bulk."""

    @property
    def acknowledged(self) -> int:
        """Reports that a complete answer counts."""
        return self.known + self.bulk

    @property
    def settled(self) -> int:
        """Reports that came through the inbox and must be in the analytical database."""
        return self.known - self.pending - self.damaged - self.lost


def digest_of(identity: Identity, content: bytes) -> bytes:
    """Return the digest of a stored report: of its identity and its content, so that no part of a row can change."""
    head = f"{identity.place} {identity.slot} {stored_key(identity.person)}\0"
    return hashlib.blake2b(head.encode() + content, digest_size=DIGEST_BYTES).digest()


def content_digest(content: bytes) -> bytes:
    """Return the digest of a content alone, which stores before version 4 kept."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()


class ReportStore(Protocol):
    """Rows of an inbox. One thread at a time writes or looks rows up; `pending` may run beside it."""

    failures: tuple[type[Exception], ...]
    """What it raises when it cannot store."""

    reopened: bool
    """Whether it was opened anew since this was last set to False, so that what was read before may be out of date."""

    any_forgotten: bool
    """Whether there is any tombstone, so that most stores need not look for them."""

    def code_of(self, failure: Exception) -> str:
        """Return the stable code of a failure: whether there is no room, or no store."""

    def transaction(self) -> AbstractContextManager[None]:
        """Write everything inside, or nothing."""

    def places(self) -> list[Place]:
        """Return all places."""

    def add_place(self, collection: str, service: str, round_: str) -> int:
        """Add a place and return its number."""

    def expect_parts(self) -> None:
        """Get ready for people who send several reports each, which are pending until all are there."""

    def known(self, asked: Sequence[Identity]) -> dict[Identity, bytes]:
        """Return the digests of those reports that are stored."""

    def reported(self, asked: Iterable[tuple[int, Person]]) -> set[tuple[int, Person]]:
        """Return the places and people, of those asked for, with any report."""

    def forgotten(self, asked: Mapping[bytes, str]) -> set[bytes]:
        """Return the tombstones, of those asked for with their collections, that are there."""

    def insert(self, rows: Sequence[Row]) -> None:
        """Store new reports."""

    def last_pending(self, place: int) -> int:
        """Return the number of the newest report of a place that is pending, or 0."""

    def pending(self, place: int, sends: int, people: int, numbers: Sequence[int] | None = None) -> Pending:
        """Return reports of people whose slots are all there, of at most so many people, oldest first; or these."""

    def waiting(self, places: Sequence[int]) -> list[tuple[int, Person]]:
        """Return the numbers of all pending reports of some places, with their people."""

    def sizes(self) -> dict[int, Sizes]:
        """Return how many reports there are, by place."""

    def drop(self, place: int, numbers: Sequence[int]) -> None:
        """Take reports that are in the analytical database now from those that are pending."""

    def set_aside(self, place: int, numbers: Sequence[int]) -> None:
        """Take damaged reports from those that are pending; they are never counted."""

    def refill(self, after: int, most: int) -> int:
        """Make reports pending again, at most so many numbers after one; return the last number, or 0 at the end."""

    def lacks_contents(self) -> bool:
        """Tell whether there are reports without a content, of an earlier version."""

    def count_lost(self) -> None:
        """Note which reports a lost analytical database has taken along: those without a content, and all in bulk."""

    def add_bulk(self, place: int, reports: int) -> None:
        """Note reports that were loaded in bulk."""

    def state(self, name: str) -> str | None:
        """Return something that the store remembers, or None."""

    def remember(self, name: str, value: str) -> None:
        """Remember something."""

    def contracts(self) -> dict[str, str]:
        """Return the texts of all contracts, by the ids of their collections, in the order of publication."""

    def add_contract(self, name: str, text: str) -> None:
        """Keep a contract, without which reports cannot be read."""

    def chores(self) -> Iterator[Callable[[], object]]:
        """Yield what to do now and then while nobody writes, a little at a time."""

    def forget(self, collection: str, service: str, tombstone: bytes, places: Sequence[int], person: Person) -> int:
        """Delete a person, leave a tombstone, and note a deletion to do; return how many reports were known.

        The places are those of the collection, or of one service of it, if that is named.
        """

    def deletions(self) -> list[tuple[str, str, Person]]:
        """Return the deletions, by collection and service, that the analytical database may not have done yet."""

    def deleted(self, collection: str, service: str, person: Person) -> None:
        """Note that the analytical database has done a deletion."""

    def check(self) -> None:
        """Raise if the store is not the one that was opened, or belongs to somebody else by now."""

    def close(self) -> None:
        """Let go."""
