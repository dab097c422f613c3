"""Keys of collectors that share a store, in its database; a collector may have some of its own in its folder."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from tacit.errors import TacitError
from tacit.server.keys import Key, Keys, key_of
from tacit.server.store.shared.session import Connection, Session

__all__ = ["SharedKeys"]

KEYS = 0x7461_636B
"""Number of the advisory lock of whoever changes keys: "tack"."""

REFRESHED_SECONDS = 0.5
"""Seconds after which a running collector knows new and revoked keys."""

FAILED = "The keys cannot be read or written"


class SharedKeys(Keys):
    """The keys of a database and of a folder's file; changes are made in the database."""

    def __init__(self, address: str, path: Path | None = None) -> None:
        super().__init__(path or Path("/nonexistent/keys.json"))
        self._session, self._done = Session(address), threading.Event()
        self._stored: tuple[Key, ...] = ()
        self._refresh()
        self._thread: threading.Thread | None = None

    def watch(self) -> None:
        """Follow changes that other processes make."""
        self._thread = threading.Thread(target=self._follow, name="keys", daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        while not self._done.wait(REFRESHED_SECONDS):
            with suppress(TacitError):  # without the database nothing can be done with a key
                self._refresh()

    def _refresh(self) -> None:
        with self._session.transaction(FAILED) as connection:
            self._stored = _read(connection)
            self._any = getattr(self, "_any", False) or bool(self._stored)

    @property
    def _keys(self) -> tuple[Key, ...]:
        return (*super()._keys, *self._stored)

    @property
    def required(self) -> bool:
        """Whether there ever was a key."""
        return self._any or super().required

    @contextmanager
    def _changing(self) -> Iterator[tuple[Key, ...]]:
        """Give one writer at a time the keys of the database."""
        with self._session.transaction(FAILED) as self._writer:
            self._writer.execute("SELECT pg_advisory_xact_lock(%s)", [KEYS])
            yield _read(self._writer)
        self._refresh()

    def _save(self, keys: Sequence[Key]) -> None:
        self._writer.execute("DELETE FROM tacit_keys WHERE digest <> ALL(%s)", [[key.digest for key in keys]])
        insert = "INSERT INTO tacit_keys (digest, key) VALUES (%s, %s) ON CONFLICT DO NOTHING"
        for key in keys:
            self._writer.execute(insert, [key.digest, json.dumps(asdict(key))])

    def close(self) -> None:
        """Follow changes no more."""
        self._done.set()
        if self._thread is not None:
            self._thread.join()
        self._session.close()


def _read(connection: Connection) -> tuple[Key, ...]:
    rows = connection.execute("SELECT key FROM tacit_keys ORDER BY number").fetchall()
    return tuple(key_of(json.loads(text)) for (text,) in rows)
