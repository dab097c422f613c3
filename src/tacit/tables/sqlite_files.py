"""Open SQLite files without changing a byte of their folder, even while others write."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

__all__ = ["has_log", "open_read_only"]


def has_log(path: Path) -> bool:
    """Return whether a file has a non-empty write-ahead log, from a running collector or a crash."""
    log = _log_of(path)
    return log.exists() and log.stat().st_size > 0


@contextmanager
def open_read_only(path: Path, *, live: bool) -> Iterator[sqlite3.Connection]:
    """Open a file read-only. ``live``: a collector has it open, and its write-ahead log is read as well.

    Without a collector, SQLite would create or rebuild files in the folder. So a file without a write-ahead log is
    opened as immutable, and one with a log left behind by a crash is copied first.
    """
    with tempfile.TemporaryDirectory(prefix="tacit-doctor-") as folder:
        how = "mode=ro" if live else "mode=ro&immutable=1"
        if not live and has_log(path):
            log = _log_of(path)
            path = Path(shutil.copy(path, folder))
            shutil.copy(log, folder)
            how = "mode=rw"
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?{how}", uri=True)) as file:
            yield file


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")
