"""Questions as linear functionals: sums of products of one vector per attribute.

``f(record) = sum_k coefficient_k * prod_i vector_ki[record_i]``. A predicate is a functional with values 0 and 1, built
of disjoint terms; a value vector turns a count into a sum. Functionals are immutable and closed under +, * and scaling.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.errors import InternalError

__all__ = ["Functional", "Term", "Vector", "with_values_sorted"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Term:
    """A coefficient times one vector for each attribute it mentions; other attributes count as 1."""

    coefficient: float
    factors: Mapping[int, Vector]

    def times(self, other: Term) -> Term:
        """Return the product, attribute by attribute."""
        shared = {
            i: self.factors[i] * vector
            for i, vector in other.factors.items()
            if i in self.factors and not (vector is self.factors[i] and i in self._marks)
        }
        product = Term(self.coefficient * other.coefficient, {**self.factors, **other.factors, **shared})
        if shared:
            return _without_constants(product, shared)
        # known without looking at the vectors again, which every group would do
        product.__dict__["vanishes"] = self.vanishes or other.vanishes
        product.__dict__["_marks"] = self._marks | other._marks  # they share no attribute but with one vector
        return product

    @property
    def is_indicator(self) -> bool:
        """Whether it is a product of zeros and ones, and so its own square."""
        return self.coefficient == 1 and len(self._marks) == len(self.factors)

    @cached_property
    def _marks(self) -> frozenset[int]:
        """The attributes whose vectors are zeros and ones."""
        return frozenset(i for i, factor in self.factors.items() if ((factor == 0) | (factor == 1)).all())

    def bound(self, peaks: dict[int, float]) -> float:
        """Return a limit of its absolute value; ``peaks`` has those of vectors by identity, and gains missing ones."""
        bound = abs(self.coefficient)
        for vector in self.factors.values():
            if id(vector) not in peaks:
                peaks[id(vector)] = float(np.abs(vector).max())
            bound *= peaks[id(vector)]
        return bound

    @cached_property
    def vanishes(self) -> bool:
        """Whether the term is zero everywhere."""
        return self.coefficient == 0 or any(not vector.any() for vector in self.factors.values())


@dataclass(frozen=True, eq=False)
class Functional:
    """A sum of terms over attributes of the given sizes."""

    sizes: tuple[int, ...]
    terms: tuple[Term, ...]

    @classmethod
    def constant(cls, sizes: tuple[int, ...], value: float = 1.0) -> Functional:
        """Return the functional that has the same value for every record."""
        return cls(sizes, (Term(value, {}),) if value else ())

    @classmethod
    def of(cls, sizes: tuple[int, ...], attribute: int, vector: npt.ArrayLike) -> Functional:
        """Return the functional that maps one attribute by a vector."""
        values = np.array(vector, dtype=np.float64)
        if values.shape != (sizes[attribute],):
            message = (
                f"A vector of shape {values.shape} does not fit attribute {attribute} of {sizes[attribute]} values."
            )
            raise InternalError(message)
        values.setflags(write=False)
        if np.ptp(values) == 0:
            return cls.constant(sizes, float(values[0]))  # constant: nothing needs to be read
        return cls(sizes, (Term(1.0, {attribute: values}),))

    def __add__(self, other: Functional) -> Functional:
        return Functional(self.sizes, _merge((*self.terms, *other.terms)))

    def __sub__(self, other: Functional) -> Functional:
        return self + other.scaled(-1.0)

    def __mul__(self, other: Functional) -> Functional:
        products = (left.times(right) for left in self.terms for right in other.terms)
        return Functional(self.sizes, _merge(tuple(term for term in products if not term.vanishes)))

    def scaled(self, by: float) -> Functional:
        """Return the functional times a number."""
        return Functional(self.sizes, tuple(Term(by * term.coefficient, term.factors) for term in self.terms if by))

    @property
    def attributes(self) -> tuple[int, ...]:
        """The attributes it depends on, in order."""
        return tuple(sorted({attribute for term in self.terms for attribute in term.factors}))

    @property
    def is_indicator(self) -> bool:
        """Whether it is one product of zeros and ones, and so its own square."""
        return len(self.terms) == 1 and self.terms[0].is_indicator

    @cached_property
    def key(self) -> Hashable:
        """The key that functionals with the same terms share."""
        return tuple(
            (term.coefficient, tuple((i, vector.tobytes()) for i, vector in sorted(term.factors.items())))
            for term in self.terms
        )

    def single_vector(self) -> tuple[int, Vector] | None:
        """Return the attribute and vector of a functional of one attribute, None for any other."""
        if len(self.attributes) != 1:
            return None
        [attribute] = self.attributes
        total = np.zeros(self.sizes[attribute])
        for term in self.terms:
            total = total + term.coefficient * term.factors.get(attribute, np.ones(self.sizes[attribute]))
        return attribute, total

    def __call__(self, record: tuple[int, ...]) -> float:
        """Return the value for a record of value indices; for tests and exact checks."""
        return float(
            sum(
                term.coefficient * np.prod([vector[record[attribute]] for attribute, vector in term.factors.items()])
                for term in self.terms
            )
        )


def with_values_sorted(functionals: Sequence[Functional], attributes: Container[int]) -> list[Functional]:
    """Return functionals with the values of some attributes in one order, that of their vectors, in all of them.

    Functionals about one value each become equal, whichever value it is.
    """
    terms = [term for functional in functionals for term in functional.terms]
    for i in {i for term in terms for i in term.factors if i in attributes}:
        vectors = list({id(term.factors[i]): term.factors[i] for term in terms if i in term.factors}.values())
        order = np.lexsort(vectors)
        terms = [Term(t.coefficient, {**t.factors, i: t.factors[i][order]}) if i in t.factors else t for t in terms]
    taken = iter(terms)
    return [Functional(each.sizes, tuple(itertools.islice(taken, len(each.terms)))) for each in functionals]


def _merge(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """Add up terms that differ in one attribute at most: fewer terms, the same functional."""
    if len(terms) < 2:
        return terms
    merged: dict[int, Term] = {}
    index: dict[Hashable, int] = {}
    for number, new in enumerate(terms):
        term, partners = new, _partners(new)
        while (place := next((index[key] for key in partners if key in index), None)) is not None:
            other = merged.pop(place)
            for key in _partners(other):
                index.pop(key, None)
            term = _join(other, term)
            partners = _partners(term)
        merged[number] = term
        index.update(dict.fromkeys(partners, number))
    return tuple(term for term in merged.values() if not term.vanishes)


def _partners(term: Term) -> list[Hashable]:
    """Return a key for each attribute, shared by terms that differ only in that attribute's vector."""
    texts = {i: vector.tobytes() for i, vector in term.factors.items()}
    return [(i, frozenset(item for item in texts.items() if item[0] != i)) for i in texts] or [None]


def _join(left: Term, right: Term) -> Term:
    """Return the sum of two terms that differ in at most one attribute's vector as one term."""
    differing = [i for i, vector in left.factors.items() if not np.array_equal(vector, right.factors[i])]
    if not differing:
        return Term(left.coefficient + right.coefficient, left.factors)
    [place] = differing
    vector = left.coefficient * left.factors[place] + right.coefficient * right.factors[place]
    return _without_constants(Term(1.0, {**left.factors, place: vector}), [place])


def _without_constants(term: Term, attributes: Iterable[int]) -> Term:
    """Replace constant vectors of the given attributes with numbers."""
    level = {i: float(vector[0]) for i in attributes if (vector := term.factors[i]).min() == vector.max()}
    if not level:
        return term
    others = {i: vector for i, vector in term.factors.items() if i not in level}
    return Term(term.coefficient * math.prod(level.values()), others)
