"""The work of `tacit export`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import tempfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from tacit.adapters.remote.address import find_key
from tacit.client.transport import Transport
from tacit.errors import EngineError, UsageError
from tacit.server.archive import export_database, export_store
from tacit.server.collector import Collector
from tacit.tables.places import place_text

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Write the archive."""
    target: Path = options.file
    if target.exists():
        message = f"{target.name!r} exists. Name a new file."
        raise UsageError(message, code="already-there")
    _check_writable(target)
    if options.store.startswith(("http://", "https://")):
        _fetch(options.store, find_key(options.key, options.key_file), target)
    elif Path(options.store).is_file():
        export_database(Path(options.store), target)
    elif (Path(options.store) / "inbox.db").is_file():
        _copy(Path(options.store), target, options.lake)
    else:
        message = f"{place_text(options.store)!r} is not a folder of tacit serve, a database file or an address."
        raise UsageError(message, code="no-store")
    size = target.stat().st_size
    print(json.dumps({"file": str(target), "bytes": size}) if options.json else f"{target}: {size:,} bytes")
    return 0


def _check_writable(target: Path) -> None:
    """Check that a file can be created there, without leaving one."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as cause:
        message = f"{target.name!r} cannot be written: {cause.strerror}. Choose a folder that you can write to."
        raise UsageError(message, code="unwritable-file") from None


def _copy(folder: Path, target: Path, lake: str) -> None:
    try:
        collector = Collector(folder, lake=lake)
    except EngineError as cause:
        if cause.code != "store-in-use":
            raise
        message = "A running collector uses this store. Export from it: tacit export http://127.0.0.1:8765 FILE."
        raise UsageError(message, code="store-in-use") from None
    try:
        export_store(collector, target)
    finally:
        collector.close()


def _fetch(address: str, key: str, target: Path) -> None:
    """Download the archive from a running collector."""
    Transport(address)  # refuses addresses that would send the key unencrypted
    body = json.dumps({"tacit": 1} | ({"key": key} if key else {})).encode()
    request = urllib.request.Request(f"{address.rstrip('/')}/v1/export", body, method="POST")  # noqa: S310  checked above
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects())
    part = target.with_name(f"{target.name}.part")
    problem = ""
    try:
        with opener.open(request) as answer, _open_private(part) as file:
            shutil.copyfileobj(answer, file)
        if zipfile.is_zipfile(part):  # its end is there
            part.replace(target)
        else:
            problem = "it was cut off"
    except urllib.error.HTTPError as failure:
        problem = f"{failure.code}, {_code(failure)}"
    except (OSError, http.client.HTTPException) as failure:
        problem = type(failure).__name__
    finally:
        part.unlink(missing_ok=True)
    if problem:
        message = f"The collector sent no archive ({problem}). Check its address, and use a key with the scope admin."
        raise EngineError(message, code="no-archive")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: an archive comes from the address that was named."""

    def redirect_request(self, *_: Any) -> None:
        """Return no other request."""


def _open_private(path: Path) -> BinaryIO:
    """Create a file that only its owner can read: an archive contains people's ids and the secrets that sign tokens."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _code(failure: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(failure.read(10_000))["code"])[:64]
    except (ValueError, LookupError, TypeError, OSError, http.client.HTTPException):
        return "no code"
