"""Transactions of SQLite files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["prove_writable", "transaction"]


def prove_writable(file: sqlite3.Connection) -> None:
    """Write to a file, or raise: SQLite also opens read-only files, and fails at the first change."""
    [version] = file.execute("PRAGMA user_version").fetchone()
    file.execute(f"PRAGMA user_version = {version}")


@contextmanager
def transaction(file: sqlite3.Connection) -> Iterator[None]:
    """Write everything inside, or nothing, in an exclusive transaction."""
    file.execute("BEGIN IMMEDIATE")
    try:
        yield
        file.execute("COMMIT")
    except BaseException:
        if file.in_transaction:  # a full disk may have ended it already
            file.execute("ROLLBACK")
        raise
