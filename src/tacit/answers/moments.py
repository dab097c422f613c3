"""Sums of products and of fourth powers of contributions, from a sample of codes.

A sample is corrected by regression: the sum of contributions over all reports of its views is known from their tables,
and a multiple of what the sample lacks is added to the sum of squares. That is nearly exact for a total about a single
cell, as groups are: there the square is a linear function of the contribution. The views of a **segment** share the
slope, which applies to contributions times the size of a view's rows. Segments that enter all functionals in the same
way are summed before anything is computed for each functional.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.answers.sampling import Sample
from tacit.contract.oracles.base import Codes
from tacit.contract.oracles.nearly_constant import NearlyConstant
from tacit.engines.deadline import check_deadline
from tacit.estimate.batch import VALUES_AT_ONCE, FunctionalBatch
from tacit.estimate.blocks import Block, Shared, Way, blocks_of
from tacit.estimate.functional import Vector

__all__ = ["Request", "higher_moments"]

Values = npt.NDArray[Any]

FEW_WEIGHTS, MANY_PAIRS = 16, 64
"""Maximum weights, over all groups, and minimum pairs for which products of most pairs are products of matrices."""

MANY_CELLS = 32
"""Minimum cells from which a base and one cell are multiplied faster than a row of a matrix."""

SIZED, SIZED_TWICE = -2, -1
"""The last weights: people times the sizes of their views, and times their squares."""


@dataclass(frozen=True, eq=False)
class Request:
    """Pairs of functionals whose products are summed, and the columns of weights for these and for fourth powers."""

    left: Codes
    right: Codes
    pair_columns: Codes
    fourth_columns: Codes

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The columns of weights that are read, in order."""
        return tuple(sorted({*self.pair_columns.tolist(), *self.fourth_columns.tolist()}))


def higher_moments(batch: FunctionalBatch, sample: Sample, request: Request) -> tuple[Vector, Vector]:
    """Return for each public group the sums of products of pairs, and of fourth powers."""
    groups = len(sample.people)
    products, fourths = np.zeros((groups, len(request.left))), np.zeros((groups, len(request.fourth_columns)))
    blocks, joint = blocks_of(batch, len(sample.channel.views))
    for part in (*_of_blocks(blocks, sample), *_of_views(batch, joint, sample)):
        check_deadline()
        part.add(sample, request, products, fourths)
    return products, fourths


@dataclass(frozen=True, eq=False)
class _Segment:
    """Sampled codes that are corrected together."""

    views: tuple[int, ...]
    rows: tuple[tuple[Values, Vector | NearlyConstant | None], ...]
    """Rows of codes x cells, and the vectors they are multiplied by; None for rows that are values."""
    known: Vector | None = None
    """Groups x directions: the sum over everybody; None where all codes were taken."""
    missing: Vector | None = None
    """What the sample lacks of it, times sizes; None if all sizes are 1."""
    lead: Way | None = None
    """Whose rows the sizes of views are of."""

    @property
    def codes(self) -> int:
        """How many there are."""
        return len(self.rows[0][0])

    def values(self, chosen: slice) -> Values:
        """Return the values of some codes: directions x codes."""
        return reduce(np.add, [_multiply(vectors, rows[chosen]) for rows, vectors in self.rows])


def _multiply(vectors: Vector | NearlyConstant | None, rows: Values) -> Values:
    """Return vectors x rows."""
    if isinstance(vectors, NearlyConstant):
        return vectors.multiply(rows)
    return rows.T if vectors is None else vectors @ rows.T


@dataclass(frozen=True, eq=False)
class _Alike:
    """Segments whose codes add the same to each functional: constant + slope * value of a direction."""

    constants: Vector
    slopes: Vector
    directions: Codes
    views: list[tuple[int, ...]]
    segments: Iterable[_Segment]
    """Those of which anything is read, made when it is their turn."""

    def add(self, sample: Sample, request: Request, products: Vector, fourths: Vector) -> None:
        """Add the sums over these segments to those of all pairs and functionals."""
        constants, slopes, left, right = self.constants, self.slopes, request.left, request.right
        sums = _Sums.over(self, sample, request)
        for column in request.columns:
            pairs, fourth_places = request.pair_columns == column, request.fourth_columns == column
            i, j = left[pairs], right[pairs]
            people = np.sum([sample.people_of(views, column) for views in self.views], axis=0)[:, None]
            added = people * (constants[i] * constants[j])
            fourth = people * constants[fourth_places] ** 4
            if sums is not None:
                first = sums.first[column][:, self.directions] * slopes
                added += constants[i] * first[:, j] + constants[j] * first[:, i]
                added += slopes[i] * slopes[j] * sums.products(column, self.directions[i], self.directions[j])
                fourth += sums.fourths(
                    column, self.directions[fourth_places], constants[fourth_places], slopes[fourth_places]
                )
            products[:, pairs] += added
            fourths[:, fourth_places] += fourth


@dataclass(eq=False)
class _Sums:
    """Weighted sums of powers of directions, and of products of two of them, over all segments."""

    pairs: dict[tuple[int, int], int]
    """The place of each product of two different directions, behind the squares."""
    first: dict[int, Vector] = field(default_factory=dict)
    """For each column, groups x directions."""
    second: dict[int, Vector] = field(default_factory=dict)
    third: dict[int, Vector] = field(default_factory=dict)
    fourth: dict[int, Vector] = field(default_factory=dict)

    @classmethod
    def over(cls, alike: _Alike, sample: Sample, request: Request) -> _Sums | None:
        """Add up over all codes; None where no code is read."""
        count = int(alike.directions.max()) + 1
        left, right = alike.directions[request.left], alike.directions[request.right]
        different = np.flatnonzero(left != right)
        both = set(zip(left[different].tolist(), right[different].tolist(), strict=True))
        apart = np.array(sorted(both), dtype=np.int64).reshape(-1, 2).T
        sums = cls({(i, j): count + place for place, (i, j) in enumerate(apart.T.tolist())})
        for segments in _in_batches(alike.segments, count, len(sample.people)):
            _Batch(segments, count, apart).add_to(sums, sample, request.columns)
        return sums if sums.first else None

    def add(self, columns: tuple[int, ...], powers: Sequence[Vector], products: Vector) -> None:
        """Add segments x directions x weights x groups of each power, and of products of pairs."""
        first, second, third, fourth = (power.sum(axis=0) for power in powers)
        second = np.concatenate([second, products.sum(axis=0)])
        for place, column in enumerate(columns):
            for known, power in zip(
                (self.first, self.second, self.third, self.fourth), (first, second, third, fourth), strict=True
            ):
                added = power[:, place].T
                known[column] = known[column] + added if column in known else added

    def products(self, column: int, left: Codes, right: Codes) -> Vector:
        """Return the sums of products of two directions."""
        places = left.copy()
        apart = np.flatnonzero(left != right)
        places[apart] = [self.pairs[pair] for pair in zip(left[apart].tolist(), right[apart].tolist(), strict=True)]
        return self.second[column][:, places]

    def fourths(self, column: int, places: Codes, constants: Vector, slopes: Vector) -> Vector:
        """Return the sums of fourth powers of constants plus slopes times directions, without those of constants."""
        return (
            4 * constants**3 * slopes * self.first[column][:, places]
            + 6 * (constants * slopes) ** 2 * self.second[column][:, places]
            + 4 * constants * slopes**3 * self.third[column][:, places]
            + slopes**4 * self.fourth[column][:, places]
        )


@dataclass(frozen=True, eq=False)
class _Batch:
    """Segments that are read together: each in its own units, so that short numbers hold fourth powers."""

    segments: list[_Segment]
    count: int
    apart: Codes
    """Pairs of directions, as columns. The square of their sum gives their product."""

    @property
    def width(self) -> int:
        """Number of directions and of their pairs."""
        return self.count + int(self.apart.shape[1])

    def add_to(self, sums: _Sums, sample: Sample, columns: tuple[int, ...]) -> None:
        """Add up all powers."""
        units, total = np.ones(0), np.zeros(0)
        pairs = self.apart if not self._are_most_pairs((len(columns) + 2) * len(sample.people)) else self.apart[:, :0]
        for rows, values in self._chunks():
            ends = np.cumsum([0, *(value.shape[1] for value in values)])
            single = np.concatenate(values, axis=1) if len(values) > 1 else values[0]
            if not units.size:
                units = _units(np.maximum.reduceat(np.abs(single), ends[:-1], axis=1).T.astype(np.float64))
            powers, added = self._powers(single, units, ends, pairs), []
            for segment, start, end in zip(self.segments, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
                weights = sample.stacked_weights(segment.views, columns, segment.lead, single.dtype)
                sums_of_powers = powers[:, start:end] @ weights[rows]
                if pairs.size < self.apart.size:
                    sums_of_powers = self._with_pairs(sums_of_powers, powers[:, start:end], weights[rows])
                added.append(sums_of_powers)
            total = np.stack(added).astype(np.float64) + (total if total.size else 0.0)
        by_weight = total.reshape(*total.shape[:2], -1, len(sample.people))  # segments x powers x weights x groups
        first, third, second, fourth = np.split(by_weight, np.arange(1, 4) * self.width, axis=1)
        if 0 in columns:
            second = second.copy()
            second[:, :, columns.index(0)] += self._correction(first, second, third, sample, units)
        unit, (i, j) = units[:, :, None, None], self.apart
        squares, sizes = second[:, : self.count], (units[:, i] * units[:, j])[:, :, None, None]
        both = (second[:, self.count :] - squares[:, i] - squares[:, j]) / 2 * sizes
        known = first[:, : self.count] * unit
        for place, segment in enumerate(self.segments):
            if segment.known is not None and 0 in columns:
                known[place, :, columns.index(0)] = segment.known.T
        sums.add(columns, (known, squares * unit**2, third[:, : self.count] * unit**3, fourth * unit**4), both)

    def _chunks(self) -> Iterator[tuple[slice, list[Values]]]:
        """Yield the values of some codes of each segment at a time; one that is alone may have many codes."""
        [first, *others] = self.segments
        step = max(1, VALUES_AT_ONCE // self.count) if not others else first.codes
        for start in range(0, first.codes, step) if not others else (0,):
            rows = slice(start, start + step) if not others else slice(None)
            yield rows, [segment.values(rows) for segment in self.segments]

    def _are_most_pairs(self, weights: int) -> bool:
        """Return whether products of all directions with each other are computed faster than those of pairs."""
        pairs = int(self.apart.shape[1])
        return weights <= FEW_WEIGHTS and pairs >= MANY_PAIRS and self.count**2 <= 8 * pairs

    def _with_pairs(self, sums: Values, powers: Values, weights: Values) -> Values:
        """Insert the sums of powers of sums of pairs, from products of matrices of directions and their squares."""
        value, _, square, _ = np.split(powers, np.arange(1, 4) * self.count)
        first, third, second, fourth = np.split(sums, np.arange(1, 4) * self.count)
        (i, j), both, mixed = self.apart, [], []
        for column in weights.T:
            weighted = (value * column).T
            both.append((value @ weighted)[i, j])
            products = square @ weighted
            mixed.append(products[i, j] + products[j, i])
        squares = second[i] + second[j] + 2 * np.stack(both, axis=1)
        cubes = third[i] + third[j] + 3 * np.stack(mixed, axis=1)
        return np.concatenate([first, first[i] + first[j], third, cubes, second, squares, fourth])

    def _powers(self, single: Values, units: Vector, ends: Codes, pairs: Codes) -> Values:
        """Return values in their units, their cubes and squares, with sums of pairs behind, and fourth powers."""
        count = self.count
        width = count + int(pairs.shape[1])
        powers = np.empty((3 * width + count, single.shape[1]), dtype=single.dtype)
        value, cube, square, fourth = np.split(powers, np.arange(1, 4) * width)
        short = (1 / units).astype(single.dtype)
        for start, end, unit in zip(ends[:-1].tolist(), ends[1:].tolist(), short, strict=True):
            np.multiply(single[:, start:end], unit[:, None], out=value[:count, start:end])
        np.add(value[pairs[0]], value[pairs[1]], out=value[count:])
        np.square(value, out=square)
        np.multiply(square, value, out=cube)
        np.square(square[:count], out=fourth)
        return powers

    def _correction(self, first: Vector, second: Vector, third: Vector, sample: Sample, units: Vector) -> Vector:
        """Return the regression correction of the squares of each segment, in units: segments x directions x groups."""
        people = np.stack([sample.people_of(segment.views, 0) for segment in self.segments])[:, None, :]
        slope = _slope(people, second[:, :, 0], first[:, :, SIZED], second[:, :, SIZED_TWICE], third[:, :, SIZED])
        missing = np.zeros((len(self.segments), self.count, len(sample.people)))
        for place, segment in enumerate(self.segments):
            if segment.missing is not None:
                missing[place] = segment.missing.T / units[place][:, None]
            elif segment.known is not None:
                missing[place] = segment.known.T / units[place][:, None] - first[place, : self.count, 0]
        i, j = self.apart
        correction: Vector = slope * np.concatenate([missing, missing[:, i] + missing[:, j]], axis=1)
        return correction


def _units(largest: Vector) -> Vector:
    """Return the units of directions: the largest value, and any number where all are zero."""
    return np.where(largest > 0, largest, largest.max(initial=0.0) or 1.0)


def _in_batches(segments: Iterable[_Segment], directions: int, groups: int) -> Iterator[list[_Segment]]:
    """Yield batches of segments whose values fit in memory together."""
    batch: list[_Segment] = []
    size = 0
    for segment in segments:
        needed = max(segment.codes, groups) * directions
        if batch and size + needed > VALUES_AT_ONCE:
            yield batch
            batch, size = [], 0
        batch, size = [*batch, segment], size + needed
    if batch:
        yield batch


def _slope(people: Vector, squares: Vector, sized: Vector, sized_squares: Vector, cubes: Vector) -> Vector:
    """Return the slope of squares on values times sizes."""
    many = np.maximum(people, 1.0)
    spread = sized_squares / many - np.square(sized / many)
    together = cubes / many - squares / many * (sized / many)
    flat = spread <= 1e-12 * sized_squares / many
    slope: Vector = np.where(flat, 0.0, together / np.where(flat, 1.0, spread))
    return slope


def _of_blocks(blocks: list[Block], sample: Sample) -> Iterator[_Alike]:
    """Yield the segments of blocks of views, grouped by how functionals use them."""
    alike: dict[Shared, list[tuple[Block, tuple[int, ...]]]] = {}
    for block in blocks:
        views = tuple(view for view in block.views if view in sample.parts)
        if views:
            alike.setdefault(block.shared, []).append((block, views))
    for shared, members in alike.items():
        segments = (_segment_of(block, views, sample) for block, views in members if block.readings)
        yield _Alike(shared.constants, shared.slopes, shared.directions, [views for _, views in members], segments)


def _segment_of(block: Block, views: tuple[int, ...], sample: Sample) -> _Segment:
    lead = min((reading.way for reading in block.readings), key=_order)
    stacks = [sample.stack(views, reading.way, lead) for reading in block.readings]
    vectors = [reading.vectors for reading in block.readings]
    rows = tuple((stack.rows, _shorten(vector)) for stack, vector in zip(stacks, vectors, strict=True))
    if not any(sample.parts[view].is_sample for view in views):
        return _Segment(views, rows)
    known, missing = (
        sum(getattr(stack, name) @ vector.T for stack, vector in zip(stacks, vectors, strict=True))
        for name in ("known", "missing")
    )
    return _Segment(views, rows, known, missing, lead)


def _shorten(vectors: Vector) -> Vector | NearlyConstant:
    """Return vectors of many cells as a base and one cell, where all of them are so."""
    if vectors.shape[1] < MANY_CELLS:
        return vectors
    nearly = NearlyConstant.of(vectors)
    return nearly if nearly.is_so.all() else vectors


def _order(way: Way) -> tuple[object, ...]:
    return len(way.grid.attributes), way.grid.attributes


def _of_views(batch: FunctionalBatch, views: tuple[int, ...], sample: Sample) -> Iterator[_Alike]:
    """Yield views that are read for several attributes together; each is a segment."""
    every, zeros, ones = np.arange(batch.count), np.zeros(batch.count), np.ones(batch.count)
    known = [view for view in views if view in sample.parts]
    for is_sample in (False, True):
        chosen = [view for view in known if sample.parts[view].is_sample == is_sample]
        if chosen:
            segments = (_segment_of_view(batch, view, sample) for view in chosen)
            yield _Alike(zeros, ones, every, [(view,) for view in chosen], segments)


def _contributions(batch: FunctionalBatch, view: int, sample: Sample) -> Values:
    return batch.contributions_of(view, len(sample.parts[view].codes), sample.reader(view), sample.precision(view))


def _segment_of_view(batch: FunctionalBatch, view: int, sample: Sample) -> _Segment:
    part = sample.parts[view]
    of_totals = batch.take_contributions(sample.people[0], view, part.codes) if len(sample.people) == 1 else None
    values = of_totals if of_totals is not None else _contributions(batch, view, sample)
    known = np.stack([batch.totals_of_view(person, view) for person in sample.people]) if part.is_sample else None
    return _Segment((view,), ((values, None),), known)
