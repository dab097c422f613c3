"""A proxy that loses, delays, cuts and doubles requests and answers, between a client and a collector."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Awaitable, Callable

__all__ = ["FaultProxy"]

GATEWAY = (
    b"HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: 11\r\nconnection: close\r\n\r\n<h1>no</h1>"
)
LONGEST_DELAY = 0.3


class FaultProxy:
    """Listens on a port of its own; every request meets one of the `WAYS`, at random."""

    def __init__(self, port: int, seed: int, *, calm: float = 0.3) -> None:
        self.target, self._calm, self._source = port, calm, random.Random(seed)
        self.met: Counter[str] = Counter()
        self.port = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready, self._ended = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._ready.wait()

    def _run(self) -> None:
        asyncio.run(self._listen())

    async def _listen(self) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port, self._loop = server.sockets[0].getsockname()[1], asyncio.get_running_loop()
        self._ready.set()
        await self._ended.wait()
        server.close()

    def close(self) -> None:
        """Stop listening."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(10)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await asyncio.wait_for(_read_request(reader), 30)
            way = "pass" if self._source.random() < self._calm else self._source.choice(sorted(WAYS))
            self.met[way] += 1
            await WAYS[way](self, request, writer)
        except (OSError, asyncio.IncompleteReadError, TimeoutError, ValueError):
            pass
        finally:
            writer.close()

    async def ask(self, request: bytes) -> bytes:
        """Return the collector's answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.target)
        try:
            writer.write(request)
            await writer.drain()
            return await asyncio.wait_for(reader.read(-1), 30)
        finally:
            writer.close()

    async def pass_on(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(await self.ask(request))
        await writer.drain()

    async def delay(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self._source.random() * LONGEST_DELAY)
        answer = await self.ask(request)
        await asyncio.sleep(self._source.random() * LONGEST_DELAY)
        writer.write(answer)
        await writer.drain()

    async def lose_request(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        del request, writer

    async def cut_request(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        del writer
        _, other = await asyncio.open_connection("127.0.0.1", self.target)
        other.write(request[: self._source.randrange(len(request))])
        await other.drain()
        other.close()

    async def lose_answer(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        del writer
        await self.ask(request)

    async def cut_answer(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        answer = await self.ask(request)
        writer.write(answer[: self._source.randrange(max(1, len(answer)))])
        await writer.drain()

    async def send_twice(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        first, second = await asyncio.gather(self.ask(request), self.ask(request))
        writer.write(self._source.choice((first, second)))
        await writer.drain()

    async def repeat_later(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(await self.ask(request))
        await writer.drain()
        writer.close()
        await asyncio.sleep(self._source.random())
        await self.ask(request)

    async def fail_as_gateway(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        if self._source.random() < 0.5:
            await self.ask(request)
        writer.write(GATEWAY)
        await writer.drain()


WAYS: dict[str, Callable[[FaultProxy, bytes, asyncio.StreamWriter], Awaitable[None]]] = {
    "delay": FaultProxy.delay,
    "lose request": FaultProxy.lose_request,
    "cut request": FaultProxy.cut_request,
    "lose answer": FaultProxy.lose_answer,
    "cut answer": FaultProxy.cut_answer,
    "send twice": FaultProxy.send_twice,
    "repeat later": FaultProxy.repeat_later,
    "gateway error": FaultProxy.fail_as_gateway,
    "pass": FaultProxy.pass_on,
}


async def _read_request(reader: asyncio.StreamReader) -> bytes:
    """Return one request, changed so that the collector closes the connection after its answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head[:-4].split(b"\r\n")
    fields = dict(line.lower().split(b":", 1) for line in lines[1:])
    body = await reader.readexactly(int(fields.get(b"content-length", b"0")))
    kept = [line for line in lines if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*kept, b"Connection: close", b"", b""]) + body
