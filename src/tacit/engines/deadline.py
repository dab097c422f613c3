"""The deadline of a question: when it passes, the engine is interrupted, or the work between two statements ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tacit.errors import OverloadedError

__all__ = ["Deadline", "check_deadline", "interruptible", "time_asked"]


class Deadline:
    """A time limit for all statements that run within it."""

    def __init__(self, seconds: float) -> None:
        self.began = time.monotonic()
        self._end = self.began + seconds
        self._interrupt: Callable[[], object] = lambda: None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Set it as the deadline of this thread."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    @property
    def left(self) -> float:
        """Seconds left."""
        return self._end - time.monotonic()

    @contextmanager
    def watch(self, interrupt: Callable[[], object]) -> Iterator[None]:
        """Call ``interrupt`` from another thread when the deadline passes, and record that it did."""
        if self.left <= 0:
            raise _late()
        timer = threading.Timer(self.left, interrupt)
        timer.daemon = True
        self._interrupt = interrupt
        timer.start()
        try:
            yield
        except Exception:
            if self.left <= 0:
                raise _late() from None
            raise
        finally:
            self._interrupt = lambda: None
            timer.cancel()
            timer.join()  # it must not interrupt the next statement

    def end(self) -> None:
        """End it now."""
        self._end = time.monotonic()
        self._interrupt()


_CURRENT: ContextVar[Deadline | None] = ContextVar("current", default=None)


def time_asked() -> float:
    """Return when this thread's question arrived, by the monotonic clock; now if it has no deadline."""
    current = _CURRENT.get()
    return time.monotonic() if current is None else current.began


def check_deadline() -> None:
    """Raise if this thread's deadline has passed: called between steps of long work that no engine does."""
    current = _CURRENT.get()
    if current is not None and current.left <= 0:
        raise _late()


@contextmanager
def interruptible(interrupt: Callable[[], object]) -> Iterator[None]:
    """Interrupt the enclosed work when this thread's deadline passes, if it has one."""
    current = _CURRENT.get()
    if current is None:
        yield
        return
    with current.watch(interrupt):
        yield


def _late() -> OverloadedError:
    message = "The question took too long and was interrupted. Ask for fewer groups or columns."
    return OverloadedError(message, code="too-slow")
