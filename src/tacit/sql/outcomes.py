"""The possible values of an expression, in order, and for each the total that counts values up to it."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sqlglot import exp

from tacit.client.labels import PATTERNS, unit_of
from tacit.contract.schema import Categorical, Ordinal, Public
from tacit.errors import BindError
from tacit.estimate.functional import Vector
from tacit.sql.parse import brief_sql, span_of
from tacit.sql.scope import BoundColumn, Scope
from tacit.sql.tabulated import Tabulated, is_sensitive, tabulate
from tacit.sql.totals import Total
from tacit.sql.vectors import cell_ends, exact_values

__all__ = ["MOST_OUTCOMES", "Outcomes", "outcomes_of"]

EPOCH = datetime.date(1970, 1, 1)

MOST_OUTCOMES = 1_000
"""Maximum distinct values: of more, evenly spaced ones are kept, and values between two count as the larger."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Distinct numbers in order; each stands for ``lows`` to ``highs``, and may be ``least`` to ``most``.

    The four are equal unless the attribute was collected in coarser cells, or has very many values.
    """

    table: Tabulated
    rank: Vector
    """The place of each combination of values; -1 for NULL."""
    values: Vector
    lows: Vector
    highs: Vector
    least: Vector
    most: Vector
    label: Callable[[float], Any] | None = None
    """The label of each number that is not shown as itself: a date, or a value of an ordered list."""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_coarse(self) -> bool:
        """Whether a number stands for a range."""
        return bool((self.least < self.most).any())

    def test(self, place: int, share: float) -> Total:
        """Return the total that counts values up to the number at a place, less a share of all values."""
        if (place, share) not in self._tests:
            known = self.rank >= 0
            self._tests[place, share] = self.table.total((known & (self.rank <= place)) - share * known)
        return self._tests[place, share]

    @cached_property
    def _tests(self) -> dict[tuple[int, float], Total]:
        """Tests by place and share: every group asks for them."""
        return {}


def outcomes_of(scope: Scope, node: exp.Expr) -> Outcomes:
    """Return the numbers of a column, or of an expression over columns whose values are listed or stored."""
    if isinstance(node, exp.Paren):
        return outcomes_of(scope, node.this)
    if node not in scope.outcomes:
        scope.outcomes[node] = _read_outcomes(scope, node)
    known: Outcomes = scope.outcomes[node]
    return known


def _read_outcomes(scope: Scope, node: exp.Expr) -> Outcomes:
    bound = scope.find(node) if isinstance(node, exp.Column) else None
    if bound is None or isinstance(bound.attribute, Public):
        bound = None
        table = tabulate(scope, node, "unsupported-expression")
        known = np.asarray(np.frompyfunc(lambda value: value is not None, 1, 1)(table.values), dtype=bool)
        if not known.any():
            message = f"{brief_sql(node)} is NULL for everybody, so it has no quantiles. Change its conditions."
            raise scope.refusal(message, node, "unsupported-expression")
        dates = all(type(value) is datetime.date for value in table.values[known])
        numbers = np.frompyfunc(_days, 1, 1)(table.values).astype(np.float64) if dates else table.numbers(node)
        label: Callable[[float], Any] | None = _date_of if dates else None
    else:
        table = Tabulated(scope, (bound,), np.empty(0, dtype=object))
        try:
            numbers, known = _measure(bound), bound.null() == 0
        except BindError as error:
            error.text, error.span = scope.text, span_of(node)
            raise
    if bound is not None:
        label = _label_of(bound)
    values, rank = np.unique(numbers[known], return_inverse=True)
    if bound is None and len(values) > MOST_OUTCOMES and not is_sensitive(scope, node):
        message = (
            f"{brief_sql(node)} has {len(values):,} values; quantiles of public columns take at most "
            f"{MOST_OUTCOMES:,}. Round it, as in MEDIAN(ROUND({brief_sql(node)})), or use AVG."
        )
        raise scope.refusal(message, node, "too-many-terms")
    ranks = np.full(numbers.shape, -1.0)
    ranks[known] = rank
    attribute = bound.attribute if bound is not None and bound.lookup is None else None
    if isinstance(attribute, Ordinal) and attribute.values < attribute.ticks:
        return _thin(Outcomes(table, ranks, values, *cell_ends(attribute), label))
    return _thin(Outcomes(table, ranks, values, values, values, values, values, label))


def _days(value: Any) -> float:
    return 0.0 if value is None else float((value - EPOCH).days)


def _date_of(number: float) -> datetime.date:
    return EPOCH + datetime.timedelta(days=math.floor(number))


def _is_in_order(attribute: object) -> bool:
    """Return whether a list is declared as ordered, or has months or hours, whose texts sort by time."""
    return isinstance(attribute, Categorical) and (
        attribute.ordered
        or (
            attribute.other is None
            and attribute.dictionary is None
            and unit_of(attribute.values) in PATTERNS
            and list(attribute.values) == sorted(attribute.values)
        )
    )


def _measure(column: BoundColumn) -> Vector:
    """Return the number of each value: days of dates, places in an ordered list, or the value itself."""
    attribute = column.attribute
    if column.lookup is None and isinstance(attribute, Ordinal) and attribute.is_date:
        return np.array([*(float(day) for day in exact_values(attribute)), *([0.0] * attribute.null)])
    if column.lookup is None and isinstance(attribute, Categorical) and _is_in_order(attribute):
        return np.arange(attribute.size, dtype=np.float64)
    return column.measure()


def _label_of(column: BoundColumn) -> Callable[[float], Any] | None:
    attribute = column.attribute
    if column.lookup is not None:
        return None
    if isinstance(attribute, Categorical) and _is_in_order(attribute):
        return lambda number: attribute.values[int(number)]
    return _date_of if isinstance(attribute, Ordinal) and attribute.is_date else None


def _thin(known: Outcomes) -> Outcomes:
    """Return the numbers, thinned to the maximum."""
    count = len(known)
    if count <= MOST_OUTCOMES:
        return known
    last = np.unique(np.linspace(0, count - 1, MOST_OUTCOMES + 1)[1:].astype(np.int64))
    first = np.concatenate([[0], last[:-1] + 1])
    rank = np.where(known.rank < 0, -1, np.searchsorted(last, known.rank)).astype(np.float64)
    return Outcomes(
        known.table,
        rank,
        known.values[last],
        known.lows[first],
        known.highs[last],
        known.least[first],
        known.most[last],
        known.label,
    )
