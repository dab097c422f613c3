"""Deletions newer than an archive: repeated after a restore, from the tombstones of a later log."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Mapping
from pathlib import Path

from tacit.server.collector import Collector
from tacit.server.store.tombstones import scope_of

__all__ = ["delete_again"]


def delete_again(folder: Path, tombstones: Mapping[str, Collection[str]]) -> int:
    """Delete everybody whose tombstone is given, by collection; return how many people that were."""

    def is_given(collection: str, service: str, person: int | str) -> bool:
        tombstone = collector.inbox.tombstone(collection, person, service).hex()
        return tombstone in tombstones.get(scope_of(collection, service), ())

    collector = Collector(folder)  # first: migrates the store of an older program
    try:
        with contextlib.closing(sqlite3.connect(folder / "inbox.db")) as file:
            file.create_function("is_given", 3, is_given, deterministic=True)
            everybody = "SELECT place, person FROM known UNION SELECT place, person FROM reports"
            joined = f"FROM ({everybody}) JOIN places USING (place)"
            rows = file.execute(
                f"SELECT DISTINCT collection, '', person {joined} WHERE is_given(collection, '', person) UNION "
                f"SELECT DISTINCT collection, service, person {joined} WHERE is_given(collection, service, person)"
            ).fetchall()
        for collection, service, person in rows:
            collector.forget(person, collection, [service] if service else (), asker="restored")
    finally:
        collector.close()
    return len({person for *_, person in rows})
