"""Isotonic regression: the non-decreasing sequence nearest to given numbers in least squares (PAV)."""

from __future__ import annotations

import numpy as np

from tacit.estimate.functional import Vector

__all__ = ["isotonic", "isotonic_rows"]


def isotonic(values: Vector) -> Vector:
    """Return the isotonic regression of numbers with equal weights.

    Examples
    --------
    >>> isotonic(np.array([1.0, 3.0, 2.0, 4.0])).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    sums: list[float] = []
    counts: list[int] = []
    for value in values.tolist():
        total, count = value, 1
        while sums and sums[-1] * count >= total * counts[-1]:  # the previous mean is not below this one
            total, count = total + sums.pop(), count + counts.pop()
        sums.append(total)
        counts.append(count)
    return np.repeat([total / count for total, count in zip(sums, counts, strict=True)], counts)


def isotonic_rows(rows: Vector) -> Vector:
    """Return the isotonic regression of every row: neighbours that do not increase are pooled, all of them at once.

    Examples
    --------
    >>> isotonic_rows(np.array([[1.0, 3.0, 2.0, 4.0], [2.0, 1.0, 0.0, 5.0]])).tolist()
    [[1.0, 2.5, 2.5, 4.0], [1.0, 1.0, 1.0, 5.0]]
    """
    means, sums, counts = rows.ravel(), rows.ravel(), np.ones(rows.size, dtype=np.int64)
    row = np.repeat(np.arange(len(rows)), rows.shape[1])
    while True:
        stays = (means[1:] > means[:-1]) | (row[1:] != row[:-1])
        if stays.all():
            return np.repeat(means, counts).reshape(rows.shape)
        first = np.flatnonzero(np.concatenate([[True], stays]))
        sums, counts, row = np.add.reduceat(sums, first), np.add.reduceat(counts, first), row[first]
        means = sums / counts
