"""How far liars can move a total where views and seeds are assigned: random coins limit their choices."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.estimate.functional import Vector

__all__ = ["Widths"]

LOG_CHANCE = math.log(1e9)
"""Minus the logarithm of the probability, over keys, that a bound is exceeded: 1e-9."""


@dataclass(frozen=True)
class Widths:
    """How far one person can move a total with an assigned view and seed: mean, deviation and maximum over coins."""

    mean: float
    deviation: float
    most: float

    def __add__(self, other: Widths) -> Widths:
        """Return the widths of a sum, for any dependence between the two."""
        return Widths(self.mean + other.mean, self.deviation + other.deviation, self.most + other.most)

    def scaled(self, by: float) -> Widths:
        """Return the widths of a multiple."""
        return Widths(abs(by) * self.mean, abs(by) * self.deviation, abs(by) * self.most)

    def shift(self, liars: float) -> float:
        """Return how far a number of people can move a total, except with probability 1e-9 over keys."""
        typical = liars * self.mean + math.sqrt(2 * liars * LOG_CHANCE) * self.deviation + self.most * LOG_CHANCE / 3
        return min(liars * self.most, typical)

    @classmethod
    def of(cls, widths: Vector, chances: Vector) -> Widths:
        """Return the widths of coins with these probabilities."""
        mean = float(widths @ chances)
        return cls(mean, math.sqrt(max(0.0, float(widths**2 @ chances) - mean**2)), float(widths.max(initial=0.0)))
