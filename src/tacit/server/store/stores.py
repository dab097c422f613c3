"""Keeps the analytical database in step with the inbox.

Deletions are applied to the inbox first, and then to the database until they succeed. If the database is missing,
replaced, older than the inbox expects, or lacks reports, it is rebuilt from the inbox.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tacit.collection import Collection
from tacit.contract.contract import ServiceContract
from tacit.engines.base import Stamp
from tacit.errors import OverloadedError, TacitError
from tacit.server.store.analytical import Analytical
from tacit.server.store.base import Sizes
from tacit.server.store.belonging import is_of
from tacit.server.store.inbox import Inbox
from tacit.server.store.turns import Turns
from tacit.server.store.validate import stored_key

__all__ = ["Service", "Stores"]

LOG = logging.getLogger("tacit.server")

Service = tuple[Collection, ServiceContract]


class Stores:
    """Both stores of a collector; the caller ensures that nothing else changes them."""

    def __init__(self, inbox: Inbox, analytical: Analytical, *, is_elsewhere: bool) -> None:
        self._inbox, self._analytical, self._is_elsewhere = inbox, analytical, is_elsewhere
        self.turns = Turns()
        self.changes = 0
        """Number of changes to the database; the same number before and after means no change."""
        self.compared = False
        """Whether the database is known to belong to this inbox."""

    @property
    def is_rebuilding(self) -> bool:
        """Whether the database is being rebuilt and still incomplete."""
        return self._inbox.recall("rebuilding") == "yes"

    def is_short(self, services: Sequence[Service] | None, *, certain: bool) -> bool:
        """Return whether the database lacks reports that have left the inbox; the next move then rebuilds it.

        It is certain while nothing moves; otherwise both may have been counted at different moments.
        """
        if self._lacking(services):
            self.compared = self.compared and not certain
            return True
        return not self.compared

    def _bring_contracts(self) -> None:
        """Copy contracts so that both stores have the same; a new database has none."""
        contracts = self._inbox.contracts()
        for collection in self._analytical.database.collections:
            if collection.contract_id not in contracts:
                self._inbox.add_contract(collection.contract_id, collection.to_json())
        known = {collection.contract_id for collection in self._analytical.database.collections}
        for name, text in contracts.items():
            if name not in known:
                self._analytical.database.create(Collection.from_json(text))

    def compare(self) -> None:
        """Adopt the database if it belongs to the inbox; otherwise rebuild it.

        Only then is any of its content used: contracts of another store may contradict those of this one. Nothing
        happens if it was compared before.
        """
        if self.compared:
            return
        identity, generation = self._inbox.recall("identity") or "", self._inbox.recall("generation")
        stamp = self._analytical.stamp
        mine = is_of(stamp, identity, generation, is_elsewhere=self._is_elsewhere)
        if stamp is not None and mine and self._is_elsewhere:  # changes by a collector that lost its lock now fail
            stamp = Stamp(identity, stamp.generation + 1)
            self._mark(stamp.generation)
        fits = generation is None if stamp is None else mine and stamp.generation >= int(generation or 0)
        if fits:
            self._bring_contracts()
        if fits and not self._lacking():
            self._inbox.remember(rollups=self._analytical.rollups(self._inbox.recall("rollups")))
            self._mark(stamp.generation if stamp else 0)
        else:
            self._rebuild(keep=stamp is not None and not mine)
        self.compared = True

    def _mark(self, generation: int) -> None:
        """Record the number of changes to the database, there first and then in the inbox."""
        identity = self._inbox.recall("identity") or ""
        self._analytical.stamp = Stamp(identity, generation)
        self._inbox.remember(generation=str(generation))

    @contextmanager
    def change(self) -> Iterator[None]:
        """Count a change of the database before making it, so that readers notice it."""
        self.turns.wait()
        self.changes += 1
        yield
        self._mark(int(self._inbox.recall("generation") or 0) + 1)

    def _lacking(self, services: Sequence[Service] | None = None) -> list[str]:
        """Return the services, of these or of all, whose reports the database lacks although they left the inbox."""
        sizes = self._inbox.sizes()
        return [
            compiled.service.name
            for collection, compiled in services or self.services()
            if self._analytical.count(collection, compiled)
            < sizes.get((collection.id, compiled.service.name), Sizes()).settled
        ]

    def _rebuild(self, *, keep: bool) -> None:
        """Recreate the database, and make all reports of the inbox pending again."""
        LOG.error("the analytical database is rebuilt from the inbox: rebuilding")
        resumed = self.is_rebuilding and self._analytical.stamp is not None and not keep
        rollups = self._inbox.recall("rollups")
        self._inbox.remember(rebuilding="yes", rollups=(rollups or "") if keep else self._analytical.rollups(rollups))
        with self.change():
            if not resumed:
                kept_nowhere_else = any(size.bulk or size.lost for size in self._inbox.sizes().values())
                aside = keep or kept_nowhere_else or self._inbox.lacks_contents()
                self._analytical.begin_anew(keep=aside, is_own=not keep)
            self._bring_contracts()
            self._inbox.refill()

    def services(self) -> list[Service]:
        """Return all services with their collections."""
        collections = self._analytical.database.collections
        return [(collection, compiled) for collection in collections for compiled in collection.contract.services]

    def apply_deletions(self) -> None:
        """Apply the deletions of the inbox; applying one twice changes nothing."""
        for collection, service, person in self._inbox.deletions():
            with self.change():
                self._analytical.database.forget(stored_key(person), [collection], [service] if service else ())
            self._inbox.finish_deletion(collection, service, person)
            self._fit_bulk(collection)

    def _fit_bulk(self, name: str) -> None:
        """Record how many reports loaded in bulk are left after a deletion."""
        sizes = self._inbox.sizes()
        for collection, compiled in self.services():
            size = sizes.get((collection.id, compiled.service.name), Sizes())
            if collection.id == name and size.bulk:
                left = max(0, self._analytical.count(collection, compiled) - size.settled)
                self._inbox.add_bulk(name, compiled.service.name, min(0, left - size.bulk))

    def end_rebuilding(self) -> TacitError | None:
        """Finish a rebuild; return the fault if reports are missing."""
        lacking = self._lacking()
        if lacking:
            message = f"The rebuilt analytical database lacks reports of {', '.join(lacking)}. Restore an archive."
            return OverloadedError(message, code="rebuild-short", retry_after=60)
        self._analytical.roll_up(self._inbox.recall("rollups"))
        self._inbox.remember(rebuilding="")
        LOG.error("the analytical database is rebuilt: rebuilt")
        return None
