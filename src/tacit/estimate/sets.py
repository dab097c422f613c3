"""Spread terms over the sets of attributes of designed views: each set's views estimate a part of a term.

The views of a set of attributes fill a grid, with information ``G = G_1 x G_2 x …``. About one attribute i, a set
carries ``P G_i P / prod_k 1'G_k^-1 1`` (k are the other attributes it shows; the constant is known, so P takes means
out). Information of different sets adds up, because a report is of one set; so least squares reads a vector f of
attribute i in parts

    f = mean + sum_s D_s f,     D_s = (information of set s) (information of all sets)^-1 P.

A product f_1 x f_2 is read from the set that shows both. Its parts about each attribute alone, c_2 f_1 and c_1 f_2 with
``c = 1'G^-1 f / 1'G^-1 1``, are spread over the other sets in the same way. The parts add up to the term for any
weights, so a poor spread costs only variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tacit.contract.contract import ServiceContract
from tacit.estimate.functional import Vector
from tacit.estimate.partitions import Partitions
from tacit.estimate.terms import Terms

if TYPE_CHECKING:
    from tacit.estimate.decoder import Grid

__all__ = ["Sets"]

LARGEST = 2_048
"""Maximum values of an attribute whose vectors are spread by least squares; larger ones are spread by shares."""


class Sets:
    """The grids of a service whose views were designed, by the attributes they show."""

    def __init__(self, service: ServiceContract, grids: dict[tuple[int, ...], Grid]) -> None:
        self._service, self._grids = service, grids
        self._spreads: dict[int, dict[tuple[int, ...], Vector | float]] = {}

    def home(self, attributes: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the smallest set that shows some attributes together."""
        fitting = [own for own in self._grids if set(attributes) <= set(own)]
        return min(fitting, key=lambda own: (len(own), own), default=None)

    def whole(self, terms: Terms, home: tuple[int, ...]) -> tuple[Grid, Terms]:
        """Return terms to be read from one set alone."""
        return self._grids[home], terms.over(home, [levels.size for levels in self._service.levels])

    def parts(self, terms: Terms, home: tuple[int, ...]) -> Iterator[tuple[Grid, Terms]]:
        """Yield the parts of terms, each with the grid that reads them."""
        yield self.whole(terms, home)
        centres = [
            self._centres(home, i, vectors)[terms.picks[:, k]]
            for k, (i, vectors) in enumerate(zip(terms.attributes, terms.vectors, strict=True))
        ]
        for k, i in enumerate(terms.attributes):
            scale = terms.coefficients * math.prod(own for other, own in enumerate(centres) if other != k)
            elsewhere = {
                own: _times(spread, terms.vectors[k]) for own, spread in self._spread(i).items() if own != home
            }
            if scale.any() and elsewhere:
                alone = terms.alone(k, scale)
                yield self.whole(alone.with_vectors(sum(elsewhere.values(), np.zeros(1)), -1.0), home)
                for own, vectors in elsewhere.items():
                    yield self.whole(alone.with_vectors(vectors), own)

    def _centres(self, own: tuple[int, ...], attribute: int, vectors: Vector) -> Vector:
        """Return the means of vectors, by least squares of a set."""
        solved = self._grids[own].trees[own.index(attribute)].ones_solved
        means: Vector = vectors @ solved / solved.sum()
        return means

    def _spread(self, attribute: int) -> dict[tuple[int, ...], Vector | float]:
        """Return D_s for every set s that shows an attribute; shares, if the attribute is large."""
        if attribute not in self._spreads:
            showing = [own for own in self._grids if attribute in own]
            size = self._service.levels[attribute].size
            if len(showing) == 1:
                self._spreads[attribute] = {showing[0]: 1.0}
            elif size > LARGEST:
                total = sum(map(self._weight, showing))
                self._spreads[attribute] = {own: self._weight(own) / total for own in showing}
            else:
                centred = np.eye(size) - 1 / size
                known = {own: centred @ self._information(own, attribute) @ centred for own in showing}
                whole = sum(known.values(), np.full((size, size), 1 / size))
                inverse = np.linalg.inv(whole) - 1 / size
                self._spreads[attribute] = {own: information @ inverse for own, information in known.items()}
        return self._spreads[attribute]

    def _weight(self, own: tuple[int, ...]) -> float:
        return sum(source.weight for source in self._grids[own].sources)

    def _information(self, own: tuple[int, ...], attribute: int) -> Vector:
        """Return the information of a set about one of its attributes."""
        trees = self._grids[own].trees
        others = math.prod(float(tree.ones_solved.sum()) for i, tree in zip(own, trees, strict=True) if i != attribute)
        tree = trees[own.index(attribute)]
        dense = tree if isinstance(tree, Partitions) else Partitions(tree.levels, tree.weights)
        return dense.matrix / others


def _times(spread: Vector | float, vectors: Vector) -> Vector:
    return spread * vectors if isinstance(spread, float) else vectors @ spread.T
