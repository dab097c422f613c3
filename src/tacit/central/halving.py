"""A binary tree over the values of an attribute, by halving runs of values.

The number of values is rounded up to a power of two; the leaves that are added have no value, and nodes without values
hold nobody.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.central.noise import Ints
from tacit.estimate.functional import Vector

__all__ = ["Halving"]

Flags = npt.NDArray[np.bool_]


class Halving:
    """The tree over so many values."""

    def __init__(self, values: int) -> None:
        self.values = values
        self.depth = (values - 1).bit_length()
        """The depth of leaves; the root's is 0."""

    def sums(self, numbers: Ints | Vector) -> list[Vector]:
        """Return sums of a number per value over the values below every node, by depth."""
        leaves = np.zeros(2**self.depth)
        leaves[: self.values] = numbers
        sums = [leaves]
        for _ in range(self.depth):
            sums.append(sums[-1][0::2] + sums[-1][1::2])
        return sums[::-1]

    @cached_property
    def sizes(self) -> list[Vector]:
        """The number of values of every node, by depth."""
        return self.sums(np.ones(self.values))

    def shares(self, depth: int) -> tuple[Vector, Flags]:
        """Return the share of every node's values that its first half has, and which nodes have values in both."""
        sizes, first = self.sizes[depth], self.sizes[depth + 1][0::2]
        return first / np.maximum(sizes, 1.0), (first > 0) & (first < sizes)

    def contrasts(self, vector: Vector) -> list[Vector]:
        """Return the mean of a vector over each node's first half, less that over its second, by depth.

        Nodes with one half have none. The last is the mean over all values.
        """
        sums, contrasts = self.sums(vector), list[Vector]()
        for depth in range(self.depth):
            means = sums[depth + 1] / np.maximum(self.sizes[depth + 1], 1.0)
            contrasts.append((means[0::2] - means[1::2]) * self.shares(depth)[1])
        return [*contrasts, sums[0] / self.values]
