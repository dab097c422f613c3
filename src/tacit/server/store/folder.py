"""A collector's folder: used by one process at a time, and cleaned of what a killed process left behind.

The lock is one of the operating system, which releases it when the process ends, however it ends.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tacit.errors import EngineError

__all__ = ["UNFINISHED", "FolderLock"]

UNFINISHED = "unfinished-"
"""Prefix of folders for unfinished files. A killed export leaves one with a copy of every report."""


class FolderLock:
    """Locks a folder for this process, or raises; `release` unlocks it."""

    def __init__(self, folder: Path) -> None:
        self._handle = os.open(folder / "collector.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._take(folder)
        except BaseException:
            self.release()
            raise

    def _take(self, folder: Path) -> None:
        if not _is_locked_by_us(self._handle):
            holder = os.pread(self._handle, 20, 0).decode(errors="replace").strip()
            message = (
                f"Another process ({holder if holder.isdigit() else 'unknown'}) uses the folder {str(folder)!r}. "
                "Stop it first, or choose another folder."
            )
            raise EngineError(message, code="store-in-use")
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)
        for left in folder.glob(f"{UNFINISHED}*"):
            shutil.rmtree(left)

    def release(self) -> None:
        """Unlock the folder."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def _is_locked_by_us(handle: int) -> bool:
    """Lock a file unless another process holds it; on systems without such locks, rely on DuckDB's own."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
