"""The hierarchical kd-tree, the comparator of DPCube after Inan et al.: every level asks the data for its medians.

Steps       In every box of a level, the values of the widest dimension are counted with noise, and the box is split at
            the median; finally the leaves are counted. The budget is split evenly among all levels and the leaves.
Guarantee   epsilon: boxes of a level hold different people, levels add up.
Reference   Inan, Kantarcioglu, Ghinita and Bertino 2010; Xiao, Xiong and Yuan 2010, section 5.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.central.body import Body
from tacit.central.boxes import Boxes
from tacit.central.charges import Charge
from tacit.central.kdtree import median_cut
from tacit.central.noise import Ints, Laplace, NoiseSource
from tacit.central.records import Records
from tacit.central.sparse import unravel
from tacit.central.tree import Tree
from tacit.contract.schema import Service
from tacit.errors import LayoutError, UsageError

__all__ = ["HierarchicalKdTree"]

MAX_HEIGHT = 24
"""Maximum levels of a tree."""

MAX_COUNTS = 2**21
"""Maximum noisy counts of a level: a quarter of a minute on one core."""


@dataclass(frozen=True)
class HierarchicalKdTree:
    """The method; the paper finds the smallest error at a height of about 13."""

    height: int = 13

    def __post_init__(self) -> None:
        if isinstance(self.height, bool) or not isinstance(self.height, int) or not 1 <= self.height <= MAX_HEIGHT:
            message = f"height is {self.height!r}; it must be a whole number from 1 to {MAX_HEIGHT}."
            raise UsageError(message, code="bad-option")

    def charges(self, service: Service, epsilon: Fraction) -> list[Charge]:
        """Return what it spends: the same on every level and on the leaves; refuse too many counts."""
        widest = max(attribute.size for attribute in service.sensitive)
        if 2 ** (self.height - 1) * widest > MAX_COUNTS:
            message = (
                f"{service.name}: {2 ** (self.height - 1)} boxes of up to {widest} values are more than "
                f"{MAX_COUNTS:,} counts. Use a lower height=, or method='kdtree'."
            )
            raise LayoutError(message, code="domain-too-large")
        share = epsilon / (self.height + 1)
        levels = [Charge(share, f"release: level {level} of the kd-tree") for level in range(self.height)]
        return [*levels, Charge(share, "release: its leaves")]

    def run(self, records: Records, epsilon: Fraction, source: NoiseSource) -> Body:
        """Return the noisy leaves."""
        law = Laplace(epsilon / (self.height + 1))
        tree, waiting, unevenness = Tree(records.sizes), [0], 1.0
        cells, counts = records.occupied
        places = unravel(cells, records.sizes)
        for _ in range(self.height):
            level = _Level(tree, [node for node in waiting if tree.cells(node) > 1])
            noisy = source.noisy(level.histograms(places, counts), law)
            unevenness = level.unevenness(noisy, law.variance)
            waiting = level.cut(np.maximum(noisy, 0))
        tree.finish()
        leaves = source.noisy(tree.count_leaves(records), law)
        return Boxes(records.sizes, tree.low, tree.high, leaves, law, unevenness=unevenness)


class _Level:
    """The boxes of one level that can be split: a histogram of each one's widest attribute."""

    def __init__(self, tree: Tree, nodes: list[int]) -> None:
        self.tree, self.nodes = tree, nodes
        self.axes = [tree.widest(node) for node in nodes]
        widths = [tree.width(node, axis) for node, axis in zip(nodes, self.axes, strict=True)]
        self.starts = np.concatenate([[0], np.cumsum(widths, dtype=np.int64)])

    def histograms(self, places: Ints, counts: Ints) -> Ints:
        """Return the number of rows of every value of every box."""
        number = np.full(len(self.tree.node_low), -1, dtype=np.int64)
        number[self.nodes] = np.arange(len(self.nodes))
        mine = number[self.tree.node_of(places)]
        places, counts, mine = places[mine >= 0], counts[mine >= 0], mine[mine >= 0]
        axes = np.array(self.axes, dtype=np.int64)
        firsts = [self.tree.node_low[node][axis] for node, axis in zip(self.nodes, self.axes, strict=True)]
        along = np.take_along_axis(places, axes[mine][:, None], axis=1)[:, 0] - np.array(firsts, dtype=np.int64)[mine]
        bins = int(self.starts[-1])
        return np.bincount(self.starts[mine] + along, weights=counts, minlength=bins).astype(np.int64)

    def cut(self, noisy: Ints) -> list[int]:
        """Split every box at the median of its noisy histogram; return the parts."""
        parts: list[int] = []
        for place, (node, axis) in enumerate(zip(self.nodes, self.axes, strict=True)):
            at = median_cut(noisy[self.starts[place] : self.starts[place + 1]].astype(np.float64))
            parts += self.tree.split(node, axis, self.tree.node_low[node][axis] + at)
        return parts

    def unevenness(self, noisy: Ints, variance: float) -> float:
        """Return how unevenly people are spread along the widest attributes, beyond what the noise explains."""
        if not self.nodes:
            return 0.0
        widths = np.diff(self.starts)
        total = np.add.reduceat(noisy, self.starts[:-1]).astype(np.float64)
        squares = np.add.reduceat(noisy.astype(np.float64) ** 2, self.starts[:-1])
        spread = (squares - total**2 / widths - (widths - 1) * variance).sum()
        largest = ((total**2 - widths * variance) * (1 - 1 / widths)).sum()
        return float(min(1.0, max(0.0, spread / largest))) if largest > 0 else 1.0
