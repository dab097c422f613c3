"""Token buckets: how much one key may do, on average and at once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from tacit.errors import OverloadedError
from tacit.server.keys import Key

__all__ = ["Rate"]


class Rate:
    """A bucket for each key: it holds what may be done at once, and fills steadily."""

    def __init__(
        self, what: str, per_second: float, at_once: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what, self._per_second, self._at_once, self._clock = what, per_second, at_once, clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, key: Key | None, amount: float) -> None:
        """Take from a key's bucket, or raise; without keys there is nobody to tell apart."""
        if key is None:
            return
        now = self._clock()
        level, then = self._buckets.get(key.digest, (self._at_once, now))
        level = min(self._at_once, level + (now - then) * self._per_second)
        needed = min(amount, self._at_once)  # what is more than a full bucket needs a full bucket
        if level < needed:
            wait = math.ceil((needed - level) / self._per_second)
            message = f"This key sends more {self._what} than it may. Try again in {wait} s."
            raise OverloadedError(message, code="slow-down", retry_after=max(1, wait))
        self._buckets[key.digest] = (level - amount, now)
