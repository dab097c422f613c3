"""Ours: the levels and the decoder of the local mode, with central noise.

Steps       A view picks a level of each attribute; its cells are counted with independent noise. A view's part of the
            budget is the product of its levels' shares (`tacit.central.shares`), so all views together spend epsilon.
Decoder     blue: ``x_i = G_i^-1 f_i``, and every view is read with weights ``kron_i a_i**2 W_i x_i``: unbiased whatever
            the weights, and of least variance among linear estimators (up to the rounding of noise to integers).
Guarantee   epsilon: the cells of a view hold different people, views add up.
Variance    ``sum_views v prod_i a_i**4 |W_i x_i|**2``, exactly, without using any data.
Reference   Hay, Rastogi, Miklau and Suciu 2010 for one attribute; the weights are ours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa

from tacit.central.body import Body, SummedTable
from tacit.central.charges import Charge
from tacit.central.noise import Ints, Laplace, NoiseSource
from tacit.central.records import Records
from tacit.central.shares import Shares, service_shares
from tacit.contract.budget import read_fraction
from tacit.contract.layouts.levels import Level, Levels
from tacit.contract.schema import Service
from tacit.errors import LayoutError
from tacit.estimate.functional import Functional, Vector
from tacit.estimate.split import BlueTree

__all__ = ["Blue", "Views", "view_cells"]

MAX_CELLS = 2**22
"""Maximum cells of all views together: half a minute of noise on one core."""


def view_cells(service: Service) -> int:
    """Return how many cells all views of a service have."""
    return math.prod(
        sum(level.cells for level, share in zip(shares.levels.levels, shares.shares, strict=True) if share)
        for shares in service_shares(service)
    )


@dataclass(frozen=True)
class Blue:
    """The method."""

    def charges(self, service: Service, epsilon: Fraction) -> list[Charge]:
        """Return what it spends; refuse domains whose views have too many cells."""
        cells = math.prod(attribute.size for attribute in service.sensitive)
        if cells > MAX_CELLS or view_cells(service) > MAX_CELLS:
            message = (
                f"{service.name}: {cells:,} cells; blue counts every one, and at most {MAX_CELLS:,} in all views. Use "
                "method='kdtree', or coarser attributes with cells=."
            )
            raise LayoutError(message, code="domain-too-large")
        return [Charge(epsilon, "release: all views of blue")]

    def run(self, records: Records, epsilon: Fraction, source: NoiseSource) -> Body:
        """Return the noisy views."""
        shares = service_shares(records.service)
        views = Views(records.sizes, epsilon, [(share.levels, share.shares) for share in shares])
        table = records.table()
        for depths, law in views.laws.items():
            views.counts[depths] = source.noisy(aggregate(table, views.levels_of(depths)), law)
        return views


def aggregate(table: Ints, levels: list[Level]) -> Ints:
    """Return a table's sums over the cells of one level of each attribute."""
    for axis, level in enumerate(levels):
        if level.cells == table.shape[axis]:
            continue
        starts = np.unique(level.table(), return_index=True)[1]  # cells are runs of values, with NULL last
        table = np.add.reduceat(table, starts, axis=axis)
    return table


class Views:
    """Noisy counts of views, read by blue."""

    kind, unbiased = "views", True

    def __init__(
        self, sizes: tuple[int, ...], epsilon: Fraction, attributes: list[tuple[Levels, tuple[Fraction, ...]]]
    ) -> None:
        self.sizes, self.epsilon, self.attributes = sizes, epsilon, attributes
        self.counts: dict[tuple[int, ...], Ints] = {}
        used = [[depth for depth, share in enumerate(shares) if share] for _, shares in attributes]
        self.laws = {
            depths: Laplace(
                epsilon * math.prod(shares[depth] for (_, shares), depth in zip(attributes, depths, strict=True))
            )
            for depths in itertools.product(*used)
        }

    def levels_of(self, depths: tuple[int, ...]) -> list[Level]:
        """Return the levels of a view."""
        return [levels[depth] for (levels, _), depth in zip(self.attributes, depths, strict=True)]

    @cached_property
    def _trees(self) -> list[BlueTree]:
        return [BlueTree(levels, Shares(levels, shares, math.nan).weights) for levels, shares in self.attributes]

    @cached_property
    def _tables(self) -> dict[tuple[int, ...], SummedTable]:
        return {depths: SummedTable(counts) for depths, counts in self.counts.items()}

    @cached_property
    def _ones(self) -> list[list[Vector]]:
        return [self._read(i, np.ones(size)) for i, size in enumerate(self.sizes)]

    def _read(self, attribute: int, vector: Vector) -> list[Vector]:
        """Return the weights with which each level of an attribute is read."""
        tree = self._trees[attribute]
        return [weight * level[0] for weight, level in zip(tree.weights, tree.cell_sums(vector), strict=True)]

    def _split(self, functional: Functional) -> Iterator[tuple[float, list[list[Vector]]]]:
        for term in functional.terms:
            yield (
                term.coefficient,
                [
                    self._read(i, term.factors[i]) if i in term.factors else self._ones[i]
                    for i in range(len(self.sizes))
                ],
            )

    def value(self, functional: Functional) -> float:
        """Return the estimate of a functional's total."""
        total = 0.0
        for coefficient, split in self._split(functional):
            for depths, table in self._tables.items():
                factors = {i: split[i][depth] for i, depth in enumerate(depths)}
                total += table.product(coefficient, factors)
        return total

    def covariance(self, left: Functional, right: Functional) -> float:
        """Return the covariance of two estimates: views are independent, and so are their cells."""
        total = 0.0
        for (a, first), (b, second) in itertools.product(self._split(left), list(self._split(right))):
            inner = [
                [float(x @ y) for x, y in zip(left, right, strict=True)]
                for left, right in zip(first, second, strict=True)
            ]
            total += (
                a
                * b
                * sum(
                    law.variance * math.prod(inner[i][depth] for i, depth in enumerate(depths))
                    for depths, law in self.laws.items()
                )
            )
        return total

    def deviation(self, functional: Functional) -> tuple[float, float]:
        """Return the standard error of an estimate, and the equivalent number of equal draws, term by term."""
        draws = []
        for _, split in self._split(functional):
            second = fourth = 0.0
            for depths, law in self.laws.items():
                squares = [split[i][depth] ** 2 for i, depth in enumerate(depths)]
                second += law.variance * math.prod(float(square.sum()) for square in squares)
                fourth += law.variance**2 * math.prod(float(square @ square) for square in squares)
            draws.append(second**2 / fourth if fourth else 1.0)
        return math.sqrt(max(0.0, self.covariance(functional, functional))), min(draws, default=1.0)

    def cell_estimates(self) -> Vector:
        """Return an estimate for every cell: least squares on all views."""
        table = np.zeros(self.sizes)
        for depths, counts in self.counts.items():
            spread = counts.astype(np.float64)
            for axis, (level, depth) in enumerate(zip(self.levels_of(depths), depths, strict=True)):
                spread = np.take(spread, level.table(), axis=axis) * self._trees[axis].weights[depth]
            table += spread
        for axis, tree in enumerate(self._trees):
            moved = np.moveaxis(table, axis, -1)
            solved = tree.cell_sums(moved.reshape(-1, self.sizes[axis]))[-1]
            table = np.moveaxis(solved.reshape(moved.shape), -1, axis)
        return table

    def facts(self) -> dict[str, Any]:
        """Return the metadata of a file: for each attribute the widths and shares of its levels."""
        described = [
            {"widths": levels.widths, "shares": [str(share) for share in shares], "null": levels.has_null}
            for levels, shares in self.attributes
        ]
        return {"views_epsilon": str(self.epsilon), "levels": described}

    def columns(self) -> pa.Table:
        """Return the counts of all views, one after another, last attribute fastest."""
        parts = [self.counts[depths].ravel() for depths in self.laws]
        numbers = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part) for part in parts])
        return pa.table({"view": numbers, "count": np.concatenate(parts)})

    @classmethod
    def of_file(cls, sizes: tuple[int, ...], facts: Mapping[str, Any], table: pa.Table) -> Self:
        """Return the body stored in a file."""
        attributes = []
        for size, stored in zip(sizes, facts["levels"], strict=True):
            root = Level(width=size, values=size, null=False)
            if not all(type(width) is int and 1 <= width <= size for width in (*stored["widths"], 1 + stored["null"])):
                raise ValueError
            below = [Level(width, size - stored["null"], stored["null"]) for width in stored["widths"]]
            attributes.append((Levels(size, (root, *below)), tuple(map(read_fraction, stored["shares"]))))
        views = cls(sizes, read_fraction(facts["views_epsilon"]), attributes)
        counts, start = np.asarray(table.column("count"), dtype=np.int64), 0
        for depths in views.laws:
            shape = tuple(level.cells for level in views.levels_of(depths))
            views.counts[depths] = counts[start : start + math.prod(shape)].reshape(shape)
            start += math.prod(shape)
        return views
