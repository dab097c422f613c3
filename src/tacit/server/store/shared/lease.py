"""The leader's lease: its holder moves reports, applies deletions and publishes; others wait or give up.

A lease lasts some seconds on the database's clock and is renewed while work lasts. Each lease has a token; every
change of its holder compares it inside the transaction of the change (`check`), with a row lock that keeps a successor
waiting. So a process that was suspended and resumes after its lease ran out changes nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tacit.errors import EngineError, TacitError
from tacit.server.store.base import Lead
from tacit.server.store.shared.session import Connection, Session

__all__ = ["LEASE_SECONDS", "Lease"]

LEASE_SECONDS = 10.0
RENEWED_SECONDS = 2.5
"""Seconds until a lease runs out, and between its renewals."""

WAIT = 0.01
"""Seconds between two attempts."""

NAME = "lead"

FREE = (
    "SELECT holder, clean, until NOT BETWEEN clock_timestamp() AND clock_timestamp() + %s "
    "FROM tacit_leases WHERE name = %s"
)
"""Nobody holds a lease that ran out, or that ends later than any can: the clock was set back, and it may be a dead
collector's. A live one has a token that no longer counts."""

END_SESSIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND application_name = 'tacit ' || %s"
)
"""Ends the sessions of a suspended or unreachable leader; a live one opens new sessions."""


class Lease:
    """One collector's view of the lease; one thread at a time holds it."""

    def __init__(self, address: str, holder: str) -> None:
        self._session, self._holder = Session(address), holder
        self._held = threading.local()
        self._done = threading.Event()
        self._token: int | None = None
        self._keeper = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._keeper.start()

    @contextmanager
    def lead(self, seconds: float) -> Iterator[Lead]:
        """Lead within a context; yield whether it leads, after up to ``seconds``; reentrant for the leading thread."""
        if getattr(self._held, "token", None) is not None:
            yield "same"
            return
        end = time.monotonic() + seconds
        while not (taken := self._take()) and time.monotonic() < end:
            time.sleep(WAIT)
        try:
            yield taken
        finally:
            if taken:
                self._let_go()

    def _take(self) -> Lead:
        with self._session.transaction("The lease of the collector that leads cannot be taken") as connection:
            for locked in ("", " FOR UPDATE"):  # most attempts end with the first query
                [(before, clean, is_free)] = connection.execute(f"{FREE}{locked}", [_interval(), NAME]).fetchall()
                if not is_free:
                    return ""
            if not clean and before != self._holder:
                connection.execute(END_SESSIONS, [before])
            taken = "UPDATE tacit_leases SET holder = %s, clean = false, until = clock_timestamp() + %s WHERE name = %s"
            connection.execute(taken, [self._holder, _interval(), NAME])
            raised = "UPDATE tacit_fences SET token = token + 1 WHERE name = %s RETURNING token"
            [(token,)] = connection.execute(raised, [NAME]).fetchall()
        self._token = self._held.token = token
        if clean:
            return "same" if before == self._holder else "passed"
        return "ended"

    def _let_go(self) -> None:
        """Release the lease, unless it ran out in the meantime and another collector has it."""
        token, self._token, self._held.token = self._token, None, None
        query = (
            "UPDATE tacit_leases SET until = '-infinity', clean = true WHERE name = %s AND holder = %s "
            "AND EXISTS (SELECT 1 FROM tacit_fences f WHERE f.name = %s AND token = %s)"
        )
        with suppress(TacitError), self._session.transaction("The lease cannot be ended") as connection:
            connection.execute(query, [NAME, self._holder, NAME, token])  # otherwise it runs out by itself

    def _renew(self) -> None:
        """Renew the lease while it is held, in a separate row that the holder's changes do not lock."""
        while not self._done.wait(RENEWED_SECONDS):
            if self._token is None:
                continue
            with suppress(TacitError), self._session.transaction("The lease cannot be renewed") as connection:
                query = "UPDATE tacit_leases SET until = clock_timestamp() + %s WHERE name = %s AND holder = %s"
                connection.execute(
                    f"{query} AND NOT clean AND until > clock_timestamp()", [_interval(), NAME, self._holder]
                )

    def check(self, connection: Connection) -> None:
        """Refuse a change by a thread whose lease is outdated; a thread without a lease is not checked."""
        token = getattr(self._held, "token", None)
        if token is None:
            return
        query = "SELECT token FROM tacit_fences WHERE name = %s FOR SHARE"
        if connection.execute(query, [NAME]).fetchall() != [(token,)]:
            message = "Another collector has taken over the lease. This one changes nothing until it leads again."
            raise EngineError(message, code="lease-lost")

    def close(self) -> None:
        """Stop renewing."""
        self._done.set()
        self._keeper.join()
        self._session.close()


def _interval() -> str:
    return f"{LEASE_SECONDS} seconds"
