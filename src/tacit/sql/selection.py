"""HAVING, ORDER BY and LIMIT: rows chosen by their estimates, after all of them are known."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlglot import exp

from tacit.estimate.estimate import Estimate
from tacit.sql.public import COMPARISONS, literal_of
from tacit.sql.scope import Scope
from tacit.sql.vectors import OPERATORS, kind_of

__all__ = ["Selection"]

Row = list[Any]
Test = Callable[[Row], bool | None]
"""True, false, or None where a value is undefined, as in SQL."""


@dataclass(frozen=True, eq=False)
class Selection:
    """What is computed beside the output columns, which rows are kept, in which order, and how many."""

    hidden: list[exp.Expr]
    test: Test | None
    order: list[tuple[int, bool]]
    limit: int | None

    @classmethod
    def of(cls, scope: Scope, statement: exp.Select, names: list[str], outputs: list[exp.Expr]) -> Selection:
        """Read the three clauses."""
        reader = _Reader(scope, [name.lower() for name in names], outputs)
        having, order = statement.args.get("having"), statement.args.get("order")
        for item in order.expressions if order else []:
            if item.args.get("nulls_first"):
                message = "NULLS FIRST is not supported: undefined values always come last."
                raise scope.unsupported(message, item, "unsupported-order")
        test = reader.test(having.this) if having else None
        keys = [
            (reader.position(item.this), bool(item.args.get("desc"))) for item in (order.expressions if order else [])
        ]
        return cls(reader.hidden, test, keys, _limit(scope, statement.args.get("limit")))

    @property
    def selects(self) -> bool:
        """Whether rows are chosen or ordered by their estimates."""
        return self.test is not None or bool(self.order) or self.limit is not None

    def apply(self, rows: list[Row]) -> list[Row]:
        """Return the rows that are kept, in order."""
        if self.test is not None:
            rows = [row for row in rows if self.test(row)]
        for place, descending in reversed(self.order):
            keyed = [(_plain(row[place]), row) for row in rows]
            known = [pair for pair in keyed if pair[0] is not None]
            known.sort(key=_sortable, reverse=descending)
            rows = [row for _, row in known] + [row for key, row in keyed if key is None]  # undefined ones last
        return rows if self.limit is None else rows[: self.limit]


def _sortable(pair: tuple[Any, Row]) -> Any:
    return kind_of(pair[0]), pair[0]


def _plain(cell: Any) -> Any:
    """Return what a cell is compared by; None if it is undefined."""
    value = cell.value if isinstance(cell, Estimate) else cell
    if isinstance(value, Decimal):
        value = float(value)
    return None if isinstance(value, float) and math.isnan(value) else value


def _limit(scope: Scope, node: exp.Expr | None) -> int | None:
    if node is None:
        return None
    count = node.args.get("expression")
    plain = isinstance(count, exp.Literal) and str(count.this).isdigit() and len(str(count.this)) <= 9
    if not plain or any(value for word, value in node.args.items() if word != "expression"):
        message = "LIMIT takes a whole number."
        raise scope.unsupported(message, node, "unsupported-limit")
    return int(count.this)  # type: ignore[union-attr]


class _Reader:
    """Turns expressions over columns of the answer into positions in a row."""

    def __init__(self, scope: Scope, names: list[str], outputs: list[exp.Expr]) -> None:
        self._scope, self._names, self._outputs = scope, names, outputs
        self.hidden: list[exp.Expr] = []

    def position(self, node: exp.Expr) -> int:
        """Return the place of an expression in a row: an output column, or a hidden one that is added."""
        place = -1
        if isinstance(node, exp.Paren):
            return self.position(node.this)
        if isinstance(node, exp.Literal):
            whole = not node.is_string and str(node.this).isdigit() and len(str(node.this)) <= 9
            place = int(node.this) - 1 if whole else -1
        elif isinstance(node, exp.Column) and node.name.lower() in self._names:
            place = self._names.index(node.name.lower())
        elif node in self._outputs:
            place = self._outputs.index(node)
        elif not isinstance(node, exp.Column) and node.find(exp.AggFunc):
            if node not in self.hidden:
                self.hidden.append(node)
            return len(self._names) + self.hidden.index(node)
        if not 0 <= place < len(self._names):
            message = "ORDER BY and HAVING take output columns, by name or position, and aggregates."
            raise self._scope.unsupported(message, node, "unsupported-order")
        return place

    def test(self, node: exp.Expr) -> Test:
        """Return the test of a condition."""
        if isinstance(node, exp.Paren):
            return self.test(node.this)
        if isinstance(node, exp.Not):
            inner = self.test(node.this)
            return lambda row: None if (found := inner(row)) is None else not found
        if isinstance(node, exp.And | exp.Or):
            left, right, decisive = self.test(node.left), self.test(node.right), isinstance(node, exp.Or)
            return lambda row: _joined((left(row), right(row)), decisive=decisive)
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
            high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
            return self.test(exp.And(this=low, expression=high))
        if type(node) in COMPARISONS:
            compare = OPERATORS[COMPARISONS[type(node)]]
            first, second = self._operand(node.this), self._operand(node.expression)
            return lambda row: self._compared(node, compare, first(row), second(row))
        message = "HAVING compares aggregates with constants by =, <>, <, BETWEEN, AND, OR and NOT."
        raise self._scope.unsupported(message, node, "unsupported-having")

    def _compared(self, node: exp.Expr, compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool | None:
        if left is None or right is None:
            return None
        left, right = _alike(left, right), _alike(right, left)
        if kind_of(left) != kind_of(right):
            message = "HAVING compares values of different kinds. Compare numbers with numbers, dates with dates."
            raise self._scope.unsupported(message, node, "unsupported-having")
        return bool(compare(left, right))

    def _operand(self, node: exp.Expr) -> Callable[[Row], Any]:
        literal = literal_of(node)
        if literal is not None:
            value: Any = literal[0] if literal[1] else float(literal[0])
            return lambda _: value
        place = self.position(node)
        return lambda row: _plain(row[place])


def _joined(sides: tuple[bool | None, bool | None], *, decisive: bool) -> bool | None:
    """Return OR (True decides) or AND (False decides) of two sides that may be undefined."""
    if decisive in sides:
        return decisive
    return None if None in sides else not decisive


def _alike(value: Any, other: Any) -> Any:
    """Return a text as the date that it is compared with."""
    if isinstance(value, str) and isinstance(other, datetime.date):
        try:
            return type(other).fromisoformat(value)
        except ValueError:
            return value
    return value
