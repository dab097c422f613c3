"""Intervals where value plus and minus margin will not do: of ratios with a weak denominator, and of roots."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tacit.decode.functional import Vector
from tacit.sql.formula import Dual, Formula

__all__ = ["fieller", "uneven_interval"]

WEAK = 0.05
"""Squared relative margin of a denominator above which intervals of ratios are Fieller's, which need not be even."""


def uneven_interval(
    made: Formula, given: list[Dual], covariance: Callable[[Vector], Vector], quantile: float
) -> tuple[float, float] | None:
    """Return the interval of a root, Fieller's, one that is not finite, or None where the delta method will do.

    ``covariance`` returns the covariance of combinations of the formula's totals, a row each.
    """
    interval = None
    for denominator in made.denominators:
        below = denominator(given)
        above = made.numerator(given) if made.numerator else below
        matrix = covariance(np.stack([above.gradient, below.gradient]))
        weakness = quantile**2 * matrix[1, 1] / below.value**2 if below.value else math.inf
        if math.isnan(weakness) or weakness >= 1:
            return -math.inf, math.inf
        if weakness > WEAK and made.numerator:
            interval = fieller(above.value, below.value, matrix, quantile)
    if made.square:
        square = made.square(given)
        variance = covariance(square.gradient[None, :]).item()
        if math.isnan(variance):
            return 0.0, math.inf
        margin = quantile * math.sqrt(max(0.0, variance))
        return math.sqrt(max(0.0, square.value - margin)), math.sqrt(max(0.0, square.value + margin))
    return interval


def fieller(above: float, below: float, covariance: Vector, quantile: float) -> tuple[float, float] | None:
    """Return the ratios r for which ``above - r below`` is within its margin of zero.

    Examples
    --------
    >>> low, high = fieller(10.0, 5.0, np.array([[1.0, 0.0], [0.0, 1.0]]), 1.0)
    >>> round(low, 3), round(high, 3)
    (1.619, 2.547)
    """
    first, mixed, second = (quantile**2 * float(covariance[place]) for place in ((0, 0), (0, 1), (1, 1)))
    a, b, c = below**2 - second, above * below - mixed, above**2 - first
    root = b**2 - a * c
    if a <= 0 or not root >= 0:
        return None
    return (b - math.sqrt(root)) / a, (b + math.sqrt(root)) / a
