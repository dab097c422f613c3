"""Classify failures of disks, files and memory, and say what an operator can do about them.

SQLite, DuckDB and the operating system report the same failure differently. Here every failure has one stable code; any
other failure is a bug.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.errors import EngineError, OverloadedError

__all__ = ["REMEDIES", "failure_code", "opening", "outage"]

REMEDIES = {
    "disk-full": "Free some disk space.",
    "out-of-memory": "Give the process more memory, or send smaller requests.",
    "too-many-files": "Raise the limit of open files (ulimit -n).",
    "read-only-store": "Give the collector's user write access to it.",
    "damaged-store": "Restore the last archive into a new folder: tacit import ARCHIVE NEW_FOLDER.",
    "store-in-use": "Stop the process that uses it, or choose another folder.",
    "store-older": "It was restored, or a standby was behind: later commits are lost. Restart all collectors.",
    "not-a-folder": "Name a folder, or a path where one can be created.",
    "no-store": "Restore it; the collector then continues by itself.",
    "store-altered": "Somebody changed its tables, or tacit has a bug: restore the last archive into a new folder.",
    "io-error": "Check the system log (dmesg): the disk or the file system failed.",
}
"""What to do, by code."""

_NUMBERS = {
    errno.ENOSPC: "disk-full",
    errno.EDQUOT: "disk-full",
    errno.ENOMEM: "out-of-memory",
    errno.EMFILE: "too-many-files",
    errno.ENFILE: "too-many-files",
    errno.EROFS: "read-only-store",
    errno.EACCES: "read-only-store",
    errno.EPERM: "read-only-store",
    errno.ENOTDIR: "not-a-folder",
    errno.EEXIST: "not-a-folder",
    errno.ENOENT: "no-store",
}

_SQLITE = {
    "SQLITE_FULL": "disk-full",
    "SQLITE_NOMEM": "out-of-memory",
    "SQLITE_IOERR_NOMEM": "out-of-memory",
    "SQLITE_IOERR_SHMMAP": "out-of-memory",  # of mapping a file, which fails where no addresses are left
    "SQLITE_READONLY": "read-only-store",
    "SQLITE_PERM": "read-only-store",
    "SQLITE_CORRUPT": "damaged-store",
    "SQLITE_NOTADB": "damaged-store",
    "SQLITE_FORMAT": "damaged-store",
    "SQLITE_BUSY": "store-in-use",
    "SQLITE_LOCKED": "store-in-use",
    "SQLITE_PROTOCOL": "store-in-use",
    "SQLITE_IOERR": "io-error",
    "SQLITE_CANTOPEN": "io-error",
}
"""By the name of SQLite's error, or its prefix."""

_ALTERED = re.compile(r"^no such (table|column|index|function)|has no column named")
"""SQLite's messages about changed tables, which have no error name."""

_DUCKDB = {
    "IOException": "io-error",
    "FatalException": "io-error",
    "InternalException": "io-error",
    "ConnectionException": "no-store",
    "TransactionException": "no-store",
    "OutOfMemoryException": "out-of-memory",
}
"""By the name of DuckDB's exception, unless it quotes a more specific error of the operating system."""

_POSTGRES = {
    "DiskFull": "disk-full",
    "OutOfMemory": "out-of-memory",
    "InsufficientPrivilege": "read-only-store",
    "ReadOnlySqlTransaction": "read-only-store",
    "UndefinedTable": "no-store",
}
"""By the name of psycopg's exception."""


def failure_code(failure: BaseException) -> str | None:
    """Return the code of a failure of disk, file or memory; None for everything else."""
    if isinstance(failure, MemoryError):
        return "out-of-memory"
    if isinstance(failure, sqlite3.Error):
        return _of_sqlite(failure)
    if isinstance(failure, OSError):
        return _NUMBERS.get(failure.errno or 0, "io-error")
    if isinstance(failure, RuntimeError) and "start new thread" in str(failure):
        return "out-of-memory"
    engine = type(failure).__module__.partition(".")[0]
    if engine in ("duckdb", "_duckdb"):
        return _of_duckdb(failure)
    return _of_postgres(failure) if engine == "psycopg" else None


def _of_postgres(failure: BaseException) -> str | None:
    """Return the code of a failure of the server or the connection; None for errors in a statement."""
    names = [kind.__name__ for kind in type(failure).__mro__]
    named = next((_POSTGRES[name] for name in names if name in _POSTGRES), None)
    return named or ("no-store" if {"OperationalError", "InterfaceError", "InternalError"} & set(names) else None)


def _of_sqlite(failure: sqlite3.Error) -> str | None:
    name = getattr(failure, "sqlite_errorname", "")
    code = next((code for start, code in _SQLITE.items() if name == start), None)
    code = code or next((code for start, code in _SQLITE.items() if name.startswith(start)), None)
    if name.startswith("SQLITE_CANTOPEN") and _no_file_can_be_opened():
        return "too-many-files"
    return "store-altered" if _ALTERED.search(str(failure)) else code or "no-store"


def _no_file_can_be_opened() -> bool:
    """Return whether this process or the machine has no file descriptor left, which SQLite does not report."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as cause:
        return cause.errno in (errno.EMFILE, errno.ENFILE)
    return False


def _of_duckdb(failure: BaseException) -> str | None:
    code = _DUCKDB.get(type(failure).__name__)
    if code != "io-error":
        return code
    text = str(failure)
    if "Could not set lock" in text:
        return "store-in-use"
    if "not a valid DuckDB database" in text or "checksum" in text:
        return "damaged-store"
    return next((other for number, other in _NUMBERS.items() if os.strerror(number) in text), code)


def outage(sentence: str, failure: BaseException) -> OverloadedError | None:
    """Return the error for a request that cannot be served now; None if the failure is a bug.

    ``sentence`` lacks its full stop: "Reports cannot be stored".
    """
    code = failure_code(failure)
    if code is None:
        return None
    return OverloadedError(f"{sentence} ({_name(failure)}). {REMEDIES[code]} Then try again.", code=code)


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """Raise an error that names the file that cannot be opened and says what to do."""
    try:
        yield
    except Exception as cause:
        code = failure_code(cause)
        if code is None:
            raise
        reason = _reason(path) if getattr(cause, "sqlite_errorname", "").startswith("SQLITE_CANTOPEN") else None
        code = reason or code
        message = f"{str(path)!r} cannot be opened ({_name(cause)}). {REMEDIES[code]}"
        raise EngineError(message, code=code) from None


def _reason(path: Path) -> str | None:
    """Return why a file cannot be opened for writing, which SQLite does not report."""
    try:
        os.close(os.open(path, os.O_RDWR))
    except FileNotFoundError:
        return None if os.access(path.parent, os.W_OK | os.X_OK) else "read-only-store"
    except OSError as cause:
        return failure_code(cause)
    return None


def _name(failure: BaseException) -> str:
    """Return a failure's most specific name that quotes nothing."""
    if isinstance(failure, OSError) and failure.errno:
        return errno.errorcode.get(failure.errno, type(failure).__name__)
    return str(getattr(failure, "sqlite_errorname", type(failure).__name__))
