"""Columns of an answer that show groups: the expressions of GROUP BY, and functions of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

from sqlglot import exp

from tacit.contract.schema import Public
from tacit.errors import BindError, UnsupportedSqlError
from tacit.sql.aggregates import formula
from tacit.sql.cases import Classes, classes_of_group, is_label
from tacit.sql.expressions import compile_expression
from tacit.sql.ordered import list_values
from tacit.sql.parse import brief_sql, span_of
from tacit.sql.public import listed_values
from tacit.sql.ranks import is_rank
from tacit.sql.scalars import NotScalar
from tacit.sql.scope import BoundColumn, Scope
from tacit.sql.windows import AnyWindow

__all__ = ["GroupKey", "key_of_group", "output_of"]

ONE_OF_GROUP = (exp.Min, exp.Max, exp.AnyValue, exp.First, exp.Last)
"""Aggregates of a column of GROUP BY that are the column itself."""


STAR = re.compile(r"(?:select|,|\.)\s*(\*)", re.IGNORECASE)
"""A star that stands for columns."""

MOST_LABELS = 10_000
"""Maximum combinations of keys for which labels are listed in advance, to know their type."""


@dataclass(frozen=True, eq=False)
class GroupKey:
    """An expression of GROUP BY: a public column, which the engine groups by, or disjoint classes of people."""

    node: exp.Expr
    public: BoundColumn | None
    classes: Classes

    def is_the(self, scope: Scope, node: exp.Expr) -> bool:
        """Return whether an expression is this key."""
        if isinstance(node, exp.Column) and isinstance(self.node, exp.Column):
            return scope.find(node) == scope.find(self.node)
        return node.unnest() == self.node.unnest()

    @property
    def reads_public(self) -> bool:
        """Whether the engine groups by it."""
        return self.public is not None

    def show(self, known: Mapping[int, Any]) -> Any:
        """Return what a row shows, given the value of each key of GROUP BY."""
        return known[id(self)]


@dataclass(frozen=True, eq=False)
class _DerivedKey(GroupKey):
    """A function of keys, as UPPER(country) beside GROUP BY country: it forms no groups of its own."""

    keys: tuple[GroupKey, ...]
    function: Callable[[Sequence[Any]], Any]
    scope: Scope

    @property
    def reads_public(self) -> bool:
        """Whether the engine groups by what it shows."""
        return any(key.reads_public for key in self.keys)

    def possible(self) -> Classes:
        """Return the labels that it may show, where all values of its keys are known."""
        domains = [_labels_of(self.scope, key) for key in self.keys]
        if math.prod(map(len, domains)) > MOST_LABELS:
            return []
        shown = (self._of(values) for values in product(*domains))
        return [(label, self.scope.one) for label in dict.fromkeys(shown)]

    def show(self, known: Mapping[int, Any]) -> Any:
        """Return the function of the row's keys."""
        return self._of([known[id(key)] for key in self.keys])

    def _of(self, values: Sequence[Any]) -> Any:
        try:
            result = self.function([_plain(value) for value in values])
            return float(result) if isinstance(result, Fraction) else result
        except (TypeError, ValueError, ArithmeticError, AttributeError):
            message = f"{brief_sql(self.node)} is not defined for every group. Leave it out, or test for those groups."
            raise self.scope.refusal(message, self.node, "unsupported-group") from None


def _labels_of(scope: Scope, key: GroupKey) -> list[Any]:
    """Return the labels of a key, as far as they are known."""
    if key.public is not None:
        return listed_values(scope, key.public) or []
    return [label for label, _ in key.classes]


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def key_of_group(scope: Scope, node: exp.Expr, *, added_up: bool) -> GroupKey:
    """Return a key; groups of a public column that windows add up must be known, so its values must be listed."""
    column = scope.find(node) if isinstance(node, exp.Column) else None
    if column is not None and isinstance(column.attribute, Public):
        listed = added_up and listed_values(scope, column)
        return GroupKey(node, None, classes_of_group(scope, node)) if listed else GroupKey(node, column, [])
    return GroupKey(node, None, classes_of_group(scope, node))


def output_of(scope: Scope, node: exp.Expr, keys: list[GroupKey]) -> GroupKey | exp.Expr:
    """Return the key that an output column shows, or the expression it computes."""
    for key in keys:
        if key.is_the(scope, node):
            return key
    if is_rank(node):
        return node
    inner = node.this if isinstance(node, exp.IgnoreNulls) else node
    if isinstance(inner, ONE_OF_GROUP) and keys and isinstance(inner.this, exp.Expr):
        return _function_of_keys(scope, inner.this, keys) or _check_computed(scope, node)
    return _function_of_keys(scope, node, keys) or _check_computed(scope, node)


def _function_of_keys(scope: Scope, node: exp.Expr, keys: Sequence[GroupKey]) -> GroupKey | None:
    """Return a function of keys, or a constant that is not a number; None for anything else."""
    if node.find(exp.AggFunc, exp.Window, exp.Query, exp.Star):
        return None
    used: list[GroupKey] = []
    places: dict[int, int] = {}

    def place(part: exp.Expr) -> exp.Expr:
        key = next((key for key in keys if not is_label(key.node) and key.is_the(scope, part)), None)
        if key is None:
            return part
        column = exp.column("key")
        places[id(column)] = len(used)
        used.append(key)
        return column

    replaced = list_values(scope, node).transform(place)
    try:
        function = compile_expression(replaced, lambda column: places[id(column)])
    except (NotScalar, KeyError):
        return None
    derived = _DerivedKey(node, None, [], tuple(used), function, scope)
    if used:
        return replace(derived, classes=derived.possible())
    is_label_like = any(is_label(part) for part in node.walk())
    return derived if is_label_like or not _is_number(derived.show({})) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)


def _check_computed(scope: Scope, node: exp.Expr) -> exp.Expr:
    """Return an aggregate, or arithmetic of aggregates; refuse anything else before it runs."""
    if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
        message = "Rows are private, and SELECT * would show them. Ask for COUNT(*) … GROUP BY column."
        star = STAR.search(scope.text)
        raise UnsupportedSqlError(message, code="private-rows", text=scope.text, span=star.span(1) if star else None)
    if isinstance(node, exp.Column):
        attribute = scope.find(node).attribute
        message = f"{attribute.name} is neither in GROUP BY nor in an aggregate. Add it to GROUP BY."
        raise BindError(message, code="not-grouped", text=scope.text, span=span_of(node))
    formula(scope, node, scope.rows, AnyWindow(scope.rows))  # raise before anything runs
    return node
