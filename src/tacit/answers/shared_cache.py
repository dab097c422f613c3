"""A cache of results computed from the current reports, shared by all threads.

A thread that asks for a value that another thread is computing waits for it. When the reports change, all entries are
dropped; when the cache is full, the least recently used ones.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["SharedCache"]

T = TypeVar("T")


class SharedCache(Generic[T]):
    """Values by key, for one version of the reports.

    Parameters
    ----------
    most : function
        Returns the capacity.
    size : function
        Returns the size of a value.
    """

    def __init__(self, most: Callable[[], int], size: Callable[[T], int]) -> None:
        self._most, self._size = most, size
        self._lock = threading.Lock()
        self._version: Hashable = None
        self._cached: _Cached[T] = _Cached()

    def get(self, version: Hashable, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key for this version; compute it if it is not cached."""
        with self._lock:
            if version != self._version:
                self._version, self._cached = version, _Cached()
            cached = self._cached
            slot = cached.slots.setdefault(key, _Slot())
            cached.slots.move_to_end(key)
        with slot.lock:
            if not slot.values:
                slot.values.append(make())
                with self._lock:
                    slot.size = sum(map(self._size, slot.values))
                    cached.size += slot.size
            [value] = slot.values
        with self._lock:
            while cached.size > self._most() and cached.slots:
                _, oldest = cached.slots.popitem(last=False)
                cached.size -= oldest.size
        return value

    def values(self, version: Hashable) -> list[T]:
        """Return the cached values of this version."""
        with self._lock:
            return (
                [value for slot in self._cached.slots.values() for value in slot.values]
                if version == self._version
                else []
            )


@dataclass(eq=False, repr=False)
class _Slot(Generic[T]):
    """The value of a key, once it is computed, and the lock of the thread that computes it."""

    values: list[T] = field(default_factory=list)
    size: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(eq=False, repr=False)
class _Cached(Generic[T]):
    """The values of one version, and their total size."""

    slots: OrderedDict[Hashable, _Slot[T]] = field(default_factory=OrderedDict)
    size: int = 0
