"""Tables of three attributes and more: of maximum entropy, with what views that show so many say beyond pairs.

Views that show three attributes together also say how these depend on each other beyond what their pairs tell. The
means of `tacit.marginals`, shrunk as far as noise says, give a table of them; it is raked to the fitted pairs, so that
sums agree, and takes the place of the pairs among what the table of maximum entropy must have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property, reduce
from typing import cast

import numpy as np

from tacit.decode.functional import Vector
from tacit.layouts import Levels
from tacit.marginals.basis import synthesis
from tacit.marginals.coefficients import Shape, along, subsets
from tacit.marginals.entropy import maximum_entropy
from tacit.marginals.model import Model
from tacit.marginals.views import ViewTable

__all__ = ["Faces", "Wider", "contracted", "shifted", "widest"]

Faces = Mapping[tuple[int, ...], Vector]
"""Tables of some axes of a larger table."""

MOST_NUMBERS = 2**17
"""Means of products that are shrunk together: a second or two."""

LEAST = 1e-3
"""Share of the table of maximum entropy in one that may have empty cells."""


class Wider:
    """What the views of a service say about three attributes and more."""

    def __init__(self, levels: Sequence[Levels], seen: Sequence[ViewTable]) -> None:
        self._levels, self._seen = tuple(levels), seen

    @cached_property
    def _model(self) -> Model | None:
        """The shrunk means of all views; None if no view shows three attributes, or they are too many."""
        sets = {one for view in self._seen for one in subsets(view.shown.attributes)}
        numbers = sum(math.prod(self._levels[i].size - 1 for i in one) for one in sets)
        if max(map(len, sets), default=0) < 3 or numbers > MOST_NUMBERS:
            return None
        shape = Shape(self._levels, tuple(view.shown for view in self._seen))
        return Model(shape, [view.table for view in self._seen], [float(view.reports) for view in self._seen])

    def faces(self, attributes: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the largest sets of three and more among these attributes that views show."""
        return [face for face in self._model.means.faces(attributes) if len(face) > 2] if self._model else []

    def table(self, face: tuple[int, ...], matrices: Sequence[Vector], *, alone: bool) -> Vector:
        """Return the table of a face, alone or of a larger table, its values summed by a matrix of each attribute."""
        model = cast("Model", self._model)
        return along(model.frequencies(face) if alone else model.face(face), matrices)

    def error(self, face: tuple[int, ...], vectors: Sequence[Vector]) -> float:
        """Return the error of the mean of a product, as far as it depends on three attributes and more."""
        means = cast("Model", self._model).means
        sides = [vector @ synthesis(self._levels[i]) for i, vector in zip(face, vectors, strict=True)]
        weights = reduce(np.multiply.outer, sides)
        order = sum(index > 0 for index in np.indices(weights.shape))
        variances = means.variances[means.shape.keys(face, weights.shape)]
        known = (order > 2) & np.isfinite(variances)
        return math.sqrt(float((weights[known] ** 2 * variances[known]).sum()))


def widest(sizes: Sequence[int], pairs: Faces, wider: Faces) -> Vector:
    """Return the table of maximum entropy that has these tables of pairs, and wider ones raked to them."""
    faces: dict[tuple[int, ...], Vector] = {}
    for axes, seen in wider.items():
        own = [sizes[axis] for axis in axes]
        inside = [(pair, table) for pair, table in pairs.items() if set(pair) <= set(axes)]
        places = [tuple(axes.index(axis) for axis in pair) for pair, _ in inside]
        given = [table for _, table in inside]
        even = maximum_entropy(own, places, given).table
        faces[axes] = maximum_entropy(own, places, given, (1 - LEAST) * seen + LEAST * even).table
    faces |= {pair: table for pair, table in pairs.items() if not any(set(pair) <= set(axes) for axes in wider)}
    return maximum_entropy(sizes, list(faces), list(faces.values())).table


def contracted(table: Vector, vectors: Sequence[Vector]) -> float:
    """Return the mean of a product of vectors, one of each axis."""
    for vector in reversed(vectors):
        table = table @ vector
    return float(table)


def shifted(table: Vector, vectors: Sequence[Vector], error: float) -> Vector:
    """Return a table whose mean product is larger by an error, or as near to it as cells stay positive."""
    tilts = []
    for axis, vector in enumerate(vectors):
        own = table.sum(axis=tuple(k for k in range(table.ndim) if k != axis))
        tilts.append(own * (vector - own @ vector))
    tilt = reduce(np.multiply.outer, tilts)
    gain = contracted(tilt, vectors)
    moved: Vector = np.maximum(table + tilt * (error / gain if gain else 0.0), table / 10)
    return moved
