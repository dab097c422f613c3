"""A number with its error.

An `Estimate` is a value, its standard error and an interval at a confidence. It remembers what it was made of, so sums,
differences, products and ratios of estimates take into account that they come from the same reports.
"""

from __future__ import annotations

import math
from functools import cached_property
from statistics import NormalDist
from typing import Any, Protocol, Self

from tacit.errors import UsageError

__all__ = ["Estimate", "Origin", "t_quantile"]


def t_quantile(probability: float, freedom: float) -> float:
    """Return a quantile of Student's t: exact for one and two degrees of freedom, else by Cornish and Fisher.

    Examples
    --------
    >>> round(t_quantile(0.975, 1), 3), round(t_quantile(0.975, 10), 3)
    (12.706, 2.228)
    """
    z = NormalDist().inv_cdf(probability)
    if math.isinf(freedom):
        return z
    if freedom < 2:
        return math.tan(math.pi * (probability - 0.5))
    if freedom < 3:
        return (2 * probability - 1) / math.sqrt(2 * probability * (1 - probability))
    n = freedom
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / n + second / n**2 + third / n**3


class Origin(Protocol):
    """What an estimate was made of: a linear combination of sums over people."""

    def scaled(self, by: float) -> Self:
        """Return the origin of a multiple."""

    def plus(self, other: Any) -> Self:
        """Return the origin of a sum."""

    def error(self) -> tuple[float, float]:
        """Return the standard error, and its degrees of freedom."""


class Estimate:
    """A value that is not known exactly.

    Attributes
    ----------
    value, error : float
        The estimate and its standard error.
    low, high : float
        The interval at ``confidence``; infinite where a ratio's denominator may be zero.
    n : int
        People whose reports it is made of.
    freedom : float
        Effective degrees of freedom of the error.

    Examples
    --------
    >>> Estimate(10.0, 1.0, n=100) * 2
    20.0 ± 3.9
    """

    def __init__(
        self,
        value: float,
        error: float | None,
        n: int,
        confidence: float = 0.95,
        freedom: float = math.inf,
        *,
        interval: tuple[float, float] | None = None,
        origin: Origin | None = None,
    ) -> None:
        self.value, self.n, self.confidence = value, n, confidence
        self._error, self._freedom, self._interval, self.origin = error, freedom, interval, origin

    @cached_property
    def _spread(self) -> tuple[float, float]:
        """Standard error and freedom; of a combination they are asked for when they are first looked at."""
        if self._error is not None:
            return self._error, self._freedom
        return self.origin.error() if self.origin else (0.0, math.inf)

    @property
    def error(self) -> float:
        """Standard error."""
        return self._spread[0]

    @property
    def freedom(self) -> float:
        """Effective degrees of freedom of the error."""
        return self._spread[1]

    def at(self, confidence: float) -> Estimate:
        """Return the same estimate with an interval of another confidence; Fieller's are not carried over."""
        infinite = self._interval if self._interval and math.isinf(self._interval[1]) else None
        return Estimate(
            self.value, self._error, self.n, confidence, self._freedom, interval=infinite, origin=self.origin
        )

    @property
    def margin(self) -> float:
        """Half the width of the interval."""
        if self._interval is not None:
            return (self._interval[1] - self._interval[0]) / 2
        return t_quantile(0.5 + self.confidence / 2, self.freedom) * self.error if self.error else 0.0

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self._interval[0] if self._interval is not None else self.value - self.margin

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self._interval[1] if self._interval is not None else self.value + self.margin

    @property
    def is_weak(self) -> bool:
        """Whether the interval holds zero, so that not even the sign is known."""
        return self.error > 0 and not (self.low > 0 or self.high < 0)

    def _combined(self, value: float, mine: float, other: Estimate | None = None, theirs: float = 0.0) -> Estimate:
        """Return an estimate whose gradient by this one and another is given."""
        if not all(map(math.isfinite, (value, mine, theirs))):
            return Estimate(math.nan, math.nan, self.n, self.confidence)
        if other is None and self.origin is None:
            return Estimate(value, abs(mine) * self.error, self.n, self.confidence, self.freedom)
        if self.origin is None or (other is not None and other.origin is None):
            message = "An estimate that was made by hand cannot be combined with others: their covariance is not known."
            raise UsageError(message, code="unknown-covariance")
        origin = self.origin.scaled(mine)
        if other is not None:
            origin = origin.plus(other.origin.scaled(theirs))  # type: ignore[union-attr]
        return Estimate(value, None, max(self.n, other.n if other else 0), self.confidence, origin=origin)

    def __add__(self, other: Estimate | float) -> Estimate:
        if isinstance(other, Estimate):
            return self._combined(self.value + other.value, 1.0, other, 1.0)
        return self._combined(self.value + other, 1.0)

    def __sub__(self, other: Estimate | float) -> Estimate:
        return self + (-other)

    def __mul__(self, other: Estimate | float) -> Estimate:
        if isinstance(other, Estimate):
            return self._combined(self.value * other.value, other.value, other, self.value)
        return self._combined(self.value * other, other)

    def __truediv__(self, other: Estimate | float) -> Estimate:
        if not isinstance(other, Estimate):
            return self * (1 / other)
        if other.value == 0:
            return Estimate(math.nan, math.nan, self.n, self.confidence)
        ratio = self.value / other.value
        return self._combined(ratio, 1 / other.value, other, -ratio / other.value)

    def __neg__(self) -> Estimate:
        return self._combined(-self.value, -1.0)

    def __rtruediv__(self, other: float) -> Estimate:
        if self.value == 0:
            return Estimate(math.nan, math.nan, self.n, self.confidence)
        return self._combined(other / self.value, -other / self.value**2)

    def __rsub__(self, other: float) -> Estimate:
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __float__(self) -> float:
        message = "An estimate is not a plain number. Use .value, and keep .error beside it."
        raise UsageError(message, code="bare-number")

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "not defined"
        if math.isinf(self.margin):
            return f"{self.value:,.6g} (no finite interval)"
        digits = 0
        if self.margin > 0:
            digits = max(0, 1 - math.floor(math.log10(self.margin)))
        elif self.value != int(self.value):
            digits = 6
        shown = f"{self.value:,.{digits}f}"
        if self._interval is not None:
            return f"{shown} ({self.low:,.{digits}f} to {self.high:,.{digits}f})"
        return f"{shown} ± {self.margin:,.{digits}f}"

    __repr__ = __str__
