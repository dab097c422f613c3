"""A parsed question bound to a service: what is counted, where, and by which groups."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlglot import exp

from tacit.answer import Estimate
from tacit.decode.functional import Functional
from tacit.errors import BindError, UnsupportedSqlError
from tacit.schema import Ordinal, Public, Service
from tacit.sql.aggregates import Formula, formula
from tacit.sql.parse import span_of
from tacit.sql.predicates import Scope, SqlPiece, condition
from tacit.sql.vectors import Sensitive, shown_value

__all__ = ["Bound", "bind", "service_name"]

MAX_GROUPS = 10_000
"""Groups of sensitive values in one answer."""


def service_name(statement: exp.Select, text: str) -> str:
    """Return the name of the service a question is about."""
    source = statement.args.get("from_")
    if source is None or not isinstance(source.this, exp.Table):
        message = "A question needs FROM and the name of one service."
        raise BindError(message, code="unknown-table", text=text)
    extra = [word for word, value in source.this.args.items() if value and word not in ("this", "alias")]
    if extra:
        message = f"FROM takes the name of one service; {extra[0]} is not supported."
        raise UnsupportedSqlError(message, text=text)
    return str(source.this.name)


@dataclass(frozen=True, eq=False)
class Bound:
    """A question about one service."""

    scope: Scope
    statement: exp.Select
    where: Functional
    conditions: list[SqlPiece]
    sensitive: list[Sensitive]
    public: list[Public]
    outputs: list[tuple[str, Sensitive | Public | exp.Expr]]

    @property
    def names(self) -> list[str]:
        """Names of the output columns."""
        return [name for name, _ in self.outputs]

    def groups(self) -> list[tuple[int, ...]]:
        """Return all combinations of sensitive group values, as indices."""
        count = math.prod(attribute.size for attribute in self.sensitive)
        if count > MAX_GROUPS:
            message = f"{count} groups; at most {MAX_GROUPS}. Group by fewer or coarser attributes."
            raise UnsupportedSqlError(message, code="too-many-groups", text=self.scope.text)
        return list(itertools.product(*(range(attribute.size) for attribute in self.sensitive)))

    def formulas(self, group: tuple[int, ...]) -> list[Formula | None]:
        """Return the formula of each output column within a group; None for a column of GROUP BY."""
        held = self.where
        for attribute, index in zip(self.sensitive, group, strict=True):
            held = held * self.scope.functional(attribute, np.arange(attribute.size) == index)
        return [formula(self.scope, o, held) if isinstance(o, exp.Expr) else None for _, o in self.outputs]

    def row(self, group: tuple[int, ...], keys: tuple[Any, ...], estimates: list[Estimate | None]) -> list[Any]:
        """Return a row of the answer: values of the groups, and estimates."""
        values = [shown_value(attribute, index) for attribute, index in zip(self.sensitive, group, strict=True)]
        known = dict(zip([*self.sensitive, *self.public], [*values, *keys], strict=True))
        pairs = zip(self.outputs, estimates, strict=True)
        return [known[output] if estimate is None else estimate for (_, output), estimate in pairs]  # type: ignore[index]

    def notes(self) -> list[str]:
        """Return what the definition of the answer leaves blurred."""
        asked = {column.name.lower() for column in self.statement.find_all(exp.Column)}
        return [
            f"{attribute.name} was collected in coarser cells: conditions on it are blurred by a cell"
            for attribute in self.scope.service.sensitive
            if isinstance(attribute, Ordinal) and attribute.values < attribute.ticks and attribute.name.lower() in asked
        ]

    def selected(self, rows: list[list[Any]]) -> list[list[Any]]:
        """Apply ORDER BY and LIMIT to the estimates."""
        order, limit = self.statement.args.get("order"), self.statement.args.get("limit")
        for item in reversed(order.expressions if order else []):
            place = self._place(item.this)
            keyed = [(_sort_key(row[place]), row) for row in rows]
            known = sorted(
                (pair for pair in keyed if pair[0] is not None), key=_first, reverse=bool(item.args.get("desc"))
            )
            rows = [row for _, row in known] + [row for key, row in keyed if key is None]  # undefined ones last
        if limit is not None:
            count = limit.expression
            plain = isinstance(count, exp.Literal) and str(count.this).isdigit() and len(str(count.this)) <= 9
            if not plain or any(value for word, value in limit.args.items() if word != "expression"):
                message = "LIMIT takes a whole number."
                raise self.scope.unsupported(message, limit, "unsupported-limit")
            rows = rows[: int(count.this)]
        return rows

    @property
    def selects(self) -> bool:
        """Whether rows are chosen by their estimates."""
        return bool(self.statement.args.get("order") or self.statement.args.get("limit"))

    def _place(self, node: exp.Expr) -> int:
        names = [name.lower() for name in self.names]
        place = -1
        if isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit():
            place = int(node.this) - 1
        elif node.name.lower() in names:
            place = names.index(node.name.lower())
        if not 0 <= place < len(names):
            message = "ORDER BY takes the name or the position of an output column."
            raise self.scope.unsupported(message, node, "unsupported-order")
        return place


def bind(statement: exp.Select, text: str, service: Service) -> Bound:
    """Bind a statement to a service; refuse what it names wrongly or asks in vain."""
    alias = statement.args["from_"].this.alias
    scope = Scope(service, text, alias or service.name)
    where_node = statement.args.get("where")
    where, conditions = condition(scope, where_node.this if where_node else None)
    group = statement.args.get("group")
    grouped = []
    for node in group.expressions if group else []:
        if not isinstance(node, exp.Column):
            message = "GROUP BY takes columns. Name the columns to group by."
            raise scope.unsupported(message, node, "unsupported-group")
        if scope.attribute(node) not in grouped:
            grouped.append(scope.attribute(node))
    outputs = [_output(scope, node, grouped) for node in statement.expressions]
    sensitive = [attribute for attribute in grouped if not isinstance(attribute, Public)]
    public = [attribute for attribute in grouped if isinstance(attribute, Public)]
    return Bound(scope, statement, where, conditions, sensitive, public, outputs)


def _output(
    scope: Scope, node: exp.Expr, grouped: list[Sensitive | Public]
) -> tuple[str, Sensitive | Public | exp.Expr]:
    """Return an output column's name, and the attribute it shows or the expression it computes."""
    inner = node.this if isinstance(node, exp.Alias) else node
    name = node.alias if isinstance(node, exp.Alias) else inner.sql(dialect="duckdb")
    if isinstance(inner, exp.Column):
        attribute = scope.attribute(inner)
        if attribute not in grouped:
            message = f"{attribute.name} is neither in GROUP BY nor in an aggregate. Add it to GROUP BY."
            raise BindError(message, code="not-grouped", text=scope.text, span=span_of(inner))
        return name, attribute
    formula(scope, inner, Functional.constant(scope.sizes))  # refuse what cannot be before anything runs
    return name, inner


def _sort_key(cell: Any) -> Any:
    """Return what a cell is sorted by; None if it is undefined."""
    value = cell.value if isinstance(cell, Estimate) else cell
    return None if isinstance(value, float) and math.isnan(value) else value


def _first(pair: tuple[Any, list[Any]]) -> Any:
    return pair[0]
