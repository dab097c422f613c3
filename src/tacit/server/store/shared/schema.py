"""The tables of a shared store, and their versions.

A step that is compatible with older programs raises only the version; any other also raises the least version that a
program needs to use the store. Steps run one at a time, possibly while other collectors work.
"""

from __future__ import annotations

import os
import secrets
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psycopg

from tacit.errors import EngineError
from tacit.server.store.base import Identity, content_digest, digest_of
from tacit.server.store.shared.session import Connection, join, unreachable
from tacit.server.store.tombstones import adopt_key
from tacit.server.store.validate import person_of
from tacit.tables.statements import compose

__all__ = ["VERSION", "migrate", "prepare"]

VERSION = 3
"""Version of the tables."""

MIGRATING = 0x7461_636D
"""Number of the advisory lock for changing tables: "tacm"."""

TABLES = """
CREATE TABLE IF NOT EXISTS tacit_store (version INTEGER);
CREATE TABLE IF NOT EXISTS tacit_places (place SERIAL PRIMARY KEY, collection TEXT, service TEXT, round TEXT,
  UNIQUE (collection, service));
CREATE TABLE IF NOT EXISTS tacit_known (place INTEGER, person TEXT COLLATE "C", slot INTEGER, digest BYTEA,
  PRIMARY KEY (place, person, slot));
CREATE TABLE IF NOT EXISTS tacit_pending (number BIGSERIAL PRIMARY KEY, place INTEGER, person TEXT COLLATE "C",
  slot INTEGER, content BYTEA);
CREATE TABLE IF NOT EXISTS tacit_forgotten (collection TEXT, digest BYTEA, PRIMARY KEY (collection, digest));
INSERT INTO tacit_store SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM tacit_store);
"""

KEEP_CONTENTS = """
CREATE TABLE tacit_state (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE tacit_contracts (number BIGSERIAL, id TEXT PRIMARY KEY, contract TEXT);
CREATE TABLE tacit_damaged (number BIGINT PRIMARY KEY, place INTEGER);
CREATE TABLE tacit_deletions (collection TEXT, service TEXT, person TEXT COLLATE "C",
  PRIMARY KEY (collection, service, person));
CREATE TABLE tacit_sizes (place INTEGER PRIMARY KEY, known BIGINT DEFAULT 0, damaged BIGINT DEFAULT 0,
  lost BIGINT DEFAULT 0, bulk BIGINT DEFAULT 0);
INSERT INTO tacit_sizes (place, known) SELECT place, count(*) FROM tacit_known GROUP BY place;
ALTER TABLE tacit_known ADD COLUMN number BIGINT;
UPDATE tacit_known k SET number = p.number FROM tacit_pending p
  WHERE (p.place, p.person, p.slot) = (k.place, k.person, k.slot);
CREATE TABLE tacit_waiting (number BIGINT PRIMARY KEY, place INTEGER, person TEXT COLLATE "C");
INSERT INTO tacit_waiting SELECT number, place, person FROM tacit_pending;
CREATE INDEX tacit_whole_people ON tacit_waiting (place, person);
DROP INDEX IF EXISTS tacit_whole;
ALTER TABLE tacit_pending RENAME TO tacit_reports;
ALTER TABLE tacit_reports ADD COLUMN digest BYTEA;
DROP TABLE IF EXISTS tacit_totals;
UPDATE tacit_store SET version = 2;
"""
"""From version 1 to 2 (3 to 4 for a file): stores contents and digests of whole rows."""

SHARE = """
ALTER TABLE tacit_store ADD COLUMN least INTEGER;
ALTER TABLE tacit_sizes ADD COLUMN shard INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tacit_sizes DROP CONSTRAINT tacit_sizes_pkey;
ALTER TABLE tacit_sizes ADD PRIMARY KEY (place, shard);
CREATE TABLE tacit_collectors (id TEXT PRIMARY KEY, program TEXT, version INTEGER, since TIMESTAMPTZ, beats BIGINT,
  seen TIMESTAMPTZ);
CREATE TABLE tacit_leases (name TEXT PRIMARY KEY, holder TEXT, until TIMESTAMPTZ, clean BOOLEAN);
CREATE TABLE tacit_fences (name TEXT PRIMARY KEY, token BIGINT);
INSERT INTO tacit_leases VALUES ('lead', '', '-infinity', true);
INSERT INTO tacit_fences VALUES ('lead', 0);
CREATE TABLE tacit_log (number BIGINT PRIMARY KEY, hash TEXT, line TEXT);
CREATE TABLE tacit_keys (number BIGSERIAL, digest TEXT PRIMARY KEY, key TEXT);
UPDATE tacit_store SET version = 3, least = 3;
"""
"""From version 2 to 3: several collectors. Keys, log and leases are here, and totals are in several rows."""


def prepare(address: str) -> None:
    """Create the tables of a store before its first collector starts."""
    try:
        with closing(join(address)) as connection:
            migrate(connection, Path(os.devnull) / "tombstones.key")
    except psycopg.Error as cause:
        raise unreachable(cause) from None


def migrate(writer: Connection, key: Path) -> None:
    """Migrate the tables to the newest version; refuse tables that need a newer program."""
    with writer.transaction():
        writer.execute("SELECT pg_advisory_xact_lock(%s)", [MIGRATING])
        writer.execute(TABLES.replace("%", "%%"))
        [(version,)] = _rows(writer, "SELECT version FROM tacit_store")
        if version == 1:
            writer.execute(KEEP_CONTENTS)
            _redigest(writer)
            needed = bool(_rows(writer, "SELECT 1 FROM tacit_forgotten LIMIT 1"))
            state = {"tombstone-key": adopt_key(key, needed=needed).hex(), "identity": secrets.token_hex(16)}
            for name, value in state.items():
                writer.execute("INSERT INTO tacit_state VALUES (%s, %s)", [name, value])
        if version <= 2:
            writer.execute(SHARE)
        [(version, least)] = _rows(writer, "SELECT version, least FROM tacit_store")
    if least > VERSION:
        problem = (
            f"The store has version {version} and requires programs of version {least}; this one has {VERSION}. "
            f"Update tacit."
        )
        raise EngineError(problem, code="store-too-new")
    with suppress(NotADirectoryError):
        key.unlink(missing_ok=True)


def _rows(writer: Connection, query: str) -> list[tuple[Any, ...]]:
    return writer.execute(query).fetchall()


def _redigest(writer: Connection) -> None:
    """Give pending reports the digests of their whole rows; an altered one keeps its old digest."""
    query = (
        "SELECT number, r.place, r.person, r.slot, k.digest, content "
        "FROM tacit_reports r JOIN tacit_known k USING (number)"
    )
    pairs = [
        (number, digest_of(Identity(place, person_of(person), slot), content))
        if content_digest(content) == digest
        else (number, digest)
        for number, place, person, slot, digest, content in _rows(writer, query)
    ]
    columns = [[number for number, _ in pairs], [digest for _, digest in pairs]]
    update = (
        "UPDATE {table} t SET digest = u.digest "
        "FROM unnest(%s::bigint[], %s::bytea[]) AS u (number, digest) WHERE t.number = u.number"
    )
    for table in ("tacit_reports", "tacit_known"):
        writer.execute(compose(update, table=table), columns)
