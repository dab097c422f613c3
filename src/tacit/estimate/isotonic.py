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
    """Return the isotonic regression of every row, by the max-min formula over means of runs.

    Examples
    --------
    >>> isotonic_rows(np.array([[1.0, 3.0, 2.0, 4.0], [2.0, 1.0, 0.0, 5.0]])).tolist()
    [[1.0, 2.5, 2.5, 4.0], [1.0, 1.0, 1.0, 5.0]]
    """
    count = rows.shape[1]
    sums = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(rows, axis=1)], axis=1)
    first, last = np.arange(count)[:, None], np.arange(count)[None, :]
    means = (sums[:, None, 1:] - sums[:, :-1, None]) / np.where(last >= first, last - first + 1, 1)
    means = np.where(last >= first, means, np.inf)  # [row, first, last]
    least = np.minimum.accumulate(means[:, :, ::-1], axis=2)[:, :, ::-1]
    return np.asarray(np.where(last >= first, least, -np.inf).max(axis=1))
