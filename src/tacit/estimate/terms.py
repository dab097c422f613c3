"""Many terms over the same attributes: the distinct vectors of each attribute, and their index for each term.

Fifty states times ten ages are sixty vectors, not five hundred pairs of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.contract.contract import ServiceContract
from tacit.contract.oracles.base import Codes
from tacit.estimate.functional import Term, Vector

__all__ = ["Terms", "presence_of"]


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms over some attributes."""

    attributes: tuple[int, ...]
    coefficients: Vector
    presence: Vector
    """For each term, its values on a record and on the extra cells, attributes apart."""
    vectors: tuple[Vector, ...]
    """For each attribute, its distinct vectors as rows."""
    picks: Codes
    """Terms x attributes: the index of each term's vector."""
    owner: Codes
    """The functional that each term belongs to."""

    @classmethod
    def of(
        cls, attributes: tuple[int, ...], terms: Sequence[Term], owner: Sequence[int], service: ServiceContract
    ) -> Terms:
        """Gather terms of a service."""
        picks = np.zeros((len(terms), len(attributes)), dtype=np.int64)
        distinct = []
        for k, attribute in enumerate(attributes):
            rows, picks[:, k] = _distinct([term.factors[attribute] for term in terms])
            distinct.append(rows)
        coefficients = np.array([term.coefficient for term in terms])
        presence = np.stack([presence_of(service, term) for term in terms])
        return cls(attributes, coefficients, presence, tuple(distinct), picks, np.asarray(owner, dtype=np.int64))

    def first_term(self, service: ServiceContract) -> Term:
        """Return the first term."""
        factors = {
            i: vectors[pick] for i, vectors, pick in zip(self.attributes, self.vectors, self.picks[0], strict=True)
        }
        if service.extras:
            factors[len(service.levels)] = self.presence[0]
        return Term(float(self.coefficients[0]), factors)

    def alone(self, k: int, coefficients: Vector) -> Terms:
        """Return the terms with only one of their vectors and new coefficients, without terms of coefficient zero."""
        nonzero = np.flatnonzero(coefficients)
        picks, owner = self.picks[nonzero][:, [k]], self.owner[nonzero]
        return Terms(
            (self.attributes[k],), coefficients[nonzero], self.presence[nonzero], (self.vectors[k],), picks, owner
        )

    def times(self, scale: float) -> Terms:
        """Return the terms times a number."""
        return self if scale == 1 else replace(self, coefficients=scale * self.coefficients)

    def with_vectors(self, vectors: Vector, sign: float = 1.0) -> Terms:
        """Return terms of one attribute with their vectors replaced."""
        return replace(self, vectors=(vectors,), coefficients=sign * self.coefficients)

    def over(self, attributes: tuple[int, ...], sizes: Sequence[int]) -> Terms:
        """Return the terms over more attributes, whose vectors are 1."""
        if attributes == self.attributes:
            return self
        place = {i: k for k, i in enumerate(self.attributes)}
        vectors = tuple(self.vectors[place[i]] if i in place else np.ones((1, sizes[i])) for i in attributes)
        none = np.zeros(len(self.picks), dtype=np.int64)
        picks = np.stack([self.picks[:, place[i]] if i in place else none for i in attributes], axis=1)
        return replace(self, attributes=attributes, vectors=vectors, picks=picks)

    @staticmethod
    def join_terms(parts: Sequence[Terms]) -> Terms:
        """Return all terms of parts over the same attributes, in the order of their functionals."""
        if len(parts) == 1 and not np.any(np.diff(parts[0].owner) < 0):
            return parts[0]
        owner = np.concatenate([part.owner for part in parts])
        order = np.argsort(owner, kind="stable")
        columns, vectors = [], []
        for k in range(len(parts[0].attributes)):
            rows, place = _distinct([vector for part in parts for vector in part.vectors[k]])
            first = np.cumsum([0, *(len(part.vectors[k]) for part in parts)])
            columns.append(np.concatenate([place[part.picks[:, k] + first[n]] for n, part in enumerate(parts)]))
            vectors.append(rows)
        coefficients, presence = (
            np.concatenate([getattr(part, name) for part in parts])[order] for name in ("coefficients", "presence")
        )
        picks = np.stack(columns, axis=1)[order] if columns else np.zeros((len(owner), 0), dtype=np.int64)
        return Terms(parts[0].attributes, coefficients, presence, tuple(vectors), picks, owner[order])

    def part(self, chosen: slice) -> Terms:
        """Return some of the terms."""
        picks, owner = self.picks[chosen], self.owner[chosen]
        return Terms(self.attributes, self.coefficients[chosen], self.presence[chosen], self.vectors, picks, owner)


def presence_of(service: ServiceContract, term: Term) -> Vector:
    """Return a term's values on records and on extra cells, where attributes have none."""
    presence = term.factors.get(len(service.levels))
    beside = 0.0 if term.factors else 1.0  # a constant is the same on extra cells
    return np.array([1.0] + [beside] * service.extras) if presence is None else presence


def _distinct(vectors: Sequence[Vector]) -> tuple[Vector, Codes]:
    """Return the distinct vectors, and the index of each."""
    known: dict[Hashable, int] = {}
    same: dict[int, int] = {}  # identical objects need no comparison of values
    rows: list[Vector] = []
    place = np.zeros(len(vectors), dtype=np.int64)
    for number, vector in enumerate(vectors):
        row = same.get(id(vector))
        if row is None:
            row = known.setdefault(vector.tobytes(), len(rows))
            same[id(vector)] = row
            if row == len(rows):
                rows.append(vector)
        place[number] = row
    return np.stack(rows), place
