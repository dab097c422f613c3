"""HAVING, QUALIFY, ORDER BY, LIMIT and OFFSET: select rows by their estimates, after all of them are known."""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlglot import exp

from tacit.errors import UnsupportedSqlError
from tacit.estimate.estimate import Estimate
from tacit.sql.expressions import compile_expression
from tacit.sql.ordered import list_values, places_of
from tacit.sql.parse import brief_sql, span_of
from tacit.sql.public import is_list, literal_of
from tacit.sql.ranks import Rank, SortKey, is_rank, key_of, rank_of, sort_rows
from tacit.sql.scalars import COMPARISONS, NotCondition, NotScalar, truth
from tacit.sql.scope import Scope
from tacit.sql.vectors import OPERATORS, kind_of

__all__ = ["Selection", "plain_cell", "rows_of_limit"]

Row = list[Any]
Test = Callable[[Row], bool | None]
"""True, false, or None where a value is undefined, as in SQL."""


@dataclass(frozen=True, eq=False)
class Selection:
    """Columns computed beside the output columns, and which rows are kept, in which order, and how many.

    A row has the output columns, then the ``hidden`` ones, then the ``ranks``; the ``shown`` ranks are copied to their
    output columns.
    """

    hidden: list[exp.Expr]
    test: Test | None
    qualify: Test | None
    order: list[SortKey]
    limit: int | None
    offset: int
    ranks: list[Rank]
    shown: dict[int, int]

    @classmethod
    def of(cls, scope: Scope, statement: exp.Select, names: list[str], outputs: list[exp.Expr]) -> Selection:
        """Read the clauses."""
        reader = _Reader(scope, [name.lower() for name in names], outputs)
        having, qualify, order = (statement.args.get(word) for word in ("having", "qualify", "order"))
        shown = {place: reader.rank(node) for place, node in enumerate(outputs) if is_rank(node)}
        test = reader.test(having.this) if having else None
        after = reader.test(qualify.this, ranks=True) if qualify else None
        keys = [reader.key(item) for item in (order.expressions if order else [])]
        limit, offset = (rows_of_limit(statement.args.get(word), scope.text) for word in ("limit", "offset"))
        return cls(reader.hidden, test, after, keys, limit, offset or 0, reader.ranks, shown)

    @property
    def selects(self) -> bool:
        """Whether rows are chosen, ordered or ranked by their estimates."""
        picks = self.limit is not None or self.offset or self.qualify is not None
        return bool(self.test is not None or self.order or self.ranks or picks)

    def apply(self, rows: list[Row]) -> list[Row]:
        """Return the rows that are kept, in order."""
        if self.test is not None:
            rows = [row for row in rows if self.test(row)]
        ranked = [rank.of(rows, plain_cell) for rank in self.ranks]
        rows = [[*row, *(ranks[number] for ranks in ranked)] for number, row in enumerate(rows)]
        for place, rank in self.shown.items():
            for row, value in zip(rows, ranked[rank], strict=True):
                row[place] = value
        if self.qualify is not None:
            rows = [row for row in rows if self.qualify(row)]
        rows = sort_rows(rows, self.order, plain_cell)[self.offset :]
        return rows if self.limit is None else rows[: self.limit]


def plain_cell(cell: Any) -> Any:
    """Return the value by which a cell is compared; None if it is undefined."""
    value = cell.value if isinstance(cell, Estimate) else cell
    if isinstance(value, Decimal):
        value = float(value)
    return None if isinstance(value, float) and math.isnan(value) else value


def rows_of_limit(node: exp.Expr | None, text: str) -> int | None:
    """Return the number of rows that LIMIT, FETCH FIRST or OFFSET names; None without it."""
    if node is None:
        return None
    known = ("expression", "count", "direction", "limit_options")
    count = node.args.get("expression") or node.args.get("count")
    options = node.args.get("limit_options")
    is_plain = options is None or not (options.args.get("percent") or options.args.get("with_ties"))
    plain = isinstance(count, exp.Literal) and str(count.this).isdigit() and len(str(count.this)) <= 9
    if not plain or not is_plain or any(value for word, value in node.args.items() if word not in known):
        message = f"{'OFFSET' if isinstance(node, exp.Offset) else 'LIMIT'} takes a whole number of rows, such as 10."
        raise UnsupportedSqlError(message, code="unsupported-limit", text=text, span=span_of(node))
    return int(count.this)  # type: ignore[union-attr]


class _Reader:
    """Turns expressions over columns of the answer into positions in a row."""

    def __init__(self, scope: Scope, names: list[str], outputs: list[exp.Expr]) -> None:
        self._scope, self._names, self._outputs = scope, names, outputs
        self.hidden: list[exp.Expr] = []
        self.ranks: list[Rank] = []
        self._sees_ranks = False

    def rank(self, node: exp.Expr) -> int:
        """Add a rank, and return its number."""
        ranking = rank_of(self._scope, node, self.position, self.order)  # type: ignore[arg-type]
        if ranking not in self.ranks:
            self.ranks.append(ranking)
        return self.ranks.index(ranking)

    def order(self, place: int) -> dict[Any, int] | None:
        """Return the places of an output column's values, if they are ordered categories."""
        return places_of(self._scope, self._outputs[place] if place < len(self._outputs) else None)

    def _output_of(self, node: exp.Expr) -> exp.Expr:
        """Return the expression of the output column that a name stands for."""
        is_named = isinstance(node, exp.Column) and node.name.lower() in self._names
        return self._outputs[self._names.index(node.name.lower())] if is_named else exp.null()

    def position(self, node: exp.Expr) -> int:
        """Return the place of an expression in a row: an output column, or a hidden one, which is added if needed."""
        place = -1
        if isinstance(node, exp.Paren):
            return self.position(node.this)
        if isinstance(node, exp.Literal):
            is_integer = not node.is_string and str(node.this).isdigit() and len(str(node.this)) <= 9
            place = int(node.this) - 1 if is_integer else -1
        elif isinstance(node, exp.Column) and node.name.lower() in self._names:
            place = self._names.index(node.name.lower())
        elif node in self._outputs:
            place = self._outputs.index(node)
        elif not isinstance(node, exp.Column) and node.find(exp.AggFunc):
            if node not in self.hidden:
                self.hidden.append(node)
            return len(self._names) + self.hidden.index(node)
        if not 0 <= place < len(self._names):
            message = (
                "ORDER BY, HAVING and QUALIFY take output columns, by name or position, and aggregates. Add it to "
                "SELECT."
            )
            raise self._scope.refusal(message, node, "unsupported-order")
        return place

    def key(self, item: exp.Ordered) -> SortKey:
        """Return an item of ORDER BY: a column of the answer, or an expression over columns of groups."""
        compute = self._compute(item.this)
        if compute is None:
            return key_of(item, self.position, self.order)
        place = self.position(next(iter(item.this.find_all(exp.Column))))
        return SortKey(place, bool(item.args.get("desc")), bool(item.args.get("nulls_first")), compute=compute)

    def _compute(self, node: exp.Expr) -> Callable[[Sequence[Any]], Any] | None:
        """Return the value of an expression over columns of groups in a row; None if it is something else."""
        columns = list(node.find_all(exp.Column))
        if isinstance(node.unnest(), exp.Column) or not columns or node in self._outputs:
            return None
        if node.find(exp.AggFunc, exp.Window, exp.Subquery):
            return None
        places = [self.position(column) for column in columns]
        if any(self._outputs[place].find(exp.AggFunc, exp.Window) for place in places):
            return None
        try:
            function = compile_expression(list_values(self._scope, node, self._output_of), self.position)
        except NotScalar:
            return None

        def value_in(row: Sequence[Any]) -> Any:
            try:
                return function([plain_cell(cell) for cell in row])
            except (TypeError, ValueError, ArithmeticError, AttributeError):
                message = f"{brief_sql(node)} is not defined for every group. Add it to SELECT, or leave it out."
                raise self._scope.refusal(message, node, "unsupported-order") from None

        return value_in

    def test(self, node: exp.Expr, *, ranks: bool = False) -> Test:
        """Return the test of a condition; only QUALIFY sees ranks."""
        self._sees_ranks = ranks
        return self._test(list_values(self._scope, node, self._output_of))

    def _test(self, node: exp.Expr) -> Test:
        if isinstance(node, exp.Paren):
            return self._test(node.this)
        if isinstance(node, exp.Not):
            inner = self._test(node.this)
            return lambda row: None if (truth := inner(row)) is None else not truth
        if isinstance(node, exp.And | exp.Or):
            left, right, decisive = self._test(node.left), self._test(node.right), isinstance(node, exp.Or)
            return lambda row: _connect((left(row), right(row)), decisive=decisive)
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
            high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
            return self._test(exp.And(this=low, expression=high))
        if isinstance(node, exp.In) and is_list(node):
            equal = [
                self._test(exp.EQ(this=node.this.copy(), expression=expression.copy()))
                for expression in node.expressions
            ]
            return lambda row: _any_of([test(row) for test in equal])
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            value = self._operand(node.this)
            return lambda row: value(row) is None
        if isinstance(node, exp.Boolean):
            known = bool(node.this)
            return lambda _: known
        if type(node) in COMPARISONS:
            compare = OPERATORS[COMPARISONS[type(node)]]
            first, second = self._operand(node.this), self._operand(node.expression)
            return lambda row: self._compare(node, compare, first(row), second(row))
        if isinstance(node, exp.Column):
            flag = self._operand(node)
            return lambda row: self._compare(node, operator.eq, flag(row), right=True)
        if (compute := self._compute(node)) is not None:
            return lambda row: self._truth(node, compute(row))
        message = (
            "HAVING and QUALIFY compare columns with constants by =, <>, <, BETWEEN, IN, IS NULL, AND, OR and NOT."
        )
        raise self._scope.refusal(message, node, "unsupported-having")

    def _truth(self, node: exp.Expr, value: Any) -> bool | None:
        try:
            return truth(value)
        except NotCondition:
            message = f"{brief_sql(node)} is neither true nor false. Compare it with a value."
            raise self._scope.refusal(message, node, "not-a-condition") from None

    def _compare(self, node: exp.Expr, compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool | None:
        if left is None or right is None:
            return None
        left, right = _alike(left, right), _alike(right, left)
        if kind_of(left) != kind_of(right):
            message = "HAVING compares values of different kinds. Compare numbers with numbers, dates with dates."
            raise self._scope.refusal(message, node, "unsupported-having")
        return bool(compare(left, right))

    def _operand(self, node: exp.Expr) -> Callable[[Row], Any]:
        if isinstance(node, exp.Paren):
            return self._operand(node.this)
        literal = literal_of(node)
        if literal is not None or isinstance(node, exp.Boolean):
            value: Any = bool(node.this) if literal is None else literal[0] if literal[1] else float(literal[0])
            return lambda _: value
        if (compute := self._compute(node)) is not None:
            return compute
        if self._sees_ranks and is_rank(node):
            rank = self.rank(node)  # ranks follow the hidden columns, whose number is known when rows are evaluated
            return lambda row: row[len(self._names) + len(self.hidden) + rank]
        place = self.position(node)
        return lambda row: plain_cell(row[place])


def _connect(sides: tuple[bool | None, bool | None], *, decisive: bool) -> bool | None:
    """Return OR (True decides) or AND (False decides) of two sides that may be undefined."""
    if decisive in sides:
        return decisive
    return None if None in sides else not decisive


def _any_of(results: list[bool | None]) -> bool | None:
    return True if True in results else None if None in results else False


def _alike(value: Any, other: Any) -> Any:
    """Return a text as the date that it is compared with."""
    if isinstance(value, str) and isinstance(other, datetime.date):
        try:
            return type(other).fromisoformat(value)
        except ValueError:
            return value
    return value
