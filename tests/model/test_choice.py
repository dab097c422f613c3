"""``mechanism="auto"``: a layout that shows all attributes together is taken where it costs about as little."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from support.tiers import keeping
from tacit.answers import auto as choice
from tacit.answers.auto import choose_layout, mean_variance, shows_all
from tacit.contract.contract import compile_service
from tacit.contract.layouts import Expected


def service(sizes: list[int], **options: object) -> tc.Service:
    attributes = [
        tc.Categorical(f"a{i}", values=list(range(size))) if size < 20 else tc.Ordinal(f"a{i}", 0, size - 1)
        for i, size in enumerate(sizes)
    ]
    return tc.Service("t", key="uid", attributes=attributes, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "epsilon", keeping(["0.5", "4"], ["0.1", "0.5", "1", "2", "4"], "budgets at which layouts are compared")
)
@pytest.mark.parametrize(
    "sizes",
    keeping(
        [[2, 2, 2], [2, 2, 10], [2, 5, 7, 3]],
        [[2, 2, 2], [2, 2, 2, 2], [3, 3, 3], [4, 4, 4], [2, 2, 10], [2, 5, 7, 3], [1, 2, 2, 2]],
        "sizes of attributes whose layouts are compared",
    ),
)
def test_partitions_are_not_taken_where_a_complete_layout_is_about_as_cheap(sizes: list[int], epsilon: str) -> None:
    budget = Fraction(epsilon)
    chosen = choose_layout(service(sizes), Expected(budget, 10_000), "auto")
    variance = {
        name: mean_variance(compile_service(service(sizes), Expected(budget), name, "auto"))
        for name in ("partitions", "fc", "hio")
    }
    complete = min(variance["fc"], variance["hio"])
    assert shows_all(chosen) == (complete <= 1.33 * variance["partitions"])
    assert variance[chosen.layout] <= 1.33 * min(variance.values())


def test_the_rule_is_what_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant, least variance alone, takes partitions, and for optional services too."""
    for options in ({}, {"optional": True}, {"at_most": 2}):
        assert choose_layout(service([2, 2, 2], **options), Expected(Fraction(1)), "auto").layout == "fc"
    monkeypatch.setattr(choice, "COMPLETE", 1.0)
    assert choose_layout(service([2, 2, 2]), Expected(Fraction(1)), "auto").layout == "partitions"


@pytest.mark.parametrize("consistent", [False, True])
def test_an_exclusive_or_is_seen(consistent: bool) -> None:
    """100,000 people, epsilon 1, c = a xor b in 90 %: 1,250 expected, within 6.1 errors (1e-9).

    By maximum entropy from pairs, the mutant, the answer is 12,500: 12 standard errors of 900 away.
    """
    source = np.random.default_rng(7)
    a, b = (source.integers(0, 2, 100_000) for _ in range(2))
    c = a ^ b ^ (source.random(100_000) < 0.05)
    truth = int((a & b & c).sum())
    collection = tc.Collection(tc.Schema([service([2, 2, 2])]), 1.0, users=100_000)
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(t={"uid": np.arange(100_000), "a0": a, "a1": b, "a2": c}, rng=tc.insecure_rng(2)))
    answer = db.sql("SELECT COUNT(*) AS n FROM t WHERE a0 = 1 AND a1 = 1 AND a2 = 1", consistent=consistent)["n"]
    assert abs(answer.value - truth) < 6.1 * answer.error
    assert answer.high < 12_500 - 6.1 * answer.error


@pytest.mark.parametrize(
    ("attributes", "layout"),
    keeping(
        [(60, "pairs"), (500, "am(1)")], [(60, "pairs"), (150, "pairs"), (500, "am(1)")], "150 attributes; 60 stay"
    ),
)
def test_many_attributes_have_a_contract(attributes: int, layout: str) -> None:
    """The most that a service may declare: where views of every two have no room, one attribute is shown at a time."""
    collection = tc.Collection(tc.Schema([service([2] * attributes)]), 1.0)
    assert collection.contract["t"].layout == layout
    assert collection.audit().ok
    assert tc.Collection.from_json(collection.to_json()).id == collection.id
    assert ("one attribute at a time" in collection.contract["t"].why) == (layout == "am(1)")


def test_refusals_of_many_attributes_are_short_and_name_what_fits() -> None:
    with pytest.raises(tc.TacitError, match=r"These mechanisms would fit: am\(1\)") as caught:
        tc.Collection(tc.Schema([service([2] * 500)]), 1.0, mechanism="hio")
    assert caught.value.code == "too-many-views"
    assert len(caught.value.message) < 300
