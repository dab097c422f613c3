"""The two-step kd-tree (DPCube, algorithms 2 and 3).

Steps       1. Noisy counts of all cells with half of the budget; negative ones count as 0: a synthetic dataset.
            2. On that dataset alone: split the dimension with the widest range at its median while the box is uneven
            (H above a threshold) or large (count above a threshold). 3. Noisy counts of the leaves with the rest.
Guarantee   epsilon: the tree is built from noisy counts, so the two steps add up.
Error       One leaf's noise per leaf, and unevenness within leaves that a question splits.
Thresholds  In units of the noise of step 1, 2/epsilon: `COUNT` of them for the count, `UNEVEN` for H.
Reference   Xiao, Xiong and Yuan 2010.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.central.body import Body
from tacit.central.boxes import Boxes
from tacit.central.cells import DENSE
from tacit.central.charges import Charge
from tacit.central.noise import Ints, Laplace, NoiseSource
from tacit.central.records import Records
from tacit.central.sparse import unravel, visible_cells
from tacit.central.tree import Tree
from tacit.contract.schema import Service
from tacit.errors import UsageError
from tacit.estimate.functional import Vector

__all__ = ["KdTree", "check_threshold"]

COUNT = 40.0
"""Default threshold on counts, in scales of the first step's noise."""

UNEVEN = math.inf
"""Default threshold on H, in scales of the first step's noise: noise alone is uneven, so H splits too much."""


def check_threshold(name: str, value: float | None) -> None:
    """Refuse thresholds that are not numbers of 0 or more."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0):
        message = f"{name} is {value!r}; it must be a number of 0 or more."
        raise UsageError(message, code="bad-option")


@dataclass(frozen=True)
class KdTree:
    """The method; thresholds are numbers of people, by default a multiple of the noise."""

    count_threshold: float | None = None
    uneven_threshold: float | None = None

    def __post_init__(self) -> None:
        check_threshold("count_threshold", self.count_threshold)
        check_threshold("uneven_threshold", self.uneven_threshold)

    def charges(self, service: Service, epsilon: Fraction) -> list[Charge]:  # noqa: ARG002
        """Return what it spends: half on cells, half on leaves."""
        return [Charge(epsilon / 2, "release: cells of the kd-tree"), Charge(epsilon / 2, "release: its leaves")]

    def run(self, records: Records, epsilon: Fraction, source: NoiseSource) -> Body:
        """Return the noisy leaves."""
        first, second = Laplace(epsilon / 2), Laplace(epsilon / 2)
        places, noisy = _cells(records, first, source)
        counts = COUNT * first.scale if self.count_threshold is None else self.count_threshold
        uneven = UNEVEN * first.scale if self.uneven_threshold is None else self.uneven_threshold
        tree = grow(records.sizes, places, np.maximum(noisy, 0), count_threshold=counts, uneven_threshold=uneven)
        leaves = tree.count_leaves(records)
        leaf_counts = source.noisy(leaves, second)
        spread = _unevenness(tree, places, noisy, first.variance)
        return Boxes(records.sizes, tree.low, tree.high, leaf_counts, second, unevenness=spread)


def _cells(records: Records, law: Laplace, source: NoiseSource) -> tuple[Ints, Ints]:
    """Return cells, as rows of value indices, and their noisy counts; of many cells, those above a threshold."""
    size = math.prod(records.sizes)
    if size <= DENSE:
        return unravel(np.arange(size), records.sizes), source.noisy(records.table(), law).ravel()
    visible = visible_cells(records, law, source)
    return unravel(visible.cells, records.sizes), visible.counts


def grow(
    sizes: tuple[int, ...], places: Ints, counts: Ints, *, count_threshold: float, uneven_threshold: float
) -> Tree:
    """Return the tree of a synthetic dataset: cells with counts of 0 or more; cells not listed are empty."""
    tree = Tree(sizes)
    waiting = [(0, np.arange(len(counts)))]
    while waiting:
        node, inside = waiting.pop()
        counts_inside = counts[inside]
        total, cells = float(counts_inside.sum()), tree.cells(node)
        mean = total / cells
        uneven = float(np.abs(counts_inside - mean).sum()) + (cells - len(counts_inside)) * mean
        if cells < 2 or not (uneven > uneven_threshold or total > count_threshold):
            continue
        axis = tree.widest(node)
        along = places[inside, axis] - tree.node_low[node][axis]
        histogram = np.bincount(along, weights=counts_inside, minlength=tree.width(node, axis))
        cut = median_cut(histogram.astype(np.float64))
        left, right = tree.split(node, axis, tree.node_low[node][axis] + cut)
        below = along <= cut
        waiting += [(right, inside[~below]), (left, inside[below])]
    tree.finish()
    return tree


def median_cut(histogram: Vector) -> int:
    """Return the last value of the lower part when a histogram is split at its median; both parts have a value."""
    below = np.cumsum(histogram)
    if below[-1] <= 0:
        return (len(histogram) - 2) // 2
    return int(min(np.searchsorted(below, below[-1] / 2), len(histogram) - 2))


def _unevenness(tree: Tree, places: Ints, noisy: Ints, variance: float) -> float:
    """Return how unevenly people are spread within leaves, from the noisy cells, beyond what the noise explains."""
    leaf = tree.leaf_of(places)
    total = np.bincount(leaf, weights=noisy, minlength=len(tree.low))
    squares = np.bincount(leaf, weights=noisy.astype(np.float64) ** 2, minlength=len(tree.low))
    listed = np.bincount(leaf, minlength=len(tree.low))
    cells = np.prod((tree.high - tree.low + 1).astype(np.float64), axis=1)
    seen = cells > 1
    spread = (squares - total**2 / cells - listed * variance * (1 - 1 / cells))[seen].sum()
    largest = ((total**2 - listed * variance) * (1 - 1 / cells))[seen].sum()
    return float(min(1.0, max(0.0, spread / largest))) if largest > 0 else 1.0
