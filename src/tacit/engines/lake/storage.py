"""The storage of a lake's files: a folder, or an object store that Arrow can reach.

Files are written once and never changed. A file appears under its name only when it is complete and on disk, and
creating an existing file fails. Object stores lack the second guarantee, so a lake in one must have a single writer.
"""

from __future__ import annotations

import contextlib
import os
import sys
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


class Storage(Protocol):
    """A set of immutable files by name."""

    refresh_seconds: float
    """Seconds for which a list of files may be used again."""

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
        self.root = root.resolve()

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a lock of the operating system, which is released when its process ends."""
        if sys.platform == "win32":
            yield
            return
        import fcntl

        with opening(self.root):
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
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
        with _reaching():
            self._files, self._root = fs.FileSystem.from_uri(self._address)

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
        """Return True: object stores write atomically, and checking each file would need a request."""
        del sizes
        return True

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
