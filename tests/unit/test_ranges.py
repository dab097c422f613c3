"""How far a report can move an answer: bounds of views decide which codes are read, and are never too narrow."""

from __future__ import annotations

import numpy as np
import pytest

import tacit as tc
from tacit.contract.oracles.subset import Subset
from tacit.estimate import batch
from tacit.estimate.decoder import Decoder
from tacit.estimate.functional import Functional


def read_all(oracle: str) -> tuple[batch.FunctionalBatch, tc.Collection]:
    attributes = [tc.Ordinal("age", 0, 59), tc.Ordinal("pay", 0, 29), tc.Categorical("plan", ["a", "b", "c"])]
    made = tc.Collection(tc.Schema([tc.Service("users", "uid", attributes)]), epsilon=1, oracle=oracle)
    service = made.contract.services[0]
    sizes = tuple(levels.size for levels in service.levels)
    old = Functional.of(sizes, 0, np.arange(60) >= 40)
    functionals = [old, Functional.of(sizes, 1, np.arange(30.0)), old * Functional.of(sizes, 1, np.arange(30) < 9)]
    read = batch.batch_of(Decoder(service), functionals)
    assert read is not None
    return read, made


@pytest.mark.parametrize("oracle", ["lh", "auto"])
@pytest.mark.parametrize("most", [0, 3_000, 2**30])
def test_ends_are_exact_or_beyond_all_contributions(oracle: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    read, made = read_all(oracle)
    channel = made.contract.services[0].channels[0]
    monkeypatch.setattr(batch, "MOST_CODES", most)
    ends = read.ranges(channel)
    assert ends is not None
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for number, view in enumerate(channel.views):
        if isinstance(view.oracle, Subset):
            values = np.concatenate(list(read._extremes(number, view.oracle)))
        else:
            values = read.contributions(number, np.arange(view.oracle.alphabet))
        low, high = np.minimum(low, values.min(axis=0)), np.maximum(high, values.max(axis=0))
    if most == 2**30:
        np.testing.assert_allclose(np.stack(ends), np.stack([low, high]), rtol=1e-9)
    slack = 1e-9 * (high - low)
    assert (ends[0] <= low + slack).all()
    assert (ends[1] >= high - slack).all()
    assert (ends[1] - ends[0] < 8 * (high - low)).all(), "bounds say something"
