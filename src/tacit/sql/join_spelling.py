"""Other spellings of joins: comma-separated tables, conditions beside the key in ON, and parentheses around it."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.replacing import conjuncts, with_condition

__all__ = ["spell_joins"]


def spell_joins(statement: exp.Select) -> exp.Select:
    """Convert comma-separated tables to joins on the equalities of columns in WHERE."""
    for join in statement.args.get("joins") or []:
        statement = _with_plain_on(statement, join)
    source, where = statement.args.get("from_"), statement.args.get("where")
    before = {str(source.this.alias_or_name).lower()} if source is not None else set()
    for join in statement.args.get("joins") or []:
        alias = str(join.this.alias_or_name).lower()
        parts = conjuncts(where.this if where else None)
        for part in () if any(join.args.get(word) for word in ("on", "using", "side", "method")) else parts:
            sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
            tables = [side.table.lower() for side in sides if isinstance(side, exp.Column)]
            if (
                len(tables) == 2
                and alias in tables
                and set(tables) - {alias} & before == set(tables) - {alias} != set()
            ):
                join.set("on", part.copy())
                join.set("kind", None)
                others = [other.copy() for other in parts if other is not part]
                statement.set("where", exp.Where(this=exp.and_(*others)) if others else None)
                where = statement.args.get("where")
                break
        before.add(alias)
    return statement


def _with_plain_on(statement: exp.Select, join: exp.Join) -> exp.Select:
    """Remove parentheses in ON; move an inner join's conditions, except one equality of columns, to WHERE."""
    parts = conjuncts(join.args.get("on"))
    if parts:
        join.set("on", exp.and_(*(part.copy() for part in parts)))
        parts = conjuncts(join.args["on"])
    keys = [
        part
        for part in parts
        if isinstance(part, exp.EQ) and isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Column)
    ]
    if len(parts) < 2 or len(keys) != 1 or join.args.get("side"):
        return statement
    join.set("on", keys[0].copy())
    for part in parts:
        statement = statement if part is keys[0] else with_condition(statement, "where", part)
    return statement
