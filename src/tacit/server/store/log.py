"""The collector's log of keys, contracts, questions and deletions, as a hash chain.

It contains no raw value, report, person's id or question text, but names of keys, hashes of questions, and keyed hashes
of deleted people. Each entry is synced to disk before the request it records is answered. Several processes may write
at the same time (`tacit keys` and `tacit serve`): SQLite appends their entries one after the other.
"""

from __future__ import annotations

import datetime
import hashlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tacit.contract.hash_chain import START, Chain, Head, next_line, read_chain
from tacit.contract.sqlite import prove_writable, transaction
from tacit.engines.failures import outage
from tacit.tables.atomic import adopt

__all__ = ["Clock", "Log", "hash_of", "now"]

Clock = Callable[[], datetime.datetime]


def now() -> datetime.datetime:
    """Return the current time."""
    return datetime.datetime.now(datetime.UTC)


class Log:
    """One append-only file."""

    def __init__(self, path: Path, *, clock: Clock = now) -> None:
        self._clock, self._lock = clock, threading.Lock()
        adopt(path)
        self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = FULL")
        self._path, status = path, path.stat()
        self._place = (status.st_dev, status.st_ino)
        self._file.execute("CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY, hash TEXT, line TEXT)")
        prove_writable(self._file)

    def add(self, event: str, **details: Any) -> None:
        """Add an entry; it is on disk when this returns."""
        time = self._clock().isoformat(timespec="seconds")
        try:
            with self._lock:
                self._check_place()
                self._add(event, time, details)
        except (sqlite3.Error, OSError, MemoryError) as cause:
            problem = outage("The log cannot be written, so nothing was changed", cause)
            if problem is None:
                raise
            raise problem from None

    def probe(self) -> None:
        """Write a value, or raise."""
        with self._lock:
            self._check_place()
            [(number,)] = self._file.execute("PRAGMA user_version").fetchall()
            self._file.execute(f"PRAGMA user_version = {(number + 1) % 2**31}")

    def _check_place(self) -> None:
        """Raise if the file was deleted or replaced: entries written to it would be lost after a restart."""
        status = self._path.stat()
        if (status.st_dev, status.st_ino) != self._place:
            raise FileNotFoundError

    def head(self) -> Head:
        """Return the head of the log."""
        with self._lock:
            return self._head()

    def _add(self, event: str, time: str, details: dict[str, Any]) -> None:
        with transaction(self._file):
            line, head = next_line(self._head(), time=time, event=event, details=details)
            self._file.execute("INSERT INTO log VALUES (?, ?, ?)", (head.entries, head.hash, line))

    def _head(self) -> Head:
        row = self._file.execute("SELECT number, hash FROM log ORDER BY number DESC LIMIT 1").fetchone()
        return START if row is None else Head(*row)

    def lines(self) -> list[str]:
        """Return all entries as written."""
        with self._lock:
            return [line for (line,) in self._file.execute("SELECT line FROM log ORDER BY number")]

    def read(self) -> Chain:
        """Return all entries, checked."""
        return read_chain(self.lines())

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()


def hash_of(text: str) -> str:
    """Return the hash of a question, which is all that the log records of it."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
