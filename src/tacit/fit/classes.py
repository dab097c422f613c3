"""Values in classes, and tables with given sums.

For questions over three attributes and more, each attribute is cut into **classes** of values that the question treats
alike, inside and outside of a range, say: the table of maximum entropy over classes is small.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacit.decode.functional import Vector

__all__ = ["classes", "rake"]

SWEEPS = 200
SETTLED = 1e-9
TINY = 1e-300


def classes(vector: Vector, weights: Vector, most: int) -> tuple[npt.NDArray[np.int64], Vector]:
    """Return each value's class, and each class's mean; values that differ share a class where there are too many."""
    distinct, member = np.unique(vector, return_inverse=True)
    if len(distinct) > most:
        mass = np.bincount(member, weights, minlength=len(distinct))
        before = (np.cumsum(mass) - mass / 2) / max(mass.sum(), TINY)
        member = np.minimum((before * most).astype(np.int64), most - 1)[member]
        member = np.unique(member, return_inverse=True)[1]
    mass = np.bincount(member, weights)
    means = np.bincount(member, weights * vector) / np.maximum(mass, TINY)
    return member, np.where(mass > 0, means, 0.0)


def rake(table: Vector, rows: Vector, columns: Vector) -> Vector:
    """Return the table nearest to a positive one that has the given sums of rows and columns."""
    for _ in range(SWEEPS):
        table = table * (rows / np.maximum(table.sum(axis=1), TINY))[:, None]
        found = table.sum(axis=0)
        table = table * (columns / np.maximum(found, TINY))
        if np.abs(found - columns).max() < SETTLED:
            break
    return table
