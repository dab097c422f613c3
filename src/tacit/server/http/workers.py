"""Worker threads: a few for each kind of work, with a bounded queue; questions also have a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from tacit.engines.deadline import Deadline
from tacit.errors import OverloadedError

__all__ = ["Lane", "Workers"]

AT_ONCE = 4
"""Threads of each kind of work."""

WAITING = 64
"""Maximum questions, or other tasks, that run or wait; more are refused."""

GRACE = 1.0
"""Seconds within which an interrupted question must stop."""

P = ParamSpec("P")
T = TypeVar("T")


class Lane:
    """Threads for one kind of work, so that it does not wait for other kinds."""

    def __init__(self, subject: str) -> None:
        self._subject, self._busy = subject, 0
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix=subject)

    async def do(self, work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Return the result of some work."""
        if self._busy >= WAITING:
            message = f"Too many {self._subject} are waiting. Try again in a moment."
            raise OverloadedError(message)
        running = asyncio.get_running_loop().run_in_executor(self._threads, lambda: work(*arguments, **options))
        self._busy += 1
        running.add_done_callback(self._end)
        return await asyncio.shield(running)  # it runs to its end even if the client disconnects

    def _end(self, _: asyncio.Future[Any]) -> None:
        self._busy -= 1

    def close(self) -> None:
        """Accept no more work."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Workers:
    """Runs work for requests without blocking other requests."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._busy: set[Deadline] = set()
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="question")

    async def do(self, work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Return the result of some work; engines are interrupted if it takes too long."""
        if len(self._busy) >= WAITING:
            message = "Too many questions are waiting. Try again in a moment."
            raise OverloadedError(message)
        deadline = Deadline(self._seconds)

        def within() -> T:
            with deadline():
                return work(*arguments, **options)

        self._busy.add(deadline)
        try:
            running = asyncio.get_running_loop().run_in_executor(self._threads, within)
            return await asyncio.wait_for(running, self._seconds + GRACE)
        except asyncio.CancelledError:
            deadline.end()  # the client is gone
            raise
        except TimeoutError:
            message = f"This took more than {self._seconds:g} seconds."
            raise OverloadedError(message, code="too-slow") from None
        finally:
            self._busy.discard(deadline)

    def close(self) -> None:
        """Interrupt everything."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for deadline in list(self._busy):
            deadline.end()
