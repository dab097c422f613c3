"""Tests may run as root, whom no file mode stops; processes that they start can give that up."""

from __future__ import annotations

import ctypes
import os

__all__ = ["obey_modes"]

DROP_FROM_BOUNDING_SET, OVERRIDE, READ_SEARCH = 24, 1, 2


def obey_modes() -> None:
    """Take root's right to ignore file modes from a process that is about to start (for ``preexec_fn``)."""
    if os.geteuid() == 0:
        control = ctypes.CDLL(None).prctl
        for capability in (OVERRIDE, READ_SEARCH):
            if control(DROP_FROM_BOUNDING_SET, capability, 0, 0, 0):
                os._exit(99)
