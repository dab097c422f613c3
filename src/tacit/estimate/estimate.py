"""A number with its error.

An `Estimate` is a value, its standard error and an interval at a confidence. It keeps its provenance, so that errors of
sums, differences, products and ratios account for shared reports.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any, Protocol, Self

from tacit.errors import UsageError
from tacit.estimate.student import beta_below
from tacit.tables.numbers import number_text

__all__ = ["WEAK", "Choice", "Estimate", "Provenance", "fieller", "t_quantile"]

MANY = 500
"""Minimum degrees of freedom at which three terms of the series give six digits."""

WEAK = 0.05
"""Squared relative margin of a denominator above which ratios get Fieller's interval, which may be asymmetric."""


@lru_cache(maxsize=4096)
def t_quantile(probability: float, freedom: float) -> float:
    """Return a quantile of Student's t, by the Cornish-Fisher series or, for few degrees of freedom, Newton's method.

    Examples
    --------
    >>> round(t_quantile(0.975, 1), 3), round(t_quantile(0.975, 10), 3), round(t_quantile(0.9995, 3), 2)
    (12.706, 2.228, 12.92)
    """
    z = NormalDist().inv_cdf(probability)
    if math.isinf(freedom) or probability == 0.5:
        return z
    if freedom >= MANY:
        first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
        third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
        return z + first / freedom + second / freedom**2 + third / freedom**3
    tail = min(probability, 1 - probability)
    low, high = 0.0, 2.0
    while _upper_tail(high, freedom) > tail:
        low, high = high, 2 * high
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    t = (low + high) / 2
    for _ in range(60):
        above = _upper_tail(t, freedom) - tail
        low, high = (t, high) if above > 0 else (low, t)
        step = above / math.exp(scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        if abs(step) <= 1e-14 * t:
            break
        t = t + step if low < t + step < high else (low + high) / 2
    return math.copysign(t, z)


def _upper_tail(t: float, freedom: float) -> float:
    """Return P(T > t) for t > 0."""
    return beta_below(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2


def fieller(
    above: float, below: float, variances: tuple[float, float, float], quantile: float
) -> tuple[float, float] | None:
    """Return the ratios r for which ``above - r below`` is within its margin of zero; None where these are unbounded.

    ``variances`` are that of the numerator, the covariance, and that of the denominator.

    Examples
    --------
    >>> low, high = fieller(10.0, 5.0, (1.0, 0.0, 1.0), 1.0)
    >>> round(low, 3), round(high, 3)
    (1.619, 2.547)
    """
    first, mixed, second = (quantile**2 * variance for variance in variances)
    a, b, c = below**2 - second, above * below - mixed, above**2 - first
    root = b**2 - a * c
    if a <= 0 or not root >= 0:
        return None
    return (b - math.sqrt(root)) / a, (b + math.sqrt(root)) / a


class Provenance(Protocol):
    """The provenance of an estimate: a linear combination of sums over people."""

    def scaled(self, by: float) -> Self:
        """Return the provenance of a multiple."""

    def plus(self, other: Any) -> Self:
        """Return the provenance of a sum."""

    def error(self) -> tuple[float, float]:
        """Return the standard error, and its degrees of freedom."""


class Estimate:
    """A value that is not known exactly.

    Attributes
    ----------
    value, error : float
        The estimate and its standard error; the error is NaN if none is meaningful, such as for a ratio whose
        denominator may be zero.
    low, high : float
        The interval at ``confidence``; infinite if a ratio's denominator may be zero.
    n : int
        Number of people whose reports it uses.
    freedom : float
        Effective degrees of freedom of the error.
    max_shift_per_1pct : float
        How far the value can move if 1 % of the people are fakes who send whatever codes move it most; infinite if
        unbounded, NaN if unknown.

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
        origin: Provenance | None = None,
        shift: Callable[[], float] = lambda: math.nan,
    ) -> None:
        self.value, self.n, self.confidence = value, n, confidence
        self._shift = shift
        self._error, self._freedom, self._interval, self.origin = error, freedom, interval, origin
        self._widen: Callable[[float], float] = lambda error: error

    @cached_property
    def _spread(self) -> tuple[float, float]:
        """Standard error and degrees of freedom; those of a combination are computed on first use."""
        if math.isnan(self.value):
            return math.nan, self._freedom
        if self._error is not None:
            return self._error, self._freedom
        error, freedom = self.origin.error() if self.origin else (0.0, math.inf)
        return self._widen(error), freedom

    @property
    def _excess(self) -> float:
        """How much the error exceeds the delta method's where a denominator is weak; NaN where it may be zero."""
        if self._interval is None or self.origin is None or math.isnan(self.error):
            return self.error * 0.0
        return max(0.0, self.error - self.origin.error()[0])

    @property
    def is_unbounded(self) -> bool:
        """Whether no finite interval has the confidence."""
        return self._interval is not None and math.isinf(self._interval[1] - self._interval[0])

    @property
    def is_even(self) -> bool:
        """Whether the interval is the value plus and minus a quantile times the error."""
        return self._interval is None

    @property
    def error(self) -> float:
        """Standard error."""
        return self._spread[0]

    @property
    def freedom(self) -> float:
        """Effective degrees of freedom of the error."""
        return self._spread[1]

    @cached_property
    def max_shift_per_1pct(self) -> float:
        """How far 1 % of fake people can move the value; computed on first use."""
        return self._shift()

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

    def _combine(self, value: float, mine: float, other: Estimate | None = None, theirs: float = 0.0) -> Estimate:
        """Combine this estimate with another, given the gradient of the result."""
        if not all(map(math.isfinite, (value, mine, theirs))):
            return Estimate(math.nan, math.nan, self.n, self.confidence)
        shift = self._movement(mine, other, theirs)
        if other is None and (self.origin is None or self._interval is not None):
            interval = self._map_interval(value, mine)
            origin = self.origin.scaled(mine) if self.origin is not None else None
            error = abs(mine) * self.error
            return Estimate(
                value, error, self.n, self.confidence, self.freedom, interval=interval, origin=origin, shift=shift
            )
        if self.origin is None or (other is not None and other.origin is None):
            message = "An estimate built by hand cannot be combined with others: their covariance is unknown."
            raise UsageError(message, code="unknown-covariance")
        origin = self.origin.scaled(mine)
        if other is not None:
            origin = origin.plus(other.origin.scaled(theirs))  # type: ignore[union-attr]
        n = max(self.n, other.n if other else 0)
        result = Estimate(value, None, n, self.confidence, origin=origin, shift=shift)
        parts = [(abs(mine), self), *([(abs(theirs), other)] if other else [])]
        if any(weight and part.is_unbounded for weight, part in parts):
            result._error, result._interval = math.nan, (-math.inf, math.inf)
        result._widen = lambda error: error + sum(weight * part._excess for weight, part in parts)  # noqa: SLF001
        return result

    def _map_interval(self, value: float, slope: float) -> tuple[float, float] | None:
        """Return the interval after a linear map with the given slope, around a value."""
        if self._interval is None or not slope:
            return None
        low, high = sorted(value + slope * (end - self.value) for end in self._interval)
        return low, high

    def _movement(self, mine: float, other: Estimate | None, theirs: float) -> Callable[[], float]:
        """Return how far a sum of multiples can move: the sum of the movements of its parts in one direction."""
        return lambda: abs(mine) * self.max_shift_per_1pct + (abs(theirs) * other.max_shift_per_1pct if other else 0.0)

    def __add__(self, other: Estimate | float) -> Estimate:
        if isinstance(other, Estimate):
            return self._combine(self.value + other.value, 1.0, other, 1.0)
        return self._combine(self.value + other, 1.0)

    def __sub__(self, other: Estimate | float) -> Estimate:
        return self + (-other)

    def __mul__(self, other: Estimate | float) -> Estimate:
        if isinstance(other, Estimate):
            product = self._combine(self.value * other.value, other.value, other, self.value)
            first, widen = product._shift, product._widen
            product._shift = lambda: first() + self.max_shift_per_1pct * other.max_shift_per_1pct
            # the product of errors matters where both values are near zero
            product._widen = lambda error: math.hypot(widen(error), self.error * other.error)
            return product
        return self._combine(self.value * other, other)

    def __truediv__(self, other: Estimate | float) -> Estimate:
        divisor = other.value if isinstance(other, Estimate) else other
        if divisor == 0:
            return Estimate(math.nan, math.nan, self.n, self.confidence)
        if not isinstance(other, Estimate):
            return self * (1 / other)
        ratio = self.value / other.value
        quotient = self._combine(ratio, 1 / other.value, other, -ratio / other.value)
        quotient._shift = _shrunk(quotient._shift, other)
        weakness = (other.margin / other.value) ** 2
        if not weakness < 1:  # the denominator may be zero
            quotient._error, quotient._interval = math.nan, (-math.inf, math.inf)
        elif weakness > WEAK and not quotient.is_unbounded:
            quotient._set_fieller(self, other)
        return quotient

    def _set_fieller(self, above: Estimate, below: Estimate) -> None:
        """Set Fieller's interval, which a weak denominator needs, and the matching error."""
        quantile = t_quantile(0.5 + self.confidence / 2, min(above.freedom, below.freedom))
        parts = [estimate.origin for estimate in (above, below, above + below)]
        first, second, both = (part.error()[0] ** 2 if part else math.nan for part in parts)
        interval = fieller(above.value, below.value, (first, (both - first - second) / 2, second), quantile)
        self._interval = interval or (-math.inf, math.inf)
        self._error = (interval[1] - interval[0]) / 2 / quantile if interval else math.nan
        self._freedom = min(above.freedom, below.freedom)

    def __neg__(self) -> Estimate:
        return self._combine(-self.value, -1.0)

    def __rtruediv__(self, other: float) -> Estimate:
        if self.value == 0:
            return Estimate(math.nan, math.nan, self.n, self.confidence)
        quotient = self._combine(other / self.value, -other / self.value**2)
        quotient._shift = _shrunk(quotient._shift, self)
        quotient._interval = None
        if not self.margin < abs(self.value) or self.is_unbounded:
            quotient._error, quotient._interval = math.nan, (-math.inf, math.inf)
        elif (self.margin / self.value) ** 2 > WEAK:
            low, high = sorted((other / self.low, other / self.high))
            quantile = t_quantile(0.5 + self.confidence / 2, self.freedom)
            quotient._error, quotient._interval = (high - low) / 2 / quantile, (low, high)
            quotient._freedom = self.freedom
        return quotient

    def __rsub__(self, other: float) -> Estimate:
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __float__(self) -> float:
        raise _bare()

    def __lt__(self, other: object) -> bool:
        raise _bare()

    __le__ = __gt__ = __ge__ = __lt__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    @property
    def is_noisy(self) -> bool:
        """Whether the interval includes zero, so that the sign is unknown, or is not finite."""
        return not (self.low > 0 or self.high < 0) and not (self.value == 0 and self.margin == 0)

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "not defined"
        if math.isinf(self.margin):
            return f"{number_text(self.value, 3)} (no finite interval)"
        if math.isnan(self.margin):
            return f"{number_text(self.value, 3)} (error not known)"
        digits = 0
        if self.margin > 0:
            digits = max(0, 1 - math.floor(math.log10(self.margin)))
        elif self.value != int(self.value):
            digits = 6
        if self._interval is not None:
            return f"{_digits(self.value, digits)} ({_digits(self.low, digits)} to {_digits(self.high, digits)})"
        return f"{_digits(self.value, digits)} ± {_digits(self.margin, digits)}"

    def _repr_html_(self) -> str:
        about = f"standard error {number_text(self.error, 3)}" if math.isfinite(self.error) else "no standard error"
        noisy = " <i>(too noisy to tell)</i>" if self.is_noisy else ""
        return f'<span title="{about}, from {self.n:,} people">{self}{noisy}</span>'

    __repr__ = __str__


def _digits(number: float, digits: int) -> str:
    """Return a number with a fixed number of decimals, and zero without a sign."""
    text = f"{number:,.{digits}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text


def _shrunk(shift: Callable[[], float], denominator: Estimate) -> Callable[[], float]:
    """Return how far a ratio moves if its denominator shrinks at the same time; unbounded if it may reach zero."""

    def ratio_shift() -> float:
        left = 1 - denominator.max_shift_per_1pct / abs(denominator.value)
        return shift() / left if left > 0 else math.inf

    return ratio_shift


def _bare() -> UsageError:
    message = "An estimate is not a plain number. Use .value, together with .error."
    return UsageError(message, code="bare-number")


class Choice(Estimate):
    """One of several values, by its index, and the indices of all values that it could be."""

    def __init__(self, place: int, possible: Sequence[int], people: int, level: float) -> None:
        super().__init__(float(place), math.nan, people, level, interval=(float(place), float(place)))
        self.possible = tuple(possible)
