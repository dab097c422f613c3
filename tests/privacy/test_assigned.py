"""Assigned views and seeds: the exact loss given the coin, who gets which view, and mutants that leak."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from support.channels import all_records, cell_in_view, channel_row
from tacit.client.coin import assigned_draws, coin_of, place_draw, secret_of
from tacit.contract.contract import Channel, Contract, ServiceContract
from tacit.contract.oracles.linear_hash import LinearHash
from tacit.encode.assigned import Assignment
from tacit.errors import SchemaError, UsageError

KEY = "5a" * 32
X, CITY = tc.Ordinal("x", 0, 3, fanout=2), tc.Categorical("city", ["a", "b", "c"])


def collection(*attributes: Any, epsilon: str = "1", rows: dict[str, Any] | None = None, **options: Any) -> Any:
    service = tc.Service("s", key="uid", attributes=list(attributes), **(rows or {}))
    return tc.Collection(tc.Schema([service]), epsilon, assigned=True, **options)


Coin = tuple[int, range]
"""A view, and its codes that a seed allows: all of them where its oracle has no seeds."""


def coins(channel: Channel) -> Iterator[tuple[Coin, Fraction]]:
    """Yield every view with every seed of its oracle, and how likely a coin of uniform draws assigns it."""
    for index, view in enumerate(channel.views):
        oracle, span = view.oracle, view.oracle.span
        share = Fraction(channel.view_weight(index), span)
        if not isinstance(oracle, LinearHash):
            yield (index, range(oracle.alphabet)), share
            continue
        for seed in range(oracle.seeds):
            codes = range(1 + seed * oracle.g, 1 + (seed + 1) * oracle.g)
            yield (index, codes), share * Fraction(span // oracle.seeds, span)
        if span % oracle.seeds:
            yield (index, range(1)), share * Fraction(span % oracle.seeds, span)


def given(service: ServiceContract, channel: Channel, coin: Coin, record: tuple[int, ...]) -> dict[int, Fraction]:
    """Return the exact distribution of the code, given the view and the seed."""
    index, codes = coin
    view = channel.views[index]
    cell = cell_in_view(service, channel, index, record)
    weights = {view.offset + code: view.oracle.weight(cell, code) for code in codes}
    return {code: Fraction(weight, sum(weights.values())) for code, weight in weights.items() if weight}


Choose = Callable[[tuple[int, ...]], list[Coin]]
"""The views and seeds of a person with some record: one, or for a mutant several."""


def worst_ratio(service: ServiceContract, channel: Channel, choose: Choose) -> Fraction | None:
    """Return the worst ratio over all pairs of records of everything that is sent; None if it has no bound."""
    rows: list[dict[Any, Fraction]] = []
    for record in all_records(service):
        row: dict[Any, Fraction] = {(): Fraction(1)}
        for coin in choose(record):
            own = given(service, channel, coin, record)
            row = {(*sent, code): chance * share for sent, chance in row.items() for code, share in own.items()}
        rows.append(row)
    worst = Fraction(1)
    for first, second in itertools.permutations(rows, 2):
        if first.keys() != second.keys():
            return None
        worst = max(worst, *(first[code] / second[code] for code in first))
    return worst


CASES = {
    "grr": collection(CITY, mechanism="fc", oracle="grr"),
    "ss": collection(X, mechanism="fc", oracle="ss"),
    "lh": collection(X, CITY, mechanism="fc", oracle="lh"),
    "oue": collection(CITY, mechanism="fc", oracle="oue"),
    "hio": collection(X, CITY, mechanism="hio"),
    "weights": collection(X, CITY, mechanism="partitions"),
    "sc": collection(X, CITY, mechanism="sc", epsilon="2"),
}


@pytest.mark.parametrize("name", CASES)
def test_given_every_view_and_seed_the_worst_loss_is_that_of_the_audit(name: str) -> None:
    """Exact fractions over all records, all views and all seeds: the worst of them is the audit's ratio."""
    made: tc.Collection = CASES[name]
    audit = made.audit()
    assert audit.ok
    [service] = made.contract.services
    total = Fraction(1)
    for channel in service.channels:
        ratios = [worst_ratio(service, channel, lambda _, coin=coin: [coin]) for coin, _ in coins(channel)]  # type: ignore[misc]
        total *= max(ratio for ratio in ratios if ratio is not None)
        assert None not in ratios
    assert total == audit.ratio


@pytest.mark.parametrize("name", ["lh", "hio", "weights"])
def test_mutants_whose_view_depends_on_the_value_or_who_send_two_views_are_caught(name: str) -> None:
    made: tc.Collection = CASES[name]
    [service], ratio = made.contract.services, made.audit().ratio
    [channel] = service.channels
    every = [coin for coin, _ in coins(channel)]
    assert worst_ratio(service, channel, lambda record: [every[record[0] % 2]]) is None, "the view tells the value"
    telling = [coin for coin in every if (worst_ratio(service, channel, lambda _, c=coin: [c]) or 1) > 1]  # type: ignore[misc]
    assert ratio is not None
    found = worst_ratio(service, channel, lambda _: [telling[0], telling[0]])
    assert found is not None
    assert found > ratio


def test_codes_follow_the_coin_whatever_the_values_are() -> None:
    """People with equal ids and other values get the same views and seeds; only the answers differ."""
    made: tc.Collection = CASES["weights"]
    [channel] = made.contract["s"].channels
    ids = list(range(2_000))
    low = made.encode(s={"uid": ids, "x": [0] * 2_000, "city": ["a"] * 2_000}, key=KEY)["s"]
    high = made.encode(s={"uid": ids, "x": [3] * 2_000, "city": ["c"] * 2_000}, key=KEY)["s"]
    views = [
        [channel.views.index(channel.locate(code)[0]) for code in table["code"].to_pylist()] for table in (low, high)
    ]
    assert views[0] == views[1]
    assignment = Assignment(KEY, made.id)
    draws = assignment.draws(assignment.coins(low["uid"]), "s", np.zeros(2_000, np.int64), 0)
    for table in (low, high):
        codes = np.asarray(table["code"])
        assert channel.follows(codes, *draws)
        assert all(
            channel.follows_one(int(code), int(view), int(seed)) for code, view, seed in zip(codes, *draws, strict=True)
        )
    forged = np.asarray(low["code"]).copy()
    other = channel.views[(views[0][7] + 1) % len(channel.views)]
    forged[7] = other.offset
    assert not channel.follows(forged, *draws)
    assert not channel.follows_one(int(forged[7]), int(draws[0][7]), int(draws[1][7]))


def test_views_are_as_likely_as_their_weights_and_seeds_as_each_other() -> None:
    """100,000 people; false alarms below 1e-9 over all views; a mutant that ignores the weights is rejected."""
    people = 100_000
    made: tc.Collection = CASES["weights"]
    [channel] = made.contract["s"].channels
    assignment = Assignment(KEY, made.id)
    coins_ = assignment.coins(pa.chunked_array([pa.array(np.arange(people))]))
    views, seeds = assignment.draws(coins_, "s", np.zeros(people, np.int64), 0)

    def is_fair(picked: np.ndarray) -> bool:
        counts = np.bincount(picked, minlength=len(channel.views))
        share = np.array([channel.probability(i) for i in range(len(channel.views))])
        return bool((np.abs(counts - people * share) <= 6.9 * np.sqrt(people * share * (1 - share)) + 1).all())

    assert is_fair(channel.pick_views(views))
    assert not is_fair((views % np.uint64(len(channel.views))).astype(np.int64))
    for draws in (views, seeds):
        high = np.bincount((draws >> np.uint64(49)).astype(np.int64), minlength=16)
        assert (np.abs(high - people / 16) <= 6.9 * np.sqrt(people * 15 / 256)).all()
    apart = np.bincount((views >> np.uint64(51)).astype(np.int64) * 4 + (seeds >> np.uint64(51)).astype(np.int64))
    assert (np.abs(apart - people / 16) <= 6.9 * np.sqrt(people * 15 / 256)).all(), "view and seed are independent"


def test_places_are_one_permutation_for_each_person_and_service() -> None:
    """All places are sent by somebody with as many rows as slots: every permutation is as likely, none has a repeat."""
    made = collection(CITY, mechanism="fc", epsilon="3", rows={"at_most": 3, "sends": 3})
    assignment = Assignment(KEY, made.id)
    people = 20_000
    draws = assignment.places(assignment.coins(pa.array(np.arange(people))), "s", 3)
    orders = Counter()
    for row in draws.tolist():
        left = [0, 1, 2]
        orders[tuple(left.pop(draw % len(left)) for draw in row)] += 1
    assert len(orders) == 6
    assert all(abs(count - people / 6) <= 6.5 * (people * 5 / 36) ** 0.5 for count in orders.values())
    other = assignment.places(assignment.coins(pa.array(np.arange(people))), "t", 3)
    assert not (draws == other).any(), "services have permutations of their own"


def test_every_use_of_the_hash_has_a_domain_of_its_own() -> None:
    """Other collections, people, services, slots, channels and uses give other draws; numbers are not texts."""
    seen = Counter()
    for name, person in itertools.product(("00" * 32, "11" * 32), (42, "42", "n42", "t42", -42)):
        coin = coin_of(secret_of(KEY, name), person)
        for service, slot, channel in itertools.product(("s", "s0"), (0, 1, 10), (0, 1)):
            seen.update(assigned_draws(coin, service, slot, channel))
        seen.update(place_draw(coin, service, slot) for service, slot in itertools.product(("s", "s0"), (0, 1, 10)))
    assert set(seen.values()) == {1}
    assert secret_of(KEY, "00" * 32) != secret_of("5b" * 32, "00" * 32)


@pytest.mark.parametrize("name", CASES)
def test_over_all_coins_a_report_has_the_distribution_of_free_views(name: str) -> None:
    """Exact: so estimates are unbiased over the key, with the variances that the contract predicts."""
    made: tc.Collection = CASES[name]
    [service] = made.contract.services
    for channel in service.channels:
        for record in all_records(service)[::3]:
            mixed = [Fraction(0)] * channel.alphabet
            for coin, share in coins(channel):
                for code, chance in given(service, channel, coin, record).items():
                    mixed[code] += share * chance
            assert mixed == channel_row(service, channel, record)


def test_answers_are_those_of_free_views() -> None:
    """Both errors are the predicted ones; estimates lie within 5.5 standard errors of the truth (below 1e-7 each)."""
    ids = np.arange(20_000)
    raw = {"uid": ids, "x": np.minimum(ids % 7, 3), "city": np.array(["a", "b", "c"])[ids % 3]}
    question = "SELECT COUNT(*) AS n FROM s WHERE x >= 2 AND city = 'b'"
    truth = int(((raw["x"] >= 2) & (raw["city"] == "b")).sum())
    made, free = CASES["weights"], tc.Collection(CASES["weights"].schema, 1, mechanism="partitions")
    errors = []
    for own, key in ((made, {"key": KEY}), (free, {})):
        database = tc.connect()
        database.create(own)
        database.load(own.encode(s=raw, **key), **key)
        answer = database.sql(question)["n"]
        assert abs(answer.value - truth) <= 5.5 * answer.error
        assert own.predict(question, users=20_000)["n"].error == free.predict(question, users=20_000)["n"].error
        errors.append(answer.error)
    assert errors[0] == pytest.approx(errors[1], rel=0.1)


def test_keys_are_needed_where_views_are_assigned_and_nowhere_else() -> None:
    made, raw = CASES["grr"], {"uid": [1, 2], "city": ["a", "b"]}
    contract: Contract = made.contract
    assert contract.assigned
    assert made.with_epsilon(2).contract.assigned
    assert "views and seeds become free" in str(made.diff(tc.Collection(made.schema, 1, mechanism="fc", oracle="grr")))
    with pytest.raises(SchemaError, match="True or False"):
        tc.Collection(made.schema, 1, assigned="yes")  # type: ignore[arg-type]
    assert tc.Collection.from_json(made.to_json()) == made
    for key, code in ((None, "key-needed"), ("", "bad-key"), (KEY.upper(), "bad-key"), (KEY[1:], "bad-key")):
        with pytest.raises(UsageError) as refusal:
            made.encode(s=raw, key=key)
        assert refusal.value.code == code
        assert not key or key not in str(refusal.value)
    reports = made.encode(s=raw, key=KEY)
    database = tc.connect()
    database.create(made)
    with pytest.raises(UsageError) as refusal:
        database.load(reports)
    assert refusal.value.code == "key-needed"
    free = tc.Collection(made.schema, 1, mechanism="fc")
    with pytest.raises(UsageError, match="takes no key"):
        free.encode(s=raw, key=KEY)
    assert KEY not in repr(Assignment(KEY, made.id))
