"""How busy other processes keep the machine (Linux): measured around every timing, and waited out before it.

A busy neighbour halves an encoder on two cores and leaves one on a single core alone, so it shifts ratios. Waiting
looks at the load only, never at a result, and no timing is ever discarded.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

__all__ = ["Meter", "Patience"]

QUIET = 0.15
"""Cores that others may use for the machine to count as quiet."""

LOOK_SECONDS = 0.3
"""How long to watch others before a timing."""


def _busy_seconds() -> float:
    """Return the core-seconds that all processes have used since the machine started."""
    user, nice, system, _idle, _waiting, *interrupts = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    return sum(map(int, (user, nice, system, *interrupts))) / os.sysconf("SC_CLK_TCK")


class Meter:
    """Measures seconds, own cores and others' cores from when it is made."""

    def __init__(self) -> None:
        self._all, self._own, self._start = _busy_seconds(), time.process_time(), time.perf_counter()

    def read(self) -> tuple[float, float, float]:
        """Return seconds, cores used by this process, and cores used by others (in steps of a hundredth second)."""
        seconds = time.perf_counter() - self._start
        own = (time.process_time() - self._own) / seconds
        return seconds, own, max(0.0, (_busy_seconds() - self._all) / seconds - own)


class Patience:
    """Waits for quiet before timings, in all no longer than ``seconds``; then timings go ahead all the same."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    def wait(self) -> None:
        """Return when others use next to nothing, or when patience has ended."""
        while self._left > 0:
            meter = Meter()
            time.sleep(LOOK_SECONDS)
            seconds, _, others = meter.read()
            if others < QUIET:
                return
            self._left -= seconds
