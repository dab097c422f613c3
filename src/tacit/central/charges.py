"""Charges, and their total cost.

Sequential composition: charges at one place add up. Parallel composition: the parts of a partition hold different
people, so a partition costs as much as its most expensive part. The same holds for deltas; only releases of the whole
table have one. Charges are data; only this module interprets them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from tacit.contract.budget import decimal_text

__all__ = ["Charge", "Event", "Place", "Spending"]

Place = tuple[tuple[str, int], ...]
"""Where a charge belongs: the enclosing partitions, outermost first, each with the number of the part."""


@dataclass(frozen=True)
class Charge:
    """A budget to spend, where, and on what."""

    epsilon: Fraction
    what: str
    place: Place = ()
    delta: Fraction = Fraction(0)


@dataclass(frozen=True)
class Event:
    """A charge that was made."""

    number: int
    time: str
    charge: Charge

    def __str__(self) -> str:
        inside = "".join(f" in part {part} of {name}" for name, part in self.charge.place)
        delta = f" (delta {float(self.charge.delta):.3g})" if self.charge.delta else ""
        return f"{self.number}  {self.time}  {decimal_text(self.charge.epsilon)}{delta}  {self.charge.what}{inside}"


@dataclass
class Spending:
    """Cost of everything below a place, updated with each charge."""

    cost: Fraction = Fraction(0)
    parts: dict[str, dict[int, Spending]] = field(default_factory=dict)
    worst: dict[str, Fraction] = field(default_factory=dict)

    def add(self, place: Place, epsilon: Fraction) -> None:
        """Add a charge at a place below this node."""
        if not place:
            self.cost += epsilon
            return
        (name, part), *below = place
        child = self.parts.setdefault(name, {}).setdefault(part, Spending())
        child.add(tuple(below), epsilon)
        before = self.worst.get(name, Fraction(0))
        self.worst[name] = max(before, child.cost)
        self.cost += self.worst[name] - before
