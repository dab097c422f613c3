"""Rotating panels: one contract over many rounds, of which each person reports in a few.

A person's reports of the whole panel are ``reports`` times those of one round, drawn independently given the values at
those times, and who is asked when does not depend on any value. So however the values change between rounds, the loss
is at most ``reports`` times that of one round, and is audited as the loss of that many reports. A round's people are a
random sample with inclusion probability ``reports / rounds``; totals are divided by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from tacit.client.panel import assigned_rounds, round_label
from tacit.errors import SchemaError

__all__ = ["MAX_ROUNDS", "Design", "Enrolled", "Panel"]

MAX_ROUNDS = 1_000
"""Maximum rounds of a panel: each has its own tables."""


@dataclass(frozen=True)
class Enrolled:
    """How many people belong to a panel in one of its rounds, and how many of them the coin asks in it."""

    people: int
    asked: int


@dataclass(frozen=True)
class Design:
    """How a round's people were chosen: each stands for ``weight`` people of the panel.

    Given ``enrolled`` they are a simple random sample of known size, whose weight is people over asked; otherwise
    everybody was chosen with the same probability, and the number of people is estimated as well.
    """

    weight: float
    repulsion: float
    enrolled: Enrolled | None = None

    @property
    def known_share(self) -> float:
        """How much of the sampling variance a known number of people removes: this times products of totals."""
        return (self.weight - 1) / self.enrolled.people if self.enrolled else 0.0


@dataclass(frozen=True)
class Panel:
    """A panel's name, its rounds, and how many of them a person reports in."""

    name: str
    rounds: int
    reports: int

    def __post_init__(self) -> None:
        are_integers = all(type(number) is int for number in (self.rounds, self.reports))
        if not (self.name and are_integers and 2 <= self.rounds <= MAX_ROUNDS and 1 <= self.reports <= self.rounds):
            message = (
                f"A panel has a name, from 2 to {MAX_ROUNDS:,} rounds, and reports from 1 to that number: "
                "panel='2026', rounds=52, reports=1."
            )
            raise SchemaError(message, code="bad-panel")

    @classmethod
    def of(cls, name: str, rounds: int, reports: int, round_name: str) -> Panel | None:
        """Return the panel of the arguments, or None if they name none."""
        if not name and not rounds:
            return None
        if round_name:
            message = "A panel names its rounds itself: leave round out."
            raise SchemaError(message, code="bad-panel")
        return cls(name, rounds, reports)

    @property
    def options(self) -> dict[str, str | int]:
        """The arguments of a collection that make this panel."""
        return {"panel": self.name, "rounds": self.rounds, "reports": self.reports}

    @property
    def weight(self) -> Fraction:
        """How many people of the panel each person of a round stands for."""
        return Fraction(self.rounds, self.reports)

    @property
    def repulsion(self) -> float:
        """How much rarer a person is in two given rounds than in rounds drawn apart: 1 - P[both] / P[one]**2."""
        return (self.rounds - self.reports) / (self.reports * (self.rounds - 1))

    def design(self, enrolled: Enrolled | None = None) -> Design:
        """Return how the people of a round are chosen, given the people of the panel if they are known."""
        if enrolled is None or not enrolled.asked:
            return Design(float(self.weight), self.repulsion)
        return Design(enrolled.people / enrolled.asked, self.repulsion, enrolled)

    def fewest(self, people: int) -> int:
        """Return a lower bound of the people asked in each round, which fails with probability below 10**-11."""
        mean = people / float(self.weight)
        return max(0, math.floor(mean - 7 * math.sqrt(mean)))

    def rounds_of(self, person: int | str) -> tuple[int, ...]:
        """Return the rounds, from 1 on, in which a person is asked."""
        return assigned_rounds(self.name, self.rounds, self.reports, person)

    def label(self, number: int) -> str:
        """Return the name of a round: those of a panel sort in their order."""
        return round_label(self.name, self.rounds, number)
