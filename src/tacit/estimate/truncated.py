"""The posterior of a number with a known range, such as a count from 0 to n, given an unbiased estimate.

The posterior under a flat prior on the range is the normal likelihood of the estimate, truncated. `Truncated` holds its
mean and standard deviation. `interval` covers both the posterior's quantiles and the part of the plain interval
``estimate ± margin`` that is possible, so it holds at least as often as the plain one, whatever the number is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["Truncated", "open_interval"]

NORMAL = NormalDist()

FARTHEST = 5.0
"""Maximum distance of an estimate from the range, in standard errors; beyond it, noise is not normal."""

NARROW = 1e-3
"""Width of a range, in standard errors, below which the posterior is uniform."""


@dataclass(frozen=True)
class Truncated:
    """A normal distribution truncated to a range.

    Examples
    --------
    >>> half = Truncated.of(0.0, 1.0, 0.0, math.inf)
    >>> round(half.mean, 4), round(half.deviation, 4), round(half.quantile(0.975), 4)
    (0.7979, 0.6028, 2.2414)
    """

    centre: float
    scale: float
    low: float
    high: float
    mean: float
    deviation: float

    @classmethod
    def of(cls, value: float, error: float, low: float, high: float) -> Truncated:
        """Return the posterior given an estimate and its standard error; an infinite error carries no information."""
        if not (math.isfinite(error) and math.isfinite(value)):
            return cls(value, math.inf, low, high, (low + high) / 2, (high - low) / math.sqrt(12))
        if error == 0:
            value = min(max(value, low), high)
            return cls(value, 0.0, low, high, value, 0.0)
        centre = min(max(value, low - FARTHEST * error), high + FARTHEST * error)
        below, above = (low - centre) / error, (high - centre) / error
        if above - below < NARROW:
            return cls(centre, math.inf, low, high, (low + high) / 2, (high - low) / math.sqrt(12))
        mass = _between(below, above)
        first = (_density(below) - _density(above)) / mass
        second = (_moment(below) - _moment(above)) / mass
        deviation = error * math.sqrt(max(0.0, 1 + second - first**2))
        return cls(centre, error, low, high, centre + error * first, deviation)

    def quantile(self, probability: float) -> float:
        """Return a quantile."""
        if math.isinf(self.scale):
            return self.low + probability * (self.high - self.low)
        if not self.scale:
            return self.centre
        below, above = ((end - self.centre) / self.scale for end in (self.low, self.high))
        if below > 0:  # mirrored, to avoid cancellation in 1 - p
            below, above, probability = -above, -below, 1 - probability
            sign = -1.0
        else:
            sign = 1.0
        reached = NORMAL.cdf(below) + probability * _between(below, above)
        place = NORMAL.inv_cdf(reached) if 0 < reached < 1 else (below if reached <= 0 else above)
        return min(max(self.centre + sign * self.scale * place, self.low), self.high)

    def error_around(self, value: float) -> float:
        """Return the root mean squared distance of the number from a value."""
        return math.hypot(self.deviation, self.mean - value)


def open_interval(
    value: float, error: float, bounds: tuple[float, float], level: float, quantile: float
) -> tuple[float, float]:
    """Return the interval of a number within bounds, given its estimate; ``quantile`` is that of value ± margin.

    Examples
    --------
    >>> low, high = open_interval(-1.0, 1.0, (0.0, 100.0), 0.95, 1.96)
    >>> low, round(high, 2)
    (0.0, 1.65)
    """
    low, high = bounds
    if not (math.isfinite(error) and math.isfinite(value)):
        return low, high
    scaled = error * quantile / NORMAL.inv_cdf(0.5 + level / 2)
    posterior = Truncated.of(value, scaled, low, high)
    margin, tail = quantile * error, (1 - level) / 2
    left, right = (min(max(end, low), high) for end in (value - margin, value + margin))
    return min(left, posterior.quantile(tail)), max(right, posterior.quantile(1 - tail))


def _density(place: float) -> float:
    return NORMAL.pdf(place) if math.isfinite(place) else 0.0


def _moment(place: float) -> float:
    return place * NORMAL.pdf(place) if math.isfinite(place) else 0.0


def _between(below: float, above: float) -> float:
    """Return the normal probability of a range, exact to rounding in either tail."""
    if below > 0:
        below, above = -above, -below
    return 0.5 * (math.erfc(-above / math.sqrt(2)) - math.erfc(-below / math.sqrt(2)))
