"""MEDIAN, QUANTILE and PERCENTILE: where the distribution of a column crosses a share of the rows.

With C(v) the count of rows at most v and N that of all rows, the quantile of a share q is the first v at which the
**test** C(v) - q N is not negative. Every test is a total, so it has an unbiased estimate and an error under any
condition; the quantile itself has neither (docs/sql.md).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from sqlglot import exp

from tacit.contract.budget import exact_number
from tacit.estimate.functional import Vector
from tacit.sql.outcomes import Outcomes, outcomes_of
from tacit.sql.public import literal_of
from tacit.sql.scope import Scope
from tacit.sql.totals import Total

__all__ = ["QUANTILES", "Quantile", "quantile"]

QUANTILES = (
    exp.Median,
    exp.Quantile,
    exp.PercentileCont,
    exp.PercentileDisc,
    exp.ApproxQuantile,
)

TOLERANCE = 1e-9
"""Rounding tolerance of a test, as a share of the rows."""


@dataclass(frozen=True, eq=False)
class Quantile:
    """A share of the rows of ``where``, and the numbers among which its quantile is searched.

    If ``continuous``, it lies between the two rows that are nearest to (N - 1) q, counted from 0, as DuckDB's MEDIAN
    and QUANTILE_CONT do; otherwise it is one of the numbers.
    """

    share: Fraction
    outcomes: Outcomes
    where: Total
    continuous: bool

    @cached_property
    def totals(self) -> tuple[Total, ...]:
        """The test at each number."""
        return tuple(self.where * self.outcomes.test(i, float(self.share)) for i in range(len(self.outcomes)))

    @property
    def key(self) -> Hashable:
        """The key shared by quantiles of one column and share in all groups."""
        return self.share, self.outcomes.table.columns, self.outcomes.rank.tobytes(), self.outcomes.values.tobytes()

    def counts(self, tests: Vector) -> Vector:
        """Return the counts of rows up to each number, given non-decreasing tests."""
        q = float(self.share)
        return np.asarray(tests + q * (tests[-1] / (1 - q)))

    def value(self, tests: Vector) -> float:
        """Return the quantile, given non-decreasing tests; NaN if nobody is counted."""
        counts = self.counts(tests)
        rows = float(counts[-1])
        if not rows > 0:
            return math.nan
        if self.outcomes.is_coarse or not self.continuous:
            return self._inside(counts, float(self.share) * rows)
        place = float(self.share) * max(0.0, rows - 1)
        before = math.floor(place + TOLERANCE * rows)
        low, high = (self.outcomes.values[self._first(counts, before + i)] for i in (1, 2))
        return float(low + max(0.0, place - before) * (high - low))

    def _first(self, counts: Vector, wanted: float) -> int:
        """Return the place of the first number with at least ``wanted`` rows up to it."""
        enough = counts >= wanted - TOLERANCE * max(1.0, counts[-1])
        return int(np.argmax(enough)) if enough.any() else len(counts) - 1

    def _inside(self, counts: Vector, wanted: float) -> float:
        """Return a number; within a coarser cell, interpolate as if its rows were spread evenly."""
        place = self._first(counts, wanted)
        low, high = self.outcomes.lows[place], self.outcomes.highs[place]
        if not low < high:
            return float(self.outcomes.values[place])
        before = counts[place - 1] if place else 0.0
        part = (wanted - before) / (counts[place] - before) if counts[place] > before else 0.5
        return float(low + min(max(part, 0.0), 1.0) * (high - low))


def quantile(scope: Scope, node: exp.Expr, where: Total) -> Quantile:
    """Return the quantile of an aggregate."""
    share, column, descending = _read(scope, node)
    inner = node.this if isinstance(node, exp.WithinGroup) else node
    if descending:
        share = 1 - share
    outcomes = outcomes_of(scope, column)
    continuous = isinstance(inner, exp.Median | exp.PercentileCont) and outcomes.label is None
    return Quantile(share, outcomes, where, continuous)


def _read(scope: Scope, node: exp.Expr) -> tuple[Fraction, exp.Expr, bool]:
    """Return the share, the column, and whether the largest come first."""
    if isinstance(node, exp.Median):
        return Fraction(1, 2), node.this, False
    if isinstance(node, exp.WithinGroup):
        order = node.expression
        ordered = order.expressions if isinstance(order, exp.Order) else []
        if len(ordered) != 1:
            message = "WITHIN GROUP takes one column. Write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY column)."
            raise scope.refusal(message, node, "unsupported-aggregate")
        return _share(scope, node.this.this, node), ordered[0].this, bool(ordered[0].args.get("desc"))
    share = node.args.get("quantile") or node.args.get("expression")
    if share is None:
        message = "A quantile takes a column and a share. Write QUANTILE(column, 0.5)."
        raise scope.refusal(message, node, "unsupported-aggregate")
    return _share(scope, share, node), node.this, False


def _share(scope: Scope, node: exp.Expr, aggregate: exp.Expr) -> Fraction:
    literal = literal_of(node)
    message = "A quantile takes a share between 0 and 1, such as 0.5; ask for several as several columns."
    if literal is None or literal[1]:
        raise scope.refusal(message, aggregate, "bad-share")
    try:
        share = exact_number(literal[0]) or Fraction(0)
    except ValueError:
        raise scope.refusal(message, aggregate, "bad-share") from None
    if not 0 < share < 1:
        message += " The smallest and the largest value have no estimate. Ask for 0.01 or 0.99."
        raise scope.refusal(message, aggregate, "bad-share")
    return share
