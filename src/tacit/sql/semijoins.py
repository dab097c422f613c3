"""Conditions of WHERE about another service, `key IN (SELECT key FROM …)` and EXISTS, as joins.

With at most one row per person in the other service, both are a join on the key; NOT IN and NOT EXISTS are a left join
and the condition that no row meets. Whether any of several rows meets a condition is not what reports reveal, only
whether there are rows: `tables.scope_of`, which knows the services, refuses the former.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tacit.errors import UnsupportedSqlError
from tacit.sql.parse_spans import span_of

__all__ = ["BARE", "SEMI_JOIN", "spell_semi_joins"]

SEMI_JOIN = "semi join"
"""Mark of a join that a condition was turned into."""

BARE = "bare"
"""Mark of such a join whose subquery has no condition of its own."""

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
        condition = part.this if isinstance(part, exp.Not) else part
        inner = _subquery(condition)
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
        conditions = _conditions(merged)
        if isinstance(condition, exp.In):
            outer = str(source.this.alias_or_name) if source else ""
            first.set("on", _equal_keys(condition, merged, table, outer, text))
        else:
            first.set("on", _take_keys(conditions, table))
        others = [join.copy() for join in merged.args.get("joins") or []]
        for join in (first, *others):
            join.meta[SEMI_JOIN], join.meta[BARE] = True, not conditions and not others
        joins += [first, *others]
        if condition is part:
            remaining += [exp.Paren(this=condition) for condition in conditions]
        else:
            remaining.append(_none_meets(first, table, conditions, part, text, joined=bool(others)))
    if len(joins) > len(statement.args.get("joins") or []):
        statement = statement.copy()
        statement.set("joins", [join.copy() for join in joins])
        statement.set("where", exp.Where(this=exp.and_(*remaining, wrap=False)) if remaining else None)
    return statement


def _conditions(merged: exp.Select) -> list[exp.Expr]:
    """Return the conditions that AND joins in the WHERE of a subquery."""
    where = merged.args.get("where")
    condition = where.this.unnest() if where else None
    if condition is None:
        return []
    parts = condition.flatten() if isinstance(condition, exp.And) else [condition]
    return [part.copy() for part in parts]


def _take_keys(conditions: list[exp.Expr], table: exp.Table) -> exp.Expr | None:
    """Remove from the conditions of EXISTS the equality with a column of another table, and return it."""
    name = str(table.alias_or_name).lower()
    for number, part in enumerate(conditions):
        sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
        if len(sides) == 2 and all(isinstance(side, exp.Column) and side.table for side in sides):
            tables = {side.table.lower() for side in sides}
            if len(tables) == 2 and name in tables:
                return conditions.pop(number)
    return None


def _none_meets(
    join: exp.Join, table: exp.Table, conditions: list[exp.Expr], part: exp.Expr, text: str, *, joined: bool
) -> exp.Expr:
    """Turn a join into a left join, and return the condition that no row of it meets the subquery's conditions."""
    on = join.args.get("on")
    if joined or on is None:
        message = (
            "NOT IN and NOT EXISTS take one service and the key: key NOT IN (SELECT key FROM service WHERE …), or NOT "
            "EXISTS (SELECT 1 FROM service WHERE service.key = other.key AND …)."
        )
        raise UnsupportedSqlError(message, code="unsupported-subquery", text=text, span=span_of(part))
    join.set("side", "LEFT")
    if not conditions:
        name = str(table.alias_or_name).lower()
        [key] = [side for side in (on.this, on.expression) if side.table.lower() == name]
        return exp.Is(this=key.copy(), expression=exp.null())
    return exp.Not(this=exp.Is(this=exp.paren(exp.and_(*conditions)), expression=exp.true()))


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
