"""Each person's total epsilon over all collections of a collector, and the operator's limit.

It needs no storage: a service is charged in full with a person's first report, and stays charged when the person is
deleted, so reports and tombstones show what was spent. A repeated report costs nothing, and neither does one that is
not stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.collection import Collection
from tacit.contract.contract import ServiceContract
from tacit.contract.files import schema_hash
from tacit.server.store.validate import Person

__all__ = ["PersonLedger", "cost_of", "declared_total", "round_of"]


@dataclass(frozen=True)
class PersonLedger:
    """The places each person is charged for, with their cost; a group of requests adds to it."""

    total: Fraction
    costs: dict[int, Fraction]
    charged: dict[Person, set[int]]

    def takes(self, person: Person, place: int) -> bool:
        """Charge a person for a place, once; return whether the limit allows it. An unknown place costs everything."""
        known = self.charged.setdefault(person, set())
        spent = sum((self.costs.get(charged_place, self.total) for charged_place in known | {place}), Fraction(0))
        if place not in known and spent > self.total:
            return False
        known.add(place)
        return True


def cost_of(service: ServiceContract) -> Fraction:
    """Return the epsilon of a person's reports to a service."""
    return service.service.sends * sum((channel.epsilon for channel in service.channels), Fraction(0))


def round_of(collection: Collection) -> str:
    """Return what the tiers of a round have in common: a person reports to one of them."""
    return f"{collection.contract.round} {schema_hash(collection.schema)}"


def declared_total(collections: Iterable[Collection]) -> Fraction:
    """Return the largest total epsilon of a person who reports to everything, with the largest tier of each round."""
    rounds: dict[str, Fraction] = {}
    for collection in collections:
        cost = collection.contract.times * _cost_of(collection.contract.services)
        name = f"{collection.panel.name if collection.panel else ''} {round_of(collection)}"
        rounds[name] = max(rounds.get(name, Fraction(0)), cost)
    return sum(rounds.values(), Fraction(0))


def _cost_of(services: Sequence[ServiceContract]) -> Fraction:
    return sum(map(cost_of, services), Fraction(0))
