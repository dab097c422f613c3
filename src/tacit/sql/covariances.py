"""CORR, COVAR and REGR: arithmetic of six totals over the rows in which both columns are present."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from tacit.sql.formula import After, Dual, Evaluate, Formula, Noisy, apply_to, comoment, of_total, ratio
from tacit.sql.totals import Total

__all__ = ["COVARIANCES", "covariance"]

PRODUCT, FIRST, SECOND, FIRST_SQUARED, SECOND_SQUARED, COUNT = range(6)


def _rows(totals: list[Dual]) -> Dual:
    return totals[COUNT]


def _both(totals: list[Dual], *, sample: bool = False) -> Dual:
    return comoment(totals, PRODUCT, FIRST, SECOND, COUNT, sample=sample)


def _first(totals: list[Dual]) -> Dual:
    return comoment(totals, FIRST_SQUARED, FIRST, FIRST, COUNT, sample=False)


def _second(totals: list[Dual]) -> Dual:
    return comoment(totals, SECOND_SQUARED, SECOND, SECOND, COUNT, sample=False)


def _correlation(totals: list[Dual]) -> Dual:
    return _both(totals) / _scale(totals)


def _slope(totals: list[Dual]) -> Dual:
    return _both(totals) / _second(totals)


def _scale(totals: list[Dual]) -> Dual:
    return (_first(totals) * _second(totals)).root()


def _at_zero(totals: list[Dual]) -> Dual:
    """Return the intercept times the variance of the second column."""
    return (totals[FIRST] * _second(totals) - _both(totals) * totals[SECOND]) / totals[COUNT]


def _intercept(totals: list[Dual]) -> Dual:
    return _at_zero(totals) / _second(totals)


def _r_squared(totals: list[Dual]) -> Dual:
    """Return the square of the correlation, less what noise adds to the square of the covariance on average."""
    both, number = _both(totals), totals[COUNT]
    square = both * both
    noise = number.noise_of(both) if isinstance(number, Noisy) else 0.0
    return replace(square, value=square.value - noise) / (_first(totals) * _second(totals))


def _times_rows(totals: tuple[Total, ...], spread: Evaluate) -> Formula:
    """Return a sum of squared or multiplied deviations."""
    return Formula(totals, lambda duals: spread(duals) * duals[COUNT], denominators=(_rows,), corrects=True)


def _between(low: float, high: float) -> After:
    """Return a function that clips to the range of possible values."""

    def inside(number: float) -> float:
        return min(max(number, low), high) if number == number else number  # NaN stays NaN

    return After(inside, lambda first, last: (inside(first), inside(last)))


def covariance(node: exp.Expr, first: tuple[Total, Total], second: tuple[Total, Total], where: Total) -> Formula:
    """Return the formula of an aggregate of two columns, each given by its value and presence; REGR's y comes first."""
    rows = where * first[1] * second[1]
    left, right = rows * first[0], rows * second[0]
    totals = (left * second[0], left, right, left * first[0], right * second[0], rows)
    return COVARIANCES[type(node)](totals)


COVARIANCES: dict[type[exp.Expr], Callable[[tuple[Total, ...]], Formula]] = {
    exp.CovarSamp: lambda totals: Formula(
        totals, lambda duals: _both(duals, sample=True), denominators=(_rows,), corrects=True
    ),
    exp.CovarPop: lambda totals: Formula(totals, _both, denominators=(_rows,), corrects=True),
    exp.Corr: lambda totals: apply_to(
        Formula(totals, _correlation, _both, (_scale,), corrects=True), _between(-1.0, 1.0)
    ),
    exp.RegrSlope: lambda totals: Formula(totals, _slope, _both, (_second,), corrects=True),
    exp.RegrIntercept: lambda totals: Formula(totals, _intercept, _at_zero, (_second,), corrects=True),
    exp.RegrR2: lambda totals: apply_to(
        Formula(totals, _r_squared, _both, (_scale,), corrects=True, squares=True), _between(0.0, 1.0)
    ),
    exp.RegrAvgx: lambda totals: ratio(of_total(totals[SECOND]), of_total(totals[COUNT])),
    exp.RegrAvgy: lambda totals: ratio(of_total(totals[FIRST]), of_total(totals[COUNT])),
    exp.RegrSxx: lambda totals: _times_rows(totals, _second),
    exp.RegrSyy: lambda totals: _times_rows(totals, _first),
    exp.RegrSxy: lambda totals: _times_rows(totals, _both),
}
"""The formula of each, given its totals."""
