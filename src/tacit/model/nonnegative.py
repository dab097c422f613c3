"""Three ways to make frequencies non-negative with given sums; two of them for whole stacks of tables."""

from __future__ import annotations

import numpy as np

from tacit.estimate.functional import Vector

__all__ = ["nearest_shares", "norm_sub", "ripple"]

NEGLIGIBLE = 1e-12
"""Size of a negative frequency that is rounding."""

ROUNDS = 1000
"""Maximum waves of a ripple; each leaves less below zero than the previous one."""

RIDGE = 1e-6
"""Information about every cell, relative to the mean, so that cells nobody reports have one nearest value."""


def norm_sub(values: Vector, total: Vector | float = 1.0) -> Vector:
    """Return the nearest non-negative vectors with a given total, along the last axis: the same amount is subtracted.

    Examples
    --------
    >>> norm_sub(np.array([0.7, 0.5, -0.1])).round(3).tolist()
    [0.6, 0.4, 0.0]
    """
    wanted = np.maximum(np.asarray(total, dtype=np.float64), 0.0)[..., None]
    ordered = -np.sort(-values, axis=-1)
    taken = (np.cumsum(ordered, axis=-1) - wanted) / np.arange(1, values.shape[-1] + 1)
    last = np.maximum((ordered > taken).sum(axis=-1, keepdims=True) - 1, 0)
    return np.maximum(values - np.take_along_axis(taken, last, axis=-1), 0.0)


def nearest_shares(values: Vector, information: Vector, total: float) -> Vector:
    """Return the non-negative vector with a given total that is nearest to a vector, given what is known about cells.

    What is known well changes least: a cell below zero is made up for by its neighbours, if it is only known together
    with them. Cells that were below zero once stay at 0, so the nearest vector is approximate.

    Examples
    --------
    >>> together = np.diag([1.0, 1.0, 100.0]) + 100 * np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 0]])
    >>> nearest_shares(np.array([0.6, -0.1, 0.5]), together, 1.0).round(2).tolist()
    [0.5, 0.0, 0.5]
    """
    cells = len(values)
    metric = information + RIDGE * np.trace(information) / cells * np.eye(cells)
    free, near = np.ones(cells, dtype=bool), values
    while (near < 0).any():
        free = free & (near > 0)
        inside, outside = np.flatnonzero(free), np.flatnonzero(~free)
        pulls = np.stack([metric[np.ix_(inside, outside)] @ values[outside], np.ones(len(inside))], axis=1)
        shift, even = np.linalg.solve(metric[np.ix_(inside, inside)], pulls).T
        near = np.zeros(cells)
        near[inside] = values[inside] + shift + even * (total - (values[inside] + shift).sum()) / even.sum()
    return near


def ripple(tables: Vector, axes: int) -> Vector:
    """Set negative cells to 0 and subtract the difference from their neighbours, repeatedly (the paper).

    Neighbours differ in one of the last ``axes`` attributes. All negative cells of a wave are treated at once.
    """
    result = tables.copy()
    shape = tables.shape[tables.ndim - axes :]
    neighbours = sum(shape) - axes
    if neighbours == 0:
        return result
    for _ in range(ROUNDS):
        low = np.where(result < -NEGLIGIBLE, result, 0.0)
        if not low.any():
            break
        result -= low
        share = low / neighbours
        for axis in range(result.ndim - axes, result.ndim):
            result += share.sum(axis=axis, keepdims=True) - share
    return result
