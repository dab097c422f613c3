"""The algebra of functionals is that of functions on records."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from support.decoding import random_functional
from tacit.errors import InternalError
from tacit.estimate.functional import Functional
from tacit.estimate.population import mean_square

SIZES = (3, 4, 2)
RECORDS = list(itertools.product(*map(range, SIZES)))


def test_sums_products_and_scales_are_pointwise(source: np.random.Generator) -> None:
    for _ in range(30):
        f, g = (random_functional(source, SIZES) for _ in range(2))
        for record in RECORDS:
            assert (f + g)(record) == pytest.approx(f(record) + g(record), abs=1e-12)
            assert (f - g)(record) == pytest.approx(f(record) - g(record), abs=1e-12)
            assert (f * g)(record) == pytest.approx(f(record) * g(record), abs=1e-12)
            assert f.scaled(2.5)(record) == pytest.approx(2.5 * f(record), abs=1e-12)


def test_terms_that_differ_in_one_attribute_become_one() -> None:
    left = Functional.of(SIZES, 0, [1, 0, 0]) * Functional.of(SIZES, 1, [1, 1, 0, 0])
    right = Functional.of(SIZES, 0, [1, 0, 0]) * Functional.of(SIZES, 1, [0, 0, 0, 1])
    assert len((left + right).terms) == 1
    assert (left + right - left - right).terms == ()
    assert left.attributes == (0, 1)


def test_what_is_the_same_for_all_values_needs_no_attribute() -> None:
    assert Functional.of(SIZES, 1, [2, 2, 2, 2]).attributes == ()
    assert Functional.of(SIZES, 1, [0, 0, 0, 0]).terms == ()
    half = Functional.of(SIZES, 1, [1, 0, 0, 1])
    rest = Functional.of(SIZES, 1, [0, 1, 1, 0])
    assert (half + rest).attributes == ()
    assert (half * rest).terms == ()
    assert half.single_vector() is not None
    assert (half + Functional.of(SIZES, 0, [1, 0, 0])).single_vector() is None


def test_vectors_must_fit() -> None:
    with pytest.raises(InternalError):
        Functional.of(SIZES, 0, [1, 2])


def test_the_mean_square_is_that_of_all_records(source: np.random.Generator) -> None:
    for most in 30 * (2, 3):  # terms of two attributes are added up by effects, wider ones pair by pair
        frequencies = [source.dirichlet(np.ones(size)) for size in SIZES]
        terms = []
        for _ in range(int(source.integers(1, 7))):
            named = source.choice(3, int(source.integers(0, most + 1)), replace=False).tolist()
            terms.append((float(source.normal()), {i: source.normal(size=SIZES[i]) for i in named}))
        expected = 0.0
        for record in RECORDS:
            values = [weight * math.prod(v[record[i]] for i, v in vectors.items()) for weight, vectors in terms]
            expected += math.prod(frequencies[i][record[i]] for i in range(3)) * sum(values) ** 2
        assert mean_square(terms, frequencies) == pytest.approx(expected, rel=1e-9)
