"""Tallies of some attributes of a linear hash equal the whole tally, summed over the others."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tacit as tc
from tacit.contract.oracles import margin_tally
from tacit.contract.oracles.base import Oracle
from tacit.contract.oracles.linear_hash import LinearHash


@pytest.mark.parametrize("epsilon", [0.4, 1.0, 4.0])
@pytest.mark.parametrize("points", [0, 2**24], ids=["cell by cell", "one transform"])
def test_margins_equal_sums_of_the_whole_tally(epsilon: float, points: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights, of people and of cells, are any numbers; hashes of 2, 5 and 53 values; code 0 supports all cells."""
    monkeypatch.setattr(margin_tally, "MOST_POINTS", points)
    monkeypatch.setattr(margin_tally, "CODES_AT_ONCE", 100)
    source = np.random.default_rng(1)
    attributes = [tc.Categorical(f"a{i}", list(range(size))) for i, size in enumerate([3, 6, 20, 5])]
    schema = tc.Schema([tc.Service("t", key="uid", attributes=attributes)])
    views = tc.Collection(schema, epsilon, mechanism="hio").contract["t"].channels[0].views
    hashes = [view.oracle for view in views if isinstance(view.oracle, LinearHash)]
    assert hashes
    for oracle in hashes:
        codes = np.unique(np.append(source.integers(0, oracle.alphabet, 300), 0))
        weights = source.normal(size=len(codes))
        beside = [source.normal(size=size) for size in oracle.sizes]
        for count in range(len(oracle.sizes) + 1):
            for wanted in itertools.combinations(range(len(oracle.sizes)), count):
                expected = Oracle.margin_tally(oracle, wanted, codes, weights, beside)
                assert np.allclose(oracle.margin_tally(wanted, codes, weights, beside), expected, rtol=1e-12, atol=1e-9)
