"""Routes for operators and auditors: an archive of everything, and the log."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from starlette.responses import Response, StreamingResponse

from tacit.server.archive import export_store
from tacit.server.http.endpoints import Call, Endpoint, Server
from tacit.server.store.folder import UNFINISHED

__all__ = ["OPERATIONS"]

PIECE = 1 << 20
"""Bytes of an archive that are sent at once."""


async def export(server: Server, call: Call) -> Response:
    """Send an archive of the store; its temporary file is already unlinked when the first byte is sent."""
    asker = call.key.name if call.key else ""

    def make_archive() -> BinaryIO:
        with tempfile.TemporaryDirectory(dir=server.collector.folder, prefix=UNFINISHED) as folder:
            path = Path(folder) / "archive"
            export_store(server.collector, path, asker=asker)
            return path.open("rb")

    file = await asyncio.to_thread(make_archive)
    headers = {"Content-Length": str(os.fstat(file.fileno()).st_size)}
    return StreamingResponse(_pieces(file), media_type="application/zip", headers=headers)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE):
            yield piece


async def log(server: Server, call: Call) -> Response:
    """Send the log."""
    del call
    lines = await asyncio.to_thread(server.collector.log.lines)
    return Response("".join(f"{line}\n" for line in lines), media_type="application/x-ndjson")


OPERATIONS = (
    Endpoint(
        "POST",
        "/v1/export",
        export,
        "An archive of everything, for tacit import.",
        "admin",
        takes={},
        returns="application/zip",
    ),
    Endpoint(
        "GET",
        "/v1/log",
        log,
        "The log of keys, contracts, questions and deletions; each line has the hash of the previous one.",
        "audit",
        returns="application/x-ndjson",
    ),
)
