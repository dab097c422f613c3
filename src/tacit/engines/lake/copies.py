"""Back up and restore a lake by copying files.

Files that the target already has are not copied again. A backup holds every version since the previous backup, and any
of them can be restored. Deletions are copied too: versions before a deletion are removed from the backup, because they
contain the person's reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from tacit.engines.lake.manifest import (
    Manifest,
    Stored,
    digest_of,
    manifest_name,
    manifest_names,
    number_of,
    read_manifest,
)
from tacit.engines.lake.storage import Storage
from tacit.engines.lake.versions import remove_unnamed, remove_versions
from tacit.errors import EngineError, UsageError

__all__ = ["Copied", "back_up", "restore", "verify", "versions_of"]


class Copied(NamedTuple):
    """The result of a copy: the newest version, files and bytes."""

    version: int
    files: int
    bytes: int


def versions_of(storage: Storage) -> list[Manifest]:
    """Return all versions that can be restored, oldest first; those before the last deletion are being removed."""
    versions = []
    for name in manifest_names(storage):
        with suppress(FileNotFoundError):  # another process has removed it in the meantime
            versions.append(read_manifest(storage, name))
    return [version for version in versions if version.number >= versions[-1].since]


def existing_versions(storage: Storage) -> list[Manifest]:
    """Return all readable versions, oldest first; refuse a place without a lake."""
    versions = versions_of(storage)
    if not versions:
        message = "There is no lake at this place. Name the folder or address of one."  # its address may contain a key
        raise UsageError(message, code="no-store")
    return versions


def verify(storage: Storage) -> list[str]:
    """Return the problems of a lake's files: missing, altered or misplaced."""
    problems, checked = [], set()
    before: Manifest | None = None
    for version in versions_of(storage):
        if before is not None and before.number + 1 == version.number and version.previous != before.digest:
            problems.append(f"version {version.number} does not follow version {before.number}")
        for file in version.files():
            if file not in checked:  # with its digest: versions may state different ones
                checked.add(file)
                problems += _problem_of(storage, file)
        before = version
    return problems


def _problem_of(storage: Storage, file: Stored) -> list[str]:
    try:
        content = storage.read(file.name)
    except FileNotFoundError:
        return [f"{file.name} is missing"]
    is_whole = len(content) == file.bytes and digest_of(content) == file.digest
    return [] if is_whole else [f"{file.name} was altered"]


def back_up(source: Storage, target: Storage) -> Copied:
    """Copy the files that a backup lacks; return a summary."""
    versions = existing_versions(source)
    known = versions_of(target)
    _refuse_unlike(source, versions, target, known)
    have = {file.name for version in known for file in version.files()}
    numbers, files, size = {version.number for version in known}, 0, 0
    for version in versions:
        if version.number in numbers:
            continue
        try:
            for file in version.files():
                if file.name not in have:
                    _copy(source, target, file)
                    have.add(file.name)
                    files, size = files + 1, size + file.bytes
            name = manifest_name(version.number)
            target.create(name, source.read(name))
        except (EngineError, FileNotFoundError):
            if version.number >= versions_of(source)[-1].since:
                raise
            return back_up(source, target)  # a deletion has ended this version in the meantime
    _follow_deletions(target, versions[-1].since)
    return Copied(versions[-1].number, files, size)


def _refuse_unlike(source: Storage, versions: Sequence[Manifest], target: Storage, known: Sequence[Manifest]) -> None:
    """Refuse a target that is the lake itself, or a backup of another lake or of another history of this one."""
    if source.uri("") == target.uri(""):
        message = "The target is the lake itself. Name another folder or address."
        raise UsageError(message, code="another-lake")
    if known and known[-1].identity != versions[-1].identity:
        message = "The target is the backup of another lake. Name another one."
        raise UsageError(message, code="another-lake")
    digests = {version.number: version.digest for version in known}
    if any(digests.get(version.number, version.digest) != version.digest for version in versions):
        message = (
            "The lake was restored to an earlier version and has changed since, so this backup has other versions of "
            "the same numbers. Name a new target, and keep this one as long as you may need it."
        )
        raise UsageError(message, code="another-lake")


def _copy(source: Storage, target: Storage, file: Stored) -> None:
    """Copy a file after checking its digest."""
    try:
        content = source.read(file.name)
    except FileNotFoundError:
        content = b""
    if digest_of(content) != file.digest:
        message = f"{file.name} is missing or was altered, so it was not copied. Restore it from an earlier backup."
        raise EngineError(message, code="damaged-store")
    try:
        target.create(file.name, content)
    except FileExistsError:  # left by an interrupted copy
        if digest_of(target.read(file.name)) != file.digest:
            target.remove(file.name)
            target.create(file.name, content)


def _follow_deletions(target: Storage, since: int) -> None:
    """Remove versions before the last deletion, and the files that only they name."""
    remove_versions(target, [name for name in manifest_names(target) if number_of(name) < since])
    remove_unnamed(target)


def restore(backup: Storage, target: Storage, *, version: int | None = None, time: str | None = None) -> Copied:
    """Copy one version to an empty place: the given one, the last one at a time (ISO 8601, UTC), or the newest."""
    if manifest_names(target):
        message = "There is a lake at the target already. Name an empty folder."
        raise UsageError(message, code="not-empty")
    chosen = versions_of(backup)
    if version is not None:
        chosen = [copy for copy in chosen if copy.number == version]
    if time is not None:
        chosen = [copy for copy in chosen if copy.time <= time]
    if not chosen:
        message = "The backup has no such version. `tacit lake versions` lists those that it has."
        raise UsageError(message, code="no-such-version")
    wanted = chosen[-1]
    files = {file.name: file for file in wanted.files()}
    for file in files.values():
        _copy(backup, target, file)
    name = manifest_name(wanted.number)
    target.create(name, backup.read(name))
    return Copied(wanted.number, len(files), sum(file.bytes for file in files.values()))
