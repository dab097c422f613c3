"""Terms spread over sets of attributes, where views were designed: each set's views say part of what is asked.

The views that show exactly some attributes fill a grid of their own, with information ``G = G_1 x G_2 x …``. About one
attribute i, a set says ``P G_i P / prod_k 1'G_k^-1 1`` (k are the other attributes it shows; the constant is known, so
P takes means out). Information of different sets adds up, because a report is of one set; so least squares read a
vector f of attribute i in parts

    f = mean + sum_s D_s f,     D_s = (information of set s) (information of all sets)^-1 P.

A product f_1 x f_2 is read from the set that shows both. What it says of each attribute alone, c_2 f_1 and c_1 f_2 with
``c = 1'G^-1 f / 1'G^-1 1``, is spread over the other sets in the same way. The parts add up to the term whatever the
weights are, so that a poor spread costs variance only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tacit.contract.contract import ServiceContract
from tacit.estimate.functional import Term, Vector
from tacit.estimate.partitions import Partitions

if TYPE_CHECKING:
    from tacit.estimate.decoder import Grid

__all__ = ["Sets"]

LARGEST = 2_048
"""Values of an attribute up to which its vectors are spread by least squares; those of more by shares."""


class Sets:
    """The grids of a service whose views were designed, by the attributes they show."""

    def __init__(self, service: ServiceContract, grids: dict[tuple[int, ...], Grid]) -> None:
        self._service, self._grids = service, grids
        self._spreads: dict[int, dict[tuple[int, ...], Vector | float]] = {}

    def home(self, attributes: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the smallest set that shows some attributes together."""
        fitting = [own for own in self._grids if set(attributes) <= set(own)]
        return min(fitting, key=lambda own: (len(own), own), default=None)

    def whole(self, term: Term, home: tuple[int, ...]) -> tuple[Grid, Term]:
        """Return a term to be read from one set alone."""
        return self._part(term.coefficient, home, dict(term.factors))

    def parts(self, term: Term, attributes: tuple[int, ...], home: tuple[int, ...]) -> Iterator[tuple[Grid, Term]]:
        """Yield the parts of a term, each with the grid that reads it."""
        beside = {i: vector for i, vector in term.factors.items() if i not in attributes}
        yield self.whole(term, home)
        centres = {i: self._centre(home, i, term.factors[i]) for i in attributes}
        for i in attributes:
            scale = term.coefficient * math.prod(centres[k] for k in attributes if k != i)
            elsewhere = {own: _times(spread, term.factors[i]) for own, spread in self._spread(i).items() if own != home}
            if scale and elsewhere:
                yield self._part(-scale, home, beside | {i: sum(elsewhere.values(), np.zeros(len(term.factors[i])))})
                for own, vector in elsewhere.items():
                    yield self._part(scale, own, beside | {i: vector})

    def _part(self, coefficient: float, own: tuple[int, ...], factors: dict[int, Vector]) -> tuple[Grid, Term]:
        """Return a term over all attributes of a set."""
        ones = {i: np.ones(self._service.levels[i].size) for i in own if i not in factors}
        return self._grids[own], Term(coefficient, ones | factors)

    def _centre(self, own: tuple[int, ...], attribute: int, vector: Vector) -> float:
        """Return the mean of a vector, by least squares of a set."""
        solved = self._grids[own].trees[own.index(attribute)].ones_solved
        return float(solved @ vector / solved.sum())

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
        """Return what a set says about one of its attributes."""
        trees = self._grids[own].trees
        others = math.prod(float(tree.ones_solved.sum()) for i, tree in zip(own, trees, strict=True) if i != attribute)
        tree = trees[own.index(attribute)]
        dense = tree if isinstance(tree, Partitions) else Partitions(tree.levels, tree.weights)
        return dense.matrix / others


def _times(spread: Vector | float, vector: Vector) -> Vector:
    return spread * vector if isinstance(spread, float) else spread @ vector
