"""CASE and other expressions of GROUP BY: disjoint classes of people."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from sqlglot import exp

from tacit.contract.schema import Public
from tacit.sql.bins import buckets, histogram
from tacit.sql.predicates import holds
from tacit.sql.public import literal_of
from tacit.sql.scope import Scope
from tacit.sql.spellings import is_histogram
from tacit.sql.tabulated import is_sensitive, tabulate
from tacit.sql.totals import Total
from tacit.sql.vectors import kind_of, shown_value

__all__ = ["Classes", "classes_of_case", "classes_of_group", "is_label"]

Classes = list[tuple[Any, Total]]
"""Labels, each with the total that counts its people."""

MOST_GROUPS = 10_000
"""Maximum values of a column of GROUP BY."""

TESTS = (exp.Connector, exp.Predicate, exp.Not, exp.Paren)
"""Conditions, which have three groups: true, false and NULL."""


def classes_of_case(scope: Scope, node: exp.Case) -> list[tuple[exp.Expr | None, Total]]:
    """Return the classes of CASE: the first branch whose condition is true applies; NULL if there is none."""
    branches: list[tuple[exp.Expr | None, Total]] = []
    left = scope.one
    for branch in node.args["ifs"]:
        condition = exp.EQ(this=node.this, expression=branch.this) if node.this else branch.this
        true = holds(scope, condition)
        branches.append((branch.args["true"], left * true))
        left = left - left * true
    branches.append((node.args.get("default"), left))
    return [(result, total) for result, total in branches if total.pieces]


def is_label(node: exp.Expr) -> bool:
    """Return whether an output column is a constant label: a text, NULL, or a number written as text."""
    text = node.this if isinstance(node, exp.Cast) and node.is_type("BIGINT") else node
    known = isinstance(text, exp.Literal) and bool(text.is_string)
    is_number = text is node or (known and str(text.this).isdigit() and len(str(text.this)) < 9)
    return isinstance(node, exp.Null) or (known and is_number)


def classes_of_group(scope: Scope, node: exp.Expr) -> Classes:
    """Return the classes of an expression in GROUP BY."""
    if isinstance(node, exp.Paren):
        return classes_of_group(scope, node.this)
    if isinstance(node, exp.Column):
        column = scope.find(node)
        if column.lookup:
            return [(label, scope.total(column, vector)) for label, vector in column.lookup.classes()]
        if isinstance(column.attribute, Public):
            return _classes(scope, node)
        attribute = column.sensitive
        if attribute.size > MOST_GROUPS:
            message = (
                f"{attribute.name} has {attribute.size:,} values; at most {MOST_GROUPS:,} groups are supported. Name "
                f"some values, as in COUNT_IF({attribute.name} = …), or group by a function of it with fewer values."
            )
            raise scope.refusal(message, node, "too-many-groups")
        marks = np.eye(attribute.size)
        return [(shown_value(attribute, i), scope.total(column, marks[i])) for i in range(attribute.size)]
    if isinstance(node, exp.Case) and _is_constant(node):
        labels: dict[Any, Total] = {}
        for result, total in classes_of_case(scope, node):
            label = _label(scope, result)
            labels[label] = labels[label] + total if label in labels else total
        return list(labels.items())
    if is_label(node):
        return [(int(node.this.name) if isinstance(node, exp.Cast) else _label(scope, node), scope.one)]
    if isinstance(node, TESTS) and not is_sensitive(scope, node):
        true, false = holds(scope, node), holds(scope, node, wanted=False)
        unknown: Classes = [(None, scope.one - true - false)] if _may_be_null(scope, node) else []
        return [(False, false), (True, true), *unknown]
    if isinstance(node, exp.WidthBucket):
        return buckets(scope, node)
    if is_histogram(node):
        bins = histogram(scope, node)
        return classes_of_group(scope, node.expressions[0]) if bins is None else bins
    return _classes(scope, node)


def _classes(scope: Scope, node: exp.Expr) -> Classes:
    """Return a class for each value of an expression over sensitive columns; NULL comes last."""
    if not node.find(exp.Column):
        message = "GROUP BY takes columns and expressions over them. Name a column."
        raise scope.refusal(message, node, "unsupported-group")
    table = tabulate(scope, node, "unsupported-group")
    labels = [_plain(value) for value in table.values.ravel()]
    known = sorted({label for label in labels if label is not None}, key=lambda label: (kind_of(label), label))
    ordered = [*known, *([None] if None in labels else [])]
    place = {label: number for number, label in enumerate(ordered)}
    numbers = np.array([place[label] for label in labels]).reshape(table.values.shape)
    return [(label, table.total(numbers == number)) for number, label in enumerate(ordered)]


def _may_be_null(scope: Scope, node: exp.Expr) -> bool:
    """Return whether a condition may be NULL: it has a column that may be, or computes with one."""
    columns = [scope.find(column) for column in node.find_all(exp.Column)]
    is_missing = [column.source.is_outer or column.lookup is not None for column in columns]
    may_be = [c.attribute.null or (isinstance(c.attribute, Public) and not c.attribute.typed) for c in columns]
    return any(is_missing) or any(may_be) or _computes(node)


def _computes(node: exp.Expr) -> bool:
    """Return whether an expression has anything but columns, constants, comparisons and AND, OR, NOT."""
    known = (*TESTS, exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Neg)
    return any(not isinstance(part, known) or isinstance(part, exp.Null) for part in node.walk())


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def _is_constant(node: exp.Case) -> bool:
    """Return whether all results are constants, which conditions on public columns require."""
    results = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
    return all(result is None or isinstance(result, exp.Null) or literal_of(result) is not None for result in results)


def _label(scope: Scope, node: exp.Expr | None) -> Any:
    if node is None or isinstance(node, exp.Null):
        return None
    literal = literal_of(node)
    if literal is None:
        message = "CASE in GROUP BY needs constant results. Write text or numbers after THEN and ELSE."
        raise scope.refusal(message, node, "unsupported-group")
    text, is_text = literal
    if is_text:
        return text
    return int(text) if text.lstrip("-").isdigit() and len(text) < 19 else float(text)
