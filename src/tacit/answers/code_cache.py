"""Sums by code that were fetched before, and the tables made of them, as long as the reports do not change.

Many questions need the same sums: all that are about one service with the same public conditions and groups, whatever
they ask. The cache keeps the sums of one engine up to a number of bytes and drops the least recently used. Whoever asks
for sums that somebody else is fetching waits for them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from tacit.answers.sampling import CodeCounts
from tacit.contract.contract import Channel
from tacit.engines.base import Engine
from tacit.estimate.tallies import Tallies

__all__ = ["CodeCache", "Fetched", "cache_of"]

MOST_BYTES = 2**27
"""Bytes of sums that are kept for one engine."""


@dataclass(frozen=True, eq=False, repr=False)
class Fetched:
    """Sums by code, the values of each public group, and tables by group and column, made when they are first read."""

    values: list[tuple[Any, ...]]
    counts: CodeCounts
    _tallies: dict[tuple[int, int], Tallies] = field(default_factory=dict)

    def tallies(self, channel: Channel, group: int, column: int) -> Tallies:
        """Return the tables of a group, weighted by a column."""
        if (group, column) not in self._tallies:
            codes, weights = self.counts.of_group(group, column)
            self._tallies[group, column] = Tallies(channel, codes, weights)
        return self._tallies[group, column]


class CodeCache:
    """The sums of one engine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slots: OrderedDict[Hashable, _Slot] = OrderedDict()

    def get(self, key: Hashable, fetch: Callable[[], Fetched]) -> Fetched:
        """Return the sums of a key; fetch them if they are not known."""
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
            self._slots.move_to_end(key)
        with slot.lock:
            if slot.fetched is None:
                slot.fetched = fetch()
            fetched = slot.fetched
        with self._lock:
            kept = sum(one.fetched.counts.nbytes for one in self._slots.values() if one.fetched)
            while kept > MOST_BYTES and self._slots:
                _, oldest = self._slots.popitem(last=False)
                kept -= oldest.fetched.counts.nbytes if oldest.fetched else 0
        return fetched


@dataclass(eq=False, repr=False)
class _Slot:
    """What is known of a key, and the lock of who fetches it."""

    fetched: Fetched | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


_CACHES: WeakKeyDictionary[Engine, CodeCache] = WeakKeyDictionary()
_LOCK = threading.Lock()


def cache_of(engine: Engine) -> CodeCache:
    """Return the cache of an engine; it goes when the engine goes."""
    with _LOCK:
        return _CACHES.setdefault(engine, CodeCache())
