"""Rotating panels: the exact loss over all sequences of values, who is asked when, and what a panel is not."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb

import pyarrow as pa
import pytest

import tacit as tc
from tacit.client.panel import assigned_rounds
from tacit.contract.amplification import rounded_crowd
from tacit.contract.budget import within
from tacit.contract.contract import Contract
from tacit.contract.panel import Panel
from tacit.encode.turns import rounds_of_people
from tacit.errors import SchemaError, UsageError
from tests.support.channels import channel_row

Sequence_ = tuple[int, ...]
Assign = Callable[[Sequence_], tuple[int, ...]]
"""The rounds, from 0 on, in which a person with these values reports."""


def panel(values: int, rounds: int, reports: int, *, services: int = 1, epsilon: str = "2") -> tc.Collection:
    names = [f"v{i}" for i in range(values)]
    made = [tc.Service(f"s{i}", key="uid", attributes=[tc.Categorical("x", names)]) for i in range(services)]
    return tc.Collection(tc.Schema(made), epsilon, mechanism="fc", panel="test", rounds=rounds, reports=reports)


def messages(contract: Contract) -> list[list[Fraction]]:
    """Return the distribution of what a person sends in one round, to all services, for each of their values."""
    rows: list[list[Fraction]] = []
    for value in range(contract.services[0].levels[0].size):
        product = [Fraction(1)]
        for service in contract.services:
            row = channel_row(service, service.channels[0], (value,))
            product = [left * right for left in product for right in row]
        rows.append(product)
    return rows


def worst_ratio(contract: Contract, rounds: int, assign: Assign) -> Fraction | None:
    """Return the worst ratio over all pairs of sequences and all that can be sent; None if it has no bound.

    What is seen is in which rounds a person reported, and what.
    """
    rows = messages(contract)
    extremes = [(max(column), min(column)) for column in zip(*rows, strict=True)]
    worst = Fraction(1)
    for first, second in itertools.product(itertools.product(range(len(rows)), repeat=rounds), repeat=2):
        if assign(first) != assign(second):
            return None  # one of them is never seen in these rounds
        ratio = Fraction(1)
        for number in assign(first):
            pairs = zip(rows[first[number]], rows[second[number]], strict=True)
            ratio *= max(left / right for left, right in pairs)
        worst = max(worst, ratio)
    assert worst <= max(most / least for most, least in extremes) ** rounds
    return worst


CASES = [(2, 4, 1, 1), (2, 4, 2, 1), (3, 3, 1, 1), (3, 3, 2, 1), (2, 3, 1, 2), (2, 3, 2, 2)]


@pytest.mark.parametrize(("values", "rounds", "reports", "services"), CASES)
def test_the_loss_over_all_sequences_is_that_of_the_audit(
    values: int, rounds: int, reports: int, services: int
) -> None:
    collection = panel(values, rounds, reports, services=services)
    audit = collection.audit()
    assert audit.ok
    assert audit.ratio is not None
    for person in ("ada", "bob", 7):
        asked = tuple(number - 1 for number in collection.contract.panel.rounds_of(person))  # type: ignore[union-attr]
        assert worst_ratio(collection.contract, rounds, lambda _, asked=asked: asked) == audit.ratio  # type: ignore[misc]
    assert within(audit.ratio, Fraction(2))
    one = collection.round(1).audit()
    assert one.ok
    assert one.ratio is not None
    assert one.ratio**reports == audit.ratio


def test_mutants_exceed_the_audit() -> None:
    """One report too many costs more than was said; a choice by value gives the value away."""
    collection = panel(2, 4, 1)
    contract, ratio = collection.contract, collection.audit().ratio
    assert ratio is not None

    def too_many(values: Sequence_) -> tuple[int, ...]:
        return (0, 2)

    def by_value(values: Sequence_) -> tuple[int, ...]:
        return (values.index(1),) if 1 in values else (0,)

    found = worst_ratio(contract, 4, too_many)
    assert found is not None
    assert found == ratio**2 > ratio
    assert worst_ratio(contract, 4, by_value) is None


@pytest.mark.parametrize(("rounds", "reports"), [(2, 1), (5, 2), (4, 4), (52, 1), (52, 3)])
def test_everybody_is_asked_equally_often_and_every_set_of_rounds_is_as_likely(rounds: int, reports: int) -> None:
    """60,000 people; false alarms below 1e-9 each; the mutant that asks in the first round twice as often is seen."""
    people = 60_000
    asked = [assigned_rounds("2026", rounds, reports, person) for person in range(people)]
    assert all(len(set(some)) == reports and min(some) >= 1 and max(some) <= rounds for some in asked)
    assert all(list(some) == sorted(some) for some in asked[:100])
    rates = Counter(number for some in asked for number in some)
    share = reports / rounds
    limit = 6.7 * (people * share * (1 - share)) ** 0.5 + 1
    assert all(abs(rates[number] - people * share) <= limit for number in range(1, rounds + 1))
    if reports < rounds:
        assert people * share > limit, "twice as often would be seen"
    sets, chance = Counter(asked), 1 / comb(rounds, reports)
    if chance > 0.01:
        limit = 6.7 * (people * chance * (1 - chance)) ** 0.5 + 1
        assert all(abs(count - people * chance) <= limit for count in sets.values())
        assert len(sets) == comb(rounds, reports)


def test_numbers_and_texts_are_different_people() -> None:
    asked = {
        (kind, person): assigned_rounds("p", 1_000, 1, kind(person)) for kind in (int, str) for person in range(50)
    }
    assert sum(asked[int, person] == asked[str, person] for person in range(50)) < 5


def test_only_those_who_are_asked_are_encoded() -> None:
    collection = panel(2, 5, 2)
    ids = list(range(200))
    values = ["v0", "v1"] * 100
    seen = Counter[int]()
    for number in range(1, 6):
        reports = collection.round(number).encode(s0={"uid": ids, "x": values}, rng=tc.insecure_rng(number))["s0"]
        people = reports["uid"].to_pylist()
        assert all(number in assigned_rounds("test", 5, 2, person) for person in people)
        seen.update(people)
    assert seen == dict.fromkeys(ids, 2)
    with pytest.raises(UsageError, match="rounds of a panel"):
        collection.encode(s0={"uid": ids, "x": values})


def test_a_panel_is_one_contract() -> None:
    collection = panel(3, 12, 1, epsilon="1.5")
    again = tc.Collection.from_json(collection.to_json())
    assert again == collection
    assert [part.id for part in again.parts] == [part.id for part in collection.parts]
    assert len({part.id for part in collection.parts} | {collection.id}) == 13
    assert collection.round(3).contract.round == "test/03"
    assert '"panel": "test"' in collection.to_json()
    assert collection.round(3) != collection.round(4)
    more = collection.with_epsilon(3)
    assert more.panel == collection.panel
    assert "panel test of 1 in 12 rounds becomes a single round" in str(collection.diff(tc.Collection(more.schema, 3)))


def test_only_people_of_the_same_round_hide_each_other() -> None:
    """Who was asked when is public: 52 rounds of a million people are crowds of 38,000, and reports add up."""
    for reports in (1, 2):
        collection = panel(3, 52, reports, epsilon="2")
        whole = collection.audit(people=1_000_000).central
        assert whole is not None
        assert whole.people == int(rounded_crowd(int(1_000_000 * reports / 52 - 7 * (1_000_000 * reports / 52) ** 0.5)))
        one = collection.round(9).audit(people=whole.people, delta=1e-8 / reports).central_epsilon
        assert one is not None
        assert whole.epsilon == pytest.approx(reports * one)
        alone = tc.Collection(collection.schema, 2, mechanism="fc").audit(people=1_000_000).central_epsilon
        assert alone is not None
        assert whole.epsilon > alone
    with pytest.raises(UsageError, match="single round"):
        tc.Collection(collection.schema, central_epsilon=1, users=1_000, panel="p", rounds=4)


@pytest.mark.parametrize(
    "options",
    [
        {"panel": "p"},
        {"panel": "p", "rounds": 1},
        {"panel": "p", "rounds": 1_001},
        {"panel": "p", "rounds": 4, "reports": 5},
        {"panel": "p", "rounds": 4, "reports": 0},
        {"rounds": 4},
        {"panel": "p", "rounds": 4, "round": "x"},
        {"panel": "p", "rounds": True},
    ],
)
def test_impossible_panels_are_refused(options: dict[str, object]) -> None:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=[tc.Categorical("x", ["a", "b"])])])
    with pytest.raises(SchemaError):
        tc.Collection(schema, 1, **options)  # type: ignore[arg-type]


def test_remembering_old_answers_shows_that_a_value_changed() -> None:
    """The attack on what is often offered instead: one answer for each value, drawn once and sent in every round.

    Two values, loss of log 3 for each: a person whose value never changes sends the same code in all rounds; of those
    whose value changes once, 5 of 8 show two codes. The ratio between the two sequences has no bound; in a panel of the
    same rounds, whoever reports once shows nothing of it.
    """
    keep = Fraction(3, 4)
    draws = list(itertools.product((0, 1), repeat=2))  # the remembered code of value 0 and of value 1
    weight = {(a, b): (keep if a == 0 else 1 - keep) * (keep if b == 1 else 1 - keep) for a, b in draws}

    def seen(values: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
        found: dict[tuple[int, ...], Fraction] = {}
        for codes in draws:
            shown = tuple(codes[value] for value in values)
            found[shown] = found.get(shown, Fraction(0)) + weight[codes]
        return found

    constant, changed = seen((0, 0, 0)), seen((0, 0, 1))
    visible = sum((chance for shown, chance in changed.items() if len(set(shown)) > 1), Fraction(0))
    assert visible == keep**2 + (1 - keep) ** 2 == Fraction(5, 8)
    assert all(len(set(shown)) == 1 for shown in constant)
    assert any(shown not in constant for shown in changed), "no bound holds for these two sequences"


@pytest.mark.parametrize(("rounds", "reports"), [(2, 1), (2, 2), (6, 6), (52, 1), (52, 3), (40, 20)])
def test_the_rounds_of_many_people_are_those_of_each(rounds: int, reports: int) -> None:
    panel = Panel("2026 é", rounds, reports)
    for people in (list(range(-20, 130)), [f"p{i} é" for i in range(150)], []):
        keys = pa.array(people, type=None if people else pa.string())
        found = [tuple(sorted(row)) for row in rounds_of_people(panel, keys).tolist()]
        assert found == [panel.rounds_of(person) for person in people]
