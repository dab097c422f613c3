"""CORR, COVAR and REGR: intervals hold, and the noise of means does not bias them. Encodings of one population each.

Every repetition is a group of a public column. False alarm 1e-9 a check; the mutant has intervals of a third of the
width.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import tacit as tc
from support.chances import FALSE_ALARM
from support.tiers import how_many
from tacit.contract.randomness import insecure_rng

REPETITIONS = how_many(400, 4_000, "encodings of one population, for covariances")
PEOPLE = 1_500
LEAST = 0.935

ASKED = {
    "CORR(a, b)": lambda a, b: np.corrcoef(a, b)[0, 1],
    "COVAR_SAMP(a, b)": lambda a, b: np.cov(a, b)[0, 1],
    "REGR_SLOPE(b, a)": lambda a, b: np.polyfit(a, b, 1)[0],
    "REGR_INTERCEPT(b, a)": lambda a, b: np.polyfit(a, b, 1)[1],
    "REGR_SXY(b, a)": lambda a, b: np.cov(a, b, bias=True)[0, 1] * len(a),
}


@pytest.fixture(scope="module")
def asked() -> tuple[tc.Database, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(5)
    a = draw.integers(0, 10, PEOPLE)
    b = np.clip(a + draw.integers(-3, 4, PEOPLE), 0, 9)
    rows = np.arange(REPETITIONS * PEOPLE)
    attributes = [tc.Ordinal("a", 0, 9), tc.Ordinal("b", 0, 9), tc.Public("repetition", type="int")]
    collection = tc.Collection(tc.Schema([tc.Service("s", key="uid", attributes=attributes)]), epsilon=2.0)
    database = tc.connect()
    database.create(collection)
    table = {"uid": rows, "a": np.tile(a, REPETITIONS), "b": np.tile(b, REPETITIONS), "repetition": rows // PEOPLE}
    database.load(collection.encode(s=pa.table(table), rng=insecure_rng(29)))
    return database, a, b


@pytest.mark.parametrize("aggregate", ASKED)
def test_intervals_hold(asked: tuple[tc.Database, np.ndarray, np.ndarray], aggregate: str) -> None:
    database, a, b = asked
    truth = float(ASKED[aggregate](a, b))
    answer = database.sql(f"SELECT repetition, {aggregate} AS x FROM s GROUP BY repetition")["x"]
    held = sum(one.low <= truth <= one.high for one in answer)
    least = binom.ppf(FALSE_ALARM, REPETITIONS, LEAST)
    assert held >= least, f"{held} of {REPETITIONS}"
    third = sum(abs(one.value - truth) <= one.margin / 3 for one in answer)
    assert third < least, "the test has no power"
    spread = float(np.std([one.value for one in answer]))
    errors = float(np.mean([one.error for one in answer]))
    assert 0.8 <= errors / spread <= 1.25
    bias = float(np.mean([one.value for one in answer])) - truth
    assert abs(bias) <= 0.35 * spread  # of a ratio, some is left


def test_intervals_of_small_shares_of_variance_hold(asked: tuple[tc.Database, np.ndarray, np.ndarray]) -> None:
    database, a, b = asked
    truth = float(np.corrcoef((b - a) ** 2, a)[0, 1] ** 2)
    answer = database.sql("SELECT repetition, REGR_R2((b - a) * (b - a), a) AS x FROM s GROUP BY repetition")["x"]
    least = binom.ppf(FALSE_ALARM, REPETITIONS, LEAST)
    assert truth < 0.1
    assert sum(one.low <= truth <= one.high for one in answer) >= least
    third = sum(abs(one.value - truth) <= (one.high - one.low) / 6 for one in answer)
    assert third < least, "the test has no power"
