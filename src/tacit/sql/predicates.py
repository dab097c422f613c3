"""Conditions as totals: 1 where they hold, 0 elsewhere.

A condition is evaluated separately for true and for false, because NULL is neither: NOT is pushed down to the
comparisons, and OR becomes disjoint pieces. A condition on public columns alone becomes a guard.
"""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

import numpy as np
from sqlglot import exp

from tacit.client.labels import BOOLEANS, PATTERNS, unit_of
from tacit.contract.budget import exact_number
from tacit.contract.schema import Categorical, Ordinal, Public
from tacit.errors import BindError
from tacit.estimate.functional import Functional, Term, Vector
from tacit.sql.dates import midnight, parse_day, truncate
from tacit.sql.moments import moment_of
from tacit.sql.parse import span_of
from tacit.sql.public import is_list, is_public, literal_of, public_condition
from tacit.sql.scalars import COMPARISONS, FALSE_WORDS, TRUE_WORDS
from tacit.sql.scope import BoundColumn, Scope
from tacit.sql.tabulated import tabulate
from tacit.sql.totals import Total
from tacit.sql.vectors import (
    OPERATORS,
    category_vector,
    comparison_vector,
    is_boolean,
    null_vector,
    ordered_values,
    shown_value,
)

__all__ = ["MIRRORED", "comparison", "condition", "conjuncts", "holds"]

MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

STEPS = {"month": datetime.timedelta(days=1), "hour": datetime.timedelta(seconds=1)}
"""How long before the end of a month or an hour a constant may be that stands for its end."""

MAX_TERMS = 2_000
"""Maximum disjoint terms of one condition: long ORs of ANDs over many attributes have more."""


def condition(scope: Scope, node: exp.Expr | None) -> tuple[Total, list[exp.Expr]]:
    """Return WHERE as a total of rows, and the conjuncts that the engine evaluates."""
    total, public = scope.rows, []
    for part in conjuncts(node):
        if is_public(scope, part):
            public.append(public_condition(scope, part))
        else:
            total = _check_cells(scope, part, _check_terms(scope, part, total * holds(scope, part)))
    return total, public


def conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    """Return the conditions that AND joins."""
    if node is None:
        return []
    if isinstance(node, exp.Paren):
        return conjuncts(node.this)
    if isinstance(node, exp.And):
        return conjuncts(node.left) + conjuncts(node.right)
    return [node]


def holds(scope: Scope, node: exp.Expr, *, wanted: bool = True) -> Total:
    """Return the total that is 1 where a condition is true (or, if not wanted, where it is false)."""
    if isinstance(node, exp.Paren):
        return holds(scope, node.this, wanted=wanted)
    if isinstance(node, exp.Not):
        return holds(scope, node.this, wanted=not wanted)
    if is_public(scope, node):
        condition = public_condition(scope, node)
        return Total.of_guard(scope.sizes, condition if wanted else exp.paren(exp.Not(this=condition), copy=False))
    if isinstance(node, exp.And | exp.Or):
        both = isinstance(node, exp.And) == wanted
        left, right = (holds(scope, side, wanted=wanted) for side in (node.left, node.right))
        return _check_cells(scope, node, _check_terms(scope, node, left * right if both else _either(left, right)))
    if isinstance(node, exp.Boolean):
        return scope.one if bool(node.this) == wanted else Total(())
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Boolean):  # IS TRUE is never NULL
        total = holds(scope, node.this, wanted=bool(node.expression.this))
        return total if wanted else scope.one - total
    if isinstance(node, exp.Column) and _names_boolean(scope, node):
        node = exp.EQ(this=node, expression=exp.true())
    return _check_cells(scope, node, comparison(scope, node, wanted=wanted))


def _names_boolean(scope: Scope, node: exp.Column) -> bool:
    column = scope.find(node)
    return column.lookup is None and not isinstance(column.attribute, Public) and is_boolean(column.sensitive)


def _either(left: Total, right: Total) -> Total:
    """Return the total that is 1 where either is 1: one vector for a single attribute, else inclusion-exclusion."""
    if left.functional and right.functional:
        first, second = left.functional.single_vector(), right.functional.single_vector()
        if first and second and first[0] == second[0]:
            return Total.of(Functional.of(left.functional.sizes, first[0], np.maximum(first[1], second[1])))
    return left + right - left * right


def _check_terms(scope: Scope, node: exp.Expr, total: Total) -> Total:
    if total.terms > MAX_TERMS:
        message = f"The condition expands to more than {MAX_TERMS} terms. Use fewer ORs across attributes."
        raise scope.refusal(message, node, "too-many-terms")
    return total


def _check_cells(scope: Scope, node: exp.Expr, total: Total) -> Total:
    """Refuse a condition that falls between the values of coarser cells: an exact 0 would be wrong."""
    if total.pieces:
        return total
    columns = [column for column in node.find_all(exp.Column) if scope.source_of_key(column) is None]
    for attribute in (scope.find(column).attribute for column in columns):
        if isinstance(attribute, Ordinal) and attribute.values < attribute.ticks:
            known = ", ".join(_short(shown_value(attribute, index)) for index in range(min(4, attribute.values)))
            message = (
                f"{attribute.name} was collected from {attribute.low} to {attribute.high} in {attribute.values} cells, "
                f"and none of the values that the cells represent ({known}, …) meets this condition. Widen it to "
                "include one."
            )
            raise scope.refusal(message, node, "between-cells")
    return total


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def comparison(scope: Scope, node: exp.Expr, *, wanted: bool) -> Total:
    """Return the total that is 1 where a comparison, BETWEEN, IN or IS NULL is true (or, if not wanted, false)."""
    subject = node.this
    if isinstance(node, exp.Between) and not node.args.get("symmetric") and isinstance(_unwrap(subject), exp.Column):
        bounds = [node.args["low"], node.args["high"]]
        parts = [exp.GTE(this=subject, expression=bounds[0]), exp.LTE(this=subject, expression=bounds[1])]
        left, right = (holds(scope, part, wanted=wanted) for part in parts)
        return left * right if wanted else _either(left, right)
    if isinstance(node, exp.In) and is_list(node) and isinstance(_unwrap(subject), exp.Column):
        parts = [exp.EQ(this=subject, expression=item) for item in node.expressions]
        totals = [holds(scope, part, wanted=wanted) for part in parts]
        result = totals[0]
        for other in totals[1:]:
            result = _either(result, other) if wanted else result * other
        return result
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null) and isinstance(subject, exp.Column):
        if (source := scope.source_of_key(subject)) is not None:
            missing = scope.has_no_row(source) if source.is_outer else Total(())
            return missing if wanted else scope.one - missing
        column = scope.find(subject)
        vector = column.null()
        return scope.total(column, vector if wanted else 1 - vector)
    if type(node) in COMPARISONS:
        operator = COMPARISONS[type(node)]
        if not _is_plain(node) or _joins_outer(scope, node) or _needs_table(scope, node):
            return _decide_by_table(scope, node, wanted=wanted)
        return _compare(scope, node, operator if wanted else OPPOSITE[operator])
    return _decide_by_table(scope, node, wanted=wanted)


def _decide_by_table(scope: Scope, node: exp.Expr, *, wanted: bool) -> Total:
    """Return the total of a condition from a table of all values."""
    return tabulate(scope, node, "unsupported-condition").holds(node, wanted=wanted)


def _is_plain(node: exp.Expr) -> bool:
    """Return whether a comparison is between a column and a constant or another column."""
    sides = [_unwrap(node.this), _unwrap(node.expression)]
    constants = [_constant(side) is not None for side in sides]
    columns = [isinstance(side, exp.Column) for side in sides]
    return all(columns) or (any(columns) and any(constants))


def _needs_table(scope: Scope, node: exp.Expr) -> bool:
    """Return whether a comparison is between two columns, one of which is public or of a dimension."""
    columns = [scope.find(column) for column in node.find_all(exp.Column)]
    return len(columns) == 2 and any(isinstance(c.attribute, Public) or c.lookup is not None for c in columns)


def _joins_outer(scope: Scope, node: exp.Expr) -> bool:
    """Return whether a comparison is between two columns, one of which is NULL for people without a row."""
    columns = [scope.find(column) for column in node.find_all(exp.Column)]
    return len(columns) == 2 and any(column.source.is_outer for column in columns)


def _compare(scope: Scope, node: exp.Expr, operator: str) -> Total:
    left, right = _unwrap(node.this), _unwrap(node.expression)
    if isinstance(left, exp.Column) and isinstance(right, exp.Column):
        return _check_terms(scope, node, _columns(scope, node, operator, scope.find(left), scope.find(right)))
    if not isinstance(left, exp.Column):
        operator, left, right = MIRRORED[operator], right, left
    literal = _constant(right)
    if not isinstance(left, exp.Column) or literal is None:
        message = "Conditions compare a column with a constant or with another column. Rewrite this one."
        raise scope.refusal(message, node, "unsupported-condition")
    column = scope.find(left)
    try:
        if column.lookup:
            vector = column.lookup.compare(operator, literal[0], is_text=literal[1])
        elif isinstance(column.attribute, Ordinal):
            vector = comparison_vector(column.attribute, operator, literal[0], is_text=literal[1])
        else:
            vector = _category(column.sensitive, operator, literal)  # type: ignore[arg-type]
    except BindError as error:
        error.text, error.span = scope.text, span_of(node)
        raise
    return scope.total(column, vector)


def _constant(node: exp.Expr) -> tuple[str, bool] | None:
    """Return a constant's text and whether it is a string, which a time is not; booleans become texts of attributes."""
    if isinstance(node, exp.Boolean):
        return BOOLEANS[bool(node.this)], True
    moment = moment_of(node)
    return literal_of(node) if moment is None else (moment, False)


def _unwrap(node: exp.Expr) -> exp.Expr:
    return _unwrap(node.this) if isinstance(node, exp.Paren) else node


def _columns(scope: Scope, node: exp.Expr, operator: str, left: BoundColumn, right: BoundColumn) -> Total:
    """Compare two sensitive attributes: one product for each value of the one with fewer values."""
    if left.sensitive.size > right.sensitive.size:
        left, right, operator = right, left, MIRRORED[operator]
    try:
        first, second = ordered_values(left.sensitive, operator), ordered_values(right.sensitive, operator)
    except BindError as error:
        error.text, error.span = scope.text, span_of(node)
        raise
    if type(first[0]) is not type(second[0]):
        message = (
            f"{left.sensitive.name} and {right.sensitive.name} have different types. Compare columns of the same type."
        )
        raise BindError(message, code="wrong-constant", text=scope.text, span=span_of(node))
    if len(first) > MAX_TERMS:
        message = (
            f"Comparing these attributes needs {len(first)} terms; at most {MAX_TERMS} are allowed. Use coarser ones."
        )
        raise scope.refusal(message, node, "too-many-terms")
    if left == right:
        return scope.total(left, _pad([bool(OPERATORS[operator](v, v)) for v in first], left.sensitive.size))
    terms = []
    for index, value in enumerate(first):
        row = _pad([bool(OPERATORS[operator](value, other)) for other in second], right.sensitive.size)
        mark = (np.arange(left.sensitive.size) == index).astype(np.float64)
        terms.append(Term(1.0, {left.place: mark, right.place: row}))
    return Total.of(Functional(scope.sizes, tuple(terms)) * Functional.constant(scope.sizes))  # without empty rows


def _pad(marks: list[bool], size: int) -> Vector:
    """Return marks of values as a vector; NULL, the last index where there is one, satisfies no comparison."""
    return np.concatenate([np.array(marks, dtype=np.float64), np.zeros(size - len(marks))])


def _category(attribute: Categorical, operator: str, literal: tuple[str, bool]) -> Vector:
    unit = None if attribute.dictionary else unit_of(attribute.values, attribute.other)
    text, is_text = literal
    if unit in PATTERNS and (is_text or not text.isdigit()):
        return _moments(attribute, operator, text)
    if unit == "boolean" and text.lower() in TRUE_WORDS + FALSE_WORDS:
        text = BOOLEANS[text.lower() in TRUE_WORDS]
    value: Any = text if attribute.has_text else _as_number(text)
    is_ordered = attribute.ordered or (not isinstance(value, str) and attribute.other is None)
    if operator not in ("=", "<>") and not is_ordered:
        message = (
            f"{attribute.name} holds categories, which have no order. Use =, <> or IN; or declare them in their order, "
            "with ordered=True."
        )
        raise BindError(message, code="no-order")
    if operator not in ("=", "<>") and not attribute.ordered:
        return _pad([bool(OPERATORS[operator](known, value)) for known in attribute.values], attribute.size)
    vector = category_vector(attribute, [value])
    if operator not in ("=", "<>"):
        place = attribute.values.index(value)
        return _pad([bool(OPERATORS[operator](i, place)) for i in range(len(attribute.values))], attribute.size)
    return vector if operator == "=" else 1 - null_vector(attribute) - vector


def _as_number(text: str) -> int | Fraction | str:
    """Return a constant as a number; a text that is none stays one."""
    try:
        number = exact_number(text)
    except ValueError:
        return text
    return int(number) if number.denominator == 1 else number


def _moments(attribute: Categorical, operator: str, text: str) -> Vector:
    """Compare months or hours, whose texts are in the order of time; a constant must be the start or the end of one.

    Up to the last day of a month, or the last second of an hour, is the whole of it.
    """
    unit = unit_of(attribute.values, attribute.other) or ""
    try:
        moment = midnight(parse_day(text))
    except ValueError:
        moment = None
    start = truncate(unit, moment) if moment is not None else None
    until = moment + STEPS[unit] if moment is not None else None
    is_end = until is not None and operator in ("<=", ">") and truncate(unit, until) != start
    if start is None or (start != moment and not is_end):
        message = (
            f"{attribute.name} was collected by the {unit}, so it must be compared with the start of one, such as "
            f"{str(attribute.values[0])!r}."
        )
        raise BindError(message, code="wrong-constant")
    constant = start.isoformat()[: len(str(attribute.values[0]))]
    marks = [value != attribute.other and bool(OPERATORS[operator](value, constant)) for value in attribute.values]
    return _pad(marks, attribute.size)
