"""A binary tree of boxes: each node is split in two along one attribute."""

from __future__ import annotations

import math

import numpy as np

from tacit.central.noise import Ints
from tacit.central.records import Records
from tacit.central.sparse import unravel

__all__ = ["Tree"]


class Tree:
    """Boxes from the whole domain down to leaves; `finish` numbers the leaves in order of creation."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.sizes = sizes
        self.node_low: list[list[int]] = [[0] * len(sizes)]
        self.node_high: list[list[int]] = [[size - 1 for size in sizes]]
        self._axis: list[int] = [-1]
        self._cut: list[int] = [0]
        self._left: list[int] = [0]
        self.low = self.high = np.zeros((0, len(sizes)), dtype=np.int64)

    def width(self, node: int, axis: int) -> int:
        """Return how many values of an attribute a node has."""
        return self.node_high[node][axis] - self.node_low[node][axis] + 1

    def cells(self, node: int) -> int:
        """Return the number of cells of a node."""
        return math.prod(self.width(node, axis) for axis in range(len(self.sizes)))

    def widest(self, node: int) -> int:
        """Return the attribute with the largest range in a node."""
        return max(range(len(self.sizes)), key=lambda axis: self.width(node, axis))

    def split(self, node: int, axis: int, cut: int) -> tuple[int, int]:
        """Split a node after a value; return the lower and the upper part."""
        left = len(self._axis)
        self._axis[node], self._cut[node], self._left[node] = axis, cut, left
        for side in (0, 1):
            low, high = list(self.node_low[node]), list(self.node_high[node])
            if side == 0:
                high[axis] = cut
            else:
                low[axis] = cut + 1
            self.node_low.append(low)
            self.node_high.append(high)
            self._axis.append(-1)
            self._cut.append(0)
            self._left.append(0)
        return left, left + 1

    @property
    def leaves(self) -> list[int]:
        """Nodes that are not split."""
        return [node for node, axis in enumerate(self._axis) if axis < 0]

    def finish(self) -> None:
        """Fix the leaves."""
        leaves = self.leaves
        self.low = np.array([self.node_low[node] for node in leaves], dtype=np.int64)
        self.high = np.array([self.node_high[node] for node in leaves], dtype=np.int64)

    def node_of(self, places: Ints) -> Ints:
        """Return the lowest node that contains each cell, given as rows of value indices."""
        axis, cut, left = (np.array(part, dtype=np.int64) for part in (self._axis, self._cut, self._left))
        node = np.zeros(len(places), dtype=np.int64)
        moving = np.arange(len(places)) if axis[0] >= 0 else np.zeros(0, dtype=np.int64)
        while len(moving):
            here = node[moving]
            along = places[moving, axis[here]]
            node[moving] = left[here] + (along > cut[here])
            moving = moving[axis[node[moving]] >= 0]
        return node

    def leaf_of(self, places: Ints) -> Ints:
        """Return the leaf of each cell."""
        number = np.full(len(self._axis), -1, dtype=np.int64)
        number[self.leaves] = np.arange(len(self.leaves))
        return number[self.node_of(places)]

    def count_leaves(self, records: Records) -> Ints:
        """Return how many rows each leaf has."""
        cells, counts = records.occupied
        leaf = self.leaf_of(unravel(cells, self.sizes))
        return np.bincount(leaf, weights=counts, minlength=len(self.leaves)).astype(np.int64)
