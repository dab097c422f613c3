"""Scalar subqueries in SELECT, as in COUNT(*) / (SELECT COUNT(*) FROM service): aggregates of the same reports."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.predicates import holds
from tacit.sql.scope import Scope
from tacit.sql.totals import Total

__all__ = ["has_subquery", "scalar"]

CLAUSES = frozenset({"expressions", "from_", "joins", "where"})


def has_subquery(node: exp.Expr) -> bool:
    """Return whether an output column contains a subquery."""
    return node.find(exp.Subquery) is not None


def scalar(scope: Scope, node: exp.Subquery) -> tuple[exp.Expr, Total]:
    """Return the aggregate of a subquery, and the rows it covers."""
    inner = node.this
    message = (
        "A subquery in SELECT must be one aggregate of the same tables, such as (SELECT COUNT(*) FROM service). Ask "
        "the other question separately, and insert its value."
    )
    plain = isinstance(inner, exp.Select) and not any(v for k, v in inner.args.items() if v and k not in CLAUSES)
    if not plain or len(inner.expressions) != 1 or _tables(inner) != _known_names(scope):
        raise scope.refusal(message, node, "unsupported-subquery")
    output = inner.expressions[0].unalias()
    where = inner.args.get("where")
    parts = [output, *([where.this] if where else [])]
    if len(scope.sources) == 1:
        for column in (column for part in parts for column in part.find_all(exp.Column)):
            column.set("table", None)
    return output, scope.rows * holds(scope, where.this) if where else scope.rows


def _tables(inner: exp.Select) -> list[str]:
    """Return the names of all tables that a question reads."""
    source = inner.args.get("from_")
    nodes = [*([source.this] if source else []), *(join.this for join in inner.args.get("joins") or [])]
    return sorted(node.name.lower() if isinstance(node, exp.Table) else "" for node in nodes)


def _known_names(scope: Scope) -> list[str]:
    named = [source.service.name.lower() for source in scope.sources for _ in source.names]
    return sorted([*named, *(dimension.name.lower() for dimension in scope.dimensions)])
