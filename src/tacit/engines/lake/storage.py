"""The storage of a lake's files: a folder, or an object store that Arrow can reach.

Files are written once and never changed. A file appears under its name only when it is complete and on disk, and
creating an existing file fails. Object stores lack the second guarantee, so a lake in one must have a single writer.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import fs

from tacit.engines.failures import opening
from tacit.errors import EngineError
from tacit.tables.atomic import create_once

__all__ = ["Folder", "ObjectStore", "Storage", "storage_at"]

TURN_SECONDS, STOPPED_SECONDS = 5.0, 0.1
"""Seconds to wait for another writer, and for one that held the lock for longer than that."""


class Storage(Protocol):
    """A set of immutable files by name."""

    refresh_seconds: float
    """Seconds for which a list of files may be used again."""

    def check_fit(self) -> None:
        """Raise unless a new lake can be kept here."""

    def turn(self) -> contextlib.AbstractContextManager[None]:
        """Wait until no other process writes; otherwise the slowest of several writers might never commit."""

    def names(self, folder: str) -> list[str]:
        """Return the sorted names of the files in a folder; none if the folder does not exist."""

    def read(self, name: str) -> bytes:
        """Return a file's content; FileNotFoundError if it does not exist."""

    def create(self, name: str, content: bytes | memoryview) -> None:
        """Write a new file; FileExistsError if it exists."""

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""

    def time_written(self, name: str) -> float:
        """Return when a file was written, in seconds since 1970."""

    def has_sizes(self, sizes: Mapping[str, int]) -> bool:
        """Return whether files exist with these sizes, as far as this is known without a request."""

    def source(self, names: list[str]) -> str | ds.Dataset:
        """Return a source for DuckDB to scan: an SQL expression, or an Arrow dataset."""

    def parquet(self, name: str) -> pq.ParquetFile:
        """Open one Parquet file."""

    def uri(self, name: str) -> str:
        """Return the address of a file for other programs."""


class Folder:
    """A folder on a disk."""

    refresh_seconds = 0.0

    def __init__(self, root: Path) -> None:
        self.root, self._patience = root.resolve(), TURN_SECONDS

    def check_fit(self) -> None:
        """Do nothing: the first file shows whether the folder can be written."""

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a lock of the operating system, which is released when its process ends.

        A process that is stopped keeps it, so nobody waits for long: each version is created only once in any case.
        """
        if sys.platform == "win32":
            yield
            return
        import fcntl

        with opening(self.root):
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._patience = TURN_SECONDS
            except BlockingIOError:
                # waiting in a thread keeps the order of those who wait; a lock that it gets late ends with the handle
                waiting = threading.Thread(target=fcntl.flock, args=(handle, fcntl.LOCK_EX), daemon=True)
                waiting.start()
                waiting.join(self._patience)
                self._patience = STOPPED_SECONDS if waiting.is_alive() else TURN_SECONDS
            yield
        finally:
            os.close(handle)

    def names(self, folder: str) -> list[str]:
        """Return the sorted names of the files in a folder; none if the folder does not exist."""
        try:
            entries = [entry.name for entry in os.scandir(self.root / folder) if entry.is_file()]
        except FileNotFoundError:
            return []
        return sorted(f"{folder}/{name}" for name in entries if not name.startswith("."))

    def read(self, name: str) -> bytes:
        """Return a file's content; FileNotFoundError if it does not exist."""
        return (self.root / name).read_bytes()

    def create(self, name: str, content: bytes | memoryview) -> None:
        """Write a new file; FileExistsError if it exists."""
        path = self.root / name
        with opening(self.root):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with contextlib.suppress(FileExistsError):
                create_once(path, content)
                return
        raise FileExistsError(name)

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        (self.root / name).unlink(missing_ok=True)

    def time_written(self, name: str) -> float:
        """Return when a file was written, in seconds since 1970."""
        return (self.root / name).stat().st_mtime

    def has_sizes(self, sizes: Mapping[str, int]) -> bool:
        """Return whether files exist with these sizes."""
        with contextlib.suppress(FileNotFoundError):
            return all((self.root / name).stat().st_size == size for name, size in sizes.items())
        return False

    def source(self, names: list[str]) -> str | ds.Dataset:
        """Return the SQL expression that scans files."""
        quoted = ", ".join("'" + str(self.root / name).replace("'", "''") + "'" for name in names)
        return f"read_parquet([{quoted}], union_by_name = true)"

    def parquet(self, name: str) -> pq.ParquetFile:
        """Open one Parquet file."""
        return pq.ParquetFile(self.root / name, page_checksum_verification=True)

    def uri(self, name: str) -> str:
        """Return the address of a file for other programs."""
        return (self.root / name).as_uri()


class ObjectStore:
    """A bucket, or a prefix of one; writing an object is atomic, but two writers do not detect each other."""

    refresh_seconds = 1.0

    def __init__(self, address: str) -> None:
        self._address = address.rstrip("/")
        self._sizes: dict[str, int] = {}  # last listed
        self._listed: dict[str, float] = {}
        with _reaching():
            self._files, self._root = fs.FileSystem.from_uri(_for_any_server(self._address))

    def check_fit(self) -> None:
        """Refuse a store that loses an object when another one beside it is removed.

        Arrow then writes an empty object for the folder. Servers that keep objects as files replace the folder by it.
        """
        stays, goes = (f"probes/{uuid.uuid4().hex}" for _ in range(2))
        try:
            for name in (stays, goes):
                self.create(name, name.encode())
            self.remove(goes)
            is_fit = self.read(stays) == stays.encode() and stays in self.names("probes")
            self.remove(stays)
        except (EngineError, FileNotFoundError):
            is_fit = False
        if not is_fit:
            message = (
                "This object store cannot hold a lake: objects cannot be written, read, listed and removed one by one. "
                "Check its address and keys; servers that keep objects as files may lose a folder when a file in it is "
                "removed. Use another store, or a folder."
            )
            raise EngineError(message, code="no-store")

    def turn(self) -> contextlib.AbstractContextManager[None]:
        """Return at once: only one process writes."""
        return contextlib.nullcontext()

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def names(self, folder: str) -> list[str]:
        """Return the sorted names of the files in a folder; none if the folder does not exist."""
        with _reaching():
            entries = self._files.get_file_info(fs.FileSelector(self._path(folder), allow_not_found=True))
        return sorted(f"{folder}/{entry.base_name}" for entry in entries if entry.type == fs.FileType.File)

    def read(self, name: str) -> bytes:
        """Return a file's content; FileNotFoundError if it does not exist."""
        with _reaching(), self._files.open_input_stream(self._path(name)) as file:
            return bytes(file.read())

    def create(self, name: str, content: bytes | memoryview) -> None:
        """Write a new file; FileExistsError if it exists."""
        with _reaching():
            if self._files.get_file_info(self._path(name)).type != fs.FileType.NotFound:
                raise FileExistsError(name)
            with self._files.open_output_stream(self._path(name), compression=None) as file:
                file.write(content)

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        with _reaching(), contextlib.suppress(FileNotFoundError):
            self._files.delete_file(self._path(name))

    def time_written(self, name: str) -> float:
        """Return when a file was written, in seconds since 1970."""
        with _reaching():
            return float(self._files.get_file_info(self._path(name)).mtime_ns or 0) / 1e9

    def has_sizes(self, sizes: Mapping[str, int]) -> bool:
        """Return whether objects exist with these sizes; a folder is listed again after a second."""
        folders = {name.rpartition("/")[0] for name in sizes}
        for is_last in (False, True):
            for folder in folders:
                if is_last or time.monotonic() - self._listed.get(folder, -math.inf) >= self.refresh_seconds:
                    self._list_sizes(folder)
            if all(self._sizes.get(name) == size for name, size in sizes.items()):
                return True
        return False

    def _list_sizes(self, folder: str) -> None:
        """Remember the sizes of a folder's objects."""
        with _reaching():
            entries = self._files.get_file_info(fs.FileSelector(self._path(folder), allow_not_found=True))
        elsewhere = {name: size for name, size in self._sizes.items() if name.rpartition("/")[0] != folder}
        self._sizes = elsewhere | {f"{folder}/{entry.base_name}": entry.size for entry in entries}
        self._listed[folder] = time.monotonic()

    def source(self, names: list[str]) -> str | ds.Dataset:
        """Return an Arrow dataset: DuckDB itself has no network access."""
        with _reaching():
            return ds.dataset([self._path(name) for name in names], filesystem=self._files, format="parquet")

    def parquet(self, name: str) -> pq.ParquetFile:
        """Open one Parquet file."""
        with _reaching():
            return pq.ParquetFile(self._path(name), filesystem=self._files, page_checksum_verification=True)

    def uri(self, name: str) -> str:
        """Return the address of a file for other programs."""
        return f"{self._address.partition('?')[0]}/{name}"


def _for_any_server(address: str) -> str:
    """Return an address of S3 whose requests other servers than Amazon's understand too.

    Small objects are written whole: the parts of crashed writers would stay in the bucket, where no list shows them.
    Sums that follow the content are left out, since servers ask for its length first; files have digests of their own.
    """
    if not address.startswith("s3://") or "allow_delayed_open" in address:
        return address
    os.environ.setdefault("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required")
    return f"{address}{'&' if '?' in address else '?'}allow_delayed_open=true"


@contextlib.contextmanager
def _reaching() -> Iterator[None]:
    """Raise errors that name the kind of failure but no address, which may contain keys."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except (OSError, pa.ArrowException) as cause:
        message = f"The lake's object store does not answer ({type(cause).__name__}). Check its address and keys."
        raise EngineError(message, code="no-store") from None


def storage_at(place: Any) -> Storage:
    """Return the storage of an address such as ``s3://bucket/lake``, or of a folder."""
    return ObjectStore(place) if isinstance(place, str) and "://" in place else Folder(Path(place))
