"""SELECT: aggregates as arithmetic over totals.

A **total** is the sum over people of a functional times powers of public columns. COUNT and SUM are totals; AVG, VAR
and STDDEV are arithmetic of totals, as is whatever the question does with aggregates. `Formula` computes the value and
its gradient by the totals, from which the standard error follows (the delta method).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from tacit.decode.functional import Functional, Vector
from tacit.errors import BindError
from tacit.schema import Public
from tacit.sql.parse import span_of
from tacit.sql.predicates import Scope
from tacit.sql.vectors import measure_vector, null_vector

__all__ = ["Dual", "Formula", "Total", "formula"]


@dataclass(frozen=True, eq=False)
class Total:
    """A sum over people: a functional, times public columns to powers (0 marks "is present")."""

    functional: Functional
    powers: Mapping[str, int]

    def times(self, other: Total) -> Total:
        """Return the total of the product."""
        powers = dict(self.powers)
        for name, power in other.powers.items():
            powers[name] = powers.get(name, 0) + power
        return Total(self.functional * other.functional, powers)


@dataclass(frozen=True)
class Dual:
    """A number and its gradient by the totals."""

    value: float
    gradient: Vector

    def __add__(self, other: Dual) -> Dual:
        return Dual(self.value + other.value, self.gradient + other.gradient)

    def __sub__(self, other: Dual) -> Dual:
        return Dual(self.value - other.value, self.gradient - other.gradient)

    def __mul__(self, other: Dual) -> Dual:
        return Dual(self.value * other.value, self.value * other.gradient + other.value * self.gradient)

    def __truediv__(self, other: Dual) -> Dual:
        if other.value == 0:
            return Dual(math.nan, self.gradient * math.nan)
        value = self.value / other.value
        return Dual(value, (self.gradient - value * other.gradient) / other.value)

    def root(self) -> Dual:
        """Return the square root; not defined below zero, and without a known error at zero."""
        if not self.value > 0:
            return Dual(0.0 if self.value == 0 else math.nan, self.gradient * math.nan)
        root = math.sqrt(self.value)
        return Dual(root, self.gradient / (2 * root))


ROUNDING = 1e-11
"""A variance this small beside the mean square is rounding: everybody has the same value."""

Evaluate = Callable[[list[Dual]], Dual]


@dataclass(frozen=True, eq=False)
class Formula:
    """An output column: the totals it needs, and how they combine."""

    totals: tuple[Total, ...]
    evaluate: Evaluate


def _total(total: Total) -> Formula:
    return Formula((total,), lambda given: given[0])


def _combine(left: Formula, right: Formula, operation: Callable[[Dual, Dual], Dual]) -> Formula:
    cut = len(left.totals)
    return Formula(
        left.totals + right.totals,
        lambda given: operation(left.evaluate(given[:cut]), right.evaluate(given[cut:])),
    )


def _constant(number: float) -> Formula:
    return Formula((), lambda given: Dual(number, np.zeros(len(given[0].gradient) if given else 1)))


ARITHMETIC: dict[type[exp.Expr], Callable[[Dual, Dual], Dual]] = {
    exp.Add: lambda a, b: a + b,
    exp.Sub: lambda a, b: a - b,
    exp.Mul: lambda a, b: a * b,
    exp.Div: lambda a, b: a / b,
}


def formula(scope: Scope, node: exp.Expr, where: Functional) -> Formula:
    """Return the formula of an output column."""
    if isinstance(node, exp.Paren):
        return formula(scope, node.this, where)
    if isinstance(node, exp.Literal) and not node.is_string:
        return _constant(_number(scope, node))
    if isinstance(node, exp.Neg):
        return _combine(_constant(-1.0), formula(scope, node.this, where), ARITHMETIC[exp.Mul])
    if type(node) in ARITHMETIC:
        left, right = (formula(scope, side, where) for side in (node.left, node.right))  # type: ignore[attr-defined]
        return _combine(left, right, ARITHMETIC[type(node)])
    if isinstance(node, exp.AggFunc):
        return _aggregate(scope, node, where)
    message = "An output column is an aggregate, arithmetic of aggregates, or a column of GROUP BY."
    raise scope.unsupported(message, node, "not-an-aggregate")


def _number(scope: Scope, node: exp.Literal) -> float:
    number = float(node.this)
    if abs(number) >= 1e100:
        message = "A number in the question is too large. Use numbers below 1e100."
        raise scope.unsupported(message, node, "number-too-large")
    return number


def _aggregate(scope: Scope, node: exp.AggFunc, where: Functional) -> Formula:
    if node.expressions and not isinstance(node.this, exp.Distinct):
        message = "An aggregate takes one expression."
        raise scope.unsupported(message, node, "unsupported-aggregate")
    if isinstance(node, exp.Count):
        if isinstance(node.this, exp.Star) or node.this is None:
            return _total(Total(where, {}))
        if isinstance(node.this, exp.Distinct):
            message = "COUNT(DISTINCT …) has no unbiased estimate here. Use COUNT(*) or COUNT(column)."
            raise scope.unsupported(message, node, "count-distinct")
        return _total(_present(scope, node.this, where))
    known = (exp.Sum, exp.Avg, exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.Variance, exp.VariancePop)
    if not isinstance(node, known):
        message = "This aggregate has no unbiased estimate here. Use COUNT, SUM, AVG, VAR or STDDEV."
        raise scope.unsupported(message, node, "unsupported-aggregate")
    value, present = _value(scope, node.this, where)
    if isinstance(node, exp.Sum):
        return _total(value)
    if isinstance(node, exp.Avg):
        return _combine(_total(value), _total(present), ARITHMETIC[exp.Div])
    sample = not isinstance(node, exp.StddevPop | exp.VariancePop)
    root = isinstance(node, exp.Stddev | exp.StddevSamp | exp.StddevPop)
    return Formula((value.times(value), value, present), lambda given: _variance(given, sample=sample, root=root))


def _variance(given: list[Dual], *, sample: bool, root: bool) -> Dual:
    squares, values, count = given
    one = Dual(1.0, np.zeros(len(count.gradient)))
    spread = (squares - values * values / count) / (count - one if sample else count)
    if abs(spread.value) <= ROUNDING * abs((squares / count).value):
        spread = Dual(0.0, spread.gradient)
    return spread.root() if root else spread


def _present(scope: Scope, node: exp.Expr, where: Functional) -> Total:
    """Return the total of a column's being present; it need not be a number."""
    if not isinstance(node, exp.Column):
        return _value(scope, node, where)[1]
    attribute = scope.attribute(node)
    if isinstance(attribute, Public):
        return Total(where, {attribute.name: 0})
    return Total(where * scope.functional(attribute, 1 - null_vector(attribute)), {})


def _value(scope: Scope, node: exp.Expr, where: Functional) -> tuple[Total, Total]:
    """Return the totals of an expression's value and of its being present (not NULL)."""
    functional, powers, present = _expression(scope, node)
    held = where * present
    return Total(held * functional, powers), Total(held, dict.fromkeys(powers, 0))


def _expression(scope: Scope, node: exp.Expr) -> tuple[Functional, dict[str, int], Functional]:
    """Return an expression as functional times public powers, and the functional that no part is NULL."""
    sizes = scope.sizes
    if isinstance(node, exp.Paren):
        return _expression(scope, node.this)
    if isinstance(node, exp.Literal) and not node.is_string:
        return Functional.constant(sizes, _number(scope, node)), {}, Functional.constant(sizes)
    if isinstance(node, exp.Neg):
        functional, powers, present = _expression(scope, node.this)
        return functional.scaled(-1.0), powers, present
    if isinstance(node, exp.Column):
        attribute = scope.attribute(node)
        if isinstance(attribute, Public):
            return Functional.constant(sizes), {attribute.name: 1}, Functional.constant(sizes)
        try:
            vector = measure_vector(attribute)
        except BindError as error:
            error.text, error.span = scope.text, span_of(node)
            raise
        return scope.functional(attribute, vector), {}, scope.functional(attribute, 1 - null_vector(attribute))
    if isinstance(node, exp.Mul | exp.Add | exp.Sub):
        return _binary(scope, node)
    message = "An aggregate takes columns, numbers, +, - and *. Rewrite the expression."
    raise scope.unsupported(message, node, "unsupported-expression")


def _binary(scope: Scope, node: exp.Mul | exp.Add | exp.Sub) -> tuple[Functional, dict[str, int], Functional]:
    left, left_powers, left_present = _expression(scope, node.left)
    right, right_powers, right_present = _expression(scope, node.right)
    present = left_present * right_present
    if isinstance(node, exp.Mul):
        powers = dict(left_powers)
        for name, power in right_powers.items():
            powers[name] = powers.get(name, 0) + power
        return left * right, powers, present
    if left_powers or right_powers:
        message = "Public columns may be multiplied into an aggregate, not added. Aggregate them on their own."
        raise scope.unsupported(message, node, "unsupported-expression")
    return (left + right if isinstance(node, exp.Add) else left - right), {}, present
