"""HTTP requests to a collector: JSON, without redirects, and how to treat each response."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from tacit.errors import UsageError

__all__ = ["PROTOCOL", "Answered", "Transport", "connect"]

PROTOCOL = 1
"""Version of the HTTP protocol, the member tacit of every request."""

MOST_BYTES = 1 << 20
"""Maximum bytes of a response: contracts are below 256 KiB."""

SLOWEST = 250_000
"""Bytes a second of the largest response, which a dictionary of 64 MiB takes less than five minutes with; one that
comes more slowly is given up, however steadily it comes."""


@dataclass(frozen=True)
class Answered:
    """A response: its status (0 if there was none), its bytes, and the seconds to wait before a retry."""

    status: int
    content: bytes = b""
    retry_after: float = 0.0

    @property
    def data(self) -> Any:
        """The response as JSON, or None."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            return None

    @property
    def code(self) -> str:
        """The stable code of an error."""
        data = self.data
        code = data.get("code") if isinstance(data, dict) else None
        return code if isinstance(code, str) and len(code) <= 64 else ""

    @property
    def is_final(self) -> bool:
        """Whether a retry would give the same result."""
        return 400 <= self.status < 500 and self.status not in (408, 429)


class Transport:
    """Sends requests to one collector."""

    def __init__(self, url: str, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            message = "A collector's address starts with https:// (or http:// on this machine)."
            raise UsageError(message, code="bad-option")
        if parts.scheme == "http" and not local:
            message = "Reports and keys leave this machine over https only."
            raise UsageError(message, code="no-tls")
        self.url = url.rstrip("/")
        self._parts, self._timeout = parts, timeout

    def get(self, path: str, most: int = MOST_BYTES) -> Answered:
        """Fetch a resource with a limit on its size."""
        return self._ask("GET", path, None, most)

    def post(self, path: str, body: str) -> Answered:
        """Send a POST request."""
        return self._ask("POST", path, body.encode())

    def _ask(self, method: str, path: str, body: bytes | None, most: int = MOST_BYTES) -> Answered:
        connection = connect(self._parts, self._timeout)
        sockets, is_late = list[socket.socket](), threading.Event()
        deadline = threading.Timer(self._timeout + most / SLOWEST, _interrupt, [sockets, is_late])
        deadline.daemon = True
        try:
            connection.connect()
            sockets.append(connection.sock)  # which the connection forgets once the head of a response is there
            with contextlib.suppress(RuntimeError):  # no thread starts while the interpreter ends
                deadline.start()
            headers = {"Content-Type": "text/plain;charset=UTF-8"} if body is not None else {}
            connection.request(method, self._parts.path.rstrip("/") + path, body, headers)
            response = connection.getresponse()
            content = response.read(most)
            if (response.length and len(content) < most) or is_late.is_set():
                return Answered(0)  # the connection ended early
            after = response.getheader("Retry-After", "")
            seconds = min(3600.0, float(after)) if after.isascii() and after.isdigit() else 0.0
            return Answered(response.status, content, seconds)
        except (OSError, http.client.HTTPException):
            return Answered(0)
        finally:
            deadline.cancel()
            connection.close()


def _interrupt(sockets: Iterable[socket.socket], is_late: threading.Event) -> None:
    """End the connections of sockets; whoever reads from them sees their end, and before that why."""
    is_late.set()
    for connected in sockets:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(
                connected, socket.SHUT_RDWR
            )  # also below TLS, whose own would fail in another thread


def connect(address: SplitResult, seconds: float) -> http.client.HTTPConnection:
    """Return a new connection to an address, encrypted if that starts with https; it waits for at most ``seconds``."""
    host, port = str(address.hostname), address.port
    if address.scheme == "https":
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, port, timeout=seconds, context=context)
    return http.client.HTTPConnection(host, port, timeout=seconds)
