"""An expression over columns as a table: its value for every combination of their declared values.

Columns are sensitive attributes, and public ones with a list of values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from tacit.contract.schema import Categorical, Ordinal, Public
from tacit.errors import BindError, TacitError
from tacit.sql.expressions import compile_expression
from tacit.sql.moments import clock_for
from tacit.sql.ordered import list_values
from tacit.sql.parse import brief_sql, span_of, sql_of
from tacit.sql.public import listed_total, listed_values
from tacit.sql.scalars import NotCondition, NotScalar, truth
from tacit.sql.scope import MOST_STORED, BoundColumn, Scope
from tacit.sql.totals import Total
from tacit.sql.vectors import Sensitive, exact_values, shown_value

__all__ = ["Tabulated", "is_sensitive", "tabulate"]

Values = npt.NDArray[np.object_]

MOST_CELLS, MOST_OF_ONE = 2**16, 2**20
"""Maximum combinations of values for which an expression is evaluated: of several attributes, and of one."""

MOST_TERMS = 2_000
"""Maximum combinations of all attributes but the largest: each is a separate product."""


@dataclass(frozen=True, eq=False)
class Tabulated:
    """The values of an expression; an axis for each attribute."""

    scope: Scope
    columns: tuple[BoundColumn, ...]
    values: Values

    def where(self, test: Callable[[Any], bool]) -> Total:
        """Return the total that is 1 where a test of the value holds."""
        return self.total(np.asarray(np.frompyfunc(test, 1, 1)(self.values), dtype=np.float64))

    def holds(self, node: exp.Expr, *, wanted: bool) -> Total:
        """Return the total that is 1 where a condition is true (or, if not wanted, false)."""
        try:
            return self.where(lambda value: truth(value) is wanted)
        except NotCondition:
            raise _not_condition(self.scope, node) from None

    def total(self, weights: npt.ArrayLike) -> Total:
        """Return the total with a weight for each combination."""
        table = np.asarray(weights, dtype=np.float64)
        if not self.columns:
            return self.scope.one.scaled(float(table))
        if len(self.columns) == 1:
            return self._total(0, table)
        longest = int(np.argmax(table.shape))
        others = [axis for axis in range(table.ndim) if axis != longest]
        marks = {axis: [self._total(axis, mark) for mark in np.eye(table.shape[axis])] for axis in others}
        products: list[Total] = []
        for place in itertools.product(*(range(table.shape[axis]) for axis in others)):
            index: list[Any] = [slice(None)] * table.ndim
            for axis, i in zip(others, place, strict=True):
                index[axis] = i
            if table[tuple(index)].any():
                chosen = [marks[axis][i] for axis, i in zip(others, place, strict=True)]
                products.append(math.prod(chosen, start=self._total(longest, table[tuple(index)])))
        return Total.sum(products) * self.scope.one  # merges terms that differ in one attribute

    def _total(self, axis: int, weights: npt.NDArray[np.float64]) -> Total:
        """Return the total with a weight for each value of a column."""
        column = self.columns[axis]
        if isinstance(column.attribute, Public):
            return listed_total(self.scope, column, weights.tolist())
        return self.scope.total(column, weights)

    def measure(self, node: exp.Expr) -> tuple[Total, Total]:
        """Return the value as a number, 0 where it is NULL, and the total that counts where it is not NULL."""
        return self.total(self.numbers(node)), self.where(lambda value: value is not None)

    def numbers(self, node: exp.Expr) -> npt.NDArray[np.float64]:
        """Return the values as numbers, 0 for NULL; refuse texts, dates and large numbers."""
        flat = [0.0 if value is None else _number(value) for value in self.values.ravel()]
        if any(number is None or not abs(number) < 1e30 for number in flat):
            message = f"{brief_sql(node)} is not a number below 1e30 for every value. Use COUNT, or group by it."
            raise BindError(message, code="not-a-number", text=self.scope.text, span=span_of(node))
        return np.array(flat, dtype=np.float64).reshape(self.values.shape)


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    return None if isinstance(value, str) or not hasattr(value, "__float__") else float(value)


def is_sensitive(scope: Scope, node: exp.Expr) -> bool:
    """Return whether an expression has columns, all of them sensitive."""
    columns = list(node.find_all(exp.Column))
    return bool(columns) and not any(isinstance(scope.find(column).attribute, Public) for column in columns)


def tabulate(scope: Scope, node: exp.Expr, code: str) -> Tabulated:
    """Return an expression's values; refuse, with a code, expressions that are not functions of sensitive columns."""
    node = list_values(scope, node)
    columns: list[BoundColumn] = []
    for column in node.find_all(exp.Column):
        bound = scope.find(column)
        _check(scope, bound, column)
        if bound not in columns:
            columns.append(bound)
    axes = list({_axis(bound): BoundColumn(bound.source, bound.attribute) for bound in columns}.values())
    sizes = [_size(scope, bound) for bound in axes]
    most = MOST_OF_ONE if len(sizes) == 1 else MOST_CELLS
    if math.prod(sizes) > most or math.prod(sizes) // max(sizes, default=1) > MOST_TERMS:
        message = (
            f"{brief_sql(node)} has {math.prod(sizes):,} combinations of values; at most {most:,} are allowed, and "
            f"{MOST_TERMS:,} of all but the largest attribute. Use fewer or coarser attributes."
        )
        raise scope.refusal(message, node, "too-many-terms")
    try:
        function = compile_expression(node, lambda column: columns.index(scope.find(column)))
    except NotScalar as refusal:
        raise _refusal(scope, refusal.node, code) from None
    domains = [_domain(scope, bound) for bound in columns]
    place = [[_axis(axis) for axis in axes].index(_axis(bound)) for bound in columns]
    values = np.empty(tuple(sizes), dtype=object)
    try:
        for index in itertools.product(*map(range, sizes)):
            values[index] = function([domain[index[axis]] for domain, axis in zip(domains, place, strict=True)])
    except TacitError:
        raise
    except NotCondition:
        raise _not_condition(scope, node) from None
    except ZeroDivisionError:
        message = f"{brief_sql(node)} divides by zero for some values. Write NULLIF(…, 0) around the divisor."
        raise scope.refusal(message, node, "divides-by-zero") from None
    except ArithmeticError:
        message = (
            f"{brief_sql(node)} is not defined for some values, or is too large. Leave them out with "
            "CASE WHEN … THEN … END, for example of values above 0."
        )
        raise BindError(message, code="wrong-constant", text=scope.text, span=span_of(node)) from None
    except (TypeError, ValueError, KeyError, AttributeError):
        message = (
            f"{brief_sql(node)} mixes types of values. Compare numbers with numbers, dates with dates, text with text."
        )
        raise BindError(message, code="wrong-constant", text=scope.text, span=span_of(node)) from None
    return Tabulated(scope, tuple(axes), values)


def _not_condition(scope: Scope, node: exp.Expr) -> TacitError:
    message = f"{brief_sql(node)} is not a condition: it needs something that is true or false. "
    columns = [scope.find(column) for column in node.find_all(exp.Column)]
    named = next((column.attribute for column in columns if isinstance(column.attribute, Categorical)), None)
    example = f", as in {named.name} = '{named.values[0]}'" if named is not None and named.values else ""
    return scope.refusal(f"{message}Compare texts and dates with a value{example}.", node, "not-a-condition")


def _refusal(scope: Scope, node: exp.Expr, code: str) -> TacitError:
    if isinstance(node, exp.Subquery | exp.Select) or node.args.get("query"):
        message = (
            "A subquery is not supported in a condition, because its result is an estimate. Ask it separately first, "
            "and insert its value."
        )
        return scope.refusal(message, node, "unsupported-subquery")
    if isinstance(node, exp.AggFunc):
        message = (
            f"{brief_sql(node)} is an aggregate, which a condition or function of single rows cannot use. Write "
            "conditions on aggregates after HAVING, and arithmetic with them in SELECT."
        )
        return scope.refusal(message, node, code)
    if isinstance(node, exp.Star):
        message = "A function takes a column; only COUNT takes *. Name a column."
        return scope.refusal(message, node, code)
    if clock_for(sql_of(node)):
        message = "Here a question must not depend on the current time. Write the day, as in DATE '2026-11-15'."
        return scope.refusal(message, node, code)
    message = f"{brief_sql(node)} is not a supported function of columns (docs/sql.md lists them)."
    return scope.refusal(message, node, code)


def _check(scope: Scope, bound: BoundColumn, column: exp.Column) -> None:
    attribute = bound.attribute
    if isinstance(attribute, Public) and listed_values(scope, bound) is None:
        why = (
            "has no list of values (values=[…]), which functions need where there are no reports"
            if scope.stored is None
            else f"has more than {MOST_STORED:,} values, too many for functions"
        )
        message = f"{attribute.name} is public and {why}. Compare {attribute.name} itself with constants."
        raise scope.refusal(message, column, "unsupported-expression")
    if isinstance(attribute, Ordinal) and attribute.values < attribute.ticks and bound.lookup is None:
        message = (
            f"{attribute.name} was collected in coarser cells, so functions of its single values are not known. "
            f"Compare {attribute.name} itself with constants."
        )
        raise scope.refusal(message, column, "cuts-a-bin")


def _axis(bound: BoundColumn) -> tuple[int, str]:
    """Return the key that columns of one attribute share: those of a dimension are functions of its foreign key."""
    return bound.source.number, bound.attribute.name


def _size(scope: Scope, bound: BoundColumn) -> int:
    return len(_domain(scope, bound)) if isinstance(bound.attribute, Public) else bound.sensitive.size


def _domain(scope: Scope, bound: BoundColumn) -> list[Any]:
    """Return the value of every index of a column."""
    if bound.lookup:
        return list(bound.lookup.values)
    if isinstance(bound.attribute, Public):
        return listed_values(scope, bound) or []
    attribute: Sensitive = bound.sensitive
    if isinstance(attribute, Ordinal) and not attribute.is_date:
        is_whole = attribute.unit.denominator == attribute.start.denominator == 1
        exact = exact_values(attribute)
        numbers = [int(value) if is_whole and value.denominator == 1 else value for value in exact]
        return [*numbers, *([None] * attribute.null)]
    return [shown_value(attribute, index) for index in range(attribute.size)]
