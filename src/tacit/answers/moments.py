"""Sums of products and of fourth powers of contributions, from a sample of codes.

A sample is corrected by regression: the sum of contributions over all reports of its views is known from their tables,
and a multiple of the difference between it and the sample's sum is added to the sum of squares. This leaves almost no
error where a total concerns a single cell, as for groups: there the square is a linear function of the contribution.
Views of a block share the multiple, which refers to the contribution times the size of a view's rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.answers.sampling import Sample
from tacit.estimate.batch import VALUES_AT_ONCE, FunctionalBatch
from tacit.estimate.blocks import Block, Way, blocks_of
from tacit.estimate.functional import Vector

__all__ = ["Request", "higher_moments"]

Codes = npt.NDArray[np.int64]

SIZED = -1
"""Placeholder for a column of weights: people times the sizes of their views."""


@dataclass(frozen=True, eq=False)
class Request:
    """Pairs of functionals whose products are summed, and the columns of weights for these and for fourth powers."""

    left: Codes
    right: Codes
    pair_columns: Codes
    fourth_columns: Codes

    @property
    def columns(self) -> list[int]:
        """The columns of weights that are read."""
        return sorted({*self.pair_columns.tolist(), *self.fourth_columns.tolist()})


def higher_moments(batch: FunctionalBatch, sample: Sample, asked: Request) -> tuple[Vector, Vector]:
    """Return for each public group the sums of products of pairs, and of fourth powers."""
    groups = len(sample.people)
    products, fourths = np.zeros((groups, len(asked.left))), np.zeros((groups, len(asked.fourth_columns)))
    blocks, joint = blocks_of(batch, len(sample.channel.views))
    for part in [*_of_blocks(blocks, sample), *_of_views(batch, joint, sample)]:
        part.add(sample, asked, products, fourths)
    return products, fourths


@dataclass(frozen=True, eq=False)
class _Values:
    """Contributions of some views' sampled codes: constant + slope * value of a direction, for each functional."""

    views: tuple[int, ...]
    constants: Vector
    slopes: Vector
    directions: Codes
    rows: tuple[tuple[Vector, Vector | None], ...]
    """Rows of codes x cells, and the vectors they are multiplied by; None for rows that are values."""
    known: Vector | None
    missing: Vector | None
    """Groups x directions: the sum over everybody, and its difference from the sample's sum; None where it is zero."""
    sizes: Vector | None
    """The size of each code's view; None if all are equal."""

    def chunks(self) -> Iterator[tuple[slice, Vector]]:
        """Yield the values of some codes at a time."""
        codes, directions = len(self.rows[0][0]), int(self.directions.max(initial=0)) + 1
        step = max(1, VALUES_AT_ONCE // directions)
        for start in range(0, codes, step):
            own = slice(start, start + step)
            values = [rows[own] if vectors is None else rows[own] @ vectors.T for rows, vectors in self.rows]
            yield own, reduce(np.add, values)

    def add(self, sample: Sample, asked: Request, products: Vector, fourths: Vector) -> None:
        """Add the sums over these views to those of all pairs and functionals."""
        weights = sample.weights(self.views)
        people = weights.sum(axis=2)
        constants, slopes = self.constants, self.slopes
        left, right = asked.left, asked.right
        sums = _Sums.of(self, weights, asked) if self.rows else None
        for column in asked.columns:
            pairs, own = asked.pair_columns == column, asked.fourth_columns == column
            i, j = left[pairs], right[pairs]
            added = people[column][:, None] * (constants[i] * constants[j])
            fourth = people[column][:, None] * constants[own] ** 4
            if sums is not None:
                first = sums.first(self, column)[:, self.directions] * slopes
                added += constants[i] * first[:, j] + constants[j] * first[:, i]
                added += slopes[i] * slopes[j] * sums.products(column, self.directions[i], self.directions[j])
                fourth = sums.fourths(column, people[column], self.directions[own], constants[own], slopes[own])
            products[:, pairs] += added
            fourths[:, own] += fourth


@dataclass(eq=False)
class _Sums:
    """Weighted sums of powers of directions, and of sums of two directions, whose squares give their products.

    Directions are in units of their sizes, so that single-precision numbers can hold fourth powers.
    """

    count: int
    pairs: dict[tuple[int, int], int]
    unit: Vector | None = None
    powers: dict[int, list[Vector]] = field(default_factory=dict)
    """For each column, sums of first to fourth powers: groups x directions."""
    correction: Vector | None = None

    @classmethod
    def of(cls, values: _Values, weights: Vector, asked: Request) -> _Sums:
        """Add up over all codes."""
        left, right = values.directions[asked.left], values.directions[asked.right]
        apart = {(i, j) for i, j in zip(left.tolist(), right.tolist(), strict=True) if i != j}
        sums = cls(int(values.directions.max()) + 1, {pair: place for place, pair in enumerate(sorted(apart))})
        corrects = values.missing is not None and 0 in asked.columns
        for own, single in values.chunks():
            value = sums.in_units(single)
            square = np.square(value)
            cube = square * value if corrects else square[:, : sums.count] * value[:, : sums.count]
            powers = [value, square, cube, np.square(square[:, : sums.count])]
            for column in asked.columns:
                by = weights[column][:, own].astype(value.dtype, copy=False)
                sums.add(column, [by @ power for power in powers])
            if corrects and values.sizes is not None:
                sized = weights[0][:, own] * values.sizes[own]
                sums.add(SIZED, [sized @ value, (sized * values.sizes[own]) @ square, sized @ cube])
        if values.missing is not None and corrects:
            regression = sums.powers[SIZED if values.sizes is not None else 0]
            people = weights[0].sum(axis=1)
            sums.correction = _slope(people, sums.powers[0][1], *regression[:3]) * sums.in_units(values.missing)
        return sums

    def add(self, column: int, added: list[npt.NDArray[Any]]) -> None:
        """Add sums of powers."""
        known = self.powers.get(column)
        if known is None:
            self.powers[column] = [own.astype(np.float64) for own in added]
        else:
            self.powers[column] = [x + y for x, y in zip(known, added, strict=True)]

    def in_units(self, single: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return values of directions in their units and, behind them, sums of the two of each pair."""
        if self.unit is None:
            size = np.sqrt(np.square(single.astype(np.float64)).mean(axis=0))
            self.unit = np.where(size > 0, size, 1.0)
        value: npt.NDArray[Any] = single / self.unit.astype(single.dtype)
        if not self.pairs:
            return value
        first, second = np.array(list(self.pairs)).T
        return np.concatenate([value, value[:, first] + value[:, second]], axis=1)

    @property
    def units(self) -> Vector:
        """The units of the directions."""
        return self.unit if self.unit is not None else np.ones(self.count)

    def first(self, values: _Values, column: int) -> Vector:
        """Return the sums of directions: known for people, sampled where they are weighted."""
        if column == 0 and values.known is not None:
            return values.known
        return self.powers[column][0][:, : self.count] * self.units

    def products(self, column: int, left: Codes, right: Codes) -> Vector:
        """Return the sums of products of two directions."""
        squares = self.powers[column][1]
        squares = squares + self.correction if column == 0 and self.correction is not None else squares
        sums = squares[:, left]
        apart = np.flatnonzero(left != right)
        if len(apart):
            i, j = left[apart], right[apart]
            both = squares[:, [self.count + self.pairs[pair] for pair in zip(i.tolist(), j.tolist(), strict=True)]]
            sums[:, apart] = (both - squares[:, i] - squares[:, j]) / 2
        return sums * (self.units[left] * self.units[right])

    def fourths(self, column: int, people: Vector, places: Codes, constants: Vector, slopes: Vector) -> Vector:
        """Return the sums of fourth powers of constants plus slopes times directions."""
        slopes = slopes * self.units[places]
        first, second, third, fourth = (power[:, places] for power in self.powers[column][:4])
        return (
            people[:, None] * constants**4
            + 4 * constants**3 * slopes * first
            + 6 * (constants * slopes) ** 2 * second
            + 4 * constants * slopes**3 * third
            + slopes**4 * fourth
        )


def _slope(people: Vector, squares: Vector, sized: Vector, sized_squares: Vector, cubes: Vector) -> Vector:
    """Return the slope of squares on values times sizes."""
    many = np.maximum(people, 1.0)[:, None]
    spread = sized_squares / many - np.square(sized / many)
    together = cubes / many - squares / many * (sized / many)
    flat = spread <= 1e-12 * sized_squares / many
    slope: Vector = np.where(flat, 0.0, together / np.where(flat, 1.0, spread))
    return slope


def _of_blocks(blocks: list[Block], sample: Sample) -> Iterator[_Values]:
    """Yield the values of blocks of views."""
    for block in blocks:
        views = tuple(view for view in block.views if view in sample.parts)
        if not views:
            continue
        shared = views, block.shared.constants, block.shared.slopes, block.shared.directions
        if not block.readings:
            yield _Values(*shared, (), None, None, None)
            continue
        lead = min((reading.way for reading in block.readings), key=_order)
        stacks = [sample.stack(views, reading.way, lead) for reading in block.readings]
        vectors = [reading.vectors for reading in block.readings]
        rows = tuple((stack.rows, own) for stack, own in zip(stacks, vectors, strict=True))
        if not any(sample.parts[view].is_sample for view in views):
            yield _Values(*shared, rows, None, None, None)
            continue
        known, missing = (
            sum(getattr(stack, name) @ own.T for stack, own in zip(stacks, vectors, strict=True))
            for name in ("known", "missing")
        )
        yield _Values(*shared, rows, known, missing, sample.sizes(views, lead))


def _order(way: Way) -> tuple[object, ...]:
    return len(way.grid.attributes), way.grid.attributes


def _of_views(batch: FunctionalBatch, views: tuple[int, ...], sample: Sample) -> Iterator[_Values]:
    """Yield the values of views of which several attributes are read together, one by one."""
    every, none, one = np.arange(batch.count), np.zeros(batch.count), np.ones(batch.count)
    for view in views:
        part = sample.parts.get(view)
        if part is None:
            continue
        values = batch.contributions_of(view, len(part.codes), sample.reader(view), sample.precision(view))
        known = missing = None
        if part.is_sample:
            known = np.stack([batch.totals_of_view(own, view) for own in sample.people])
            missing = known - part.weights[0] @ values
        yield _Values((view,), none, one, every, ((values, None),), known, missing, None)
