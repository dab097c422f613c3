"""Variances of observations: noise is the same for all cells, who drew a view is not."""

from __future__ import annotations

import numpy as np
import pytest

import tacit as tc
from tacit.contract.oracles import Oracle
from tacit.model import settled
from tacit.model.evidence import NoisyTable, observe
from tacit.model.model import Model
from tacit.model.pairs import cell_noise, proportional_noise
from tacit.model.reports import Reports, model_of

CELLS = 64


def oracle_of(cells: int, epsilon: str) -> Oracle:
    schema = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Categorical("x", values=list(range(cells)))])])
    return tc.Collection(schema, epsilon, mechanism="fc").contract["t"].channels[0].views[0].oracle


@pytest.mark.parametrize(("cells", "epsilon"), [(2, "1"), (4, "4"), (16, "4"), (16, "1"), (64, "0.5")])
def test_the_variance_of_a_difference_of_two_cells_is_that_of_their_people(cells: int, epsilon: str) -> None:
    oracle = oracle_of(cells, epsilon)
    one, neither = (float(part) for part in oracle.pair_split)
    squared = float(oracle.keep - oracle.lie) ** 2
    shares = np.zeros(cells)
    shares[:2] = 0.6, 0.1
    own = proportional_noise(oracle)
    variance = cell_noise(oracle) * ((1 - own) + own * cells * shares)
    exact = (one * 0.7 + neither * 0.3) / squared
    assert variance[0] + variance[1] == pytest.approx(exact, rel=0.04)


def test_observations_have_the_variances_of_the_people_expected() -> None:
    table = NoisyTable((0,), (np.arange(4) // 2,), np.array([0.9, 0.1]), np.asarray(100.0), proportional=0.5)
    fine = ([np.arange(4)], [np.full(4, 0.25)])
    even, uneven = observe([table], (0,), *fine), observe([table], (0,), *fine, np.array([0.7, 0.2, 0.1, 0.0]))
    assert even.weight.tolist() == [100.0, 100.0]
    np.testing.assert_allclose(1 / uneven.weight, [0.005 + 0.5 * 0.02 * 0.9, 0.005 + 0.5 * 0.02 * 0.1])


def test_spikes_at_large_epsilon_are_closer_than_with_even_variances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zipf, 20,000 people, epsilon 4, six encodings: the mean error of prefixes is at least a tenth less."""
    weights = np.arange(1, CELLS + 1) ** -1.2
    values = np.random.default_rng(3).choice(CELLS, 20_000, p=weights / weights.sum())
    truth = np.bincount(values, minlength=CELLS).cumsum() / len(values)
    schema = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Ordinal("x", 0, CELLS - 1)])])
    collection = tc.Collection(schema, 4)

    def models() -> list[Model]:
        made = []
        for seed in range(6):
            rows = {"uid": np.arange(len(values)), "x": values}
            reports = collection.encode(t=rows, rng=tc.insecure_rng(seed))["t"]
            codes, times = np.unique(np.asarray(reports["code"]), return_counts=True)
            zeros = np.zeros(len(codes), dtype=np.int64)
            made.append(model_of([Reports((collection.contract["t"],), (zeros,), (codes,), times, zeros)]))
        return made

    def error() -> float:
        return float(np.mean([np.abs(model.values(0).cumsum() - truth).mean() for model in models()]))

    now = error()
    monkeypatch.setattr(settled, "OWN", 2.0)
    assert now < 0.95 * error()
