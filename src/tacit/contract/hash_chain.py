"""A chain of entries: each holds the hash of the one before, so nobody can change the past without changing its end.

An entry is one line of canonical JSON. Its ``hash`` is the SHA-256 of all its other members, among which ``before`` is
the hash of the entry before it. Editing, deleting, inserting or moving a line breaks the chain at that line. Cutting
the end off, or writing all of it anew, breaks nothing inside the chain: that is found against a **head** (how many
entries there were, and the hash of the last one) that somebody wrote down elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["START", "Chain", "Head", "next_line", "read_chain"]

NO_HASH = "0" * 64
"""What the first entry has before it."""


@dataclass(frozen=True)
class Head:
    """How many entries a chain has, and the hash of the last one."""

    entries: int
    hash: str


START = Head(0, NO_HASH)


@dataclass(frozen=True)
class Chain:
    """What became of checking a chain: its entries up to the first broken line, and what is wrong with that one."""

    entries: tuple[Mapping[str, Any], ...]
    position: int = 0
    """Number of the first broken line, counted from 1; 0 if there is none."""
    problem: str = ""

    @property
    def ok(self) -> bool:
        """Whether every entry follows from the one before."""
        return not self.problem

    @property
    def head(self) -> Head:
        """The end of what is unbroken."""
        return Head(len(self.entries), self.entries[-1]["hash"]) if self.entries else START

    def since(self, recorded: Head) -> Chain:
        """Return the chain if it goes on from a recorded head, else the same with the problem."""
        if not self.ok:
            return self
        if len(self.entries) < recorded.entries:
            problem = f"{recorded.entries - len(self.entries)} of {recorded.entries} recorded entries are missing"
            return Chain(self.entries, len(self.entries) + 1, problem)
        if recorded.entries and self.entries[recorded.entries - 1]["hash"] != recorded.hash:
            return Chain(self.entries, recorded.entries, "entries up to here differ from the recorded ones")
        return self


def next_line(head: Head, *, time: str, event: str, details: Mapping[str, Any]) -> tuple[str, Head]:
    """Return the line of a new entry, and the head that it makes."""
    entry = {"number": head.entries + 1, "time": time, "event": event, "details": details, "before": head.hash}
    hashed = _hash(entry)
    return _canonical(entry | {"hash": hashed}), Head(head.entries + 1, hashed)


def read_chain(lines: Sequence[str]) -> Chain:
    """Check lines in order, up to the first that is broken."""
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
    rest = {name: value for name, value in entry.items() if name != "hash"}
    if entry.get("hash") != _hash(rest) or line != _canonical(entry):
        return "the entry was changed after it was written"
    if entry.get("number") != position or entry.get("before") != before:
        return "this entry does not follow the previous one: an entry was deleted, inserted or moved"
    return ""


def _canonical(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, sort_keys=True, separators=(",", ":"))


def _hash(entry: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(entry).encode()).hexdigest()
