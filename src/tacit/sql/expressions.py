"""Expressions as functions of a row's values: an allow-list of SQL.

Sensitive attributes have declared values, so an expression over them becomes a lookup table before the engine is
queried. The same expressions are allowed in conditions, in aggregates and in groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from sqlglot import exp

from tacit.sql.date_functions import constant_interval
from tacit.sql.dates import shift_day
from tacit.sql.functions import FUNCTIONS, by_name
from tacit.sql.scalars import COMPARISONS, Function, NotScalar, as_day, compare_values, connect, strict, truth
from tacit.sql.vectors import OPERATORS

__all__ = ["compile_expression"]

NUMBER = re.compile(r"[0-9]{0,30}(\.[0-9]{0,30})?([eE][-+]?[0-9]{1,2})?")
"""Constants that are converted exactly."""


ARGUMENTS = frozenset(
    {
        "this",
        "expression",
        "expressions",
        "decimals",
        "start",
        "length",
        "unit",
        "low",
        "high",
        "format",
        "to",
        "negate",
        "safe",
        "coalesce",
        "ignore_nulls",
        "date_part_boundary",
        "replacement",
        "delimiter",
        "part_index",
        "is_left",
        "zone",
        "year",
        "month",
        "day",
        "fill_pattern",
        "from_",
        "group",
        "modifiers",
        "null_if_pos_overflow",
        "position",
        "single_replace",
        "substr",
        "times",
    }
)
"""Arguments of nodes that functions use, and marks of the parser; nodes with other arguments are refused."""


def compile_expression(node: exp.Expr, places: Callable[[exp.Column], int]) -> Function:
    """Compile an expression to a function of a row; ``places`` has the position of each column's value in it."""
    read = partial(compile_expression, places=places)
    if isinstance(node, exp.Column):
        place = places(node)
        return lambda row: row[place]
    if isinstance(node, exp.Paren | exp.Alias):
        return read(node.this)
    if isinstance(node, exp.Literal | exp.Null | exp.Boolean):
        value = _constant(node)
        return lambda _: value
    if isinstance(node, exp.And | exp.Or):
        return connect(read(node.left), read(node.right), decisive=isinstance(node, exp.Or))
    if type(node) in COMPARISONS:
        return compare_values(OPERATORS[COMPARISONS[type(node)]], read(node.this), read(node.expression))
    if isinstance(node, exp.Case):
        return _case(node, read)
    if isinstance(node, exp.If):
        otherwise = node.args.get("false")
        return _branches([(read(node.this), read(node.args["true"]))], read(otherwise) if otherwise else None)
    is_shift = isinstance(node, exp.Add | exp.Sub | exp.DateAdd | exp.DateSub)
    if is_shift and constant_interval(node.expression) is not None:
        return _shift_by_interval(node, read)
    build = FUNCTIONS.get(type(node))
    if build is not None and not any(value for word, value in node.args.items() if word not in ARGUMENTS):
        try:
            return build(node, read)
        except (KeyError, AttributeError):  # too few arguments
            raise NotScalar(node) from None
    if isinstance(node, exp.Anonymous):
        return by_name(node, read)
    raise NotScalar(node)


def _constant(node: exp.Literal | exp.Null | exp.Boolean) -> Any:
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if node.is_string:
        return str(node.this)
    if not NUMBER.fullmatch(str(node.this)):
        raise NotScalar(node)
    text = str(node.this)
    return int(text) if text.isdigit() else Fraction(text)


def _case(node: exp.Case, read: Callable[[exp.Expr], Function]) -> Function:
    default = node.args.get("default")
    branches = []
    for branch in node.args["ifs"]:
        condition = exp.EQ(this=node.this, expression=branch.this) if node.this else branch.this
        branches.append((read(condition), read(branch.args["true"])))
    return _branches(branches, read(default) if default is not None else None)


def _branches(branches: Sequence[tuple[Function, Function]], default: Function | None) -> Function:
    def evaluate(row: Sequence[Any]) -> Any:
        for test, result in branches:
            if truth(test(row)):
                return result(row)
        return default(row) if default is not None else None

    return evaluate


def _shift_by_interval(node: exp.Expr, read: Callable[[exp.Expr], Function]) -> Function:
    interval = constant_interval(node.args["expression"])
    if interval is None:
        raise NotScalar(node.args["expression"])
    steps, unit = interval
    sign = -1 if isinstance(node, exp.Sub | exp.DateSub) else 1
    return strict(lambda day: shift_day(as_day(day), sign * steps, unit), read(node.this))
