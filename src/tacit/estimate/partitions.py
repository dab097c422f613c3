"""Least squares over partitions that overlap: the same split as that of a tree, from a dense matrix."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tacit.contract.layouts import LARGEST, Level, Levels
from tacit.estimate.functional import Vector
from tacit.estimate.split import BlueTree, Solver

__all__ = ["Partitions", "is_nested", "solver"]


def solver(levels: Levels, weights: npt.ArrayLike) -> Solver:
    """Return the solver for the splits of one attribute's vectors: a tree if levels are nested."""
    nested = is_nested(levels) or (levels.size > LARGEST and _refine(levels))
    return BlueTree(levels, weights) if nested else Partitions(levels, weights)


def is_nested(levels: Levels) -> bool:
    """Return whether each level has cells of one width, no offset, and refines the previous level."""
    return (
        not levels.calendar
        and not any(levels.offsets)
        and all(wide % fine == 0 for wide, fine in pairwise(levels.widths))
    )


def _refine(levels: Levels) -> bool:
    """Return whether each level refines the previous one, for any cell widths."""
    return all(np.isin(_starts(wide), _starts(fine)).all() for wide, fine in pairwise(levels.levels))


def _starts(level: Level) -> npt.NDArray[np.int64]:
    """Return the first value index of each cell: cells are runs of values."""
    return np.flatnonzero(np.diff(level.table(), prepend=-1))


class Partitions(Solver):
    """The solver for any levels.

    The rounding residue of f is read from the single values, so that splits add up to f.
    """

    def __init__(self, levels: Levels, weights: npt.ArrayLike) -> None:
        super().__init__(levels, weights)
        tables = [level.table() for level in levels.levels]
        self._starts = list(map(_starts, levels.levels))
        self.matrix = np.zeros((levels.size, levels.size))
        for weight, table in zip(self.weights, tables, strict=True):
            if weight:
                self.matrix += weight * (table[:, None] == table)
        self.inverse = np.linalg.inv(self.matrix)

    def cell_sums(self, vectors: npt.ArrayLike) -> list[Vector]:
        """Return W_j x for every level j; rows of ``vectors`` are solved side by side."""
        f = np.atleast_2d(np.asarray(vectors, dtype=np.float64))
        x = f @ self.inverse
        x += (f - x @ self.matrix) @ self.inverse
        sums = [np.add.reduceat(x, starts, axis=1) for starts in self._starts]
        sums[-1] = sums[-1] + (f - x @ self.matrix) / self.weights[-1]
        return sums

    @cached_property
    def ones_solved(self) -> Vector:
        """``G^-1 1``."""
        solved: Vector = self.inverse.sum(axis=1)
        return solved
