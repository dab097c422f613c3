"""HAVING, groups by expressions, rounds, EXPLAIN, and what estimates know of each other."""

from __future__ import annotations

import math

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.adult import SCHEMA, adult_table
from tacit.contract.randomness import insecure_rng
from tacit.errors import UsageError
from tacit.estimate.estimate import Estimate, fieller, t_quantile
from tacit.testing import identity_collection, reveal


@pytest.fixture(scope="module")
def exact() -> tc.Database:
    collection = identity_collection(SCHEMA)
    database = tc.connect()
    database.create(collection)
    database.load(reveal(collection, adult=adult_table()))
    return database


@pytest.fixture(scope="module")
def noisy() -> tc.Database:
    collection = tc.Collection(SCHEMA, 4.0, mechanism="hio")
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(adult=adult_table(), rng=insecure_rng(3)))
    return database


def truth(question: str) -> list[tuple[object, ...]]:
    connection = duckdb.connect()
    connection.register("adult", adult_table())
    return connection.execute(question).fetchall()


HAVING = [
    "SELECT edu, COUNT(*) AS n FROM adult GROUP BY edu HAVING COUNT(*) > 600 ORDER BY edu",
    "SELECT edu, COUNT(*) AS n FROM adult GROUP BY edu HAVING n BETWEEN 400 AND 900 ORDER BY edu",
    "SELECT edu, COUNT(*) AS n FROM adult GROUP BY edu HAVING NOT (n > 900 OR AVG(age) < 3.5) ORDER BY n DESC",
    "SELECT work, COUNT(*) AS n FROM adult GROUP BY work HAVING work <> 'self' ORDER BY AVG(age)",
    "SELECT sex, AVG(age) AS a FROM adult GROUP BY sex HAVING SUM(hours) / COUNT(*) > 1 ORDER BY 1 DESC LIMIT 1",
    "SELECT CASE WHEN age < 4 THEN 'young' ELSE 'old' END AS band, COUNT(*) AS n FROM adult GROUP BY band ORDER BY n",
    "SELECT CASE WHEN age < 4 THEN 'young' ELSE 'old' END, COUNT(*) AS n FROM adult GROUP BY 1 ORDER BY 2 DESC",
    "SELECT a.edu, COUNT(*) AS n FROM adult a JOIN adult b USING (uid) WHERE b.hours = 1 GROUP BY a.edu ORDER BY a.edu",
    "SELECT COUNT(*) AS n FROM adult a JOIN adult b ON b.uid = a.uid WHERE a.age > 3 AND b.sex = 'Male'",
]


@pytest.mark.parametrize("question", HAVING)
def test_rows_are_chosen_as_in_sql(exact: tc.Database, question: str) -> None:
    found = [tuple(cell.value if isinstance(cell, Estimate) else cell for cell in row) for row in exact.sql(question)]
    expected = truth(question)
    assert len(found) == len(expected) > 0
    for row, true in zip(found, expected, strict=True):
        assert row == pytest.approx(true)


def test_buckets_count_as_in_postgresql(exact: tc.Database) -> None:
    answer = exact.sql("SELECT width_bucket(age, 3, 7, 2) AS b, COUNT(*) AS n FROM adult GROUP BY b")
    found = {row[0]: round(row[1].value) for row in answer}
    ages = np.asarray(adult_table()["age"])
    buckets = {0: ages < 3, 1: (ages >= 3) & (ages < 5), 2: (ages >= 5) & (ages < 7), 3: ages >= 7}
    assert found == {bucket: int(marks.sum()) for bucket, marks in buckets.items()}


def rounds_of(sizes: dict[str, int]) -> tuple[tc.Database, dict[str, pa.Table]]:
    database, raw = tc.connect(), {}
    for name, epsilon in zip(sizes, (4.0, 2.0, 3.0), strict=False):
        collection = tc.Collection(SCHEMA, epsilon, round=name)
        raw[name] = adult_table().slice(0, sizes[name])
        database.create(collection)
        database.load(collection.encode(adult=raw[name], rng=insecure_rng(len(raw))))
    return database, raw


def test_rounds_are_asked_together_when_the_question_names_them() -> None:
    database, raw = rounds_of({"2026-10": 2000, "2026-11": 3000})
    assert database.sql("SELECT COUNT(*) AS n FROM adult")["n"].value == 3000
    trend = database.sql("SELECT round, COUNT(*) AS n, AVG(age) AS a FROM adult GROUP BY round")
    assert trend["round"] == ["2026-10", "2026-11"]
    assert [cell.value for cell in trend["n"]] == [2000, 3000]
    for cell, table in zip(trend["a"], raw.values(), strict=True):
        assert abs(cell.value - np.mean(table["age"])) < 6.11 * cell.error
    one = database.sql("SELECT COUNT(*) AS n FROM adult WHERE round = '2026-10' AND sex = 'Male'")
    assert one["n"].value == sum(value == "Male" for value in raw["2026-10"]["sex"].to_pylist())
    both = database.sql("SELECT SUM(age) AS s FROM adult WHERE round IN ('2026-10', '2026-11')")["s"]
    parts = [database.sql(f"SELECT SUM(age) AS s FROM adult WHERE round = '{name}'")["s"] for name in raw]
    assert both.value == pytest.approx(sum(part.value for part in parts))
    assert both.error == pytest.approx(math.hypot(*(part.error for part in parts)))


def test_combinations_know_their_covariance(noisy: tc.Database) -> None:
    """Values and errors of combined estimates equal those of the combination asked for in one question."""
    answer = noisy.sql("SELECT edu, COUNT(*) AS n, SUM(age) AS s FROM adult WHERE hours >= 1 GROUP BY edu")
    first, second, *_ = answer["n"]
    difference = first - second
    asked = noisy.sql(
        "SELECT COUNT(*) FILTER (WHERE edu = 0) - COUNT(*) FILTER (WHERE edu = 1) AS d FROM adult WHERE hours >= 1"
    )["d"]
    assert (difference.value, difference.error) == pytest.approx((asked.value, asked.error))
    assert difference.error != pytest.approx(math.hypot(first.error, second.error), rel=1e-3)
    parts = [f"COUNT(*) FILTER (WHERE edu = {i})" for i in range(4)]
    whole = sum(answer["n"])
    asked = noisy.sql(f"SELECT {' + '.join(parts)} AS n FROM adult WHERE hours >= 1")["n"]
    assert (whole.value, whole.error) == pytest.approx((asked.value, asked.error))
    ratio = answer["s"][2] / answer["n"][2]
    asked = noisy.sql("SELECT AVG(age) AS a FROM adult WHERE hours >= 1 AND edu = 2")["a"]
    assert (ratio.value, ratio.error) == pytest.approx((asked.value, asked.error))
    assert (first - first).error == 0
    strong, weak = 1 / second, 1 / first
    assert strong.error == pytest.approx(second.error / second.value**2)
    assert first.margin > first.value / 2
    assert (weak.low, weak.high) == pytest.approx((1 / first.high, 1 / first.low))
    assert weak.error == pytest.approx(weak.margin / t_quantile(0.975, first.freedom))
    assert weak.error > 1.4 * first.error / first.value**2, "the delta method's error is too small here"


def test_public_groups_are_different_people(noisy: tc.Database) -> None:
    women, men = noisy.sql("SELECT sex, COUNT(*) AS n FROM adult WHERE age < 4 GROUP BY sex")["n"]
    assert (women - men).error == pytest.approx(math.hypot(women.error, men.error))
    whole = noisy.sql("SELECT COUNT(*) AS n FROM adult WHERE age < 4")["n"]
    assert (women + men).error == pytest.approx(whole.error)
    other = noisy.sql("SELECT COUNT(*) AS n FROM adult WHERE age < 4", decoder="cover")["n"]
    with pytest.raises(UsageError) as caught:
        other - whole
    assert caught.value.code == "unknown-covariance"


def test_simultaneous_and_superpopulation_widen_and_say_so(noisy: tc.Database) -> None:
    question = "SELECT edu, COUNT(*) AS n FROM adult GROUP BY edu"
    single, together = noisy.sql(question)["n"][0], noisy.sql(question, simultaneous=True)
    assert together["n"][0].confidence == pytest.approx(1 - 0.05 / 4)
    assert together["n"][0].margin > single.margin
    spread = noisy.sql("SELECT edu, STDDEV(age) AS d FROM adult GROUP BY edu", simultaneous=True)["d"][1]
    assert spread.high - spread.value != pytest.approx(spread.value - spread.low), "the interval of a root is uneven"
    assert any("simultaneously" in note for note in together.notes)
    wide = noisy.sql(question, superpopulation=True)
    assert all(a.error > b.error for a, b in zip(wide["n"], noisy.sql(question)["n"], strict=True))
    assert any("sample" in note for note in wide.notes)
    assert (wide["n"][0] * 1.0).error == pytest.approx(wide["n"][0].error)
    with pytest.raises(UsageError):
        wide["n"][0] + single


def test_ratios_with_weak_denominators_have_honest_intervals(noisy: tc.Database) -> None:
    weak = noisy.sql("SELECT AVG(age) AS a FROM adult WHERE edu = 0 AND hours = 2 AND work = 'self' AND age > 7")
    assert math.isinf(weak["a"].high)
    assert any("no finite interval" in note for note in weak.notes)
    assert "no finite interval" in str(weak["a"])
    medium = noisy.sql("SELECT AVG(age) AS a FROM adult WHERE edu = 0 AND hours = 2")["a"]
    if math.isfinite(medium.high):
        assert medium.high - medium.value != pytest.approx(medium.value - medium.low)
    assert fieller(1.0, 0.5, (1.0, 0.0, 1.0), 2.0) is None


def test_explain_shows_the_whole_way(exact: tc.Database, noisy: tc.Database) -> None:
    lines = noisy.sql("EXPLAIN SELECT COUNT(*) AS n FROM adult WHERE age < 4 AND edu = 2 AND loss > 0")
    text = "\n".join(lines["explain"])
    for part in ("age ∈ {1..3}", "edu ∈ {2}", "views read", "contributions", "SELECT", "no predicted error"):
        assert part in text, part
    assert " 0)" not in text.split("WHERE")[-1], "a constant of the question reached the statement"
    text = "\n".join(noisy.sql("explain SELECT AVG(age) AS a FROM adult WHERE edu = 2")["explain"])
    assert "predicted for 3,000 people" in text
    assert "age as numbers from 1 to 9" in text
    printed = str(noisy.sql("EXPLAIN SELECT AVG(age) AS a FROM adult WHERE edu = 2"))
    assert all(len(line) - len(line.lstrip()) < 20 for line in printed.splitlines())


def test_totals_that_are_known_have_no_error(noisy: tc.Database) -> None:
    answer = noisy.sql(
        "SELECT CASE WHEN edu > 1 THEN 'a' WHEN sex IN ('Male', 'Female') THEN 'b' ELSE 'c' END AS k, COUNT(*) AS n "
        "FROM adult GROUP BY k"
    )
    assert str(answer["n"][answer["k"].index("c")]) == "0 ± 0"
    everybody = noisy.sql("SELECT AVG(age) AS a FROM adult WHERE edu = 1 OR sex IN ('Male', 'Female')")["a"]
    assert math.isfinite(everybody.high)


def test_prediction_and_its_inverse() -> None:
    collection = tc.Collection(SCHEMA, 2.0)
    for question in ("SELECT AVG(age) AS x FROM adult", "SELECT COUNT(*) AS x FROM adult WHERE age < 4"):
        error = collection.predict(question, users=50_000)["x"].error
        assert collection.predict(question, error=error) == pytest.approx(50_000, rel=1e-3)
        relative = collection.predict(question, users=50_000)["x"]
        people = collection.predict(question, relative=relative.error / relative.value)
        assert people == pytest.approx(50_000, rel=1e-3)
    for options in ({}, {"error": -1.0}, {"error": True}, {"relative": math.inf}):
        with pytest.raises(UsageError):
            collection.predict("SELECT AVG(age) AS x FROM adult", **options)
    with pytest.raises(tc.TacitError):
        collection.predict("SELECT COUNT(*) AS x FROM adult", error=1.0)
    skewed = collection.predict("SELECT AVG(age) AS x FROM adult", users=100, like={"age": [1] + [0] * 8})["x"]
    assert skewed.value == 1
    for like in ({"agee": [1]}, {"age": [1, 2]}, {"age": [-1] * 9}):
        with pytest.raises(UsageError):
            collection.predict("SELECT AVG(age) AS x FROM adult", users=100, like=like)
