"""What reviewers broke once: names that collide, bins that are cut, errors of zero, engines that quote values."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.shaped_questions import SHAPED, shaped_tables
from tacit.contract.randomness import insecure_rng
from tacit.errors import EngineError, ReportError, UnsupportedSqlError, UsageError
from tacit.testing import identity_collection, reveal


def revealed(attributes: list[Any], columns: dict[str, Any], name: str = "t") -> tc.Database:
    """Return a database whose answers are exact."""
    collection = identity_collection(tc.Schema([tc.Service(name, key="uid", attributes=attributes)]))
    database = tc.connect()
    database.create(collection)
    rows = len(next(iter(columns.values())))
    database.load(reveal(collection, **{name: pa.table({"uid": range(rows), **columns})}))
    return database


@pytest.mark.parametrize("name", ["f0", "F0", "m0", "c", "r", "n", "measures"])
def test_public_columns_may_have_any_name(name: str) -> None:
    database = revealed([tc.Ordinal("age", 0, 9), tc.Public(name)], {"age": [1, 2, 3, 4], name: [7, 7, 8, 8]})
    assert database.sql("SELECT SUM(age) AS x FROM t")["x"].value == pytest.approx(10)
    answer = database.sql(f"SELECT {name}, SUM(age) AS x, SUM({name}) AS y FROM t GROUP BY {name}")
    assert [round(cell.value, 9) for cell in answer["x"]] == [3, 7]
    assert [round(cell.value, 9) for cell in answer["y"]] == [14, 16]


def test_conditions_on_bins_are_exact_on_edges_and_refused_inside() -> None:
    database = revealed([tc.Ordinal("age", 0, 39, cells=4, dither=False, step=1)], {"age": list(range(40))})
    assert database.sql("SELECT COUNT(*) AS x FROM t WHERE age < 10 OR age >= 30")["x"].value == pytest.approx(20)
    assert database.sql("SELECT COUNT(*) AS x FROM t WHERE age BETWEEN 10 AND 19")["x"].value == pytest.approx(10)
    for condition in ("age IN (1, 2)", "age < 3", "age BETWEEN 2 AND 14", "NOT age = 5"):
        with pytest.raises(tc.TacitError) as caught:
            database.sql(f"SELECT COUNT(*) FROM t WHERE {condition}")
        assert caught.value.code == "cuts-a-bin"


def test_people_report_in_full_or_not_at_all() -> None:
    schema = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Ordinal("age", 0, 24), tc.Public("os")])])
    collection = tc.Collection(schema, 2.0, mechanism="sc")
    database = tc.connect()
    database.create(collection)
    reports = collection.encode(t={"uid": [1, 2, 3], "age": [1, 2, 3], "os": ["a", "b", "c"]})["t"]
    partly = reports.filter(pa.compute.not_equal(reports["channel"], 1))
    other = reports.set_column(4, "os", pa.array(["a", "b", "c", "a", "b", "x"]))
    twice = pa.concat_tables([reports.slice(0, 3), reports.slice(0, 3)])  # one channel two times, the other never
    for broken in (partly, other, twice, reports.slice(0, 5)):
        with pytest.raises(ReportError) as caught:
            database.load({"t": broken})
        assert caught.value.code == "incomplete-reports"
    assert database.load({"t": reports})["t"].stored == 6


BROKEN = {
    "wrong-columns": [
        lambda t: t.set_column(3, "code", pa.array([0.5])),
        lambda t: t.set_column(3, "code", pa.array([True])),
        lambda t: t.set_column(0, "uid", pa.array([None], pa.int64())),
        lambda t: t.drop_columns(["slot"]),
    ],
    "unknown-code": [
        lambda t: t.set_column(3, "code", pa.array([10**9])),
        lambda t: t.set_column(3, "code", pa.array([-1])),
        lambda t: t.set_column(2, "channel", pa.array([7])),
        lambda t: t.set_column(1, "slot", pa.array([1])),
    ],
    "unknown-collection": [
        lambda t: t.replace_schema_metadata({"tacit.collection": b"\xff"}),
        lambda t: t.replace_schema_metadata(None),
        lambda _: 5,
    ],
}


@pytest.mark.parametrize(("code", "change"), [(code, change) for code, all_ in BROKEN.items() for change in all_])
def test_foreign_reports_are_refused(code: str, change: Any) -> None:
    collection = tc.Collection(tc.Schema([tc.Service("t", key="uid", attributes=[tc.Ordinal("age", 0, 9)])]), 1.0)
    database = tc.connect()
    database.create(collection)
    table = collection.encode(t={"uid": [1], "age": [1]})["t"]
    with pytest.raises(ReportError) as caught:
        database.load({"t": change(table)})
    assert caught.value.code == code
    for reports in (None, [table]):
        with pytest.raises(ReportError):
            database.load(reports)  # type: ignore[arg-type]


def test_a_noisy_answer_never_has_an_error_of_zero(seed: int) -> None:
    attributes = [tc.Ordinal("age", 0, 9), tc.Categorical("kind", ["x", "y"])]
    schema = tc.Schema([tc.Service("t", key="uid", attributes=attributes)])
    questions = [
        "COUNT(*) AS x FROM t WHERE age < 5",
        "AVG(age) AS x FROM t WHERE kind = 'x'",
        "VAR_POP(age) AS x FROM t",
    ]
    for mechanism in ("hio", "sc", "pairs"):
        collection = tc.Collection(schema, 2.0, mechanism=mechanism)
        for repetition in range(4):
            people = 1 + repetition % 4
            database = tc.connect()
            database.create(collection)
            columns = {"uid": range(people), "age": [3] * people, "kind": ["x"] * people}
            database.load(collection.encode(t=columns, rng=insecure_rng(seed + repetition)))
            for question in questions:
                answer = database.sql(f"SELECT {question}")
                assert answer["x"].error != 0
                assert answer.notes, "nobody is warned"


def test_nobody_is_an_answer() -> None:
    database = revealed([tc.Ordinal("age", 0, 9), tc.Public("os")], {"age": [1, 2], "os": ["a", "b"]})
    answer = database.sql("SELECT COUNT(*) AS n, AVG(age) AS a FROM t WHERE os = 'nope'")
    assert answer["n"].value == 0
    assert math.isnan(answer["a"].value)
    assert len(database.sql("SELECT os, COUNT(*) AS n FROM t WHERE os = 'nope' GROUP BY os")) == 0


def test_a_quotient_in_a_group_of_nobody_is_not_defined_instead_of_rounding_by_rounding() -> None:
    collection, database = identity_collection(SHAPED), tc.connect()
    database.create(collection)
    database.load(reveal(collection, **shaped_tables()))
    where = "job IS NULL AND born = '2026-01-27' AND NOT smoker AND mode = 'car' AND class = 3"
    measures = "COUNT(*) AS n, AVG(cost) AS mean, SUM(cost) / COUNT(*) AS ratio, REGR_SLOPE(age, score) AS slope"
    answer = database.sql(f"SELECT age, {measures} FROM folk JOIN trips USING (uid) WHERE {where} GROUP BY age")
    assert len(answer) == 10
    assert [count.value for count in answer["n"]] == [0] * 10
    assert all(math.isnan(cell.value) for name in ("mean", "ratio", "slope") for cell in answer[name])


def test_texts_that_are_no_numbers_are_left_out_and_counted() -> None:
    database = revealed([tc.Ordinal("age", 0, 9), tc.Public("os")], {"age": [1, 2], "os": ["canary-a", "canary-b"]})
    for question in ("SELECT SUM(os) AS x FROM t", "SELECT COUNT(*) AS x FROM t WHERE os > 5"):
        answer = database.sql(question)
        assert answer["x"].value == 0
        assert any("2" in note and "os" in note for note in answer.notes), answer.notes
        assert "canary" not in answer.to_json()


@pytest.mark.parametrize(
    ("code", "question"),
    [
        ("number-too-large", "SELECT SUM(age * 1e400) FROM t"),
        ("number-too-large", "SELECT 1e400 * COUNT(*) FROM t"),
        ("unsupported-limit", "SELECT age, COUNT(*) n FROM t GROUP BY age LIMIT 20%"),
        ("unknown-table", "SELECT COUNT(*) FROM other.t"),
        ("unsupported", "SELECT COUNT(*) FROM t TABLESAMPLE 10%"),
        ("unsupported-aggregate", "SELECT COUNT(age, age) FROM t"),
        ("unknown-table", "SELECT COUNT(*) FROM t u WHERE t.age = 1"),
    ],
)
def test_what_would_be_misread_is_refused(code: str, question: str) -> None:
    database = revealed([tc.Ordinal("age", 0, 9)], {"age": [1, 2]})
    with pytest.raises(tc.TacitError) as caught:
        database.sql(question)
    assert caught.value.code == code


def test_aliases_repeated_groups_and_undefined_values_last() -> None:
    database = revealed(
        [tc.Ordinal("age", 0, 9), tc.Ordinal("kids", 0, 2, null=True)], {"age": [1, 2, 3], "kids": [0, None, 2]}
    )
    assert database.sql("SELECT COUNT(*) AS n FROM t AS u WHERE u.age > 1")["n"].value == pytest.approx(2)
    assert len(database.sql("SELECT kids, COUNT(*) n FROM t GROUP BY kids, kids")) == 4
    for direction in ("ASC", "DESC"):
        answer = database.sql(f"SELECT kids, AVG(age) AS a FROM t GROUP BY kids ORDER BY kids {direction}")
        assert answer["kids"][-1] is None
        averages = database.sql(f"SELECT kids, AVG(age) AS a FROM t GROUP BY kids ORDER BY a {direction}")["a"]
        assert math.isnan(averages[-1].value)


@pytest.mark.parametrize("confidence", [0, 1, 5, -1, "x", None, True, 1 - 1e-16, 1e-300, 1e-16, float("nan")])
def test_confidence_is_a_share(confidence: Any) -> None:
    database = revealed([tc.Ordinal("age", 0, 9)], {"age": [1, 2]})
    collection = tc.Collection(tc.Schema([tc.Service("t", key="uid", attributes=[tc.Ordinal("age", 0, 9)])]), 1.0)
    with pytest.raises(UsageError):
        database.sql("SELECT COUNT(*) FROM t", confidence=confidence)
    with pytest.raises(UsageError):
        collection.predict("SELECT COUNT(*) FROM t", users=10, confidence=confidence)
    with pytest.raises(UsageError):
        collection.predict("SELECT COUNT(*) FROM t", users=10**400)


def test_rounds_and_files(tmp_path: Path) -> None:
    schema = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Ordinal("age", 0, 9)])])
    first, second = (tc.Collection(schema, 4.0, round=name) for name in ("1", "2"))
    database = tc.connect(tmp_path / "t.tacit")
    database.create(first)
    database.load(first.encode(t={"uid": range(50), "age": [3] * 50}))
    database.create(second)  # without reports yet: the first still answers
    assert database.sql("SELECT COUNT(*) AS n FROM t")["n"].value == 50
    value = database.sql("SELECT SUM(age) AS x FROM t")["x"].value
    database.close()
    again = tc.connect(tmp_path / "t.tacit")
    assert again.sql("SELECT SUM(age) AS x FROM t")["x"].value == pytest.approx(value)
    assert again.load(first.encode(t={"uid": range(49, 52), "age": [3] * 3}))["t"].refused == 1
    again.load(second.encode(t={"uid": range(7), "age": [3] * 7}))
    assert again.sql("SELECT COUNT(*) AS n FROM t")["n"].value == 7
    again.close()
    (tmp_path / "junk").write_text("not a database " * 100)
    with pytest.raises(EngineError):
        tc.connect(tmp_path / "junk")
    with pytest.raises(UsageError):
        tc.connect().create("x")  # type: ignore[arg-type]


def test_large_alphabets_are_decoded_for_the_codes_that_occur() -> None:
    attributes = [tc.Ordinal(f"a{i}", 0, 124) for i in range(3)]
    schema = tc.Schema([tc.Service("t", key="uid", attributes=attributes)])
    collection = tc.Collection(schema, 4.0, mechanism="hio")
    assert collection.contract["t"].channels[0].alphabet > 4_000_000
    source = np.random.default_rng(3)
    columns = {f"a{i}": source.integers(0, 125, 2_000) for i in range(3)}
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(t={"uid": np.arange(2_000), **columns}, rng=insecure_rng(9)))
    estimate = database.sql("SELECT COUNT(*) AS n FROM t WHERE a0 < 60")["n"]
    truth = int((columns["a0"] < 60).sum())
    assert abs(estimate.value - truth) < 6.11 * estimate.error


@pytest.mark.parametrize("where", ["x BETWEEN 110 AND 140", "x > 110 AND x < 140", "x > 110 AND y = 1 AND x < 140"])
def test_a_range_between_the_values_of_cells_is_refused_not_zero(where: str) -> None:
    rows = {"x": [120, 130, 900], "y": [1, 1, 1]}
    database = revealed([tc.Ordinal("x", 0, 1000, cells=11, step=1), tc.Ordinal("y", 0, 3)], rows)
    with pytest.raises(UnsupportedSqlError) as caught:
        database.sql(f"SELECT COUNT(*) AS n FROM t WHERE {where}")
    assert caught.value.code == "between-cells"
    assert "0, 100, 200, 300" in caught.value.message
    assert database.sql("SELECT COUNT(*) AS n FROM t WHERE x > 110 AND x <= 200")["n"].value >= 0


def test_roots_of_intervals_that_reach_below_zero_start_at_zero() -> None:
    """A variance's interval may reach below zero; no root lies there, so SQRT(VARIANCE(x)) has STDDEV's interval."""
    schema = tc.Schema([tc.Service("t", key="uid", attributes=[tc.Ordinal("x", low=0, high=31)])])
    collection = tc.Collection(schema, epsilon=1.0)
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(t={"uid": range(300), "x": [7] * 300}, rng=tc.insecure_rng(1)))
    root = db.sql("SELECT SQRT(VARIANCE(x)) AS root FROM t")["root"]
    deviation = db.sql("SELECT STDDEV(x) AS deviation FROM t")["deviation"]
    assert deviation.low == 0, "the case needs an interval of the variance that reaches below zero"
    assert (root.low, root.high) == (0.0, pytest.approx(deviation.high, rel=1e-3))
