"""Intervals where value plus and minus margin will not do: of ratios with a weak denominator, and of roots."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tacit.estimate.estimate import WEAK, fieller
from tacit.estimate.functional import Vector
from tacit.sql.formula import Dual, Formula

__all__ = ["uneven_error", "uneven_interval"]


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
            variances = float(matrix[0, 0]), float(matrix[0, 1]), float(matrix[1, 1])
            interval = fieller(above.value, below.value, variances, quantile)
    if made.square:
        square = made.square(given)
        variance = covariance(square.gradient[None, :]).item()
        if math.isnan(variance):
            return 0.0, math.inf
        margin = quantile * math.sqrt(max(0.0, variance))
        return math.sqrt(max(0.0, square.value - margin)), math.sqrt(max(0.0, square.value + margin))
    return interval


def uneven_error(error: float, interval: tuple[float, float] | None, quantile: float) -> float:
    """Return the standard error beside an interval: not a number where no interval is finite.

    The delta method's error says nothing where a denominator may be zero, too little where it is weak, and too much of
    roots near zero: there it is half of the interval's width over the quantile.
    """
    if interval is None or math.isnan(error):
        return error
    half = (interval[1] - interval[0]) / 2 / quantile
    return half if math.isfinite(half) else math.nan
