"""A parsed question bound to services: aggregates, conditions and groups."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlglot import exp

from tacit.errors import BindError, UnsupportedSqlError
from tacit.sql.aggregates import formula
from tacit.sql.coarse import coarse_notes
from tacit.sql.composite import Column
from tacit.sql.domains import domain_notes
from tacit.sql.keys import GroupKey, key_of_group, output_of
from tacit.sql.modes import Mode
from tacit.sql.moments import notes_on_clock
from tacit.sql.outer_joins import check_ignored
from tacit.sql.parse import span_of, sql_of
from tacit.sql.predicates import condition, conjuncts
from tacit.sql.public import is_public
from tacit.sql.quantiles import Quantile
from tacit.sql.ranks import is_rank
from tacit.sql.scope import BoundColumn, Scope
from tacit.sql.selection import Selection
from tacit.sql.stars import BESIDE_STAR
from tacit.sql.subqueries import has_subquery
from tacit.sql.totals import Total
from tacit.sql.windows import AnyWindow, GroupWindow

__all__ = ["Bound", "bind"]

MAX_GROUPS = 10_000
"""Maximum groups of sensitive values in one answer."""


@dataclass(frozen=True, eq=False)
class Bound:
    """A question with the formulas it needs: those of its output columns, then those of HAVING and ORDER BY."""

    scope: Scope
    statement: exp.Select
    where: Total
    conditions: list[exp.Expr]
    keys: list[GroupKey]
    outputs: list[tuple[str, GroupKey | exp.Expr]]
    selection: Selection

    @property
    def names(self) -> list[str]:
        """Names of the output columns."""
        return [name for name, _ in self.outputs]

    def is_key(self, place: int) -> bool:
        """Return whether a column of a row shows a group or a rank, not an estimate."""
        if place >= len(self.outputs):
            return False
        output = self.outputs[place][1]
        return isinstance(output, GroupKey) or is_rank(output)

    @cached_property
    def labels(self) -> dict[int, Mode | Quantile]:
        """Columns of non-numeric estimates, by their places."""
        by_place = {}
        for place, (_, node) in enumerate(self.outputs):
            if isinstance(node, exp.Expr) and not is_rank(node):
                column = formula(self.scope, node, self.scope.rows, AnyWindow(self.scope.rows))
                if isinstance(column, Mode) or (isinstance(column, Quantile) and column.outcomes.label is not None):
                    by_place[place] = column
        return by_place

    @property
    def public(self) -> list[BoundColumn]:
        """Public columns that the engine groups by."""
        return [key.public for key in self.keys if key.public is not None]

    def groups(self) -> list[tuple[int, ...]]:
        """Return the non-empty combinations of classes, as indices."""
        return self._groups

    @cached_property
    def _groups(self) -> list[tuple[int, ...]]:
        sizes = [len(key.classes) for key in self.keys if key.public is None]
        if math.prod(sizes) > MAX_GROUPS:
            message = (
                f"{math.prod(sizes)} groups; at most {MAX_GROUPS} are allowed. Group by fewer or coarser attributes."
            )
            raise UnsupportedSqlError(message, code="too-many-groups", text=self.scope.text)
        classes = [key.classes for key in self.keys if key.public is None]
        possible = [[i for i, (_, holds) in enumerate(class_) if (self.where * holds).pieces] for class_ in classes]
        return [group for group in itertools.product(*possible) if not group or self.members(group).pieces]

    def members(self, group: tuple[int, ...]) -> Total:
        """Return the total that counts the people of a group who satisfy WHERE."""
        if group not in self._held:
            classes = [key.classes for key in self.keys if key.public is None]
            before = self.members(group[:-1]) if group else self.where
            self._held[group] = before * classes[len(group) - 1][group[-1]][1] if group else before
        return self._held[group]

    @cached_property
    def _held(self) -> dict[tuple[int, ...], Total]:
        """The total of each group; groups by several keys extend the group by all but the last key."""
        return {}

    def formulas(self, group: tuple[int, ...]) -> list[Column | None]:
        """Return the formula of each column within a group; None for a column of GROUP BY."""
        held = self.members(group)
        nodes = [output for _, output in self.outputs] + self.selection.hidden

        window = GroupWindow(self, group)
        return [
            None if isinstance(node, GroupKey) or is_rank(node) else formula(self.scope, node, held, window)
            for node in nodes
        ]

    def known_groups(self) -> frozenset[tuple[int, ...]]:
        """Return all groups; none if public columns or HAVING decide which there are."""
        return self._known_groups

    @cached_property
    def _known_groups(self) -> frozenset[tuple[int, ...]]:
        return frozenset() if self.public or self.selection.test is not None else frozenset(self._groups)

    def row(self, group: tuple[int, ...], values: tuple[Any, ...], cells: list[Any]) -> list[Any]:
        """Return a row: labels of classes, values of public columns, and estimates."""
        labels = iter(group)
        publics = iter(values)
        known = {
            id(key): next(publics) if key.public is not None else key.classes[next(labels)][0] for key in self.keys
        }
        shown = [output.show(known) if isinstance(output, GroupKey) else None for _, output in self.outputs]
        return [value if cell is None else cell for value, cell in itertools.zip_longest(shown, cells)]

    def sensitive_part(self) -> str:
        """Return the question without public conditions, groups and columns, without clauses that only select rows."""
        where = self.statement.args.get("where")
        conditions = [part for part in conjuncts(where.this if where else None) if not is_public(self.scope, part)]
        keys = [key.node for key in self.keys if key.public is None]
        shown = [
            node
            for node, (_, output) in zip(self.statement.expressions, self.outputs, strict=True)
            if not isinstance(output, GroupKey) or not output.reads_public
        ]
        result = self.statement.copy()
        result.set("expressions", [node.copy() for node in shown])
        result.set("where", exp.Where(this=exp.and_(*conditions)) if conditions else None)
        result.set("group", exp.Group(expressions=[node.copy() for node in keys]) if keys else None)
        for word in ("having", "qualify", "order", "limit", "offset"):
            result.set(word, None)
        return result.sql(dialect="duckdb")

    def notes(self) -> list[str]:
        """Return notes on how the answer is defined."""
        sources = [source for source in self.scope.sources if source.twin is None]
        several = [source.service for source in sources if source.service.rows_at_most > 1]
        notes = [
            f"{s.name}: at most {s.at_most} rows per person count; if a person has more, {s.at_most} random ones count"
            for s in several
        ]
        if self.keys and all(isinstance(output, GroupKey) for _, output in self.outputs):
            notes.append("the answer lists all declared values; add COUNT(*) to estimate how many people have each")
        sides = any(join.args.get("side") for join in self.statement.args.get("joins") or [])
        if sides and len(self.scope.sources) > 1:
            notes.append("people who have not reported to all joined services are left out, whatever the join")
        return [
            *notes,
            *notes_on_clock(self.statement),
            *domain_notes(self.scope, self.statement, self.where),
            *coarse_notes(self.scope, self.statement),
        ]


def bind(statement: exp.Select, scope: Scope) -> Bound:
    """Bind a statement to services; refuse unknown names and unsupported expressions."""
    check_ignored(scope, statement)
    _check_stars(scope, statement)
    where_node = statement.args.get("where")
    where, conditions = condition(scope, where_node.this if where_node else None)
    added_up = any(isinstance(window.this, exp.AggFunc) for window in statement.find_all(exp.Window))
    keys: list[GroupKey] = []
    for node in _group_expressions(scope, statement):
        if not any(key.is_the(scope, node) for key in keys):
            keys.append(key_of_group(scope, node, added_up=added_up))
    shown = [_expand_names(scope, statement, node.unalias()) for node in statement.expressions]
    outputs = [(name, output_of(scope, node, keys)) for name, node in zip(_names(statement), shown, strict=True)]
    _check_names(scope, outputs)
    alone = [node for _, node in outputs if isinstance(node, exp.Expr) and has_subquery(node)]
    if alone and (conditions or any(key.public for key in keys)):
        message = (
            "A subquery in SELECT cannot be combined with conditions on public columns or groups by them, which would "
            "apply to it too. Ask two questions, and divide their answers."
        )
        raise scope.refusal(message, alone[0], "unsupported-subquery")
    selection = Selection.of(scope, statement, [name for name, _ in outputs], _expressions(outputs))
    for node in selection.hidden:
        formula(scope, node, scope.rows, AnyWindow(scope.rows))
    return Bound(scope, statement, where, conditions, keys, outputs, selection)


def _check_stars(scope: Scope, statement: exp.Select) -> None:
    """Refuse a column that a subquery computes under the name of a column that its * has too."""
    columns = {(s.service.name.lower(), a.name.lower()) for s in scope.sources for a in s.service.attributes}
    for node in statement.walk():
        name, tables = node.meta.get(BESIDE_STAR) or ("", ())
        if any((table, name.lower()) in columns for table in tables):
            message = (
                f"SELECT *, … AS {name} has two columns called {name!r}. Give it another name, or write "
                f"SELECT * REPLACE (… AS {name})."
            )
            raise BindError(message, code="ambiguous-column", text=scope.text, span=span_of(node))


def _expand_names(scope: Scope, statement: exp.Select, node: exp.Expr) -> exp.Expr:
    """Return an output column with names of other output columns replaced by their expressions."""
    columns = {a.name.lower() for source in scope.sources for a in source.service.attributes}
    named = {
        expression.alias.lower(): expression.this
        for expression in statement.expressions
        if isinstance(expression, exp.Alias) and expression.this is not node and expression.find(exp.AggFunc)
    }

    def substitute(part: exp.Expr) -> exp.Expr:
        name = part.name.lower() if isinstance(part, exp.Column) and not part.table else ""
        return exp.Paren(this=named[name].copy()) if name in named and name not in columns else part

    return node.transform(substitute) if node.find(exp.Column) and named else node


def _check_names(scope: Scope, outputs: list[tuple[str, GroupKey | exp.Expr]]) -> None:
    """Refuse columns that would overwrite each other, or the error or interval of another, in a table."""
    taken: set[str] = set()
    for name, output in outputs:
        alone = isinstance(output, GroupKey) or is_rank(output)
        columns = {name} if alone else {name, *(f"{name}_{part}" for part in ("error", "low", "high", "could_be"))}
        if taken & columns:
            message = f"Two output columns are called {min(taken & columns)!r}. Name one of them with AS."
            raise BindError(message, code="ambiguous-column", text=scope.text)
        taken |= columns


def _expressions(outputs: list[tuple[str, GroupKey | exp.Expr]]) -> list[exp.Expr]:
    """Return the expression of every output column."""
    return [output.node if isinstance(output, GroupKey) else output for _, output in outputs]


def _group_expressions(scope: Scope, statement: exp.Select) -> list[exp.Expr]:
    """Return the expressions of GROUP BY, with positions and names of output columns replaced by their expressions."""
    group = statement.args.get("group")
    if group is None:
        return []
    extra = [word for word, value in group.args.items() if value and word != "expressions"]
    if extra:
        message = f"GROUP BY {extra[0].upper()} is not supported. Name the columns to group by."
        raise scope.refusal(message, group, "unsupported-group")
    named = {node.alias.lower(): node.this for node in statement.expressions if isinstance(node, exp.Alias)}
    columns = {a.name.lower() for source in scope.sources for a in source.service.attributes}
    expressions = []
    for node in group.expressions:
        if isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit():
            place = int(str(node.this)[:9]) - 1
            if not 0 <= place < len(statement.expressions):
                message = "GROUP BY refers to an output column by a position that does not exist."
                raise scope.refusal(message, node, "unsupported-group")
            expressions.append(statement.expressions[place].unalias())
        elif isinstance(node, exp.Column) and not node.table and node.name.lower() not in columns:
            expressions.append(named.get(node.name.lower(), node))
        else:
            expressions.append(node)
    return expressions


def _names(statement: exp.Select) -> list[str]:
    """Return the names of output columns; a column without AS keeps its name, qualified with its table if ambiguous."""
    plain = [node.name for node in statement.expressions if isinstance(node, exp.Column)]
    names = []
    for node in statement.expressions:
        if isinstance(node, exp.Alias):
            names.append(node.alias)
        elif isinstance(node, exp.Column):
            alone = plain.count(node.name) == 1 or not node.table
            names.append(node.name if alone else f"{node.table}.{node.name}")
        else:
            names.append(sql_of(node))
    return names
