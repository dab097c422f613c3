"""Connections before there is a request: heads that are too long, too slow or not HTTP are problems, too."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["HEAD_BYTES", "Connection"]

HEAD_BYTES = 16 << 10
HEAD_SECONDS = 30.0
"""In which a request's head must have arrived once it has begun, and the first one at all."""


class Connection(H11Protocol):
    """As uvicorn's, with a limit of time, and with problem+json for what is not HTTP."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for a request."""
        super().connection_made(transport)
        self._late = self.loop.call_later(HEAD_SECONDS, transport.close)

    def data_received(self, data: bytes) -> None:
        """Read on; the time of a head runs until it is whole."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, or whose head is too long."""
        detail = f"{msg} The head of a request has at most {HEAD_BYTES >> 10} KiB."
        problem = {"type": "urn:tacit:bad-request", "title": "BadRequest", "status": 400, "detail": detail}
        content = json.dumps(problem | {"code": "bad-request"}).encode()
        headers = [
            (b"content-type", b"application/problem+json"),
            (b"content-length", str(len(content)).encode()),
            (b"connection", b"close"),
        ]
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            for event in (h11.Response(status_code=400, headers=headers), h11.Data(data=content), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
