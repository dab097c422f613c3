"""Alternation of questions and moves: a move waits briefly for running questions.

A question whose reports were moved in the meantime must be repeated. So moves let it finish, and new questions wait for
the move, which serves them all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Turns"]

PATIENCE = 1.0
"""Seconds that a move waits for running questions."""


class Turns:
    """Counts running questions, and records when the last complete move began."""

    def __init__(self) -> None:
        self._questions, self._none = 0, threading.Condition()
        self._patient_until = 0.0
        self._complete_since = -float("inf")

    @contextmanager
    def question(self) -> Iterator[None]:
        """Run a question, starting while nothing moves."""
        with self._none:
            self._questions += 1
        try:
            yield
        finally:
            with self._none:
                self._questions -= 1
                self._none.notify_all()

    def begin_move(self) -> None:
        """Record that a move begins: no question starts until it ends."""
        self._patient_until = time.monotonic() + PATIENCE

    def wait(self) -> None:
        """Wait for questions before reports change; a move with many batches waits no longer than one."""
        with self._none:
            self._none.wait_for(lambda: not self._questions, max(0.0, self._patient_until - time.monotonic()))

    def end_move(self, began: float) -> None:
        """Record that everything pending at the start of a move was moved."""
        self._complete_since = began

    def is_moved(self, when: float) -> bool:
        """Return whether everything pending at a moment was moved."""
        return self._complete_since >= when
