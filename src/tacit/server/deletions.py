"""Deletions newer than an archive, of people and of keys, are repeated after a restore: from what a later log says."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from tacit.server.collector import Collector
from tacit.server.keys import Keys
from tacit.server.store.log import Log
from tacit.server.store.tombstones import scope_of
from tacit.server.store.validate import Person, person_of

__all__ = ["delete_again", "revoke_again"]


def delete_again(folder: Path, tombstones: Mapping[str, Collection[str]], lake: str) -> int:
    """Delete everybody whose tombstone is given, by scope, and refuse their later reports; return how many had any.

    Tombstones of people without reports in the archive are stored too: they may have reported, and left, since.
    """
    collector = Collector(folder, lake=lake)  # first: migrates the store of an older program
    try:
        matching = dict(_matching(collector, tombstones))
        for collection, service, person in matching.values():
            collector.forget(person, collection, [service] if service else (), asker="restored")
        absent = {scope: sorted(set(traces) - set(matching)) for scope, traces in tombstones.items()}
        if any(absent.values()):
            collector.log.add("deletions-repeated", tombstones=absent)
    finally:
        collector.close()
    with contextlib.closing(sqlite3.connect(folder / "inbox.db")) as file, file:
        rows = [(scope.partition("/")[0], bytes.fromhex(trace)) for scope, listed in absent.items() for trace in listed]
        file.executemany("INSERT OR IGNORE INTO forgotten VALUES (?, ?)", rows)
    return len({person for *_, person in matching.values()})


def revoke_again(folder: Path, digests: Collection[str]) -> int:
    """Revoke the keys whose digests start with one of these; return how many there were."""
    keys, log = Keys(folder / "keys.json"), Log(folder / "log.db")
    try:
        revoked = 0
        for start in sorted(digests):
            if keys.digests(start):
                log.add("key-revoked", digest=start)
                revoked += keys.revoke(start)
        return revoked
    finally:
        log.close()
        keys.close()


def _matching(
    collector: Collector, tombstones: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, tuple[str, str, Person]]]:
    """Yield the given tombstones of people in the store, with what they are deleted from: collection and service."""
    for collection, service, person in _everybody(collector):
        for scope in ("", service):
            trace = collector.inbox.tombstone(collection, person, scope).hex()
            if trace in tombstones.get(scope_of(collection, scope), ()):
                yield trace, (collection, scope, person)


def _everybody(collector: Collector) -> Iterator[tuple[str, str, Person]]:
    """Yield everybody with reports: in the inbox, or loaded in bulk past it."""
    query = (
        "SELECT collection, service, person FROM (SELECT place, person FROM known UNION SELECT place, person "
        "FROM reports) JOIN places USING (place)"
    )
    with contextlib.closing(sqlite3.connect(collector.folder / "inbox.db")) as file:
        yield from file.execute(query)
    for collection, compiled in collector.mover.stores.services():
        for key in collector.analytical.people(collection, compiled):
            yield collection.id, compiled.service.name, person_of(key)
