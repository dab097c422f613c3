"""Counts of codes that benchmarks draw directly have the distribution of `Collection.encode`.

The mixtures are compared with exact weights, without chance; counts with their expectation and variance: n = 200,000
people, false alarm 1e-9 a check, and a mutant whose honest people report any code is rejected.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

import tacit as tc
from bench.simulated import Simulated, _counts_of_view, _mixture_of, simulate_counts, value_indices
from support.chances import FALSE_ALARM
from tacit.contract.channels import CompiledView
from tacit.contract.oracles import Grr, LinearHash, Oracle, Subset, Unary
from tacit.model.stored import code_counts

BOUND = Fraction(27, 10)
ORACLES = {
    "grr": Grr.build((3, 3), BOUND),
    "ss": Subset.build((7,), BOUND),
    "lh": LinearHash.build((3, 5), BOUND),
    "oue": Unary.build((5,), BOUND),
}


def exact(oracle: Oracle) -> np.ndarray:
    """Return cells x codes: the exact probabilities."""
    weights = [[oracle.weight(cell, code) for code in range(oracle.alphabet)] for cell in range(oracle.domain)]
    return np.array([[float(Fraction(one, oracle.denominator)) for one in row] for row in weights])


@pytest.mark.parametrize("name", ["grr", "ss", "lh"])
def test_a_mixture_is_the_exact_channel(name: str) -> None:
    oracle = ORACLES[name]
    mixture = _mixture_of(oracle)
    assert mixture is not None
    made = np.zeros((oracle.domain, oracle.alphabet))
    made[:, 0] += mixture.shares[0]
    made[:, mixture.first :] += mixture.shares[1] / (oracle.alphabet - mixture.first)
    for cell, codes in enumerate(mixture.supporting):
        made[cell, codes] += mixture.shares[2] / len(codes)
    assert np.allclose(made, exact(oracle), rtol=1e-12, atol=1e-18)


def distance(oracle: Oracle, held: np.ndarray, counts: np.ndarray) -> tuple[float, int]:
    """Return the chi-square statistic of counts of codes given the people of cells, and its degrees of freedom.

    Counts are sums of multinomials, so their covariance is known; it has no variance along the total.
    """
    rows = exact(oracle)
    expected = held @ rows
    likely = expected > 5
    covariance = np.diag(expected) - (rows * held[:, None]).T @ rows
    off = (counts - expected)[likely]
    return float(off @ np.linalg.pinv(covariance[np.ix_(likely, likely)], rcond=1e-9) @ off), int(likely.sum()) - 1


@pytest.mark.parametrize("people", [400, 200_000])
@pytest.mark.parametrize("name", sorted(ORACLES))
def test_counts_follow_the_channel(name: str, people: int) -> None:
    oracle, source = ORACLES[name], np.random.default_rng(7)
    cell = np.minimum(source.geometric(0.4, people) - 1, oracle.domain - 1)
    held = np.bincount(cell, minlength=oracle.domain)
    cells = [np.asarray(own) for own in np.unravel_index(cell, oracle.sizes)]
    counts = np.zeros(oracle.alphabet)
    codes, times = _counts_of_view(CompiledView((1,) * len(oracle.sizes), oracle, 0), cells, source)
    counts[codes] = times
    assert counts.sum() == people
    statistic, freedom = distance(oracle, held, counts)
    assert statistic < chi2.isf(FALSE_ALARM, freedom)
    mutant = np.bincount(source.integers(0, oracle.alphabet, people), minlength=oracle.alphabet)
    if people > 400:
        assert distance(oracle, held, mutant)[0] > chi2.isf(FALSE_ALARM, freedom)


def test_views_are_drawn_as_the_contract_says() -> None:
    """Of 200,000 people, those of each view are within a 1e-9 limit of the contract's probability."""
    service = tc.Service("t", key="uid", attributes=[tc.Ordinal("x", 0, 15), tc.Categorical("c", ["a", "b", "c"])])
    compiled = tc.Collection(tc.Schema([service]), 1.0, mechanism="hio").contract["t"]
    source = np.random.default_rng(3)
    table = {"x": source.integers(0, 16, 200_000), "c": np.array(["a", "b", "c"])[source.integers(0, 3, 200_000)]}
    [(codes, times)] = simulate_counts(compiled, value_indices(compiled, table), source)
    [channel] = compiled.channels
    ends = [view.offset for view in channel.views] + [channel.alphabet]
    drawn = np.add.reduceat(np.bincount(codes, times, channel.alphabet), ends[:-1])
    expected = 200_000 * np.array([channel.probability(index) for index in range(len(channel.views))])
    assert float(((drawn - expected) ** 2 / expected).sum()) < chi2.isf(FALSE_ALARM, len(expected) - 1)


def test_a_database_answers_from_what_was_drawn_last() -> None:
    source = np.random.default_rng(5)
    service = tc.Service("t", key="uid", attributes=[tc.Ordinal("x", 0, 15)])
    collection = tc.Collection(tc.Schema([service]), 2.0, mechanism="hio")
    simulated = Simulated(collection, {"t": {"uid": np.arange(50_000), "x": source.integers(0, 4, 50_000)}})
    shown = []
    for seed in (1, 2):
        simulated.draw(seed)
        [(n, people)] = simulated.database.sql("SELECT COUNT(*) FILTER (WHERE x < 4) AS n, COUNT(*) AS p FROM t")
        assert people.value == 50_000
        assert abs(n.value - 50_000) < 6.2 * n.error  # 1e-9
        shown.append(n.value)
    assert shown[0] != shown[1]
    engine = simulated.database._engine
    [(_, times)] = [code_counts(engine, table, rollup=True)[0] for table in engine.rollups()]
    assert times.sum() == 50_000
    simulated.close()


def test_people_of_several_services_keep_their_keys() -> None:
    source = np.random.default_rng(6)
    x = source.integers(0, 2, 20_000)
    services = [tc.Service(name, key="uid", attributes=[tc.Categorical(name + "v", [0, 1])]) for name in "ab"]
    collection = tc.Collection(tc.Schema(services), 4.0, users=20_000)
    keys = np.arange(20_000)
    simulated = Simulated(collection, {name: {"uid": keys, name + "v": x} for name in "ab"})
    simulated.draw(1)
    [(n,)] = simulated.database.sql("SELECT COUNT(*) FILTER (WHERE av = 1 AND bv = 0) AS n FROM a JOIN b USING (uid)")
    assert abs(n.value) < 6.2 * n.error < 20_000 / 4  # nobody; the keys of other people would give a quarter
    simulated.close()
