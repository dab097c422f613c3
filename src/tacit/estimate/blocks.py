"""Contributions of codes of many views to many functionals, by few matrix products.

Views that show the same level of the one attribute in which functionals differ are read together, as a **block**: the
contribution of their codes to functional i is

    constant_i + slope_i * (rows @ vectors)_direction(i)

where ``rows`` depend on the codes alone (the code's support of each cell, with the decoder's weight of the view), so
they are cached with the codes, and ``vectors`` on the questions alone. Functionals that differ by a factor share a
direction: for 50 states times 10 ages, views that show only ages need ten directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from tacit.contract.oracles import Oracle
from tacit.contract.oracles.base import Codes
from tacit.estimate.batch import VALUES_AT_ONCE, FunctionalBatch
from tacit.estimate.decoder import Grid
from tacit.estimate.functional import Vector
from tacit.estimate.tallies import Tallies
from tacit.estimate.term_batch import TermBatch

__all__ = ["Block", "BlockReading", "Shared", "Way", "blocks_of", "known_row", "rows_of_codes", "totals_of"]

MOST_CELLS = 2**11
"""Maximum cells of an attribute for which rows of codes are kept."""

DIGITS = 10
"""Digits in which coefficients must agree for functionals to differ by a factor only."""


class Way(NamedTuple):
    """How a grid reads views: the attributes in which functionals differ, and the one of these that views show."""

    grid: Grid
    busy: tuple[bool, ...]
    shown: int | None
    """Its place among the grid's attributes."""


@dataclass(frozen=True, eq=False)
class BlockReading:
    """One grid's way to read the views of a block, and at which level of the shown attribute."""

    terms: TermBatch
    way: Way
    depth: int
    coefficients: Vector
    """Of the attribute's vectors, of 1 and of extra cells, for each direction."""

    @cached_property
    def vectors(self) -> Vector:
        """Directions x cells of the shown attribute, followed by extra cells; rows are multiplied by them."""
        extras = self.way.grid.extras
        real = self.coefficients[: len(self.coefficients) - extras].T
        vectors = real if self.way.shown is None else real @ self._split
        if extras:
            vectors = np.concatenate([vectors, self.coefficients[-extras:].T], axis=1)
        return np.ascontiguousarray(vectors)

    @property
    def _split(self) -> Vector:
        return self.terms.splits[self.way.shown or 0][self.depth]

    def contract(self, row: Vector) -> Vector:
        """Return the product of a row with each vector of the attribute and with 1, and its extra cells."""
        if self.way.shown is None:
            return row
        cells = self._split.shape[1]
        return np.concatenate([self._split @ row[:cells], row[cells:]])


@dataclass(frozen=True, eq=False)
class Block:
    """Views that are read in the same way."""

    views: tuple[int, ...]
    readings: tuple[BlockReading, ...]
    shared: Shared


@dataclass(frozen=True, eq=False)
class Shared:
    """The part shared by blocks that differ only in levels: the coefficients of functionals in each batch of terms."""

    coefficients: tuple[Vector, ...]
    """For each batch, of the shown attribute's vectors, of 1 and of extra cells, for each functional."""
    constants: Vector
    slopes: Vector
    directions: Codes
    """Functionals are constant + slope * direction."""


Layout = tuple[tuple[tuple[int, ...], tuple[tuple[int, int | None, int], ...]], ...]
"""Views, and for each batch that reads them its number, the shown attribute's place and level."""


def blocks_of(batch: FunctionalBatch, views: int) -> tuple[list[Block], tuple[int, ...]]:
    """Return functionals as blocks of views, and the views whose codes are read one by one."""
    if batch not in _BLOCKS:
        _BLOCKS[batch] = _make_blocks(batch, views)
    return _BLOCKS[batch]


_BLOCKS: WeakKeyDictionary[FunctionalBatch, tuple[list[Block], tuple[int, ...]]] = WeakKeyDictionary()
"""Totals and their errors are read from the same blocks."""


def _make_blocks(batch: FunctionalBatch, views: int) -> tuple[list[Block], tuple[int, ...]]:
    terms = batch.terms
    layout, joint = _layout(tuple((each.grid, each.busy) for each in terms), views)
    classes: dict[tuple[tuple[int, int | None], ...], tuple[Shared, tuple[Vector, ...]]] = {}
    blocks = []
    for alike, readings in layout:
        key = tuple((number, shown) for number, shown, _ in readings)
        if key not in classes:
            classes[key] = _share(batch, key)
        shared, directions = classes[key]
        read = [
            BlockReading(terms[number], Way(terms[number].grid, terms[number].busy, shown), depth, direction)
            for (number, shown, depth), direction in zip(readings, directions, strict=True)
        ]
        blocks.append(Block(alike, tuple(read), shared))
    return blocks, joint


def totals_of(batch: FunctionalBatch, tallies: Tallies) -> Vector:
    """Return the unbiased estimate of each functional, from the tables of all views."""
    blocks, joint = blocks_of(batch, len(tallies.channel.views))
    totals = sum((batch.totals_of_view(tallies, view) for view in joint), np.zeros(batch.count))
    gathered: dict[Shared, tuple[float, list[Vector]]] = {}
    for block in blocks:
        reports, sums = gathered.get(block.shared, (0.0, []))
        rows = [reading.contract(_known_sum(reading.way, block.views, tallies)) for reading in block.readings]
        reports += tallies.reports_of(block.views)
        gathered[block.shared] = reports, [x + y for x, y in zip(sums, rows, strict=True)] if sums else rows
    for shared, (reports, sums) in gathered.items():
        totals += reports * shared.constants
        totals += sum(row @ coefficients for row, coefficients in zip(sums, shared.coefficients, strict=True))
    return totals


def _known_sum(way: Way, views: tuple[int, ...], tallies: Tallies) -> Vector:
    """Return the sum of the rows of all reports of some views."""
    return tallies.keep((way, views), lambda: np.sum([known_row(way, view, tallies) for view in views], axis=0))


def known_row(way: Way, view: int, tallies: Tallies) -> Vector:
    """Return the sum of the rows of all reports of a view, from its table."""
    return tallies.keep((way, view), lambda: _known_row(way, view, tallies))


@lru_cache(maxsize=64)
def _layout(grids: tuple[tuple[Grid, tuple[bool, ...]], ...], views: int) -> tuple[Layout, tuple[int, ...]]:
    """Group views that are read in the same way, and return the views whose codes are read one by one.

    These show several busy attributes of a grid, or one of very many cells.
    """
    alike: dict[tuple[tuple[int, int | None, int], ...], list[int]] = {}
    joint = []
    for view in range(views):
        key: list[tuple[int, int | None, int]] = []
        several = False
        for number, (grid, busy) in enumerate(grids):
            if not grid.reads(view):
                continue
            trace = grid.source(view).trace
            shown = [k for k, depth in enumerate(trace) if depth and busy[k]]
            several |= len(shown) > 1 or any(_level_cells(grid, k, trace[k]) > MOST_CELLS for k in shown)
            key.append((number, shown[0], trace[shown[0]]) if shown else (number, None, 0))
        if several:
            joint.append(view)
        else:
            alike.setdefault(tuple(key), []).append(view)
    return tuple((tuple(views_alike), key) for key, views_alike in alike.items()), tuple(joint)


def _share(batch: FunctionalBatch, key: tuple[tuple[int, int | None], ...]) -> tuple[Shared, tuple[Vector, ...]]:
    """Gather the coefficients of all functionals by the vectors of shown attributes, and of each direction once."""
    constants = batch.beside(frozenset(number for number, _ in key))
    gathered = []
    for number, shown in key:
        coefficients, beside = batch.terms[number].coefficients_of(shown, batch.count)
        gathered.append(coefficients)
        constants = constants + beside
    if not gathered:
        none = np.zeros(batch.count)
        return Shared((), constants, none, none.astype(np.int64)), ()
    every = np.concatenate(gathered)
    largest = every[np.abs(every).argmax(axis=0), np.arange(batch.count)]
    scaled = every / np.where(largest, largest, 1.0)
    known: dict[bytes, int] = {}
    rounded = np.ascontiguousarray(np.round(scaled, DIGITS).T) + 0.0  # no negative zeros
    directions = np.array([known.setdefault(row.tobytes(), len(known)) for row in rounded])
    first = np.unique(directions, return_index=True)[1]
    ends = np.cumsum([len(coefficients) for coefficients in gathered])[:-1]
    return Shared(tuple(gathered), constants, largest, directions), tuple(np.split(scaled[:, first], ends))


def rows_of_codes(way: Way, view: int, codes: Codes) -> Vector:
    """Return a grid's row for each code of a view: cells of the shown attribute, followed by extra cells."""
    grid, channel = way.grid, way.grid.service.channels[0]
    oracle = channel.views[view].oracle
    keep, lie = oracle.support_rates
    scale = 1 / ((keep - lie) * channel.probability(view))
    axis, beside, factor = _beside(way, view)
    cells = _cells(way, view, axis)
    rows = np.zeros((len(codes), cells + grid.extras))
    if share := grid.share(view):
        expected = lie * np.prod([vector.sum() for i, vector in enumerate(beside) if i != axis])
        rows[:, :cells] = (oracle.margins(axis, beside, codes)[:, :cells] - expected) * (factor * share * scale)
    if grid.extras:
        shown = oracle.marks(_extra_cells(oracle, grid.extras), codes)
        rows[:, cells:] = (shown - lie) * (grid.extra_share(grid.source(view)) * scale)
    return rows


def _known_row(way: Way, view: int, tallies: Tallies) -> Vector:
    grid, probability = way.grid, tallies.probability(view)
    axis, beside, factor = _beside(way, view)
    cells = _cells(way, view, axis)
    row = np.zeros(cells + grid.extras)
    if tallies.is_read_by_code(view):
        if grid.service.channels[0].views[view].oracle.fast_margins and not grid.extras:
            shown = tallies.margin(view, () if axis is None else (axis,), beside)
            return row if not (share := grid.share(view)) else shown.ravel() * (factor * share / probability)
        for codes, weights in tallies.codes_of(view, max(1, VALUES_AT_ONCE // len(row))):
            row += weights @ rows_of_codes(way, view, codes)
        return row
    table = tallies.table(view)
    if table is None:
        return row
    if share := grid.share(view):
        left = table
        for place in reversed(range(table.ndim)):  # from the last axis on, so that other axes keep their places
            if place != axis:
                left = np.tensordot(left, beside[place], axes=(place, 0))
        row[:cells] = np.atleast_1d(left)[:cells] * (factor * share / probability)
    if grid.extras:
        row[cells:] = table.ravel()[_extra_cells(grid.service.channels[0].views[view].oracle, grid.extras)]
        row[cells:] *= grid.extra_share(grid.source(view)) / probability
    return row


def _cells(way: Way, view: int, axis: int | None) -> int:
    """Return the number of the shown attribute's cells, without extra cells."""
    if axis is None:
        return 1
    compiled = way.grid.service.channels[0].views[view]
    return compiled.oracle.sizes[axis] - (way.grid.extras if axis == 0 else 0)


def _extra_cells(oracle: Oracle, extras: int) -> Codes:
    """Return the extra cells of a view: after the cells of its first attribute, at cell 0 of the others."""
    behind = oracle.domain // oracle.sizes[0]
    return np.arange(oracle.sizes[0] - extras, oracle.sizes[0]) * behind


def _beside(way: Way, view: int) -> tuple[int | None, list[Vector], float]:
    """Return the axis of the shown attribute, the split of 1 over all other axes, and what idle roots multiply by."""
    grid = way.grid
    compiled, source = grid.service.channels[0].views[view], grid.source(view)
    factor, axis = 1.0, None
    vectors = []
    for place, (i, size) in enumerate(zip(compiled.active, compiled.oracle.sizes, strict=True)):
        behind = grid.extras if place == 0 else 0
        k = grid.attributes.index(i) if i in grid.attributes else None
        if k is not None and k == way.shown:
            axis = place
        real = np.ones(size - behind)
        if k is not None and not way.busy[k]:  # the coefficients include a busy attribute at its root
            real = _ones(grid, k, source.trace[k])
        vectors.append(np.concatenate([real, np.zeros(behind)]) if behind else real)
    for k, i in enumerate(grid.attributes):
        if i not in compiled.active and not way.busy[k]:
            factor *= float(_ones(grid, k, source.trace[k])[0])
    return axis, vectors, factor


def _ones(grid: Grid, k: int, depth: int) -> Vector:
    """Return the split of 1 at a level of one of the grid's attributes."""
    split = grid.trees[k].ones_split[depth]
    return np.zeros(_level_cells(grid, k, depth)) if split is None else split


def _level_cells(grid: Grid, k: int, depth: int) -> int:
    """Return the number of cells at a level of one of the grid's attributes."""
    return grid.service.levels[grid.attributes[k]][depth].cells
