"""The incomplete beta function: tails of Student's t and of binomials, and exact bounds on probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["beta_below", "proportion_bounds"]

MOST_TERMS = 50_000
"""Maximum terms of the continued fraction: it needs about the square root of the larger parameter."""


def beta_below(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function: the probability that a Beta(a, b) variable is below x.

    Examples
    --------
    >>> round(beta_below(2, 3, 0.5), 4)
    0.6875
    """
    if not 0 < x < 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    tiny, c = 1e-300, 1.0
    d = 1 / (1 - (a + b) * x / (a + 1) or tiny)
    value = d
    for m in range(1, MOST_TERMS):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + factor * d or tiny)
            c = 1 + factor / c or tiny
            value *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return value


def proportion_bounds(count: int, trials: int, alpha: float) -> tuple[float, float]:
    """Return the Clopper-Pearson bounds of a probability; each is wrong with probability at most alpha.

    Examples
    --------
    >>> low, high = proportion_bounds(5, 10, 0.025)
    >>> round(low, 3), round(high, 3)
    (0.187, 0.813)
    """
    low = 0.0 if count == 0 else _crossing(lambda p: beta_below(count, trials - count + 1, p) > alpha)
    high = 1.0 if count == trials else _crossing(lambda p: beta_below(trials - count, count + 1, 1 - p) < alpha)
    return low, high


def _crossing(is_above: Callable[[float], bool]) -> float:
    """Return the smallest probability at which a monotone condition holds."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return (low + high) / 2
