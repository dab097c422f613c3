"""Joins of groups: each subquery is answered, and rows with equal groups are put together.

Groups are those that each answer shows: all declared ones, whoever is in them. Arithmetic of columns has the error of
the combination where it is known, and otherwise an interval that holds whatever the correlation is.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from sqlglot import exp

from tacit.answers.rows import apply_after
from tacit.errors import BindError, UsageError
from tacit.estimate.answer import Answer
from tacit.estimate.estimate import Estimate, t_quantile
from tacit.sql.bind import Bound
from tacit.sql.dates import midnight
from tacit.sql.expressions import compile_expression
from tacit.sql.formula import Reach
from tacit.sql.joined_groups import GroupJoin, GroupPart
from tacit.sql.keys import GroupKey
from tacit.sql.ordered import places_of
from tacit.sql.parse_spans import span_of
from tacit.sql.ranks import SortKey, sort_rows
from tacit.sql.scalars import NotScalar, truth
from tacit.sql.selection import plain_cell, rows_of_limit
from tacit.sql.wrapping import wrapper

__all__ = ["describe_join", "join_answers"]

MOST_ROWS = 10_000
"""Maximum rows of a join."""

Row = list[Any]

Operation = Callable[[Any, Any], Any]

OPERATIONS: dict[type[exp.Expr], Operation] = {
    exp.Add: lambda a, b: a + b,
    exp.Sub: lambda a, b: a - b,
    exp.Mul: lambda a, b: a * b,
    exp.Div: lambda a, b: a / b,
}

ORDERED = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)

NOTE = (
    "groups are joined as each subquery shows them: all declared ones, also those that nobody is in, which SQL on raw "
    "rows would leave out"
)


def join_answers(
    join: GroupJoin, answers: Sequence[Answer], bounds: Sequence[Bound], *, simultaneous: bool = False
) -> Answer:
    """Return the answer to a question over joined groups, given those of its subqueries.

    If their intervals hold simultaneously, those of combinations follow from them, and hold with them.
    """
    table = _Table(join, answers, bounds, _combine_bounds if simultaneous else _operate)
    rows = table.join_rows()
    for condition in join.where:
        test = table.compile(condition)
        rows = [row for row in rows if truth(plain_cell(test(row)))]
    outputs = table.outputs()
    functions = [table.compile(node) for _, node in outputs]
    shown = [[*(function(row) for function in functions), *row] for row in rows]
    names = [name for name, _ in outputs]
    keys = [table.sort_key(item, outputs) for item in _order(join.statement)]
    limit, offset = (rows_of_limit(join.statement.args.get(word), join.text) for word in ("limit", "offset"))
    chosen = sort_rows(shown, keys, plain_cell)[offset or 0 :]
    chosen = chosen if limit is None else chosen[:limit]
    _check_names(join, names)
    return Answer(
        names,
        [row[: len(names)] for row in chosen],
        notes=[*dict.fromkeys(note for answer in answers for note in answer.notes), NOTE],
        plan=lambda: "\n\n".join(answer.explain() for answer in answers),
        estimates=[name for name, node in outputs if table.is_estimate(node)],
    )


def describe_join(
    join: GroupJoin, described: Sequence[Sequence[tuple[str, str]]], parts: Sequence[str]
) -> list[tuple[str, str]]:
    """Return names and types of the output columns, given those of the subqueries; ``parts`` end names of errors."""
    types: list[dict[str, str]] = []
    answers = []
    for columns in described:
        ends = tuple(part for part in parts if part)
        noisy = [name for name, _ in columns if all((name + end, "float8") in columns for end in ends)]
        shown = [name for name, _ in columns if not any(name == other + end for other in noisy for end in ends)]
        answers.append(Answer(shown, [], estimates=noisy))
        types.append(dict(columns))
    table = _Table(join, answers, [None] * len(answers), _operate)
    table.join_rows()
    result: list[tuple[str, str]] = []
    for name, node in table.outputs():
        if table.is_estimate(node):
            result += [(name + part, "float8") for part in parts]
        else:
            result.append((name, table.type_of(node, types)))
    return result


def _order(statement: exp.Select) -> list[exp.Ordered]:
    order = statement.args.get("order")
    return list(order.expressions) if order is not None else []


def _check_names(join: GroupJoin, names: Sequence[str]) -> None:
    for number, name in enumerate(names):
        if name.lower() in [other.lower() for other in names[:number]]:
            message = f"Two output columns are called {name!r}. Name one of them with AS."
            raise BindError(message, code="ambiguous-column", text=join.text)


class _Table:
    """The columns of all parts, one after the other, and expressions over them."""

    def __init__(
        self,
        join: GroupJoin,
        answers: Sequence[Answer],
        bounds: Sequence[Bound | None],
        combine: Callable[[Operation, Estimate, Estimate], Any],
    ) -> None:
        self._join, self._answers, self._combine = join, answers, combine
        self._columns = [
            (part.name, name) for part, answer in zip(join.parts, answers, strict=True) for name in answer.columns
        ]
        self._noisy = [name in answer.estimates for answer in answers for name in answer.columns]
        self._places = [_places(bound, name) for bound, a in zip(bounds, answers, strict=True) for name in a.columns]
        self._merged: dict[str, list[int]] = {}

    def join_rows(self) -> list[Row]:
        """Return the rows that belong together, part by part."""
        rows: list[Row] = [[]]
        for number, part in enumerate(self._join.parts):
            width = sum(len(answer.columns) for answer in self._answers[:number])
            rows = self._with(part, number, rows, width) if number else [list(row) for row in self._answers[0].rows]
            if len(rows) > MOST_ROWS:
                message = f"The join has more than {MOST_ROWS} rows. Join on more columns of the groups."
                raise self._join.refusal(part.question, message)
        return rows

    def _with(self, part: GroupPart, number: int, rows: Sequence[Row], width: int) -> list[Row]:
        """Return earlier rows with those of a part; sides of outer joins without a match are NULL."""
        left, right = self._keys(part, number, width)
        part_rows = [list(row) for row in self._answers[number].rows]
        by_key: dict[tuple[Any, ...], list[int]] = {}
        for place, row in enumerate(part_rows):
            by_key.setdefault(_key(right, [*[None] * width, *row]), []).append(place)
        result, used = [], set[int]()
        for row in rows:
            key = _key(left, row)
            matches = [] if None in key else by_key.get(key, [])
            used.update(matches)
            result += [[*row, *part_rows[place]] for place in matches]
            if not matches and part.side in ("LEFT", "FULL"):
                result.append([*row, *[None] * len(self._answers[number].columns)])
        if part.side in ("RIGHT", "FULL"):
            result += [[*[None] * width, *row] for place, row in enumerate(part_rows) if place not in used]
        return result

    def _keys(self, part: GroupPart, number: int, width: int) -> tuple[list[Any], list[Any]]:
        """Return functions of earlier rows, and of those of a part, that must be equal."""
        pairs = list(part.on)
        names = [name.lower() for name in self._answers[number].columns]
        left, right = [], []
        for name in part.using:
            earlier = self._merged.get(name) or [
                place for place, (_, column) in enumerate(self._columns[:width]) if column.lower() == name
            ]
            if name not in names or not earlier:
                message = f"USING ({name}) needs a column of this name on both sides. Write ON with both names."
                raise self._join.refusal(part.question, message)
            self._merged[name] = [*earlier, width + names.index(name)]
            both = [
                exp.column(self._columns[place][1], self._columns[place][0])
                for place in (earlier[0], self._merged[name][-1])
            ]
            pairs.append((both[0], both[1]))
        for first, second in pairs:
            if self.is_estimate(first) or self.is_estimate(second):
                raise self._join.refusal(first)
            left.append(self.compile(first))
            right.append(self.compile(second))
        return left, right

    def outputs(self) -> list[tuple[str, exp.Expr]]:
        """Return names and expressions of the output columns; a star stands for all columns."""
        result: list[tuple[str, exp.Expr]] = []
        for node in self._join.statement.expressions:
            is_star = isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))
            if not is_star:
                result.append((str(node.alias_or_name or node.sql(dialect="duckdb")), node.unalias()))
                continue
            if any(node.args.get(word) for word in ("except_", "replace", "rename")):
                raise self._join.refusal(node, "Of stars, * and name.* are supported here. List the columns.")
            wanted = node.table.lower() if isinstance(node, exp.Column) else ""
            repeated = {place for places in self._merged.values() for place in places[1:]}
            for place, (part, name) in enumerate(self._columns):
                if wanted == part or (not wanted and place not in repeated):
                    merged = not wanted and name.lower() in self._merged
                    result.append((name, exp.column(name) if merged else exp.column(name, part)))
        return result

    def sort_key(self, item: exp.Ordered, outputs: Sequence[tuple[str, exp.Expr]]) -> SortKey:
        """Return an item of ORDER BY: an output column, by name or position, or an expression."""
        node, names = item.this, [name.lower() for name, _ in outputs]
        if isinstance(node, exp.Literal):
            place = int(node.this) if not node.is_string and str(node.this).isdigit() else 0
            if not 1 <= place <= len(outputs):
                raise self._join.refusal(item, f"ORDER BY takes columns, or positions from 1 to {len(outputs)}.")
            node = outputs[place - 1][1]
        elif isinstance(node, exp.Column) and not node.table and node.name.lower() in names:
            node = outputs[names.index(node.name.lower())][1]
        function, width = self.compile(node), len(outputs)
        order = self._places[self._places_of(node)[0]] if isinstance(node, exp.Column) else None
        return SortKey(
            0,
            bool(item.args.get("desc")),
            bool(item.args.get("nulls_first")),
            order,
            lambda row: plain_cell(function(row[width:])),
        )

    def is_estimate(self, node: exp.Expr) -> bool:
        """Return whether an expression reads an estimate."""
        return any(self._noisy[place] for column in node.find_all(exp.Column) for place in self._places_of(column))

    def type_of(self, node: exp.Expr, types: Sequence[Mapping[str, str]]) -> str:
        """Return the type of a column of groups; that of an expression over them is text."""
        if not isinstance(node, exp.Column):
            return "text"
        part, name = self._columns[self._places_of(node)[0]]
        return types[[other.name for other in self._join.parts].index(part)][name]

    def compile(self, node: exp.Expr) -> Callable[[Sequence[Any]], Any]:
        """Return an expression as a function of a row."""
        if isinstance(node, exp.Paren | exp.Alias):
            return self.compile(node.this)
        if isinstance(node, exp.Column):
            places = self._places_of(node)
            return lambda row: next((row[place] for place in places if row[place] is not None), None)
        if not self.is_estimate(node) or _is_test(node):
            return self._scalar(node)
        if type(node) in OPERATIONS:
            operation = OPERATIONS[type(node)]
            left, right = self.compile(node.args["this"]), self.compile(node.args["expression"])
            return lambda row: self._of(operation, left(row), right(row))
        if isinstance(node, exp.Neg):
            inner = self.compile(node.this)
            return lambda row: None if (value := inner(row)) is None else -value
        after = wrapper(node)
        if after is None or node.this is None:
            message = (
                f"{node.key.upper()} of estimates is not supported around joined groups. Supported: + - * /, "
                "ROUND, ABS, COALESCE, NULLIF and CAST."
            )
            raise self._join.refusal(node, message)
        inner, default = self.compile(node.this), node.expressions[0] if isinstance(node, exp.Coalesce) else None
        instead = self._scalar(default) if default is not None else (lambda _: None)

        def evaluate(row: Sequence[Any]) -> Any:
            value = inner(row)
            if isinstance(value, Estimate):
                return apply_after(after, value)
            return instead(row) if value is None else after.value(float(value))

        return evaluate

    def _of(self, operation: Operation, left: Any, right: Any) -> Any:
        """Return the result of arithmetic; NULL where a side is, or a divisor without error is 0."""
        if left is None or right is None:
            return None
        if isinstance(left, Estimate) and isinstance(right, Estimate):
            return self._combine(operation, left, right)
        try:
            return operation(*(side if isinstance(side, Estimate) else float(side) for side in (left, right)))
        except ZeroDivisionError:
            return None

    def _scalar(self, node: exp.Expr) -> Callable[[Sequence[Any]], Any]:
        """Return an expression over plain values: of groups, or a condition, for which estimates are their values."""
        texts = [column for part in node.find_all(*ORDERED) for column in part.find_all(exp.Column)]
        if any(self._places[place] for column in texts for place in self._places_of(column)):
            message = "Ordered categories are compared in the subqueries only. Put the condition there."
            raise self._join.refusal(node, message)
        try:
            function = compile_expression(node, lambda column: self._places_of(column)[0])
        except NotScalar as refusal:
            raise self._join.refusal(refusal.node) from None

        def evaluate(row: Sequence[Any]) -> Any:
            try:
                return function([plain_cell(cell) for cell in row])
            except (TypeError, ValueError, ArithmeticError, AttributeError):
                message = "This is not defined for every group. Compare numbers with numbers, dates with dates."
                raise self._join.refusal(node, message) from None

        return evaluate

    def _places_of(self, column: exp.Column) -> list[int]:
        """Return the places of a column; several where USING merges them."""
        table, name = column.table.lower(), column.name.lower()
        if not table and name in self._merged:
            return self._merged[name]
        places = [
            place for place, (part, known) in enumerate(self._columns) if known.lower() == name and table in ("", part)
        ]
        if len(places) == 1:
            return places
        if places:
            message = f"{name} is a column of several subqueries. Write the name of one before it, as in a.{name}."
            raise BindError(message, code="ambiguous-column", text=self._join.text, span=span_of(column))
        known = ", ".join(dict.fromkeys(column_name for part, column_name in self._columns if table in ("", part)))
        message = f"The subqueries have no column {column.name!r}. Columns: {known}."
        raise BindError(message, code="unknown-column", text=self._join.text, span=span_of(column))


def _is_test(node: exp.Expr) -> bool:
    return isinstance(node, exp.Predicate | exp.Connector | exp.Not | exp.Between | exp.In | exp.Is)


def _places(bound: Bound | None, name: str) -> Mapping[Any, int] | None:
    """Return the places of a group column's values, if they are ordered categories."""
    node = next((output for shown, output in bound.outputs if shown == name), None) if bound is not None else None
    return places_of(bound.scope, node.node) if bound is not None and isinstance(node, GroupKey) else None


def _key(functions: Sequence[Callable[[Sequence[Any]], Any]], row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(_alike(function(row)) for function in functions)


def _alike(value: Any) -> Any:
    """Return a value as it is compared: dates as their first moment."""
    if isinstance(value, datetime.date):
        return midnight(value)
    return float(value) if isinstance(value, Decimal) else value


def _operate(operation: Operation, left: Estimate, right: Estimate) -> Estimate:
    """Return arithmetic of estimates with the error of the combination, as far as their correlation is known."""
    try:
        result: Estimate = operation(left, right)
    except UsageError as cause:
        if cause.code != "unknown-covariance":
            raise
        return _combine_bounds(operation, left, right)
    return result


def _combine_bounds(operation: Operation, left: Estimate, right: Estimate) -> Estimate:
    """Return arithmetic of estimates whose correlation is unknown: its interval holds for any."""
    first, second = (Reach(side.value, np.zeros(1), side.low, side.high) for side in (left, right))
    result = operation(first, second)
    level, people = left.confidence, max(left.n, right.n)
    freedom = min(left.freedom, right.freedom)
    if not math.isfinite(result.high - result.low):
        return Estimate(result.value, math.nan, people, level, freedom, interval=(-math.inf, math.inf))
    error = (result.high - result.low) / 2 / t_quantile(0.5 + level / 2, freedom)
    return Estimate(result.value, error, people, level, freedom, interval=(result.low, result.high))
