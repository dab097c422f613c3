"""A whole store in one file: copied while the collector runs, and restored completely or not at all.

An archive is a zip of the store's files and a manifest with their hashes; a lake is copied by `tacit lake backup`.
While it is made, reports are accepted and questions wait. It contains everything acknowledged before it was requested,
and a prefix of what arrives meanwhile.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import logging
import lzma
import os
import shutil
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tacit.adapters.connect import connect
from tacit.contract.hash_chain import Head, read_chain
from tacit.engines.failures import REMEDIES, failure_code
from tacit.errors import EngineError, OverloadedError, UsageError
from tacit.server.collector import Collector
from tacit.server.keys import KeyFile
from tacit.server.store.log import Log
from tacit.server.store.verification import verify_inbox

__all__ = ["export_database", "export_store", "restore"]

FORMAT = 1
"""Version of the format of archives."""

MEMBERS = ("inbox.db", "reports.tacit", "log.db", "keys.json", "tombstones.key")
"""Only stores before version 4 have the last one."""

NEEDED = {"store": {"inbox.db", "log.db"}, "database": {"reports.tacit"}}
"""Files without which an archive of a kind is not whole; a store's analytical database may be a lake."""

PIECE = 1 << 20
"""Bytes read at once, and maximum bytes of a manifest."""

LOG = logging.getLogger("tacit.server")

FAILURES = (
    *(OSError, LookupError, TypeError, AttributeError, ValueError),
    *(RuntimeError, EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""What reading an archive raises that is damaged, or of another program: one with a password, or nested without end."""

LACKS = ("disk-full", "out-of-memory", "too-many-files")
"""Codes of failures to restore a sound archive."""


def export_store(collector: Collector, target: Path, *, asker: str = "") -> None:
    """Write an archive of an open store, and record it in the log."""
    if collector.is_elsewhere:
        message = "Reports are stored in PostgreSQL. Copy them with pg_dump, and copy the folder."
        raise EngineError(message, code="kept-elsewhere")
    collector.log.add("exported", key=asker)
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        work = Path(name)
        with collector.still():  # nothing moves between files or is deleted while they are copied
            _copy_sqlite(collector.folder / "inbox.db", work / "inbox.db")
            if not collector.analytical.is_lake:
                collector.database.copy_to(work / "reports.tacit")
            _copy_sqlite(collector.folder / "log.db", work / "log.db")
        if (collector.folder / "keys.json").exists():
            shutil.copyfile(collector.folder / "keys.json", work / "keys.json")
        head = _head_of(work / "log.db")
        about = {"kind": "store", "log": {"entries": head.entries, "head": head.hash}}
        _pack(work, target, about | _check_digests(work / "inbox.db"))


def _head_of(log: Path) -> Head:
    """Return where the copied log ends; the collector's own log may have grown since."""
    with contextlib.closing(sqlite3.connect(log)) as file:
        return read_chain([line for (line,) in file.execute("SELECT line FROM log ORDER BY number")]).head


def _check_digests(inbox: Path) -> dict[str, int]:
    """Check all reports of a copy against their digests; damaged ones stay marked and are never counted."""
    with contextlib.closing(sqlite3.connect(inbox)) as file:
        checked = verify_inbox(file)
    for problem in checked.problems:
        LOG.error("the exported inbox is damaged: %s", problem)
    return {"reports": checked.reports, "damaged": checked.damaged}


def export_database(path: Path, target: Path) -> None:
    """Write an archive of a database file."""
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        database = connect(path)
        try:
            database.copy_to(Path(name) / "reports.tacit")
        finally:
            database.close()
        _pack(Path(name), target, {"kind": "database"})


def _copy_sqlite(source: Path, target: Path) -> None:
    """Copy an SQLite file consistently while others write to it."""
    with contextlib.closing(sqlite3.connect(source)) as original, contextlib.closing(sqlite3.connect(target)) as copied:
        original.backup(copied)


def _pack(work: Path, target: Path, about: Mapping[str, Any]) -> None:
    files = sorted(path for path in work.iterdir() if path.name in MEMBERS)
    time = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    manifest = {"tacit-archive": FORMAT, "made": time, "files": {path.name: _hash(path) for path in files}, **about}
    packed = work / "archive"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("manifest.json", json.dumps(manifest, indent=1))
        for path in files:
            archive.write(path, path.name)
    packed.chmod(0o600)
    _sync(packed)
    packed.replace(target)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def restore(archive: Path, target: Path) -> dict[str, Any]:
    """Restore a store or a database file from an archive; return its manifest. Never overwrites anything."""
    if target.exists() and (target.is_file() or any(target.iterdir())):
        message = f"{target.name!r} exists. Choose a new path; an archive is never merged into an existing store."
        raise UsageError(message, code="already-there")
    with _workplace(target) as name:
        work = Path(name) / "whole"
        work.mkdir(mode=0o700)
        manifest = _unpack(archive, work)
        if manifest["kind"] == "database":
            (work / "reports.tacit").replace(target)
            return manifest
        _check_files(work)
        _record(work, manifest)
        if target.exists():
            target.rmdir()
        work.replace(target)
    return manifest


def _check_files(work: Path) -> None:
    """Refuse files that a collector could not have made; triggers would change what it writes from now on."""
    for name in ("inbox.db", "log.db"):
        with _refusing(), contextlib.closing(sqlite3.connect(work / name)) as file:
            query = "SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index')"
            [(made_otherwise,)] = file.execute(query).fetchall()
        if made_otherwise:
            raise _archive_error(f"{name} has triggers or views, which no collector makes")
    if (work / "keys.json").exists():
        try:
            KeyFile(work / "keys.json").current()
        except UsageError:
            raise _archive_error("its keys cannot be read") from None


def _record(work: Path, manifest: Mapping[str, Any]) -> None:
    """Check the log against the manifest, and add to it."""
    with _refusing():
        log = Log(work / "log.db")
        try:
            recorded = log.read().since(Head(manifest["log"]["entries"], manifest["log"]["head"]))
            if not recorded.ok:
                raise _archive_error("its log is broken")
            log.add("restored", made=manifest["made"])
        finally:
            log.close()


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """Refuse an archive whose SQLite files fail."""
    try:
        yield
    except (sqlite3.Error, OverloadedError) as cause:
        raise _refusal(cause) from None


def _workplace(target: Path) -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder on the target's disk."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(dir=target.parent)
    except OSError as cause:
        message = f"{target.name!r} cannot be written: {cause.strerror}. Choose a folder that you can write to."
        raise UsageError(message, code="unwritable-file") from None


def _unpack(archive: Path, work: Path) -> dict[str, Any]:
    """Unpack the files listed in a manifest, and check their hashes."""
    try:
        with zipfile.ZipFile(archive) as file:
            if file.getinfo("manifest.json").file_size > PIECE:
                raise _archive_error("its manifest is too large")
            manifest: dict[str, Any] = json.loads(file.read("manifest.json"))
            _check_manifest(manifest)
            _check_space(sum(file.getinfo(name).file_size for name in manifest["files"]), work)
            for name, expected in manifest["files"].items():
                with file.open(name) as source, (work / name).open("wb") as copy:
                    shutil.copyfileobj(source, copy, PIECE)
                (work / name).chmod(0o600)
                _sync(work / name)
                if _hash(work / name) != expected:
                    raise _archive_error("the hash of a file does not match")
    except FAILURES as cause:
        if isinstance(cause, UsageError):
            raise
        raise _refusal(cause) from None
    return manifest


def _check_manifest(manifest: dict[str, Any]) -> None:
    """Refuse a manifest that `_pack` did not write; somebody else may have."""
    if manifest.get("tacit-archive") != FORMAT:
        raise _archive_error("its version is not supported")
    if not set(manifest["files"]) <= set(MEMBERS):
        raise _archive_error("it lists an unexpected file")
    if not NEEDED[manifest["kind"]] <= set(manifest["files"]):
        raise _archive_error("it lacks a file")
    datetime.datetime.fromisoformat(manifest["made"])
    counts = [manifest.get("reports", 0), manifest.get("damaged", 0)]
    if manifest["kind"] == "store":
        counts.append(manifest["log"]["entries"])
        bytes.fromhex(manifest["log"]["head"])
    if not all(type(count) is int and count >= 0 for count in counts):
        raise _archive_error("a count of its manifest is not a whole number")


def _check_space(size: int, work: Path) -> None:
    """Refuse an archive that would fill the disk; a small one can hold a file of any size."""
    free = shutil.disk_usage(work).free
    if size > free:
        message = f"The archive unpacks to {size:,} bytes, and {free:,} are free. Choose a folder on a larger disk."
        raise UsageError(message, code="unwritable-file")


def _refusal(cause: Exception) -> UsageError:
    """Return why an archive was not restored; what this machine lacks is no fault of the archive."""
    code = cause.code if isinstance(cause, OverloadedError) else failure_code(cause)
    if code in LACKS:
        message = f"The archive cannot be restored here ({code}). Nothing was written. {REMEDIES[code]}"
        return UsageError(message, code=code)
    return _archive_error(type(cause).__name__)


def _archive_error(why: str) -> UsageError:
    message = f"The archive cannot be used ({why}). Nothing was written. Use another copy."
    return UsageError(message, code="damaged-archive")
