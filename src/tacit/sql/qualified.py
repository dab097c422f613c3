"""Columns that name their table, and filters of subqueries as conditions of ON."""

from __future__ import annotations

from sqlglot import exp

__all__ = ["add_to_on", "qualify"]


def qualify(node: exp.Expr, table: str) -> exp.Expr:
    """Return an expression whose columns name their table."""
    qualified = node.copy()
    for column in qualified.find_all(exp.Column):
        column.set("table", exp.to_identifier(table))
    return qualified


def add_to_on(join: exp.Expr, condition: exp.Expr, table: str) -> None:
    """Add the filter of a subquery to ON: rows that do not meet it are not joined."""
    added, on = qualify(condition, table), join.args.get("on")
    join.set(
        "on", exp.And(this=on.copy(), expression=exp.Paren(this=added)) if on is not None else exp.Paren(this=added)
    )
