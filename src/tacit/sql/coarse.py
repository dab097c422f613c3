"""Notes on attributes collected in coarser cells: the resolution of their conditions, sums and squares."""

from __future__ import annotations

import math

from sqlglot import exp

from tacit.contract.schema import Ordinal
from tacit.sql.covariances import COVARIANCES
from tacit.sql.quantiles import QUANTILES
from tacit.sql.scalars import COMPARISONS
from tacit.sql.scope import Scope

__all__ = ["coarse_notes"]

SQUARED: tuple[type[exp.Expr], ...] = (
    exp.Stddev,
    exp.StddevSamp,
    exp.StddevPop,
    exp.Variance,
    exp.VariancePop,
    *COVARIANCES,
)

ADDED_UP: tuple[type[exp.Expr], ...] = (exp.Sum, exp.Avg, *SQUARED)

CONDITIONS = (*COMPARISONS, exp.Between, exp.In, exp.Is)


def coarse_notes(scope: Scope, statement: exp.Select) -> list[str]:
    """Return notes on coarser cells, which blur conditions by a cell, sums by bins, squares by rounding."""
    clauses = [clause for word in ("where", "group") if (clause := statement.args.get(word))]
    branches: list[exp.Expr] = [*statement.find_all(exp.Filter, exp.Case)]
    columns = [column for node in clauses for column in node.find_all(exp.Column)]
    columns += [column for node in branches for column in node.find_all(exp.Column) if _is_compared(column, node)]
    notes = [
        f"{attribute.name} was collected in coarser cells: conditions on it are accurate to one cell only"
        " (docs/glossary.md#cell)"
        for attribute in _coarse(scope, columns)
        if attribute.dither
    ]
    for node in statement.find_all(*ADDED_UP):
        measured = _measured_attributes(scope, node)
        squared = measured if isinstance(node, SQUARED) else _squared_attributes(scope, node)
        notes += [_bins(attribute) for attribute in measured if not attribute.dither]
        notes += [_rounding(attribute) for attribute in squared if attribute.dither]
    for node in statement.find_all(*QUANTILES):
        aggregate = node.parent if isinstance(node.parent, exp.WithinGroup) else node
        notes += [_inside(attribute) for attribute in _measured_attributes(scope, aggregate)]
    return list(dict.fromkeys(notes))


def _inside(attribute: Ordinal) -> str:
    return (
        f"{attribute.name} was collected in coarser cells: quantiles assume that people are spread evenly within a "
        f"cell, and intervals end at cell borders"
    )


def _measured_attributes(scope: Scope, node: exp.Expr) -> list[Ordinal]:
    """Return the coarser attributes that an expression uses as numbers, not in conditions."""
    columns: list[exp.Column] = list(node.find_all(exp.Column))
    return _coarse(scope, [column for column in columns if not _is_compared(column, node)])


def _coarse(scope: Scope, columns: list[exp.Column]) -> list[Ordinal]:
    """Return the attributes of columns that were collected in coarser cells; GROUP BY may also name output columns."""
    names = {attribute.name.lower() for source in scope.sources for attribute in source.service.sensitive}
    known = [scope.find(column) for column in columns if column.name.lower() in names]
    attributes = [column.attribute for column in known if column.lookup is None]
    return [
        attribute for attribute in attributes if isinstance(attribute, Ordinal) and attribute.values < attribute.ticks
    ]


def _is_compared(column: exp.Expr, within: exp.Expr) -> bool:
    """Return whether a column is part of a condition within an expression."""
    above = column.parent
    while above is not None and above is not within:
        if isinstance(above, CONDITIONS):
            return True
        above = above.parent
    return False


def _squared_attributes(scope: Scope, node: exp.Expr) -> list[Ordinal]:
    """Return the coarser attributes that an expression multiplies with themselves."""
    products: list[exp.Expr] = list(node.find_all(exp.Mul))
    both = [
        (_measured_attributes(scope, product.this), _measured_attributes(scope, product.expression))
        for product in products
    ]
    return [attribute for left, right in both for attribute in left if attribute in right]


def _bins(attribute: Ordinal) -> str:
    off = (math.ceil(attribute.ticks / attribute.values) - 1) / 2 * float(attribute.unit)
    return (
        f"{attribute.name} was collected in bins, and each value counts as the middle of its bin: averages can be off "
        f"by up to {off:.6g}, which the stated errors do not include"
    )


def _rounding(attribute: Ordinal) -> str:
    gap = float(attribute.unit) * (attribute.ticks - 1) / (attribute.values - 1)
    return (
        f"{attribute.name} was randomly rounded to multiples of {gap:.6g}: VAR, STDDEV and squares include the "
        f"variance of the rounding (at most {gap**2 / 4:.4g}, about {gap**2 / 6:.4g} for evenly spread values), which "
        "the stated errors do not include (docs/glossary.md#dither)"
    )
