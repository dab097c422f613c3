"""Codes drawn through the public encoder follow the exact channel. n = 400,000 a case, false alarm 1e-9."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.chances import assert_distribution, assert_mean
from support.channels import channel_row
from support.tiers import keeping
from tacit.contract.budget import exp_below
from tacit.contract.oracles import ORACLES, LocalHash
from tacit.contract.randomness import insecure_rng
from tacit.encode.values import reader_of

N = 400_000

SCHEMA = tc.Schema(
    [tc.Service("s", key="uid", attributes=[tc.Ordinal("a", 0, 6, fanout=3), tc.Categorical("c", ["x", "y", "z"])])]
)


@pytest.mark.parametrize("mechanism", ["hio", "hi", "sc", "fc", "am(1)", "am(2)"])
@pytest.mark.parametrize("oracle", keeping(["auto"], ["auto", "lh"], "oracles whose codes are drawn"))
def test_codes_follow_the_channel(mechanism: str, oracle: str, seed: int) -> None:
    collection = tc.Collection(SCHEMA, 4.0, mechanism=mechanism, oracle=oracle)
    service = collection.contract.services[0]
    table = pa.table({"uid": np.arange(N), "a": np.full(N, 4), "c": pa.array(["y"] * N)})
    out = collection.encode(s=table, rng=insecure_rng(seed))["s"]
    codes = out["code"].to_numpy().reshape(len(service.channels), N)
    told = 0
    for channel, mine in zip(service.channels, codes, strict=True):
        row = np.array([float(p) for p in channel_row(service, channel, (4, 1))])
        other = np.array([float(p) for p in channel_row(service, channel, (0, 2))])
        if 1 < len(row) <= N // 40 and channel.epsilon > Fraction(1, 3):
            assert_distribution(np.bincount(mine, minlength=len(row)), row, mutant=other)
            told += 1
    assert told >= 1


@pytest.mark.parametrize("name", ORACLES)
def test_estimates_center_on_the_truth_with_the_stated_variance(name: str, seed: int) -> None:
    """Mutants: q forgotten (the support rate itself) for the mean, variance off by a tenth for the spread."""
    oracle = ORACLES[name]((7,), exp_below(Fraction(1)))
    rng = insecure_rng(seed)
    answers = rng.draws(N * oracle.answers).reshape(N, oracle.answers)
    codes = oracle.randomise([np.full(N, 2)], rng.draws(N), answers if oracle.answers > 1 else answers[:, 0])
    marks = oracle.support(codes)
    p, q = float(oracle.keep), float(oracle.lie)
    z = (marks - q) / (p - q)
    for cell in range(7):
        variance = float(oracle.true_variance if cell == 2 else oracle.false_variance)
        error = (variance / N) ** 0.5
        assert_mean(float(z[:, cell].mean()), float(cell == 2), error, mutant=float(marks[:, cell].mean()) / (p - q))
        spread = (z[:, cell] - float(cell == 2)) ** 2
        spread_error = float(spread.std()) / N**0.5
        if spread_error > 0:
            assert_mean(float(spread.mean()), variance, spread_error, mutant=1.1 * variance)


@pytest.mark.parametrize("name", ["olh", "oue"])
def test_baselines_follow_their_weights(name: str, seed: int) -> None:
    """Codes of one seed (olh) or all codes (oue), n = 400,000; the mutant is the channel of another cell."""
    oracle = ORACLES[name]((5,), exp_below(Fraction(1)))
    rng = insecure_rng(seed)
    answers = rng.draws(N * oracle.answers).reshape(N, oracle.answers)
    fixed = np.full(N, 7, dtype=np.uint64)  # a seed under which cells 1 and 2 have different hashes
    codes = oracle.randomise([np.full(N, 1)], fixed, answers if oracle.answers > 1 else answers[:, 0])
    alphabet = range(7 * oracle.g, 8 * oracle.g) if isinstance(oracle, LocalHash) else range(oracle.alphabet)
    rows = [np.array([oracle.weight(cell, code) for code in alphabet], dtype=float) for cell in (1, 2)]
    observed = np.bincount(codes - alphabet[0], minlength=len(alphabet))
    assert_distribution(observed, rows[0] / rows[0].sum(), mutant=rows[1] / rows[1].sum())


def test_murmur_hashes_are_pairwise_uniform(seed: int) -> None:
    """Baseline olh: two cells collide in a 1/g share of seeds; the mutant hashes with g one larger."""
    oracle = LocalHash.build((1000,), exp_below(Fraction(1)))
    seeds = (insecure_rng(seed).draws(N) % np.uint64(2**32)).astype(np.int64)
    for first, second in [(0, 1), (3, 999), (17, 18)]:
        collide = oracle.hash(seeds, np.full(N, first)) == oracle.hash(seeds, np.full(N, second))
        error = (1 / oracle.g * (1 - 1 / oracle.g) / N) ** 0.5
        assert_mean(float(collide.mean()), 1 / oracle.g, error, mutant=1 / (oracle.g + 1))


def test_dithered_sums_are_unbiased(seed: int) -> None:
    """The mean representative is the value; the mutant rounds to the nearest representative."""
    attribute = tc.Ordinal("spend", 0, 499, cells=12)
    reader = reader_of("s", attribute)
    value = 131.25
    positions = reader.positions(pa.array(np.full(N, value)), 0)
    cells = reader.values(*positions, insecure_rng(seed).draws(N))
    representatives = cells * 499 / 11
    nearest = round(value * 11 / 499) * 499 / 11
    assert_mean(float(representatives.mean()), value, float(representatives.std()) / N**0.5, mutant=nearest)
