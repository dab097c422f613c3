"""Ours for one and two attributes: counts of boxes, smaller where people are, divided as unevenly as they show.

Steps       1. The number of people, with a fiftieth of the budget. 2. Sixteen boxes are counted, by halving one
            attribute after another; then each is split into as many as its people allow, up to sixteen (in the last
            stage, more), and all boxes are counted again, until the number of people allows no finer ones. Stages
            share the rest: evenly for one attribute, the finer more for several, whose ranges cut more fine boxes.
Reading     People are divided between the halves of boxes, from the root down (`tacit.central.scatter`): how
            unevenly is learned from the counts. Splits follow the reading of the stages before.
Guarantee   epsilon: boxes of a stage hold different people, stages add up; the rest is post-processing.
Error       The posterior variance of all deviations that a question depends on, which are taken as independent, at
            least what noise leaves open, and the variance of the total; more where the counts contradict the
            prior, or where a question splits boxes that were not counted further.
Reference   Kolaczyk and Nowak 2004 (multiscale priors), Stephens 2017 (mixtures of scales). Against DAWA, which chooses
            even runs with a part of the budget: bench/curator.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa

from tacit.central.adaptive import TOTAL_SHARE, noisy_total
from tacit.central.body import Body, SummedTable, dot
from tacit.central.charges import Charge
from tacit.central.halving import Halving
from tacit.central.noise import Ints, Laplace, NoiseSource
from tacit.central.records import Records
from tacit.central.scatter import Counted, Division, combine, read
from tacit.contract.budget import read_fraction
from tacit.contract.schema import Service
from tacit.errors import LayoutError
from tacit.estimate.functional import Functional, Vector

__all__ = ["Multiscale", "NoisyTree", "fits_multiscale"]

MAX_CELLS = 2**20
"""Limit on the cells: seconds, and 16 MB for a question."""

EVERY = 4
"""Halvings between two stages, and before the first: a fan-out of 16."""

FINEST = 3.0
"""People times epsilon of a box that is split in two for the last stages; epsilon is what they have left."""

FINER = {1: Fraction(1), 2: Fraction(8, 5)}
"""Budget of a stage over that of the stage before: a range in d dimensions cuts 16**((d - 1)/d) times as many boxes,
whose noise adds up, and the best budgets are as the cube roots of these."""

LEAST_VARIANCE = 1e-9
"""Taken as the variance of noise that budgets in the thousands round to none."""

COHERENT = 0.5
"""Least error of an answer that splits the last stage's boxes, over the most that their people can make it wrong."""

MANY_DRAWS = 1e6
"""Equivalent number of draws: posteriors of many deviations together are nearly normal."""

MOST_CACHED = 8
"""Functionals whose contrasts are cached."""


def fits_multiscale(service: Service) -> bool:
    """Return whether a service has one or two attributes, with few enough cells."""
    sizes = [attribute.size for attribute in service.sensitive]
    return len(sizes) in FINER and math.prod(sizes) <= MAX_CELLS


@dataclass(frozen=True)
class Multiscale:
    """The method."""

    def charges(self, service: Service, epsilon: Fraction) -> list[Charge]:
        """Return what it spends; refuse more attributes or cells than it takes."""
        if not fits_multiscale(service):
            message = (
                f"{service.name}: multiscale takes one or two attributes of at most {MAX_CELLS:,} cells. Use "
                "method='adaptive', or method='marginals' for many attributes."
            )
            raise LayoutError(message, code="domain-too-large")
        return [
            Charge(epsilon * TOTAL_SHARE, "release: number of people"),
            Charge(epsilon * (1 - TOTAL_SHARE), "release: boxes, stage by stage"),
        ]

    def run(self, records: Records, epsilon: Fraction, source: NoiseSource) -> Body:
        """Return the noisy tree."""
        return self.with_total(records, epsilon, source, noisy_total(records, epsilon, source))

    def with_total(self, records: Records, epsilon: Fraction, source: NoiseSource, people: int) -> NoisyTree:
        """Return the noisy tree, given the noisy number of people."""
        tree = NoisyTree(records.sizes, epsilon, people)
        sums, boxes = tree.halving.sums(records.table()), tree.first_boxes()
        for law in tree.laws:
            counts = np.concatenate([sums[depth][nodes] for depth, nodes in boxes.items()])
            tree.add(boxes, source.noisy(counts.astype(np.int64), law))
            boxes = tree.next_boxes()
        return tree


class NoisyTree:
    """Noisy counts of boxes of a tree, by stage: the boxes of a stage are a partition of the cells."""

    kind, unbiased = "multiscale", False
    assumption = (
        "people are divided evenly where the noisy counts show no difference; how uneven they may be is learned from "
        "the counts, and errors include it"
    )

    def __init__(self, sizes: tuple[int, ...], epsilon: Fraction, people: int) -> None:
        self.sizes, self.epsilon, self.people = sizes, epsilon, people
        self.halving = Halving(sizes)
        budget = (1 - TOTAL_SHARE) * epsilon
        wanted = min(float(self.halving.depth), math.log2(max(1.0, people * float(budget) / FINEST)))
        stages = 1 + max(0, math.ceil((wanted - EVERY) / EVERY))
        weights = [FINER[len(sizes)] ** stage for stage in range(stages)]
        self.laws = [Laplace(budget * weight / sum(weights)) for weight in weights]
        self.total_law = Laplace(TOTAL_SHARE * epsilon)
        self.stages: list[tuple[dict[int, Ints], Ints]] = []
        self._counted: list[Counted | None] = [None] * (self.halving.depth + 1)
        self._cached: dict[Hashable, list[Vector]] = {}

    def first_boxes(self) -> dict[int, Ints]:
        """Return the boxes of the first stage: by depth, their numbers."""
        depth = min(EVERY, self.halving.depth)
        return {depth: np.flatnonzero(self.halving.sizes[depth])}

    def add(self, boxes: dict[int, Ints], counts: Ints) -> None:
        """Add the noisy counts of a stage."""
        law, start = self.laws[len(self.stages)], 0
        self.stages.append((boxes, counts))
        for depth, nodes in boxes.items():
            count, variance = np.zeros(2**depth), np.where(self.halving.sizes[depth] > 0, np.inf, 0.0)
            count[nodes], variance[nodes] = counts[start : start + len(nodes)], max(law.variance, LEAST_VARIANCE)
            before, start = self._counted[depth], start + len(nodes)
            self._counted[depth] = (count, variance) if before is None else combine(before, (count, variance))
        self.__dict__.pop("_read", None)

    def next_boxes(self) -> dict[int, Ints]:
        """Return the boxes of the next stage: those of the last, split as their people allow; none after the last."""
        left = self.laws[len(self.stages) :]
        budget, limit = float(sum(law.epsilon for law in left)), EVERY if len(left) > 1 else self.halving.depth
        split: dict[int, list[Ints]] = {}
        for depth, nodes in self.stages[-1][0].items() if left else ():
            people = self._read.people[depth][nodes]
            halvings = np.floor(np.log2(np.maximum(1.0, people * budget / FINEST)) + 0.5)
            halvings = np.minimum(halvings, min(limit, self.halving.depth - depth)).astype(np.int64)
            for times in np.unique(halvings).tolist():
                parts = (nodes[halvings == times, None] << times) + np.arange(1 << times)
                split.setdefault(depth + times, []).append(parts.ravel())
        boxes = {depth: np.sort(np.concatenate(parts)) for depth, parts in sorted(split.items())}
        return {depth: nodes[self.halving.sizes[depth][nodes] > 0] for depth, nodes in boxes.items()}

    @cached_property
    def _read(self) -> Division:
        """The tree, read from the root down."""
        noise = np.array([self.total_law.variance])
        return read(self.halving, self._counted, (np.array([float(self.people)]), noise))

    @cached_property
    def _table(self) -> SummedTable:
        return SummedTable(self.cell_estimates())

    def value(self, functional: Functional) -> float:
        """Return the estimate of a functional's total."""
        return self._table.value(functional)

    def _contrasts(self, functional: Functional) -> list[Vector]:
        """Return how much the answer rises with each box's deviation, by depth; last, with the number of people."""
        key = functional.key
        if key not in self._cached:
            while len(self._cached) >= MOST_CACHED:
                self._cached.pop(next(iter(self._cached)))
            self._cached[key] = self.halving.contrasts(_cells(functional))
        return self._cached[key]

    def covariance(self, left: Functional, right: Functional) -> float:
        """Return the posterior covariance of two answers."""
        *first, mean = self._contrasts(left)
        *second, other_mean = self._contrasts(right)
        total = float(mean[0] * other_mean[0]) * float(self._read.variances[0][0])
        return total + sum(dot(a * b, spread) for a, b, spread in zip(first, second, self._read.spreads, strict=True))

    def deviation(self, functional: Functional) -> tuple[float, float]:
        """Return the standard error of an estimate, and the equivalent number of equal draws.

        The square of the difference from the estimate without a prior, less that estimate's noise, estimates the square
        of what the prior does to this answer: the variance is not below.
        """
        contrasts = self._contrasts(functional)
        off = sum(dot(contrast, residual) for contrast, residual in zip(contrasts, self._read.residuals, strict=False))
        noise = sum(
            dot(contrast**2, variance) for contrast, variance in zip(contrasts, self._read.noises, strict=False)
        )
        counted = self.covariance(functional, functional) - self._hidden_variance(contrasts)
        variance = max(counted + max(self._hidden_variance(contrasts), self._within(functional)), off**2 - noise)
        return math.sqrt(max(0.0, variance)), MANY_DRAWS

    def _hidden_variance(self, contrasts: list[Vector]) -> float:
        """Return the part of an answer's posterior variance that comes from boxes whose halves were not counted."""
        parts = zip(contrasts, self._read.spreads, self._read.noises, strict=False)
        return sum(dot(contrast**2, spread * (noise == 0)) for contrast, spread, noise in parts)

    def _within(self, functional: Functional) -> float:
        """Return the least variance of an answer: inside the last stage's boxes, nothing was counted.

        People may all be where the functional is furthest from its mean over their box, in all boxes that it splits:
        then it is off by their people times this distance. Boxes also have more people than noise let them show.
        """
        numbers = _cells(functional).ravel()[np.argsort(self.halving.leaf)]
        starts, sizes, people, variance = self._boxes
        means = np.add.reduceat(numbers, starts) / sizes
        most, least = np.maximum.reduceat(numbers, starts), np.minimum.reduceat(numbers, starts)
        furthest = np.maximum(most - means, means - least)
        return (dot(furthest, people) * COHERENT) ** 2 + dot(furthest**2, variance)

    @cached_property
    def _boxes(self) -> tuple[Ints, Vector, Vector, Vector]:
        """The last stage's boxes in the order of leaves: first cells, sizes, people, and variances of these."""
        boxes = self.stages[-1][0].items()
        order = np.argsort(np.concatenate([nodes << (self.halving.depth - depth) for depth, nodes in boxes]))
        sizes, people, variances = (
            np.concatenate([numbers[depth][nodes] for depth, nodes in boxes])[order]
            for numbers in (self.halving.sizes, self._read.people, self._read.variances)
        )
        return (np.cumsum(sizes) - sizes).astype(np.int64), sizes, people, variances

    def cell_estimates(self) -> Vector:
        """Return an estimate for every cell, with an axis for each attribute."""
        return np.asarray(self._read.people[-1][self.halving.leaf].reshape(self.sizes))

    def facts(self) -> dict[str, Any]:
        """Return the metadata of a file."""
        shares = [str(law.epsilon) for law in self.laws]
        return {"tree_epsilon": str(self.epsilon), "people": self.people, "stages": shares}

    def columns(self) -> pa.Table:
        """Return a row for each box and stage: its depth, its number among the boxes of this depth, and its count."""
        rows = [
            (np.full(len(nodes), stage), np.full(len(nodes), depth), nodes)
            for stage, (boxes, _) in enumerate(self.stages)
            for depth, nodes in boxes.items()
        ]
        stage, depth, box = (np.concatenate(column).astype(np.int32) for column in zip(*rows, strict=True))
        counts = np.concatenate([counts for _, counts in self.stages])
        return pa.table({"stage": stage, "depth": depth, "box": box, "count": counts})

    @classmethod
    def of_file(cls, sizes: tuple[int, ...], facts: Mapping[str, Any], table: pa.Table) -> Self:
        """Return the body stored in a file."""
        tree = cls(sizes, read_fraction(facts["tree_epsilon"]), int(facts["people"]))
        tree.laws = [Laplace(read_fraction(share)) for share in facts["stages"]]
        stage, depth, box, count = (
            np.asarray(table.column(name), dtype=np.int64) for name in ("stage", "depth", "box", "count")
        )
        for number in range(len(tree.laws)):
            here = stage == number
            boxes = {level: box[here & (depth == level)] for level in np.unique(depth[here]).tolist()}
            if not _is_partition(tree.halving, boxes):
                raise ValueError(number)
            tree.add(boxes, count[here])
        return tree


def _is_partition(halving: Halving, boxes: dict[int, Ints]) -> bool:
    """Return whether boxes hold every cell once."""
    for depth, nodes in boxes.items():
        if not 0 <= depth <= halving.depth or nodes.min() < 0 or nodes.max() >= 2**depth:
            return False
    first = np.concatenate([nodes << (halving.depth - depth) for depth, nodes in boxes.items()])
    behind = np.concatenate([(nodes + 1) << (halving.depth - depth) for depth, nodes in boxes.items()])
    cells = sum(float(halving.sizes[depth][nodes].sum()) for depth, nodes in boxes.items())
    return cells == halving.cells and bool(np.all(np.sort(behind)[:-1] <= np.sort(first)[1:]))


def _cells(functional: Functional) -> Vector:
    """Return what a functional is for each cell."""
    total = np.zeros(functional.sizes)
    for term in functional.terms:
        product = np.full([1] * total.ndim, term.coefficient)
        for axis, vector in term.factors.items():
            product = product * vector.reshape([-1 if axis == other else 1 for other in range(total.ndim)])
        total += product
    return total
