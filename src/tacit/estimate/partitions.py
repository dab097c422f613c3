"""Least squares over partitions that overlap: the same split as that of a tree, from a dense matrix."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tacit.contract.layouts import LARGEST, Level, Levels
from tacit.estimate.functional import Vector
from tacit.estimate.split import BlueTree, Solver, Split

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


def _add_cells(matrix: npt.NDArray[np.float64], starts: npt.NDArray[np.int64], weight: float) -> None:
    """Add a weight to the entries of all pairs of values in the same cell."""
    ends = np.append(starts[1:], len(matrix))
    single = starts[ends - starts == 1]
    matrix[single, single] += weight
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if end - start > 1:
            matrix[start:end, start:end] += weight


class Partitions(Solver):
    """The solver for any levels.

    The rounding residue of f is read from the single values, so that splits add up to f.
    """

    def __init__(self, levels: Levels, weights: npt.ArrayLike) -> None:
        super().__init__(levels, weights)
        self._starts = list(map(_starts, levels.levels))

    @cached_property
    def matrix(self) -> npt.NDArray[np.float64]:
        """The matrix ``sum_j omega_j W_j'W_j``."""
        return self._build_matrix()

    def _build_matrix(self) -> npt.NDArray[np.float64]:
        matrix = np.zeros((self.levels.size, self.levels.size))
        for weight, starts in zip(self.weights, self._starts, strict=True):
            if weight:
                _add_cells(matrix, starts, float(weight))
        return matrix

    @cached_property
    def inverse(self) -> npt.NDArray[np.float64]:
        """The inverse, which only vectors other than 1 need: it takes three times as long as one solution."""
        return np.asarray(np.linalg.inv(self.matrix), np.float64)

    def cell_sums(self, vectors: npt.ArrayLike) -> list[Vector]:
        """Return W_j x for every level j; rows of ``vectors`` are solved side by side."""
        f = np.atleast_2d(np.asarray(vectors, dtype=np.float64))
        x = f @ self.inverse
        x += (f - x @ self.matrix) @ self.inverse
        return self._sums(x, f - x @ self.matrix)

    def _sums(self, x: Vector, residue: Vector) -> list[Vector]:
        """Return the cell sums of solutions; what rounding leaves of f is added to the single values."""
        sums = [np.add.reduceat(x, starts, axis=1) for starts in self._starts]
        sums[-1] = sums[-1] + residue / self.weights[-1]
        return sums

    @cached_property
    def ones_split(self) -> Split:
        """The split of 1."""
        solved, residue = self._solved_ones
        return self.weigh(self._sums(solved[None, :], residue[None, :]))

    @cached_property
    def ones_solved(self) -> Vector:
        """``G^-1 1``."""
        return self._solved_ones[0]

    @cached_property
    def _solved_ones(self) -> tuple[Vector, Vector]:
        """The solution for 1, and what rounding leaves of it; the matrix is kept only if other vectors need it."""
        matrix, ones = vars(self).get("matrix"), np.ones(self.levels.size)
        matrix = self._build_matrix() if matrix is None else matrix
        solved = np.asarray(np.linalg.solve(matrix, ones), np.float64)
        return solved, ones - solved @ matrix
