"""Estimates that are no numbers: quantiles of dates, MODE, and the bins of HISTOGRAM and width_bucket."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.contract.randomness import insecure_rng
from tacit.errors import TacitError
from tacit.sql.modes import Mode
from tacit.testing import identity_collection, reveal

START = datetime.date(2026, 1, 1)
SCHEMA = tc.Schema(
    [
        tc.Service(
            "s",
            key="uid",
            attributes=[
                tc.Date("day", "2026-01-01", "2026-12-31"),
                tc.Categorical("job", ["clerk", "doctor", "farmer"], null=True),
                tc.Ordinal("age", 0, 99),
                tc.Date("month", "2026-01-01", "2026-12-31", unit="month"),
            ],
        )
    ]
)


def _people(count: int) -> pa.Table:
    draw = np.random.default_rng(5)
    days = draw.normal(100, 40, count).clip(0, 364).astype(int)
    return pa.table(
        {
            "uid": np.arange(count),
            "day": pa.array([START + datetime.timedelta(days=int(day)) for day in days]),
            "job": draw.choice(["clerk", "doctor", "farmer"], count, p=[0.41, 0.4, 0.19]),
            "age": draw.integers(0, 100, count),
            "month": [f"2026-{1 + int(month):02}" for month in draw.integers(0, 12, count)],
        }
    )


@pytest.fixture(scope="module")
def exact() -> tc.Database:
    collection = identity_collection(SCHEMA)
    database = tc.connect()
    database.create(collection)
    database.load(reveal(collection, s=_people(801)))
    return database


@pytest.fixture(scope="module")
def noisy() -> tc.Database:
    collection = tc.Collection(SCHEMA, epsilon=3.0)
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(s=_people(4_000), rng=insecure_rng(3)))
    return database


def test_quantiles_of_dates_are_dates(exact: tc.Database, noisy: tc.Database) -> None:
    days = sorted(_people(801)["day"].to_pylist())
    assert exact.sql("SELECT MEDIAN(day) AS m FROM s")["m"] == days[400]
    answer = noisy.sql("SELECT MEDIAN(day) AS m, COUNT(*) AS n FROM s")
    assert answer.columns == ("m", "m_low", "m_high", "n")
    assert answer.estimates == ("n",)
    [(middle, low, high, _)] = answer.rows
    truth = sorted(_people(4_000)["day"].to_pylist())[1_999]
    assert low <= middle <= high
    assert low <= truth <= high
    assert json.loads(answer.to_json())["rows"][0]["m"] == str(middle)
    assert answer.to_arrow()["m_low"].to_pylist() == [low]


def test_quantiles_of_months_are_months(exact: tc.Database) -> None:
    months = sorted(_people(801)["month"].to_pylist())
    assert exact.sql("SELECT QUANTILE_DISC(month, 0.25) AS m FROM s")["m"] == months[200]
    first = exact.sql("SELECT MEDIAN(date_trunc('month', day)) AS m FROM s")["m"]
    assert first == sorted(day.replace(day=1) for day in _people(801)["day"].to_pylist())[400]


def test_the_mode_lists_what_it_could_be(exact: tc.Database, noisy: tc.Database) -> None:
    jobs = _people(801)["job"].to_pylist()
    truth = max(set(jobs), key=jobs.count)
    assert exact.sql("SELECT MODE(job) AS m FROM s")["m"] == truth
    answer = noisy.sql("SELECT MODE(job) AS m FROM s")
    assert answer.columns == ("m", "m_could_be")
    [(value, could_be)] = answer.rows
    assert value in could_be.split(", ")
    assert {"clerk", "doctor"} <= set(could_be.split(", "))  # 41 % and 40 % of 4,000 people cannot be told apart


def test_a_value_could_be_the_mode_unless_another_is_surely_more_frequent() -> None:
    known = Mode((), lambda given: given[0], labels=("a", "b", "c"))
    assert known.possible([(1.0, 3.0), (2.0, 5.0), (0.0, 1.5)]) == [0, 1]
    assert known.possible([(1.0, 3.0), (3.5, 5.0), (0.0, 3.5)]) == [1, 2]


def test_nothing_is_computed_of_dates_and_values(noisy: tc.Database) -> None:
    for question, code in {
        "SELECT MEDIAN(day) + 3 AS m FROM s": "not-a-number",
        "SELECT ROUND(MODE(job)) AS m FROM s": "not-a-number",
        "SELECT MEDIAN(job) AS m FROM s": "not-a-number",
        "SELECT MEDIAN(day) AS m, COUNT(*) AS m_low FROM s": "ambiguous-column",
    }.items():
        with pytest.raises(TacitError) as caught:
            noisy.sql(question)
        assert caught.value.code == code


def test_histograms_have_borders_that_are_easy_to_read(exact: tc.Database) -> None:
    ages = np.array(_people(801)["age"].to_pylist())
    answer = exact.sql("SELECT HISTOGRAM(age) AS people FROM s")
    assert answer.columns == ("bin", "people")
    assert answer["bin"] == list(range(0, 100, 5))
    counts = np.bincount(ages // 5, minlength=20)
    assert [one.value for one in answer["people"]] == pytest.approx(counts.tolist())
    assert exact.sql("SELECT HISTOGRAM(age, 5) AS n FROM s")["bin"] == [0, 20, 40, 60, 80]
    assert exact.sql("SELECT HISTOGRAM(day) AS n FROM s")["bin"][1] == datetime.date(2026, 2, 1)
    assert exact.sql("SELECT HISTOGRAM(job) AS n FROM s")["bin"] == ["clerk", "doctor", "farmer", None]
    by_job = exact.sql("SELECT job, HISTOGRAM(age, 2) AS n FROM s GROUP BY job")
    assert by_job.columns == ("job", "bin", "n")
    assert len(by_job) == 8


def test_width_bucket_takes_the_declared_range(exact: tc.Database) -> None:
    for call, count in (("width_bucket(age)", 10), ("width_bucket(age, 4)", 4), ("width_bucket(age, 0, 100, 4)", 4)):
        answer = exact.sql(f"SELECT {call} AS b, COUNT(*) AS n FROM s GROUP BY b")
        assert answer["b"] == list(range(1, 1 + count))
    with pytest.raises(TacitError, match="width_bucket takes"):
        exact.sql("SELECT width_bucket(age, 4, 5) AS b, COUNT(*) AS n FROM s GROUP BY b")
