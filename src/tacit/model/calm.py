"""The CALM paper's tables: consistent views of single values, ripple, maximum entropy. A baseline.

Consistency visits all sets S of attributes in subset order, averages the S-tables of all views that contain S by their
inverse variance, and spreads the corrections evenly over each view's cells. Tables may have leading axes.

Reference   Zhang, Wang, Li, He and Chen 2018.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.errors import UnanswerableError
from tacit.estimate.functional import Vector
from tacit.model.entropy import maximum_entropy
from tacit.model.evidence import Attribute, NoisyTable
from tacit.model.nonnegative import norm_sub, ripple

__all__ = ["Calm"]

RIPPLES = 3
"""Rounds of ripple and consistency."""


@dataclass(frozen=True, eq=False)
class Calm:
    """Views of single values: their attributes in increasing order, tables, and the precision of a cell."""

    sizes: tuple[int, ...]
    views: tuple[tuple[int, ...], ...]
    tables: tuple[Vector, ...]
    precisions: tuple[Vector, ...]

    @classmethod
    def of(cls, attributes: Sequence[Attribute], evidence: Sequence[NoisyTable]) -> Calm:
        """Return the views of single values among the evidence; attributes of one value are left out."""
        views, tables, precisions = [], [], []
        for table in evidence:
            varying = [k for k, i in enumerate(table.attributes) if attributes[i].size > 1]
            if all(int(table.partitions[k].max()) + 1 == attributes[table.attributes[k]].size for k in varying):
                order = sorted(varying, key=lambda k: table.attributes[k])
                views.append(tuple(table.attributes[k] for k in order))
                shares = np.asarray(table.with_cells_of(table.attributes).shares)
                axes = tuple(k for k in range(shares.ndim) if k not in varying)
                tables.append(shares.sum(axis=axes).transpose(np.argsort(np.argsort(order))))
                precisions.append(np.asarray(np.min(table.precision)))
        return cls(tuple(attribute.size for attribute in attributes), tuple(views), tuple(tables), tuple(precisions))

    @cached_property
    def consistent(self) -> tuple[Vector, ...]:
        """The views' tables after rounds of ripple and consistency."""
        tables = self._average_margins(self.tables)
        for _ in range(RIPPLES):
            rippled = [ripple(table, len(view)) for table, view in zip(tables, self.views, strict=True)]
            tables = self._average_margins(rippled)
        return tuple(tables)

    def _average_margins(self, tables: Sequence[Vector]) -> list[Vector]:
        """Return tables whose common margins agree."""
        averaged = [table.copy() for table in tables]
        sizes = [(view, size) for view in self.views for size in range(len(view) + 1)]
        sets = {attributes for view, size in sizes for attributes in itertools.combinations(view, size)}
        for attributes in sorted(sets, key=len):
            holders = [number for number, view in enumerate(self.views) if set(attributes) <= set(view)]
            sums, weights, cells = [], [], []
            for number in holders:
                view, table = self.views[number], averaged[number]
                axes = tuple(k - len(view) for k, i in enumerate(view) if i not in attributes)
                cells.append(math.prod(self.sizes[i] for i in view if i not in attributes))
                sums.append(table.sum(axis=axes))
                weights.append(self.precisions[number] / cells[-1])
            wide = [weight[(..., *[None] * len(attributes))] for weight in weights]
            total = sum(wide[1:], wide[0])
            average = sum((w * s for w, s in zip(wide, sums, strict=True)), 0.0) / total
            if not attributes:
                average = np.ones_like(average)  # the total is known
            for number, known, count in zip(holders, sums, cells, strict=True):
                view = self.views[number]
                shift = (average - known) / count
                averaged[number] += shift.reshape(
                    *shift.shape[: shift.ndim - len(attributes)],
                    *(self.sizes[i] if i in attributes else 1 for i in view),
                )
        return averaged

    def table(self, attributes: Sequence[int]) -> Vector:
        """Return the table of some attributes, in the given order."""
        ordered = tuple(sorted(attributes))
        table = self._of_view(ordered)
        if table is None:
            table = self._reconstruct(ordered)
        leading = table.ndim - len(ordered)
        return table.transpose([*range(leading), *(leading + ordered.index(i) for i in attributes)])

    def _of_view(self, attributes: tuple[int, ...]) -> Vector | None:
        """Return the table of attributes that a view reports together, made non-negative; None if none does."""
        for view, table in zip(self.views, self.consistent, strict=True):
            if set(attributes) <= set(view):
                summed = table.sum(axis=tuple(k - len(view) for k, i in enumerate(view) if i not in attributes))
                flat = summed.reshape(*summed.shape[: summed.ndim - len(attributes)], -1)
                return norm_sub(flat).reshape(summed.shape)
        return None

    def _reconstruct(self, attributes: tuple[int, ...]) -> Vector:
        """Return the table of maximum entropy given all reported tables."""
        faces: dict[tuple[int, ...], Vector] = {}
        for size in range(len(attributes), 0, -1):
            for subset in itertools.combinations(attributes, size):
                known = None if any(set(subset) <= set(face) for face in faces) else self._of_view(subset)
                if known is not None:
                    faces[subset] = known
        if {i for face in faces for i in face} != set(attributes):
            message = "No view reports single values of one of these attributes. Use method 'fit', or leave it out."
            raise UnanswerableError(message, code="no-reports")
        places = [tuple(attributes.index(i) for i in face) for face in faces]
        sizes = [self.sizes[i] for i in attributes]
        return maximum_entropy(sizes, places, list(faces.values()), tolerance=1e-7).table
