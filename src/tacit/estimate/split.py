"""Split one attribute's vector over the attribute's levels: cover, rdc and blue.

A **split** of a vector f is one vector g_j for each level j with ``sum_j W_j' g_j = f``: reading level j with weights
g_j and adding up gives f. Decoders differ in the split they choose; all are unbiased because of this identity.

cover   a range is tiled with the fewest cells (MDA); a general vector is tiled run of equal values by run.
rdc     the k best signed covers (a parent minus some children), weighted inversely to their sizes (JOINT, section 6).
blue    ``g_j = omega_j W_j x`` with ``(sum_j omega_j W_j'W_j) x = f``: least variance for noise 1/omega_j per cell of
        level j. The matrix is a tree, so x comes from one pass up and one down, in time linear in the values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tacit.contract.layouts import Levels
from tacit.errors import InternalError
from tacit.estimate.functional import Vector

__all__ = ["BlueTree", "Solver", "Split", "add_up", "cover_split", "rdc_split", "runs"]

Split = list[Vector | None]
"""For each level its vector over cells; None where the level is not read."""


def runs(vector: Vector, values: int) -> list[tuple[int, int, float]]:
    """Return maximal runs (low, high, value) of equal non-zero values among the first ``values`` indices."""
    edges = np.flatnonzero(np.diff(vector[:values])) + 1
    bounds = [0, *edges.tolist(), values]
    return [(low, high - 1, float(vector[low])) for low, high in pairwise(bounds) if vector[low] != 0]


def _empty(levels: Levels) -> list[Vector]:
    return [np.zeros(level.cells) for level in levels.levels]


def _drop_unread(split: list[Vector]) -> Split:
    return [vector if vector.any() else None for vector in split]


def cover_split(levels: Levels, vector: Vector, *, with_root: bool = True) -> Split:
    """Tile the vector with the fewest cells; without a root view, the whole range is tiled one level below."""
    split = _empty(levels)
    if with_root and np.ptp(vector) == 0:
        split[0][0] = vector[0]
        return _drop_unread(split)
    for low, high, value in runs(vector, levels.size - levels.has_null):
        tiles = levels.cover(low, high)
        if not with_root and tiles == [(0, 0)]:
            tiles = [(1, cell) for cell in range(levels[1].cells - levels.has_null)]
        for depth, cell in tiles:
            split[depth][cell] += value
    if levels.has_null and vector[-1]:
        split[levels.finest][-1] += vector[-1]
    return _drop_unread(split)


@dataclass(frozen=True)
class _Signed:
    """A signed cover: cells with their signs."""

    cells: tuple[tuple[int, int, int], ...]

    def plus(self, other: _Signed) -> _Signed:
        return _Signed(self.cells + other.cells)

    def negate(self) -> _Signed:
        return _Signed(tuple((depth, cell, -sign) for depth, cell, sign in self.cells))


def signed_covers(levels: Levels, low: int, high: int, count: int, *, with_root: bool = True) -> list[_Signed]:
    """Return the ``count`` smallest signed covers of a range, smallest first."""

    def best(covers: list[_Signed]) -> list[_Signed]:
        distinct = {tuple(sorted(cover.cells)): cover for cover in covers}
        return sorted(distinct.values(), key=lambda cover: (len(cover.cells), sorted(cover.cells)))[:count]

    @cache
    def solve(depth: int, cell: int, *, inside: bool) -> tuple[_Signed, ...]:
        """Return the best covers of a range, or of its complement, within one cell."""
        level = levels[depth]
        first = cell * level.width
        last = min(first + level.width, level.values) - 1
        overlap = min(last, high) - max(first, low) + 1
        wanted = max(0, overlap) if inside else last - first + 1 - max(0, overlap)
        if wanted == 0:
            return (_Signed(()),)
        usable = not (depth == 0 and (levels.has_null or not with_root))
        options = [_Signed(((depth, cell, 1),))] if wanted == last - first + 1 and usable else []
        if depth < levels.finest:
            options += children(depth, cell, inside=inside)
            if usable and wanted < last - first + 1:
                cell_itself = _Signed(((depth, cell, 1),))
                options += [
                    cell_itself.plus(complement.negate()) for complement in children(depth, cell, inside=not inside)
                ]
        return tuple(best(options))

    def children(depth: int, cell: int, *, inside: bool) -> list[_Signed]:
        level, finer = levels[depth], levels[depth + 1]
        first = cell * level.width
        last = min(first + level.width, finer.values) - 1
        covers = [_Signed(())]
        for child in range(first // finer.width, last // finer.width + 1):
            covers = best([left.plus(right) for left in covers for right in solve(depth + 1, child, inside=inside)])
        return covers

    return list(solve(0, 0, inside=True))


def rdc_split(levels: Levels, vector: Vector, *, count: int = 2, with_root: bool = True) -> Split:
    """Average the best signed covers of each run, weighted inversely to their numbers of cells."""
    split = _empty(levels)
    if with_root and np.ptp(vector) == 0:
        split[0][0] = vector[0]
        return _drop_unread(split)
    for low, high, value in runs(vector, levels.size - levels.has_null):
        covers = signed_covers(levels, low, high, count, with_root=with_root)
        weights = np.array([1 / len(cover.cells) for cover in covers])
        for cover, weight in zip(covers, weights / weights.sum(), strict=True):
            for depth, cell, sign in cover.cells:
                split[depth][cell] += sign * value * weight
    if levels.has_null and vector[-1]:
        split[levels.finest][-1] += vector[-1]
    return _drop_unread(split)


def add_up(rows: Vector, cells: npt.NDArray[np.int64], count: int) -> Vector:
    """Return, for each row, the sum of its columns by cell; columns of a cell are mostly adjacent."""
    first = np.flatnonzero(np.diff(cells, prepend=-1))
    if len(first) == count and (cells[first] == np.arange(count)).all():
        together: Vector = np.add.reduceat(rows, first, axis=1)
        return together
    sums = np.zeros((len(rows), count))
    np.add.at(sums.T, cells, rows.T)
    return sums


class Solver(ABC):
    """Solves ``(sum_j omega_j W_j'W_j) x = f`` for one attribute and any number of vectors f."""

    def __init__(self, levels: Levels, weights: npt.ArrayLike) -> None:
        self.levels, self.weights = levels, np.asarray(weights, dtype=np.float64)
        if self.weights[-1] <= 0:
            message = "The finest level has no weight, so the vector is not determined."
            raise InternalError(message)

    @abstractmethod
    def cell_sums(self, vectors: npt.ArrayLike) -> list[Vector]:
        """Return W_j x for every level j; rows of ``vectors`` are solved side by side."""

    @cached_property
    def ones_split(self) -> Split:
        """The blue split of 1."""
        return self.split(np.ones(self.levels.size))

    @cached_property
    def ones_solved(self) -> Vector:
        """``G^-1 1``."""
        solved: Vector = self.cell_sums(np.ones(self.levels.size))[-1][0]
        return solved

    def split(self, vector: Vector) -> Split:
        """Return the blue split of one vector."""
        return self.weigh(self.cell_sums(vector))

    def weigh(self, sums: list[Vector]) -> Split:
        """Return the split of the first vector, given its cell sums."""
        return [weight * level[0] if weight else None for weight, level in zip(self.weights, sums, strict=True)]


class BlueTree(Solver):
    """The solver for nested levels.

    Upwards, each cell c collects ``u = 1'A^-1 1`` and ``t = 1'A^-1 f`` of the levels below it (A has all of them).
    Adding omega of its own level divides both by ``1 + omega u`` (Sherman-Morrison). Downwards, the sum of x over the
    cell is ``s = (t - k u)/(1 + omega u)``, where k is the sum of ``omega s`` over the cells above. The sums s of a
    level are W_j x, which is all that the split needs.
    """

    def __init__(self, levels: Levels, weights: npt.ArrayLike) -> None:
        super().__init__(levels, weights)
        tables = [level.table() for level in levels.levels]
        first = [np.unique(table, return_index=True)[1] for table in tables]
        self._parents = [tables[j - 1][first[j]] for j in range(1, len(tables))]  # cell of level j -> cell of j - 1
        last = len(tables) - 1
        below: list[Vector] = [np.full((1, levels.size), 1 / self.weights[-1])]
        self._damping: list[Vector] = [np.ones((1, levels.size))]  # the finest level's weight is in `below` already
        for depth in range(last - 1, -1, -1):
            below.insert(0, self._sum_up(depth, below[0] / self._damping[0]))
            self._damping.insert(0, 1 + self.weights[depth] * below[0])
        self._below = below

    def _sum_up(self, depth: int, finer: Vector) -> Vector:
        """Add up the cells of level ``depth + 1`` into those of ``depth``."""
        return add_up(finer, self._parents[depth], self.levels[depth].cells)

    def cell_sums(self, vectors: npt.ArrayLike) -> list[Vector]:
        """Return W_j x for every level j; rows of ``vectors`` are solved side by side."""
        f = np.atleast_2d(np.asarray(vectors, dtype=np.float64))
        collected = [f / self.weights[-1]]
        for depth in range(len(self.levels) - 2, -1, -1):
            collected.insert(0, self._sum_up(depth, collected[0] / self._damping[depth + 1]))
        carried = np.zeros((len(f), 1))
        sums: list[Vector] = []
        for depth in range(len(self.levels)):
            if depth > 0:
                carried = carried[:, self._parents[depth - 1]]
            sums.append((collected[depth] - carried * self._below[depth]) / self._damping[depth])
            carried = carried + self.weights[depth] * sums[-1]
        return sums
