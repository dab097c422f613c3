"""The key with which a store assigns views and seeds, and whether liars could have chosen the ids it assigns by.

The key is stored in the inbox, and therefore in archives, but not in the analytical database, the log or evidence.
"""

from __future__ import annotations

import secrets

from tacit.collection import Collection
from tacit.encode.assigned import Assignment
from tacit.errors import UsageError
from tacit.server.store.inbox import Inbox
from tacit.server.store.validate import Person

__all__ = ["UNBOUND", "Coins"]

KEY = "coin-key"
"""Name of the setting that stores the key."""

UNBOUND = "unbound/"
"""Prefix of the setting that marks a collection with a report stored without proof of its sender."""


class Coins:
    """The views and seeds that a store assigns to people."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    @property
    def key(self) -> str | None:
        """The key; None before there is a collection that needs one."""
        return self._inbox.recall(KEY)

    def prepare(self, collection: Collection) -> None:
        """Create a key before anybody can report to a collection that needs one."""
        if collection.contract.assigned and self.key is None:
            self._inbox.remember(**{KEY: secrets.token_hex(32)})

    def assignment(self, collection: Collection) -> Assignment | None:
        """Return what the key assigns in a collection; None where devices draw views and seeds freely."""
        if not collection.contract.assigned:
            return None
        key = self.key
        if key is None:
            message = "The key that assigns views and seeds is gone from this store. Restore an archive that has it."
            raise UsageError(message, code="no-coin-key")
        return Assignment(key, collection.id)

    def coin(self, collection: Collection, person: Person) -> str:
        """Return the coin that assigns a person's views and seeds in a collection, or a round of a panel."""
        assignment = self.assignment(collection)
        if assignment is None:
            message = "Devices draw the views and seeds of this collection themselves."
            raise UsageError(message, code="free-views")
        if not collection.contract.asks(person):
            message = "This person is not asked in this round of the panel."
            raise UsageError(message, code="not-asked")
        return assignment.coin(person)

    def is_unbound(self, collection: Collection) -> bool:
        """Return whether a report of a collection with assigned views was stored without proof of its sender."""
        return collection.contract.assigned and self._inbox.recall(f"{UNBOUND}{collection.id}") is not None

    def note_unbound(self, collection: Collection) -> None:
        """Remember that such a report was stored."""
        self._inbox.remember(**{f"{UNBOUND}{collection.id}": "yes"})
