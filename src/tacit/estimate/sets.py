"""Spread terms over the sets of attributes of designed views: each set's views estimate a part of a term.

The views of a set of attributes fill a grid, with information ``G = G_1 x G_2 x …``. About one attribute i, a set
carries ``P G_i P / prod_k 1'G_k^-1 1`` (k are the other attributes it shows; the constant is known, so P takes means
out). Information of different sets adds up, because a report is of one set; so least squares reads a vector f of
attribute i in parts

    f = mean + sum_s D_s f,     D_s = (information of set s) (information of all sets)^-1 P.

A product f_1 x f_2 is read from the sets that show both, by shares inverse to their variances. Its parts about each
attribute alone, c_2 f_1 and c_1 f_2 with ``c = 1'G^-1 f / 1'G^-1 1``, are spread over the other sets in the same way.
The parts add up to the term for any weights, so a poor spread costs only variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tacit.contract.contract import ServiceContract
from tacit.estimate.functional import Vector
from tacit.estimate.partitions import Partitions
from tacit.estimate.split import Solver
from tacit.estimate.terms import Terms

if TYPE_CHECKING:
    from tacit.estimate.decoder import Grid

__all__ = ["GridSets"]

LARGEST = 2_048
"""Maximum values of an attribute whose vectors are spread by least squares; larger ones are spread by shares."""


class GridSets:
    """The grids of a service whose views were designed, by the attributes they show."""

    def __init__(self, service: ServiceContract, grids: dict[tuple[int, ...], Grid]) -> None:
        self._service, self._grids = service, grids
        self._spreads: dict[int, dict[tuple[int, ...], Vector | float]] = {}
        self._shares: dict[tuple[int, ...], dict[tuple[int, ...], float]] = {}

    def home(self, attributes: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the smallest set that shows some attributes together."""
        fitting = [grid for grid in self._grids if set(attributes) <= set(grid)]
        return min(fitting, key=lambda grid: (len(grid), grid), default=None)

    def from_one_set(self, terms: Terms, home: tuple[int, ...]) -> tuple[Grid, Terms]:
        """Return terms to be read from one set alone."""
        return self._grids[home], terms.over(home, [levels.size for levels in self._service.levels])

    def parts(self, terms: Terms, home: tuple[int, ...]) -> Iterator[tuple[Grid, Terms]]:
        """Yield the parts of terms, each with the grid that reads them."""
        if len(terms.attributes) == 1:
            yield from self._parts_from(terms, home)
            return
        for shown, share in self._together(terms.attributes).items():
            yield from self._parts_from(terms.times(share), shown)

    def _together(self, attributes: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        """Return the sets that show all of some attributes, with their shares of the information about products."""
        if attributes not in self._shares:
            showing = [grid for grid in self._grids if set(attributes) <= set(grid)]
            tells = {}
            for shown in showing:
                trees = dict(zip(shown, self._grids[shown].trees, strict=True))
                costs = (_usual_cost(tree) if i in attributes else _total(tree) for i, tree in trees.items())
                tells[shown] = 1 / math.prod(costs)
            self._shares[attributes] = {shown: part / sum(tells.values()) for shown, part in tells.items()}
        return self._shares[attributes]

    def _parts_from(self, terms: Terms, home: tuple[int, ...]) -> Iterator[tuple[Grid, Terms]]:
        """Yield the parts of terms, where products are read from one set."""
        yield self.from_one_set(terms, home)
        centres = [
            self._centres(home, i, vectors)[terms.picks[:, k]]
            for k, (i, vectors) in enumerate(zip(terms.attributes, terms.vectors, strict=True))
        ]
        for k, i in enumerate(terms.attributes):
            scale = terms.coefficients * math.prod(centre for other, centre in enumerate(centres) if other != k)
            elsewhere = {
                shown: _times(spread, terms.vectors[k]) for shown, spread in self._spread(i).items() if shown != home
            }
            if scale.any() and elsewhere:
                alone = terms.alone(k, scale)
                yield self.from_one_set(alone.with_vectors(sum(elsewhere.values(), np.zeros(1)), -1.0), home)
                for shown, vectors in elsewhere.items():
                    yield self.from_one_set(alone.with_vectors(vectors), shown)

    def _centres(self, shown: tuple[int, ...], attribute: int, vectors: Vector) -> Vector:
        """Return the means of vectors, by least squares of a set."""
        solved = self._grids[shown].trees[shown.index(attribute)].ones_solved
        means: Vector = vectors @ solved / solved.sum()
        return means

    def _spread(self, attribute: int) -> dict[tuple[int, ...], Vector | float]:
        """Return D_s for every set s that shows an attribute; shares, if the attribute is large."""
        if attribute not in self._spreads:
            showing = [grid for grid in self._grids if attribute in grid]
            size = self._service.levels[attribute].size
            if len(showing) == 1:
                self._spreads[attribute] = {showing[0]: 1.0}
            elif size > LARGEST:
                total = sum(map(self._weight, showing))
                self._spreads[attribute] = {shown: self._weight(shown) / total for shown in showing}
            else:
                centred = np.eye(size) - 1 / size
                known = {shown: centred @ self._information(shown, attribute) @ centred for shown in showing}
                total_information = sum(known.values(), np.full((size, size), 1 / size))
                inverse = np.linalg.inv(total_information) - 1 / size
                self._spreads[attribute] = {shown: information @ inverse for shown, information in known.items()}
        return self._spreads[attribute]

    def _weight(self, shown: tuple[int, ...]) -> float:
        return sum(source.weight for source in self._grids[shown].sources)

    def _information(self, shown: tuple[int, ...], attribute: int) -> Vector:
        """Return the information of a set about one of its attributes."""
        trees = self._grids[shown].trees
        others = math.prod(
            float(tree.ones_solved.sum()) for i, tree in zip(shown, trees, strict=True) if i != attribute
        )
        tree = trees[shown.index(attribute)]
        dense = tree if isinstance(tree, Partitions) else Partitions(tree.levels, tree.weights)
        return dense.matrix / others


def _times(spread: Vector | float, vectors: Vector) -> Vector:
    return spread * vectors if isinstance(spread, float) else vectors @ spread.T


def _total(tree: Solver) -> float:
    return float(tree.ones_solved.sum())


def _usual_cost(tree: Solver) -> float:
    """Return the variance of contrasts, between that of a single value and that of half of all values."""
    size = tree.levels.size
    first = (np.arange(size) < (size + 1) // 2).astype(np.float64)
    middle = (np.arange(size) == size // 3).astype(np.float64)
    costs = 1.0
    for vector in (first, middle):
        centred = vector - float(tree.ones_solved @ vector) / _total(tree)
        costs *= float(centred @ tree.cell_sums(centred)[-1][0])
    return math.sqrt(costs)
