"""Reports that are stored but not sorted in yet: who sent them, and digests of what, in memory."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.server.judge import Person
from tacit.server.shelf import Identity

__all__ = ["Fresh"]

SLOT_BYTES = 2


class Fresh:
    """An index in two parts: what comes in now, and what is being sorted in meanwhile.

    A person of a place has one entry, which is bytes: slots and digests one after the other.
    """

    def __init__(self, digest_bytes: int) -> None:
        self._step = SLOT_BYTES + digest_bytes
        self._young: dict[tuple[int, Person], bytes] = {}
        self._old: dict[tuple[int, Person], bytes] = {}
        self.size = 0
        """Reports that came since the last time that sorting began."""

    def __contains__(self, pair: tuple[int, Person]) -> bool:
        """Tell whether a person has reported to a place."""
        return pair in self._young or pair in self._old

    def add(self, reports: Sequence[tuple[Identity, bytes]]) -> None:
        """Note reports and their digests."""
        for (place, person, slot), digest in reports:
            entry = slot.to_bytes(SLOT_BYTES, "big") + digest
            before = self._young.get((place, person))
            self._young[place, person] = before + entry if before else entry
        self.size += len(reports)

    def digest(self, identity: Identity) -> bytes | None:
        """Return the digest of a report, or None if it is not here."""
        for part in (self._young, self._old):
            entries = part.get((identity.place, identity.person))
            if entries:
                for start in range(0, len(entries), self._step):
                    if int.from_bytes(entries[start : start + SLOT_BYTES], "big") == identity.slot:
                        return entries[start + SLOT_BYTES : start + self._step]
        return None

    def begin_sorting(self) -> None:
        """Set what is here apart, with what was already, if sorting did not come to its end."""
        for pair, entries in self._old.items():
            self._young[pair] = entries + self._young.get(pair, b"")
        self._old, self._young, self.size = self._young, {}, 0

    def end_sorting(self) -> None:
        """Let go of what was set apart."""
        self._old = {}

    def forget(self, place: int, person: Person) -> None:
        """Let go of a person."""
        for part in (self._young, self._old):
            part.pop((place, person), None)
