"""Versions of a collector's store, and the steps from each to the next.

The version is stored in the inbox. A step and its new version are written in one transaction, so if a collector is
killed during a step, the next start repeats that step.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable
from pathlib import Path

from tacit.contract.sqlite import transaction
from tacit.errors import EngineError
from tacit.server.store.base import Identity, content_digest, digest_of
from tacit.server.store.tombstones import Tombstones, adopt_key
from tacit.server.store.validate import Person

__all__ = ["VERSION", "migrate", "version_of"]

Step = Callable[[sqlite3.Connection, Path], None]

FIRST_TABLES = """
CREATE TABLE IF NOT EXISTS places (place INTEGER PRIMARY KEY, collection TEXT, service TEXT, round TEXT,
  UNIQUE (collection, service));
CREATE TABLE IF NOT EXISTS known (place INTEGER, person, slot INTEGER, digest BLOB,
  PRIMARY KEY (place, person, slot)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS forgotten (collection TEXT, digest BLOB, PRIMARY KEY (collection, digest)) WITHOUT ROWID;
"""
"""The tables of every version; the steps create the rest."""

RECORD_TABLES = (
    "CREATE TABLE state (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    "CREATE TABLE contracts (id TEXT PRIMARY KEY, contract TEXT)",
    "CREATE TABLE reports (number INTEGER PRIMARY KEY AUTOINCREMENT, place INTEGER, person, slot INTEGER, "
    "digest BLOB, content BLOB)",
    "CREATE TABLE waiting (number INTEGER PRIMARY KEY, place INTEGER, person)",
    "CREATE TABLE damaged (number INTEGER PRIMARY KEY)",
    "CREATE TABLE deletions (collection TEXT, service TEXT, person TEXT, "
    "PRIMARY KEY (collection, service, person)) WITHOUT ROWID",
    "ALTER TABLE known ADD COLUMN number INTEGER",
    "ALTER TABLE sizes ADD COLUMN damaged INTEGER DEFAULT 0",
    "ALTER TABLE sizes ADD COLUMN lost INTEGER DEFAULT 0",
    "ALTER TABLE sizes ADD COLUMN bulk INTEGER DEFAULT 0",
)

CONTENTS_BEFORE = (
    "CREATE TABLE IF NOT EXISTS pending (number INTEGER PRIMARY KEY AUTOINCREMENT, place INTEGER, person, "
    "slot INTEGER, content BLOB)",
    "CREATE TABLE IF NOT EXISTS fresh (number INTEGER PRIMARY KEY AUTOINCREMENT, place INTEGER, person, "
    "slot INTEGER, digest BLOB)",
)

KEEP_CONTENTS = (
    "INSERT OR IGNORE INTO known SELECT place, person, slot, digest, NULL FROM fresh",
    "INSERT INTO reports (place, person, slot, digest, content) SELECT place, person, slot, "
    "redigest(place, person, slot, digest, content), content FROM pending JOIN known USING (place, person, slot) "
    "ORDER BY pending.number",
    "UPDATE known SET number = r.number, digest = r.digest FROM reports r "
    "WHERE r.place = known.place AND r.person = known.person AND r.slot = known.slot",
    "INSERT INTO waiting SELECT number, place, person FROM reports",
    "INSERT INTO state SELECT 'sorted-to', coalesce(max(number), 0) FROM reports",
    "DROP TABLE pending",
    "DROP TABLE fresh",
)


def _key_tombstones(file: sqlite3.Connection, key: Path) -> None:
    """From 1 to 2: hash the hashes of deleted people again, with a key."""
    file.create_function("keyed", 1, Tombstones.of_file(key).key_hash, deterministic=True)
    file.execute("UPDATE forgotten SET digest = keyed(digest)")


def _count_by_place(file: sqlite3.Connection, _: Path) -> None:
    """From 2 to 3: count reports by place, and index only people who send several."""
    file.execute("CREATE TABLE IF NOT EXISTS sizes (place INTEGER PRIMARY KEY, known INTEGER)")
    file.execute("INSERT INTO sizes SELECT place, count(*) FROM known GROUP BY place")
    file.execute("DROP TABLE IF EXISTS totals")
    file.execute("DROP INDEX IF EXISTS whole")


def _keep_contents(file: sqlite3.Connection, key: Path) -> None:
    """From 3 to 4: store every new report with a digest of its whole row, and the tombstone key with it.

    Earlier versions did not keep the content of reports that were moved to the analytical database.
    """
    file.create_function("redigest", 5, _redigest, deterministic=True)
    for statement in (*RECORD_TABLES, *CONTENTS_BEFORE, *KEEP_CONTENTS):
        file.execute(statement)
    forgotten = file.execute("SELECT 1 FROM forgotten LIMIT 1").fetchone() is not None
    state = {"tombstone-key": adopt_key(key, needed=forgotten).hex(), "identity": secrets.token_hex(16)}
    file.executemany("INSERT INTO state VALUES (?, ?)", state.items())


def _redigest(place: int, person: Person, slot: int, digest: bytes, content: bytes) -> bytes:
    """Return the digest of a whole row, or the old one if the content has changed: it then counts as damaged."""
    return digest_of(Identity(place, person, slot), content) if content_digest(content) == digest else digest


STEPS: tuple[Step, ...] = (_key_tombstones, _count_by_place, _keep_contents)
"""The first step leads from version 1 to 2."""

VERSION = 1 + len(STEPS)


def version_of(file: sqlite3.Connection) -> int:
    """Return the version of an inbox whose tables exist; version 1 did not record its number."""
    return max(1, int(file.execute("PRAGMA user_version").fetchone()[0]))


def migrate(file: sqlite3.Connection, key: Path) -> None:
    """Migrate an inbox to the newest version; refuse one that is newer than this program.

    ``key`` is the file in which earlier versions kept the key of tombstones; it is removed once the store holds it.
    """
    file.executescript(FIRST_TABLES)
    while (version := version_of(file)) < VERSION:
        with transaction(file):
            if version_of(file) == version:  # no other process has done the step meanwhile
                STEPS[version - 1](file, key)
                file.execute(f"PRAGMA user_version = {version + 1}")
    if version > VERSION:
        message = f"The store has version {version}; this program supports up to {VERSION}. Update tacit."
        raise EngineError(message, code="store-too-new")
    key.unlink(missing_ok=True)
