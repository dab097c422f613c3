"""Answers are unbiased and their intervals cover as claimed. 1,500 independent encodings in one table.

Every repetition is a group of a public column, so one question answers all of them. False alarm 1e-9 a check; mutants:
a bias of a third of a standard error, and errors a fifth too small.
"""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import tacit as tc
from support.chances import FALSE_ALARM, assert_mean
from tacit.randomness import insecure_rng

REPETITIONS, PEOPLE = 1_500, 400

SCHEMA = tc.Schema(
    [
        tc.Service(
            "s",
            key="uid",
            attributes=[
                tc.Ordinal("age", 0, 24),
                tc.Categorical("kind", ["x", "y", "z"], null=True),
                tc.Public("repetition"),
                tc.Public("spend"),
            ],
        )
    ]
)


def one_population() -> pa.Table:
    source = np.random.default_rng(5)
    return pa.table(
        {
            "age": np.minimum(source.poisson(9, PEOPLE), 24),
            "kind": pa.array(
                source.choice(["x", "y", "z"], PEOPLE, p=[0.6, 0.3, 0.1]), mask=source.random(PEOPLE) < 0.1
            ),
            "spend": source.integers(0, 100, PEOPLE),
        }
    )


def repeated() -> pa.Table:
    table = pa.concat_tables([one_population()] * REPETITIONS)
    rows = np.arange(REPETITIONS * PEOPLE)
    return table.append_column("uid", pa.array(rows)).append_column("repetition", pa.array(rows // PEOPLE))


CASES = [
    ("hio", "blue", "COUNT(*)"),
    ("hio", "cover", "COUNT(*)"),
    ("hio", "rdc", "COUNT(*)"),
    ("hi", "blue", "COUNT(*)"),
    ("sc", "blue", "COUNT(*)"),
    ("sc", "cover", "COUNT(*)"),
    ("fc", "blue", "COUNT(*)"),
    ("hio", "blue", "SUM(spend)"),
    ("hio", "blue", "SUM(age)"),
    ("am(2)", "blue", "SUM(age * spend)"),
    ("pairs", "blue", "COUNT(*)"),
]


@pytest.mark.parametrize(("mechanism", "decoder", "aggregate"), CASES)
def test_unbiased_and_covering(mechanism: str, decoder: str, aggregate: str, seed: int) -> None:
    collection = tc.Collection(SCHEMA, 6.0 if mechanism in ("hi", "sc") else 2.0, mechanism=mechanism)
    database = tc.connect()
    database.create(collection)
    reports = collection.encode(s=repeated(), rng=insecure_rng(seed))
    codes = np.asarray(reports["s"]["code"])[-REPETITIONS * PEOPLE :].reshape(REPETITIONS, PEOPLE)  # the last channel
    assert len(np.unique(codes, axis=0)) == REPETITIONS, "two repetitions have the same codes"
    database.load(reports)
    where = "age BETWEEN 5 AND 11 AND kind IN ('x', 'z')"
    question = f"SELECT repetition, {aggregate} AS x FROM s WHERE {where} GROUP BY repetition"
    estimates = database.sql(question, confidence=0.9, decoder=decoder)["x"]  # type: ignore[arg-type]
    s = one_population()
    connection = duckdb.connect()
    connection.register("s", s)
    [(truth,)] = connection.execute(f"SELECT {aggregate} FROM s WHERE {where}").fetchall()
    values = np.array([estimate.value for estimate in estimates])
    assert len(values) == REPETITIONS
    spread = float(values.std(ddof=1))
    assert_mean(float(values.mean()), float(truth), spread / REPETITIONS**0.5, mutant=float(truth) + spread / 3)
    errors = np.array([estimate.margin for estimate in estimates])
    lowest, highest = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], REPETITIONS, 0.9)
    assert lowest <= np.count_nonzero(np.abs(values - truth) <= errors) <= highest
    assert np.count_nonzero(np.abs(values - truth) <= 0.8 * errors) < lowest, "the test has no power"


def test_averages_center_and_cover(seed: int) -> None:
    """A ratio is biased by a small part of its standard error at most; the mutant's errors are a fifth too small."""
    collection = tc.Collection(SCHEMA, 4.0, mechanism="hio")
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(s=repeated(), rng=insecure_rng(seed)))
    question = "SELECT repetition, AVG(age) AS a FROM s WHERE kind = 'x' GROUP BY repetition"
    estimates = database.sql(question, confidence=0.9)["a"]
    s = one_population()
    connection = duckdb.connect()
    connection.register("s", s)
    [(truth,)] = connection.execute("SELECT AVG(age) FROM s WHERE kind = 'x'").fetchall()
    values, errors = (np.array([getattr(cell, word) for cell in estimates]) for word in ("value", "error"))
    assert abs(np.median(values) - truth) < 0.1 * np.median(errors)
    margins = np.array([cell.margin for cell in estimates])
    lowest, highest = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], REPETITIONS, 0.9)
    assert lowest <= np.count_nonzero(np.abs(values - truth) <= margins) <= highest
    assert np.count_nonzero(np.abs(values - truth) <= 0.8 * margins) < lowest, "the test has no power"


@pytest.mark.parametrize(("mechanism", "aggregate"), [("hio", "COUNT(*)"), ("hio", "SUM(age)"), ("sc", "COUNT(*)")])
def test_predicted_errors_are_those_that_occur(mechanism: str, aggregate: str, seed: int) -> None:
    """With the true frequencies, the predicted standard error is within 10 % of the spread of 1,500 encodings.

    The spread itself is known to 1.8 %; the mutant assumes uniform attributes at half the budget.
    """
    epsilon = 6.0 if mechanism == "sc" else 2.0
    collection = tc.Collection(SCHEMA, epsilon, mechanism=mechanism)
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(s=repeated(), rng=insecure_rng(seed)))
    where = "age BETWEEN 5 AND 11 AND kind = 'x'"
    question = f"SELECT repetition, {aggregate} AS x FROM s WHERE {where} GROUP BY repetition"
    spread = np.std([cell.value for cell in database.sql(question)["x"]], ddof=1)
    sample = one_population().append_column("uid", pa.array(np.arange(PEOPLE)))
    sample = sample.append_column("repetition", pa.array(np.zeros(PEOPLE, dtype=np.int64)))
    asked = f"SELECT {aggregate} AS x FROM s WHERE {where}"
    predicted = collection.predict(asked, users=PEOPLE, like=sample)["x"].error
    assert abs(predicted / spread - 1) < 0.1
    other = tc.Collection(SCHEMA, epsilon / 2, mechanism=mechanism).predict(asked, users=PEOPLE)["x"].error
    assert abs(other / spread - 1) > 0.2
