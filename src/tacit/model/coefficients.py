"""Overall consistency: views that share attributes are averaged where they overlap, by inverse variance.

The paper visits all sets S of attributes in subset order, averages the S-tables of all views that contain S, and
spreads the corrections evenly over their cells. In the coordinates of `tacit.model.basis`, a step of that procedure
changes only the means of products of one function of each attribute in S, so all steps can be done at once: every such
mean is averaged separately, over all views that show it, weighted by its inverse variance in each view.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.contract.layouts import Levels
from tacit.errors import LayoutError
from tacit.model.basis import Array, analysis, synthesis

__all__ = ["Coefficients", "Index", "Shape", "Shown", "along", "subsets"]

MOST_COEFFICIENTS = 2**23
"""Maximum means: 64 MiB."""

Index = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Shown:
    """A view for consistency: attributes, their levels, and the variance of a cell per report."""

    attributes: tuple[int, ...]
    depths: tuple[int, ...]
    noise: float


@dataclass(frozen=True, eq=False)
class Shape:
    """Attributes and views, and the position of each mean of a product."""

    levels: tuple[Levels, ...]
    views: tuple[Shown, ...]

    @cached_property
    def places(self) -> dict[tuple[int, ...], slice]:
        """Position of the means of each set of attributes; the empty set has one, which is 1."""
        slices, start = {}, 0
        sets = {one for view in self.views for one in subsets(view.attributes)}
        for one in sorted(sets, key=lambda one: (len(one), one)):
            size = math.prod(self.levels[i].size - 1 for i in one)
            slices[one] = slice(start, start + size)
            start += size
            if start > MOST_COEFFICIENTS:
                message = f"The views have more than {MOST_COEFFICIENTS} coefficients, too many for tables. Use SQL."
                raise LayoutError(message, code="table-too-large")
        return slices

    @property
    def size(self) -> int:
        """Number of means."""
        return max((place.stop for place in self.places.values()), default=0)

    def keys(self, attributes: tuple[int, ...], counts: Sequence[int]) -> Index:
        """Return the positions of the means of products of the first ``counts`` functions of each attribute."""
        indices = np.indices(counts)
        keys = np.zeros(counts, dtype=np.int64)
        for chosen in subsets(range(len(attributes))):
            own = tuple(slice(1, None) if k in chosen else 0 for k in range(len(attributes)))
            place = self.places[tuple(attributes[k] for k in chosen)]
            inside = np.zeros_like(keys[own])
            for k in chosen:
                inside = inside * (self.levels[attributes[k]].size - 1) + indices[k][own] - 1
            keys[own] = place.start + inside
        return keys

    @cached_property
    def view_keys(self) -> list[tuple[Index, Array]]:
        """For each view: the positions of its means, and their variance per report."""
        keys = []
        for view in self.views:
            depths = list(zip(view.attributes, view.depths, strict=True))
            matrices = [analysis(self.levels[i], depth) for i, depth in depths]
            scale = np.full((), view.noise)
            for matrix in matrices:
                scale = np.multiply.outer(scale, (matrix**2).sum(axis=1))
            keys.append((self.keys(view.attributes, [len(matrix) for matrix in matrices]), scale))
        return keys

    def combine(self, tables: Sequence[Array], reports: Sequence[float] | Sequence[Array]) -> Coefficients:
        """Average the tables of all views (frequencies with any leading axes), given how many reports each has.

        Numbers of reports may have the same leading axes.
        """
        leading = tables[0].shape[: tables[0].ndim - len(self.views[0].attributes)]
        total, weight = np.zeros((*leading, self.size)), np.zeros((*np.shape(reports[0]), self.size))
        for view, (keys, scale), table, count in zip(self.views, self.view_keys, tables, reports, strict=True):
            seen = along(
                table, [analysis(self.levels[i], d) for i, d in zip(view.attributes, view.depths, strict=True)]
            )
            mine = np.multiply.outer(np.asarray(count, dtype=np.float64), 1 / scale)
            total[..., keys] += mine * seen
            weight[..., keys] += mine
        known = np.where(weight > 0, weight, 1.0)
        values = np.where(weight > 0, total / known, 0.0)
        variances = np.where(weight > 0, 1 / known, np.inf)
        values[..., 0], variances[..., 0] = 1.0, 0.0  # the total is known
        return Coefficients(self, values, variances)


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Means of products of functions: estimates with any leading axes, and their variances."""

    shape: Shape
    values: Array
    variances: Array

    def covers(self, attributes: Sequence[int]) -> bool:
        """Return whether some view reports all of these attributes."""
        return tuple(sorted(attributes)) in self.shape.places

    def faces(self, attributes: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the largest sets among these attributes that views report."""
        faces: list[tuple[int, ...]] = []
        for size in range(len(attributes), 0, -1):
            for one in itertools.combinations(sorted(attributes), size):
                if self.covers(one) and not any(set(one) <= set(larger) for larger in faces):
                    faces.append(one)
        return faces

    def table(self, attributes: tuple[int, ...]) -> Array:
        """Return the frequencies of a covered set of attributes, in increasing order; they may be negative."""
        sizes = [self.shape.levels[i].size for i in attributes]
        seen = self.values[..., self.shape.keys(attributes, sizes)]
        return along(seen, [synthesis(self.shape.levels[i]) for i in attributes])

    def table_variance(self, attributes: tuple[int, ...]) -> Array:
        """Return the variance of each frequency of a covered set, as far as views show it (see `shows`)."""
        sizes = [self.shape.levels[i].size for i in attributes]
        seen = self.variances[..., self.shape.keys(attributes, sizes)]
        return along(np.where(np.isfinite(seen), seen, 0.0), [synthesis(self.shape.levels[i]) ** 2 for i in attributes])

    def shows(self, attributes: tuple[int, ...]) -> bool:
        """Return whether views show single values of a covered set; finer values are assumed even within cells."""
        sizes = [self.shape.levels[i].size for i in attributes]
        return bool(np.isfinite(self.variances[..., self.shape.keys(attributes, sizes)]).all())


def along(table: Array, matrices: Sequence[Array]) -> Array:
    """Apply a matrix along each of the last axes."""
    for k, matrix in enumerate(matrices):
        axis = table.ndim - len(matrices) + k
        table = np.moveaxis(np.tensordot(table, matrix, axes=(axis, 1)), -1, axis)
    return table


def subsets(attributes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return all sets of some attributes, the empty one first."""
    return [one for size in range(len(attributes) + 1) for one in itertools.combinations(attributes, size)]
