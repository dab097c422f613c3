"""Provenance of central estimates, and intervals for sums of Laplace noise.

Noise here has heavier tails than a normal: a single draw is Laplace, the sum of k equal draws has kurtosis 3 + 3/k. The
interval of an estimate whose draws weigh like k equal ones is that of k equal ones, exactly for k = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Protocol

from tacit.estimate.estimate import Estimate, t_quantile
from tacit.estimate.functional import Functional

__all__ = ["Owner", "ReleaseProvenance", "freedom_for", "laplace_quantile", "single_estimate"]

MANY = 200
"""With this many draws the sum is practically normal: the quantiles differ by less than 0.1 %."""

STEPS = 600
"""Points of the integral over the mixing variable."""


@lru_cache(maxsize=4096)
def laplace_quantile(confidence: float, draws: float) -> float:
    """Return how many standard deviations cover a sum of ``draws`` equal Laplace variables with this probability.

    Such a sum is a normal variable whose variance is gamma distributed with shape ``draws``.

    Examples
    --------
    >>> round(laplace_quantile(0.95, 1), 3), round(laplace_quantile(0.95, 1e9), 3)
    (2.118, 1.96)
    """
    if draws >= MANY:
        return NormalDist().inv_cdf(0.5 + confidence / 2)
    if draws <= 1:
        return -math.log(1 - confidence) / math.sqrt(2)
    shape = draws
    spread = 12 / math.sqrt(shape)
    points = [-spread * 1.5 + (spread * 1.5 + math.log1p(spread)) * i / STEPS for i in range(STEPS + 1)]
    weights = [math.exp(shape * (u - math.exp(u))) for u in points]  # density of u = log(variance), up to a factor
    total = sum(weights)
    scales = [math.sqrt(2 * math.exp(u)) for u in points]
    low, high = 0.0, 40.0
    for _ in range(50):
        middle = (low + high) / 2
        inside = sum(w * math.erf(middle / s) for w, s in zip(weights, scales, strict=True)) / total
        low, high = (middle, high) if inside < confidence else (low, middle)
    return (low + high) / 2


@lru_cache(maxsize=4096)
def freedom_for(confidence: float, draws: float) -> float:
    """Return the degrees of freedom whose t quantile is that of a sum of Laplace variables.

    Estimates carry degrees of freedom; this makes their intervals those of the noise they really have.
    """
    wanted, probability = laplace_quantile(confidence, draws), 0.5 + confidence / 2
    if wanted <= NormalDist().inv_cdf(probability) * (1 + 1e-9):
        return math.inf
    low, high = 0.0, 14.0  # logarithms
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if t_quantile(probability, math.exp(middle)) > wanted else (low, middle)
    return math.exp((low + high) / 2)


def round_down(draws: float) -> float:
    """Return a number of draws rounded down to two digits: few distinct values, so that quantiles can be cached."""
    if draws >= MANY or draws <= 1:
        return max(1.0, min(draws, float(MANY)))
    step = 10.0 ** (math.floor(math.log10(draws)) - 1)
    return math.floor(draws / step) * step


class Owner(Protocol):
    """Noise that estimates are functionals of."""

    def deviation(self, functional: Functional) -> tuple[float, float]:
        """Return the standard error of a functional, and the equivalent number of equal draws."""
        ...


@dataclass(frozen=True, eq=False)
class ReleaseProvenance:
    """The provenance of an estimate: functionals of independent sources of noise."""

    parts: tuple[tuple[Owner, Functional], ...]
    confidence: float

    def scaled(self, by: float) -> ReleaseProvenance:
        """Return the provenance of a multiple."""
        return ReleaseProvenance(
            tuple((owner, functional.scaled(by)) for owner, functional in self.parts), self.confidence
        )

    def plus(self, other: Any) -> ReleaseProvenance:
        """Return the provenance of a sum."""
        parts = dict(self.parts)
        for owner, functional in other.parts:
            parts[owner] = parts[owner] + functional if owner in parts else functional
        return ReleaseProvenance(tuple(parts.items()), self.confidence)

    def error(self) -> tuple[float, float]:
        """Return the standard error, and the degrees of freedom that give it the right interval."""
        deviations = [owner.deviation(functional) for owner, functional in self.parts]
        error = math.hypot(*(deviation for deviation, _ in deviations))
        if not error > 0:
            return error, math.inf
        draws = 1 / sum((deviation / error) ** 4 / count for deviation, count in deviations if deviation)
        return error, freedom_for(self.confidence, round_down(draws))


@dataclass(frozen=True, eq=False)
class _Draw:
    """One draw of noise."""

    variance: float

    def deviation(self, functional: Functional) -> tuple[float, float]:
        """Return the standard error of a multiple of the draw."""
        return abs(sum(term.coefficient for term in functional.terms)) * math.sqrt(self.variance), 1.0


def single_estimate(value: float, variance: float, confidence: float) -> Estimate:
    """Return an estimate with one draw of noise; the number of rows is protected, so n is 0."""
    origin = ReleaseProvenance(((_Draw(variance), Functional.constant(())),), confidence)
    error, freedom = origin.error()
    return Estimate(value, error, 0, confidence, freedom, origin=origin)
