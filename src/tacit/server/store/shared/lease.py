"""The lease of the collector that leads: it moves reports, applies deletions and publishes; others wait or go without.

A lease lasts some seconds on the database's clock and is renewed while work lasts. Each lease has a token; every
change of its holder compares it inside the transaction of the change (`check`), with a row lock that keeps a successor
waiting. So a process that was stopped, and wakes after its lease ran out, changes nothing.
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
WAIT = 0.01
"""Seconds between two tries."""

NAME = "lead"

END_SESSIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND application_name = 'tacit ' || %s"
)
"""Ends what a stopped or unreachable leader holds; one that is alive opens new sessions."""


class Lease:
    """The lease as one collector sees it; one thread at a time holds it."""

    def __init__(self, address: str, holder: str) -> None:
        self._session, self._holder = Session(address), holder
        self._held = threading.local()
        self._done = threading.Event()
        self._token: int | None = None
        self._keeper = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._keeper.start()

    @contextmanager
    def lead(self, seconds: float) -> Iterator[Lead]:
        """Lead while something is done, or not if others lead for so many seconds; a thread that leads goes on."""
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
            query = "SELECT holder, clean, until < clock_timestamp() FROM tacit_leases WHERE name = %s"
            for locked in ("", " FOR UPDATE"):  # most tries end with the first one
                [(before, clean, is_free)] = connection.execute(f"{query}{locked}", [NAME]).fetchall()
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
        """Let others lead at once; a lease that ran out meanwhile is not this one's to end."""
        token, self._token, self._held.token = self._token, None, None
        query = (
            "UPDATE tacit_leases SET until = '-infinity', clean = true WHERE name = %s AND holder = %s "
            "AND EXISTS (SELECT 1 FROM tacit_fences f WHERE f.name = %s AND token = %s)"
        )
        with suppress(TacitError), self._session.transaction("The lease cannot be ended") as connection:
            connection.execute(query, [NAME, self._holder, NAME, token])  # else it runs out by itself

    def _renew(self) -> None:
        """Renew the lease while it is held; in a row of its own, which no change of the holder locks."""
        while not self._done.wait(RENEWED_SECONDS):
            if self._token is None:
                continue
            with suppress(TacitError), self._session.transaction("The lease cannot be renewed") as connection:
                query = "UPDATE tacit_leases SET until = clock_timestamp() + %s WHERE name = %s AND holder = %s"
                connection.execute(
                    f"{query} AND NOT clean AND until > clock_timestamp()", [_interval(), NAME, self._holder]
                )

    def check(self, connection: Connection) -> None:
        """Refuse a change by a thread whose lease is not the newest one; a thread without a lease may go on."""
        token = getattr(self._held, "token", None)
        if token is None:
            return
        query = "SELECT token FROM tacit_fences WHERE name = %s FOR SHARE"
        if connection.execute(query, [NAME]).fetchall() != [(token,)]:
            message = "Another collector leads by now: this one was too slow. It changes nothing until it leads again."
            raise EngineError(message, code="lease-lost")

    def close(self) -> None:
        """Stop renewing."""
        self._done.set()
        self._keeper.join()
        self._session.close()


def _interval() -> str:
    return f"{LEASE_SECONDS} seconds"
