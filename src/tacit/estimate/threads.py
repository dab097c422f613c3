"""Limit linear algebra to one thread while tacit computes.

BLAS starts a thread for each core, and these threads spin while they wait for each other. The matrices here are small,
so more threads gain nothing on idle cores; on a busy machine, compiling a collection took 90 seconds instead of 3.
"""

from __future__ import annotations

import threading
from contextlib import ContextDecorator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]


@cache
def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController  # imported only when needed: 10 ms

    np.linalg.inv(np.eye(1))  # the controller lists the libraries that are loaded
    return ThreadpoolController()


def _give_up_control() -> None:
    """Let any thread change the limit: threadpoolctl reserves it for the thread that set it first."""
    from threadpoolctl import OpenBLASController

    OpenBLASController.clear_controlling_thread()


class _OneThread(ContextDecorator):
    """Limits BLAS while at least one computation runs; the last one to end restores what the program had set."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._running == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
                _give_up_control()
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._running -= 1
            if self._running == 0:
                self._limit.restore_original_limits()
                _give_up_control()


one_thread = _OneThread()
"""A context and a decorator."""
