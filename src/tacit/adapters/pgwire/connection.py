"""One client's connection: login, then questions, message by message.

Before the login only its messages are read. Sizes, times and the number of prepared statements are limited.
"""

from __future__ import annotations

import asyncio
import secrets
import ssl
import struct
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

from tacit.adapters.pgwire import messages as wire
from tacit.adapters.pgwire.catalog.facts import oid_of_type
from tacit.adapters.pgwire.cursors import check_kept, close_cursor, fetch_from, read_declare
from tacit.adapters.pgwire.failures import fields_of
from tacit.adapters.pgwire.messages import ProtocolError, message
from tacit.adapters.pgwire.prepared import AnswerSource, Portal, Ready, Result, make_ready, place_of
from tacit.adapters.pgwire.scram import MECHANISM, Exchange
from tacit.adapters.pgwire.sending import WRITE_SECONDS, describe, send_copy, send_rows, spread
from tacit.adapters.pgwire.settings import PgSession
from tacit.adapters.pgwire.statements import ClientStatement, split
from tacit.adapters.pgwire.stream import Closed, Stream
from tacit.adapters.pgwire.values import decode
from tacit.errors import AccessError, OverloadedError, ParseError, TacitError, UnknownNameError, UsageError

__all__ = ["Door", "PgConnection"]

STARTUP_BYTES, LOGIN_BYTES, MESSAGE_BYTES = 10_000, 4096, 1 << 20
LOGIN_SECONDS, MESSAGE_SECONDS, IDLE_SECONDS = 10.0, 30.0, 3600.0
"""Limits on what a client sends, in bytes, and on how long it takes: to log in, for a message, between messages."""

MOST_STATEMENTS, STATEMENT_BYTES = 500, 4 << 20
"""Limits per client: statements and portals, and bytes of their texts."""

Owner = TypeVar("Owner")
T = TypeVar("T")


class Door(Protocol[Owner]):
    """Access control, and the source of answers."""

    tls: ssl.SSLContext | None

    def verifiers(self, name: str) -> Sequence[tuple[str, Owner]] | None:
        """Return the verifiers of a user's keys; None if no keys are needed."""

    def admit(self, owner: Owner | None, *, is_local: bool) -> AnswerSource:
        """Return the source of answers for the owner of a key, or refuse."""

    def cancel(self, numbers: bytes) -> None:
        """Interrupt the question of a connection, if the numbers match."""

    def explain(self, failure: Exception) -> TacitError:
        """Convert an unexpected error to one that may be shown."""

    def observe(self, event: str, code: str, seconds: float) -> None:
        """Record an event in the metrics."""


class PgConnection(Generic[Owner]):
    """Speaks with one client."""

    def __init__(self, stream: Stream, door: Door[Owner]) -> None:
        self._stream, self._door = stream, door
        self.numbers = struct.pack("!i", secrets.randbelow(1 << 31)) + secrets.token_bytes(4)
        self.is_known = False
        self._statements: dict[str, Ready] = {}
        self._portals: dict[str, Portal] = {}
        self._working: asyncio.Future[Any] | None = None
        self._is_skipping = False

    async def run(self) -> None:
        """Serve the client until it leaves."""
        try:
            async with asyncio.timeout(LOGIN_SECONDS):
                parameters = await self._begin()
                if parameters is None:
                    return
                await self._login(parameters)
            self.is_known = True
            await self._serve()
        except (Closed, TimeoutError, ConnectionError):
            self._stream.abort()
        except ProtocolError as failure:
            fields = {"S": "FATAL", "V": "FATAL", "C": failure.sqlstate, "M": failure.message}
            self._stream.write(wire.error(fields))
            self._door.observe("connect", "bad-message", 0.0)
        except TacitError as failure:
            self._stream.write(wire.error(fields_of(failure, fatal=True)))
            self._door.observe("connect", failure.code, 0.0)
        finally:
            self._stream.close()

    def cancel(self) -> None:
        """Interrupt the current question."""
        if self._working is not None:
            self._working.cancel()

    async def _begin(self) -> dict[str, str] | None:
        """Return the startup parameters; None for a request to cancel."""
        for _ in range(3):
            startup = wire.read_startup(await self._stream.startup(STARTUP_BYTES))
            if startup.code == wire.CANCEL:
                self._door.cancel(startup.cancel)
                return None
            if startup.code == wire.TLS and self._door.tls is not None and not self._is_secure:
                await self._stream.start_tls(self._door.tls)
            elif startup.code in (wire.TLS, wire.ENCRYPTION):
                self._stream.write(b"N")
            else:
                if startup.code & 0xFFFF:
                    unknown = [name for name in startup.parameters if name.startswith("_pq_.")]
                    content = struct.pack("!ii", 0, len(unknown)) + b"".join(name.encode() + b"\0" for name in unknown)
                    self._stream.write(message("v", content))
                return dict(startup.parameters)
        text = "Too many requests before the first message."
        raise ProtocolError(text)

    @property
    def _is_secure(self) -> bool:
        return self._stream.transport.get_extra_info("ssl_object") is not None

    async def _login(self, parameters: dict[str, str]) -> None:
        """Authenticate the client, and send the greeting."""
        name = parameters.get("user", "")
        if "replication" in parameters and parameters["replication"].lower() not in ("off", "false", "no", "0"):
            text = "Replication is not supported."
            raise AccessError(text, code="wrong-scope")
        if self._door.tls is not None and not self._is_secure:
            text = "This needs TLS: connect with sslmode=verify-full, or at least sslmode=require."
            raise AccessError(text, code="no-tls")
        verifiers = self._door.verifiers(name)
        owner = None if verifiers is None else await self._verify_key(name, verifiers)
        self._asking = self._door.admit(owner, is_local=self._stream.is_local)
        self._database = _printable(parameters.get("database") or name or "tacit")
        self._session = PgSession(_printable(name) or "tacit")
        self._session.start_with(parameters)
        self._stream.write(wire.authentication(0))
        self._report(dict(self._session.reported_settings()))
        self._stream.write(message("K", self.numbers))
        self._ready_for_more()
        self._door.observe("connect", "", 0.0)

    async def _verify_key(self, name: str, verifiers: Sequence[tuple[str, Owner]]) -> Owner:
        exchange = Exchange(name, verifiers)
        self._stream.write(wire.authentication(10, MECHANISM.encode() + b"\0\0"))
        mechanism, first = wire.read_sasl_first(await self._password())
        if mechanism != MECHANISM:
            text = f"The only supported login is {MECHANISM}."
            raise AccessError(text, code="unknown-key")
        self._stream.write(wire.authentication(11, exchange.challenge(first)))
        last, owner = exchange.verify(await self._password())
        self._stream.write(wire.authentication(12, last))
        return owner

    async def _password(self) -> bytes:
        kind, content = await self._stream.message(LOGIN_BYTES, LOGIN_SECONDS)
        if kind != "p":
            text = "A login was expected."
            raise ProtocolError(text, "28000")
        return content

    def _report(self, settings: dict[str, str]) -> None:
        self._announced = settings
        for name, value in settings.items():
            self._stream.write(message("S", f"{name}\0{value}\0".encode()))

    def _ready_for_more(self) -> None:
        changed = {name: value for name, value in self._session.reported_settings() if self._announced[name] != value}
        known = self._announced | changed
        self._report(changed)
        self._announced = known
        if self._session.state == "I":
            self._portals = {name: portal for name, portal in self._portals.items() if portal.is_held}
        self._stream.write(message("Z", self._session.state.encode()))

    async def _serve(self) -> None:
        while True:
            kind, content = await self._stream.message(MESSAGE_BYTES, MESSAGE_SECONDS, idle=IDLE_SECONDS)
            if kind == "X":
                return
            if kind == "S":
                self._is_skipping = False
                self._ready_for_more()
            elif kind == "Q":
                self._is_skipping = False
                await self._simple(wire.read_text(content))
            elif kind == "H":
                pass
            elif kind in EXTENDED:
                if not self._is_skipping:
                    await self._handle_extended(kind, content)
            elif kind in "dcf":
                continue  # data of a COPY that was refused
            else:
                text = "This message type is not supported."
                raise ProtocolError(text)
            await self._stream.drain(WRITE_SECONDS)

    async def _simple(self, text: str) -> None:
        """Answer all statements of a text, until one fails."""
        offset, part = 0, text
        try:
            parts = split(text)
            if not parts:
                self._stream.write(message("I"))
            for part, offset in parts:
                ready = await self._ready(part, offset, ())
                if ready.parameters:
                    refusal = "The question has parameters without values."
                    raise ParseError(refusal, code="wrong-parameters")
                result = await self._run_timed(ready, ())
                formats = [0] * len(result.columns or ())
                if result.columns is not None and result.copying is None:
                    self._stream.write(describe(result.columns, formats))
                await self._send(result, formats, 0, len(result.rows))
                self._finish(result)
        except Exception as failure:
            self._fail(failure, part, offset)
        self._ready_for_more()

    async def _handle_extended(self, kind: str, content: bytes) -> None:
        try:
            await EXTENDED[kind](self, content)
        except Exception as failure:
            self._is_skipping = True
            self._fail(failure, getattr(self, "_text", ""), 0)

    async def _parse(self, content: bytes) -> None:
        parsed = wire.read_parse(content)
        self._text = parsed.text
        others = [ready for name, ready in self._statements.items() if name != parsed.name]
        if len(others) >= MOST_STATEMENTS or sum(len(ready.statement.text) for ready in others) > STATEMENT_BYTES:
            text = f"A connection can have {MOST_STATEMENTS} statements. Close some."
            raise OverloadedError(text, code="too-many-statements")
        parts = split(parsed.text)
        if len(parts) > 1:
            text = "A prepared statement is one statement."
            raise ParseError(text, code="several-statements")
        part, offset = parts[0] if parts else ("", 0)
        self._statements[parsed.name] = await self._ready(part, offset, parsed.types)
        self._stream.write(message("1"))

    async def _bind(self, content: bytes) -> None:
        bind = wire.read_bind(content)
        ready = self._find(bind.statement)
        if len(bind.values) != len(ready.parameters):
            text = f"The statement has {len(ready.parameters)} parameters, but {len(bind.values)} values were sent."
            raise ParseError(text, code="wrong-parameters")
        count = len(ready.columns or ())
        if len(bind.results) not in (0, 1, count):
            text = "Give one result format for all columns, or one for each."
            raise ParseError(text, code="wrong-parameters")
        self._check_portals()
        formats = spread(bind.formats, len(bind.values))
        values = [decode(*parameter) for parameter in zip(bind.values, ready.parameters, formats, strict=True)]
        self._portals[bind.portal] = Portal(ready, values, spread(bind.results, count))
        self._stream.write(message("2"))

    def _find(self, name: str) -> Ready:
        if name not in self._statements:
            raise UnknownNameError("prepared statement", name[:63], None, code="unknown-statement")
        return self._statements[name]

    def _portal(self, name: str) -> Portal:
        if name not in self._portals:
            raise UnknownNameError("portal", name[:63], None, code="unknown-portal")
        return self._portals[name]

    async def _describe(self, content: bytes) -> None:
        request = wire.read_describe(content)
        if request.kind == "S":
            ready = self._find(request.name)
            oids = [oid_of_type(kind) or 25 for kind in ready.parameters]
            self._stream.write(message("t", struct.pack(f"!H{len(oids)}I", len(oids), *oids)))
            formats: Sequence[int] = [0] * len(ready.columns or ())
        else:
            portal = self._portal(request.name)
            ready, formats = portal.ready, portal.formats
        self._stream.write(message("n") if ready.columns is None else describe(ready.columns, formats))

    async def _execute(self, content: bytes) -> None:
        request = wire.read_execute(content)
        portal = self._portal(request.portal)
        self._text = portal.ready.statement.text
        if portal.result is None:
            check_kept(self._portals)
            portal.result = await self._run_timed(portal.ready, portal.values)
        result = portal.result
        end = len(result.rows) if request.most == 0 else min(len(result.rows), portal.at + request.most)
        await self._send(result, portal.formats, portal.at, end)
        portal.at = end
        if end < len(result.rows):
            self._stream.write(message("s"))
        else:
            self._finish(result)
            portal.result, portal.at = replace(result, tag="SELECT 0" if result.rows else result.tag, rows=()), 0

    def _check_portals(self) -> None:
        if len(self._portals) >= MOST_STATEMENTS:
            text = f"A connection can have {MOST_STATEMENTS} portals. Close some."
            raise OverloadedError(text, code="too-many-statements")

    async def _close(self, content: bytes) -> None:
        request = wire.read_describe(content)
        (self._statements if request.kind == "S" else self._portals).pop(request.name, None)
        self._stream.write(message("3"))

    async def _ready(self, text: str, offset: int, types: Sequence[int]) -> Ready:
        preparing = make_ready(text, offset, types, self._asking, self._session, self._database)
        ready = await self._interruptible(preparing)
        if ready.statement.kind != "cursor":
            return ready
        if ready.statement.word == "DECLARE":
            return await self._declare(ready.statement, types)
        return (close_cursor if ready.statement.word == "CLOSE" else fetch_from)(ready.statement, self._portals)

    async def _declare(self, statement: ClientStatement, types: Sequence[int]) -> Ready:
        declared = read_declare(statement, in_transaction=self._session.state == "T")
        inner = await self._ready(declared.text, statement.offset, types)
        if inner.columns is None:
            text = "A cursor is for a SELECT."
            raise ParseError(text, text=statement.text)

        async def run(values: Sequence[Any]) -> Result:
            self._check_portals()
            formats = [0] * len(inner.columns or ())
            self._portals[declared.name] = Portal(inner, values, formats, is_held=declared.is_held)
            return Result("DECLARE CURSOR")

        return Ready(statement, inner.parameters, None, run)

    async def _run_timed(self, ready: Ready, values: Sequence[Any]) -> Result:
        start = asyncio.get_running_loop().time()
        result = await self._interruptible(ready.run(values))
        self._door.observe(ready.statement.kind, "", asyncio.get_running_loop().time() - start)
        return result

    async def _interruptible(self, work: Awaitable[T]) -> T:
        """Wait for work, unless the client cancels it or disconnects."""
        self._working = working = asyncio.ensure_future(work)
        leaving = asyncio.ensure_future(self._stream.over.wait())
        try:
            await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise Closed
            if working.cancelled():
                text = "The question was cancelled by its client."
                raise OverloadedError(text, code="cancelled")
            return working.result()
        finally:
            self._working = None
            for task in (working, leaving):
                task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await working

    async def _send(self, result: Result, formats: Sequence[int], start: int, end: int) -> None:
        if result.copying is not None:
            await send_copy(self._stream, result)
        else:
            await send_rows(self._stream, result, formats, start, end)

    def _finish(self, result: Result) -> None:
        for note in result.notes:
            self._stream.write(wire.error({"S": "NOTICE", "V": "NOTICE", "C": "01000", "M": note}, notice=True))
        self._stream.write(message("C", result.tag.encode() + b"\0") if result.tag else message("I"))

    def _fail(self, failure: Exception, text: str, offset: int) -> None:
        """Send the error to the client; a transaction fails with it."""
        if isinstance(failure, Closed | ProtocolError | TimeoutError | ConnectionError):
            raise failure
        shown = failure if isinstance(failure, TacitError) else self._door.explain(failure)
        self._stream.write(wire.error(fields_of(shown, place_of(shown, text, offset))))
        self._door.observe("query", shown.code, 0.0)
        if self._session.state == "T":
            self._session.state = "E"


EXTENDED: dict[str, Callable[[PgConnection[Any], bytes], Awaitable[None]]] = {
    "P": PgConnection._parse,  # noqa: SLF001
    "B": PgConnection._bind,  # noqa: SLF001
    "D": PgConnection._describe,  # noqa: SLF001
    "E": PgConnection._execute,  # noqa: SLF001
    "C": PgConnection._close,  # noqa: SLF001
}


def _printable(name: str) -> str:
    if not name.isprintable() or len(name) > 63:
        message = "A name has at most 63 characters, all of them printable."
        raise UsageError(message, code="bad-parameter")
    return name
