"""Asymmetric intervals: ratios with a weak denominator, and roots."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tacit.estimate.estimate import WEAK, fieller, t_quantile
from tacit.estimate.functional import Vector
from tacit.sql.formula import Dual, Formula

__all__ = ["uneven_error", "uneven_interval"]

Covariance = Callable[[Vector], Vector]

MEANS = 9
"""Number of possible means at which mean squares are evaluated: both ends, which decide, and some between."""


def uneven_interval(
    formula: Formula, totals: list[Dual], covariance: Covariance, level: float, freedom: float
) -> tuple[float, float] | None:
    """Return the interval of a root or a weak ratio (Fieller), possibly infinite; None where the delta method suffices.

    ``covariance`` returns the covariance of combinations of the formula's totals, one per row.
    """
    scale, offset = formula.affine
    interval = _interval(formula, totals, covariance, level, freedom) if scale else None
    if interval is None:
        return None
    low, high = sorted(scale * end + offset for end in interval)
    return low, high


def _interval(
    formula: Formula, totals: list[Dual], covariance: Covariance, level: float, freedom: float
) -> tuple[float, float] | None:
    """Return the interval before scale and offset."""
    quantile = t_quantile(0.5 + level / 2, freedom)
    interval = None
    if formula.squares and formula.numerator:
        ends = _ratio(formula.numerator(totals), formula.denominators[0](totals), covariance, quantile)
        return _square_interval(*ends)
    for denominator in formula.denominators:
        below, above = denominator(totals), formula.numerator(totals) if formula.numerator else None
        variances = _variances(above or below, below, covariance)
        weakness = quantile**2 * variances[2] / below.value**2 if below.value else math.inf
        if math.isnan(weakness) or weakness >= 1:
            return -math.inf, math.inf
        if weakness > WEAK and above is not None:
            interval = _fieller(above, below, variances, quantile)
        if weakness > WEAK and formula.moments:
            interval = _spread(formula, totals, covariance, level, freedom)
            if formula.square:
                return tuple(math.sqrt(max(0.0, end)) for end in interval)  # type: ignore[return-value]
    if formula.square:
        square = formula.square(totals)
        variance = covariance(square.gradient[None, :]).item() + square.beyond**2
        if math.isnan(variance):
            return 0.0, math.inf
        margin = quantile * math.sqrt(max(0.0, variance))
        return math.sqrt(max(0.0, square.value - margin)), math.sqrt(max(0.0, square.value + margin))
    return interval


def _square_interval(low: float, high: float) -> tuple[float, float]:
    """Return the interval of the square of a number that lies in an interval."""
    ends = sorted((low**2, high**2))
    return (0.0 if low <= 0 <= high else ends[0]), ends[1]


def _ratio(above: Dual, below: Dual, covariance: Covariance, quantile: float) -> tuple[float, float]:
    """Return Fieller's interval; an infinite one where the denominator may be zero."""
    return _fieller(above, below, _variances(above, below, covariance), quantile)


def _variances(above: Dual, below: Dual, covariance: Covariance) -> tuple[float, float, float]:
    """Return the variance of the first, the covariance, and the variance of the second."""
    matrix = covariance(np.array([above.gradient, below.gradient]))
    return float(matrix[0, 0]), float(matrix[0, 1]), float(matrix[1, 1])


def _fieller(above: Dual, below: Dual, variances: tuple[float, float, float], quantile: float) -> tuple[float, float]:
    return fieller(above.value, below.value, variances, quantile) or (-math.inf, math.inf)


def _spread(
    formula: Formula, totals: list[Dual], covariance: Covariance, level: float, freedom: float
) -> tuple[float, float]:
    """Return the interval of a variance over few rows: the union of intervals of the mean square over possible means.

    About the true mean, the mean square is the variance, and a plain ratio. Each of the two intervals has half of the
    error probability.
    """
    assert formula.moments is not None  # noqa: S101  VAR and STDDEV alone come here
    quantile = t_quantile(0.75 + level / 4, freedom)
    [_, value, number] = totals
    ends = _ratio(value, number, covariance, quantile)
    if math.isinf(ends[1] - ends[0]):
        return 0.0, math.inf
    ranges = [
        _ratio(formula.moments(totals, float(about)), number, covariance, quantile)
        for about in np.linspace(*ends, MEANS)
    ]
    return max(0.0, min(low for low, _ in ranges)), max(high for _, high in ranges)


def uneven_error(error: float, interval: tuple[float, float] | None, level: float, freedom: float) -> float:
    """Return the standard error beside an interval: not a number where no interval is finite.

    The delta method's error means nothing where a denominator may be zero; it is too small where the denominator is
    weak, and too large for roots near zero. There the error is half of the interval's width over the quantile.
    """
    if interval is None or math.isnan(error):
        return error
    half = (interval[1] - interval[0]) / 2 / t_quantile(0.5 + level / 2, freedom)
    return half if math.isfinite(half) else math.nan
