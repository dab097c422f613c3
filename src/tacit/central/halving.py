"""A binary tree over the cells of a table: boxes are halved along one attribute at a time.

Every attribute's number of values is rounded up to a power of two; the cells that are added have no value, and boxes
without values hold nobody. Attributes take turns while they last, so that boxes of a depth have the shape of the table,
and follow Morton's curve.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.central.noise import Ints
from tacit.estimate.functional import Vector

__all__ = ["Halving"]

Flags = npt.NDArray[np.bool_]


class Halving:
    """The tree over the cells of attributes of so many values."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.shape = sizes
        self.cells = math.prod(sizes)
        self.depth = sum((size - 1).bit_length() for size in sizes)
        """The depth of leaves; the root's is 0."""

    @cached_property
    def leaf(self) -> Ints:
        """The leaf of every cell, cells in the order of a table, last attribute fastest."""
        halvings, leaf = [(size - 1).bit_length() for size in self.shape], np.zeros(self.shape, dtype=np.int64)
        turns = sorted((turn, axis) for axis, count in enumerate(halvings) for turn in range(count))
        for turn, axis in turns:
            half = (np.arange(self.shape[axis]) >> (halvings[axis] - 1 - turn)) & 1
            leaf = 2 * leaf + half.reshape([-1 if axis == other else 1 for other in range(len(halvings))])
        return leaf.ravel()

    def sums(self, numbers: Ints | Vector) -> list[Vector]:
        """Return sums of a number per cell over the cells of every box, by depth."""
        leaves = np.zeros(2**self.depth)
        leaves[self.leaf] = np.ravel(numbers)
        return self.upwards(leaves)

    def upwards(self, leaves: Vector) -> list[Vector]:
        """Return sums of a number per leaf, by depth."""
        sums = [leaves]
        for _ in range(self.depth):
            sums.append(sums[-1][0::2] + sums[-1][1::2])
        return sums[::-1]

    @cached_property
    def sizes(self) -> list[Vector]:
        """The number of cells of every box, by depth."""
        return self.sums(np.ones(self.cells))

    def shares(self, depth: int) -> tuple[Vector, Flags]:
        """Return the share of every box's cells that its first half has, and which boxes have cells in both."""
        sizes, first = self.sizes[depth], self.sizes[depth + 1][0::2]
        return first / np.maximum(sizes, 1.0), (first > 0) & (first < sizes)

    def contrasts(self, vector: Vector) -> list[Vector]:
        """Return the mean of a vector over each box's first half, less that over its second, by depth.

        Boxes with one half have none. The last is the mean over all cells.
        """
        sums, contrasts = self.sums(vector), list[Vector]()
        for depth in range(self.depth):
            means = sums[depth + 1] / np.maximum(self.sizes[depth + 1], 1.0)
            contrasts.append((means[0::2] - means[1::2]) * self.shares(depth)[1])
        return [*contrasts, sums[0] / self.cells]
