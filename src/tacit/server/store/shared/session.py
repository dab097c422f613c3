"""Connections of a collector to a shared database: named after it, so that others can end them, and reopened."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from tacit.engines.failures import outage
from tacit.errors import EngineError, OverloadedError

try:
    import psycopg
except ImportError:
    message = "PostgreSQL needs psycopg. Install tacit with its extra: pip install '.[postgres]'."
    raise EngineError(message, code="missing-extra") from None

__all__ = ["LOCK", "Connection", "Session", "address_of", "connect", "join", "unreachable"]

Connection = psycopg.Connection[tuple[Any, ...]]

LOCK = 0x7461_6369
"""Number of the advisory lock of all collectors: "taci"."""

CONNECT_SECONDS = 3
"""Seconds after which an unresponsive server counts as unreachable; readiness must report it within five."""

LOCK_SECONDS = 2
"""Seconds to wait for the lock: the server releases that of a process shortly after the process has ended."""

IDLE_SECONDS = 10
"""Seconds after which the server ends an idle transaction: its collector may be stopped, and others wait for it."""


def address_of(address: str, collector: str) -> str:
    """Return an address whose sessions have a collector's name."""
    parts = urlsplit(address)
    option = urlencode({"application_name": f"tacit {collector}"}, quote_via=quote)
    return urlunsplit(parts._replace(query=f"{parts.query}&{option}" if parts.query else option))


def connect(address: str) -> Connection:
    """Open a connection whose commits are on disk, and which sees what was committed before it got a lock."""
    connection = psycopg.connect(address, autocommit=True, connect_timeout=CONNECT_SECONDS)
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED  # whatever the server's default is
    connection.execute("SET synchronous_commit = on")  # acknowledged means committed and on disk
    connection.execute(f"SET idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'")
    return connection


def join(address: str) -> Connection:
    """Return a connection that excludes collectors before version 3, which hold this lock exclusively."""
    connection = connect(address)
    try:
        connection.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
        connection.execute("SELECT pg_advisory_lock_shared(%s)", [LOCK])
        connection.execute("RESET lock_timeout")
    except psycopg.errors.LockNotAvailable:
        connection.close()
        problem = "A collector of an earlier version uses this database alone. Stop it first."
        raise EngineError(problem, code="store-in-use") from None
    return connection


def unreachable(cause: Exception) -> EngineError:
    """Return the failure to open a database; the driver's message names host and user."""
    message = f"The PostgreSQL database cannot be reached ({type(cause).__name__}). Check its address."
    return EngineError(message, code="unreadable-database")


class Session:
    """One connection that threads use in turn, opened on first use and reopened after it broke."""

    def __init__(self, address: str) -> None:
        self._address, self._connection = address, None
        self._lock = threading.Lock()

    _connection: Connection | None

    @contextmanager
    def transaction(self, failure: str) -> Iterator[Connection]:
        """Lend the connection inside a transaction; ``failure`` says what failed if it does."""
        try:
            with self._lock:
                connection = self._live()
                with connection.transaction():
                    yield connection
        except psycopg.Error as cause:
            problem = outage(failure, cause) or OverloadedError(f"{failure} ({type(cause).__name__}).", code="no-store")
            raise problem from None

    def _live(self) -> Connection:
        """Return the connection, or a new one if the server has ended it meanwhile."""
        with suppress(psycopg.Error):
            if self._connection is not None and not self._connection.closed:
                self._connection.execute("SELECT 1")
                return self._connection
        self._connection = connect(self._address)
        return self._connection

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
