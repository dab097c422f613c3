"""CORR, COVAR and REGR: arithmetic of six totals over the rows in which both columns are present."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tacit.sql.formula import After, Dual, Formula, apply_to, comoment
from tacit.sql.totals import Total

__all__ = ["COVARIANCES", "covariance"]

PRODUCT, FIRST, SECOND, FIRST_SQUARED, SECOND_SQUARED, COUNT = range(6)


def _both(totals: list[Dual], *, sample: bool = False) -> Dual:
    return comoment(totals, PRODUCT, FIRST, SECOND, COUNT, sample=sample)


def _first(totals: list[Dual]) -> Dual:
    return comoment(totals, FIRST_SQUARED, FIRST, FIRST, COUNT, sample=False)


def _second(totals: list[Dual]) -> Dual:
    return comoment(totals, SECOND_SQUARED, SECOND, SECOND, COUNT, sample=False)


def _correlation(totals: list[Dual]) -> Dual:
    return _both(totals) / (_first(totals) * _second(totals)).root()


def _slope(totals: list[Dual]) -> Dual:
    return _both(totals) / _second(totals)


def _intercept(totals: list[Dual]) -> Dual:
    return totals[FIRST] / totals[COUNT] - _slope(totals) * (totals[SECOND] / totals[COUNT])


def _r_squared(totals: list[Dual]) -> Dual:
    return _both(totals) * _both(totals) / (_first(totals) * _second(totals))


def _between(low: float, high: float) -> After:
    """Return a function that clips to the range of possible values."""

    def inside(number: float) -> float:
        return min(max(number, low), high) if number == number else number  # NaN stays NaN

    return After(inside, lambda first, last: (inside(first), inside(last)))


def _weak(*denominators: Callable[[list[Dual]], Dual]) -> tuple[Callable[[list[Dual]], Dual], ...]:
    return (lambda totals: totals[COUNT], *denominators)


def covariance(node: exp.Expr, first: tuple[Total, Total], second: tuple[Total, Total], where: Total) -> Formula:
    """Return the formula of an aggregate of two columns, each given by its value and presence; REGR's y comes first."""
    rows = where * first[1] * second[1]
    left, right = rows * first[0], rows * second[0]
    totals = (left * second[0], left, right, left * first[0], right * second[0], rows)
    return COVARIANCES[type(node)](totals)


COVARIANCES: dict[type[exp.Expr], Callable[[tuple[Total, ...]], Formula]] = {
    exp.CovarSamp: lambda totals: Formula(
        totals, lambda duals: _both(duals, sample=True), denominators=_weak(), corrects=True
    ),
    exp.CovarPop: lambda totals: Formula(totals, _both, denominators=_weak(), corrects=True),
    exp.Corr: lambda totals: apply_to(
        Formula(totals, _correlation, denominators=_weak(_first, _second), corrects=True), _between(-1.0, 1.0)
    ),
    exp.RegrSlope: lambda totals: Formula(totals, _slope, _both, (_second,), corrects=True),
    exp.RegrIntercept: lambda totals: Formula(totals, _intercept, denominators=_weak(_second), corrects=True),
    exp.RegrR2: lambda totals: apply_to(
        Formula(totals, _r_squared, denominators=_weak(_first, _second), corrects=True), _between(0.0, 1.0)
    ),
}
"""The formula of each, given its totals."""
