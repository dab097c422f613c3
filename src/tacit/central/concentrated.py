"""Zero-concentrated differential privacy (zCDP): the budget of Gaussian noise, and what it says in epsilon and delta.

Budget      rho. Gaussian noise of variance 1/(2 rho) on counts of which one record moves one by 1 costs rho; a
            mechanism with a loss of epsilon costs epsilon**2/2; costs add up.
Conversion  rho-zCDP is (epsilon, delta)-DP for ``delta = exp((a - 1)(a rho - epsilon)) (1 - 1/a)**a/(a - 1)``, for
            every a above 1. `largest_rho` takes the best a of a search: whatever the search returns, the bound holds.
Rounding    rho is rounded down by `SLACK`, far more than the rounding errors of the doubles it was computed with.
Reference   Bun and Steinke 2016; Canonne, Kamath and Steinke 2020, proposition 12.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.central.noise import Gaussian, Laplace, Law

__all__ = ["ConcentratedBudget", "PureBudget", "largest_rho", "log_delta"]

SLACK = 1e-9
"""Relative margin by which rho is rounded down."""

DIGITS = 10**15
"""Denominator of a rounded rho."""

STEPS = 200
"""Bisections of each search: all digits of a double."""


@dataclass(frozen=True)
class PureBudget:
    """A budget of epsilon: every table and every choice gets a part of it."""

    total: Fraction

    def law(self, part: Fraction) -> Law:
        """Return the noise of a table that may cost a part of the budget."""
        return Laplace(part)

    def choice(self, part: Fraction) -> Fraction:
        """Return the epsilon of a choice that may cost a part of the budget."""
        return part

    def tables(self, part: Fraction, noise: float) -> float:
        """Return how many tables a part of the budget pays for, given the mean absolute noise that each may have."""
        return float(part) * noise


@dataclass(frozen=True)
class ConcentratedBudget:
    """A budget of rho."""

    total: Fraction

    def law(self, part: Fraction) -> Law:
        """Return the noise of a table that may cost a part of the budget."""
        return Gaussian(part)

    def choice(self, part: Fraction) -> Fraction:
        """Return the epsilon of a choice that may cost a part of the budget: its root of 2 rho, rounded down."""
        return Fraction(math.isqrt(int(2 * part * DIGITS**2)), DIGITS)

    def tables(self, part: Fraction, noise: float) -> float:
        """Return how many tables a part of the budget pays for, given the mean absolute noise that each may have."""
        return float(part) * math.pi * noise**2


@lru_cache(maxsize=64)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho for which rho-zCDP is (epsilon, delta)-DP, close to the largest.

    Examples
    --------
    >>> round(float(largest_rho(Fraction(1), Fraction(1, 10**9))), 4)
    0.015
    """
    limit = math.log(delta)
    low, high = 0.0, float(epsilon)
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle, float(epsilon)) <= limit else (low, middle)
    return Fraction(int(low * (1 - SLACK) * DIGITS), DIGITS)


def log_delta(rho: float, epsilon: float) -> float:
    """Return the logarithm of a delta for which rho-zCDP is (epsilon, delta)-DP, by a search for the best order."""

    def at(order: float) -> float:
        return (order - 1) * (order * rho - epsilon) + order * math.log1p(-1 / order) - math.log(order - 1)

    low, high = 1 + 1e-9, 2 + (epsilon + 1) / max(rho, 1e-300)
    for _ in range(STEPS):  # convex in the order: a bisection on its slope
        middle = (low + high) / 2
        slope = (2 * middle - 1) * rho - epsilon + math.log1p(-1 / middle)
        low, high = (middle, high) if slope < 0 else (low, middle)
    return min(0.0, at(high))
