"""Tiers and weights: people choose their epsilon; services have shares of the budget."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from tacit.contract.randomness import insecure_rng
from tacit.errors import SchemaError

USERS = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 9), tc.Public("os")])
CARD = tc.Service("card", key="uid", optional=True, attributes=[tc.Ordinal("points", 0, 5)])
SCHEMA = tc.Schema([USERS, CARD])


def people(first: int, count: int) -> dict[str, dict[str, np.ndarray]]:
    keys = np.arange(first, first + count)
    users = {"uid": keys, "age": keys % 10, "os": np.where(keys % 2, "i", "a")}
    return {"users": users, "card": {"uid": keys[::2], "points": keys[::2] % 6}}


def mixed() -> tuple[tc.Database, dict[str, tc.Collection]]:
    tiers = {name: tc.Collection(SCHEMA, e, round="r", tier=name) for name, e in (("low", 1), ("high", 6))}
    database = tc.connect()
    for seed, (name, first) in enumerate((("low", 0), ("high", 4_000))):
        database.create(tiers[name])
        database.load(tiers[name].encode(**people(first, 4_000), rng=insecure_rng(seed)))
    return database, tiers


def test_tiers_are_asked_together_and_say_what_they_cost() -> None:
    database, _ = mixed()
    answer = database.sql("SELECT SUM(age) AS s, COUNT(*) AS n FROM users")
    assert answer["n"].value == 8_000
    assert abs(answer["s"].value - 4.5 * 8_000) < 6.11 * answer["s"].error
    [note] = [note for note in answer.notes if "from tier low" in note]
    share = int(note.partition("%")[0].rpartition(" ")[2])
    assert share > 80, "the tier with the small budget brings nearly all of the variance"
    by_tier = database.sql("SELECT tier, SUM(age) AS s FROM users GROUP BY tier")
    low, high = by_tier["s"][by_tier["tier"].index("low")], by_tier["s"][by_tier["tier"].index("high")]
    assert low.error > 2 * high.error
    assert answer["s"].error == pytest.approx(np.hypot(low.error, high.error))
    assert share == pytest.approx(100 * low.error**2 / answer["s"].error ** 2, abs=1)
    joined = database.sql("SELECT COUNT(*) AS n FROM users JOIN card USING (uid) WHERE age < 5")["n"]
    assert abs(joined.value - 2_400) < 6.11 * joined.error


def test_nobody_is_in_two_tiers() -> None:
    database, tiers = mixed()
    again = tiers["high"].encode(**people(3_000, 2_000))
    loaded = database.load(again)
    assert (loaded["users"].stored, loaded["users"].refused) == (0, 2_000)
    fresh = database.load(tiers["low"].encode(**people(9_000, 10)))
    assert (fresh["users"].stored, fresh["card"].stored) == (10, 10)


def test_tiers_are_audited_one_by_one() -> None:
    _, tiers = mixed()
    for name, epsilon in (("low", 1), ("high", 6)):
        assert tiers[name].audit().ok
        assert 0.99 * epsilon < tiers[name].audit().worst_loss <= epsilon
        assert tc.Collection.from_json(tiers[name].to_json()) == tiers[name]
    assert tiers["low"].id != tc.Collection(SCHEMA, 1, round="r").id


def test_weights_share_the_budget() -> None:
    collection = tc.Collection(SCHEMA, 3, weights={"users": 2})
    budgets = [service.channels[0].epsilon for service in collection.contract.services]
    assert budgets == [Fraction(2), Fraction(1)]
    assert collection.audit().ok
    assert collection.audit().worst_loss > 2.99
    assert tc.Collection.from_json(collection.to_json()) == collection
    for weights in ({"users": 0}, {"users": "x"}, {"nobody": 1}):
        with pytest.raises((SchemaError, tc.TacitError)):
            tc.Collection(SCHEMA, 3, weights=weights)  # type: ignore[arg-type]
    text = 'epsilon = 3\ntier = "low"\nweights = { users = 2 }\n[[services]]\nname = "users"\nkey = "uid"\n'
    made = tc.Collection.from_toml(text + "attributes = [{ name = 'age', low = 0, high = 9 }]")
    assert made.contract.tier == "low"
