"""Read a whole store and compare its parts: digests of reports, the index of people, counts, the analytical database.

Nothing is changed. Problems are reported as numbers, without showing stored content.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from tacit.adapters.beside import SIZES
from tacit.collection import Collection
from tacit.encode.reports import report_table
from tacit.engines.base import Engine, rollup_of
from tacit.server.store.base import Identity, Sizes, digest_of
from tacit.server.store.validate import Person
from tacit.sql.printing import Statement
from tacit.sql.report_tables import count_rolled_up, count_rows

__all__ = ["Verified", "verify_analytical", "verify_inbox"]

ALTERED = "SELECT count(*), count(*) FILTER (WHERE NOT is_whole(place, person, slot, digest, content)) FROM reports"

UNINDEXED = """
SELECT (SELECT count(*) FROM known k LEFT JOIN reports r USING (number) WHERE k.number IS NOT NULL AND
    (r.place, r.person, r.slot, r.digest) IS NOT (k.place, k.person, k.slot, k.digest)) +
  (SELECT count(*) FROM reports r LEFT JOIN known k USING (place, person, slot)
    WHERE r.number <= (SELECT CAST(value AS INTEGER) FROM state WHERE name = 'sorted-to') AND k.number IS NOT r.number)
"""

MISCOUNTED = """
SELECT count(*) FROM sizes WHERE known <> (SELECT count(*) FROM
  (SELECT person, slot FROM known WHERE known.place = sizes.place UNION
   SELECT person, slot FROM reports WHERE reports.place = sizes.place))
"""


@dataclass(frozen=True)
class Verified:
    """What was read, and the problems with it."""

    reports: int
    damaged: int = 0
    problems: tuple[str, ...] = ()


def verify_inbox(file: sqlite3.Connection) -> Verified:
    """Read an inbox of this version and check every row."""
    file.create_function("is_whole", 5, _is_whole, deterministic=True)
    [(health,)] = file.execute("PRAGMA integrity_check(1)").fetchall()
    [(reports, damaged)] = file.execute(ALTERED).fetchall()
    [(unindexed,)] = file.execute(UNINDEXED).fetchall()
    [(miscounted,)] = file.execute(MISCOUNTED).fetchall()
    problems = {
        f"SQLite finds it damaged: {health}": health != "ok",
        f"{damaged:,} of {reports:,} reports do not match their digests": damaged,
        f"{unindexed:,} rows of the index of people do not match the reports": unindexed,
        f"the counts of {miscounted:,} services are wrong": miscounted,
    }
    return Verified(reports, damaged, tuple(words for words, is_so in problems.items() if is_so))


def _is_whole(place: int, person: Person, slot: int, digest: bytes, content: bytes) -> bool:
    try:
        return digest_of(Identity(place, person, slot), content) == digest
    except (TypeError, UnicodeError):  # the disk has altered its type
        return False


def verify_analytical(engine: Engine, inbox: sqlite3.Connection) -> Verified:
    """Read an analytical database and compare it with its inbox; no collector may be running."""
    engine.read_all()
    state = dict(inbox.execute("SELECT name, value FROM state").fetchall())
    stamp, generation = engine.stamp(), int(state.get("generation", 0))
    reports, problems = 0, []
    if stamp is None or stamp.identity != state.get("identity"):
        problems.append("it is not the one that the inbox knows")
    elif not generation <= stamp.generation <= generation + 1:
        problems.append("it is older than the inbox" if stamp.generation < generation else "the inbox is older than it")
    sizes = {(collection, service): Sizes(*counts) for collection, service, *counts in inbox.execute(SIZES)}
    for collection in (part for text in engine.contracts() for part in Collection.from_json(text).parts):
        for compiled in collection.contract.services:
            name, channels = compiled.service.name, len(compiled.channels)
            table = report_table(collection.id, name)
            rows = _sum(engine, count_rows(table)) if engine.has_table(table) else 0
            reports += rows // channels
            size = sizes.get((collection.id, name), Sizes())
            if rows // channels < size.settled:
                problems.append(f"it lacks reports of {name}")
            if rows // channels > size.settled + size.pending + size.bulk:  # pending reports may be there already
                problems.append(f"it holds more reports of {name} than the inbox knows")
            if table in engine.rollups() and _sum(engine, count_rolled_up(rollup_of(table))) != rows:
                problems.append(f"the rollup of {name} is out of date")
    return Verified(reports, 0, tuple(problems))


def _sum(engine: Engine, query: Statement) -> int:
    return int(engine.fetch(*query, {})["n"][0].as_py() or 0)
