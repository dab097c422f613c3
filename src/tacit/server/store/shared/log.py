"""The log of collectors that share a store: one hash chain in the database, to which they append in turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit.contract.hash_chain import START, Chain, Head, next_line, read_chain
from tacit.server.store.log import Clock, Log, now
from tacit.server.store.shared.session import Connection, Session

__all__ = ["SharedLog"]

LOGGING = 0x7461_636C
"""Number of the advisory lock for adding a line: "tacl"."""

FAILED = "The log cannot be written, so nothing was changed"


class SharedLog:
    """One append-only table."""

    def __init__(self, address: str, *, clock: Clock = now) -> None:
        self._session, self._clock = Session(address), clock

    def add(self, event: str, **details: Any) -> None:
        """Add an entry; it is committed when this returns."""
        with self._session.transaction(FAILED) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOGGING])
            time = self._clock().isoformat(timespec="seconds")
            line, head = next_line(_head(connection), time=time, event=event, details=details)
            connection.execute("INSERT INTO tacit_log VALUES (%s, %s, %s)", [head.entries, head.hash, line])

    def adopt(self, path: Path) -> None:
        """Continue the log of a folder, if this one is empty; else record that log's head, if it grew."""
        if not path.exists():
            return
        file = Log(path)
        lines, head = file.lines(), file.head()
        file.close()
        chain = read_chain(lines)
        with self._session.transaction(FAILED) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOGGING])
            if _head(connection) == START and chain.ok:
                rows = [
                    (entry["number"], entry["hash"], line) for entry, line in zip(chain.entries, lines, strict=True)
                ]
                connection.cursor().executemany("INSERT INTO tacit_log VALUES (%s, %s, %s)", rows)
            noted = "SELECT 1 FROM tacit_log WHERE hash = %s OR strpos(line, %s) > 0 LIMIT 1"
            is_known = head == START or bool(connection.execute(noted, [head.hash, head.hash]).fetchall())
        if not is_known:
            self.add("folder-log", entries=head.entries, head=head.hash)

    def probe(self) -> None:
        """Take the lock, or raise."""
        with self._session.transaction(FAILED) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOGGING])

    def head(self) -> Head:
        """Return the head of the log."""
        with self._session.transaction("The log cannot be read") as connection:
            return _head(connection)

    def lines(self) -> list[str]:
        """Return all entries as written."""
        with self._session.transaction("The log cannot be read") as connection:
            return [line for (line,) in connection.execute("SELECT line FROM tacit_log ORDER BY number")]

    def read(self) -> Chain:
        """Return all entries, checked."""
        return read_chain(self.lines())

    def close(self) -> None:
        """Close the connection."""
        self._session.close()


def _head(connection: Connection) -> Head:
    rows = connection.execute("SELECT number, hash FROM tacit_log ORDER BY number DESC LIMIT 1").fetchall()
    return Head(*rows[0]) if rows else START
