"""Token buckets: the average rate and burst of each key, or of each person with a token.

Buckets are not shared, so nobody can empty another's.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from tacit.errors import OverloadedError
from tacit.server.keys import AccessKey
from tacit.server.store.validate import Person

__all__ = ["Rate"]

BUCKETS = 10_000
"""Number of buckets above which full ones are dropped; a full bucket is the same as none."""


class Rate:
    """A bucket for each key, or for each person of a key: it holds the burst, and refills steadily."""

    def __init__(
        self, subject: str, per_second: float, at_once: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._subject, self._per_second, self._at_once, self._clock = subject, per_second, at_once, clock
        self._buckets: dict[tuple[str, Person | None], tuple[float, float]] = {}
        self._most = BUCKETS
        self._lock = threading.Lock()  # deletions run in threads

    def take(self, key: AccessKey | None, amount: float, person: Person | None = None) -> None:
        """Take from the bucket of a key, or of a person proven by a token; raise if it is empty.

        Without keys, callers cannot be distinguished.
        """
        if key is None:
            return
        with self._lock:
            missing = self._take((key.digest, person), amount, self._clock())
        if missing > 0:
            wait = math.ceil(missing / self._per_second)
            message = f"Too many {self._subject} at a time. Try again in {wait} s."
            raise OverloadedError(message, code="slow-down", retry_after=max(1, wait))

    def _take(self, who: tuple[str, Person | None], amount: float, now: float) -> float:
        """Take from a bucket and return 0; if it does not have enough, return the missing amount."""
        level = self._level(self._buckets.get(who, (self._at_once, now)), now)
        needed = min(amount, self._at_once)  # a request above the burst size needs a full bucket
        if level < needed:
            return needed - level
        self._buckets[who] = (level - amount, now)
        if len(self._buckets) > self._most:
            self._drop_full(now)
        return 0.0

    def _level(self, bucket: tuple[float, float], now: float) -> float:
        level, then = bucket
        return min(self._at_once, level + (now - then) * self._per_second)

    def _drop_full(self, now: float) -> None:
        self._buckets = {
            who: bucket for who, bucket in self._buckets.items() if self._level(bucket, now) < self._at_once
        }
        self._most = max(BUCKETS, 2 * len(self._buckets))
