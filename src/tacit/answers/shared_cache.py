"""What was computed from the reports as they are now: everybody who asks for the same thing shares it.

Whoever asks for something that somebody else is computing waits for it. When the reports have changed, everything is
dropped; before that, what was used longest ago, where there is too much.
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
        Returns how much is kept in all.
    size : function
        Returns how much a value counts.
    """

    def __init__(self, most: Callable[[], int], size: Callable[[T], int]) -> None:
        self._most, self._size = most, size
        self._lock = threading.Lock()
        self._version: Hashable = None
        self._kept: _Kept[T] = _Kept()

    def get(self, version: Hashable, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key; make it if it is not known of this version."""
        with self._lock:
            if version != self._version:
                self._version, self._kept = version, _Kept()
            kept = self._kept
            slot = kept.slots.setdefault(key, _Slot())
            kept.slots.move_to_end(key)
        with slot.lock:
            if not slot.made:
                slot.made.append(make())
                with self._lock:
                    slot.size = sum(map(self._size, slot.made))
                    kept.size += slot.size
            [value] = slot.made
        with self._lock:
            while kept.size > self._most() and kept.slots:
                _, oldest = kept.slots.popitem(last=False)
                kept.size -= oldest.size
        return value

    def values(self, version: Hashable) -> list[T]:
        """Return what is known of this version."""
        with self._lock:
            return (
                [value for slot in self._kept.slots.values() for value in slot.made] if version == self._version else []
            )


@dataclass(eq=False, repr=False)
class _Slot(Generic[T]):
    """The value of a key, once there is one, and the lock of who makes it."""

    made: list[T] = field(default_factory=list)
    size: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(eq=False, repr=False)
class _Kept(Generic[T]):
    """The values of one version, and their size in all."""

    slots: OrderedDict[Hashable, _Slot[T]] = field(default_factory=OrderedDict)
    size: int = 0
