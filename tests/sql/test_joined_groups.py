"""Joins of groups: errors of columns that are combined, parameters, and intervals that hold simultaneously."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.adapters.pgwire.questions import columns_of
from tacit.errors import TacitError

COUNT, SUM = "SELECT k, COUNT(*) AS n FROM a GROUP BY k", "SELECT k, SUM(x) AS s FROM a JOIN b USING (uid) GROUP BY k"


@pytest.fixture(scope="module")
def database() -> tc.Database:
    draw, count = np.random.default_rng(3), 2_000
    schema = tc.Schema(
        [
            tc.Service("a", key="uid", attributes=[tc.Categorical("k", ["u", "v"]), tc.Boolean("old")]),
            tc.Service("b", key="uid", attributes=[tc.Ordinal("x", 0, 3)]),
        ]
    )
    collection = tc.Collection(schema, epsilon=6.0)
    made = tc.connect()
    made.create(collection)
    people = {"uid": np.arange(count), "k": draw.choice(["u", "v"], count), "old": draw.random(count) < 0.5}
    other = {"uid": np.arange(count), "x": draw.integers(0, 4, count)}
    made.load(collection.encode(a=pa.table(people), b=pa.table(other), rng=tc.insecure_rng(4)))
    return made


def test_combinations_of_the_same_people_have_the_error_of_one_question(database: tc.Database) -> None:
    old = COUNT.replace("GROUP", "WHERE old GROUP")
    joined = database.sql(f"SELECT p.k, p.n - q.n AS d, q.n / p.n AS r FROM ({COUNT}) p JOIN ({old}) q USING (k)")
    one = database.sql("SELECT k, COUNT(*) - COUNT_IF(old) AS d, COUNT_IF(old) / COUNT(*) AS r FROM a GROUP BY k")
    for name in ("d", "r"):
        for left, right in zip(joined[name], one[name], strict=True):
            assert (left.value, left.error) == pytest.approx((right.value, right.error), rel=1e-9)


def test_combinations_of_different_joins_hold_for_any_correlation(database: tc.Database) -> None:
    answer = database.sql(f"SELECT p.k, n, s, s / n AS r, s - n AS d FROM ({COUNT}) p JOIN ({SUM}) q ON q.k = p.k")
    for _, n, s, r, d in answer.rows:
        assert (r.low, r.high) == pytest.approx((s.low / n.high, s.high / n.low))
        assert d.margin == pytest.approx(s.margin + n.margin)
        assert r.value == pytest.approx(s.value / n.value)
        assert math.isfinite(r.error)
    assert answer.has_privacy
    assert answer.estimates == ("n", "s", "r", "d")


def test_parameters_and_described_columns(database: tc.Database) -> None:
    text = f"SELECT p.k, n, s FROM ({COUNT.replace('GROUP', 'WHERE k = ? GROUP')}) p JOIN ({SUM}) q USING (k) LIMIT 5"
    assert [row[0] for row in database.sql(text, ["v"]).rows] == ["v"]
    columns = columns_of(database, text, ["v"])
    names = [column.name for column in columns]
    assert names == ["k", *(n + part for n in "ns" for part in ("", "_error", "_low", "_high"))]
    assert [column.name for column in columns if column.is_listed] == ["k", "n", "s"]


def test_all_intervals_of_several_questions_hold_simultaneously(database: tc.Database) -> None:
    for text in (
        f"{COUNT} UNION ALL {COUNT}",
        f"SELECT p.k, n, m FROM ({COUNT}) p JOIN ({COUNT.replace(' n ', ' m ')}) q USING (k)",
    ):
        wide = database.sql(text, simultaneous=True)["n"]
        alone = database.sql(COUNT, confidence=1 - 0.05 / 4)["n"]
        assert [cell.margin for cell in wide][:2] == pytest.approx([cell.margin for cell in alone])


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT p.k FROM ({COUNT}) p JOIN ({COUNT}) p USING (k)",
        f"SELECT p.k FROM ({COUNT}) p JOIN ({COUNT}) q USING (n)",
        f"SELECT p.k FROM ({COUNT}) p JOIN ({COUNT}) q USING (z)",
        f"SELECT p.k FROM ({COUNT}) p CROSS JOIN ({COUNT}) q",
        f"SELECT p.k FROM ({COUNT}) p JOIN ({COUNT}) q ON TRUE",
        f"SELECT p.k FROM ({COUNT}) p SEMI JOIN ({COUNT}) q USING (k)",
        f"SELECT LN(p.n), EXP(q.k) FROM ({COUNT}) p JOIN ({COUNT}) q USING (k)",
        f"SELECT p.k FROM ({COUNT}) p JOIN ({COUNT}) q USING (k) ORDER BY 9",
        f"SELECT p.k + 1 AS x FROM ({COUNT}) p JOIN ({COUNT}) q USING (k)",
        f"SELECT p.k FROM ({COUNT}) p JOIN ({COUNT}) q USING (k) WHERE p.n > 'x'",
        f"SELECT p.k FROM ({COUNT}) p JOIN (SELECT x, COUNT(*) AS n FROM b GROUP BY ROLLUP (x)) q ON p.k = q.x",
    ],
)
def test_other_joins_are_refused(database: tc.Database, text: str) -> None:
    with pytest.raises(TacitError) as refusal:
        database.sql(text)
    assert refusal.value.code != "internal-error"
    assert len(refusal.value.message) > 20


def test_simultaneous_intervals_of_combinations_follow_from_those_of_their_parts(database: tc.Database) -> None:
    text = f"SELECT p.k, n, m, n - m AS d FROM ({COUNT}) p JOIN ({COUNT.replace(' n ', ' m ')}) q USING (k)"
    answer = database.sql(text, simultaneous=True)
    assert [note for note in answer.notes if "simultaneously" in note] == [
        "all intervals hold simultaneously at 0.95 (Bonferroni)"
    ]
    for _, n, m, d in answer.rows:
        assert (d.low, d.high) == pytest.approx((n.low - m.high, n.high - m.low))
