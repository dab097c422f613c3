"""Arithmetic without a common gradient: quantiles with numbers, with each other, and with other aggregates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tacit.sql.formula import After, Dual, Evaluate, Formula, Reach, apply_to, combine
from tacit.sql.quantiles import Quantile
from tacit.sql.totals import Total

__all__ = ["Column", "Composite", "Leaf", "end_of", "leaves", "together", "wrap"]

Leaf = Formula | Quantile

Evaluate2 = Callable[[Dual, Dual], Dual]


@dataclass(frozen=True, eq=False)
class Composite:
    """An output column computed from several parts; its interval follows from theirs."""

    parts: tuple[Leaf, ...]
    evaluate: Evaluate
    end: Literal["low", "high", ""] = ""
    """Which end of the interval to return instead of the estimate, if any."""

    @property
    def totals(self) -> tuple[Total, ...]:
        """The totals of all parts."""
        return tuple(total for part in self.parts for total in part.totals)

    def between(self, values: Sequence[float], ends: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
        """Return the value, and its range if each part lies within its own range."""
        none = np.zeros(1)
        parts = [Reach(value, none, *end) for value, end in zip(values, ends, strict=True)]
        result = self.evaluate(list(parts))
        if isinstance(result, Reach):
            return result.value, result.low, result.high
        return result.value, -math.inf, math.inf


Column = Formula | Quantile | Composite
"""The formula of an output column."""


def leaves(column: Column | None) -> tuple[Leaf, ...]:
    """Return the parts of an output column: the column itself unless it is composite."""
    if column is None:
        return ()
    return column.parts if isinstance(column, Composite) else (column,)


def together(left: Column, right: Column, operation: Evaluate2) -> Column:
    """Combine two columns by an operation: into a formula if both are formulas, else into a composite."""
    if isinstance(left, Formula) and isinstance(right, Formula):
        return combine(left, right, operation)
    cut = len(leaves(left))
    first, second = _over(left), _over(right)
    return Composite((*leaves(left), *leaves(right)), lambda parts: operation(first(parts[:cut]), second(parts[cut:])))


def wrap(column: Column, after: After) -> Column:
    """Return a function of a column's estimate."""
    if isinstance(column, Formula):
        return apply_to(column, after)
    over = _over(column)
    return Composite(leaves(column), lambda parts: after.of(over(parts)))


def end_of(column: Column, end: Literal["low", "high"]) -> Composite:
    """Return a column that is an end of another column's interval."""
    return Composite(leaves(column), _over(column), end)


def _over(column: Column) -> Evaluate:
    """Return a column as a function of its parts."""
    return column.evaluate if isinstance(column, Composite) else (lambda parts: parts[0])
