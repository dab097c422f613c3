"""Noisy counts of boxes: disjoint ranges of every attribute, with people assumed uniform within each box.

A functional's estimate is the sum over boxes of its mean over the box, times the box's count. Two errors add up: the
noise of the counts, and the unevenness within boxes that a functional splits. The second is a model, not a guarantee.
The shares of a box's cells vary like Dirichlet variables around even ones: a part with a share w of the cells has w
count people, with variance ``count w (1 - w)`` (sampling) plus ``unevenness count**2 w (1 - w)``. Boxes that a range
splits lie on the same side of the same slopes, so deviations of the second kind are summed, not their squares. The
unevenness is estimated from noisy numbers.

Boxes may have parents with their own noisy counts. Then the counts are those of least variance given both:
``t = (y/v1 + s/(k v2)) / (1/v1 + 1/(k v2))`` for a parent's y and the sum s of its k boxes, and every box gets an equal
part of t - s.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.central.body import dot, sum_over_cells
from tacit.central.noise import Ints, Laplace
from tacit.central.sparse import Background, people_missed, window
from tacit.contract.budget import read_fraction
from tacit.estimate.functional import Functional, Vector
from tacit.model.bounds import mean_bounds

__all__ = ["Boxes", "Parents"]

MOST_CACHED = 16
"""Functionals whose weights are cached."""


class Parents:
    """Larger boxes that contain the boxes: the parent of each, their noisy counts, and the law of those."""

    def __init__(self, of: Ints, counts: Ints, law: Laplace) -> None:
        self.of, self.counts, self.law = of, counts, law
        self.children = np.bincount(of, minlength=len(counts)).astype(np.float64)

    def sum_by_parent(self, weights: Vector) -> Vector:
        """Add up numbers of boxes by parent."""
        return np.asarray(np.bincount(self.of, weights=weights, minlength=len(self.counts)), dtype=np.float64)

    def variance(self, box: float) -> Vector:
        """Return the variance of each parent's total, given both kinds of counts."""
        return np.asarray(1 / (1 / self.law.variance + 1 / (self.children * box)))


class Boxes:
    """Noisy counts of disjoint boxes."""

    kind, unbiased = "boxes", False

    def __init__(
        self,
        sizes: tuple[int, ...],
        low: Ints,
        high: Ints,
        noisy: Ints,
        law: Laplace,
        *,
        parents: Parents | None = None,
        unevenness: float = 0.0,
        threshold: int = 0,
    ) -> None:
        self.sizes, self.low, self.high, self.noisy, self.law = sizes, low, high, noisy, law
        self.parents, self.unevenness, self.threshold = parents, unevenness, threshold
        self.background = Background.of(law.scale, threshold) if threshold else None
        self._cached: dict[Hashable, Vector] = {}

    @cached_property
    def counts(self) -> Vector:
        """Best count of each box."""
        noisy = self.noisy.astype(np.float64)
        if self.parents is None:
            return noisy
        sums, box = self.parents.sum_by_parent(noisy), self.law.variance
        total = self.parents.variance(box) * (
            self.parents.counts / self.parents.law.variance + sums / (self.parents.children * box)
        )
        return np.asarray(noisy + ((total - sums) / self.parents.children)[self.parents.of])

    @cached_property
    def cells(self) -> Vector:
        """Number of cells of each box."""
        return np.asarray(np.prod((self.high - self.low + 1).astype(np.float64), axis=1))

    def weights(self, functional: Functional) -> Vector:
        """Return the mean of a functional over each box; the last few are cached for computing errors."""
        key = functional.key
        if key not in self._cached:
            while len(self._cached) >= MOST_CACHED:
                self._cached.pop(next(iter(self._cached)))
            self._cached[key] = self._means(functional)
        return self._cached[key]

    def _means(self, functional: Functional) -> Vector:
        total = np.zeros(len(self.noisy))
        for term in functional.terms:
            product = np.full(len(self.noisy), term.coefficient)
            for i, vector in term.factors.items():
                below = np.concatenate([[0.0], np.cumsum(vector)])
                low, high, of = self._spans[i]
                product *= ((below[high + 1] - below[low]) / (high - low + 1))[of]
            total += product
        return total

    @cached_property
    def _spans(self) -> list[tuple[Ints, Ints, Ints]]:
        """Distinct ranges of each attribute, which are few, and the range of each box."""
        spans_by_axis = []
        for i, size in enumerate(self.sizes):
            spans, of = np.unique(self.low[:, i] * size + self.high[:, i], return_inverse=True)
            spans_by_axis.append((spans // size, spans % size, of))
        return spans_by_axis

    def _sum_outside(self, functional: Functional, weights: Vector) -> float:
        """Return the sum of a functional over cells that are in no box."""
        return sum_over_cells(functional, self.sizes) - dot(weights, self.cells)

    def value(self, functional: Functional) -> float:
        """Return the estimate of a functional's total."""
        weights = self.weights(functional)
        total = dot(weights, self.counts)
        return total + self.background.level * self._sum_outside(functional, weights) if self.background else total

    def _noise(self, left: Vector, right: Vector) -> float:
        box = self.law.variance
        if self.parents is None:
            return box * dot(left, right)
        first, second, k = self.parents.sum_by_parent(left), self.parents.sum_by_parent(right), self.parents.children
        shared = first * second / k
        return box * (dot(left, right) - float(shared.sum())) + float((shared / k * self.parents.variance(box)).sum())

    def _inside(self, left: Functional, right: Functional) -> float:
        """Return the covariance of the model of people within boxes."""
        people, first, second = np.maximum(self.counts, 0), self.weights(left), self.weights(right)
        cut = [
            np.maximum(0, self.weights(side * side) - weights**2) for side, weights in ((left, first), (right, second))
        ]
        shared = self.weights(left * right) - first * second
        apart = math.sqrt(dot(people**2, cut[0]) * dot(people**2, cut[1]))
        alike = dot(people**2, shared) / apart if apart else 0.0
        summed_up = dot(people, np.sqrt(cut[0])) * dot(people, np.sqrt(cut[1]))
        return dot(people, shared) + self.unevenness * alike * summed_up

    def covariance(self, left: Functional, right: Functional) -> float:
        """Return the covariance of noise and of the model of people within boxes."""
        noise = self._noise(self.weights(left), self.weights(right))
        if self.background:  # boxes are single cells
            product = left * right
            return noise + self.background.variance * self._sum_outside(product, self.weights(product))
        return noise + self._inside(left, right)

    def deviation(self, functional: Functional) -> tuple[float, float]:
        """Return the standard error of an estimate, and the equivalent number of equal draws."""
        weights = self.weights(functional)
        second, fourth = dot(weights, weights), dot(weights**2, weights**2)
        variance = max(0.0, self.covariance(functional, functional))
        error = math.hypot(math.sqrt(variance), self._error_of_dropped_people(functional))
        return error, second**2 / fourth if fourth else 1.0

    def _error_of_dropped_people(self, functional: Functional) -> float:
        """Return the error due to people in dropped cells, of which no more is known than the most they can be."""
        if self.threshold <= 1:  # dropping negative counts is no bias
            return 0.0
        inside, cells, sizes = np.ones(len(self.noisy), dtype=bool), 1.0, functional.sizes
        for i in functional.attributes:
            in_question = np.any([term.factors.get(i, np.ones(sizes[i])) != 0 for term in functional.terms], axis=0)
            inside, cells = inside & in_question[self.low[:, i]], cells * float(in_question.sum())
        cells *= math.prod(size for i, size in enumerate(sizes) if i not in functional.attributes)
        low = int((inside & (self.noisy < self.threshold + window(self.law.scale))).sum())
        widest = max(map(abs, mean_bounds(functional)))
        return widest * people_missed(low, cells, self.law.scale, self.threshold) / math.sqrt(3)

    def cell_estimates(self) -> Vector:
        """Return an estimate for every cell."""
        table, each = np.zeros(self.sizes), self.counts / self.cells
        for low, high, value in zip(self.low.tolist(), self.high.tolist(), each.tolist(), strict=True):
            table[tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))] = value
        return table

    def facts(self) -> dict[str, Any]:
        """Return the metadata of a file."""
        facts: dict[str, Any] = {"box_epsilon": str(self.law.epsilon), "unevenness": self.unevenness}
        if self.threshold:
            facts["threshold"] = self.threshold
        if self.parents is not None:
            facts["parent_epsilon"] = str(self.parents.law.epsilon)
        return facts

    def columns(self) -> pa.Table:
        """Return a row for each box: its ends, both included, and its noisy count."""
        columns: dict[str, npt.NDArray[Any]] = {}
        for i in range(len(self.sizes)):
            columns[f"low{i}"], columns[f"high{i}"] = self.low[:, i].astype(np.int32), self.high[:, i].astype(np.int32)
        columns["count"] = self.noisy
        if self.parents is not None:
            columns["parent"] = self.parents.of.astype(np.int32)
            columns["parent_count"] = self.parents.counts[self.parents.of]
        return pa.table(columns)

    @classmethod
    def of_file(cls, sizes: tuple[int, ...], facts: Mapping[str, Any], table: pa.Table) -> Self:
        """Return the body stored in a file."""

        def column(name: str) -> Ints:
            return np.asarray(table.column(name), dtype=np.int64)

        low, high = (np.stack([column(f"{end}{i}") for i in range(len(sizes))], axis=1) for end in ("low", "high"))
        parents = None
        if "parent_epsilon" in facts:
            of = column("parent")
            first = np.unique(of, return_index=True)[1]
            parents = Parents(of, column("parent_count")[first], Laplace(read_fraction(facts["parent_epsilon"])))
        return cls(
            sizes,
            low,
            high,
            column("count"),
            Laplace(read_fraction(facts["box_epsilon"])),
            parents=parents,
            unevenness=float(facts["unevenness"]),
            threshold=int(facts.get("threshold", 0)),
        )
