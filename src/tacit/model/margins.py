"""Margins: sums of a table over all but some axes, which a fit preserves.

Shifts of a table that keep given margins are those without a part in the span of functions of the margins' axes. In the
coordinates ``u = shift / sqrt(table)`` the nearest such shift is an orthogonal projection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from tacit.estimate.functional import Vector
from tacit.model.entropy import maximum_entropy

__all__ = ["Faces", "Margins", "keep_margins"]

Faces = Sequence[tuple[int, ...]]
"""Sets of axes."""

ROUGHLY = 1e-6
"""Change of a cell below which margins have converged while a table is fitted."""

SMALL = 1e-9
"""Ridge added to products, relative to the largest: margins overlap, so some functions occur twice."""


def keep_margins(table: Vector, like: Vector, faces: Faces) -> Vector:
    """Return the table nearest to a positive one, by divergence, that has the margins of another one, roughly."""
    if tuple(faces) == ((),):
        scaled: Vector = table * (like.sum() / table.sum())
        return scaled
    margins = [like.sum(axis=tuple(k for k in range(like.ndim) if k not in face)) for face in faces]
    return maximum_entropy(like.shape, faces, margins, table, tolerance=ROUGHLY).table


class Margins:
    """The margins of a table over some sets of its axes; the empty set is the total."""

    def __init__(self, table: Vector, faces: Faces) -> None:
        self._root = np.sqrt(table)
        self._others = [tuple(axis for axis in range(table.ndim) if axis not in face) for face in faces]
        self._shapes = [tuple(size if axis in face else 1 for axis, size in enumerate(table.shape)) for face in faces]
        self._ends = np.cumsum([0, *(math.prod(shape) for shape in self._shapes)])
        products = self._products(table)
        products += SMALL * products.max() * np.eye(len(products))
        first = self._ends[1]  # cells of one margin are disjoint, so this block is diagonal
        self._first, beside = np.diag(products)[:first], products[:first, first:]
        self._beside = beside / self._first[:, None]
        self._complement = np.linalg.inv(products[first:, first:] - beside.T @ self._beside)

    def _products(self, table: Vector) -> Vector:
        """Return the mean of the product of every two indicators of margins' cells, under the table."""
        products = np.zeros((self._ends[-1], self._ends[-1]))
        for a, (others, shape) in enumerate(zip(self._others, self._shapes, strict=True)):
            for b in range(a, len(self._others)):
                both = tuple(axis for axis in others if axis in self._others[b])
                summed = table.sum(axis=both, keepdims=True)
                left, right = math.prod(shape), math.prod(self._shapes[b])
                rows = np.broadcast_to(np.arange(left).reshape(shape), summed.shape).ravel()
                columns = np.broadcast_to(np.arange(right).reshape(self._shapes[b]), summed.shape).ravel()
                block = np.bincount(rows * right + columns, summed.ravel(), left * right).reshape(left, right)
                products[self._ends[a] : self._ends[a + 1], self._ends[b] : self._ends[b + 1]] = block
                products[self._ends[b] : self._ends[b + 1], self._ends[a] : self._ends[a + 1]] = block.T
        return products

    def centre(self, spread: Vector) -> Vector:
        """Return the part of ``u`` that changes no margin; there may be leading axes."""
        leading = spread.ndim - self._root.ndim
        weighted = self._root * spread
        sums = [
            weighted.sum(axis=tuple(leading + axis for axis in other)).reshape(*spread.shape[:leading], -1)
            for other in self._others
        ]
        first, others = sums[0], np.concatenate([sums[0][..., :0], *sums[1:]], axis=-1)
        residual = (others - first @ self._beside) @ self._complement
        fitted = np.concatenate([first / self._first - residual @ self._beside.T, residual], axis=-1)
        back = sum(
            fitted[..., start:stop].reshape(*spread.shape[:leading], *shape)
            for start, stop, shape in zip(self._ends, self._ends[1:], self._shapes, strict=False)
        )
        return cast("Vector", spread - self._root * back)
