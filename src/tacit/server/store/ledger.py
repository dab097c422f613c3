"""What each person has given away over all collections of a collector, and the total that the operator allows.

Nothing is kept for it: a service is charged in full with a person's first report, and stays charged when the person is
deleted, so reports and tombstones say what was spent. A report that comes again costs nothing, and one that is not
stored charges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.collection import Collection
from tacit.contract.contract import ServiceContract
from tacit.contract.files import schema_hash
from tacit.server.store.validate import Person

__all__ = ["Ledger", "cost_of", "declared_total", "round_of"]


@dataclass(frozen=True)
class Ledger:
    """Places that each person is charged for, with what they cost; a group of requests adds to it."""

    total: Fraction
    costs: dict[int, Fraction]
    charged: dict[Person, set[int]]

    def takes(self, person: Person, place: int) -> bool:
        """Charge a person for a place, once; tell whether the total allows it. An unknown place costs everything."""
        known = self.charged.setdefault(person, set())
        spent = sum((self.costs.get(one, self.total) for one in known | {place}), Fraction(0))
        if place not in known and spent > self.total:
            return False
        known.add(place)
        return True


def cost_of(service: ServiceContract) -> Fraction:
    """Return what a person's reports to a service give away at most."""
    return service.service.sends * sum((channel.epsilon for channel in service.channels), Fraction(0))


def round_of(collection: Collection) -> str:
    """Return what the tiers of a round share: a person reports to one of them."""
    return f"{collection.contract.round} {schema_hash(collection.schema)}"


def declared_total(collections: Iterable[Collection]) -> Fraction:
    """Return what a person gives away at most who reports to everything: of each round, to its largest tier."""
    rounds: dict[str, Fraction] = {}
    for collection in collections:
        cost = collection.contract.times * _cost_of(collection.contract.services)
        name = f"{collection.panel.name if collection.panel else ''} {round_of(collection)}"
        rounds[name] = max(rounds.get(name, Fraction(0)), cost)
    return sum(rounds.values(), Fraction(0))


def _cost_of(services: Sequence[ServiceContract]) -> Fraction:
    return sum(map(cost_of, services), Fraction(0))
