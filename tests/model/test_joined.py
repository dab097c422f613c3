"""Fitted answers over joins, public columns and services of several rows: one model, and it agrees with itself."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.errors import TacitError
from tacit.model.evidence import Attribute, NoisyTable
from tacit.model.model import Model
from tacit.model.pairs import Side, paired_tables

PEOPLE = 40_000

SCHEMA = tc.Schema(
    [
        tc.Service(
            "users",
            key="uid",
            attributes=[tc.Ordinal("x", 0, 15), tc.Categorical("s", values=[0, 1]), tc.Public("os"), tc.Public("age")],
        ),
        tc.Service("visits", key="uid", attributes=[tc.Ordinal("y", 0, 15)]),
        tc.Service(
            "orders", key="uid", at_most=3, attributes=[tc.Ordinal("w", 0, 7), tc.Categorical("c", values=["a", "b"])]
        ),
    ]
)


def world() -> dict[str, dict[str, np.ndarray]]:
    source = np.random.default_rng(3)
    x = np.clip(source.normal(8, 3, PEOPLE), 0, 15).astype(int)
    y = np.clip(x + source.normal(0, 2, PEOPLE), 0, 15).astype(int)
    many = source.integers(0, 4, PEOPLE) * (x > 5)
    uid = np.repeat(np.arange(PEOPLE), many)
    w = np.clip(x[uid] // 2 + source.integers(-1, 2, len(uid)), 0, 7)
    os = np.array(["ios", "web"])[(x + source.integers(-4, 5, PEOPLE) > 8).astype(int)]
    keys = np.arange(PEOPLE)
    return {
        "users": {
            "uid": keys,
            "x": x,
            "s": source.integers(0, 2, PEOPLE),
            "os": os,
            "age": source.integers(1, 4, PEOPLE),
        },
        "visits": {"uid": keys, "y": y},
        "orders": {"uid": uid, "w": w, "c": np.where(w > 3, "a", "b")},
    }


@pytest.fixture(scope="module")
def db() -> tc.Database:
    """Return the reports of everybody, at a budget of 2 for each report."""
    collection = tc.Collection(SCHEMA, 6.0, users=PEOPLE)
    database = tc.connect()
    database.create(collection)
    database.load(collection.encode(**world(), rng=tc.insecure_rng(1)))
    return database


def truth(where: str, what: str = "count(*)", groups: str = "") -> list[float]:
    """Return the answer over the records themselves."""
    connection = duckdb.connect()
    for name, columns in world().items():
        connection.register(name, pa.table(columns))
    shown, tail = (f"{groups}, ", f" GROUP BY {groups} ORDER BY {groups}") if groups else ("", "")
    return [row[-1] for row in connection.sql(f"SELECT {shown}{what} FROM {where}{tail}").fetchall()]


@pytest.mark.parametrize(
    ("what", "where", "groups"),
    [
        ("count(*)", "users JOIN visits USING (uid) WHERE x BETWEEN 4 AND 9 AND y BETWEEN 6 AND 12", ""),
        ("avg(y)", "users JOIN visits USING (uid) WHERE x > 9", ""),
        ("count(*)", "users JOIN visits USING (uid) WHERE y < 8", "s"),
        ("count(*)", "users WHERE x < 8 AND os = 'ios'", ""),
        ("count(*)", "users WHERE x < 8", "os"),
        ("sum(age)", "users WHERE x < 8", ""),
        ("count(*)", "users WHERE x < 8 OR os = 'ios'", ""),
        ("count(*)", "users JOIN visits USING (uid) WHERE x < 8 AND y < 8", "os"),
        ("count(*)", "orders WHERE w BETWEEN 2 AND 5", ""),
        ("count(*)", "orders WHERE w BETWEEN 2 AND 5 AND c = 'a'", ""),
        ("count(*)", "orders", "c"),
        ("avg(w)", "orders WHERE c = 'a'", ""),
        ("count(*)", "orders JOIN users USING (uid) WHERE w > 3 AND x > 8", ""),
        ("count(*)", "orders JOIN users USING (uid) WHERE x > 8", ""),
        ("count(*)", "orders JOIN users USING (uid) JOIN visits USING (uid) WHERE w > 3 AND x > 8 AND y > 8", ""),
    ],
)
def test_questions_are_answered_within_their_errors(db: tc.Database, what: str, where: str, groups: str) -> None:
    """40,000 people, fixed seed: every answer within 6.1 stated errors (1e-9 each), and its interval nearly so."""
    shown = f"{groups}, " if groups else ""
    tail = f" GROUP BY {groups} ORDER BY {groups}" if groups else ""
    answer = db.sql(f"SELECT {shown}{what} AS n FROM {where}{tail}", consistent=True)
    found, expected = [row[-1] for row in answer], truth(where, what, groups)
    assert len(found) == len(expected)
    for estimate, right in zip(found, expected, strict=True):
        assert estimate.value >= 0
        assert abs(estimate.value - right) < 6.1 * estimate.error
        assert estimate.low - estimate.error <= right <= estimate.high + estimate.error


def test_joins_are_closer_than_unbiased_answers(db: tc.Database) -> None:
    """36 boxes, fixed seed: fits have less than 0.7 of the unbiased error; independence, the mutant, has more."""
    tables = world()
    x, y = tables["users"]["x"], tables["visits"]["y"]
    off = {name: [] for name in ("fit", "unbiased", "mutant")}  # type: ignore[var-annotated]
    for a in range(0, 12, 2):
        for b in range(0, 12, 2):
            where = f"x BETWEEN {a} AND {a + 4} AND y BETWEEN {b} AND {b + 4}"
            question = f"SELECT COUNT(*) AS n FROM users JOIN visits USING (uid) WHERE {where}"
            inside = (x >= a) & (x <= a + 4), (y >= b) & (y <= b + 4)
            right = (inside[0] & inside[1]).sum()
            off["fit"].append(abs(db.sql(question, consistent=True)["n"].value - right))
            off["unbiased"].append(abs(db.sql(question)["n"].value - right))
            off["mutant"].append(abs(inside[0].mean() * inside[1].mean() * PEOPLE - right))
    mean = {name: np.mean(own) for name, own in off.items()}
    assert mean["fit"] < 0.7 * mean["unbiased"]
    assert mean["mutant"] > mean["unbiased"]


def test_sql_marginals_and_rows_agree(db: tc.Database) -> None:
    for names in (["x"], ["s", "x"]):
        listed = ", ".join(names)
        asked = db.sql(f"SELECT {listed}, COUNT(*) AS n FROM users GROUP BY {listed}", consistent=True).to_pandas()
        table = db.marginal(names).to_pandas()
        assert np.allclose(asked["n"], table["count"], rtol=0, atol=1e-6 * PEOPLE)
    orders = db.sql("SELECT w, COUNT(*) AS n FROM orders GROUP BY w", consistent=True).to_pandas()
    assert np.allclose(orders["n"], db.marginal(["w"]).to_pandas()["count"], rtol=0, atol=1e-6 * PEOPLE)
    rows = db.synthesize(200_000, seed=1, service="orders").to_pandas()
    share = np.bincount(rows["w"], minlength=8) / len(rows)
    assert np.abs(share - orders["n"] / orders["n"].sum()).max() < 6.1 * (0.25 / len(rows)) ** 0.5


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("SELECT COUNT(*) AS n FROM orders o JOIN orders p USING (uid) WHERE o.w > 3 AND p.w > 3", "self-join"),
        ("SELECT COUNT(DISTINCT uid) AS n FROM orders WHERE w > 3", "several-rows"),
    ],
)
def test_what_cannot_be_fitted_is_refused(db: tc.Database, question: str, code: str) -> None:
    with pytest.raises(TacitError) as refusal:
        db.sql(question, consistent=True)
    assert refusal.value.code


def test_tiers_are_one_model_and_rounds_add_up() -> None:
    """Two rounds of two tiers, 5,000 people each, fixed seeds: every number within 6.1 stated errors (1e-9 each)."""
    attributes = [tc.Ordinal("x", 0, 31), tc.Public("os")]
    schema = tc.Schema([tc.Service("t", key="uid", attributes=attributes)])
    source, database, counts = np.random.default_rng(1), tc.connect(), {}
    for name, middle in (("r1", 12), ("r2", 18)):
        for tier, epsilon, first in (("low", 1.0, 0), ("high", 4.0, 5_000)):
            collection = tc.Collection(schema, epsilon, round=name, tier=tier, users=5_000)
            database.create(collection)
            x = np.clip(source.normal(middle, 5, 5_000), 0, 31).astype(int)
            rows = {"uid": np.arange(first, first + 5_000), "x": x, "os": np.where(x % 2, "a", "b")}
            database.load(collection.encode(t=rows, rng=tc.insecure_rng(3)))
            counts[name, tier] = int((x < 15).sum())
    asked = {
        "SELECT COUNT(*) AS n FROM t WHERE x < 15": [counts["r2", "low"] + counts["r2", "high"]],
        "SELECT tier, COUNT(*) AS n FROM t WHERE x < 15 GROUP BY tier": [counts["r2", "high"], counts["r2", "low"]],
        "SELECT COUNT(*) AS n FROM t WHERE x < 15 AND round IN ('r1', 'r2')": [sum(counts.values())],
    }
    for question, expected in asked.items():
        found = [row[-1] for row in database.sql(question, consistent=True)]
        for estimate, right in zip(found, expected, strict=True):
            assert abs(estimate.value - right) < 6.1 * estimate.error
            assert abs(estimate.value - right) < 1_000
    with pytest.raises(TacitError) as refusal:
        database.sql("SELECT COUNT(*) AS n FROM t WHERE os = 'c'", consistent=True)
    assert refusal.value.code == "not-consistent"


def test_partitions_need_not_be_nested() -> None:
    """Two shifted partitions of 12 values into runs of three, without noise: the table is one that has both's sums."""
    truth_of = np.random.default_rng(1).dirichlet(np.full(12, 3.0))
    shifted = [np.arange(12) // 3, (np.arange(12) + 1) // 3, (np.arange(12) + 2) // 3]
    evidence = [NoisyTable((0,), (own,), np.bincount(own, truth_of), np.asarray(1e9)) for own in shifted]
    found = Model([Attribute("x", 12, ordered=True)], evidence, 1.0).values(0)
    for own in shifted:
        assert np.allclose(np.bincount(own, found), np.bincount(own, truth_of), atol=1e-3)


def test_pairs_of_reports_are_unbiased() -> None:
    """400,000 people, epsilon 2 each, x and y of 4 values: every cell of the mean product within 6.1 errors (1e-9).

    The mutant, the product of both margins, is far off.
    """
    people, source = 400_000, np.random.default_rng(5)
    x = source.integers(0, 4, people)
    y = np.where(source.random(people) < 0.8, x, source.integers(0, 4, people))
    services = [tc.Service(n, key="uid", attributes=[tc.Categorical(n + "_", values=list(range(4)))]) for n in "ab"]
    collection = tc.Collection(tc.Schema(services), 4.0)
    reports = collection.encode(
        a={"uid": np.arange(people), "a_": x}, b={"uid": np.arange(people), "b_": y}, rng=tc.insecure_rng(1)
    )
    sides = []
    for name in "ab":
        table = reports[name].sort_by("uid")
        codes = [np.asarray(table.column(own)).astype(np.int64) for own in ("channel", "code")]
        sides.append(Side(collection.contract[name], *codes))
    group, shares = np.zeros(people, dtype=np.int64), np.ones(1)
    [table] = paired_tables((sides[0], sides[1]), ((0, 0), (1, 0)), np.ones(people), (2, group, shares))
    right = np.histogram2d(x, y, bins=[np.arange(5)] * 2)[0] / people
    error = float(table.precision.ravel()[0]) ** -0.5
    assert np.abs(table.shares - right).max() < 6.1 * error
    assert np.abs(np.full((4, 4), 1 / 16) - right).max() > 6.1 * error
    assert np.abs(table.shares.sum() - 1) < 1e-9
