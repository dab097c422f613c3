"""Conditions of WHERE about another service, `key IN (SELECT key FROM …)` and EXISTS, as joins.

With at most one row per person in the other service, both are a join on the key. Whether any of several rows meets a
condition is not what reports reveal: `tables.scope_of`, which knows the services, refuses those.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tacit.errors import UnsupportedSqlError
from tacit.sql.parse_spans import span_of

__all__ = ["SEMI_JOIN", "spell_semi_joins"]

SEMI_JOIN = "semi join"
"""Mark of a join that a condition was turned into."""

NOT_PLAIN = ("group", "having", "qualify", "limit", "offset", "with_")


def spell_semi_joins(
    statement: exp.Select, parts: list[exp.Expr], text: str, flatten: Callable[[exp.Select], exp.Select]
) -> exp.Select:
    """Return a statement in which conditions of WHERE that are subqueries about the key are joins.

    ``parts`` are the conditions that AND joins in WHERE; ``flatten`` merges the FROM of a subquery.
    """
    remaining: list[exp.Expr] = []
    joins = list(statement.args.get("joins") or [])
    source = statement.args.get("from_")
    names = {str(clause.this.alias_or_name).lower() for clause in [*([source] if source else []), *joins]}
    for part in parts:
        inner = _subquery(part)
        if inner is None:
            remaining.append(part.copy())
            continue
        merged = flatten(inner.copy())
        aggregates = any(node.find(exp.AggFunc) for node in merged.expressions)  # one row, whoever there is
        if aggregates or any(merged.args.get(word) for word in NOT_PLAIN) or not merged.args.get("from_"):
            message = "A subquery in WHERE may only filter rows. Ask it by itself first, and put its value in."
            raise UnsupportedSqlError(message, code="unsupported-subquery", text=text, span=span_of(part))
        table = _with_own_name(merged, names)
        first = exp.Join(this=table)
        if isinstance(part, exp.In):
            first.set("on", _equal_keys(part, merged, table, str(source.this.alias_or_name) if source else "", text))
        first.meta[SEMI_JOIN] = True
        others = [join.copy() for join in merged.args.get("joins") or []]
        for join in others:
            join.meta[SEMI_JOIN] = True
        joins += [first, *others]
        where = merged.args.get("where")
        remaining += [exp.Paren(this=where.this.copy())] if where else []
    if any(_subquery(part) is not None for part in parts):
        statement = statement.copy()
        statement.set("joins", [join.copy() for join in joins])
        statement.set("where", exp.Where(this=exp.and_(*remaining, wrap=False)) if remaining else None)
    return statement


def _subquery(part: exp.Expr) -> exp.Select | None:
    """Return the SELECT of an IN or EXISTS."""
    inner = part.args.get("query") if isinstance(part, exp.In) else part.this if isinstance(part, exp.Exists) else None
    inner = inner.this if isinstance(inner, exp.Subquery) else inner
    return inner if isinstance(inner, exp.Select) else None


def _with_own_name(merged: exp.Select, names: set[str]) -> exp.Table:
    """Return the table of a subquery under a name that no other table of the question has."""
    table: exp.Table = merged.args["from_"].this.copy()
    name = str(table.alias_or_name).lower()
    while name in names:
        name += "_"
    if name != str(table.alias_or_name).lower():
        table.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
    names.add(name)
    return table


def _equal_keys(part: exp.In, merged: exp.Select, table: exp.Table, outer_table: str, text: str) -> exp.EQ:
    """Return the join's condition: the key of the question and that of the subquery."""
    [shown] = merged.expressions if len(merged.expressions) == 1 else [None]
    outer, inner = part.this, shown.unalias() if shown is not None else None
    if not isinstance(outer, exp.Column) or not isinstance(inner, exp.Column):
        message = "IN takes constants, or the keys of another service: key IN (SELECT key FROM service WHERE …)."
        raise UnsupportedSqlError(message, code="unsupported-subquery", text=text, span=span_of(part))
    key = exp.column(outer.name, table=outer.table or outer_table)
    return exp.EQ(this=key, expression=exp.column(inner.name, table=str(table.alias_or_name)))
