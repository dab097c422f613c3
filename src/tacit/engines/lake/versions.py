"""The versions of a lake: read the newest, commit the next one, and expire old ones."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from tacit.engines.lake.manifest import Manifest, manifest_names, number_of, read_manifest
from tacit.engines.lake.storage import Storage
from tacit.errors import EngineError

__all__ = ["Versions", "remove_unnamed", "remove_versions"]

KEPT_VERSIONS, SLACK = 200, 50
"""Number of versions that can be restored; once there are twice as many, older ones and their files are removed."""

UNNAMED_SECONDS = 86_400.0
"""Age at which a file that no version names is removed, because its writer has crashed."""

TRIES = 20
"""Maximum retries of a change after another process committed first."""


class Versions:
    """The manifests of a lake, to which this and other processes may add."""

    def __init__(self, storage: Storage, *, read_only: bool = False) -> None:
        self._storage, self._read_only, self._door = storage, read_only, threading.RLock()
        self._latest, self._looked = Manifest(), float("-inf")
        if self.latest().number == 0:
            if read_only:
                message = "There is no lake at this place. Name the folder or address of one."
                raise EngineError(message, code="no-store")
            storage.check_fit()
            self.commit(lambda before: before if before.number else replace(before, identity=uuid.uuid4().hex))
        elif not read_only:
            self._expire(self.latest())  # finish an interrupted deletion

    def latest(self) -> Manifest:
        """Return the newest version; for an object store, it may be slightly out of date."""
        with self._door:
            if time.monotonic() - self._looked >= self._storage.refresh_seconds:
                self._latest = self._read_latest()
                self._looked = time.monotonic()
            return self._latest

    def _read_latest(self) -> Manifest:
        for _ in range(TRIES):
            names = manifest_names(self._storage)
            if not names or number_of(names[-1]) == self._latest.number:
                return self._latest
            with suppress(FileNotFoundError):  # a deletion has removed it in the meantime
                return read_manifest(self._storage, names[-1])
        raise _too_busy()

    def commit(self, change: Callable[[Manifest], Manifest]) -> Manifest:
        """Commit a change of the newest version; retry if another process committed first.

        A change that returns its argument creates no version.
        """
        if self._read_only:
            message = "The lake is open for reading only. Open it for writing."
            raise EngineError(message, code="read-only-store")
        with self._door, self._storage.turn():
            for _ in range(TRIES):
                self._looked = float("-inf")
                before = self.latest()
                wanted = change(before)
                if wanted is before:
                    return before
                try:
                    self._latest = wanted.write(self._storage)
                except FileExistsError:
                    self._remove_new(before, wanted)
                    continue
                self._expire(self._latest)
                return self._latest
        raise _too_busy()

    def _remove_new(self, before: Manifest, wanted: Manifest) -> None:
        """Remove the files of a version that was not committed, except contracts, whose names others may use."""
        named = {file.name for file in before.files()}
        for file in wanted.files():
            if file.name not in named and file.name.endswith(".parquet"):
                self._storage.remove(file.name)

    def _expire(self, latest: Manifest) -> None:
        """Remove versions that are too old or precede a deletion, and the files that only they name."""
        names = manifest_names(self._storage)
        oldest = latest.number - KEPT_VERSIONS + 1 if len(names) > KEPT_VERSIONS + SLACK else 1
        expired = [name for name in names if number_of(name) < max(latest.since, oldest)]
        if expired:
            remove_versions(self._storage, expired)
            remove_unnamed(self._storage)


def remove_versions(storage: Storage, expired: Sequence[str]) -> None:
    """Remove versions, and first the files that only they name: whoever is interrupted finds them named again."""
    needed = _files(storage, (name for name in manifest_names(storage) if name not in expired))
    for name in (*sorted(_files(storage, expired) - needed), *expired):
        storage.remove(name)


def remove_unnamed(storage: Storage) -> int:
    """Remove files that crashed writers left more than a day ago; return how many."""
    named = _files(storage, manifest_names(storage))
    folders = sorted({name.rpartition("/")[0] for name in named})
    unnamed = [name for folder in folders for name in storage.names(folder) if name not in named]
    old = [name for name in unnamed if time.time() - storage.time_written(name) > UNNAMED_SECONDS]
    for name in old:
        storage.remove(name)
    return len(old)


def _files(storage: Storage, names: Iterable[str]) -> set[str]:
    files: set[str] = set()
    for name in names:
        with suppress(FileNotFoundError):  # another process has removed the version
            files.update(file.name for file in read_manifest(storage, name).files())
    return files


def _too_busy() -> EngineError:
    message = "Other processes keep changing the lake. Try again, or let only one process write."
    return EngineError(message, code="store-in-use")
