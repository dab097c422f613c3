"""Intervals of quantiles hold as claimed: independent encodings of one population, each a group of a public column.

False alarm 1e-9 a check; the mutant has intervals of a third of the width. `make test-all` has 4,000 encodings of each.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import tacit as tc
from support.chances import FALSE_ALARM
from support.tiers import how_many, keeping
from tacit.contract.randomness import insecure_rng

REPETITIONS = how_many(160, 4_000, "encodings of one population, for intervals of quantiles")
PEOPLE = 1_000

LEAST = 0.935
"""Share of intervals at 95 % that must hold the truth, on whatever data."""


def smooth(draw: np.random.Generator) -> np.ndarray:
    return draw.normal(100, 30, PEOPLE).round().clip(0, 199).astype(int)


def heavy(draw: np.random.Generator) -> np.ndarray:
    return draw.lognormal(3, 1, PEOPLE).round().clip(0, 199).astype(int)


def lumpy(draw: np.random.Generator) -> np.ndarray:
    return draw.choice([0, 20, 40, 100, 199], PEOPLE, p=[0.3, 0.3, 0.2, 0.15, 0.05])


CASES = [
    (values, share, where)
    for values in (smooth, heavy, lumpy)
    for share in (0.25, 0.5, 0.9)
    for where in ("", "WHERE kind = 'x'", "JOIN t USING (uid) WHERE other = 'x'")
]
SHORT = [(smooth, 0.5, ""), (heavy, 0.25, "WHERE kind = 'x'"), (lumpy, 0.5, "JOIN t USING (uid) WHERE other = 'x'")]


@pytest.mark.parametrize(("values", "share", "where"), keeping(SHORT, CASES, "quantiles of data and conditions"))
def test_intervals_of_quantiles_hold(values: object, share: float, where: str) -> None:
    draw = np.random.default_rng(17)
    asked, kind, other = values(draw), draw.choice(["x", "y"], PEOPLE), draw.choice(["x", "y"], PEOPLE)  # type: ignore[operator]
    count = REPETITIONS if "JOIN" not in where else REPETITIONS // 4
    rows = np.arange(count * PEOPLE)
    repeated = tc.Public("repetition", type="int")
    schema = tc.Schema(
        [
            tc.Service(
                "s", key="uid", attributes=[tc.Ordinal("a", 0, 199), tc.Categorical("kind", ["x", "y"]), repeated]
            ),
            tc.Service("t", key="uid", attributes=[tc.Categorical("other", ["x", "y"])]),
        ]
    )
    people = {"uid": rows, "a": np.tile(asked, count), "kind": np.tile(kind, count), "repetition": rows // PEOPLE}
    others = {"uid": rows, "other": np.tile(other, count)}
    collection = tc.Collection(schema, epsilon=3.0)
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(s=pa.table(people), t=pa.table(others), rng=insecure_rng(23)))
    answer = database.sql(f"SELECT repetition, QUANTILE(a, {share}) AS a FROM s {where} GROUP BY repetition")
    chosen = kind == "x" if "kind" in where else other == "x" if "other" in where else np.ones(PEOPLE, dtype=bool)
    truth = float(np.quantile(asked[chosen], share, method="inverted_cdf"))
    held = sum(estimate.low <= truth <= estimate.high for estimate in answer["a"])
    least = binom.ppf(FALSE_ALARM, count, LEAST)
    assert held >= least, f"{held} of {count}"
    if values is not lumpy:  # the other intervals are often one value
        halved = [(e.value - (e.value - e.low) / 3, e.value + (e.high - e.value) / 3) for e in answer["a"]]
        mutant = sum(low <= truth <= high for low, high in halved)
        assert mutant < least, "the test has no power"
