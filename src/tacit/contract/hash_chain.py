"""A hash chain: each entry contains the hash of the previous one, so changing the past changes the last hash.

An entry is one line of canonical JSON. Its ``hash`` is the SHA-256 of all its other members, among which ``before`` is
the hash of the previous entry. Editing, deleting, inserting or moving a line breaks the chain at that line. Cutting off
the end or rewriting everything breaks nothing inside the chain; only comparing with a **head** (the number of entries
and the hash of the last one) that was recorded elsewhere reveals it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["START", "Chain", "Head", "next_line", "read_chain"]

NO_HASH = "0" * 64
"""The hash before the first entry."""


@dataclass(frozen=True)
class Head:
    """The length of a chain and the hash of its last entry."""

    entries: int
    hash: str


START = Head(0, NO_HASH)


@dataclass(frozen=True)
class Chain:
    """The result of checking a chain: its entries up to the first broken line, and the problem with that line."""

    entries: tuple[Mapping[str, Any], ...]
    position: int = 0
    """Number of the first broken line, counted from 1; 0 if there is none."""
    problem: str = ""

    @property
    def ok(self) -> bool:
        """Whether every entry follows from the previous one."""
        return not self.problem

    @property
    def head(self) -> Head:
        """The head of the unbroken part."""
        return Head(len(self.entries), self.entries[-1]["hash"]) if self.entries else START

    def since(self, recorded: Head) -> Chain:
        """Return the chain if it continues from a recorded head, otherwise the same chain with the problem."""
        if not self.ok:
            return self
        if len(self.entries) < recorded.entries:
            problem = f"{recorded.entries - len(self.entries)} of {recorded.entries} recorded entries are missing"
            return Chain(self.entries, len(self.entries) + 1, problem)
        if recorded.entries and self.entries[recorded.entries - 1]["hash"] != recorded.hash:
            return Chain(self.entries, recorded.entries, "entries up to here differ from the recorded ones")
        return self


def next_line(head: Head, *, time: str, event: str, details: Mapping[str, Any]) -> tuple[str, Head]:
    """Return the line of a new entry, and the resulting head."""
    entry = {"number": head.entries + 1, "time": time, "event": event, "details": details, "before": head.hash}
    hashed = _hash(entry)
    return _canonical(entry | {"hash": hashed}), Head(head.entries + 1, hashed)


def read_chain(lines: Sequence[str]) -> Chain:
    """Check lines in order, up to the first broken one."""
    entries: list[Mapping[str, Any]] = []
    before = NO_HASH
    for position, line in enumerate(lines, start=1):
        entry = _parse(line)
        problem = _problem(entry, line, position, before)
        if entry is None or problem:
            return Chain(tuple(entries), position, problem)
        entries.append(entry)
        before = entry["hash"]
    return Chain(tuple(entries))


def _parse(line: str) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _problem(entry: dict[str, Any] | None, line: str, position: int, before: str) -> str:
    if entry is None:
        return "this is not a log entry"
    hashed = {name: value for name, value in entry.items() if name != "hash"}
    if entry.get("hash") != _hash(hashed) or line != _canonical(entry):
        return "the entry was changed after it was written"
    if entry.get("number") != position or entry.get("before") != before:
        return "this entry does not follow the previous one: an entry was deleted, inserted or moved"
    return ""


def _canonical(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, sort_keys=True, separators=(",", ":"))


def _hash(entry: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(entry).encode()).hexdigest()
