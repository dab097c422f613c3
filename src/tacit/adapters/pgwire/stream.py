"""A connection's bytes: whole messages within limits of size and time, and TLS on request."""

from __future__ import annotations

import asyncio
import ssl
import struct
from contextlib import suppress

from tacit.adapters.pgwire.messages import ProtocolError

__all__ = ["Closed", "Stream"]

BUFFER = 1 << 16
"""Maximum bytes read ahead; then the client has to wait."""

HANDSHAKE_SECONDS = 10.0
"""Seconds for the TLS handshake."""


class Closed(Exception):  # noqa: N818  it is no mistake
    """The client has disconnected."""


class Stream(asyncio.Protocol):
    """Bytes of one connection.

    Parameters
    ----------
    announce : function
        Called with the stream when a client connects.
    """

    def __init__(self, announce: object) -> None:
        self._announce = announce
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self.over = asyncio.Event()
        self._is_over = False

    @property
    def transport(self) -> asyncio.Transport:
        """The connection below."""
        if self._transport is None:
            raise Closed
        return self._transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start serving the client."""
        is_first = self._transport is None
        self._transport = transport  # type: ignore[assignment]
        if is_first and callable(self._announce):
            self._announce(self)

    def data_received(self, data: bytes) -> None:
        """Buffer received bytes; pause reading if there are many."""
        self._buffer += data
        if len(self._buffer) > BUFFER:
            with suppress(RuntimeError):  # it is closing
                self.transport.pause_reading()
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake waiting readers and writers."""
        del exc
        self._is_over = True
        self.over.set()
        self._news.set()
        self._room.set()

    def eof_received(self) -> bool:
        """Treat the end of input as the end of the connection."""
        self.connection_lost(None)
        return False

    def pause_writing(self) -> None:
        """Wait before writing more."""
        self._room.clear()

    def resume_writing(self) -> None:
        """Continue writing."""
        self._room.set()

    async def read(self, count: int) -> bytes:
        """Return a number of bytes; raise `Closed` if the stream ends first."""
        while len(self._buffer) < count:
            if self._is_over:
                raise Closed
            self._news.clear()
            with suppress(RuntimeError):  # reading is not paused
                self.transport.resume_reading()
            await self._news.wait()
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    async def startup(self, most: int) -> bytes:
        """Return the content of a first message, which has no kind."""
        (length,) = struct.unpack("!i", await self.read(4))
        if not 8 <= length <= most:
            message = "The received bytes are not a message of the PostgreSQL protocol."
            raise ProtocolError(message)
        return await self.read(length - 4)

    async def message(self, most: int, seconds: float, *, idle: float | None = None) -> tuple[str, bytes]:
        """Return the kind and content of a message; once it has begun it must be complete within ``seconds``."""
        async with asyncio.timeout(idle):
            kind = await self.read(1)
        async with asyncio.timeout(seconds):
            (length,) = struct.unpack("!i", await self.read(4))
            if not 4 <= length <= most:
                message = f"A message has at most {most:,} bytes."
                raise ProtocolError(message, "54000")
            return kind.decode("latin-1"), await self.read(length - 4)

    async def start_tls(self, context: ssl.SSLContext) -> None:
        """Switch to TLS; refuse bytes received before it, which a man in the middle could have sent."""
        if self._buffer:
            message = "Bytes arrived before TLS was negotiated."
            raise ProtocolError(message)
        loop = asyncio.get_running_loop()
        self.transport.pause_reading()
        self.transport.write(b"S")
        try:
            secure = await loop.start_tls(
                self.transport, self, context, server_side=True, ssl_handshake_timeout=HANDSHAKE_SECONDS
            )
        except (OSError, asyncio.CancelledError):
            raise Closed from None
        if secure is None:
            raise Closed
        self._transport = secure

    def write(self, content: bytes) -> None:
        """Send bytes when the client is ready."""
        if not self._is_over:
            self.transport.write(content)

    async def drain(self, seconds: float) -> None:
        """Wait until the client has read most of the sent bytes; abort after ``seconds``."""
        async with asyncio.timeout(seconds):
            await self._room.wait()
        if self._is_over:
            raise Closed

    @property
    def is_local(self) -> bool:
        """Whether the client is on this machine."""
        peer = self.transport.get_extra_info("peername")
        return bool(peer) and str(peer[0]) in ("127.0.0.1", "::1", "::ffff:127.0.0.1")

    def close(self) -> None:
        """End the connection."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once, without sending the rest."""
        if self._transport is not None:
            self._transport.abort()
