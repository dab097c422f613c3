"""A comparator: AHEAD (Du et al., CCS 2021) over two attributes, from the paper's description.

People are divided into as many groups as a tree of quadrants has layers. Each group reports, by an optimised oracle, in
which square of its layer it is. Squares with fewer people than a threshold are not divided further, but stay as they
are in all deeper layers. Layers are made non-negative; from the leaves up, each square becomes the average of its own
estimate and the sum of its parts, by their variances. Within a leaf, people are taken for even.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bench.ranges.hdg import divide, no_negatives, report

__all__ = ["ahead"]

Vector = npt.NDArray[np.float64]


@dataclass
class _Square:
    row: int
    column: int
    side: int
    shares: list[float] = field(default_factory=list)
    parts: list[_Square] = field(default_factory=list)

    def quarter(self) -> list[_Square]:
        half = self.side // 2
        self.parts = [_Square(self.row + i, self.column + j, half) for i in (0, half) for j in (0, half)]
        return self.parts

    def combine(self) -> tuple[float, float]:
        """Return the estimate of the square from all below it, and its variance in units of one report's."""
        own, variance = (float(np.mean(self.shares)), 1 / len(self.shares)) if self.shares else (0.0, math.inf)
        if self.parts:
            sums, variances = zip(*(part.combine() for part in self.parts), strict=True)
            total, spread = sum(sums), sum(variances)
            weight = 1.0 if math.isinf(variance) else variance / (variance + spread)
            own, variance = (
                weight * total + (1 - weight) * own,
                1 / (1 / spread + (0 if math.isinf(variance) else 1 / variance)),
            )
        self.shares = [own]
        return own, variance

    def fill(self, table: Vector, share: float) -> None:
        """Give every leaf its share: parts are moved alike until they add up to the square."""
        if not self.parts:
            table[self.row : self.row + self.side, self.column : self.column + self.side] = share / self.side**2
            return
        shift = (share - sum(part.shares[0] for part in self.parts)) / len(self.parts)
        for part in self.parts:
            part.fill(table, part.shares[0] + shift)


def ahead(table: npt.NDArray[np.int64], epsilon: float, rng: np.random.Generator) -> Vector:
    """Report everybody, given how many have each pair of values, and return the estimated shares of pairs."""
    size, grown = len(table), math.exp(epsilon)
    layers = round(math.log2(size))
    groups = divide(table, layers, rng)
    root = _Square(0, 0, size, [1.0])
    frontier = root.quarter()
    noise = 4 * grown / (grown - 1) ** 2 / float(groups[0].sum())
    threshold = math.sqrt(5 * noise)
    for layer, group in enumerate(groups):
        below = np.zeros((size + 1, size + 1), dtype=np.int64)
        below[1:, 1:] = group.cumsum(0).cumsum(1)
        counts = [
            below[s.row + s.side, s.column + s.side]
            - below[s.row, s.column + s.side]
            - below[s.row + s.side, s.column]
            + below[s.row, s.column]
            for s in frontier
        ]
        shares = no_negatives(report(np.array(counts), epsilon, rng))
        deeper: list[_Square] = []
        for square, share in zip(frontier, shares.tolist(), strict=True):
            square.shares.append(share)
            divided = share > threshold and square.side > 1 and layer < layers - 1
            deeper += square.quarter() if divided else [square]
        frontier = deeper
    root.combine()
    made = np.zeros((size, size))
    root.fill(made, 1.0)
    return made
