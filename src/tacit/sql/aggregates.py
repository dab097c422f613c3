"""SELECT: aggregates over expressions become formulas over totals."""

from __future__ import annotations

import math
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from typing import Literal

from sqlglot import exp

from tacit.contract.schema import Public
from tacit.errors import BindError, QueryError, UnsupportedSqlError
from tacit.sql.cases import classes_of_case
from tacit.sql.composite import Column, end_of, together, wrap
from tacit.sql.covariances import COVARIANCES, covariance
from tacit.sql.formula import Dual, Formula, constant, of_total, ratio, variance
from tacit.sql.modes import Mode, mode
from tacit.sql.parse import brief_sql, span_of, sql_of
from tacit.sql.per_person import PEOPLE
from tacit.sql.predicates import holds
from tacit.sql.quantiles import QUANTILES, Quantile, quantile
from tacit.sql.refusals import REFUSED, REFUSED_NAMES
from tacit.sql.scope import Scope
from tacit.sql.stored_types import AsNumber
from tacit.sql.subqueries import scalar
from tacit.sql.tabulated import is_sensitive, tabulate
from tacit.sql.totals import LARGEST, Total
from tacit.sql.windows import UNBOUNDED, Window, edges_of
from tacit.sql.wrapping import wrapper

__all__ = ["AGGREGATES", "formula"]

ENDS: dict[str, Literal["low", "high"]] = {"dp_interval_low": "low", "dp_interval_high": "high"}

ARITHMETIC: dict[type[exp.Expr], Callable[[Dual, Dual], Dual]] = {
    exp.Add: lambda a, b: a + b,
    exp.Sub: lambda a, b: a - b,
    exp.Mul: lambda a, b: a * b,
    exp.Div: lambda a, b: a / b,
}


SUMMED = (exp.Sum, exp.Count, exp.CountIf, exp.Filter)
"""Aggregates that windows add up."""


def formula(scope: Scope, node: exp.Expr, where: Total, over: Window | None = None) -> Column:
    """Return the formula of an output column; ``over`` has the rows of windows."""
    if isinstance(node, exp.Paren | exp.Alias):
        return formula(scope, node.this, where, over)
    if isinstance(node, exp.Literal) and not node.is_string:
        return constant(_number(scope, node))
    if isinstance(node, exp.Neg):
        return together(constant(-1.0), _number_of(scope, node.this, where, over), ARITHMETIC[exp.Mul])
    if isinstance(node, exp.Binary) and type(node) in ARITHMETIC:
        left, right = (_number_of(scope, side, where, over) for side in (node.left, node.right))
        if isinstance(node, exp.Div) and isinstance(left, Formula) and isinstance(right, Formula):
            return ratio(left, right)
        return together(left, right, ARITHMETIC[type(node)])
    if isinstance(node, exp.Filter):
        return formula(scope, node.this, where * holds(scope, node.expression.this), over)
    if isinstance(node, exp.Window):
        return _window(scope, node, over)
    if isinstance(node, exp.Subquery):
        return formula(scope, *scalar(scope, node))
    if isinstance(node, QUANTILES) or (isinstance(node, exp.WithinGroup) and isinstance(node.this, QUANTILES)):
        return quantile(scope, node, where)
    if isinstance(node, exp.Mode) and not isinstance(node.this, exp.Distinct) and node.this is not None:
        return mode(scope, node, where)
    if isinstance(node, exp.AggFunc | exp.WithinGroup | exp.IgnoreNulls):
        return _aggregate(scope, node, where)
    return _around(scope, node, where, over)


def _number_of(scope: Scope, node: exp.Expr, where: Total, over: Window | None) -> Column:
    """Return a numeric column for arithmetic; dates and values of lists are refused."""
    result = formula(scope, node, where, over)
    if isinstance(result, Mode) or (isinstance(result, Quantile) and result.outcomes.label is not None):
        message = (
            f"{brief_sql(node)} is not a number, so it cannot be used in arithmetic. Select it as a separate column."
        )
        raise scope.refusal(message, node, "not-a-number")
    return result


def _around(scope: Scope, node: exp.Expr, where: Total, over: Window | None) -> Column:
    """Return a function applied to an aggregate."""
    after = wrapper(node)
    if after is not None and node.this is not None:
        return wrap(_number_of(scope, node.this, where, over), after)
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    if name in ENDS and len(node.expressions) == 1:
        return end_of(_number_of(scope, node.expressions[0], where, over), ENDS[name])
    if meant := get_close_matches(name, AGGREGATE_NAMES, 1):
        message = f"There is no function {name.upper()}. Did you mean {meant[0].upper()}?"
        raise scope.refusal(message, node, "not-an-aggregate")
    if name in REFUSED_NAMES:
        raise scope.refusal(REFUSED_NAMES[name], node, "unsupported-aggregate")
    message = (
        f"{brief_sql(node)} is not supported as an output column. Use columns of GROUP BY, aggregates, and arithmetic, "
        "ROUND, ABS, COALESCE or CAST of aggregates."
    )
    raise scope.refusal(message, node, "not-an-aggregate")


def _window(scope: Scope, node: exp.Window, over: Window | None) -> Column:
    """Return an aggregate over groups: SUM or AVG of sums and counts, or that of another group (LAG, LEAD)."""
    function, spec, order = node.this, node.args.get("spec"), node.args.get("order")
    if over is not None and (order is None or len(order.expressions) == 1):
        if isinstance(function, exp.Lag | exp.Lead):
            return _neighbour(scope, node, function, over)
        is_end = isinstance(function, exp.FirstValue | exp.LastValue) and function.this.find(exp.AggFunc) is not None
        if is_end and order is not None and not order.find(exp.AggFunc):
            return _end_of_frame(scope, node, function, over)
        inner: exp.Expr = function.this if isinstance(function, exp.Sum | exp.Avg) else function
        is_sum = inner is not function and isinstance(inner, SUMMED) and not inner.find(exp.Distinct)
        if is_sum and spec is None and isinstance(function, exp.Sum):
            return formula(scope, inner, over.partition(node))
        edges = edges_of(spec) if is_sum and spec is not None and order is not None else None
        if edges is not None:
            totals = over.frame(node, *edges)
            if not totals:
                return constant(math.nan)
            added = _number_of(scope, inner, Total.sum(totals), None)
            count = 1.0 if isinstance(function, exp.Sum) else max(1, len(totals))
            return together(added, constant(1 / count), ARITHMETIC[exp.Mul])
    message = (
        "Of window functions, SUM(COUNT(*)) OVER (…) and SUM(SUM(column)) OVER (…) are supported, with PARTITION BY "
        "and one ORDER BY column of GROUP BY (shares of a total, running totals), SUM and AVG of these with ROWS "
        "BETWEEN …, LAG, LEAD, FIRST_VALUE and LAST_VALUE of aggregates, and ROW_NUMBER, RANK and DENSE_RANK as "
        "separate columns. "
        "For the first group of each, write QUALIFY ROW_NUMBER() OVER (PARTITION BY … ORDER BY COUNT(*) DESC) = 1."
    )
    raise scope.refusal(message, node, "unsupported-window")


def _neighbour(scope: Scope, node: exp.Window, function: exp.Lag | exp.Lead, over: Window) -> Column:
    """Return the aggregate of the group some places before or after a row's own; NULL where there is none."""
    steps, default = function.args.get("offset"), function.args.get("default")
    plain = [part for part in (steps, default) if part is not None and not isinstance(part, exp.Literal)]
    if plain or (isinstance(steps, exp.Literal) and not str(steps.this).isdigit()):
        message = "LAG and LEAD take an aggregate, and constants for how many rows and what instead of NULL."
        raise scope.refusal(message, node, "unsupported-window")
    places = float(str(steps.this)[:6]) if steps is not None else 1.0
    shift = -places if isinstance(function, exp.Lag) else places
    totals = over.frame(node, shift, shift)
    if not totals:
        return constant(_number(scope, default) if default is not None else math.nan)
    return _number_of(scope, function.this, totals[0], None)


def _end_of_frame(scope: Scope, node: exp.Window, function: exp.FirstValue | exp.LastValue, over: Window) -> Column:
    """Return the aggregate of the first or last group of a frame: by default, of the groups up to a row's own."""
    spec = node.args.get("spec")
    edges = (-UNBOUNDED, 0.0) if spec is None else edges_of(spec)
    if edges is None:
        message = "FIRST_VALUE and LAST_VALUE take ROWS BETWEEN … AND …, with constants, UNBOUNDED or CURRENT ROW."
        raise scope.refusal(message, node, "unsupported-window")
    totals = over.frame(node, *edges)
    if not totals:
        return constant(math.nan)
    return _number_of(scope, function.this, totals[0 if isinstance(function, exp.FirstValue) else -1], None)


def _number(scope: Scope, node: exp.Literal) -> float:
    number = float(node.this)
    if abs(number) >= 1e100:
        message = "A number in the question is too large. Use numbers below 1e100."
        raise scope.refusal(message, node, "number-too-large")
    return number


def _aggregate(scope: Scope, node: exp.Expr, where: Total) -> Formula:
    if type(node) in COVARIANCES:
        if node.args.get("this") is None or node.args.get("expression") is None:
            message = "It takes two columns, such as CORR(age, income)."
            raise scope.refusal(message, node, "unsupported-aggregate")
        return covariance(node, _expression(scope, node.this), _expression(scope, node.expression), where)
    inner = node.this if isinstance(node, exp.WithinGroup | exp.IgnoreNulls) else node
    aggregate = AGGREGATES.get(type(node))
    if aggregate is None or not isinstance(node, exp.AggFunc):
        reason = REFUSED.get(type(inner), "This aggregate has no unbiased estimate here.")
        column = sql_of(inner.this) if isinstance(inner.this, exp.Expr) else "column"
        supported = "COUNT, COUNT_IF, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MODE, CORR, COVAR, REGR"
        message = f"{reason.replace('COLUMN', column)} Supported: {supported}."
        raise scope.refusal(message, node, "unsupported-aggregate")
    if node.expressions and not isinstance(node.this, exp.Distinct):
        message = "An aggregate takes one expression."
        raise scope.refusal(message, node, "unsupported-aggregate")
    if isinstance(node.this, exp.Distinct) and not isinstance(node, exp.Count):
        message = "DISTINCT is supported in COUNT of the person's key only. Remove it, or group by the column."
        raise scope.refusal(message, node, "count-distinct")
    return aggregate(scope, node, where)


def _count(scope: Scope, node: exp.AggFunc, where: Total) -> Formula:
    if isinstance(node.this, exp.Star) or node.this is None:
        return of_total(where)
    if isinstance(node.this, exp.Distinct):
        return of_total(_people(scope, node, where))
    if (source := scope.source_of_key(node.this)) is not None:
        return of_total(where - where * scope.has_no_row(source) if source.is_outer else where)
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


def _distinct(scope: Scope, node: exp.AggFunc, where: Total) -> Formula:
    return _count(scope, exp.Count(this=exp.Distinct(expressions=[node.this.copy()])), where)


def _count_if(scope: Scope, node: exp.AggFunc, where: Total) -> Formula:
    return of_total(where * holds(scope, node.this))


AGGREGATES: dict[type[exp.Expr], Callable[[Scope, exp.AggFunc, Total], Formula]] = {
    exp.Count: _count,
    exp.CountIf: _count_if,
    exp.ApproxDistinct: _distinct,
    exp.Sum: _sum,
    exp.Avg: _average,
    exp.Stddev: partial(_spread, sample=True, root=True),
    exp.StddevSamp: partial(_spread, sample=True, root=True),
    exp.StddevPop: partial(_spread, sample=False, root=True),
    exp.Variance: partial(_spread, sample=True, root=False),
    exp.VariancePop: partial(_spread, sample=False, root=False),
}
"""The formula of each aggregate, given the rows it covers."""


def _people(scope: Scope, node: exp.AggFunc, where: Total) -> Total:
    """Return the total of COUNT(DISTINCT key): people instead of rows."""
    [column] = node.this.expressions if len(node.this.expressions) == 1 else [None]
    if isinstance(column, exp.Case) and not column.this and len(column.args["ifs"]) == 1:  # CASE WHEN … THEN key END
        [branch], default = column.args["ifs"], column.args.get("default")
        if default is None or isinstance(default, exp.Null):
            column, where = branch.args["true"], where * holds(scope, branch.this)
    source = scope.source_of_key(column) if column is not None else None
    if table := node.meta.get(PEOPLE):
        _check_groups(scope, table, is_person=source is not None)
    if source is None:
        message = "COUNT(DISTINCT …) is supported for the person's key only. Use COUNT(*) or GROUP BY."
        raise scope.refusal(message, node, "count-distinct")
    total = scope.people(where - where * scope.has_no_row(source) if source.is_outer else where)
    if total is None:
        message = (
            "Reports do not reveal whether any of a person's rows meets a condition. Count people without conditions "
            "on one-to-many services, or count rows with COUNT(*)."
        )
        raise scope.refusal(message, node, "count-distinct")
    return total


def _check_groups(scope: Scope, table: str, *, is_person: bool) -> None:
    """Refuse AVG and COUNT over the groups of a subquery that are not people, or of whom each has several rows."""
    others = [source for source in scope.sources if table not in (name.lower() for name in source.names)]
    if not is_person or any(source.service.rows_at_most > 1 for source in others):
        message = (
            "AVG and COUNT over groups are supported only for groups that are people, GROUP BY the key, joined with "
            "services of one row per person: how many other groups there are depends on noise. Ask for the groups, and "
            "summarise the answer."
        )
        raise UnsupportedSqlError(message, code="unsupported-subquery", text=scope.text)


AGGREGATE_NAMES = ("avg", "count", "count_if", "median", "mode", "quantile", "stddev", "sum", "variance", "corr")
"""Names that mistyped functions may have meant."""

ADDED_UP = (exp.Paren, exp.Literal, exp.Null, exp.Neg, exp.Mul, exp.Add, exp.Sub, exp.Case)
"""Expressions that are computed without a table of all values."""


def _present(scope: Scope, node: exp.Expr, where: Total) -> Total:
    """Return the total that counts the rows in which a column is present; it need not be a number."""
    if not isinstance(node, exp.Column):
        if isinstance(node, ADDED_UP) and not is_sensitive(scope, node):
            return where * _expression(scope, node)[1]
        table = tabulate(scope, node, "unsupported-expression")
        return where * table.where(lambda value: value is not None)
    column = scope.find(node)
    if isinstance(column.attribute, Public):
        return where * Total.power(scope.sizes, column.column, 0)
    return where * scope.total(column, 1 - column.null())


def _expression(scope: Scope, node: exp.Expr) -> tuple[Total, Total]:
    """Return an expression's value (0 where it is NULL), and the total that counts where it is not NULL."""
    if isinstance(node, exp.Paren):
        return _expression(scope, node.this)
    if isinstance(node, exp.Literal) and not node.is_string:
        product = scope.one.scaled(_number(scope, node))
        if not product.is_finite:
            raise _too_large(scope, node)
        return product, scope.one
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
            product = left * right
            if not product.is_finite:
                raise _too_large(scope, node)
            return product, present
        first, second = left * right_present, right * left_present
        return (first + second if isinstance(node, exp.Add) else first - second), present
    if isinstance(node, exp.Case):
        return _case(scope, node)
    return tabulate(scope, node, "unsupported-expression").measure(node)


def _case(scope: Scope, node: exp.Case) -> tuple[Total, Total]:
    try:
        return _branches(scope, node)
    except QueryError as refusal:
        if refusal.code not in UNDEFINED or not is_sensitive(scope, node):
            raise
    return tabulate(scope, node, "unsupported-expression").measure(node)


UNDEFINED = ("divides-by-zero", "wrong-constant")
"""Refusals of expressions that are not defined everywhere: CASE may compute them where they are."""


def _branches(scope: Scope, node: exp.Case) -> tuple[Total, Total]:
    """Return the value of CASE, and the total that counts where it is not NULL, branch by branch."""
    value, present = Total(()), Total(())
    for result, chosen in classes_of_case(scope, node):
        branch, branch_present = _expression(scope, result) if result is not None else (Total(()), Total(()))
        value, present = value + chosen * branch, present + chosen * branch_present
    return value, present


def _too_large(scope: Scope, node: exp.Expr) -> UnsupportedSqlError:
    message = f"A number in the question is too large. Use numbers whose products are below {LARGEST:g}."
    return scope.refusal(message, node, "number-too-large")


def _column(scope: Scope, node: exp.Column) -> tuple[Total, Total]:
    key = node.table, node.name
    if key not in scope.measures:
        scope.measures[key] = _measure(scope, node)
    return scope.measures[key]


def _measure(scope: Scope, node: exp.Column) -> tuple[Total, Total]:
    column = scope.find(node)
    if isinstance(column.attribute, Public):
        number = AsNumber(this=column.column)
        return Total.power(scope.sizes, number, 1), Total.power(scope.sizes, number, 0)
    try:
        vector = column.measure()
    except BindError as error:
        error.text, error.span = scope.text, span_of(node)
        raise
    return scope.total(column, vector), scope.total(column, 1 - column.null())
