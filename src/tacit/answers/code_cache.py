"""Sums by code that were fetched before, and the tables made of them, as long as the reports do not change.

Many questions need the same sums: all that are about one service with the same public conditions and groups, whatever
they ask. The sums of one engine are kept up to a number of bytes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from tacit.answers.sampling import CodeCounts, Part, sampled
from tacit.answers.shared_cache import SharedCache
from tacit.contract.contract import Channel
from tacit.engines.base import Engine
from tacit.estimate.tallies import Tallies

__all__ = ["Fetched", "cache_of"]

MOST_BYTES = 2**27
"""Bytes of sums that are kept for one engine."""

MOST_SAMPLES = 4
"""Samples of codes that are kept with their sums."""


@dataclass(frozen=True, eq=False, repr=False)
class Fetched:
    """Sums by code, the values of each public group, and tables by group and column, made when they are first read."""

    values: list[tuple[Any, ...]]
    counts: CodeCounts
    _tallies: dict[tuple[int, int], Tallies] = field(default_factory=dict)
    _samples: OrderedDict[Hashable, list[Part]] = field(default_factory=OrderedDict)

    def tallies(self, channel: Channel, group: int, column: int) -> Tallies:
        """Return the tables of a group, weighted by a column."""
        if (group, column) not in self._tallies:
            codes, weights = self.counts.of_group(group, column)
            self._tallies[group, column] = Tallies(channel, codes, weights)
        return self._tallies[group, column]

    def sample(self, channel: Channel, read: frozenset[int], quota: int) -> list[Part]:
        """Return some codes of each view; questions that read the same views share them."""
        key = (read, quota)
        if key not in self._samples:
            self._samples[key] = list(sampled(channel, self.counts, read, quota))
            while len(self._samples) > MOST_SAMPLES:
                self._samples.popitem(last=False)
        return self._samples[key]


_CACHES: WeakKeyDictionary[Engine, SharedCache[Fetched]] = WeakKeyDictionary()
_LOCK = threading.Lock()


def cache_of(engine: Engine) -> SharedCache[Fetched]:
    """Return the cache of an engine; it goes when the engine goes."""
    with _LOCK:
        return _CACHES.setdefault(engine, SharedCache(lambda: MOST_BYTES, lambda fetched: fetched.counts.nbytes))
