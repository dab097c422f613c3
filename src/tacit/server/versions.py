"""Versions of a collector's store, and the steps from each to the next.

The version is kept in the inbox. A step and the version it leads to are written in one transaction, so whatever kills
a collector in the middle of a step, the next start begins that step again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from tacit.errors import EngineError
from tacit.server.tombstones import Tombstones
from tacit.transactions import transaction

__all__ = ["VERSION", "migrate", "version_of"]

Step = Callable[[sqlite3.Connection, Tombstones], None]


def _key_tombstones(file: sqlite3.Connection, tombstones: Tombstones) -> None:
    """From 1 to 2: the hashes of people who were forgotten are hashed again, with a key."""
    file.create_function("keyed", 1, tombstones.keyed, deterministic=True)
    file.execute("UPDATE forgotten SET digest = keyed(digest)")


def _count_by_place(file: sqlite3.Connection, _: Tombstones) -> None:
    """From 2 to 3: reports are counted by place, and only those of people who send several are in an index."""
    file.execute("INSERT INTO sizes SELECT place, count(*) FROM known GROUP BY place")
    file.execute("DROP TABLE IF EXISTS totals")
    file.execute("DROP INDEX IF EXISTS whole")


STEPS: tuple[Step, ...] = (_key_tombstones, _count_by_place)
"""The first leads from version 1 to 2."""

VERSION = 1 + len(STEPS)


def version_of(file: sqlite3.Connection) -> int:
    """Return the version of an inbox whose tables exist; the first one did not say its number."""
    return max(1, int(file.execute("PRAGMA user_version").fetchone()[0]))


def migrate(file: sqlite3.Connection, tombstones: Tombstones) -> None:
    """Bring an inbox to the newest version; refuse one that is newer than this program."""
    while (found := version_of(file)) < VERSION:
        with transaction(file):
            if version_of(file) == found:  # nobody else has taken the step while this one waited
                STEPS[found - 1](file, tombstones)
                file.execute(f"PRAGMA user_version = {found + 1}")
    if found > VERSION:
        message = f"The store is of version {found}; this program knows {VERSION}. Update tacit."
        raise EngineError(message, code="store-too-new")
