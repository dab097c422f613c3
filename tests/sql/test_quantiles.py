"""Quantiles: DuckDB's own definitions through a channel that hides nothing, and everything they travel through."""

from __future__ import annotations

import datetime
import json
import math

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit import central
from tacit.contract.randomness import insecure_rng
from tacit.errors import UnsupportedSqlError
from tacit.estimate.estimate import Estimate
from tacit.testing import identity_collection, reveal

SCHEMA = tc.Schema(
    [
        tc.Service(
            "adults",
            key="uid",
            attributes=[
                tc.Ordinal("age", 10, 59),
                tc.Ordinal("weight", "0", "5", step="0.5", null=True),
                tc.Categorical("kind", ["x", "y"], null=True),
                tc.Categorical("item", [1, 2, 5, 9]),
                tc.Ordinal("day", datetime.date(2026, 1, 1), datetime.date(2026, 1, 5)),
                tc.Public("region", type="str"),
            ],
        ),
        tc.Service("orders", key="uid", attributes=[tc.Ordinal("price", 0, 50)], at_most=3, sends=3),
    ]
)
PEOPLE = 1_001


def tables() -> dict[str, pa.Table]:
    draw = np.random.default_rng(11)
    orders = draw.integers(0, 4, PEOPLE)
    owner = np.repeat(np.arange(PEOPLE), orders)
    return {
        "adults": pa.table(
            {
                "uid": np.arange(PEOPLE),
                "age": draw.poisson(30, PEOPLE).clip(10, 59),
                "weight": pa.array(draw.integers(0, 11, PEOPLE) / 2, mask=draw.random(PEOPLE) < 0.1),
                "kind": pa.array(draw.choice(["x", "y"], PEOPLE), mask=draw.random(PEOPLE) < 0.1),
                "item": draw.choice([1, 2, 5, 9], PEOPLE),
                "day": pa.array([datetime.date(2026, 1, 1 + int(n)) for n in draw.integers(0, 5, PEOPLE)]),
                "region": draw.choice(["north", "south"], PEOPLE),
            }
        ),
        "orders": pa.table({"uid": owner, "price": draw.integers(0, 51, len(owner))}),
    }


PRODUCTS = pa.table({"item": [1, 2, 5, 9], "cost": [10.5, 3.0, 3.0, 70.0]})


@pytest.fixture(scope="module")
def exact() -> tuple[tc.Database, duckdb.DuckDBPyConnection]:
    collection = identity_collection(SCHEMA)
    database, connection = tc.connect(), duckdb.connect()
    database.create(collection)
    database.load(reveal(collection, **tables()))
    database.dimension("products", PRODUCTS, key="item")
    for name, table in (*tables().items(), ("products", PRODUCTS)):
        connection.register(name, table)
    return database, connection


EQUAL = [
    "MEDIAN(age) AS a, MEDIAN(weight) AS b, MEDIAN(item) AS c FROM adults",
    "QUANTILE(age, 0.1) AS a, QUANTILE_DISC(weight, 0.25) AS b, QUANTILE_CONT(weight, 0.25) AS c FROM adults",
    "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age) AS a FROM adults",
    "PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY weight DESC) AS a FROM adults",
    "MEDIAN(age) FILTER (WHERE kind = 'x') AS a, QUANTILE(age, 0.3) FILTER (WHERE weight > 2) AS b FROM adults",
    "kind, MEDIAN(age) AS a, COUNT(*) AS n FROM adults GROUP BY kind",
    "region, kind, QUANTILE_DISC(age, 0.75) AS a FROM adults WHERE region <> 'east' GROUP BY region, kind",
    "MEDIAN(price) AS a, QUANTILE(price, 0.05) AS b FROM orders",
    "kind, MEDIAN(price) AS a FROM adults JOIN orders USING (uid) WHERE age > 25 GROUP BY kind",
    "MEDIAN(cost) AS a, QUANTILE(cost, 0.8) AS b FROM adults JOIN products USING (item)",
    "QUANTILE_CONT(age, 0.75) - QUANTILE_CONT(age, 0.25) AS a, 2 * MEDIAN(age) + 1 AS b FROM adults",
    "MEDIAN(age) / AVG(age) AS a, -MEDIAN(age) AS b, SUM(age) / MEDIAN(age) AS c FROM adults",
    "kind, MEDIAN(age) AS a FROM adults GROUP BY kind HAVING MEDIAN(age) > 5 ORDER BY MEDIAN(weight) DESC",
    "MEDIAN(age) AS a FROM adults WHERE age = 33 AND kind = 'x'",
]


@pytest.mark.parametrize("question", EQUAL)
def test_quantiles_are_those_of_duckdb(exact: tuple[tc.Database, duckdb.DuckDBPyConnection], question: str) -> None:
    database, connection = exact
    answer = database.sql(f"SELECT {question}")
    width = len(answer.columns) - len(answer.estimates)
    truth = {row[:width]: row[width:] for row in connection.execute(f"SELECT {question}").fetchall()}
    for row in answer.rows:
        for cell, value in zip(row[width:], truth.pop(row[:width]), strict=True):
            assert cell.value == pytest.approx(float(value), abs=1e-9), question
            assert cell.low <= cell.value <= cell.high
    assert not truth


@pytest.mark.parametrize("share", [0.01, 0.123, 0.2, 0.5, 0.7, 0.999])
@pytest.mark.parametrize("kind", ["QUANTILE_CONT", "QUANTILE_DISC"])
def test_every_share_and_few_rows(
    exact: tuple[tc.Database, duckdb.DuckDBPyConnection], kind: str, share: float
) -> None:
    database, connection = exact
    for condition in ("TRUE", "day = '2026-01-05'", "age IN (18, 44, 45) AND kind = 'y'"):
        question = f"SELECT {kind}(weight, {share}) AS a FROM adults WHERE {condition}"
        [(truth,)] = connection.execute(question).fetchall()
        assert database.sql(question)["a"].value == pytest.approx(float(truth), abs=1e-9), question


def test_nobody_has_no_median(exact: tuple[tc.Database, duckdb.DuckDBPyConnection]) -> None:
    database, _ = exact
    assert math.isnan(database.sql("SELECT MEDIAN(age) AS a FROM adults WHERE age = 59")["a"].value)


REFUSED = [
    ("bad-share", "MEDIAN(age), QUANTILE(age, 1) AS b"),
    ("bad-share", "QUANTILE(age, -0.5)"),
    ("bad-share", "QUANTILE(age, 'x')"),
    ("bad-share", "QUANTILE(age, [0.1, 0.9])"),
    ("not-a-number", "MEDIAN(kind)"),
    ("not-a-number", "MEDIAN(region)"),
]


@pytest.mark.parametrize(("code", "question"), REFUSED)
def test_what_has_no_quantile_is_refused(
    exact: tuple[tc.Database, duckdb.DuckDBPyConnection], code: str, question: str
) -> None:
    with pytest.raises(tc.TacitError) as caught:
        exact[0].sql(f"SELECT {question} FROM adults")
    assert caught.value.code == code


@pytest.fixture(scope="module")
def noisy() -> tc.Database:
    schema = tc.Schema(
        [
            tc.Service(
                "s",
                key="uid",
                attributes=[
                    tc.Ordinal("age", 0, 63),
                    tc.Categorical("kind", ["x", "y"]),
                    tc.Ordinal("income", 0, 10_000, cells=20),
                    tc.Ordinal("rent", 0, 1_999, cells=20, dither=False),
                ],
            )
        ]
    )
    draw = np.random.default_rng(3)
    count = 20_000
    table = pa.table(
        {
            "uid": np.arange(count),
            "age": np.minimum(draw.poisson(20, count), 63),
            "kind": draw.choice(["x", "y"], count),
            "income": np.minimum(draw.exponential(2_000, count), 10_000).round(),
            "rent": np.minimum(draw.gamma(4, 150, count), 1_999).astype(int),
        }
    )
    collection = tc.Collection(schema, epsilon=4.0)
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(s=table, rng=insecure_rng(5)))
    return database


def test_fitted_and_unbiased_quantiles_hold_the_truth(noisy: tc.Database) -> None:
    for consistent in (False, True):
        answer = noisy.sql(
            "SELECT kind, MEDIAN(age) AS a FROM s GROUP BY kind", consistent=consistent, confidence=0.999
        )
        for estimate in answer["a"]:
            assert estimate.low <= 20 <= estimate.high
            assert estimate.high - estimate.low <= 12
            assert estimate.error > 0


def test_coarser_cells_are_read_inside_and_their_intervals_are_as_wide_as_they_are(noisy: tc.Database) -> None:
    draw = noisy.sql("SELECT MEDIAN(income) AS a, MEDIAN(rent) AS b FROM s", confidence=0.999)
    assert draw["a"].low <= 2_000 * math.log(2) <= draw["a"].high
    assert draw["a"].high - draw["a"].low >= 2 * 10_000 / 19
    assert draw["b"].low <= 550.8 <= draw["b"].high
    assert draw["b"].high - draw["b"].low >= 99
    assert draw["b"].value != round(draw["b"].value / 50) * 50  # neither an edge nor a middle of a bin
    assert sum("coarser cells" in note for note in draw.notes) == 2


def test_quantiles_travel(noisy: tc.Database) -> None:
    question = "SELECT MEDIAN(age) AS a FROM s WHERE kind = 'x'"
    answer = noisy.sql(question)
    assert answer.to_arrow().column_names == ["a", "a_error", "a_low", "a_high"]
    [row] = json.loads(answer.to_json())["rows"]
    assert row["a_max_shift_per_1pct"] > 0
    [*lines] = [line for (line,) in noisy.sql(f"EXPLAIN {question}").rows]
    assert any("predicted for 20,000 people" in line for line in lines)
    predicted = noisy.collections[0].predict(question, users=20_000, like={"kind": [1, 1]})["a"]
    assert isinstance(predicted, Estimate)
    assert predicted.low < 31.5 < predicted.high  # uniform ages
    with pytest.raises(UnsupportedSqlError) as caught:
        noisy.contributions(question)
    assert caught.value.code == "not-a-total"


def test_combinations_hold_at_the_level_of_all_parts(noisy: tc.Database) -> None:
    answer = noisy.sql(
        "SELECT QUANTILE(age, 0.75) AS a, QUANTILE(age, 0.25) AS b, "
        "QUANTILE(age, 0.75) - QUANTILE(age, 0.25) AS c, 10 * QUANTILE(age, 0.75) AS d FROM s"
    )
    wide = noisy.sql("SELECT QUANTILE(age, 0.75) AS a, QUANTILE(age, 0.25) AS b FROM s", confidence=0.975)
    assert answer["c"].low == wide["a"].low - wide["b"].high
    assert answer["c"].high == wide["a"].high - wide["b"].low
    assert (answer["d"].low, answer["d"].high) == (10 * answer["a"].low, 10 * answer["a"].high)


def test_a_release_has_quantiles_too() -> None:
    service = tc.Service(
        "adults", key="uid", attributes=[tc.Ordinal("age", 0, 99), tc.Categorical("item", [1, 2, 5, 9])]
    )
    released = central.release(tables()["adults"].select(["uid", "age", "item"]), service, 4)
    estimate = released.sql("SELECT MEDIAN(age) AS a FROM adults", confidence=1 - 1e-9)["a"]
    assert estimate.low <= 30 <= estimate.high
    assert estimate.low > 0
