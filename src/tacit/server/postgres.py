"""The PostgreSQL protocol on a port of the collector: the same keys, limits, log and counters as over HTTP.

A key's name is the user, and the key is the password. Questions are handled like those of `POST /v1/query`; questions
about the catalog never reach an engine.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from tacit.adapters.pgwire.connection import PgConnection
from tacit.adapters.pgwire.failures import fields_of
from tacit.adapters.pgwire.messages import error
from tacit.adapters.pgwire.questions import AnswerColumn, ParameterizedQuestion, columns_of, stand_ins
from tacit.adapters.pgwire.stream import Stream
from tacit.database import Database
from tacit.errors import AccessError, OverloadedError, TacitError
from tacit.estimate.answer import Answer
from tacit.server.http.endpoints import Server
from tacit.server.http.problems import explain_failure
from tacit.server.keys import AccessKey
from tacit.sql.columns import Shape

__all__ = ["MOST_CONNECTIONS", "Listening", "open_port"]

LOG = logging.getLogger("tacit.requests")

MOST_CONNECTIONS, MOST_UNKNOWN = 100, 60
"""Maximum connections, and maximum connections before login; one more closes the oldest of the latter."""

CATALOG, DESCRIBED = 0.01, 0.1
"""Cost of a catalog step, and of describing a question, in units of a question."""

CATALOG_SECONDS = 2.0
"""Seconds for which the list of tables is cached: tools request it dozens of times in a row."""

T = TypeVar("T")


@dataclass(frozen=True)
class Listening:
    """Where to listen, and with which certificate."""

    socket: socket.socket
    tls: ssl.SSLContext | None = None


@asynccontextmanager
async def open_port(server: Server, listening: Listening | None) -> AsyncIterator[None]:
    """Serve PostgreSQL clients within a context."""
    if listening is None:
        yield
        return
    port = _Port(server, listening)
    serving = await asyncio.get_running_loop().create_server(port.stream, sock=listening.socket)
    try:
        yield
    finally:
        serving.close()
        await port.close()


class _Port:
    """Accepts clients, and keeps the list of open connections."""

    def __init__(self, server: Server, listening: Listening) -> None:
        self.server, self.tls = server, listening.tls
        self._there: dict[asyncio.Task[None], tuple[PgConnection[AccessKey], Stream]] = {}
        self._tables: tuple[float, Sequence[Shape]] = -CATALOG_SECONDS, ()

    def stream(self) -> Stream:
        """Return the protocol of a new connection."""
        return Stream(self._accept)

    def _accept(self, stream: Stream) -> None:
        if len(self._there) >= MOST_CONNECTIONS:
            refusal = OverloadedError("There are too many connections.", code="too-many-connections")
            stream.write(error(fields_of(refusal, fatal=True)))
            stream.close()
            self.observe("connect", refusal.code, 0.0)
            return
        unknown = [known for connection, known in self._there.values() if not connection.is_known]
        if len(unknown) >= MOST_UNKNOWN:
            unknown[0].abort()
        connection: PgConnection[AccessKey] = PgConnection(stream, self)
        task = asyncio.get_running_loop().create_task(connection.run())
        self._there[task] = connection, stream
        task.add_done_callback(self._gone)

    def _gone(self, task: asyncio.Task[None]) -> None:
        self._there.pop(task, None)
        if not task.cancelled() and (failure := task.exception()) is not None and isinstance(failure, Exception):
            explain_failure(failure)  # already logged

    async def close(self) -> None:
        """End all connections."""
        tasks = list(self._there)
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)

    def verifiers(self, name: str) -> Sequence[tuple[str, AccessKey]] | None:
        """Return the verifiers of a name's keys; None if no keys are needed."""
        return self.server.keys.verifiers(name) if self.server.keys.required else None

    def admit(self, owner: AccessKey | None, *, is_local: bool) -> _Asking:
        """Return the source of answers for the owner of a key; without keys, for clients on this machine."""
        if owner is None and (self.server.keys.required or not is_local):
            message = "Without keys this collector serves only this machine. Create some: tacit keys create."
            raise AccessError(message, code="wrong-origin")
        asking = _Asking(self, owner)
        asking.check()
        return asking

    def cancel(self, numbers: bytes) -> None:
        """Interrupt the question of the connection with these numbers; comparisons take constant time."""
        for connection, _ in list(self._there.values()):
            if hmac.compare_digest(connection.numbers, numbers):
                connection.cancel()

    def explain(self, failure: Exception) -> TacitError:
        """Convert an unexpected error to one that may be shown; the log records where it happened."""
        return explain_failure(failure)

    def observe(self, event: str, code: str, seconds: float) -> None:
        """Record an event in metrics and log."""
        route, status = f"postgresql/{event}", 400 if code else 200
        self.server.metrics.observe("SQL", route, status, code, seconds)
        if LOG.isEnabledFor(logging.INFO):
            line = {"method": "SQL", "route": route, "status": status} | ({"code": code} if code else {})
            LOG.info("request", line | {"milliseconds": round(1000 * seconds, 1)})

    async def tables(self) -> Sequence[Shape]:
        """Return the tables, at most some seconds old."""
        when, shapes = self._tables
        if time.monotonic() - when > CATALOG_SECONDS:
            shapes = await self.server.workers.do(self._read_tables)
            self._tables = time.monotonic(), shapes
        return shapes

    def _read_tables(self) -> Sequence[Shape]:
        return self.server.collector.read_settled(lambda database: database.tables())


class _Asking:
    """Answers one client."""

    def __init__(self, port: _Port, owner: AccessKey | None) -> None:
        self._port, self._server, self._owner = port, port.server, owner

    def check(self) -> None:
        """Refuse a key that may not query, or that was revoked in the meantime."""
        if self._owner is not None:
            self._server.keys.check_digest(self._owner.digest, ("query",))

    def _take(self, amount: float) -> None:
        self.check()
        self._server.asking.take(self._owner, amount)

    async def tables(self) -> Sequence[Shape]:
        """Return the tables."""
        self._take(CATALOG)
        return await self._port.tables()

    async def compute(self, work: Callable[[], T]) -> T:
        """Run work on the catalog."""
        self._take(CATALOG)
        return await self._server.workers.do(work)

    async def columns(self, question: ParameterizedQuestion) -> Sequence[AnswerColumn]:
        """Return the columns of a question, without running it."""
        self._take(DESCRIBED)

        def describe(database: Database) -> Sequence[AnswerColumn]:
            return columns_of(database, question.text, stand_ins(question, database))

        return await self._server.workers.do(lambda: self._server.collector.read(describe))

    async def ask(self, text: str, parameters: Sequence[Any], options: dict[str, Any]) -> Answer:
        """Answer a question; refuse one that would leave reports out because they cannot be moved.

        Over HTTP a note says so, but most tools that speak this protocol show no notices.
        """
        self._take(1)
        self._server.counts["questions"] += 1
        asker = self._owner.name if self._owner is not None else ""
        collector = self._server.collector
        answer = await self._server.workers.do(collector.query, text, asker=asker, parameters=parameters, **options)
        fault, mark = collector.mover.fault, answer.watermark
        if fault is not None and mark is not None and mark.counted < mark.acknowledged:
            raise fault
        return answer
