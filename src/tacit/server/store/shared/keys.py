"""Keys of collectors that share a store, in its database."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict

from tacit.errors import TacitError, UsageError
from tacit.server.keys import AccessKey, key_of
from tacit.server.store.shared.session import Connection, Session

__all__ = ["StoredKeys"]

KEYS = 0x7461_636B
"""Number of the advisory lock for changing keys: "tack"."""

REFRESHED_SECONDS = 0.5
"""Seconds until a running collector notices new and revoked keys."""

FAILED = "The keys cannot be read or written"


class StoredKeys:
    """The keys of a database; with ``watch``, changes by other processes are followed."""

    def __init__(self, address: str, *, watch: bool = False) -> None:
        self._session, self._done = Session(address), threading.Event()
        self._stored: tuple[AccessKey, ...] | None = ()
        self._ever = False
        self._refresh()
        self._thread = threading.Thread(target=self._follow, name="keys", daemon=True) if watch else None
        if self._thread is not None:
            self._thread.start()

    def _follow(self) -> None:
        while not self._done.wait(REFRESHED_SECONDS):
            with suppress(TacitError):  # without the database no key is usable
                self._refresh()

    def _refresh(self) -> None:
        try:
            with self._session.transaction(FAILED) as connection:
                self._stored = _read(connection)
        except UsageError:
            self._stored = None
        self._ever = self._ever or self._stored != ()

    def current(self) -> tuple[AccessKey, ...]:
        """Return the keys as last read, within a second while the database responds; a damaged one closes to all."""
        if self._stored is None:
            raise _refusal()
        return self._stored

    def had_keys(self) -> bool:
        """Return whether there was a key since this process began; the store itself remembers that it needs keys."""
        return self._ever

    @contextmanager
    def changing(self) -> Iterator[tuple[AccessKey, ...]]:
        """Give one writer at a time the keys of the database."""
        with self._session.transaction(FAILED) as self._writer:
            self._writer.execute("SELECT pg_advisory_xact_lock(%s)", [KEYS])
            yield _read(self._writer)
        self._refresh()

    def save(self, keys: Sequence[AccessKey]) -> None:
        """Replace the rows that differ."""
        self._writer.execute("DELETE FROM tacit_keys WHERE digest <> ALL(%s)", [[key.digest for key in keys]])
        insert = "INSERT INTO tacit_keys (digest, key) VALUES (%s, %s) ON CONFLICT DO NOTHING"
        for key in keys:
            self._writer.execute(insert, [key.digest, json.dumps(asdict(key))])

    def close(self) -> None:
        """Stop following changes."""
        self._done.set()
        if self._thread is not None:
            self._thread.join()
        self._session.close()


def _read(connection: Connection) -> tuple[AccessKey, ...]:
    rows = connection.execute("SELECT key FROM tacit_keys ORDER BY number").fetchall()
    try:
        return tuple(key_of(json.loads(text)) for (text,) in rows)
    except (ValueError, TypeError, LookupError, AttributeError):
        raise _refusal() from None


def _refusal() -> UsageError:
    message = "A row of tacit_keys is damaged, so nobody is let in. Restore it from a backup, or delete it."
    return UsageError(message, code="unreadable-keys")
