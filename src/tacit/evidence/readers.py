"""Claims about what readers of answers learn, for every collection and in total over rounds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.collection import Collection
from tacit.contract.amplification import DELTA
from tacit.contract.budget import decimal_text, read_fraction
from tacit.contract.files import schema_hash
from tacit.contract.readers import CONDITIONS, CentralLoss, central_loss

__all__ = ["Readership", "central_claims"]

Claims = dict[str, Any]


@dataclass(frozen=True)
class Readership:
    """How many people report, how many are in the smallest class, and how many have reports that readers know."""

    people: int
    delta: Fraction = DELTA
    alike: int | None = None
    known: int = 0

    def loss(self, collection: Collection) -> CentralLoss:
        """Return an upper bound on what readers learn about a person from a collection."""
        audit, contract = collection.audit(), collection.contract
        ratio = audit.ratio if audit.ok else None
        return central_loss(contract, ratio, people=self.people, delta=self.delta, alike=self.alike, known=self.known)

    def to_data(self) -> Claims:
        """Return plain data."""
        return {"people": self.people, "delta": decimal_text(self.delta), "alike": self.alike, "known": self.known}

    @classmethod
    def of(cls, data: Claims) -> Readership:
        """Return what `to_data` wrote."""
        return cls(data["people"], read_fraction(data["delta"]), data["alike"], data["known"])


def central_claims(collections: Iterable[Collection], readers: Readership) -> Claims:
    """Return the central loss of each collection, and a person's total.

    In a round a person is in one tier of a schema; over rounds and schemas epsilons and deltas add up. A round without
    a central claim counts with its local loss, which also bounds readers.
    """
    by_collection: Claims = {}
    worst: dict[tuple[str, str], tuple[float, Fraction]] = {}
    for collection in collections:
        label = f"panel {collection.panel.name}" if collection.panel else collection.contract.round
        loss, place = readers.loss(collection), (label, schema_hash(collection.schema))
        by_collection[collection.id] = {name: value for name, value in loss.to_data().items() if name != "conditions"}
        stated = (collection.audit().worst_loss, Fraction(0)) if loss.epsilon is None else (loss.epsilon, loss.delta)
        before = worst.get(place, (0.0, Fraction(0)))
        worst[place] = max(before[0], stated[0]), max(before[1], stated[1])
    total = sum((Fraction(epsilon) for epsilon, _ in worst.values() if math.isfinite(epsilon)), Fraction(0))
    bounded = all(math.isfinite(epsilon) for epsilon, _ in worst.values())
    delta = sum((delta_of_round for _, delta_of_round in worst.values()), Fraction(0))
    summed = {"epsilon": _up(total) if bounded else None, "delta": decimal_text(delta)}
    data = {"given": readers.to_data(), "collections": by_collection, "total": summed, "conditions": list(CONDITIONS)}
    plain: Claims = json.loads(json.dumps(data))
    return plain


def _up(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
