"""Arithmetic of what has no common gradient: quantiles with numbers, with each other, and with other aggregates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tacit.sql.formula import After, Dual, Evaluate, Formula, Reach, combine, mapped_to
from tacit.sql.quantiles import Quantile
from tacit.sql.totals import Total

__all__ = ["Column", "Composite", "Leaf", "end_of", "leaves", "together", "wrap"]

Leaf = Formula | Quantile

Evaluate2 = Callable[[Dual, Dual], Dual]


@dataclass(frozen=True, eq=False)
class Composite:
    """An output column that is made of several others: they are known within intervals, and so is it."""

    parts: tuple[Leaf, ...]
    evaluate: Evaluate
    end: Literal["low", "high", ""] = ""
    """Which end of the interval is the value, if not the estimate itself."""

    @property
    def totals(self) -> tuple[Total, ...]:
        """The totals of all parts."""
        return tuple(total for part in self.parts for total in part.totals)

    def between(self, values: Sequence[float], ends: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
        """Return the value, and between which numbers it lies if each part lies between its own."""
        none = np.zeros(1)
        given = [Reach(value, none, *own) for value, own in zip(values, ends, strict=True)]
        result = self.evaluate(list(given))
        if isinstance(result, Reach):
            return result.value, result.low, result.high
        return result.value, -math.inf, math.inf


Column = Formula | Quantile | Composite
"""What an output column is made of."""


def leaves(column: Column | None) -> tuple[Leaf, ...]:
    """Return the parts of an output column; it is its own unless it is made of several."""
    if column is None:
        return ()
    return column.parts if isinstance(column, Composite) else (column,)


def together(left: Column, right: Column, operation: Evaluate2) -> Column:
    """Return an operation on two columns: of totals, if both are made of totals alone."""
    if isinstance(left, Formula) and isinstance(right, Formula):
        return combine(left, right, operation)
    cut = len(leaves(left))
    first, second = _over(left), _over(right)
    return Composite((*leaves(left), *leaves(right)), lambda given: operation(first(given[:cut]), second(given[cut:])))


def wrap(column: Column, after: After) -> Column:
    """Return a function of a column's estimate."""
    if isinstance(column, Formula):
        return mapped_to(column, after)
    over = _over(column)
    return Composite(leaves(column), lambda given: after.of(over(given)))


def end_of(column: Column, end: Literal["low", "high"]) -> Composite:
    """Return an end of a column's interval: a number that is known."""
    return Composite(leaves(column), _over(column), end)


def _over(column: Column) -> Evaluate:
    """Return a column as a function of its parts."""
    return column.evaluate if isinstance(column, Composite) else (lambda given: given[0])
