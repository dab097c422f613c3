"""The rows of an answer: sorted, selected by their estimates, with intervals at the level their number requires."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit.engines.deadline import check_deadline
from tacit.estimate.answer import Options
from tacit.estimate.estimate import Choice, Estimate, t_quantile
from tacit.sql.bind import Bound
from tacit.sql.composite import Column, Composite
from tacit.sql.formula import After, Formula
from tacit.sql.modes import Mode

__all__ = [
    "PendingComposite",
    "PendingEstimate",
    "Row",
    "after",
    "apply_after",
    "finish",
    "pending_of",
    "possible_notes",
]

MOST_COMPARED, MOST_NAMED = 1_000, 12
"""Maximum rows compared to find those that could be among the first, and maximum names in a note."""

Row = tuple[tuple[Any, ...], list[Any]]
"""The values and classes of a row's group, and its cells."""


def after(formula: Formula, estimate: Estimate) -> Estimate:
    """Apply a formula's outer function to the finished estimate of its inner formula."""
    return estimate if formula.after is None else apply_after(formula.after, estimate)


def apply_after(function: After, estimate: Estimate) -> Estimate:
    """Apply a function to a finished estimate."""
    ends = function.ends
    low, high = ends(estimate.low, estimate.high)
    slope = abs(function.slope(estimate.value))
    error = math.hypot(slope * estimate.error, function.blur) if estimate.error else 0.0
    value = function.value(estimate.value)
    interval = min(low, value), max(high, value)

    def shift() -> float:
        by = estimate.max_shift_per_1pct
        least, most = ends(estimate.value - by, estimate.value + by)
        return max(most - value, value - least)

    return Estimate(
        value,
        error,
        estimate.n,
        estimate.confidence,
        estimate.freedom,
        interval=interval if estimate.error else None,
        shift=shift,
    )


class PendingEstimate(ABC):
    """An estimate whose level is not known yet: it may depend on the number of estimates."""

    @abstractmethod
    def at(self, level: float) -> Estimate:
        """Return the estimate."""


def pending_of(column: Column | None, parts: Sequence[PendingEstimate]) -> PendingEstimate | None:
    """Return a column computed from parts; None for a column of GROUP BY."""
    if column is None:
        return None
    return PendingComposite(column, tuple(parts)) if isinstance(column, Composite) else parts[0]


@dataclass(frozen=True, eq=False)
class PendingComposite(PendingEstimate):
    """A column of several parts. Its interval follows from theirs, all of which hold at once (Bonferroni)."""

    column: Composite
    parts: tuple[PendingEstimate, ...]

    def at(self, level: float) -> Estimate:
        """Return the estimate; its error is half of the interval over the normal quantile."""
        uncertain = sum(bool(part.totals) for part in self.column.parts)
        estimates = [part.at(1 - (1 - level) / max(1, uncertain)) for part in self.parts]
        if isinstance(self.column, Mode):
            first = max(range(len(estimates)), key=lambda place: estimates[place].value)
            possible = self.column.possible([(estimate.low, estimate.high) for estimate in estimates])
            return Choice(first, possible, max(estimate.n for estimate in estimates), level)
        ends = [(estimate.low, estimate.high) for estimate in estimates]
        value, low, high = self.column.between([estimate.value for estimate in estimates], ends)
        freedom = min(estimate.freedom for estimate in estimates)
        people = max(estimate.n for estimate in estimates)
        if self.column.end:
            end = low if self.column.end == "low" else high
            return Estimate(end, 0.0, people, level, interval=(end, end))
        if math.isnan(value) or math.isnan(low + high) or math.isinf(high - low):
            return Estimate(value, math.nan, people, level, freedom, interval=(-math.inf, math.inf))
        error = (high - low) / 2 / t_quantile(0.5 + level / 2, freedom)

        def shift() -> float:
            moved = [(e.value - e.max_shift_per_1pct, e.value + e.max_shift_per_1pct) for e in estimates]
            _, least, most = self.column.between([estimate.value for estimate in estimates], moved)
            return max(most - value, value - least)

        return Estimate(value, error, people, level, freedom, interval=(low, high), shift=shift)


def finish(bound: Bound, rows: list[Row], options: Options) -> list[list[Any]]:
    """Return the rows that are shown."""
    rows.sort(key=lambda row: tuple((value is None, str(type(value)), value) for value in row[0]))
    level, width = options.confidence, len(bound.names)
    if options.simultaneous:
        count = sum(isinstance(cell, PendingEstimate) for _, row in rows for cell in row[:width])
        level = 1 - (1 - options.confidence) / max(1, count)
    cells = []
    for _, row in rows:
        check_deadline()
        cells.append([cell.at(level) if isinstance(cell, PendingEstimate) else cell for cell in row])
    chosen = bound.selection.apply(cells) if bound.selection.selects else cells
    return [row[:width] for row in chosen]


def possible_notes(bound: Bound, rows: list[Row], options: Options) -> list[str]:
    """Return notes on which rows could be among the first, where LIMIT keeps the first rows ordered by estimates.

    All intervals hold simultaneously (Bonferroni). A row could be among the first k unless k others are certainly
    before it.
    """
    order, limit = bound.selection.order, bound.selection.limit
    limit = limit if limit is None else limit + bound.selection.offset
    if limit is None or not order or bound.is_key(order[0][0]) or not 0 < limit < len(rows) <= MOST_COMPARED:
        return []
    place, descending = order[0].place, order[0].descending
    level = 1 - (1 - options.confidence) / len(rows)
    estimates = [row[place].at(level) for _, row in rows]
    ends = [(-estimate.high, -estimate.low) if descending else (estimate.low, estimate.high) for estimate in estimates]
    possible = [i for i, (low, _) in enumerate(ends) if sum(end[1] < low for end in ends) < limit]
    keys = [i for i in range(len(bound.names)) if bound.is_key(i)]
    names = [", ".join(str(rows[i][1][key]) for key in keys) or f"row {i + 1}" for i in possible]
    if len(possible) <= limit:
        return [f"with {options.confidence:.4g} confidence no other rows are among the first {limit}"]
    shown = "; ".join(names[:MOST_NAMED]) + (f"; and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    return [f"with {options.confidence:.4g} confidence the first {limit} are among these {len(possible)}: {shown}"]
