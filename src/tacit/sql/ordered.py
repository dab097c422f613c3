"""Comparisons of ordered categories, rewritten as lists of the values that meet them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from tacit.contract.schema import Categorical
from tacit.errors import BindError
from tacit.sql.parse import span_of
from tacit.sql.public import literal_of
from tacit.sql.scalars import COMPARISONS
from tacit.sql.scope import Scope
from tacit.sql.vectors import OPERATORS, category_vector

__all__ = ["list_values", "places_of"]

MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE}


def places_of(scope: Scope, node: exp.Expr | None) -> dict[Any, int] | None:
    """Return the places of a column's values, if they are ordered categories."""
    attribute = _ordered_attribute(scope, node)
    return {value: number for number, value in enumerate(attribute.values)} if attribute else None


def _ordered_attribute(scope: Scope, node: exp.Expr | None) -> Categorical | None:
    column = scope.find(node) if isinstance(node, exp.Column) else None
    attribute = column.attribute if column is not None and not column.lookup else None
    return attribute if isinstance(attribute, Categorical) and attribute.ordered else None


def list_values(
    scope: Scope, node: exp.Expr, resolve: Callable[[exp.Expr], exp.Expr] = lambda column: column
) -> exp.Expr:
    """Rewrite ``size >= 'L'`` as ``size IN ('L', 'XL')``, everywhere; ``resolve`` has what names stand for."""

    def rewrite(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Between) and _ordered_attribute(scope, resolve(part.this.unnest())):
            low = exp.GTE(this=part.this.copy(), expression=part.args["low"].copy())
            high = exp.LTE(this=part.this.copy(), expression=part.args["high"].copy())
            return exp.paren(exp.And(this=rewrite(low), expression=rewrite(high)), copy=False)
        return _as_list(scope, part, resolve) if type(part) in MIRRORED else part

    return node.transform(rewrite)


def _as_list(scope: Scope, node: exp.Expr, resolve: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """Return a comparison of an ordered column with a constant as a list of values; others as they are."""
    left, right, kind = node.this.unnest(), node.expression.unnest(), type(node)
    if isinstance(right, exp.Column):
        left, right, kind = right, left, MIRRORED[kind]
    attribute, literal = _ordered_attribute(scope, resolve(left)), literal_of(right)
    if attribute is None or literal is None:
        return node
    value = literal[0] if attribute.has_text or not literal[0].lstrip("-").isdigit() else int(literal[0])
    try:
        category_vector(attribute, [value])
    except BindError as error:
        error.text, error.span = scope.text, span_of(left)
        raise
    place, compare = attribute.values.index(value), OPERATORS[COMPARISONS[kind]]
    met = [exp.convert(value) for number, value in enumerate(attribute.values) if compare(number, place)]
    if not met:
        return exp.NEQ(this=left.copy(), expression=left.copy())
    return exp.In(this=left.copy(), expressions=met)
