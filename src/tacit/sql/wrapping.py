"""Functions around aggregates, such as ROUND(AVG(x), 2), applied to the value and to the ends of its interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from tacit.sql.formula import After
from tacit.sql.public import literal_of
from tacit.sql.scalars import round_half_away

__all__ = ["WRAPPERS", "wrapper"]


def _monotone(
    function: Callable[[float], float], *, blur: float = 0.0, slope: Callable[[float], float] = lambda _: 1.0
) -> After:
    def or_nan(number: float) -> float:
        try:
            return number if math.isnan(number) or math.isinf(number) else float(function(number))
        except ValueError:  # the root or logarithm of a number that is not positive
            return math.nan

    return After(or_nan, lambda low, high: (or_nan(low), or_nan(high)), blur, slope)


def _root() -> After:
    """Return the square root; below 0 an interval has no numbers that could be roots, so its lower end is 0."""
    plain = _monotone(math.sqrt, slope=lambda number: 0.5 / math.sqrt(number) if number > 0 else math.nan)
    return replace(plain, ends=lambda low, high: plain.ends(max(low, 0.0) if high >= 0 else low, high))


def _magnitude() -> After:
    def ends(low: float, high: float) -> tuple[float, float]:
        return (0.0, max(-low, high)) if low <= 0 <= high else (min(abs(low), abs(high)), max(abs(low), abs(high)))

    return After(abs, ends, slope=lambda number: -1.0 if number < 0 else 1.0)


def _digits(node: exp.Expr) -> int | None:
    literal = literal_of(node)
    known = literal is not None and not literal[1] and literal[0].lstrip("-").isdigit() and len(literal[0]) <= 3
    return int(literal[0]) if known and literal is not None and abs(int(literal[0])) <= 12 else None


def _rounding(node: exp.Round) -> After | None:
    decimals = node.args.get("decimals")
    digits = 0 if decimals is None else _digits(decimals)
    if digits is None:
        return None
    unit = 10.0**-digits
    return _monotone(lambda number: round_half_away(number, digits), blur=unit / math.sqrt(6))


def _steps(function: Callable[[float], float]) -> Callable[[exp.Expr], After]:
    return lambda _: _monotone(function, blur=1 / math.sqrt(6))


def _cast(node: exp.Cast) -> After | None:
    name = node.to.this.value if hasattr(node.to.this, "value") else ""
    if name in ("DOUBLE", "FLOAT", "DECIMAL", "REAL"):
        return _monotone(lambda number: number)
    if name in ("INT", "BIGINT", "SMALLINT", "INTEGER"):
        return _monotone(lambda number: float(round(number)), blur=1 / math.sqrt(6))
    return None


def _bound(choose: Callable[..., float]) -> Callable[[exp.Expr], After | None]:
    def make(node: exp.Expr) -> After | None:
        literals = [literal_of(item) for item in node.expressions]
        if not all(literal is not None and not literal[1] for literal in literals):
            return None
        numbers = [float(literal[0]) for literal in literals if literal is not None]
        return _monotone(lambda number: choose([number, *numbers]))

    return make


def _coalesce(node: exp.Coalesce) -> After | None:
    literals = [literal_of(item) for item in node.expressions]
    if not literals or literals[0] is None or literals[0][1]:
        return None
    instead = float(literals[0][0])
    return After(lambda number: instead if math.isnan(number) else number, lambda low, high: (low, high))


def _not_equal(node: exp.Nullif) -> After | None:
    literal = literal_of(node.expression)
    if literal is None or literal[1]:
        return None
    number = float(literal[0])
    return After(lambda value: math.nan if value == number else value, lambda low, high: (low, high))


def _power(node: exp.Pow) -> After | None:
    literal = literal_of(node.expression)
    if literal is None or literal[1] or not 0 < float(literal[0]) <= 100:
        return None
    exponent = float(literal[0])

    def ends(low: float, high: float) -> tuple[float, float]:
        both = [_to_the(low, exponent), _to_the(high, exponent)]
        return (0.0 if low < 0 < high and exponent % 2 == 0 else min(both)), max(both)

    return After(
        lambda number: _to_the(number, exponent), ends, slope=lambda number: exponent * _to_the(number, exponent - 1)
    )


def _to_the(number: float, exponent: float) -> float:
    try:
        return math.pow(number, exponent)
    except (ValueError, OverflowError):  # a root of a negative number
        return math.nan


WRAPPERS: dict[type[exp.Expr], Callable[..., After | None]] = {
    exp.Round: _rounding,
    exp.Floor: _steps(math.floor),
    exp.Ceil: _steps(math.ceil),
    exp.Trunc: _steps(math.trunc),
    exp.Abs: lambda _: _magnitude(),
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Greatest: _bound(max),
    exp.Least: _bound(min),
    exp.Coalesce: _coalesce,
    exp.Nullif: _not_equal,
    exp.Pow: _power,
    exp.Sqrt: lambda _: _root(),
    exp.Ln: lambda _: _monotone(math.log, slope=lambda number: 1 / number if number > 0 else math.nan),
    exp.Exp: lambda _: _monotone(math.exp, slope=math.exp),
}
"""The function of an estimate for each node; None where its other arguments are not constants."""


def wrapper(node: exp.Expr) -> After | None:
    """Return the function that a node applies to its aggregate; None for other nodes."""
    build = WRAPPERS.get(type(node))
    return build(node) if build is not None else None
