"""Deletions that an archive does not know: done again after it is restored, from the tombstones of a later log."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Mapping
from pathlib import Path

from tacit.server.collector import Collector

__all__ = ["delete_again"]


def delete_again(folder: Path, tombstones: Mapping[str, Collection[str]]) -> int:
    """Delete everybody in a store whose tombstone, by collection, is given; return how many people that were."""

    def is_given(collection: str, person: int | str) -> bool:
        return collector.inbox.tombstone(collection, person).hex() in tombstones.get(collection, ())

    collector = Collector(folder)  # first: it brings the store of an older program to what is read here
    try:
        with contextlib.closing(sqlite3.connect(folder / "inbox.db")) as file:
            file.create_function("is_given", 2, is_given, deterministic=True)
            everybody = "SELECT place, person FROM known UNION SELECT place, person FROM reports"
            query = f"SELECT DISTINCT collection, person FROM ({everybody}) JOIN places USING (place)"  # noqa: S608
            found = file.execute(f"{query} WHERE is_given(collection, person)").fetchall()
        for collection, person in found:
            collector.forget(person, collection, asker="restored")
    finally:
        collector.close()
    return len({person for _, person in found})
