"""Tables of the views of one channel: unbiased counts of people per cell, from the counts of codes.

Counts may be weighted by a public column, or by the contributions of the same people's reports to another service.
Every total is linear in these tables, so any number of questions needs only one transform of each view's codes. A view
of very many cells has no table: its reports are read code by code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np

from tacit.contract.contract import Channel
from tacit.contract.oracles import Oracle
from tacit.contract.oracles.base import Codes
from tacit.estimate.functional import Vector

__all__ = ["Tallies", "is_read_by_code", "table_work"]

MOST_WORK = 2**22
"""Cells visited to make a table that is always worth making: 30 milliseconds."""

WORK_OF_CODE = 2**10
"""Cells visited in the time that reading one code takes, for about a hundred functionals."""


def is_read_by_code(oracle: Oracle, codes: float) -> bool:
    """Return whether a view's table takes longer than reading its codes one by one."""
    return oracle.tally_work(round(codes)) > max(MOST_WORK, WORK_OF_CODE * codes)


def table_work(oracle: Oracle, codes: float) -> int:
    """Return how many cells are visited to make a view's table; 0 if it has none."""
    return 0 if not codes or is_read_by_code(oracle, codes) else oracle.tally_work(round(codes))


class Tallies:
    """The tables of all views, each computed on first use.

    Parameters
    ----------
    channel : Channel
        The channel; every person sent one report.
    codes : array
        The codes that occur, in order.
    weights : array
        The count of each code, or the sum of its senders' weights.
    """

    def __init__(self, channel: Channel, codes: Codes, weights: Vector) -> None:
        self.channel = channel
        self._codes, self._weights = codes, weights
        self._bounds = np.searchsorted(codes, [*(view.offset for view in channel.views), channel.alphabet])
        self._tables: dict[int, Vector] = {}
        self._cached: dict[Hashable, Vector] = {}

    def reports(self, view: int) -> float:
        """Return the number of reports of a view, or the sum of their weights."""
        return float(self._weights[self._bounds[view] : self._bounds[view + 1]].sum())

    def reports_of(self, views: tuple[int, ...]) -> float:
        """Return the number of reports of some views, or the sum of their weights."""
        return float(self.keep(views, lambda: np.array(sum(map(self.reports, views)))))

    def keep(self, key: Hashable, make: Callable[[], Vector]) -> Vector:
        """Return a cached value that depends on the tables alone, shared by all questions."""
        if key not in self._cached:
            self._cached[key] = make()
        return self._cached[key]

    def probability(self, view: int) -> float:
        """Return the probability with which a view is reported."""
        return self.channel.probability(view)

    def is_read_by_code(self, view: int) -> bool:
        """Return whether a view has too many cells for a table."""
        return is_read_by_code(self.channel.views[view].oracle, self.codes(view))

    def codes(self, view: int) -> int:
        """Return the number of codes of a view that occur."""
        return int(self._bounds[view + 1] - self._bounds[view])

    def codes_of(self, view: int, at_once: int) -> Iterator[tuple[Codes, Vector]]:
        """Yield the codes of a view, numbered within it, and their weights, some at a time."""
        for start in range(self._bounds[view], self._bounds[view + 1], at_once):
            batch = slice(start, min(start + at_once, self._bounds[view + 1]))
            yield self._codes[batch] - self.channel.views[view].offset, self._weights[batch]

    def margin(self, view: int, axes: tuple[int, ...], beside: Sequence[Vector]) -> Vector:
        """Return a view's table over some axes, whose other cells are weighted by a vector for each axis."""
        oracle = self.channel.views[view].oracle
        start, stop = self._bounds[view], self._bounds[view + 1]
        codes, weights = self._codes[start:stop] - self.channel.views[view].offset, self._weights[start:stop]
        keep, lie = oracle.support_rates
        summed = math.prod(float(vector.sum()) for axis, vector in enumerate(beside) if axis not in axes)
        supported = oracle.margin_tally(axes, codes, weights, beside)
        table: Vector = (supported - lie * summed * weights.sum()) / (keep - lie)
        return table.reshape([oracle.sizes[axis] for axis in axes])

    def table(self, view: int) -> Vector | None:
        """Return a view's table, an axis for each attribute it shows; None if nobody reported it."""
        start, stop = self._bounds[view], self._bounds[view + 1]
        if start == stop:
            return None
        if view not in self._tables:
            oracle = self.channel.views[view].oracle
            codes, weights = self._codes[start:stop] - self.channel.views[view].offset, self._weights[start:stop]
            keep, lie = oracle.support_rates
            supported = oracle.tally(codes, weights)
            self._tables[view] = ((supported - lie * weights.sum()) / (keep - lie)).reshape(oracle.sizes)
        return self._tables[view]
