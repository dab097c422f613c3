"""Columns of a subquery, replaced by their expressions in the SELECT around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from tacit.errors import BindError, UnsupportedSqlError
from tacit.sql.parse_spans import span_of

__all__ = [
    "conjuncts",
    "has_aggregate",
    "name_of",
    "refuse_subquery",
    "replace_columns",
    "spelled_group",
    "with_columns_of",
    "with_condition",
    "with_name",
]

CLAUSES = ("where", "group", "having", "qualify", "order")


def refuse_subquery(message: str, node: exp.Expr, text: str) -> UnsupportedSqlError:
    """Return the refusal of a subquery, at its place."""
    return UnsupportedSqlError(message, code="unsupported-subquery", text=text, span=span_of(node))


def replace_columns(
    outer: exp.Select, alias: str, outputs: Mapping[str, exp.Expr], text: str, *, keep: bool
) -> exp.Select:
    """Return a SELECT with a subquery's columns replaced everywhere; without ``keep`` there are no others."""
    result = outer.copy()
    shown = {node.alias.lower(): node for node in result.expressions if isinstance(node, exp.Alias)}
    if not keep and not result.args.get("joins"):
        parts = [*result.expressions, *(result.args[word] for word in CLAUSES if result.args.get(word))]
        for column in (column for part in parts for column in _own_nodes(part, exp.Column)):
            if column.name.lower() not in {**outputs, **shown}:
                message = f"The subquery has no column {column.name!r}. Columns: {', '.join(outputs)}."
                raise BindError(message, text=text, span=span_of(column))
    result.set("expressions", [_rename(node, alias, outputs) for node in result.expressions])
    named = {name_of(node).lower() for node in outer.expressions}
    for word in CLAUSES:
        if result.args.get(word):
            replacements = (
                {n: output for n, output in outputs.items() if n not in named} if word == "order" else outputs
            )
            result.set(word, with_columns_of(result.args[word], alias, replacements))
    return result


def _rename(node: exp.Expr, alias: str, outputs: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return an output column under its previous name."""
    changed = with_columns_of(node, alias, outputs)
    if isinstance(node, exp.Column) and changed != node:
        return with_name(changed, node.name)
    return changed


def with_name(node: exp.Expr, name: str) -> exp.Expr:
    """Return an output column under a name; a subquery would take it for the name of a table."""
    return exp.Alias(this=node, alias=exp.to_identifier(name, quoted=True))


def with_columns_of(
    node: exp.Expr, alias: str, outputs: Mapping[str, exp.Expr], *, qualified: bool = False
) -> exp.Expr:
    """Replace columns of a subquery by their expressions in a node; nested subqueries keep their own names."""

    def substitute(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Subquery):
            return part.copy()
        if not isinstance(part, exp.Column) or (part.table.lower() != alias and (part.table or qualified)):
            return part
        output = outputs.get(part.name.lower())
        if output is None:
            return part
        alone = isinstance(output, exp.Column | exp.Func | exp.Literal | exp.Subquery | exp.Window)
        return output.copy() if alone else exp.Paren(this=output.copy())

    return node.transform(substitute)


def with_condition(statement: exp.Select, word: str, condition: exp.Expr | None) -> exp.Select:
    """Add a condition to WHERE, HAVING or QUALIFY of a statement, and return it."""
    if condition is None:
        return statement
    added = condition.this if isinstance(condition, exp.Where | exp.Having | exp.Qualify) else condition
    before = statement.args.get(word)
    both = (
        exp.And(this=exp.Paren(this=before.this), expression=exp.Paren(this=added.copy())) if before else added.copy()
    )
    kinds: dict[str, type[exp.Expr]] = {"where": exp.Where, "having": exp.Having, "qualify": exp.Qualify}
    statement.set(word, kinds[word](this=both))
    return statement


def conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    """Return the conditions that AND connects, without parentheses."""
    if node is None:
        return []
    if isinstance(node, exp.Paren):
        return conjuncts(node.this)
    return conjuncts(node.left) + conjuncts(node.right) if isinstance(node, exp.And) else [node]


def has_aggregate(statement: exp.Select) -> bool:
    """Return whether an output column has an aggregate of rows, not of a window."""
    aggregates = [aggregate for node in statement.expressions for aggregate in _own_nodes(node, exp.AggFunc)]
    return any(not isinstance(aggregate.parent, exp.Window) for aggregate in aggregates)


def _own_nodes(node: exp.Expr, kind: type[exp.Expr]) -> list[Any]:
    """Return the nodes of a kind outside nested subqueries."""
    walked = node.walk(prune=lambda part: isinstance(part, exp.Subquery))
    return [part for part in walked if isinstance(part, kind)]


def name_of(node: exp.Expr) -> str:
    """Return the name of an output column."""
    return str(node.alias_or_name or node.sql(dialect="duckdb"))


def spelled_group(inner: exp.Select, outputs: Mapping[str, exp.Expr]) -> exp.Group | None:
    """Return GROUP BY with positions and names of output columns replaced by their expressions."""
    group = inner.args.get("group")
    if group is None:
        return None
    listed = [node.unalias() for node in inner.expressions]
    expressions = []
    for node in group.expressions:
        if isinstance(node, exp.Literal) and str(node.this).isdigit() and 1 <= int(node.this) <= len(listed):
            expressions.append(listed[int(node.this) - 1].copy())
        elif isinstance(node, exp.Column) and not node.table and node.name.lower() in outputs:
            expressions.append(outputs[node.name.lower()].copy())
        else:
            expressions.append(node.copy())
    return exp.Group(**{**group.args, "expressions": expressions})
