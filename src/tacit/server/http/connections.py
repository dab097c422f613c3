"""Connections before there is a request: heads that are too long, too slow or not HTTP are problems, too."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter
from typing import Any, ClassVar, Literal

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from tacit.server.http.bodies import MOST_BYTES

__all__ = ["HEAD_BYTES", "Connection"]

HEAD_BYTES = 16 << 10
HEAD_SECONDS = 30.0
"""In which a request's head must have arrived once it has begun, and the first one at all."""


SECONDS_BETWEEN = 1.0
"""Between two lines of the log about connections that were refused."""

LOG = logging.getLogger("tacit.server")


class Connection(HttpToolsProtocol):
    """As uvicorn's, with limits of number, time and size, and with problem+json for what is not HTTP."""

    most: ClassVar[int | None] = None
    """Connections at a time. More would take the descriptors that the store needs to write and to read."""

    refused: ClassVar[Counter[str]] = Counter()
    """Connections that were closed before there was a request, by the code of the error."""

    _said: ClassVar[float] = 0.0

    _late: asyncio.TimerHandle | None = None
    _place: Literal["head", "body", "end"] = "head"
    _all_head = True
    """Whether everything that has just come belongs to one head."""

    _bytes = 0
    """Of a head that is not whole yet, or of what comes with a body and is none: lengths of chunks, trailers."""

    def connection_made(self, transport: Any) -> None:
        """Wait for a request, unless there are too many connections already."""
        super().connection_made(transport)
        self._wait()
        if self.most is not None and len(self.connections) > self.most:
            self._refuse("too-many-connections", f"All {self.most} connections are in use. Try again in a moment.")

    def data_received(self, data: bytes) -> None:
        """Read on; time and size of a head count until it is whole."""
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
            self._wait()  # it was answered early; what is left of the body may not take for ever
        else:
            self._stop_waiting()
        if self._bytes > (HEAD_BYTES if self._place == "head" else MOST_BYTES):
            self.send_400_response("This is not a valid HTTP request.")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a field of the head; those after a body are nobody's."""
        if self._place == "head":
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._bytes = max(0, self._bytes - len(body))
        super().on_body(body)

    def on_message_begin(self) -> None:
        """Read a head."""
        super().on_message_begin()
        self._place = "head"

    def on_headers_complete(self) -> None:
        """Go on with the body."""
        super().on_headers_complete()
        self._place, self._all_head, self._bytes = "body", False, 0

    def on_message_complete(self) -> None:
        """Let the next request come."""
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
        """Answer what is not HTTP, or whose head is too long."""
        detail = f"{msg} Request headers may have at most {HEAD_BYTES >> 10} KiB."
        problem = {"type": "urn:tacit:bad-request", "title": "BadRequest", "status": 400, "detail": detail}
        self.refused["bad-request"] += 1
        about_this = self._place == "body" and not self.pipeline and not self.cycle.response_started
        if self.cycle is None or self.cycle.response_complete or about_this:  # not while another is being answered
            self.transport.write(STATUS_LINE[400] + _head_and_body(problem | {"code": "bad-request"}))
        self.transport.close()

    def _refuse(self, code: str, detail: str) -> None:
        """Answer that there is no room now, and hang up."""
        problem = {"type": f"urn:tacit:{code}", "title": "Overloaded", "status": 503, "detail": detail, "code": code}
        self.refused[code] += 1
        if time.monotonic() - Connection._said > SECONDS_BETWEEN:
            Connection._said = time.monotonic()
            LOG.error("outage", {"code": code, "message": detail})
        self.transport.write(STATUS_LINE[503] + b"retry-after: 1\r\n" + _head_and_body(problem))
        self.transport.close()


def _head_and_body(problem: dict[str, Any]) -> bytes:
    content = json.dumps(problem).encode()
    head = f"content-type: application/problem+json\r\ncontent-length: {len(content)}\r\nconnection: close\r\n\r\n"
    return head.encode() + content
