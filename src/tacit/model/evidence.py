"""Evidence: noisy tables, and their information about a few attributes.

A **noisy table** is an unbiased table of shares over cells of some attributes. Every attribute has its own
**partition**, the cell of each value; partitions of different tables need not be nested in each other. The evidence is
a list of such tables: the views of a service, pairs of views of two services, a curator's noisy marginals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.errors import UnanswerableError
from tacit.estimate.functional import Vector

__all__ = [
    "Attribute",
    "Cells",
    "Margins",
    "NoisyTable",
    "Observed",
    "along",
    "finest_within",
    "indicators",
    "observe",
    "showing",
    "within",
]

MOST_ENTRIES = 2**25
"""Maximum entries of a matrix of cells x values: a quarter of a gigabyte."""

Cells = npt.NDArray[np.int64]
"""The cell of each value of an attribute: cells are numbered from 0, and each has a value."""

Margins = Callable[[tuple[int, ...]], Vector]
"""A table of too many cells to be kept: from some of its axes to the sums over the others."""


@dataclass(frozen=True)
class Attribute:
    """An attribute of a model: its number of values, and whether they are ordered.

    The last ``apart`` values are outside the order: NULL, and extra cells. Attributes of one service in which people
    may have no row share one ``presence``, the place of that attribute.
    """

    name: str
    size: int
    ordered: bool = False
    apart: int = 0
    presence: int | None = None


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Shares of people in the cells of some attributes, unbiased, and the precision of each.

    ``precision`` is the inverse of a cell's variance; it may have any shape that broadcasts to the table.
    """

    attributes: tuple[int, ...]
    partitions: tuple[Cells, ...]
    shares: Vector | Margins
    precision: Vector
    split: bool = False
    """Whether the first attribute is public classes; another table then has the same reports for everybody."""

    proportional: float = 0.0
    """Share of the variance that is proportional to the people in a cell; precision assumes equal cells."""

    repeats: bool = False
    """Whether its sums over an attribute repeat reports that other tables show: only the whole table is evidence."""

    @cached_property
    def keys(self) -> dict[int, bytes]:
        """The key that equal partitions of an attribute share."""
        return {i: cells.tobytes() for i, cells in zip(self.attributes, self.partitions, strict=True)}

    def with_cells_of(self, attributes: Collection[int]) -> NoisyTable:
        """Return a table with some of its attributes at least, whose cells are kept."""
        if not callable(self.shares):
            return self
        axes = tuple(axis for axis, i in enumerate(self.attributes) if i in attributes)
        sizes = [int(cells.max()) + 1 for cells in self.partitions]
        wide = np.reshape(self.precision, [1] * (len(sizes) - np.ndim(self.precision)) + [*np.shape(self.precision)])
        others = tuple(axis for axis in range(len(sizes)) if axis not in axes)
        repeated = math.prod(sizes[axis] for axis in others if wide.shape[axis] == 1)
        precision = 1 / ((1 / wide).sum(axis=others) * repeated)
        chosen = [(self.attributes[axis], self.partitions[axis]) for axis in axes]
        places, partitions = zip(*chosen, strict=True) if chosen else ((), ())
        return replace(self, attributes=places, partitions=partitions, shares=self.shares(axes), precision=precision)

    def partition(self, attribute: int) -> Cells:
        """Return the partition of one of its attributes."""
        return self.partitions[self.attributes.index(attribute)]


def along(table: Vector, matrices: Sequence[Vector]) -> Vector:
    """Apply a matrix along each of the last axes."""
    for k, matrix in enumerate(matrices):
        axis = table.ndim - len(matrices) + k
        table = np.moveaxis(np.tensordot(table, matrix, axes=(axis, 1)), -1, axis)
    return table


def finest_within(single: Cells, partitions: Sequence[Cells], most: int) -> Cells:
    """Return the finest of some partitions of fewer than ``most`` cells, divided by the others as far as these fit.

    Single values are returned where all partitions have more cells.
    """
    few = {cells.tobytes(): cells for cells in partitions if cells.max() < most}
    finest, *others = sorted(few.values(), key=lambda cells: -int(cells.max())) or [single]
    for cells in others:
        pairs = np.unique(finest * (int(cells.max()) + 1) + cells, return_inverse=True)[1]
        if int(pairs.max()) < most:
            finest = np.asarray(pairs, dtype=np.int64)
    return finest


def indicators(cells: Cells) -> Vector:
    """Return cells x values, 1 where a cell holds a value."""
    _check_entries(int(cells.max()) + 1, len(cells))
    matrix: Vector = (np.arange(cells.max() + 1)[:, None] == cells).astype(np.float64)
    return matrix


def _check_entries(cells: int, values: int) -> None:
    """Refuse attributes of so many values that their matrices do not fit in memory."""
    if cells * values > MOST_ENTRIES:
        message = (
            f"An attribute of {values:,} values, with {cells:,} cells, is too large for consistent=True. "
            "Ask without consistent=True."
        )
        raise UnanswerableError(message, code="not-consistent")


@dataclass(frozen=True, eq=False)
class Observed:
    """All observations of one table: weighted sums of its cells.

    ``along(table, stacks)`` are all sums that could have been observed, a block for each combination of partitions;
    ``value`` is the observation and ``weight`` its precision, 0 where a combination is unobserved.
    """

    stacks: tuple[Vector, ...]
    value: Vector
    weight: Vector

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells of the table."""
        return tuple(stack.shape[1] for stack in self.stacks)

    def sums(self, tables: Vector) -> Vector:
        """Return the observed sums of tables, which may have leading axes."""
        if len(self.stacks) == 2:
            sums: Vector = self.stacks[0] @ tables @ self.stacks[1].T
            return sums
        return along(tables, self.stacks)

    def back(self, sums: Vector) -> Vector:
        """Return the transpose of `sums`."""
        if len(self.stacks) == 2:
            tables: Vector = self.stacks[0].T @ sums @ self.stacks[1]
            return tables
        return along(sums, [stack.T for stack in self.stacks])

    def information(self, shifts: Vector) -> Vector:
        """Return the information matrix of the cells (the Hessian of half the misfit) times shifts of the table."""
        return self.back(self.weight * self.sums(shifts))

    def gradient(self, table: Vector) -> Vector:
        """Return the gradient of half the misfit."""
        return self.back(self.weight * (self.sums(table) - self.value))

    def misfit(self, table: Vector) -> float:
        """Return the squared differences from the observations, in units of their variance."""
        return float((self.weight * (self.sums(table) - self.value) ** 2).sum())


def within(cells: Cells, values: Vector) -> Vector:
    """Return cells x values: the share of each value in a cell's people; equal shares where a cell has none."""
    return indicators(cells) * _shares_within(cells, values)


def _shares_within(cells: Cells, values: Vector) -> Vector:
    """Return, for each value, its share of the people of its cell."""
    mass, count = np.bincount(cells, values)[cells], np.bincount(cells)[cells]
    shares: Vector = np.where(mass > 0, values / np.where(mass > 0, mass, 1.0), 1 / count)
    return shares


def _overlap(cells: Cells, fine: Cells, shares: Vector) -> Vector:
    """Return cells x fine cells: the share of each cell in a fine cell's people, from the shares of its values."""
    sizes = int(cells.max()) + 1, int(fine.max()) + 1
    _check_entries(*sizes)
    overlap: Vector = np.bincount(cells * sizes[1] + fine, shares, sizes[0] * sizes[1]).astype(np.float64)
    return overlap.reshape(sizes)


def showing(evidence: Iterable[NoisyTable], attributes: Sequence[int]) -> list[NoisyTable]:
    """Return the tables that are evidence about some attributes: every report counts once."""
    shown = [table for table in evidence if not set(attributes).isdisjoint(table.attributes)]
    split = any(table.split and table.attributes[0] in attributes for table in shown)
    return [
        table
        for table in shown
        if table.split == split and not (table.repeats and set(table.attributes[table.split :]) - set(attributes))
    ]


def observe(
    evidence: Iterable[NoisyTable],
    attributes: tuple[int, ...],
    fine: Sequence[Cells],
    values: Sequence[Vector],
    expected: Vector | None = None,
) -> Observed:
    """Return the observations of some attributes in the cells of a fit; other attributes are summed out.

    Where a fitted cell and a cell of the evidence overlap, the shares of values determine the overlap. The variances of
    observations are those of the people ``expected`` in the cells of the fit, by default equally many.
    """
    parts = [_shares_within(cells, shares) for cells, shares in zip(fine, values, strict=True)]
    counts = [int(cells.max()) + 1 for cells in fine]
    stacks: list[list[Vector]] = [[] for _ in attributes]
    places: list[dict[bytes, slice]] = [{} for _ in attributes]
    seen: dict[tuple[bytes, ...], tuple[Vector, Vector]] = {}
    for table in showing(evidence, attributes):
        shown = [k for k, i in enumerate(attributes) if i in table.attributes]
        axes, partitions = [], []
        for k, i in enumerate(attributes):
            cells = table.partition(i) if k in shown else np.zeros(len(fine[k]), dtype=np.int64)
            axes.append(_merge(cells, fine[k], counts[k]))
            partitions.append(cells if axes[-1] is None else axes[-1][cells])
        shares, variance = _marginal(table, attributes, axes)
        trace = tuple(partition.tobytes() for partition in partitions)
        if not any(partition.any() for partition in partitions):
            continue
        for k, (key, partition_cells) in enumerate(zip(trace, partitions, strict=True)):
            if key not in places[k]:
                start = sum(map(len, stacks[k]))
                stacks[k].append(_overlap(partition_cells, fine[k], parts[k]))
                places[k][key] = slice(start, start + len(stacks[k][-1]))
        if expected is not None and table.proportional:
            inside = along(expected, [_overlap(*sides) for sides in zip(partitions, fine, parts, strict=True)])
            variance = (1 - table.proportional) * variance + table.proportional * variance.sum() * inside
        weight = 1 / np.broadcast_to(variance, shares.shape)
        before, total = seen.get(trace, (np.zeros(shares.shape), np.zeros(shares.shape)))
        seen[trace] = before + weight, total + weight * shares
    matrices = tuple(
        np.concatenate(stack) if stack else np.ones((1, count)) for stack, count in zip(stacks, counts, strict=True)
    )
    value = np.zeros([len(matrix) for matrix in matrices])
    weights = np.zeros_like(value)
    for trace, (weight, total) in seen.items():
        block = tuple(place[key] for place, key in zip(places, trace, strict=True))
        weights[block], value[block] = weight, total / weight
    return Observed(matrices, value, weights)


def _merge(cells: Cells, fine: Cells, most: int) -> Cells | None:
    """Return how cells finer than those of the fit are merged; None where they are not finer."""
    if cells.max() < most:
        return None
    first = np.unique(cells, return_index=True)[1]
    return np.asarray(np.unique(fine[first], return_inverse=True)[1], dtype=np.int64)


def _marginal(table: NoisyTable, attributes: tuple[int, ...], merged: Sequence[Cells | None]) -> tuple[Vector, Vector]:
    """Return a table's shares over some attributes in the given order, 1 cell for those it lacks, and the variances."""
    table = table.with_cells_of(attributes)
    shares = np.asarray(table.shares)
    variance = np.broadcast_to(1 / np.asarray(table.precision), shares.shape)
    left: list[int] = []
    for axis in reversed(range(shares.ndim)):
        attribute = table.attributes[axis]
        if attribute not in attributes:
            shares, variance = shares.sum(axis=axis), variance.sum(axis=axis)
            continue
        left.insert(0, attribute)
        groups = merged[attributes.index(attribute)]
        if groups is not None:
            matrix = indicators(groups)
            shares, variance = (
                np.moveaxis(np.tensordot(matrix, values, (1, axis)), 0, axis) for values in (shares, variance)
            )
    order = [left.index(i) for i in attributes if i in left]
    shape = [1 if i not in left else shares.shape[left.index(i)] for i in attributes]
    return shares.transpose(order).reshape(shape), variance.transpose(order).reshape(shape)
