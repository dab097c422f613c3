"""In-memory index of stored reports not yet merged into the main table: sender and digest."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from tacit.server.store.base import DIGEST_BYTES, Identity
from tacit.server.store.validate import Person

__all__ = ["Recent"]

SLOT_BYTES = 2
"""Bytes of a slot in memory; slots are below 1,000."""

ENTRY_BYTES = SLOT_BYTES + DIGEST_BYTES


@dataclass(slots=True)
class _Part:
    """A run of consecutive reports.

    A person of a place has one entry, which is bytes: slots and digests one after the other.
    """

    entries: dict[tuple[int, Person], bytes] = field(default_factory=dict, repr=False)
    size: int = 0
    last: int = 0
    """The number of the last report."""


class Recent:
    """An index in parts of a fixed size: the last part grows, while the first ones are merged."""

    def __init__(self, size: int) -> None:
        self._size, self._parts = size, deque([_Part()])

    def __contains__(self, pair: tuple[int, Person]) -> bool:
        """Return whether a person has reported to a place."""
        return any(pair in part.entries for part in self._parts)

    def add(self, reports: Sequence[tuple[Identity, bytes]], last: int) -> None:
        """Add reports and their digests; ``last`` is the number of the last one."""
        part = self._parts[-1]
        for (place, person, slot), digest in reports:
            entry = slot.to_bytes(SLOT_BYTES, "big") + digest
            before = part.entries.get((place, person))
            part.entries[place, person] = before + entry if before else entry
        part.size, part.last = part.size + len(reports), last
        if part.size >= self._size:
            self._parts.append(_Part())

    def digest(self, identity: Identity) -> bytes | None:
        """Return the digest of a report, or None if it is not in the index."""
        for part in self._parts:
            entries = part.entries.get((identity.place, identity.person), b"")
            for start in range(0, len(entries), ENTRY_BYTES):
                if int.from_bytes(entries[start : start + SLOT_BYTES], "big") == identity.slot:
                    return entries[start + SLOT_BYTES : start + ENTRY_BYTES]
        return None

    def ripe(self, most: int) -> tuple[int, int]:
        """Return how many parts can be merged, up to a limit, and the number of their last report."""
        parts = min(len(self._parts) - 1, most)
        return parts, self._parts[parts - 1].last if parts else 0

    def drop(self, parts: int) -> None:
        """Drop the first parts, which are merged."""
        for _ in range(parts):
            self._parts.popleft()

    def forget(self, place: int, person: Person) -> None:
        """Drop a person."""
        for part in self._parts:
            part.entries.pop((place, person), None)
