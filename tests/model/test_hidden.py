"""The range that margins leave open: exact where three attributes have two values, and never too narrow."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tacit.model.entropy import maximum_entropy
from tacit.model.hidden import error_of_range, hidden_range

PAIRS = [(0, 1), (0, 2), (1, 2)]


def test_tables_of_three_bits_have_one_more_parameter_than_their_pairs() -> None:
    """Tables with the same pairs differ by a multiple of the parity, as far as no cell becomes negative."""
    source = np.random.default_rng(1)
    parity = np.fromfunction(lambda a, b, c: 1 - 2 * ((a + b + c) % 2), (2, 2, 2))
    tables, weights = source.dirichlet(np.ones(8), 50).reshape(50, 2, 2, 2), source.normal(size=(50, 2, 2, 2))
    low, high = hidden_range(tables, weights, PAIRS)
    down, up = tables[:, parity > 0].min(axis=1), tables[:, parity < 0].min(axis=1)
    slope = (weights * parity).sum(axis=(1, 2, 3))
    ends = np.sort([-down * slope, up * slope], axis=0)
    assert (low <= ends[0] + 1e-12).all()
    assert (high >= ends[1] - 1e-12).all()
    assert np.allclose(low, ends[0], atol=0.03)
    assert np.allclose(high, ends[1], atol=0.03)


@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 2, 2, 2), (2, 1, 6, 3)])
def test_other_tables_with_the_same_margins_are_in_the_range(shape: tuple[int, ...]) -> None:
    """Proportional fitting of tables that lean towards large weights reaches nearly as far as the range."""
    source = np.random.default_rng(2)
    sets = list(itertools.combinations(range(len(shape)), 2))
    table, weights = source.dirichlet(np.full(int(np.prod(shape)), 0.5)).reshape(shape), source.normal(size=shape)
    [low], [high] = hidden_range(table[None], weights[None], sets)
    margins = [table.sum(axis=tuple(k for k in range(len(shape)) if k not in own)) for own in sets]
    fits = [maximum_entropy(shape, sets, margins, np.exp(lean * weights)) for lean in (-10.0, 0.0, 10.0)]
    least, middle, most = (float(((fit.table - table) * weights).sum()) for fit in fits)
    assert max(fit.gap for fit in fits) < 1e-3
    assert low - 0.01 <= least < middle < most <= high + 0.01
    assert most - least > 0.7 * (high - low)


def test_weights_that_margins_determine_have_no_range() -> None:
    source = np.random.default_rng(3)
    table = source.dirichlet(np.ones(24)).reshape(1, 2, 3, 4)
    known = source.normal(size=(1, 2, 3, 1)) + source.normal(size=(1, 1, 3, 4))
    assert np.allclose(hidden_range(table, known, PAIRS), 0.0, atol=2e-3 * np.ptp(known))
    assert error_of_range(np.array([-1.0]), np.array([1.0])) == pytest.approx([3**-0.5])
