"""What noisy tables say about fitted cells: as by matrices of cells times values, without making them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import tacit as tc
from tacit.errors import UnanswerableError
from tacit.model.evidence import NoisyTable, indicators, observe, within


def test_observations_are_those_of_matrices_over_values() -> None:
    source = np.random.default_rng(1)
    fine, coarse = np.arange(60) // 7, (np.arange(60) + 3) // 10
    values = np.where(fine == 2, 0.0, source.random(60))  # a cell without people: its values are alike
    table = NoisyTable((4,), (coarse,), source.random(7), np.ones(7))
    seen = observe([table], (4,), [fine], [values])
    assert np.allclose(seen.stacks[0], indicators(coarse) @ within(fine, values).T, atol=1e-15)
    assert np.allclose(seen.stacks[0].sum(axis=0), 1)
    assert np.array_equal(seen.value, table.shares)


def test_attributes_of_many_values_take_little_memory() -> None:
    """A matrix of 500 cells times 100,000 values would take 400 MB."""
    values = np.arange(100_000)
    table = NoisyTable((0,), (values // 100,), np.full(1_000, 1e-3), np.ones(1_000))
    tracemalloc.start()
    seen = observe([table], (0,), [values // 200], [np.full(100_000, 1e-5)])
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()
    assert seen.shape == (500,)


def test_attributes_of_very_many_values_are_refused_before_memory_is_allocated() -> None:
    """A dictionary of 100,000 values would need 80 gigabytes."""
    schema = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Categorical("a", list(range(6_000)))])])
    collection = tc.Collection(schema, 4.0)
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(t={"uid": range(100), "a": range(100)}, rng=tc.insecure_rng(1)))
    with pytest.raises(UnanswerableError) as refusal:
        db.sql("SELECT COUNT(*) AS n FROM t WHERE a = 3", consistent=True)
    assert refusal.value.code == "not-consistent"
    assert "6,000 values" in refusal.value.message
