"""A connection's bytes: whole messages within limits of size and time, and TLS when the client asks for it."""

from __future__ import annotations

import asyncio
import ssl
import struct
from contextlib import suppress

from tacit.adapters.pgwire.messages import ProtocolError

__all__ = ["Closed", "Stream"]

BUFFER = 1 << 16
"""Bytes that are read ahead; then the client waits."""

HANDSHAKE_SECONDS = 10.0


class Closed(Exception):  # noqa: N818  it is no mistake
    """The other side has gone."""


class Stream(asyncio.Protocol):
    """Bytes of one connection.

    Parameters
    ----------
    made : function
        Called with the stream when somebody connects.
    """

    def __init__(self, made: object) -> None:
        self._made = made
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
        """Begin."""
        is_first = self._transport is None
        self._transport = transport  # type: ignore[assignment]
        if is_first and callable(self._made):
            self._made(self)

    def data_received(self, data: bytes) -> None:
        """Keep what came; let the client wait if it is much."""
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
        """Take the end of what comes for the end of the connection."""
        self.connection_lost(None)
        return False

    def pause_writing(self) -> None:
        """Wait before writing more."""
        self._room.clear()

    def resume_writing(self) -> None:
        """Write on."""
        self._room.set()

    async def read(self, count: int) -> bytes:
        """Return a number of bytes; raise `Closed` if the stream ends first."""
        while len(self._buffer) < count:
            if self._is_over:
                raise Closed
            self._news.clear()
            with suppress(RuntimeError):  # it reads already
                self.transport.resume_reading()
            await self._news.wait()
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    async def startup(self, most: int) -> bytes:
        """Return the content of a first message, which has no kind."""
        (length,) = struct.unpack("!i", await self.read(4))
        if not 8 <= length <= most:
            message = "What came is no message of the PostgreSQL protocol."
            raise ProtocolError(message)
        return await self.read(length - 4)

    async def message(self, most: int, seconds: float, *, idle: float | None = None) -> tuple[str, bytes]:
        """Return the kind and content of a message; once it has begun it must be whole within some seconds."""
        async with asyncio.timeout(idle):
            kind = await self.read(1)
        async with asyncio.timeout(seconds):
            (length,) = struct.unpack("!i", await self.read(4))
            if not 4 <= length <= most:
                message = f"A message has at most {most:,} bytes."
                raise ProtocolError(message, "54000")
            return kind.decode("latin-1"), await self.read(length - 4)

    async def start_tls(self, context: ssl.SSLContext) -> None:
        """Go on with TLS; nothing may have come before it, or somebody in between could have sent it."""
        if self._buffer:
            message = "Bytes came before TLS was agreed."
            raise ProtocolError(message)
        loop = asyncio.get_running_loop()
        self.transport.pause_reading()
        self.transport.write(b"S")
        try:
            made = await loop.start_tls(
                self.transport, self, context, server_side=True, ssl_handshake_timeout=HANDSHAKE_SECONDS
            )
        except (OSError, asyncio.CancelledError):
            raise Closed from None
        if made is None:
            raise Closed
        self._transport = made

    def write(self, content: bytes) -> None:
        """Send bytes, when there is room."""
        if not self._is_over:
            self.transport.write(content)

    async def drain(self, seconds: float) -> None:
        """Wait until the client has taken most of what was sent; give it up if it does not."""
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
        """End the connection at once, whatever was not sent."""
        if self._transport is not None:
            self._transport.abort()
