"""Turns of questions and moves: a move waits for the questions that are being answered, but not for long.

A question whose reports were moved meanwhile must be asked again. So moves let it finish, and those who ask next wait
for the move, which serves them all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Turns"]

PATIENCE = 1.0
"""Seconds that a move waits for questions that are being answered."""


class Turns:
    """Counts the questions that are being answered, and remembers when the last complete move began."""

    def __init__(self) -> None:
        self._questions, self._none = 0, threading.Condition()
        self._patient_until = 0.0
        self._complete_since = -float("inf")

    @contextmanager
    def question(self) -> Iterator[None]:
        """Answer a question; begin while nothing moves."""
        with self._none:
            self._questions += 1
        try:
            yield
        finally:
            with self._none:
                self._questions -= 1
                self._none.notify_all()

    def begin_move(self) -> None:
        """Note that a move begins: no question does until it is over."""
        self._patient_until = time.monotonic() + PATIENCE

    def wait(self) -> None:
        """Wait for questions before reports change; a move with many batches waits no longer than one."""
        with self._none:
            self._none.wait_for(lambda: not self._questions, max(0.0, self._patient_until - time.monotonic()))

    def end_move(self, began: float) -> None:
        """Note that everything was moved that was pending when a move began."""
        self._complete_since = began

    def is_moved(self, when: float) -> bool:
        """Return whether everything was moved that was pending at a moment."""
        return self._complete_since >= when
