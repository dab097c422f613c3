"""Maximum entropy: the table of maximum entropy that agrees with given smaller tables, by proportional fitting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.estimate.functional import Vector

__all__ = ["Fitted", "maximum_entropy"]

SWEEPS = 500
"""Maximum sweeps of iterative proportional fitting."""

TOLERANCE = 1e-11
"""Change of a cell below which the fit has converged."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A table, the number of sweeps, and the largest remaining difference from a given table."""

    table: Vector
    sweeps: int
    gap: float

    @property
    def converged(self) -> bool:
        """Whether the last sweep changed almost nothing."""
        return self.sweeps < SWEEPS


def maximum_entropy(
    sizes: Sequence[int],
    faces: Sequence[tuple[int, ...]],
    marginals: Sequence[Vector],
    start: Vector | None = None,
    *,
    tolerance: float = TOLERANCE,
) -> Fitted:
    """Fit a table to non-negative tables over some of its axes, which sum to 1; they may have leading axes.

    With a ``start``, the table closest to it, by divergence, that agrees with the given ones. Slightly contradictory
    tables leave a gap; the fit then cycles among them, and the last sweep is used.
    """
    leading = marginals[0].shape[: marginals[0].ndim - len(faces[0])]
    fitted = np.full((*leading, *sizes), 1 / math.prod(sizes)) if start is None else start.copy()
    offset = len(leading)
    sums = [tuple(offset + k for k in range(len(sizes)) if k not in face) for face in faces]
    shapes = [(*leading, *(size if k in face else 1 for k, size in enumerate(sizes))) for face in faces]
    targets = [table.reshape(shape) for table, shape in zip(marginals, shapes, strict=True)]
    sweeps, change = 0, np.inf
    while change > tolerance and sweeps < SWEEPS:
        sweeps += 1
        before = fitted.copy()
        for target, axes in zip(targets, sums, strict=True):
            now = fitted.sum(axis=axes, keepdims=True)
            fitted *= np.divide(target, now, out=np.zeros_like(now), where=now > 0)
        change = np.abs(fitted - before).max()
    gaps = [
        np.abs(fitted.sum(axis=axes, keepdims=True) - target).max() for target, axes in zip(targets, sums, strict=True)
    ]
    return Fitted(fitted, sweeps, float(max(gaps)))
