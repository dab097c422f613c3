"""The population assumed before any data exists: independent attributes, and numbers of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tacit.contract.contract import ServiceContract
from tacit.estimate.functional import Functional, Term, Vector
from tacit.estimate.view_cells import ViewCells, cells_of_view

__all__ = ["Population", "Terms", "Truth", "mean_square", "truth_of"]


@dataclass(frozen=True, eq=False)
class Population:
    """Frequencies of the values of each attribute of a row, and of numbers of rows from 0 to the most that count."""

    service: ServiceContract
    frequencies: tuple[Vector, ...]
    rows: Vector
    _cells: dict[tuple[int, int], ViewCells] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls, service: ServiceContract, frequencies: Sequence[Vector] | None = None, rows: Vector | None = None
    ) -> Population:
        """Return a population; missing frequencies are uniform."""
        if frequencies is None:
            frequencies = [np.full(attribute.size, 1 / attribute.size) for attribute in service.service.sensitive]
        if rows is None:
            most = service.service.rows_at_most
            rows = np.array([0.0, 1.0]) if service.service.one_to_one else np.full(most + 1, 1 / (most + 1))
        return cls(service, tuple(frequencies), rows)

    @property
    def row_share(self) -> float:
        """Share of the places that have a row."""
        return float(self.rows @ np.arange(len(self.rows))) / (len(self.rows) - 1)

    @cached_property
    def presence(self) -> Vector:
        """Frequencies of a record, and of each extra cell, at a drawn place."""
        if not self.service.extras:
            return np.ones(1)
        none = float(self.rows[0])
        return np.array([self.row_share, none, 1 - none - self.row_share])[: 1 + self.service.extras]

    @cached_property
    def reported(self) -> tuple[Vector, ...]:
        """Frequencies of the reported values of a row: its attributes, then the derived ones."""
        frequencies = list(self.frequencies)
        for derived in self.service.derived:
            shares = self.frequencies[derived.source]
            up = shares * np.arange(len(shares)) / (len(shares) - 1)
            rounded = np.array([1 - up.sum(), up.sum()])
            if derived.kind == "embed":
                frequencies.append(np.concatenate([(shares - up)[::-1], up]))
            elif derived.kind == "pair":
                frequencies.append(np.kron([1 - self.row_share, self.row_share], rounded))
            else:
                frequencies.append(rounded)
        return tuple(frequencies)

    def cells_of(self, channel: int, index: int) -> ViewCells:
        """Return what a view shows of these records; computed once."""
        known = self._cells.get((channel, index))
        if known is None:
            known = cells_of_view(self.service, channel, index, self.presence, self.reported)
            self._cells[channel, index] = known
        return known


@dataclass(frozen=True, eq=False)
class Truth:
    """A functional's value at a drawn place: mean and mean square over rows, and its values on none and skip."""

    population: Population
    mean: float
    square: float
    none: float
    skip: float

    def total(self) -> tuple[float, float]:
        """Return mean and mean square of a person's total, which is the mean of the reported values."""
        service = self.population.service.service
        most, sends = service.rows_at_most, service.sends
        counts = np.arange(most + 1)
        left = most - counts
        per_row = sends / most
        means = per_row * (counts * self.mean + left * self.skip)
        squares = counts * self.square + counts * (counts - 1) * self.mean**2
        squares = per_row**2 * (squares + 2 * counts * left * self.mean * self.skip + left**2 * self.skip**2)
        means[0], squares[0] = sends * self.none, (sends * self.none) ** 2
        return float(self.population.rows @ means), float(self.population.rows @ squares)

    def two_places(self) -> float:
        """Return the mean product of the values behind two of a person's reports."""
        service = self.population.service.service
        most = service.rows_at_most
        if self.population.service.makes_rows_up:  # drawn with replacement: each has the mean of all
            return self.total()[1] / service.sends**2
        counts = np.arange(most + 1)
        left = most - counts
        products = counts * (counts - 1) * self.mean**2 + 2 * counts * left * self.mean * self.skip
        products = (products + left * (left - 1) * self.skip**2) / max(1, most * (most - 1))
        products[0] = self.none**2
        return float(self.population.rows @ products)


def truth_of(functional: Functional, population: Population) -> Truth:
    """Return the moments of a functional."""
    plain = len(population.service.service.sensitive)
    terms = [
        (t.coefficient * float(t.factors[plain][0]) if plain in t.factors else t.coefficient, _attributes(t, plain))
        for t in functional.terms
    ]
    beside = [0.0, 0.0]
    for term in functional.terms:
        presence = term.factors.get(plain, np.ones(3))
        if not _attributes(term, plain):  # attributes have no value where there is no row
            for extra in range(min(2, len(presence) - 1)):
                beside[extra] += term.coefficient * float(presence[1 + extra])
    mean = sum(c * math.prod(float(v @ population.frequencies[i]) for i, v in factors.items()) for c, factors in terms)
    return Truth(population, mean, mean_square(terms, population.frequencies), *beside)


def _attributes(term: Term, plain: int) -> dict[int, Vector]:
    return {i: vector for i, vector in term.factors.items() if i < plain}


Terms = list[tuple[float, dict[int, Vector]]]
"""A sum of coefficients times products of vectors over values."""


TERMS_AT_ONCE = 1_000
"""Terms that are multiplied with all others at once; bounds the memory of questions with many terms."""


def mean_square(terms: Terms, frequencies: Sequence[Vector]) -> float:
    """Return the mean square of a sum of products over records with independent attributes."""
    attributes = sorted({i for _, vectors in terms for i in vectors})
    if all(len(vectors) <= 2 for _, vectors in terms):
        return _sum_of_effects(terms, attributes, frequencies)
    weights = np.array([weight for weight, _ in terms])
    total = 0.0
    for first in range(0, len(terms), TERMS_AT_ONCE):
        part = slice(first, first + TERMS_AT_ONCE)
        products = np.outer(weights[part], weights)
        for i in attributes:  # attributes that a term does not name contribute 1, because frequencies sum to one
            vectors = np.array([vectors.get(i, np.ones(len(frequencies[i]))) for _, vectors in terms])
            products *= (vectors[part] * frequencies[i]) @ vectors.T
        total += float(products.sum())
    return total


def _sum_of_effects(terms: Terms, attributes: Sequence[int], frequencies: Sequence[Vector]) -> float:
    """Do the same for any number of terms of at most two attributes: mean, main effects and interactions.

    Attributes are independent, so these are orthogonal and their squares add up.
    """
    mass = {i: float(frequencies[i].sum()) for i in attributes}
    shares = {i: frequencies[i] / mass[i] if mass[i] else frequencies[i] for i in attributes}
    mean, alone = 0.0, {i: np.zeros(len(shares[i])) for i in attributes}
    together: dict[tuple[int, int], Vector] = {}
    alike: dict[tuple[int, ...], list[tuple[float, dict[int, Vector]]]] = {}
    for term in terms:
        alike.setdefault(tuple(sorted(term[1])), []).append(term)
    for named, members in alike.items():
        weights = np.array([weight for weight, _ in members])
        rows = {i: np.array([vectors[i] for _, vectors in members]) for i in named}
        means = {i: rows[i] @ shares[i] for i in named}
        products = weights * math.prod(means.values())
        mean += float(np.sum(products))
        for i in named:
            others = weights * math.prod(means[k] for k in named if k != i)
            alone[i] += others @ rows[i] - float(products.sum())
        if len(named) == 2:
            i, j = named
            left, right = ((rows[k] - means[k][:, None]) for k in named)
            together[i, j] = (weights[:, None] * left).T @ right
    total = mean**2 + sum(float(effect**2 @ shares[i]) for i, effect in alone.items())
    total += sum(float(shares[i] @ matrix**2 @ shares[j]) for (i, j), matrix in together.items())
    return total * math.prod(mass.values())
