"""The variance of an estimate before any data exists: exact for the channel, averaged over assumed records.

For one report that reads view L with weights h over its cells (h = gamma / probability of the view),

    E[c**2] = sum_L pi_L ( noise |h|**2 + |h|**2/D + (1 + v_true - v)(E h(cell)**2 - |h|**2/D) ),

where noise is the oracle's on contrasts and v, v_true its variances for a false and for the true cell; weights of a
view sum to zero after the known total; where they do not, and codes support equally many cells, the part that is equal
for all cells is read without noise. A person's contribution is the sum over their reports, whose noises are
independent; in joins it is the product over services, whose reports and attributes are assumed to be independent.
Subtracting the mean square of the estimated quantity leaves the variance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from tacit.contract.schema import Ordinal
from tacit.errors import UnanswerableError
from tacit.estimate.decoder import Decoder
from tacit.estimate.functional import Functional, Vector
from tacit.estimate.population import Population, Terms, mean_square, truth_of
from tacit.estimate.reading import Factor, Product, Reading

__all__ = [
    "PersonMoments",
    "expected_covariance",
    "expected_variance",
    "joint_square",
    "joint_variance",
    "moments",
    "rounding_variance",
]


class PersonMoments(NamedTuple):
    """Mean of a person's total, its mean square, and the mean square of its estimate."""

    mean: float
    truth: float
    estimate: float


def expected_variance(decoder: Decoder, functional: Functional, population: Population) -> float:
    """Return the mean variance of one person's contribution around the person's true value."""
    expected = moments(decoder, functional, population)
    return max(0.0, expected.estimate - expected.truth)


def expected_covariance(variance: Callable[[Functional], float], functionals: Sequence[Functional]) -> Vector:
    """Return the mean covariance of one person's contributions to several functionals, using linearity."""
    matrix = np.diag([variance(functional) for functional in functionals])
    for i, j in itertools.combinations(range(len(functionals)), 2):
        both = variance(functionals[i] + functionals[j])
        matrix[i, j] = matrix[j, i] = (both - matrix[i, i] - matrix[j, j]) / 2
    return matrix


def moments(decoder: Decoder, functional: Functional, population: Population) -> PersonMoments:
    """Return the moments of one person's contribution to a functional of one service."""
    if population.service.channels[0].parities:
        message = "The error of answers from parities cannot be predicted. Use am, or ask after collecting."
        raise UnanswerableError(message, code="not-predictable")
    products = decoder.decode(functional).products
    if len(products) > 1:
        message = "The error of OR across attributes cannot be predicted for sc. Use AND only."
        raise UnanswerableError(message, code="not-predictable")
    truth = truth_of(functional, population)
    mean, square = truth.total()
    if not products:
        return PersonMoments(mean, square, square)
    [(coefficient, factors)] = products
    if len(factors) > 1 and population.service.extras:
        message = "The error of products of estimates cannot be predicted where people may have no row. Use hio."
        raise UnanswerableError(message, code="not-predictable")
    one_report = coefficient**2 * math.prod(_factor_square(factor, population) for factor in factors)
    sends = population.service.service.sends
    return PersonMoments(mean, square, sends * one_report + sends * (sends - 1) * truth.two_places())


def joint_variance(
    products: Sequence[Mapping[int, Functional]], decoders: Sequence[Decoder], populations: Sequence[Population]
) -> float:
    """Return the mean variance of one person's part of a sum of products over services, which are independent."""
    if len(products) == 1 and len(products[0]) == 1:
        [(number, local)] = products[0].items()
        return expected_variance(decoders[number], local, populations[number]) + rounding_variance(
            local, populations[number]
        )
    ones = {n: Functional.constant(local.sizes) for parts in products for n, local in parts.items()}

    def squares(number: int, functional: Functional) -> tuple[float, float]:
        squares_of = moments(decoders[number], functional, populations[number])
        return squares_of.estimate + rounding_variance(functional, populations[number]), squares_of.truth

    def product(number: int, left: Functional, right: Functional) -> tuple[float, float]:
        """Return the mean products of two estimates and of two truths of a service; decoding is linear."""
        if left is right:
            return squares(number, left)
        both, first, second = (squares(number, functional) for functional in (left + right, left, right))
        return (both[0] - first[0] - second[0]) / 2, (both[1] - first[1] - second[1]) / 2

    total = 0.0
    for left, right in itertools.product(products, repeat=2):
        estimate, truth = 1.0, 1.0
        for number, unit in ones.items():
            squares_of = product(number, left.get(number, unit), right.get(number, unit))
            estimate, truth = estimate * squares_of[0], truth * squares_of[1]
        total += estimate - truth
    return total


def joint_square(products: Sequence[Mapping[int, Functional]], populations: Sequence[Population]) -> float:
    """Return the mean square of one person's part of a sum of products over services, which are independent."""
    ones = {n: Functional.constant(local.sizes) for parts in products for n, local in parts.items()}

    def square(number: int, functional: Functional) -> float:
        return truth_of(functional, populations[number]).total()[1]

    def product(number: int, left: Functional, right: Functional) -> float:
        return (square(number, left + right) - square(number, left) - square(number, right)) / 2

    pairs = itertools.product(products, repeat=2)
    return sum(math.prod(product(n, a.get(n, unit), b.get(n, unit)) for n, unit in ones.items()) for a, b in pairs)


def rounding_variance(functional: Functional, population: Population) -> float:
    """Return the mean variance that dithering adds to a person's total, for ticks uniform between representatives.

    A tick at the share r of the way to the next representative is rounded up with probability r, which moves the
    functional by its difference d: a variance of r (1 - r) d**2. Attributes are treated one by one; each of a person's
    reports has a row with the share of places that have one, and is rounded independently.
    """
    total, service = 0.0, population.service
    plain = len(service.service.sensitive)
    reported = service.service.sends * (population.row_share if service.service.extras else 1.0)
    for i in service.dithered:
        attribute = service.service.sensitive[i]
        assert isinstance(attribute, Ordinal)  # noqa: S101  nothing else is dithered
        gap = (attribute.ticks - 1) / (attribute.values - 1)
        frequencies, count = population.frequencies[i], attribute.values
        between = list(population.frequencies)
        halves = frequencies[: count - 1] + frequencies[1:count]
        between[i] = halves / max(float(halves.sum()), 1e-300) * frequencies[:count].sum()
        terms: Terms = []
        for term in functional.terms:
            if i in term.factors:
                own_factors = {k: vector for k, vector in term.factors.items() if k < plain}
                presence = float(term.factors[plain][0]) if plain in term.factors else 1.0
                terms.append((term.coefficient * presence, {**own_factors, i: np.diff(term.factors[i][:count])}))
        total += reported * (1 - 1 / gap**2) / 6 * mean_square(terms, between)
    return total


def _factor_square(factor: Factor, population: Population) -> float:
    """Return the mean square of a factor: the variances of its readings, and the square of their sum's mean."""
    presence, frequencies = population.presence, population.reported
    variance = 0.0
    terms: Terms = [(factor.constant, {})]
    beside = np.full(len(presence) - 1, factor.constant)
    for channel, reading in factor.readings.items():
        square, read, extra = _reading_moments(channel, reading, population)
        variance += square - float(presence[0]) * mean_square(read, frequencies) - float(presence[1:] @ extra**2)
        terms += read
        beside = beside + extra
    return variance + float(presence[0]) * mean_square(terms, frequencies) + float(presence[1:] @ beside**2)


def _reading_moments(channel: int, reading: Reading, population: Population) -> tuple[float, Terms, Vector]:
    """Return the mean square of a channel's contribution, and its reading: as terms over values, and on extra cells."""
    square = 0.0
    terms: Terms = []
    beside = np.zeros(population.service.extras)
    for index, products in reading.products.items():
        cells = population.cells_of(channel, index)
        oracle, share, ones, mixture = cells.oracle, cells.share, cells.ones, cells.mixture
        level = 0.0  # the part that is equal for all cells, where it is read without noise
        if oracle.fixed_support:
            level = _total(_axes(products), ones) / oracle.domain
        centred = _axes([*products, [-level * ones[0], *ones[1:]]] if level else products)
        length = _inner(centred, ones) / share**2
        at_truth = sum(weight * _inner(centred, marks) for weight, marks in mixture) / share**2
        even = length / oracle.domain
        square += share * (cells.noise * length + even + cells.excess * (at_truth - even))
        if level:
            mean = sum(weight * _total(centred, marks) for weight, marks in mixture)
            square += (level**2 + 2 * level * mean) / share
        terms += [_over_values(cells.active, cells.tables, product) for product in products]
        for extra, place in enumerate(cells.places):
            beside[extra] += sum(math.prod(float(v[cell]) for v, cell in zip(p, place, strict=True)) for p in products)
    return square, terms, beside


def _over_values(active: Sequence[int], tables: list[Any], product: Product) -> tuple[float, dict[int, Vector]]:
    """Return what a product of cell vectors reads, as vectors over values; constant ones become a number."""
    weight, vectors = 1.0, {}
    for i, table, vector in zip(active, tables, product, strict=True):
        read = vector[table]
        if read.min() == read.max():
            weight *= float(read[0])
        else:
            vectors[i] = read
    return weight, vectors


def _axes(products: Sequence[Product]) -> list[Vector]:
    """Return for each attribute its vectors, a row for each product."""
    return [np.array(vectors) for vectors in zip(*products, strict=True)]


def _total(axes: Sequence[Vector], weights: Sequence[Vector]) -> float:
    """Return the weighted sum over cells of a sum of products."""
    sums = [rows @ vector for rows, vector in zip(axes, weights, strict=True)]
    return float(reduce(np.multiply, sums).sum())


def _inner(axes: Sequence[Vector], weights: Sequence[Vector]) -> float:
    """Return the weighted sum of squares over cells of a sum of products."""
    sums = [(rows * vector) @ rows.T for rows, vector in zip(axes, weights, strict=True)]
    return float(reduce(np.multiply, sums).sum())
