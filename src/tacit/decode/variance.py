"""The variance of an estimate before any data exists: exact for the channel, averaged over assumed records.

For one report that reads view L with weights h over its cells (h = gamma / probability of the view),

    E[c**2] = sum_L pi_L ( noise |h|**2 + |h|**2/D + (1 + v_true - v)(E h(cell)**2 - |h|**2/D) ),

where noise is the oracle's on contrasts and v, v_true its variances for a false and for the true cell; weights of a
view sum to zero after the known total; where they do not, and codes support equally many cells, what is the same for
all cells is read without noise. Subtracting the square of what is read leaves the variance. Records are assumed
to have independent attributes with the given frequencies of values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.contract import ServiceContract
from tacit.decode.decoder import Decoded
from tacit.decode.functional import Functional, Vector
from tacit.decode.reading import Factor, Product, Reading
from tacit.errors import UnanswerableError
from tacit.schema import Ordinal

__all__ = ["expected_variance", "rounding_variance", "uniform_frequencies", "with_derived_frequencies"]


def uniform_frequencies(service: ServiceContract) -> list[Vector]:
    """Return equal frequencies for the values of every attribute."""
    sizes = [attribute.size for attribute in service.service.sensitive]
    return with_derived_frequencies(service, [np.full(size, 1 / size) for size in sizes])


def with_derived_frequencies(service: ServiceContract, frequencies: Sequence[Vector]) -> list[Vector]:
    """Return the frequencies of sensitive attributes, then those that rounding makes of them."""
    found = list(frequencies)
    for derived in service.derived:
        own = frequencies[derived.source]
        up = own * np.arange(len(own)) / (len(own) - 1)
        doubled = np.concatenate([(own - up)[::-1], up])
        found.append(doubled if derived.kind == "embed" else np.array([1 - up.sum(), up.sum()]))
    return found


def expected_variance(service: ServiceContract, decoded: Decoded, frequencies: Sequence[Vector]) -> float:
    """Return the mean variance of one person's contribution around the person's true value."""
    if not decoded.products:
        return 0.0
    if service.service.extras:
        message = "Errors of services whose people may have no row, or several, cannot be foretold yet."
        raise UnanswerableError(message, code="not-predictable")
    if len(decoded.products) > 1:
        message = "The error of ORs over several attributes cannot be predicted for sc. Use AND only."
        raise UnanswerableError(message, code="not-predictable")
    [(coefficient, factors)] = decoded.products
    squares, truths = 1.0, 1.0
    for factor in factors:
        variance, truth = _factor_moments(service, factor, frequencies)
        squares *= variance + truth
        truths *= truth
    return coefficient**2 * (squares - truths)


def rounding_variance(service: ServiceContract, functional: Functional, frequencies: Sequence[Vector]) -> float:
    """Return the mean variance that dithering adds to a functional, ticks being even between representatives.

    A tick at the share r of the way to the next representative is rounded up with probability r, which moves the
    functional by its difference d: a variance of r (1 - r) d**2. Attributes are taken one by one.
    """
    total = 0.0
    for i in service.dithered:
        attribute = service.service.sensitive[i]
        assert isinstance(attribute, Ordinal)  # noqa: S101  nothing else is dithered
        gap = (attribute.ticks - 1) / (attribute.values - 1)
        own, count = frequencies[i], attribute.values
        between = list(frequencies)
        halves = own[: count - 1] + own[1:count]
        between[i] = halves / max(float(halves.sum()), 1e-300) * own[:count].sum()
        terms: list[tuple[float, dict[int, Vector]]] = [
            (term.coefficient, {**term.factors, i: np.diff(term.factors[i][:count])})
            for term in functional.terms
            if i in term.factors
        ]
        total += (1 - 1 / gap**2) / 6 * _mean_square(terms, between)
    return total


def _factor_moments(service: ServiceContract, factor: Factor, frequencies: Sequence[Vector]) -> tuple[float, float]:
    """Return the mean variance of a factor, and the mean square of what it estimates."""
    variance = 0.0
    estimated: list[tuple[float, dict[int, Vector]]] = [(factor.constant, {})]
    for reading in factor.readings.values():
        square, terms = _reading_moments(service, reading, frequencies)
        variance += square - _mean_square(terms, frequencies)
        estimated += terms
    return variance, _mean_square(estimated, frequencies)


def _reading_moments(
    service: ServiceContract, reading: Reading, frequencies: Sequence[Vector]
) -> tuple[float, list[tuple[float, dict[int, Vector]]]]:
    """Return the mean square of a channel's contribution, and what it reads as terms over values."""
    square = 0.0
    terms: list[tuple[float, dict[int, Vector]]] = []
    for index, products in reading.products.items():
        view = reading.channel.views[index]
        oracle, share = view.oracle, reading.channel.probability(index)
        tables = [service.levels[i][view.levels[i]].table() for i in view.active]
        cells: list[Vector] = [
            np.bincount(table, frequencies[i], minlength=size).astype(np.float64)
            for table, i, size in zip(tables, view.active, oracle.sizes, strict=True)
        ]
        ones = [np.ones(size) for size in oracle.sizes]
        level = 0.0  # the part that is the same for all cells, where it is read without noise
        if oracle.fixed_support:
            level = sum(math.prod(float(vector.sum()) for vector in product) for product in products) / oracle.domain
        centred = [*products, [-level * ones[0], *ones[1:]]] if level else products
        length = _inner(centred, ones) / share**2
        at_truth = _inner(centred, cells) / share**2
        even = length / oracle.domain
        excess = float(1 + oracle.true_variance - oracle.false_variance) if oracle.domain > 1 else 1.0
        mean = sum(math.prod(float(v @ c) for v, c in zip(p, cells, strict=True)) for p in centred)
        square += share * (float(oracle.noise) * length + even + excess * (at_truth - even))
        square += (level**2 + 2 * level * mean) / share
        terms += [_over_values(view.active, tables, product) for product in products]
    return square, terms


def _over_values(active: Sequence[int], tables: list[Any], product: Product) -> tuple[float, dict[int, Vector]]:
    """Return what a product of cell vectors reads, as vectors over values; constant ones become a number."""
    weight, vectors = 1.0, {}
    for i, table, vector in zip(active, tables, product, strict=True):
        if np.ptp(vector) == 0:
            weight *= float(vector[0])
        else:
            vectors[i] = vector[table]
    return weight, vectors


def _inner(products: list[Product], weights: list[Vector]) -> float:
    """Return the weighted sum of squares over cells of a sum of products."""
    return sum(
        math.prod(float(a @ (b * w)) for a, b, w in zip(left, right, weights, strict=True))
        for left in products
        for right in products
    )


def _mean_square(terms: list[tuple[float, dict[int, Vector]]], frequencies: Sequence[Vector]) -> float:
    """Return the mean square of a sum of products over records with independent attributes."""
    attributes = sorted({i for _, vectors in terms for i in vectors})
    if len(attributes) == 2 and len(terms) > 2:
        return _mean_square_of_table(terms, attributes, frequencies)
    total = 0.0
    for left_weight, left in terms:
        for right_weight, right in terms:
            product = left_weight * right_weight
            for i in left.keys() | right.keys():
                ones = np.ones(len(frequencies[i]))
                product *= float((left.get(i, ones) * right.get(i, ones)) @ frequencies[i])
            total += product
    return total


def _mean_square_of_table(
    terms: list[tuple[float, dict[int, Vector]]], attributes: list[int], frequencies: Sequence[Vector]
) -> float:
    """Do the same for two attributes by adding up the table of all their values: many terms cost little."""
    rows, columns = (
        np.array([vectors.get(i, np.ones(len(frequencies[i]))) for _, vectors in terms]) for i in attributes
    )
    weights = np.array([weight for weight, _ in terms])
    table = (rows * weights[:, None]).T @ columns
    return float(frequencies[attributes[0]] @ table**2 @ frequencies[attributes[1]])
