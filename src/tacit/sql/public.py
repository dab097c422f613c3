"""Conditions on public columns, rebuilt from an allow-list as expressions whose constants are parameters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from tacit.contract.schema import Public
from tacit.sql.scalars import COMPARISONS
from tacit.sql.scope import LABELS, MOST_STORED, BoundColumn, Scope
from tacit.sql.stored_types import AsFlag, AsNumber, Constant, constant
from tacit.sql.totals import Total

__all__ = ["is_list", "is_public", "listed_total", "listed_values", "literal_of", "public_condition"]

SHORT_RUN = 2
"""Maximum neighbouring numbers that are listed one by one, not as a range."""

COMPUTED = (exp.Func, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.DPipe, exp.Bracket)
"""Functions and arithmetic, for which all values of a column must be known."""


def is_public(scope: Scope, node: exp.Expr) -> bool:
    """Return whether a condition reads public columns only, in a form that the engine evaluates."""
    columns = list(node.find_all(exp.Column))
    if any(isinstance(part, COMPUTED) and not isinstance(part, exp.Connector | exp.Cast) for part in node.walk()):
        return False
    if any(scope.source_of_key(column) is not None for column in columns):
        return False
    are_public = bool(columns) and all(isinstance(scope.find(column).attribute, Public) for column in columns)
    return are_public and (_is_plain(node) or any(column.name.lower() in LABELS for column in columns))


def _is_plain(node: exp.Expr) -> bool:
    """Return whether a condition is of a form that `public_condition` rebuilds."""
    if isinstance(node, exp.Paren | exp.Not):
        return _is_plain(node.this)
    if isinstance(node, exp.And | exp.Or):
        return _is_plain(node.left) and _is_plain(node.right)
    if isinstance(node, exp.In):
        return is_list(node) and all(map(_is_operand, (node.this, *node.expressions)))
    if isinstance(node, exp.Is):
        return isinstance(node.expression, exp.Null) and isinstance(node.this, exp.Column)
    parts = [node.args.get(word) for word in ("this", "expression", "low", "high")]
    is_known = isinstance(node, exp.Between | exp.Like | exp.ILike | exp.Column) or type(node) in COMPARISONS
    return is_known and (isinstance(node, exp.Column) or all(_is_operand(part) for part in parts if part))


def _is_operand(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column | exp.Boolean) or literal_of(node) is not None


def listed_values(scope: Scope, column: BoundColumn) -> list[Any] | None:
    """Return all values that a public column may have, NULL last: declared ones, or else those of the reports.

    None if it has no list and there are no reports, or if they have too many values.
    """
    attribute = column.attribute
    if not isinstance(attribute, Public) or attribute.name in LABELS:
        return None
    values = [False, True] if attribute.type == "bool" else attribute.values
    if values is not None:
        return [*values, *([None] if attribute.null else [])]
    stored = scope.stored(column.source.service.name, attribute.name) if scope.stored else []
    return stored if 0 < len(stored) <= MOST_STORED else None


def listed_total(scope: Scope, column: BoundColumn, weights: Sequence[float]) -> Total:
    """Return the total with a weight for each listed value of a public column: a guard for each distinct weight."""
    values = listed_values(scope, column) or []
    named = exp.column(column.attribute.name, table=column.source.names[0])
    total = Total(())
    for weight in dict.fromkeys(weight for weight in weights if weight):
        tests = _tests(named, values, [known == weight for known in weights])
        guard = public_condition(scope, exp.or_(*tests, copy=False))
        total = total + Total.of_guard(scope.sizes, guard).scaled(float(weight))
    return total


def _tests(column: exp.Expr, values: Sequence[Any], held: Sequence[bool]) -> list[exp.Expr]:
    """Return conditions, one of which is true for the values that are held: ranges of neighbours, and a list."""
    known = [(value, is_held) for value, is_held in zip(values, held, strict=True) if value is not None]
    if all(type(value) in (int, float) for value, _ in known):
        known.sort()
        runs = [list(run) for is_held, run in itertools.groupby(known, key=lambda pair: pair[1]) if is_held]
    else:
        runs = [[pair] for pair in known if pair[1]]
    ranges = [run for run in runs if len(run) > SHORT_RUN]
    alone = [exp.convert(value) for run in runs if len(run) <= SHORT_RUN for value, _ in run]
    tests: list[exp.Expr] = [
        exp.Between(this=column, low=exp.convert(run[0][0]), high=exp.convert(run[-1][0])) for run in ranges
    ]
    tests += [exp.In(this=column, expressions=alone)] if alone else []
    missing = any(is_held for value, is_held in zip(values, held, strict=True) if value is None)
    return [*tests, *([exp.Is(this=column, expression=exp.null())] if missing else [])]


def literal_of(node: exp.Expr) -> tuple[str, bool] | None:
    """Return a constant's text and whether it is a string; None if it is not a constant."""
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
    """Return whether IN has a non-empty list of constants, not a query or an array."""
    return bool(node.expressions) and not node.args.get("query") and not node.args.get("unnest")


def public_condition(scope: Scope, node: exp.Expr) -> exp.Expr:
    """Rebuild a condition on public columns."""
    return exp.paren(_condition(scope, node), copy=False)


def _condition(scope: Scope, node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Paren):
        return _condition(scope, node.this)
    if isinstance(node, exp.Not):
        return exp.Not(this=public_condition(scope, node.this))
    if isinstance(node, exp.And | exp.Or):
        left, right = (_beside(type(node), _condition(scope, side)) for side in (node.left, node.right))
        return type(node)(this=left, expression=right)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        low = _compare(scope, exp.GTE, node.this, node.args["low"])
        return exp.And(this=low, expression=_compare(scope, exp.LTE, node.this, node.args["high"]))
    if isinstance(node, exp.In) and is_list(node):
        return _list(scope, node.this, node.expressions)
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return exp.Is(this=_operand(scope, node.this), expression=exp.Null())
    if isinstance(node, exp.Column):
        return _truth(scope, node)
    if type(node) in COMPARISONS:
        return _compare(scope, type(node), node.this, node.expression)
    if isinstance(node, exp.Like | exp.ILike) and isinstance(node.this, exp.Column):
        like = type(node)(this=_operand(scope, node.this), expression=_operand(scope, node.expression))
        return exp.Not(this=exp.paren(like, copy=False)) if node.args.get("negate") else like
    message = "This condition on public columns is not supported. Use =, <>, <, BETWEEN, IN, IS NULL, AND, OR, NOT."
    raise scope.refusal(message, node, "unsupported-condition")


def _truth(scope: Scope, column: exp.Column) -> exp.Expr:
    """Return the condition that a column alone is: a number is true if it is not 0, a text never is a condition."""
    kind = _declared_type(scope, column)
    if kind is str:
        message = f"{column.name} holds text, which is neither true nor false. Compare it with a value."
        raise scope.refusal(message, column, "not-a-condition")
    if kind in (int, float):
        return _compare(scope, exp.NEQ, column, exp.Literal.number(0))
    return _compare(scope, exp.EQ, column, exp.true())


def _beside(connector: type[exp.Expr], operand: exp.Expr) -> exp.Expr:
    """Add parentheses to an operand of AND or OR if needed: chains of one connector stay flat."""
    needed = isinstance(operand, exp.And | exp.Or) and not isinstance(operand, connector)
    return exp.paren(operand, copy=False) if needed else operand


def _compare(scope: Scope, comparison: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    first, second = _operand(scope, left), _operand(scope, right)
    return comparison(
        this=_read_as(scope, left, first, right, second), expression=_read_as(scope, right, second, left, first)
    )


def _list(scope: Scope, subject: exp.Expr, items: Sequence[exp.Expr]) -> exp.Expr:
    """Return the condition that a column is in a list, with one list per type of constants."""
    column = _operand(scope, subject)
    lists: dict[exp.Expr, list[exp.Expr]] = {}
    for item in items:
        value = _operand(scope, item)
        lists.setdefault(_read_as(scope, subject, column, item, value), []).append(value)
    return exp.or_(*(exp.In(this=read, expressions=values) for read, values in lists.items()), copy=False)


def _read_as(scope: Scope, node: exp.Expr, operand: exp.Expr, other: exp.Expr, beside: exp.Expr) -> exp.Expr:
    """Return a column read as the type of the other operand: a constant, or a column with a declared type."""
    if not isinstance(node, exp.Column):
        return operand
    kind = type(beside.value) if isinstance(beside, Constant) else _declared_type(scope, other)
    if kind is bool:
        return AsFlag(this=operand.copy())
    return AsNumber(this=operand.copy()) if kind in (int, float) else operand.copy()


def _declared_type(scope: Scope, node: exp.Expr) -> type | None:
    """Return the type that a public column declares."""
    attribute = scope.find(node).attribute if isinstance(node, exp.Column) else None
    if not isinstance(attribute, Public) or not attribute.typed:
        return None
    names = {"int": int, "float": float, "bool": bool, "str": str}
    return type(attribute.values[0]) if attribute.values else names[attribute.type or "str"]


def _operand(scope: Scope, node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Column):
        return scope.find(node).column
    if isinstance(node, exp.Boolean):
        return constant(bool(node.this))
    literal = literal_of(node)
    if literal is None:
        message = "Conditions compare columns with constants."
        raise scope.refusal(message, node, "unsupported-condition")
    text, is_text = literal
    if not is_text and not math.isfinite(float(text)):
        message = "A number in the question is too large. Use numbers below 1e100."
        raise scope.refusal(message, node, "number-too-large")
    is_integer = not is_text and text.lstrip("-").isdigit() and len(text) <= 20 and -(2**63) <= int(text) < 2**63
    return constant(text if is_text else int(text) if is_integer else float(text))
