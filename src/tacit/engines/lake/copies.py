"""Back up and restore a lake by copying files.

Files that the target already has are not copied again. A backup holds every version since the previous backup, and any
of them can be restored. Deletions are copied too: versions before a deletion are removed from the backup, because they
contain the person's reports.
"""

from __future__ import annotations

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
from tacit.errors import EngineError, UsageError

__all__ = ["Copied", "back_up", "restore", "verify", "versions_of"]


class Copied(NamedTuple):
    """The result of a copy: the newest version, files and bytes."""

    version: int
    files: int
    bytes: int


def versions_of(storage: Storage) -> list[Manifest]:
    """Return all readable versions, oldest first."""
    return [read_manifest(storage, name) for name in manifest_names(storage)]


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
    if known and known[-1].identity != versions[-1].identity:
        message = "The target is the backup of another lake. Name another one."
        raise UsageError(message, code="another-lake")
    have = {file.name for version in known for file in version.files()}
    numbers, files, size = {version.number for version in known}, 0, 0
    for version in versions:
        if version.number in numbers:
            continue
        for file in version.files():
            if file.name not in have:
                _copy(source, target, file)
                have.add(file.name)
                files, size = files + 1, size + file.bytes
        name = manifest_name(version.number)
        target.create(name, source.read(name))
    _follow_deletions(target, versions[-1].since)
    return Copied(versions[-1].number, files, size)


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
    ended = [name for name in manifest_names(target) if number_of(name) < since]
    gone = {file.name for name in ended for file in read_manifest(target, name).files()}
    for name in ended:
        target.remove(name)
    for name in sorted(gone - {file.name for version in versions_of(target) for file in version.files()}):
        target.remove(name)


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
