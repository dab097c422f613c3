"""`mechanism="pairs"` with `users=`: which levels are reported, what the contract says, and what stays as it was."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from support.tiers import keeping
from tacit.answers.auto import mean_variance
from tacit.contract.layouts import Expected, Levels
from tacit.contract.layouts.resolution import levels_for
from tacit.estimate.decoder import Decoder
from tacit.estimate.functional import Functional

EVEN = Levels.build(64, fanout=2, null=False)


def cells(count: int, epsilon: float, users: int | None) -> list[int]:
    chosen = levels_for([EVEN] * count, Expected(Fraction(epsilon), users))
    assert all(some == chosen[0] for some in chosen)
    return [EVEN[depth].cells for depth in chosen[0]]


def collection(attributes: int, **options: object) -> tc.Collection:
    own = [tc.Ordinal(f"a{i}", low=0, high=63, fanout=2) for i in range(attributes)]
    return tc.Collection(tc.Schema([tc.Service("t", key="uid", attributes=own)]), 1.0, **options)


def test_levels_follow_people_and_budget() -> None:
    assert cells(2, 1, None) == [2, 4, 8, 16, 32, 64]
    assert cells(2, 1, 10**8) == [4, 8, 16, 32, 64]
    assert cells(6, 1, 10**6) == [4, 8, 16, 64], "fine cells nobody can estimate are left out"
    assert cells(6, 2, 10**6) == [4, 8, 16, 32, 64], "twice the budget pays for finer ones"
    assert all(cells(6, 1, 10**k)[-1] == 64 for k in range(1, 10)), "single values are always reported"


def test_attributes_that_have_nothing_to_choose_are_left_alone() -> None:
    levels = [Levels.build(1, fanout=2, null=False), Levels.build(7, fanout=7, null=True), EVEN]
    one, categories, _ = levels_for(levels, Expected(Fraction(1), 1000))
    assert (one, categories) == ((), (1,))


@pytest.mark.parametrize("attributes", keeping([1, 2], [1, 2, 6], "levels of six attributes; two stay"))
def test_choices_cost_unbiased_answers_little_or_nothing(attributes: int) -> None:
    every = collection(attributes, mechanism="pairs").contract["t"]
    chosen = collection(attributes, mechanism="pairs", users=10**6).contract["t"]
    assert len(chosen.channels[0].views) < len(every.channels[0].views)
    assert mean_variance(chosen) < 1.2**2 * mean_variance(every)


def test_the_contract_says_what_was_chosen_and_for_how_many() -> None:
    made = collection(6, mechanism="pairs", users=10**6)
    assert made.contract["t"].why == (
        "cells of levels for 1,000,000 people, noise against uneven cells: 4-8-16-64 of each attribute"
    )
    assert tc.Collection.from_json(made.to_json()) == made
    assert made.audit().ok
    assert collection(2, mechanism="pairs").contract["t"].why == ""
    assert collection(6, users=10**6).contract["t"].layout == "partitions"


def test_every_total_over_two_attributes_stays_unbiased() -> None:
    """Weights of views add up to the functional at every record; readings of views are unbiased (tests/privacy)."""
    service = collection(3, mechanism="pairs", users=10**5).contract["t"]
    sizes, decoder = (64,) * 3, Decoder(service)
    one = Functional.of(sizes, 0, np.arange(64) == 37) * Functional.of(sizes, 2, np.arange(64) == 5)
    for record in ((37, 0, 5), (37, 0, 6), (36, 1, 5)):
        [(coefficient, (factor,))] = decoder.decode(one).products
        mean = factor.constant
        for channel, reading in factor.readings.items():
            for number, products in reading.products.items():
                view = service.channels[channel].views[number]
                at = [service.levels[i][view.levels[i]].cell_of(record[i]) for i in view.active]
                mean += sum(np.prod([vector[k] for vector, k in zip(p, at, strict=True)]) for p in products)
        assert np.isclose(coefficient * mean, one(record), atol=1e-9)
