"""Conditions on public columns stay SQL: rebuilt from an allow-list, with constants as parameters."""

from __future__ import annotations

import math

from sqlglot import exp

from tacit.schema import Public
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
        return _joined(scope, "({} BETWEEN {} AND {})", [node.this, node.args["low"], node.args["high"]])
    if isinstance(node, exp.In) and is_list(node):
        places = ", ".join(["{}"] * len(node.expressions))
        return _joined(scope, f"({{}} IN ({places}))", [node.this, *node.expressions])
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return _joined(scope, "({} IS NULL)", [node.this])
    if type(node) in COMPARISONS:
        return _joined(scope, f"({{}} {COMPARISONS[type(node)]} {{}})", [node.this, node.expression])
    message = "This condition on public columns is not supported. Use =, <>, <, BETWEEN, IN, IS NULL, AND, OR, NOT."
    raise scope.unsupported(message, node, "unsupported-condition")


def _joined(scope: Scope, template: str, nodes: list[exp.Expr]) -> SqlPiece:
    sides = [_operand(scope, node) for node in nodes]
    return SqlPiece(template.format(*(side.text for side in sides)), sum((side.parameters for side in sides), ()))


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
    whole = not is_text and text.lstrip("-").isdigit() and len(text) < 19
    return SqlPiece("?", (text if is_text else int(text) if whole else float(text),))
