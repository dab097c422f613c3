"""FT: parities of bits by randomised response, exact in expectation, audited, and read back into tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tacit as tc
from tacit.contract.layouts import parity_count, parity_views
from tacit.errors import TacitError
from tacit.estimate.decoder import Decoder
from tacit.estimate.functional import Functional
from tacit.sql.meaning import meaning_of

ATTRIBUTES: list[tc.Ordinal | tc.Categorical | tc.Public] = [
    tc.Ordinal("age", low=0, high=4),
    tc.Categorical("state", values=["CA", "NY", "WA"]),
    tc.Categorical("sex", values=["f", "m"], null=True),
]
SCHEMA = tc.Schema([tc.Service("s", key="uid", attributes=ATTRIBUTES)])
SIZES = (5, 3, 3)


def test_views_are_all_parities_of_few_attributes() -> None:
    assert parity_count([2] * 8, 3) == 92  # and the empty one, known: 93 of the paper
    views = parity_views(SIZES, 2)
    assert len(views) == len(set(views)) == parity_count(SIZES, 2) == 7 + 3 + 3 + 21 + 21 + 9
    assert {sum(map(bool, view)) for view in views} == {1, 2}


def test_contributions_are_exact_in_expectation_for_every_record() -> None:
    service = tc.Collection(SCHEMA, 1.0, mechanism="ft(2)").contract["s"]
    [channel] = service.channels
    rng = np.random.default_rng(4)
    asked = Functional.of(SIZES, 0, rng.random(5)) * Functional.of(SIZES, 2, rng.random(3))
    asked = asked + Functional.of(SIZES, 1, rng.random(3))
    [(coefficient, [factor])] = Decoder(service).decode(asked).products
    [reading] = factor.readings.values()
    adds = factor.constant + reading.contributions()
    for record in itertools.product(*map(range, SIZES)):
        mean = 0.0
        for index, view in enumerate(channel.views):
            odd = sum((value & mask).bit_count() for value, mask in zip(record, view.levels, strict=True)) % 2
            chances = [view.oracle.weight(odd, code) / view.oracle.denominator for code in (0, 1)]
            mean += channel.probability(index) * float(np.dot(chances, adds[view.offset : view.offset + 2]))
        assert coefficient * mean == pytest.approx(asked(record), abs=1e-12)


def test_more_attributes_than_parities_are_refused() -> None:
    service = tc.Collection(SCHEMA, 1.0, mechanism="ft(2)").contract["s"]
    asked = (
        Functional.of(SIZES, 0, np.arange(5) < 2)
        * Functional.of(SIZES, 1, [1, 0, 0])
        * Functional.of(SIZES, 2, [1, 0, 0])
    )
    with pytest.raises(TacitError) as refused:
        Decoder(service).decode(asked)
    assert refused.value.code == "not-collected-together"


def test_reports_of_parities_give_tables_and_answers() -> None:
    """60,000 people, epsilon 3, fixed seed: all cells within six standard errors of the truth."""
    n, rng = 60_000, np.random.default_rng(2)
    age = rng.integers(0, 5, n)
    state = np.where(rng.random(n) < 0.6, age % 3, rng.integers(0, 3, n))
    people = {
        "uid": np.arange(n),
        "age": age,
        "state": np.array(["CA", "NY", "WA"])[state],
        "sex": np.array(["f", "m", None], dtype=object)[rng.integers(0, 3, n)],
    }
    collection = tc.Collection(SCHEMA, 3.0, mechanism="ft(2)")
    assert collection.audit().ok
    assert tc.Collection.from_json(collection.to_json()) == collection
    assert "parities" in collection.to_json()
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(s=people, rng=tc.insecure_rng(3)))
    truth = {(a, ["CA", "NY", "WA"][s]): int(((age == a) & (state == s)).sum()) for a in range(5) for s in range(3)}
    for row in db.marginal(["age", "state"]):
        assert abs(row[-1].value - truth[row[:2]]) < 6.1 * row[-1].error
        assert abs(row[-1].value - truth[row[:2]] - 6000) > 6.1 * row[-1].error  # off by a tenth is seen
    count = db.sql("SELECT COUNT(*) AS n FROM s WHERE age = 1 AND state = 'NY'")["n"]
    assert abs(count.value - truth[1, "NY"]) < 6.1 * count.error
    assert db.synthesize(100, seed=1).num_rows == 100
    with pytest.raises(TacitError):
        db.marginal(["age", "state", "sex"])
    with pytest.raises(TacitError):
        db.marginal(["age"], method="calm")


def test_codes_of_parities_have_words() -> None:
    service = tc.Collection(SCHEMA, 1.0, mechanism="ft(2)").contract["s"]
    first, second = meaning_of(service, 0, 0), meaning_of(service, 0, 1)
    assert first.about == second.about == "the parity of bits of age & 1"
    assert (first.examples, second.examples) == (("even",), ("odd",))


def test_services_with_extra_cells_have_no_parities() -> None:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=ATTRIBUTES, optional=True)])
    with pytest.raises(TacitError) as refused:
        tc.Collection(schema, 1.0, mechanism="ft(2)")
    assert refused.value.code == "layout-out-of-range"
