"""What all views say about one or two attributes: sums of cells of their table, each with its precision.

A view's table is unbiased, may be negative, and has noise that hardly depends on the cell. Every view that reports one
of the attributes is used: other attributes are summed out, which multiplies the variance of a cell by the number of
cells summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.contract.layouts import Levels
from tacit.estimate.functional import Vector
from tacit.model.views import ViewTable

__all__ = ["Observed", "see"]


@dataclass(frozen=True, eq=False)
class Observed:
    """All observations of a table of one or two attributes: weighted sums of its cells.

    ``rows @ table @ columns.T`` are all sums that were observed, one block for each combination of levels; ``value`` is
    what was seen and ``weight`` its precision, 0 where no view shows a combination. One attribute is a table of one
    column.
    """

    rows: Vector
    columns: Vector
    value: Vector
    weight: Vector

    @property
    def shape(self) -> tuple[int, int]:
        """Cells of the table."""
        return self.rows.shape[1], self.columns.shape[1]

    def sums(self, tables: Vector) -> Vector:
        """Return the observed sums of tables, which may have leading axes."""
        made: Vector = self.rows @ tables @ self.columns.T
        return made

    def back(self, sums: Vector) -> Vector:
        """Return the transpose of `sums`."""
        made: Vector = self.rows.T @ sums @ self.columns
        return made

    def information(self, shifts: Vector) -> Vector:
        """Return the information about cells, the curvature of half the misfit, times shifts of the table."""
        return self.back(self.weight * self.sums(shifts))

    def gradient(self, table: Vector) -> Vector:
        """Return the gradient of half the misfit."""
        return self.back(self.weight * (self.sums(table) - self.value))

    def misfit(self, table: Vector) -> float:
        """Return the squared differences from the observations, in units of their variance."""
        return float((self.weight * (self.sums(table) - self.value) ** 2).sum())


def see(
    levels: Sequence[Levels], views: Sequence[ViewTable], attributes: tuple[int, ...], depths: Sequence[int]
) -> Observed:
    """Return the observations of one or two attributes, at the given finest levels; ``levels`` has all attributes."""
    traces: dict[tuple[int, ...], tuple[float, Vector]] = {}
    for view in views:
        trace = tuple(_depth(view, i, finest) for i, finest in zip(attributes, depths, strict=True))
        if any(trace):
            table = _marginalise(levels, view, attributes, depths)
            precision = view.reports / view.shown.noise * table.size / view.table.size
            before, total = traces.get(trace, (0.0, np.zeros(table.shape)))
            traces[trace] = before + precision, total + precision * table
    used = [sorted({trace[k] for trace in traces} or {finest}) for k, finest in enumerate(depths)]  # or nobody reported
    stacks = [
        np.concatenate([_between(levels[i], finest, depth) for depth in own])
        for i, finest, own in zip(attributes, depths, used, strict=True)
    ]
    first = [_starts(levels[i], own) for i, own in zip(attributes, used, strict=True)]
    weight = np.zeros([len(stack) for stack in stacks])
    value = np.zeros_like(weight)
    for trace, (precision, total) in traces.items():
        block = tuple(first[k][depth] for k, depth in enumerate(trace))
        weight[block] = precision
        value[block] = total.reshape(weight[block].shape) / precision
    columns = stacks[1] if len(stacks) > 1 else np.ones((1, 1))
    return Observed(stacks[0], columns, value.reshape(len(stacks[0]), -1), weight.reshape(len(stacks[0]), -1))


def _depth(view: ViewTable, attribute: int, finest: int) -> int:
    """Return the level at which a view shows an attribute, at most the finest level used."""
    shown = view.shown
    return min(finest, shown.depths[shown.attributes.index(attribute)]) if attribute in shown.attributes else 0


def _marginalise(
    levels: Sequence[Levels], view: ViewTable, attributes: tuple[int, ...], depths: Sequence[int]
) -> Vector:
    """Return a view's table over the given attributes alone, no finer than their finest levels."""
    table = view.table
    for axis in reversed(range(table.ndim)):
        attribute, depth = view.shown.attributes[axis], view.shown.depths[axis]
        if attribute not in attributes:
            table = table.sum(axis=axis)
        elif depth > (finest := depths[attributes.index(attribute)]):
            table = np.moveaxis(np.tensordot(_between(levels[attribute], depth, finest), table, (1, axis)), 0, axis)
    return table


def _between(levels: Levels, fine: int, coarse: int) -> Vector:
    """Return the matrix that sums cells of a fine level to those of a coarse one."""
    first = np.unique(levels[fine].table(), return_index=True)[1]
    holds: Vector = levels[coarse].matrix()[:, first]
    return holds


def _starts(levels: Levels, depths: Sequence[int]) -> dict[int, slice]:
    """Return the position of each level's cells in a stack of levels."""
    ends = np.cumsum([levels[depth].cells for depth in depths])
    return {depth: slice(int(end) - levels[depth].cells, int(end)) for depth, end in zip(depths, ends, strict=True)}
