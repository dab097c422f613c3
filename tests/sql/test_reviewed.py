"""What an expert broke: errors without the rounding's noise, orders that tell, rows that vanish."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import tacit as tc
from support.chances import FALSE_ALARM
from tacit.contract.randomness import insecure_rng
from tacit.errors import ReportError, UsageError
from tacit.testing import identity_collection, reveal


def service(*attributes: object, **shape: object) -> tc.Schema:
    return tc.Schema([tc.Service("s", key="uid", attributes=list(attributes), **shape)])  # type: ignore[arg-type]


def revealed(schema: tc.Schema, **columns: object) -> tc.Database:
    collection = identity_collection(schema)
    database = tc.connect()
    database.create(collection)
    database.load(reveal(collection, s=pa.table(columns)))
    return database


def test_errors_know_the_noise_of_rounding(seed: int) -> None:
    """Two cells at epsilon 3: 600 encodings of 400 people, 95 % intervals. Without the rounding's noise 62 % cover."""
    schema = service(tc.Ordinal("x", 0, 1000, cells=2, step=1), tc.Public("repetition"))
    collection = tc.Collection(schema, 3.0)
    database = tc.connect()
    database.create(collection)
    x = np.tile(np.random.default_rng(1).integers(300, 700, 400), 600)
    rows = np.arange(len(x))
    database.load(collection.encode(s={"uid": rows, "x": x, "repetition": rows // 400}, rng=insecure_rng(seed)))
    cells = database.sql("SELECT repetition, SUM(x) AS v FROM s GROUP BY repetition")["v"]
    hits = sum(cell.low <= x[:400].sum() <= cell.high for cell in cells)
    assert hits >= binom.ppf(FALSE_ALARM, 600, 0.95)
    assert hits > 500
    even = np.tile(np.arange(1001), 4)
    wide = np.random.default_rng(2).choice(even, 400 * 600)
    sample = {"uid": np.arange(len(even)), "x": even, "repetition": np.zeros(len(even), dtype=np.int64)}
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(s={"uid": rows, "x": wide, "repetition": rows // 400}, rng=insecure_rng(seed)))
    values = database.sql("SELECT repetition, SUM(x) AS v FROM s GROUP BY repetition")["v"]
    truth = wide.reshape(600, 400).sum(axis=1)
    spread = np.std(np.array([cell.value for cell in values]) - truth, ddof=1)
    predicted = collection.predict("SELECT SUM(x) AS v FROM s", users=400, like=sample)["v"].error
    assert abs(predicted / spread - 1) < 0.1, "the spread is known to 3 %"


def test_reports_are_in_the_order_of_keys_whatever_the_table_was_sorted_by() -> None:
    schema = tc.Schema(
        [
            tc.Service("a", key="uid", attributes=[tc.Categorical("hiv", ["no", "yes"]), tc.Public("os")]),
            tc.Service("b", key="uid", at_most=2, attributes=[tc.Ordinal("n", 0, 9)]),
        ]
    )
    collection = tc.Collection(schema, 1.0)
    for keys in ([7, 3, 9, 1], ["d", "a", "z", "c"]):
        a = {"uid": keys, "hiv": ["yes", "no", "no", "no"], "os": [str(key) for key in keys]}
        reports = collection.encode(a=a, b={"uid": keys[:1], "n": [1]})
        for table in reports.values():
            assert table["uid"].to_pylist() == sorted(keys)  # type: ignore[type-var]
        assert reports["a"]["os"].to_pylist() == [str(key) for key in sorted(keys)]  # type: ignore[type-var]


def test_people_of_several_rounds_are_not_added_up() -> None:
    database = tc.connect()
    for name in ("r1", "r2"):
        collection = tc.Collection(service(tc.Ordinal("x", 0, 9)), 2.0, round=name)
        database.create(collection)
        database.load(collection.encode(s={"uid": range(50), "x": [1] * 50}))
    assert database.sql("SELECT COUNT(*) AS n FROM s WHERE round IN ('r1', 'r2')")["n"].value == 100
    by_round = database.sql("SELECT round, COUNT(DISTINCT uid) AS n FROM s GROUP BY round")["n"]
    assert [cell.value for cell in by_round] == [50, 50]
    for question, options in (
        ("SELECT COUNT(DISTINCT uid) FROM s WHERE round IN ('r1', 'r2')", {}),
        ("SELECT SUM(x) FROM s WHERE round <> 'x'", {"superpopulation": True}),
    ):
        with pytest.raises(tc.TacitError) as caught:
            database.sql(question, **options)
        assert caught.value.code == "several-rounds"
    with pytest.raises(UsageError) as refused:
        database.create(tc.Collection(service(tc.Ordinal("x", 0, 9)), 3.0, round="r1"))
    assert refused.value.code == "round-exists"


def test_having_compares_dates_and_decimals_or_refuses() -> None:
    day = tc.Ordinal("day", datetime.date(2020, 1, 1), datetime.date(2020, 1, 10))
    days = [datetime.date(2020, 1, 1 + i % 10) for i in range(40)]
    prices = pa.array([Decimal("1.00"), Decimal("2.00")] * 20)
    database = revealed(service(day, tc.Public("price")), uid=range(40), day=days, price=prices)
    for literal in ("DATE '2020-01-05'", "'2020-01-05'"):
        answer = database.sql(f"SELECT day, COUNT(*) AS n FROM s GROUP BY day HAVING day >= {literal}")
        assert len(answer) == 6
    assert len(database.sql("SELECT price, COUNT(*) AS n FROM s GROUP BY price HAVING price > 1")) == 1
    assert len(database.sql("SELECT price, COUNT(*) AS n FROM s GROUP BY price HAVING COUNT(*) > -(-1)")) == 2
    with pytest.raises(tc.TacitError) as caught:
        database.sql("SELECT day, COUNT(*) AS n FROM s GROUP BY day HAVING n > 'x'")
    assert caught.value.code == "unsupported-having"
    assert len(database.sql("SELECT day, COUNT(*) AS n FROM s GROUP BY day ORDER BY day NULLS FIRST")) == 10


def test_buckets_are_exact() -> None:
    database = revealed(service(tc.Ordinal("age", 0, 99)), uid=range(100), age=range(100))
    answer = database.sql("SELECT width_bucket(age, 0, 100, 100) AS b, COUNT(*) AS n FROM s GROUP BY b")
    assert [round(cell.value, 6) for cell in answer["n"]] == [1.0] * 100


def test_people_report_all_slots_under_keys_of_their_type() -> None:
    schema = service(tc.Ordinal("n", 0, 9), at_most=4, sends=2)
    collection = tc.Collection(schema, 2.0)
    database = tc.connect()
    database.create(collection)
    reports = collection.encode(s={"uid": [1], "n": [1]}, people=[1, 2, 3])["s"]
    with pytest.raises(ReportError) as caught:
        database.load({"s": reports.filter(pa.compute.equal(reports["slot"], 0))})
    assert caught.value.code == "incomplete-reports"
    with pytest.raises(ReportError) as caught:
        database.load({"s": reports.set_column(0, "uid", reports["uid"].cast(pa.float64()))})
    assert caught.value.code == "wrong-columns"
    assert database.load({"s": reports})["s"].stored == 6


def test_a_tier_is_one_for_all_services() -> None:
    schema = tc.Schema(
        [
            tc.Service("u", key="uid", attributes=[tc.Ordinal("n", 0, 9)]),
            tc.Service("v", key="owner", attributes=[tc.Ordinal("n", 0, 9)]),
        ]
    )
    low, high = (tc.Collection(schema, e, tier=name) for e, name in ((1, "low"), (4, "high")))
    database = tc.connect()
    for collection in (low, high):
        database.create(collection)
    tables = {"u": {"uid": [1, 2], "n": [1, 2]}, "v": {"owner": [1, 2], "n": [1, 2]}}
    assert database.load({"u": low.encode(**tables)["u"]})["u"].stored == 2
    assert database.load({"v": high.encode(**tables)["v"]})["v"].refused == 2
    assert database.load({"v": low.encode(**tables)["v"]})["v"].stored == 2


def test_public_totals_have_no_error() -> None:
    collection = tc.Collection(service(tc.Ordinal("x", 0, 9), tc.Public("spend")), 1.0)
    database = tc.connect()
    database.create(collection)
    spend = np.random.default_rng(1).integers(0, 10**6, 500)
    database.load(collection.encode(s={"uid": range(500), "x": [1] * 500, "spend": spend}))
    answer = database.sql("SELECT SUM(spend * spend) AS a, VAR_POP(spend) AS b, AVG(spend) AS c FROM s")
    assert [answer[name].error for name in "abc"] == [0, 0, 0]


def test_derived_attributes_of_a_forged_contract_are_of_one_kind() -> None:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=[tc.Ordinal("x", 0, 4), tc.Ordinal("y", 0, 4)])])
    text = tc.Collection(schema, 1.0, mechanism="ahio").to_json()
    for forged in ('[[0, "round"], [1, "embed"]]', '[[0, "round"], [0, "round"]]', '[[0, "round"], [7, "round"]]'):
        with pytest.raises(tc.TacitError):
            tc.Collection.from_json(text.replace('[[0, "round"], [1, "round"]]', forged))
