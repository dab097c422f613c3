"""Names of output columns, as PostgreSQL chooses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from tacit.adapters.pgwire.catalog.compiled import type_name

__all__ = ["column_name", "fold_name", "trim_function"]


def fold_name(node: exp.Expr | str | None) -> str:
    """Return a name as PostgreSQL folds it: to lower case unless it is quoted."""
    if isinstance(node, str) or node is None:
        return (node or "").lower()
    return str(node.name) if node.args.get("quoted") else str(node.name).lower()


def column_name(node: exp.Expr) -> str:
    """Return the name of an output column.

    Examples
    --------
    >>> import sqlglot
    >>> query = sqlglot.parse_one("SELECT a AS b, c.d, 1, max(x), y::text, CASE WHEN e THEN 1 ELSE f END", "postgres")
    >>> [column_name(one) for one in query.expressions]
    ['b', 'd', '?column?', 'max', 'y', 'f']
    """
    if isinstance(node, exp.Alias):
        return fold_name(node.args["alias"])
    if isinstance(node, exp.Column):
        return fold_name(node.this)
    if isinstance(node, exp.Identifier):
        return fold_name(node)
    if isinstance(node, exp.Cast):
        return type_name(node.args["to"]).lstrip("_") if _is_constant(node) else column_name(node.this)
    if isinstance(node, exp.Case):
        default = node.args.get("default")
        return _or(column_name(default), "case") if default is not None else "case"
    inside = next((inner(node) for kind, inner in WITHIN.items() if isinstance(node, kind)), None)
    return column_name(inside) if inside is not None else _function_name(node)


def _or(name: str, other: str) -> str:
    return other if name == NAMELESS else name


def trim_function(node: exp.Trim) -> str:
    """Return the function that trims one end of a text, or both."""
    return {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or "").upper(), "btrim")


def _is_constant(node: exp.Expr) -> bool:
    """Return whether a node is a constant, perhaps cast, which is named after its type."""
    inner = node.this if isinstance(node, exp.Cast | exp.Paren) else None
    return _is_constant(inner) if inner is not None else column_name(node) == NAMELESS


def _function_name(node: exp.Expr) -> str:
    """Return the name of a function."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    if isinstance(node, exp.Trim):
        return trim_function(node)
    if type(node) in KNOWN:
        return KNOWN[type(node)]
    if isinstance(node, exp.Func) and not isinstance(node, exp.Binary):
        return node.sql_name().lower()
    return NAMELESS


NAMELESS = "?column?"
KNOWN: dict[type[exp.Expr], str] = {
    exp.CurrentVersion: "version",
    exp.GroupConcat: "string_agg",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.Explode: "unnest",
    exp.Exists: "exists",
    exp.ArraySize: "array_length",
    exp.StrPosition: "strpos",
}
WITHIN: dict[type[exp.Expr], Callable[[Any], exp.Expr]] = {
    exp.Paren: lambda node: node.this,
    exp.Collate: lambda node: node.this,
    exp.Bracket: lambda node: node.this,
    exp.Window: lambda node: node.this,
    exp.Dot: lambda node: node.expression,
    exp.Subquery: lambda node: node.this,
    exp.Select: lambda node: node.expressions[0] if node.expressions else exp.Null(),
}
"""Nodes that are named after one of their parts."""
