"""Conditions on public columns stay SQL: rebuilt from an allow-list, with constants as parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlglot import exp

from tacit.contract.schema import Public
from tacit.sql.mixed import as_flag, as_number
from tacit.sql.scope import Scope
from tacit.sql.totals import SqlPiece

__all__ = ["COMPARISONS", "is_list", "is_public", "literal_of", "public_condition"]

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


def is_public(scope: Scope, node: exp.Expr) -> bool:
    """Tell whether a condition is about public columns only."""
    columns = list(node.find_all(exp.Column))
    return bool(columns) and all(isinstance(scope.find(column).attribute, Public) for column in columns)


def literal_of(node: exp.Expr) -> tuple[str, bool] | None:
    """Return a constant's text and whether it is a string; None if it is no constant."""
    if isinstance(node, exp.Paren):
        return literal_of(node.this)
    if isinstance(node, exp.Literal):
        return str(node.this), bool(node.is_string)
    if isinstance(node, exp.Neg):
        inner = literal_of(node.this)
        if not inner or inner[1]:
            return None
        return (inner[0][1:] if inner[0].startswith("-") else f"-{inner[0]}"), False
    if isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.DATE:
        return literal_of(node.this)
    return None


def is_list(node: exp.In) -> bool:
    """Tell whether IN is followed by a list of constants, not by a query, an array or nothing."""
    return bool(node.expressions) and not node.args.get("query") and not node.args.get("unnest")


def public_condition(scope: Scope, node: exp.Expr) -> SqlPiece:
    """Rebuild a condition on public columns."""
    if isinstance(node, exp.Paren):
        return public_condition(scope, node.this)
    if isinstance(node, exp.Not):
        inner = public_condition(scope, node.this)
        return SqlPiece(f"(NOT {inner.text})", inner.parameters)
    if isinstance(node, exp.And | exp.Or):
        left, right = public_condition(scope, node.left), public_condition(scope, node.right)
        word = "AND" if isinstance(node, exp.And) else "OR"
        return SqlPiece(f"({left.text} {word} {right.text})", left.parameters + right.parameters)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        low, high = (_compared(scope, node.this, sign, node.args[end]) for sign, end in ((">=", "low"), ("<=", "high")))
        return SqlPiece(f"({low.text} AND {high.text})", low.parameters + high.parameters)
    if isinstance(node, exp.In) and is_list(node):
        return _listed(scope, node.this, node.expressions)
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        subject = _operand(scope, node.this)
        return SqlPiece(f"({subject.text} IS NULL)", subject.parameters)
    if type(node) in COMPARISONS:
        return _compared(scope, node.this, COMPARISONS[type(node)], node.expression)
    if isinstance(node, exp.Like | exp.ILike) and isinstance(node.this, exp.Column):
        column, pattern = _operand(scope, node.this), _operand(scope, node.expression)
        word = ("NOT " if node.args.get("negate") else "") + ("ILIKE" if isinstance(node, exp.ILike) else "LIKE")
        return SqlPiece(f"({column.text} {word} {pattern.text})", column.parameters + pattern.parameters)
    message = "This condition on public columns is not supported. Use =, <>, <, BETWEEN, IN, IS NULL, AND, OR, NOT."
    raise scope.unsupported(message, node, "unsupported-condition")


def _compared(scope: Scope, left: exp.Expr, sign: str, right: exp.Expr) -> SqlPiece:
    first, second = _operand(scope, left), _operand(scope, right)
    first, second = _read_as(scope, left, first, right, second), _read_as(scope, right, second, left, first)
    return SqlPiece(f"({first.text} {sign} {second.text})", first.parameters + second.parameters)


def _listed(scope: Scope, subject: exp.Expr, items: Sequence[exp.Expr]) -> SqlPiece:
    """Return the condition that a list holds a column: constants of one kind make a list of their own."""
    column = _operand(scope, subject)
    lists: dict[SqlPiece, list[SqlPiece]] = {}
    for item in items:
        wanted = _operand(scope, item)
        lists.setdefault(_read_as(scope, subject, column, item, wanted), []).append(wanted)
    texts = [f"{read.text} IN ({', '.join(one.text for one in wanted)})" for read, wanted in lists.items()]
    given = [value for read, some in lists.items() for one in (read, *some) for value in one.parameters]
    return SqlPiece(f"({' OR '.join(texts)})", tuple(given))


def _read_as(scope: Scope, node: exp.Expr, own: SqlPiece, other: exp.Expr, beside: SqlPiece) -> SqlPiece:
    """Return a column read as the kind of what stands beside it: a constant, or a column with a declared type."""
    if not isinstance(node, exp.Column):
        return own
    kind = _declared(scope, other) if isinstance(other, exp.Column) else type(beside.parameters[0])
    if kind is bool:
        return SqlPiece(as_flag(own.text))
    return SqlPiece(as_number(own.text)) if kind in (int, float) else own


def _declared(scope: Scope, node: exp.Column) -> type | None:
    """Return the type that a public column declares."""
    attribute = scope.find(node).attribute
    if not isinstance(attribute, Public) or not attribute.typed:
        return None
    names = {"int": int, "float": float, "bool": bool, "str": str}
    return type(attribute.values[0]) if attribute.values else names[attribute.type or "str"]


def _operand(scope: Scope, node: exp.Expr) -> SqlPiece:
    if isinstance(node, exp.Column):
        return SqlPiece(scope.find(node).column)
    if isinstance(node, exp.Boolean):
        return SqlPiece("?", (bool(node.this),))
    literal = literal_of(node)
    if literal is None:
        message = "Conditions compare columns with constants."
        raise scope.unsupported(message, node, "unsupported-condition")
    text, is_text = literal
    if not is_text and not math.isfinite(float(text)):
        message = "A number in the question is too large. Use numbers below 1e100."
        raise scope.unsupported(message, node, "number-too-large")
    whole = not is_text and text.lstrip("-").isdigit() and len(text) <= 20 and -(2**63) <= int(text) < 2**63
    return SqlPiece("?", (text if is_text else int(text) if whole else float(text),))
