"""Cursors, which are portals by SQL: DECLARE makes one, FETCH and MOVE read it forwards, CLOSE ends it."""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.adapters.pgwire.prepared import Portal, Ready, Result
from tacit.adapters.pgwire.statements import ClientStatement
from tacit.errors import OverloadedError, ParseError, UnknownNameError, UnsupportedSqlError

__all__ = ["Portals", "check_kept", "close_cursor", "fetch_from", "read_declare"]

MOST_SUSPENDED = 8
"""Portals of a client with pending rows."""

NAME = r'("(?:[^"]|"")+"|[A-Za-z_]\w*)'
DECLARE = re.compile(
    rf"DECLARE\s+{NAME}\s+(BINARY\s+)?(?:(?:IN|A)SENSITIVE\s+)?(?:(?:NO\s+)?(SCROLL)\s+)?"
    r"CURSOR\s+(?:(WITH|WITHOUT)\s+HOLD\s+)?FOR\s",
    re.IGNORECASE,
)
FETCH = re.compile(
    rf"(?:FETCH|MOVE)\s+(?:(NEXT|ALL|FORWARD(?:\s+(?:ALL|\d+))?|\d+)\s+)?(?:(?:FROM|IN)\s+)?{NAME}\s*", re.IGNORECASE
)

Portals = MutableMapping[str, Portal]


@dataclass(frozen=True)
class Declared:
    """A cursor's name, its question with each letter in its place, and whether it outlives the transaction."""

    name: str
    text: str
    is_held: bool


def read_declare(statement: ClientStatement, *, in_transaction: bool) -> Declared:
    """Read DECLARE."""
    text = statement.text
    match = DECLARE.match(text)
    if not match:
        message = "Write DECLARE name CURSOR FOR SELECT …."
        raise ParseError(message, text=text)
    name, binary, _, hold = match.groups()
    if binary:
        message = "Cursors send text here; leave BINARY out, or use a prepared statement."
        raise UnsupportedSqlError(message, text=text, span=match.span(2))
    is_held = (hold or "").upper() == "WITH"
    if not in_transaction and not is_held:
        message = "A cursor lives in a transaction: BEGIN first, or declare it WITH HOLD."
        raise UnsupportedSqlError(message, code="no-transaction")
    return Declared(_plain(name), " " * match.end() + text[match.end() :], is_held)


def check_kept(portals: Portals) -> None:
    """Limit the number of portals with pending rows."""
    if sum(bool(portal.result and portal.result.rows) for portal in portals.values()) >= MOST_SUSPENDED:
        text = f"A connection can have {MOST_SUSPENDED} portals with pending rows. Read or close some."
        raise OverloadedError(text, code="too-many-statements")


def fetch_from(statement: ClientStatement, portals: Portals) -> Ready:
    """Return a FETCH or MOVE, ready to run."""
    match = FETCH.fullmatch(statement.text.rstrip("; \n\t"))
    if not match:
        message = "Cursors go forwards: FETCH name, or FETCH with a number, NEXT, FORWARD or ALL."
        raise UnsupportedSqlError(message, text=statement.text, span=(0, len(statement.word)))
    name, words = _plain(match[2]), (match[1] or "NEXT").upper().split()
    if name not in portals:
        raise UnknownNameError("cursor", name[:63], None, code="unknown-portal")
    portal = portals[name]
    count = None if words[-1] == "ALL" else int(words[-1]) if words[-1].isdigit() else 1

    async def run(_: Sequence[Any]) -> Result:
        if portal.result is None:
            check_kept(portals)
            portal.result = await portal.ready.run(portal.values)
        result = portal.result
        end = len(result.rows) if count is None else min(len(result.rows), portal.at + count)
        rows, portal.at = result.rows[portal.at : end], end
        if statement.word == "MOVE":
            return Result(f"MOVE {len(rows)}")
        return Result(f"FETCH {len(rows)}", result.columns, rows, result.notes)

    return Ready(statement, (), portal.ready.columns if statement.word == "FETCH" else None, run)


def close_cursor(statement: ClientStatement, portals: Portals) -> Ready:
    """Return a CLOSE, ready to run."""
    wanted = statement.text.rstrip("; \n\t").split(None, 1)[1:]
    name = _plain(wanted[0]) if wanted else ""

    async def run(_: Sequence[Any]) -> Result:
        if name.upper() == "ALL":
            portals.clear()
            return Result("CLOSE CURSOR ALL")
        if portals.pop(name, None) is None:
            raise UnknownNameError("cursor", name[:63], None, code="unknown-portal")
        return Result("CLOSE CURSOR")

    return Ready(statement, run=run)


def _plain(name: str) -> str:
    """Return a name as it is stored: as written in quotes, in lower case without."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()
