"""Routes for operators and auditors: an archive of everything, and the log."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import BinaryIO

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

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

    return Archive(await asyncio.to_thread(make_archive))


class Archive(Response):
    """An archive, sent piece by piece; Starlette's own response needs memory for libraries and threads first."""

    media_type = "application/zip"

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        super().__init__(headers={"Content-Length": str(os.fstat(file.fileno()).st_size)})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the archive, unless the client leaves."""
        del scope
        with self._file as file:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            gone, sent = asyncio.ensure_future(_wait_until_gone(receive)), 0
            try:
                while not gone.done() and (piece := await _read(file, sent)):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    sent += len(piece)
            finally:
                gone.cancel()
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _wait_until_gone(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _read(file: BinaryIO, place: int) -> bytes:
    """Return the piece at a place; where no thread can be started, the event loop waits for the disk.

    A thread may still read the piece afterwards, so reading moves nothing.
    """
    try:
        return await asyncio.to_thread(os.pread, file.fileno(), PIECE, place)
    except RuntimeError:
        return os.pread(file.fileno(), PIECE, place)


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
