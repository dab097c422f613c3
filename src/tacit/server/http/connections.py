"""Connections before a request exists: headers that are too long, too slow or not HTTP get a problem response."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter
from typing import Any, ClassVar, Literal

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from tacit.server.http.bodies import MOST_BYTES

__all__ = ["HEAD_BYTES", "HttpConnection"]

HEAD_BYTES = 16 << 10
"""Maximum bytes of a request's line and headers."""

HEAD_SECONDS = 30.0
"""Seconds within which a started request's headers must arrive, and the first request at all."""


SECONDS_BETWEEN = 1.0
"""Seconds between two log lines about refused connections."""

LOG = logging.getLogger("tacit.server")


class HttpConnection(HttpToolsProtocol):
    """uvicorn's protocol with limits on number, time and size, and problem+json for requests that are not HTTP."""

    most: ClassVar[int | None] = None
    """Maximum number of connections. More would use file descriptors that the store needs."""

    refused: ClassVar[Counter[str]] = Counter()
    """Connections closed before a request, by error code."""

    _last_logged: ClassVar[float] = 0.0

    _late: asyncio.TimerHandle | None = None
    _place: Literal["head", "body", "end"] = "head"
    _all_head = True
    """Whether all bytes just received belong to one request head."""

    _bytes = 0
    """Bytes of an incomplete head, or of chunk lengths and trailers."""

    def connection_made(self, transport: Any) -> None:
        """Wait for a request, unless there are too many connections."""
        super().connection_made(transport)
        self._wait()
        if self.most is not None and len(self.connections) > self.most:
            self._refuse("too-many-connections", f"All {self.most} connections are in use. Try again in a moment.")

    def data_received(self, data: bytes) -> None:
        """Read bytes; limits on time and size apply until the head is complete."""
        if self._place == "end":
            self._place = "head"
        self._all_head = self._place == "head"
        if self._place == "body":
            self._bytes += len(data)
        try:
            super().data_received(data)
        except MemoryError:
            self._refuse("out-of-memory", "Not enough memory for this request. Try again in a moment.")
        if self.transport.is_closing():
            self._stop_waiting()
        elif self._place == "head":
            self._wait()
            self._bytes += len(data) if self._all_head else 0
        elif self._place == "body" and self.cycle.response_complete:
            self._wait()  # answered early; limit the time for the rest of the body
        else:
            self._stop_waiting()
        if self._bytes > (HEAD_BYTES if self._place == "head" else MOST_BYTES):
            self.send_400_response("This is not a valid HTTP request.")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header field; those after a body are ignored."""
        if self._place == "head":
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Receive a part of the body."""
        self._bytes = max(0, self._bytes - len(body))
        super().on_body(body)

    def on_message_begin(self) -> None:
        """Receive a complete head."""
        super().on_message_begin()
        self._place = "head"

    def on_headers_complete(self) -> None:
        """Continue with the body."""
        super().on_headers_complete()
        self._place, self._all_head, self._bytes = "body", False, 0

    def on_message_complete(self) -> None:
        """Allow the next request."""
        super().on_message_complete()
        self._place, self._bytes = "end", 0

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def send_400_response(self, msg: str) -> None:
        """Answer requests that are not HTTP, or whose head is too long."""
        detail = f"{msg} Request headers may have at most {HEAD_BYTES >> 10} KiB."
        problem = {"type": "urn:tacit:bad-request", "title": "BadRequest", "status": 400, "detail": detail}
        self.refused["bad-request"] += 1
        about_this = self._place == "body" and not self.pipeline and not self.cycle.response_started
        if self.cycle is None or self.cycle.response_complete or about_this:  # not while another one is being answered
            self.transport.write(STATUS_LINE[400] + _head_and_body(problem | {"code": "bad-request"}))
        self.transport.close()

    def _refuse(self, code: str, detail: str) -> None:
        """Answer that the server is overloaded, and close the connection."""
        problem = {"type": f"urn:tacit:{code}", "title": "Overloaded", "status": 503, "detail": detail, "code": code}
        self.refused[code] += 1
        if time.monotonic() - HttpConnection._last_logged > SECONDS_BETWEEN:
            HttpConnection._last_logged = time.monotonic()
            LOG.error("outage", {"code": code, "message": detail})
        self.transport.write(STATUS_LINE[503] + b"retry-after: 1\r\n" + _head_and_body(problem))
        self.transport.close()


def _head_and_body(problem: dict[str, Any]) -> bytes:
    content = json.dumps(problem).encode()
    head = f"content-type: application/problem+json\r\ncontent-length: {len(content)}\r\nconnection: close\r\n\r\n"
    return head.encode() + content
