"""WHERE: conditions on sensitive attributes become functionals, conditions on public columns stay SQL.

A condition is read twice, for being true and for being false, because NULL makes it neither: NOT is pushed down to the
comparisons, OR becomes disjoint terms. Public conditions are rebuilt from an allow-list, with constants as parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlglot import exp

from tacit.decode.functional import Functional
from tacit.errors import BindError, UnsupportedSqlError
from tacit.schema import Categorical, Ordinal, Public, Service
from tacit.sql.parse import span_of
from tacit.sql.vectors import Sensitive, category_vector, comparison_vector, null_vector

__all__ = ["Scope", "SqlPiece", "condition"]

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

MAX_TERMS = 2_000
"""Disjoint terms of one condition: more come from long ORs of ANDs over many attributes."""


@dataclass(frozen=True)
class SqlPiece:
    """A piece of the engine's SQL, with the parameters it takes."""

    text: str
    parameters: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Scope:
    """The service that a question is about, and the text for error messages."""

    service: Service
    text: str
    table: str

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the sensitive attributes."""
        return tuple(attribute.size for attribute in self.service.sensitive)

    def unsupported(self, message: str, node: exp.Expr, code: str | None = None) -> UnsupportedSqlError:
        """Return the refusal of a node."""
        return UnsupportedSqlError(message, code=code, text=self.text, span=span_of(node))

    def attribute(self, column: exp.Column) -> Sensitive | Public:
        """Return the attribute a column names."""
        if column.table and column.table.lower() != self.table.lower():
            message = f"There is no table {column.table!r} in this question."
            raise BindError(message, code="unknown-table", text=self.text, span=span_of(column))
        for attribute in self.service.attributes:
            if attribute.name.lower() == column.name.lower():
                return attribute
        known = ", ".join(attribute.name for attribute in self.service.attributes)
        message = f"{self.service.name} has no column {column.name!r} to ask about. Columns: {known}."
        raise BindError(message, text=self.text, span=span_of(column))

    def functional(self, attribute: Sensitive, vector: Any) -> Functional:
        """Return the functional that looks an attribute up in a vector."""
        return Functional.of(self.sizes, self.service.sensitive.index(attribute), vector)


def condition(scope: Scope, node: exp.Expr | None) -> tuple[Functional, list[SqlPiece]]:
    """Return the functional of the sensitive part of a condition, and its public conjuncts."""
    functional, public = Functional.constant(scope.sizes), []
    for part in _conjuncts(node):
        kinds = {isinstance(scope.attribute(column), Public) for column in part.find_all(exp.Column)}
        if kinds == {True}:
            public.append(_public(scope, part))
        elif len(kinds) > 1:
            message = "A public and a sensitive column are mixed under OR or NOT. Combine them with AND only."
            raise scope.unsupported(message, part, "mixed-or")
        else:
            functional = functional * _holds(scope, part, wanted=True)
    return functional, public


def _conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    if node is None:
        return []
    if isinstance(node, exp.Paren):
        return _conjuncts(node.this)
    if isinstance(node, exp.And):
        return _conjuncts(node.left) + _conjuncts(node.right)
    return [node]


def _holds(scope: Scope, node: exp.Expr, *, wanted: bool) -> Functional:
    """Return the functional that is 1 where a condition is true (or, if not wanted, where it is false)."""
    if isinstance(node, exp.Paren):
        return _holds(scope, node.this, wanted=wanted)
    if isinstance(node, exp.Not):
        return _holds(scope, node.this, wanted=not wanted)
    if isinstance(node, exp.And | exp.Or):
        both = isinstance(node, exp.And) == wanted
        left, right = (_holds(scope, side, wanted=wanted) for side in (node.left, node.right))
        return _bounded(scope, node, left * right if both else _either(left, right))
    return _comparison(scope, node, wanted=wanted)


def _either(left: Functional, right: Functional) -> Functional:
    """Return 1 where either is 1: as one vector for a single attribute, else by inclusion and exclusion."""
    first, second = left.single_vector(), right.single_vector()
    if first and second and first[0] == second[0]:
        return Functional.of(left.sizes, first[0], np.maximum(first[1], second[1]))
    return left + right - left * right


def _bounded(scope: Scope, node: exp.Expr, functional: Functional) -> Functional:
    if len(functional.terms) > MAX_TERMS:
        message = f"The condition needs more than {MAX_TERMS} terms. Use fewer ORs across attributes."
        raise scope.unsupported(message, node, "too-many-terms")
    return functional


def _literal(node: exp.Expr) -> tuple[str, bool] | None:
    """Return a constant's text and whether it is a string; None if it is no constant."""
    if isinstance(node, exp.Paren):
        return _literal(node.this)
    if isinstance(node, exp.Literal):
        return str(node.this), bool(node.is_string)
    if isinstance(node, exp.Neg):
        inner = _literal(node.this)
        return ("-" + inner[0], False) if inner and not inner[1] else None
    if isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.DATE:
        return _literal(node.this)
    return None


def _is_list(node: exp.In) -> bool:
    """Tell whether IN is followed by a list of constants, not by a query, an array or nothing."""
    return bool(node.expressions) and not node.args.get("query") and not node.args.get("unnest")


def _comparison(scope: Scope, node: exp.Expr, *, wanted: bool) -> Functional:
    subject = node.this
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        bounds = [node.args["low"], node.args["high"]]
        parts = [exp.GTE(this=subject, expression=bounds[0]), exp.LTE(this=subject, expression=bounds[1])]
        left, right = (_comparison(scope, part, wanted=wanted) for part in parts)
        return left * right if wanted else _either(left, right)
    if isinstance(node, exp.In) and _is_list(node):
        parts = [exp.EQ(this=subject, expression=item) for item in node.expressions]
        found = [_comparison(scope, part, wanted=wanted) for part in parts]
        result = found[0]
        for other in found[1:]:
            result = _either(result, other) if wanted else result * other
        return result
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null) and isinstance(subject, exp.Column):
        attribute = scope.attribute(subject)
        vector = null_vector(attribute)  # type: ignore[arg-type]
        return scope.functional(attribute, vector if wanted else 1 - vector)  # type: ignore[arg-type]
    if type(node) in COMPARISONS:
        return _compared(scope, node, wanted=wanted)
    message = "This condition cannot be estimated. Compare columns with constants by =, <>, <, BETWEEN, IN or IS NULL."
    raise scope.unsupported(message, node, "unsupported-condition")


def _compared(scope: Scope, node: exp.Expr, *, wanted: bool) -> Functional:
    operator, column, literal = COMPARISONS[type(node)], node.this, _literal(node.expression)
    if not isinstance(column, exp.Column):
        operator, column, literal = MIRRORED[operator], node.expression, _literal(node.this)
    if not isinstance(column, exp.Column) or literal is None:
        message = "Conditions compare one column with a constant. Rewrite this one."
        raise scope.unsupported(message, node, "unsupported-condition")
    attribute = scope.attribute(column)
    operator = operator if wanted else OPPOSITE[operator]
    try:
        if isinstance(attribute, Ordinal):
            return scope.functional(attribute, comparison_vector(attribute, operator, literal[0], is_text=literal[1]))
        assert isinstance(attribute, Categorical)  # noqa: S101  public columns are handled before
        return scope.functional(attribute, _category(attribute, operator, literal))
    except BindError as error:
        error.text, error.span = scope.text, span_of(node)
        raise


def _category(attribute: Categorical, operator: str, literal: tuple[str, bool]) -> Any:
    if operator not in ("=", "<>"):
        message = f"{attribute.name} holds categories, which have no order. Use =, <> or IN."
        raise BindError(message, code="no-order")
    text, is_text = literal
    value: str | int = text
    if not isinstance(attribute.values[0], str) and not is_text and text.lstrip("-").isdigit() and len(text) < 18:
        value = int(text)
    vector = category_vector(attribute, [value])
    present = 1 - null_vector(attribute)
    return vector if operator == "=" else present - vector


def _public(scope: Scope, node: exp.Expr) -> SqlPiece:
    """Rebuild a condition on public columns: quoted names of the schema, constants as parameters."""
    if isinstance(node, exp.Paren):
        return _public(scope, node.this)
    if isinstance(node, exp.Not):
        inner = _public(scope, node.this)
        return SqlPiece(f"(NOT {inner.text})", inner.parameters)
    if isinstance(node, exp.And | exp.Or):
        left, right = _public(scope, node.left), _public(scope, node.right)
        word = "AND" if isinstance(node, exp.And) else "OR"
        return SqlPiece(f"({left.text} {word} {right.text})", left.parameters + right.parameters)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        sides = [_operand(scope, node.this), _operand(scope, node.args["low"]), _operand(scope, node.args["high"])]
        text = f"({sides[0].text} BETWEEN {sides[1].text} AND {sides[2].text})"
        return SqlPiece(text, sum((side.parameters for side in sides), ()))
    if isinstance(node, exp.In) and _is_list(node):
        sides = [_operand(scope, item) for item in (node.this, *node.expressions)]
        text = f"({sides[0].text} IN ({', '.join(side.text for side in sides[1:])}))"
        return SqlPiece(text, sum((side.parameters for side in sides), ()))
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        side = _operand(scope, node.this)
        return SqlPiece(f"({side.text} IS NULL)", side.parameters)
    if type(node) in COMPARISONS:
        left, right = _operand(scope, node.this), _operand(scope, node.expression)
        return SqlPiece(f"({left.text} {COMPARISONS[type(node)]} {right.text})", left.parameters + right.parameters)
    message = "This condition on public columns is not supported. Use =, <>, <, BETWEEN, IN, IS NULL, AND, OR, NOT."
    raise scope.unsupported(message, node, "unsupported-condition")


def _operand(scope: Scope, node: exp.Expr) -> SqlPiece:
    if isinstance(node, exp.Column):
        return SqlPiece(f'r."{scope.attribute(node).name}"')
    literal = _literal(node)
    if literal is None:
        message = "Conditions compare columns with constants."
        raise scope.unsupported(message, node, "unsupported-condition")
    text, is_text = literal
    if not is_text and not math.isfinite(float(text)):
        message = "A number in the question is too large. Use numbers below 1e100."
        raise scope.unsupported(message, node, "number-too-large")
    whole = not is_text and text.lstrip("-").isdigit() and len(text) < 19
    return SqlPiece("?", (text if is_text else int(text) if whole else float(text),))
