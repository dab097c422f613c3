"""Three ways to make frequencies non-negative with given sums, for whole stacks of tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.contract.layouts import Level, Levels
from tacit.model.basis import Array
from tacit.model.coefficients import along

__all__ = ["norm_sub", "ripple", "top_down"]

ROUNDS = 1000
"""Maximum waves of a ripple; each leaves less below zero than the previous one."""


def norm_sub(values: Array, total: Array | float = 1.0) -> Array:
    """Return the nearest non-negative vectors with a given total, along the last axis: the same amount is subtracted.

    Examples
    --------
    >>> norm_sub(np.array([0.7, 0.5, -0.1])).round(3).tolist()
    [0.6, 0.4, 0.0]
    """
    wanted = np.maximum(np.asarray(total, dtype=np.float64), 0.0)[..., None]
    ordered = -np.sort(-values, axis=-1)
    taken = (np.cumsum(ordered, axis=-1) - wanted) / np.arange(1, values.shape[-1] + 1)
    kept = np.maximum((ordered > taken).sum(axis=-1, keepdims=True) - 1, 0)
    return np.maximum(values - np.take_along_axis(taken, kept, axis=-1), 0.0)


def ripple(tables: Array, axes: int, below: float = 0.0) -> Array:
    """Set cells below ``-below`` to 0 and subtract the difference from their neighbours, repeatedly (the paper).

    Neighbours differ in one of the last ``axes`` attributes. All negative cells of a wave are treated at once.
    """
    result = tables.copy()
    shape = tables.shape[tables.ndim - axes :]
    neighbours = sum(shape) - axes
    if neighbours == 0:
        return result
    for _ in range(ROUNDS):
        low = np.where(result < -max(below, 1e-12), result, 0.0)
        if not low.any():
            break
        result -= low
        share = low / neighbours
        for axis in range(result.ndim - axes, result.ndim):
            result += share.sum(axis=axis, keepdims=True) - share
    return result


def top_down(tables: Array, levels: Sequence[Levels]) -> Array:
    """Project level by level, coarsest first: the cells within a coarser cell become non-negative and keep its total.

    All attributes are refined together; one of two levels stands at its values from the first step on. With a single
    step this is `norm_sub`. Where attributes have many levels the totals of coarse cells survive, and so do ranges.
    """
    leading = tables.shape[: tables.ndim - len(levels)]
    steps = max(own.finest for own in levels)
    depths = [[max(0, own.finest - (steps - step)) if step else 0 for own in levels] for step in range(steps + 1)]
    depths[1:] = [
        [max(depth, 1) if own.finest else 0 for depth, own in zip(row, levels, strict=True)] for row in depths[1:]
    ]
    totals: Array = np.ones((*leading, 1))
    parent = np.zeros([own.size for own in levels], dtype=np.int64)  # coarse cell of every value
    for row in depths[1:]:
        cells = [own[depth] for own, depth in zip(levels, row, strict=True)]
        index = np.ravel_multi_index(np.ix_(*(cell.table() for cell in cells)), [cell.cells for cell in cells])
        sums = _sums(tables, cells)
        owner = np.zeros(sums.shape[-1], dtype=np.int64)
        owner[index.ravel()] = parent.ravel()
        totals = _within(sums, owner, totals)
        parent = index
    return totals[..., parent.ravel()].reshape(tables.shape) if steps else tables


def _sums(tables: Array, cells: Sequence[Level]) -> Array:
    """Add values up into cells, flat."""
    added = along(tables, [cell.matrix() for cell in cells])
    return added.reshape(*added.shape[: added.ndim - len(cells)], -1)


def _within(values: Array, owner: np.ndarray, totals: Array) -> Array:
    """Project the cells of each owner onto its total."""
    result = np.empty_like(values)
    sizes = np.bincount(owner, minlength=totals.shape[-1])
    order = np.argsort(owner, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    for size in np.unique(sizes[sizes > 0]):
        owners = np.flatnonzero(sizes == size)
        mine = order[starts[owners][:, None] + np.arange(size)]  # (owners, cells of each)
        result[..., mine] = norm_sub(values[..., mine], totals[..., owners])
    return result
