"""Tables of three attributes and more: maximum entropy given all pairs and the wider views.

Attributes are divided into **groups** of values: the cells of the tables of pairs or, if these are too many, the
classes of values that a question does not distinguish.

The error of a total follows from the errors of the given tables. In a table of maximum entropy, a small change of the
given tables changes a total by as much as it changes the total's **projection**: the sum of functions of one attribute,
of two, and of the wider sets that is closest to its weights under the table. So the error has a part for each function,
from the fit of that function's table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tacit.errors import UnanswerableError
from tacit.estimate.functional import Functional, Term, Vector
from tacit.model.classes import classes
from tacit.model.evidence import along

__all__ = ["Joint", "check_cells", "connected_parts", "mean_of_term"]

ROUNDS = 12
"""Rounds in which functions are fitted to a total's weights, each to the residual of the others."""

EMPTY = 1e-9
"""Share of a uniform table mixed in before projecting weights, so that empty cells have errors too."""

SETTLED, TINY = 1e-9, 1e-300
"""Residual, relative to the largest weight, that ends the fit; and the smallest divisor."""

MOST_TABLE_CELLS = 2**20
"""Maximum cells of a marginal."""


def check_cells(sizes: Sequence[int]) -> None:
    """Refuse a table of too many cells."""
    if (cells := math.prod(sizes)) > MOST_TABLE_CELLS:
        message = f"The table would have {cells:,} cells; at most {MOST_TABLE_CELLS:,} fit. Name fewer attributes."
        raise UnanswerableError(message, code="table-too-large")


def connected_parts(functional: Functional) -> list[Functional]:
    """Return the parts of a functional that share no attribute, without its constant."""
    parts: list[tuple[set[int], list[Term]]] = []
    for term in functional.terms:
        attributes, terms = set(term.factors), [term]
        for part in [part for part in parts if part[0] & attributes]:
            parts.remove(part)
            attributes, terms = attributes | part[0], part[1] + terms
        if attributes:
            parts.append((attributes, terms))
    return [Functional(functional.sizes, tuple(terms)) for _, terms in parts]


@dataclass(frozen=True, eq=False)
class Joint:
    """A table over groups of values of some attributes."""

    attributes: tuple[int, ...]
    held: tuple[Vector, ...]
    """For each attribute, groups x values: 1 if a group contains a value."""

    values: tuple[Vector, ...]
    """For each attribute, the share of each value."""

    table: Vector

    def mean(self, functional: Functional) -> float:
        """Return the mean of a functional over people."""
        total = 0.0
        for term in functional.terms:
            contracted = self.table
            for vector in reversed(self._vectors(term)):
                contracted = contracted @ vector
            total += term.coefficient * float(contracted)
        return total

    def _vectors(self, term: Term) -> list[Vector]:
        """Return the mean of a term's factor within each group; 1 if it has none."""
        vectors = []
        for attribute, held, values in zip(self.attributes, self.held, self.values, strict=True):
            if attribute not in term.factors:
                vectors.append(np.ones(len(held)))
                continue
            mass, count = held @ values, held.sum(axis=1)
            summed = held @ (values * term.factors[attribute])
            plain = held @ term.factors[attribute] / np.maximum(count, 1)
            vectors.append(np.where(mass > 0, summed / np.where(mass > 0, mass, 1.0), plain))
        return vectors

    def widest_weight(self, functional: Functional) -> float:
        """Return the range of the cells' weights."""
        return float(np.ptp(self.weights(functional)))

    def weights(self, functional: Functional) -> Vector:
        """Return the weight of every cell."""
        products = (term.coefficient * _outer(self._vectors(term)) for term in functional.terms)
        return sum(products, np.zeros(self.table.shape))

    def of(self, functional: Functional) -> Joint:
        """Return the table over the groups that a functional distinguishes, which are few."""
        sides: list[list[Vector]] = [[] for _ in self.attributes]
        for term in functional.terms:
            for side, vector in zip(sides, self._vectors(term), strict=True):
                side.append(vector)
        merged = []
        for side in sides:
            vectors = np.stack(side).round(12)
            merged.append(classes(vectors, np.ones(vectors.shape[1]), vectors.shape[1]))
        held = tuple(matrix @ before for matrix, before in zip(merged, self.held, strict=True))
        return Joint(self.attributes, held, self.values, along(self.table, merged))

    def parts(self, functional: Functional, wider: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], Vector]:
        """Return the projection of a functional: functions of single axes, of pairs, and of the wider sets of axes."""
        table = self.table + EMPTY / self.table.size
        axes = range(table.ndim)
        sets = [*((axis,) for axis in axes), *combinations(axes, 2), *wider]
        inside = {subset: table.sum(axis=_others(subset, table.ndim)) for subset in sets}
        means = {subset: np.zeros(marginal.shape) for subset, marginal in inside.items()}
        left = self.weights(functional)
        left = left - float((left * table).sum())
        enough = SETTLED * float(np.abs(left).max())
        for _ in range(ROUNDS):
            if float(np.abs(left).max()) <= enough:
                break
            for subset in sets:
                mean = (left * table).sum(axis=_others(subset, table.ndim)) / inside[subset]
                means[subset] += mean
                left = left - _spread(mean, subset, table.ndim)
        for larger in reversed(sets):  # remove the part that a smaller set can express
            for subset in sets[: sets.index(larger)]:
                if set(subset) < set(larger):
                    places = tuple(larger.index(axis) for axis in subset)
                    others = _others(places, len(larger))
                    mean = (means[larger] * inside[larger]).sum(axis=others) / inside[subset]
                    means[subset] += mean
                    means[larger] = means[larger] - _spread(mean, places, len(larger))
        return means

    def within(self, functional: Functional, axis: int) -> Vector:
        """Return how the mean of a functional depends on the values of an attribute, beyond their groups."""
        attribute, held = self.attributes[axis], self.held[axis]
        spread = np.zeros(held.shape[1])
        for term in functional.terms:
            if attribute in term.factors:
                vectors = self._vectors(term)
                weights = _outer([np.ones(len(vector)) if k == axis else vector for k, vector in enumerate(vectors)])
                others = _others((axis,), self.table.ndim)
                mean = (weights * self.table).sum(axis=others) / np.maximum(self.table.sum(axis=others), TINY)
                spread += term.coefficient * (mean @ held) * (term.factors[attribute] - vectors[axis] @ held)
        return spread


def _outer(vectors: Sequence[Vector]) -> Vector:
    product = np.ones(())
    for vector in vectors:
        product = np.multiply.outer(product, vector)
    return product


def _others(axes: Sequence[int], count: int) -> tuple[int, ...]:
    return tuple(axis for axis in range(count) if axis not in axes)


def _spread(function: Vector, axes: Sequence[int], count: int) -> Vector:
    """Return a function of some axes as one of all of them."""
    return function[tuple(slice(None) if axis in axes else None for axis in range(count))]


def mean_of_term(term: Term, shares: Mapping[int, Vector]) -> float:
    """Return the mean of a term of one attribute or none."""
    for attribute, vector in term.factors.items():
        return term.coefficient * float(vector @ shares[attribute])
    return term.coefficient
