"""S2: how far 1 % fake people can move an answer: who sends the extreme codes reaches it, and nobody passes it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.tiers import how_many, keeping
from tacit.collection import Collection
from tacit.database import Database
from tacit.estimate.batch import FunctionalBatch

PEOPLE, FAKES = 400, 4
"""1 % of the people."""

USERS = tc.Service(
    "users", key="uid", attributes=[tc.Ordinal("age", 0, 11), tc.Categorical("state", ["CA", "NY"]), tc.Public("os")]
)
ORDERS = tc.Service("orders", key="uid", attributes=[tc.Ordinal("pay", 0, 4)], at_most=3, sends=2)


def raw(people: int) -> dict[str, dict[str, list[object]]]:
    ids = range(people)
    users = {"uid": [*ids], "age": [i % 12 for i in ids], "state": ["CA" if i % 3 else "NY" for i in ids]}
    return {
        "users": users | {"os": ["ios" if i % 2 else "web" for i in ids]},
        "orders": {"uid": [i for i in ids if i % 4], "pay": [i % 5 for i in ids if i % 4]},
    }


def answered(collection: Collection, reports: dict[str, pa.Table], question: str) -> tc.Estimate:
    db: Database = tc.connect()
    db.create(collection)
    db.load(reports)
    answer = db.sql(question)
    [row] = answer.rows
    return next(cell for cell in row if isinstance(cell, tc.Estimate))


def with_codes(table: pa.Table, key: int, codes: dict[tuple[int, int], int]) -> pa.Table:
    """Return reports in which the first people send these codes, by slot and channel, instead of theirs."""
    frame = table.to_pandas()
    for (slot, channel), code in codes.items():
        frame.loc[(frame["uid"] < key) & (frame["slot"] == slot) & (frame["channel"] == channel), "code"] = code
    return pa.Table.from_pandas(frame, preserve_index=False).cast(table.schema)


ONE = [
    "SELECT COUNT(*) AS n FROM users WHERE age < 5",
    "SELECT COUNT(*) AS n FROM users WHERE age < 5 AND state = 'CA'",
    "SELECT SUM(age) AS n FROM users WHERE state = 'NY'",
    "SELECT COUNT(*) FILTER (WHERE os = 'ios' AND age < 5) AS n FROM users",
    "SELECT COUNT(*) AS n FROM users WHERE age < 5 AND os = 'ios'",
    "SELECT 3 * COUNT(*) - 7 AS n FROM users WHERE age > 2",
]


@pytest.mark.parametrize(
    ("question", "oracle"),
    keeping(
        [(ONE[3], "grr")],
        itertools.product(ONE, ["grr", "lh", "ss"]),
        "questions and oracles whose extreme codes are tried",
    ),
)
def test_the_extreme_codes_reach_the_shift_of_a_total(question: str, oracle: str) -> None:
    """Every code is tried by the fakes, or some: the best two make exactly the stated shift, no pair makes more."""
    collection = tc.Collection(tc.Schema([USERS]), 2.0, mechanism="fc", oracle=oracle)
    reports = collection.encode(users=raw(PEOPLE)["users"], rng=tc.insecure_rng(5))
    [channel] = collection.contract["users"].channels
    honest = answered(collection, reports, question)
    source = np.random.default_rng(3)
    few = channel.alphabet <= 24
    codes = range(channel.alphabet) if few else source.choice(channel.alphabet, 12, replace=False)
    values = [
        answered(collection, {"users": with_codes(reports["users"], FAKES, {(0, 0): int(code)})}, question).value
        for code in codes  # half of the first people are on ios, as half of all are
    ]
    bound = honest.max_shift_per_1pct
    assert max(values) - min(values) <= bound * (1 + 1e-9)
    if few and "FILTER" not in question:
        assert max(values) - min(values) == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize("mechanism", keeping(["sc"], ["sc", "hio"], "shifts of several reports"))
def test_several_channels_and_reports_add_up(mechanism: str) -> None:
    collection = tc.Collection(tc.Schema([USERS, ORDERS]), 6.0, mechanism=mechanism)
    reports = collection.encode(**raw(PEOPLE), rng=tc.insecure_rng(5))
    question = "SELECT SUM(pay) AS n FROM orders"
    bound = answered(collection, reports, question).max_shift_per_1pct
    channels = collection.contract["orders"].channels
    ends = []
    for slot, (index, channel) in itertools.product(range(2), enumerate(channels)):
        values = []
        for code in range(channel.alphabet):
            fake = with_codes(reports["orders"], FAKES, {(slot, index): code})
            values.append(answered(collection, {**reports, "orders": fake}, question).value)
        ends.append(max(values) - min(values))
    assert sum(ends) == pytest.approx(bound, rel=1e-9)


def test_joins_multiply_extremes() -> None:
    collection = tc.Collection(
        tc.Schema([USERS, tc.Service("bank", key="uid", attributes=[tc.Ordinal("x", 0, 3)])]), 6.0
    )
    people = raw(PEOPLE)["users"]
    reports = collection.encode(users=people, bank={"uid": people["uid"], "x": [i % 4 for i in range(PEOPLE)]})
    question = "SELECT COUNT(*) AS n FROM users JOIN bank USING (uid) WHERE state = 'CA' AND x < 2"
    bound = answered(collection, reports, question).max_shift_per_1pct
    first, second = (collection.contract[name].channels[0].alphabet for name in ("users", "bank"))
    source = np.random.default_rng(4)
    tried = list(itertools.product(range(first), range(second)))
    most = min(len(tried), how_many(20, 40, "pairs of codes of two services"))
    few = [tried[i] for i in source.choice(len(tried), most, replace=False)]
    values = []
    for left, right in few:
        fake = {
            "users": with_codes(reports["users"], FAKES, {(0, 0): left}),
            "bank": with_codes(reports["bank"], FAKES, {(0, 0): right}),
        }
        values.append(answered(collection, fake, question).value)
    assert max(values) - min(values) <= bound * (1 + 1e-9)
    assert max(values) - min(values) > bound / 8, "and it is not far off"


@pytest.mark.parametrize(
    "question",
    keeping(
        ["SELECT STDDEV(age) AS n FROM users"],
        [
            "SELECT AVG(age) AS n FROM users WHERE state = 'CA'",
            "SELECT VAR_POP(age) AS n FROM users",
            "SELECT STDDEV(age) AS n FROM users",
            "SELECT COUNT(*) FILTER (WHERE age < 5) / COUNT(*) AS n FROM users",
        ],
        "ratios and roots whose bound is tried; a root of a ratio stays",
    ),
)
def test_ratios_and_roots_have_an_honest_bound(question: str) -> None:
    collection = tc.Collection(tc.Schema([USERS]), 4.0, mechanism="fc", oracle="grr")
    reports = collection.encode(users=raw(PEOPLE)["users"], rng=tc.insecure_rng(5))
    [channel] = collection.contract["users"].channels
    honest = answered(collection, reports, question)
    moved = []
    for code in range(0, channel.alphabet, 2):
        fake = with_codes(reports["users"], FAKES, {(0, 0): code})
        moved.append(abs(answered(collection, {"users": fake}, question).value - honest.value))
    assert max(moved) <= honest.max_shift_per_1pct * (1 + 1e-9)
    assert max(moved) > honest.max_shift_per_1pct / 30


def test_what_is_not_bounded_is_infinite_and_what_reads_no_code_is_not_moved() -> None:
    service = tc.Service("s", key="uid", attributes=[tc.Ordinal("x", 0, 3), tc.Public("size")])
    collection = tc.Collection(tc.Schema([service]), 2.0)
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(s={"uid": range(90), "x": [1] * 90, "size": [2.0] * 90}))
    assert db.sql("SELECT COUNT(*) AS n FROM s WHERE size > 1")["n"].max_shift_per_1pct == 0
    assert math.isinf(db.sql("SELECT SUM(size) AS n FROM s WHERE x = 1")["n"].max_shift_per_1pct)
    answer = db.sql("SELECT x, COUNT(*) AS n FROM s GROUP BY x")
    assert len({round(cell.max_shift_per_1pct, 9) for cell in answer["n"]}) <= 4
    import json

    rows = json.loads(answer.to_json())["rows"]
    assert [row["n_max_shift_per_1pct"] for row in rows] == [cell.max_shift_per_1pct for cell in answer["n"]]
    shown = "\n".join(str(row[0]) for row in db.sql("EXPLAIN SELECT COUNT(*) AS n FROM s WHERE x < 2"))
    assert "1 % of fake people could shift n by at most" in shown


def test_sums_and_ratios_of_estimates_know_their_shift() -> None:
    collection = tc.Collection(tc.Schema([USERS]), 4.0)
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(users=raw(PEOPLE)["users"], rng=tc.insecure_rng(5)))
    a = db.sql("SELECT COUNT(*) AS n FROM users WHERE age < 6")["n"]
    b = db.sql("SELECT COUNT(*) AS n FROM users WHERE state = 'CA'")["n"]
    s, t = a.max_shift_per_1pct, b.max_shift_per_1pct
    assert (a + b).max_shift_per_1pct == pytest.approx(s + t)
    assert (2 * a - b).max_shift_per_1pct == pytest.approx(2 * s + t)
    worst = max(abs((a.value + x * s) / (b.value + y * t) - a.value / b.value) for x in (-1, 1) for y in (-1, 1))
    assert worst <= (a / b).max_shift_per_1pct * (1 + 1e-12)
    product = max(abs((a.value + x * s) * (b.value + y * t) - a.value * b.value) for x in (-1, 1) for y in (-1, 1))
    assert product <= (a * b).max_shift_per_1pct * (1 + 1e-12)
    assert math.isnan(tc.Estimate(1.0, 1.0, n=10).max_shift_per_1pct)


def test_all_groups_read_the_codes_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """EXPLAIN of a MEDIAN in 50 groups read all codes 100 times."""
    attributes = [tc.Ordinal("age", 0, 19), tc.Categorical("state", list("abcdef"))]
    collection = tc.Collection(tc.Schema([tc.Service("t", key="uid", attributes=attributes)]), 4.0)
    db = tc.connect()
    db.create(collection)
    people = {
        "uid": range(6_000),
        "age": np.arange(6_000) % 20,
        "state": np.array(list("abcdef"))[np.arange(6_000) % 6],
    }
    db.load(collection.encode(t=people, rng=tc.insecure_rng(1)))
    counts: list[int] = []
    ranges = FunctionalBatch.ranges

    def counted(batch: FunctionalBatch, *given: Any) -> Any:
        counts.append(batch.count)
        return ranges(batch, *given)

    monkeypatch.setattr(FunctionalBatch, "ranges", counted)
    together = [
        row[1].max_shift_per_1pct for row in db.sql("SELECT state, MEDIAN(age) AS m FROM t GROUP BY state").rows
    ]
    assert counts[0] == 12
    assert len(counts) < 6
    alone = [
        db.sql(f"SELECT MEDIAN(age) AS m FROM t WHERE state = '{state}'").rows[0][0].max_shift_per_1pct
        for state in "abcdef"
    ]
    assert together == pytest.approx(alone)
