"""SELECT: aggregates over expressions become formulas over totals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sqlglot import exp

from tacit.contract.schema import Public
from tacit.errors import BindError, UnsupportedSqlError
from tacit.sql.cases import classes_of_case
from tacit.sql.composite import Column, together
from tacit.sql.formula import Dual, Formula, constant, of_total, ratio, variance
from tacit.sql.mixed import as_number
from tacit.sql.parse import span_of
from tacit.sql.predicates import holds
from tacit.sql.quantiles import QUANTILES, quantile
from tacit.sql.scope import Scope
from tacit.sql.totals import LARGEST, Total

__all__ = ["AGGREGATES", "formula"]

ARITHMETIC: dict[type[exp.Expr], Callable[[Dual, Dual], Dual]] = {
    exp.Add: lambda a, b: a + b,
    exp.Sub: lambda a, b: a - b,
    exp.Mul: lambda a, b: a * b,
    exp.Div: lambda a, b: a / b,
}


def formula(scope: Scope, node: exp.Expr, where: Total) -> Column:
    """Return the formula of an output column."""
    if isinstance(node, exp.Paren | exp.Alias):
        return formula(scope, node.this, where)
    if isinstance(node, exp.Literal) and not node.is_string:
        return constant(_number(scope, node))
    if isinstance(node, exp.Neg):
        return together(constant(-1.0), formula(scope, node.this, where), ARITHMETIC[exp.Mul])
    if isinstance(node, exp.Binary) and type(node) in ARITHMETIC:
        left, right = (formula(scope, side, where) for side in (node.left, node.right))
        if isinstance(node, exp.Div) and isinstance(left, Formula) and isinstance(right, Formula):
            return ratio(left, right)
        return together(left, right, ARITHMETIC[type(node)])
    if isinstance(node, exp.Filter):
        return formula(scope, node.this, where * holds(scope, node.expression.this))
    if isinstance(node, QUANTILES) or (isinstance(node, exp.WithinGroup) and isinstance(node.this, QUANTILES)):
        return quantile(scope, node, where)
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


def _aggregate(scope: Scope, node: exp.AggFunc, where: Total) -> Formula:
    if node.expressions and not isinstance(node.this, exp.Distinct):
        message = "An aggregate takes one expression."
        raise scope.unsupported(message, node, "unsupported-aggregate")
    aggregate = AGGREGATES.get(type(node))
    if aggregate is None:
        message = "This aggregate has no unbiased estimate here. Use COUNT, SUM, AVG, VARIANCE or STDDEV."
        raise scope.unsupported(message, node, "unsupported-aggregate")
    return aggregate(scope, node, where)


def _count(scope: Scope, node: exp.AggFunc, where: Total) -> Formula:
    if isinstance(node.this, exp.Star) or node.this is None:
        return of_total(where)
    if isinstance(node.this, exp.Distinct):
        return of_total(_people(scope, node, where))
    return of_total(_present(scope, node.this, where))


def _sum(scope: Scope, node: exp.AggFunc, where: Total) -> Formula:
    value, _ = _expression(scope, node.this)
    return of_total(where * value)


def _average(scope: Scope, node: exp.AggFunc, where: Total) -> Formula:
    value, present = _expression(scope, node.this)
    return ratio(of_total(where * value), of_total(where * present))


def _spread(scope: Scope, node: exp.AggFunc, where: Total, *, sample: bool, root: bool) -> Formula:
    value, present = _expression(scope, node.this)
    return variance(where * value * value, where * value, where * present, sample=sample, root=root)


AGGREGATES: dict[type[exp.Expr], Callable[[Scope, exp.AggFunc, Total], Formula]] = {
    exp.Count: _count,
    exp.Sum: _sum,
    exp.Avg: _average,
    exp.Stddev: partial(_spread, sample=True, root=True),
    exp.StddevSamp: partial(_spread, sample=True, root=True),
    exp.StddevPop: partial(_spread, sample=False, root=True),
    exp.Variance: partial(_spread, sample=True, root=False),
    exp.VariancePop: partial(_spread, sample=False, root=False),
}
"""The formula of each aggregate, given the rows that it runs over."""


def _people(scope: Scope, node: exp.AggFunc, where: Total) -> Total:
    """Return the total of COUNT(DISTINCT key): people instead of rows."""
    [column] = node.this.expressions if len(node.this.expressions) == 1 else [None]
    keys = {source.service.key.lower() for source in scope.sources}
    if not isinstance(column, exp.Column) or column.name.lower() not in keys:
        message = "COUNT(DISTINCT …) is supported for the person's key only. Use COUNT(*) or GROUP BY."
        raise scope.unsupported(message, node, "count-distinct")
    total = scope.people(where)
    if total is None:
        message = (
            "Reports do not reveal whether any of a person's rows meets a condition. Count people without conditions "
            "on one-to-many services, or count rows with COUNT(*)."
        )
        raise scope.unsupported(message, node, "count-distinct")
    return total


def _present(scope: Scope, node: exp.Expr, where: Total) -> Total:
    """Return the total of a column's being present; it need not be a number."""
    if not isinstance(node, exp.Column):
        return where * _expression(scope, node)[1]
    found = scope.find(node)
    if isinstance(found.attribute, Public):
        return where * Total.power(scope.sizes, found.column, 0)
    return where * scope.total(found, 1 - found.null())


def _expression(scope: Scope, node: exp.Expr) -> tuple[Total, Total]:
    """Return an expression's value, 0 where it is NULL, and the total of its not being NULL."""
    if isinstance(node, exp.Paren):
        return _expression(scope, node.this)
    if isinstance(node, exp.Literal) and not node.is_string:
        made = scope.one.scaled(_number(scope, node))
        if not made.is_finite:
            raise _too_large(scope, node)
        return made, scope.one
    if isinstance(node, exp.Null):
        return Total(()), Total(())
    if isinstance(node, exp.Neg):
        value, present = _expression(scope, node.this)
        return value.scaled(-1.0), present
    if isinstance(node, exp.Column):
        return _column(scope, node)
    if isinstance(node, exp.Mul | exp.Add | exp.Sub):
        left, left_present = _expression(scope, node.left)
        right, right_present = _expression(scope, node.right)
        present = left_present * right_present
        if isinstance(node, exp.Mul):
            made = left * right
            if not made.is_finite:
                raise _too_large(scope, node)
            return made, present
        first, second = left * right_present, right * left_present
        return (first + second if isinstance(node, exp.Add) else first - second), present
    if isinstance(node, exp.Case):
        value, present = Total(()), Total(())
        for result, chosen in classes_of_case(scope, node):
            branch, branch_present = _expression(scope, result) if result is not None else (Total(()), Total(()))
            value, present = value + chosen * branch, present + chosen * branch_present
        return value, present
    message = "An aggregate can contain columns, numbers, +, -, * and CASE only. Rewrite the expression."
    raise scope.unsupported(message, node, "unsupported-expression")


def _too_large(scope: Scope, node: exp.Expr) -> UnsupportedSqlError:
    message = f"A number in the question is too large. Use numbers whose products are below {LARGEST:g}."
    return scope.unsupported(message, node, "number-too-large")


def _column(scope: Scope, node: exp.Column) -> tuple[Total, Total]:
    found = scope.find(node)
    if isinstance(found.attribute, Public):
        number = as_number(found.column)
        return Total.power(scope.sizes, number, 1), Total.power(scope.sizes, number, 0)
    try:
        vector = found.measure()
    except BindError as error:
        error.text, error.span = scope.text, span_of(node)
        raise
    return scope.total(found, vector), scope.total(found, 1 - found.null())
