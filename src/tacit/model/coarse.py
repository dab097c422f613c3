"""What coarse tables leave open: the range of totals that distinguish values which tables show only together.

A table of two attributes may be counted in runs of values, while a question is about single ones: all tables with the
same runs are possible, as far as the attributes' own tables allow. So each attribute is divided into two axes: the
cell in which tables of several attributes show it, and the class of values within this cell that the question
distinguishes. Tables in cells are margins over the first axes, tables of single values over both, and the range is that
of `tacit.model.hidden`. Cells whose values are all alike for the question are merged, which never narrows the range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tacit.estimate.functional import Functional, Vector
from tacit.model.evidence import Attribute, Cells, NoisyTable, indicators
from tacit.model.hidden import HiddenRange, hidden_ranges, largest_means
from tacit.model.joint import Joint, connected_parts
from tacit.model.table import Fit

__all__ = ["SplitValues", "coarse_range", "divide", "hidden_means"]

Key = tuple[int, ...]

MOST_WITHIN = 4
"""Maximum classes of values within a cell; with more, each class counts as its largest or smallest value."""

MOST_SPLIT = 2**15
"""Maximum cells of a divided table."""


class ModelTables(Protocol):
    """What a model has."""

    attributes: tuple[Attribute, ...]
    evidence: tuple[NoisyTable, ...]

    def together(self, attributes: Sequence[int]) -> bool:
        """Return whether some table shows all of these attributes."""

    def faces(self, attributes: Sequence[int], least: int = 3) -> list[Key]:
        """Return the largest sets of some attributes that a table shows together."""

    def values(self, attribute: int) -> Vector:
        """Return the share of each value."""

    def face(self, face: Key) -> tuple[Fit, Vector]:
        """Return the fit of some attributes."""

    def pair_cells(self, attribute: int) -> Cells:
        """Return the cells of an attribute in tables of pairs."""

    def joint(self, functionals: Sequence[Functional]) -> Joint:
        """Return a table for some functionals."""

    def errors(self, functionals: Sequence[Functional]) -> list[float]:
        """Return the standard errors of means."""

    def over_groups(self, attributes: Key, groups: Sequence[Vector]) -> Joint:
        """Return the table over groups of values."""


def hidden_means(tables: ModelTables, functionals: Sequence[Functional]) -> HiddenRange:
    """Return by how much means can be below and above the fitted ones, given only what tables show together.

    Of ranges that coarse tables leave, no errors are known but the fit's own.
    """
    joints, coarse = [], []
    shown = _Shown(tables)
    for place, functional in enumerate(functionals):
        for part in connected_parts(functional):
            faces = shown.faces(part)
            if not all(faces.values()):
                coarse.append((place, part, faces))
            elif not tables.together(part.attributes):
                joints.append((place, tables.joint([part]).of(part), part))
    sizes = tuple(attribute.size for attribute in tables.attributes)
    (low, high), ends = hidden_ranges(
        sizes, len(functionals), joints, lambda attributes: tables.faces(attributes, least=1)
    )
    errors = [np.array(tables.errors(end)) for end in ends]
    for place, part, faces in coarse:
        below, above = shown.range_of(part, faces)
        low[place] += below
        high[place] += above
    return HiddenRange(low, high, *errors)


class _Shown:
    """What tables show together, and in which cells."""

    def __init__(self, tables: ModelTables) -> None:
        self._all = tables
        self._known: dict[Key, list[NoisyTable]] = {}

    def faces(self, functional: Functional) -> dict[Key, bool]:
        """Return the sets of attributes shown together, and whether all values that a functional distinguishes are."""
        numbers = {i: alike(functional, i) for i in functional.attributes}
        return {face: self._shows(face, numbers) for face in self._all.faces(functional.attributes, least=1)}

    def range_of(self, functional: Functional, faces: Mapping[Key, bool]) -> tuple[float, float]:
        """Return by how much a mean can be below and above the fitted one, where tables show its values in cells."""
        attributes = functional.attributes
        numbers = {i: alike(functional, i) for i in attributes}
        partitions: dict[int, Cells] = {}
        for face in sorted((face for face, shown in faces.items() if not shown), key=len, reverse=True):
            for i in face:
                alone = len(face) == 1
                partitions.setdefault(i, self._runs_of(i) if alone else self._tables_of(face)[0].partition(i))
        sets = [[(i, True)] for i in attributes if self._shows((i,), numbers)]
        for face, shown in faces.items():
            cells = [partitions.get(i, numbers[i]) for i in face]
            known = ([table.partition(i) for i in face] for table in self._tables_of(face))
            if shown or len(face) == 1 or any(all(map(np.array_equal, partition, cells)) for partition in known):
                sets.append([(i, shown) for i in face])
        divisions = _divisions_of(
            {i: (partitions.get(i, numbers[i]), numbers[i], self._all.values(i)) for i in attributes}
        )
        held = [indicators(division.labels) for division in divisions.values()]
        alone = len(attributes) == 1
        table = held[0] @ self._all.values(attributes[0]) if alone else self._all.over_groups(attributes, held).table
        return coarse_range(functional, divisions, table, sets)

    def _tables_of(self, face: Key) -> list[NoisyTable]:
        """Return the tables that show some attributes together, the one of most cells first."""
        if face not in self._known:
            known = [table for table in self._all.evidence if set(face) <= set(table.attributes)]
            known.sort(key=lambda table: -math.prod(int(table.partition(i).max()) + 1 for i in face))
            self._known[face] = known
        return self._known[face]

    def _runs_of(self, attribute: int) -> Cells:
        """Return the runs of values whose shares tables determine: all ends of theirs are ends of these.

        Of unordered cells, only those of one table are taken.
        """
        partitions = [table.partition(attribute) for table in self._tables_of((attribute,))]
        runs = [cells for cells in partitions if (np.diff(cells) >= 0).all()]
        if len(runs) < len(partitions):
            return partitions[0]
        starts = np.concatenate([[0], np.any([np.diff(cells) > 0 for cells in runs], axis=0)])
        return np.cumsum(starts).astype(np.int64)

    def _shows(self, face: Key, numbers: Mapping[int, Cells]) -> bool:
        """Return whether tables show some attributes together, and values of different numbers apart."""
        known = self._tables_of(face)
        sizes = [self._all.attributes[i].size for i in face]
        if any([int(table.partition(i).max()) + 1 for i in face] == sizes for table in known):
            return True
        if any(all(_is_constant(numbers[i], table.partition(i)) for i in face) for table in known):
            return True
        if len(face) == 1:
            return _is_constant(numbers[face[0]], self._runs_of(face[0]))
        if len(known) == 1:
            return False
        in_cells = all(_is_constant(numbers[i], self._all.pair_cells(i)) for i in face)
        return in_cells and self._all.face(face)[0].is_determined


@dataclass(frozen=True, eq=False)
class SplitValues:
    """An attribute's values as pairs of a cell and a class within it; ``labels`` numbers the pairs that occur."""

    labels: Cells
    cells: Cells
    """The cell of each label."""

    within: Cells
    """The class of each label within its cell."""

    @property
    def shape(self) -> tuple[int, int]:
        """The number of cells, and of classes within one."""
        return int(self.cells.max()) + 1, int(self.within.max()) + 1


def alike(functional: Functional, attribute: int) -> Cells:
    """Return a number for each value of an attribute: equal where a functional does not distinguish the values."""
    size = functional.sizes[attribute]
    vectors = np.stack([np.zeros(size), *(t.factors[attribute] for t in functional.terms if attribute in t.factors)])
    return np.asarray(np.unique(vectors.round(12), axis=1, return_inverse=True)[1], dtype=np.int64).ravel()


def _is_constant(numbers: Cells, cells: Cells) -> bool:
    """Return whether all values of each cell have one number."""
    pairs = cells * (int(numbers.max()) + 1) + numbers
    return len(np.unique(pairs)) == int(cells.max()) + 1


def divide(partition: Cells, numbers: Cells, shares: Vector, *, merged: bool = False) -> SplitValues:
    """Return the division of values by a partition; ``merged`` makes one cell of all that hold different numbers."""
    count = int(numbers.max()) + 1
    pairs, pair_of = np.unique(partition * count + numbers, return_inverse=True)
    cell, number = pairs // count, pairs % count
    mixed = np.bincount(cell)[cell] > 1
    key = np.where(mixed, count + (0 if merged else 1) * cell, number)  # cells of one number are merged
    labels, label_of = np.unique(key * count + number, return_inverse=True)
    cells = np.unique(labels // count, return_inverse=True)[1]
    mass = np.bincount(label_of, np.bincount(pair_of.ravel(), shares))
    first = np.searchsorted(cells, cells)
    within = np.arange(len(labels)) - first
    many = np.bincount(cells)[cells] > MOST_WITHIN
    if many.any():
        before = np.cumsum(mass) - mass / 2
        start = (np.cumsum(mass) - mass)[first]
        total = np.maximum(np.bincount(cells, mass)[cells], 1e-300)
        part = np.minimum(((before - start) / total * MOST_WITHIN).astype(np.int64), MOST_WITHIN - 1)
        within = np.where(many, np.maximum(part, 0), within)
        joined, again = np.unique(cells * MOST_WITHIN + within, return_inverse=True)
        label_of, cells, within = again[label_of], joined // MOST_WITHIN, joined % MOST_WITHIN
    return SplitValues(label_of[pair_of.ravel()].astype(np.int64), cells.astype(np.int64), within.astype(np.int64))


def _divisions_of(attributes: Mapping[int, tuple[Cells, Cells, Vector]]) -> dict[int, SplitValues]:
    """Return the division of each attribute; cells are merged where there would be too many."""
    for merged in (False, True):
        divisions = {i: divide(*sides, merged=merged) for i, sides in attributes.items()}
        if math.prod(math.prod(division.shape) for division in divisions.values()) <= MOST_SPLIT:
            break
    return divisions


def coarse_range(
    functional: Functional,
    divisions: Mapping[int, SplitValues],
    table: Vector,
    sets: Sequence[Sequence[tuple[int, bool]]],
) -> tuple[float, float]:
    """Return by how much a mean can be below and above that of a table over labels, given its margins over sets.

    Sets have attributes, and whether values within cells are shown. Attributes are those of divisions, in order.
    """
    order = list(divisions)
    axes = {i: (2 * k, 2 * k + 1) for k, i in enumerate(order)}
    shape = [size for i in order for size in divisions[i].shape]
    places = np.ix_(*(np.arange(len(divisions[i].cells)) for i in order))
    sides = [(divisions[i].cells[place], divisions[i].within[place]) for i, place in zip(order, places, strict=True)]
    index = tuple(part for side in sides for part in side)
    held = np.zeros(shape)
    held[index] = table
    least, most = _ends(functional, divisions)
    mean = float((table * (least + most) / 2).sum())
    faces = [tuple(axis for i, fine in chosen for axis in (axes[i] if fine else axes[i][:1])) for chosen in sets]
    low, high = np.full(shape, float(most.max())), np.full(shape, float(least.min()))  # impossible cells never help
    low[index], high[index] = least, most
    top, bottom = largest_means(np.stack([held, held]), np.stack([high, -low]), faces).tolist()
    return min(-bottom - mean, 0.0), max(top - mean, 0.0)


def _ends(functional: Functional, divisions: Mapping[int, SplitValues]) -> tuple[Vector, Vector]:
    """Return the smallest and the largest weight of every combination of labels."""
    shape = [len(division.cells) for division in divisions.values()]
    least, most = np.zeros(shape), np.zeros(shape)
    for term in functional.terms:
        low = high = np.full((), term.coefficient)
        for i, division in divisions.items():
            vector = term.factors.get(i, np.ones(functional.sizes[i]))
            ends = np.full(len(division.cells), np.inf), np.full(len(division.cells), -np.inf)
            np.minimum.at(ends[0], division.labels, vector)
            np.maximum.at(ends[1], division.labels, vector)
            products = [np.multiply.outer(side, end) for side in (low, high) for end in ends]
            low, high = np.minimum.reduce(products), np.maximum.reduce(products)
        least, most = least + low, most + high
    return least, most
