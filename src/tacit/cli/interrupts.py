"""Remember Ctrl-C: libraries interrupted while they load or compute raise their own errors."""

from __future__ import annotations

import atexit
import contextlib
import signal
from types import FrameType

__all__ = ["has_happened", "remember"]

_seen: list[int] = []


def remember() -> None:
    """Remember Ctrl-C from now on; it still raises KeyboardInterrupt."""
    _seen.clear()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with contextlib.suppress(ValueError):  # only the main thread may
            signal.signal(signal.SIGINT, _note)


def has_happened() -> bool:
    """Return whether Ctrl-C was pressed since."""
    return bool(_seen)


def _note(number: int, frame: FrameType | None) -> None:
    _seen.append(number)
    signal.default_int_handler(number, frame)


@atexit.register
def _end_undisturbed() -> None:
    """Ignore Ctrl-C while Python exits: the work is done, and unloading libraries takes a moment."""
    if signal.getsignal(signal.SIGINT) is _note:
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
