"""Create and replace files atomically: readers see a whole file, the old one or the new one.

A new version keeps the owner and mode of the previous one. A new file gets the owner of its folder, so that the program
that owns the folder can read what an administrator writes as root.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tacit.errors import UsageError

__all__ = ["adopt", "create_once", "lock_file", "write_atomically"]


def write_atomically(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file atomically and sync it; ``mode``, minus the process's mask, applies to a new file."""
    try:
        before = path.stat()
    except FileNotFoundError:
        before = None
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            _set_owner(file.fileno(), before or path.parent.stat(), path.name, needed=before is not None)
            os.fchmod(file.fileno(), before.st_mode & 0o7777 if before else mode & ~_mask())
            later = max(time.time_ns(), before.st_mtime_ns + 1) if before else time.time_ns()
            file.flush()
            os.utime(file.fileno(), ns=(later, later))  # dates must differ: readers compare them
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def create_once(path: Path, content: bytes | memoryview) -> None:
    """Write and sync a new file; FileExistsError if it exists or another process created it first."""
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=".unfinished-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(unfinished, path)  # unlike a rename, it replaces nothing
        _sync_folder(path.parent)
    finally:
        Path(unfinished).unlink()


def adopt(path: Path, *, mode: int = 0o600) -> None:
    """Create an empty file, owned by its folder's owner, unless it exists."""
    with contextlib.suppress(FileExistsError):
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        try:
            _set_owner(handle, path.parent.stat(), path.name, needed=False)
        finally:
            os.close(handle)


@contextlib.contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Lock a file against other processes and threads, which wait."""
    import fcntl  # not on every platform, and no client needs it

    lock = path.with_name(f"{path.name}.lock")
    adopt(lock)
    with lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _set_owner(handle: int, wanted: os.stat_result, name: str, *, needed: bool) -> None:
    """Give a file its owner; refuse to replace one that its owner could not read afterwards."""
    mine = os.fstat(handle)
    if (mine.st_uid, mine.st_gid) == (wanted.st_uid, wanted.st_gid):
        return
    try:
        os.fchown(handle, wanted.st_uid, wanted.st_gid)
    except PermissionError:
        if needed and mine.st_uid != wanted.st_uid:
            message = f"{name} belongs to another user. Do this as that user, or as root; nothing was changed."
            raise UsageError(message, code="wrong-owner") from None


def _mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
