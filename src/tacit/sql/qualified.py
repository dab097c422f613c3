"""Subqueries behind joins: columns that name their table, filters in ON, and what is NULL without a row."""

from __future__ import annotations

from sqlglot import exp

__all__ = ["add_to_on", "is_null_without_row", "qualify"]

STRICT = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Paren, exp.Cast, exp.DataType),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.Not, exp.Column, exp.Identifier),
    *(exp.Literal, exp.Upper, exp.Lower, exp.Length, exp.Round, exp.Floor, exp.Ceil, exp.Abs, exp.Sqrt),
    *(exp.TimestampTrunc, exp.DateTrunc, exp.Extract, exp.Year, exp.Month, exp.Var),
)
"""Expressions that are NULL if one of their columns is."""


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


def is_null_without_row(node: exp.Expr) -> bool:
    """Return whether an expression is NULL wherever its columns are."""
    return node.find(exp.Column) is not None and all(isinstance(part, STRICT) for part in node.walk())
