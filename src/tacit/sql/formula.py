"""Output columns as arithmetic over totals, with gradients.

COUNT and SUM are totals; AVG, VAR, STDDEV and all arithmetic with aggregates are arithmetic of totals. A `Formula`
computes the value and its gradient with respect to the totals, which gives the standard error (the delta method). It
keeps the numerator and denominators, which give intervals of ratios that hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from tacit.estimate.functional import Vector
from tacit.sql.totals import Total

__all__ = [
    "After",
    "Dual",
    "Evaluate",
    "Formula",
    "Noisy",
    "Reach",
    "apply_to",
    "combine",
    "comoment",
    "constant",
    "of_total",
    "ratio",
    "variance",
]


@dataclass(frozen=True)
class Dual:
    """A number and its gradient with respect to the totals; ``beyond`` is the error added by squares of noise."""

    value: float
    gradient: Vector
    beyond: float = field(default=0.0, kw_only=True)

    def __add__(self, other: Dual) -> Dual:
        beyond = self.beyond + other.beyond
        return Dual(self.value + other.value, self.gradient + other.gradient, beyond=beyond)

    def __sub__(self, other: Dual) -> Dual:
        beyond = self.beyond + other.beyond
        return Dual(self.value - other.value, self.gradient - other.gradient, beyond=beyond)

    def __mul__(self, other: Dual) -> Dual:
        beyond = abs(self.value) * other.beyond + abs(other.value) * self.beyond
        gradient = self.value * other.gradient + other.value * self.gradient
        return Dual(self.value * other.value, gradient, beyond=beyond)

    def __truediv__(self, other: Dual) -> Dual:
        if other.value == 0:
            return Dual(math.nan, self.gradient * math.nan)
        value = self.value / other.value
        beyond = (self.beyond + abs(value) * other.beyond) / abs(other.value)
        return Dual(value, (self.gradient - value * other.gradient) / other.value, beyond=beyond)

    def scaled(self, by: float) -> Dual:
        """Return the number times a constant."""
        return Dual(by * self.value, by * self.gradient, beyond=abs(by) * self.beyond)

    def root(self) -> Dual:
        """Return the square root: undefined below zero, and with an unknown error at zero."""
        if not self.value > 0:
            return Dual(0.0 if self.value == 0 else math.nan, self.gradient * math.nan)
        root = math.sqrt(self.value)
        return Dual(root, self.gradient / (2 * root), beyond=self.beyond / (2 * root))


@dataclass(frozen=True)
class Noisy(Dual):
    """A total with the covariance of the noise of all totals, which gives the bias of squares."""

    noise: Vector
    shared: float = 0.0
    """Share of the variance over the number of rows that the noise of a mean also includes, because rows differ."""

    def noise_of(self, number: Dual) -> float:
        """Return the noise variance of a number computed from the totals; 0 where it is unknown."""
        variance = float(number.gradient @ self.noise @ number.gradient)
        return variance if math.isfinite(variance) else 0.0


@dataclass(frozen=True)
class Reach(Dual):
    """A number and the range within which liars may move it, together with the numbers it is combined with."""

    low: float
    high: float

    def _reach(self, result: Dual, ends: list[float]) -> Reach:
        low, high = (-math.inf, math.inf) if any(map(math.isnan, ends)) else (min(ends), max(ends))
        return Reach(result.value, result.gradient, low, high)

    def __add__(self, other: Dual) -> Reach:
        low, high = _ends(other)
        return self._reach(super().__add__(other), [self.low + low, self.high + high])

    def __sub__(self, other: Dual) -> Reach:
        low, high = _ends(other)
        return self._reach(super().__sub__(other), [self.low - high, self.high - low])

    def __mul__(self, other: Dual) -> Reach:
        ends = [a * b for a in (self.low, self.high) for b in _ends(other)]
        return self._reach(super().__mul__(other), ends)

    def __truediv__(self, other: Dual) -> Reach:
        low, high = _ends(other)
        parts = [a / b for a in (self.low, self.high) for b in (low, high)] if low > 0 or high < 0 else [math.nan]
        return self._reach(super().__truediv__(other), parts)

    def __radd__(self, other: Dual) -> Reach:
        return _point(other) + self

    def __rsub__(self, other: Dual) -> Reach:
        return _point(other) - self

    def __rmul__(self, other: Dual) -> Reach:
        return _point(other) * self

    def __rtruediv__(self, other: Dual) -> Reach:
        return _point(other) / self

    def root(self) -> Reach:
        """Return the square root; ranges below zero are cut at zero."""
        return self._reach(super().root(), [math.sqrt(max(0.0, end)) for end in (self.low, self.high)])


def _ends(number: Dual) -> tuple[float, float]:
    return (number.low, number.high) if isinstance(number, Reach) else (number.value, number.value)


def _point(number: Dual) -> Reach:
    return Reach(number.value, number.gradient, *_ends(number))


ROUNDING = 1e-11
"""A variance this small relative to the mean square is rounding: everybody has the same value."""

Evaluate = Callable[[list[Dual]], Dual]


@dataclass(frozen=True)
class After:
    """A function of a finished estimate, such as ROUND: of its value and interval, with its rounding error."""

    value: Callable[[float], float]
    ends: Callable[[float, float], tuple[float, float]]
    blur: float = 0.0
    slope: Callable[[float], float] = lambda _: 1.0

    def of(self, number: Dual) -> Dual:
        """Return the function of a number."""
        value, slope = self.value(number.value), self.slope(number.value)
        if isinstance(number, Reach):
            return Reach(value, number.gradient * slope, *self.ends(number.low, number.high))
        beyond = math.hypot(number.beyond * abs(slope), self.blur)
        return Dual(value, number.gradient * slope, beyond=beyond)


@lru_cache(maxsize=64)
def _units(count: int) -> Vector:
    """Return the unit gradients of ``count`` totals."""
    units = np.eye(count) if count else np.zeros((0, 1))
    units.setflags(write=False)
    return units


@dataclass(frozen=True, eq=False)
class Formula:
    """An output column: the totals it needs, and how they combine.

    ``numerator`` is set for a plain ratio, ``square`` for a plain square root, ``moments`` for VAR and STDDEV: the mean
    square about a number, times the count. ``affine`` is a scale and an offset applied to these. ``denominators`` are
    all divisors. ``corrects`` means that the value depends on the noise of the totals, whose square is biased.
    """

    totals: tuple[Total, ...]
    evaluate: Evaluate
    numerator: Evaluate | None = None
    denominators: tuple[Evaluate, ...] = ()
    square: Evaluate | None = None
    corrects: bool = False
    moments: Callable[[list[Dual], float], Dual] | None = None
    affine: tuple[float, float] = (1.0, 0.0)
    inner: Formula | None = None
    after: After | None = None
    """A function of the finished estimate of ``inner``, which has the same totals."""
    squares: bool = False
    """Whether the interval is that of the numerator over the denominator, squared."""

    @property
    def is_linear(self) -> bool:
        """Whether the column is a weighted sum of its totals, plus a number."""
        if self.denominators or self.square or not self.totals:
            return not (self.denominators or self.square)
        gradients = [
            self.evaluate(self.at([place + k for k in range(len(self.totals))])).gradient for place in (0.0, 1.0)
        ]
        return bool((gradients[0] == gradients[1]).all())

    @property
    def quotient(self) -> tuple[float, float] | None:
        """Scale and offset of a column that is ``scale * first / second + offset`` of its two totals, or None."""
        if self.numerator is None or len(self.totals) != 2 or len(self.denominators) != 1:
            return None
        above = _factor(self.numerator, self, 0)
        below = _factor(self.denominators[0], self, 1)
        scale, offset = self.affine
        return (scale * above / below, offset) if above and below and scale else None

    def at(self, means: list[float], noise: Vector | None = None, shared: float = 0.0) -> list[Dual]:
        """Return the totals as numbers with unit gradients; ``noise`` is the covariance of their noise."""
        units = _units(len(means))
        if noise is not None:
            return [Noisy(mean, unit, noise, shared) for mean, unit in zip(means, units, strict=True)]
        return [Dual(mean, unit) for mean, unit in zip(means, units, strict=True)]

    def shift(self, means: list[float], moved: list[float]) -> float:
        """Return how far the result can move if each total moves by up to its shift, in any direction."""
        if not means:
            return 0.0
        ranges = [
            Reach(dual.value, dual.gradient, dual.value - by, dual.value + by)
            for dual, by in zip(self.at(means), moved, strict=True)
        ]
        result = self.evaluate(list(ranges))
        low, high = _ends(result)
        return max(high - result.value, result.value - low) if isinstance(result, Reach) else math.inf


def _factor(part: Evaluate, formula: Formula, index: int) -> float | None:
    """Return the factor of one total, or None if the part is anything but a multiple of that total."""
    slope = part(formula.at([0.0] * len(formula.totals))).gradient[index]
    for means in ([0.0, 0.0], [1.0, 1.0], [-2.0, 3.0]):
        if part(formula.at(means)).value != slope * means[index]:
            return None
    return float(slope)


def of_total(total: Total) -> Formula:
    """Return the formula of a total itself."""
    return Formula((total,), lambda totals: totals[0])


def constant(number: float) -> Formula:
    """Return the formula of a number."""
    return Formula((), lambda totals: Dual(number, np.zeros(len(totals[0].gradient) if totals else 1)))


def combine(left: Formula, right: Formula, operation: Callable[[Dual, Dual], Dual]) -> Formula:
    """Combine two formulas by an operation; each uses its own totals."""
    cut = len(left.totals)

    def select_part(evaluate: Evaluate, part: slice) -> Evaluate:
        return lambda totals: evaluate(totals[part] or totals[:1])  # a number needs only the gradients' length

    first, second = select_part(left.evaluate, slice(0, cut)), select_part(right.evaluate, slice(cut, None))
    inherited = tuple(select_part(denominator, slice(0, cut)) for denominator in left.denominators)
    inherited += tuple(select_part(denominator, slice(cut, None)) for denominator in right.denominators)
    combined = Formula(
        left.totals + right.totals,
        lambda totals: operation(first(totals), second(totals)),
        denominators=inherited,
        corrects=left.corrects or right.corrects,
    )
    noisy = left if left.totals else right
    if len(noisy.totals) < len(combined.totals) or not combined.totals:
        return combined
    return _with_number(
        combined, noisy, operation, left.evaluate if noisy is right else right.evaluate, first=noisy is left
    )


def _with_number(
    combined: Formula, noisy: Formula, operation: Callable[[Dual, Dual], Dual], number: Evaluate, *, first: bool
) -> Formula:
    """Combine a formula with a number; the properties of its interval are kept."""
    none = np.zeros(1)
    added = number([Dual(0.0, none)])
    ends = [operation(Dual(x, none), added) if first else operation(added, Dual(x, none)) for x in (0.0, 1.0, 2.0)]
    offset, at_one, at_two = (end.value for end in ends)
    scale = at_one - offset
    if not (math.isfinite(offset) and math.isclose(at_two - at_one, scale, rel_tol=1e-9)):
        return combined
    return replace(
        combined,
        numerator=noisy.numerator,
        square=noisy.square,
        moments=noisy.moments,
        affine=(scale * noisy.affine[0], scale * noisy.affine[1] + offset),
    )


def ratio(left: Formula, right: Formula) -> Formula:
    """Return the formula of a quotient."""
    quotient = combine(left, right, lambda a, b: a / b)
    if not right.totals:
        return quotient
    numerator = combine(left, right, lambda a, _: a).evaluate
    denominator = combine(left, right, lambda _, b: b).evaluate
    plain = not quotient.denominators
    return Formula(
        quotient.totals,
        quotient.evaluate,
        numerator if plain else None,
        (*quotient.denominators, denominator),
        corrects=quotient.corrects,
    )


def apply_to(formula: Formula, after: After) -> Formula:
    """Return the formula with a function applied to its estimate."""
    return Formula(
        formula.totals,
        lambda totals: after.of(formula.evaluate(totals)),
        denominators=formula.denominators,
        corrects=formula.corrects,
        inner=formula,
        after=after,
    )


def comoment(totals: list[Dual], product: int, first: int, second: int, count: int, *, sample: bool) -> Dual:
    """Return the covariance of two columns, given the places of their totals; `variance` is the case of one column."""
    number, unit = totals[count], Dual(1.0, np.zeros(len(totals[count].gradient)))
    left, right = totals[first] / number, totals[second] / number
    divisor = number - unit if sample else number
    spread = (totals[product] - totals[first] * right) / divisor
    if isinstance(number, Noisy) and divisor.value:
        lost = (number.noise_of(left + right) - number.noise_of(left) - number.noise_of(right)) / 2
        lost *= number.value / divisor.value
        size = math.sqrt(max(0.0, number.noise_of(left) * number.noise_of(right))) * number.value / divisor.value
        shrinkage = 1 / (1 + number.shared / number.value) if number.value > 1 else 1.0
        spread = (spread + unit.scaled(lost)).scaled(shrinkage)
        spread = replace(spread, beyond=shrinkage * math.sqrt(2) * size)
    if abs(spread.value) <= ROUNDING * abs((totals[product] / number).value):
        spread = replace(spread, value=0.0)
    return spread


def variance(squares: Total, values: Total, count: Total, *, sample: bool, root: bool) -> Formula:
    """Return the formula of VAR or STDDEV, of a sample (as DuckDB does by default) or of the population.

    On average the square of a noisy mean is too large by the noise variance of the mean, and the variance too small by
    the same amount, so the noise variance is added. Where it is known only together with the variance of rows over
    their number, the sum is divided by one plus a share of the inverse of that number.
    """

    def evaluate(totals: list[Dual]) -> Dual:
        return comoment(totals, 0, 1, 1, 2, sample=sample)

    def moments(totals: list[Dual], about: float) -> Dual:
        square, value, number = totals
        return square - value.scaled(2 * about) + number.scaled(about**2)

    totals, denominators = (squares, values, count), (lambda duals: duals[2],)
    formula = Formula(totals, evaluate, denominators=denominators, corrects=True, moments=moments)
    return replace(formula, evaluate=lambda duals: evaluate(duals).root(), square=evaluate) if root else formula
