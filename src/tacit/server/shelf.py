"""Where an inbox keeps its rows: one narrow protocol, which a file of SQLite and a PostgreSQL database fill.

There is one short row for every report ever stored: its identity, with a digest of its content. The content itself is
pending until it is in the analytical database. What is written inside a transaction is on disk when it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from tacit.server.judge import Person

__all__ = ["DIGEST_BYTES", "Identity", "Pending", "Place", "Row", "Shelf"]

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
    contents: Sequence[tuple[list[int], list[Any]]] = ()
    """Codes and public values of each."""

    def __repr__(self) -> str:
        """Say how many there are, and nothing of them."""
        return f"Pending({len(self.numbers)} reports)"


class Shelf(Protocol):
    """Rows of an inbox. One thread at a time writes or looks rows up; `pending` may run beside it."""

    failures: tuple[type[Exception], ...]
    """What it raises when it cannot store."""

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

    def pending(self, place: int, sends: int, people: int) -> Pending:
        """Return reports of people whose slots are all there, of at most so many people, oldest first."""

    def settled(self, place: int) -> int:
        """Return how many reports of a place are known and not pending."""

    def drop(self, numbers: Sequence[int]) -> None:
        """Drop contents that are in the analytical database now."""

    def chores(self) -> Iterator[Callable[[], object]]:
        """Yield what to do now and then while nobody writes, a little at a time."""

    def forget(self, collection: str, tombstone: bytes, places: Sequence[int], person: Person) -> tuple[int, int]:
        """Delete a person and leave a tombstone; return how many reports were known, and how many pending."""

    def counts(self) -> tuple[int, int]:
        """Return how many reports are known, and how many pending."""

    def close(self) -> None:
        """Let go."""
