"""Products of means over random rounding: never above the true one, and errors that do not count how people differ."""

from __future__ import annotations

import itertools

import numpy as np

import tacit as tc
from tacit.estimate.functional import Functional, Term
from tacit.sql.rounded import product_of_means
from tacit.sql.totals import Total

COUNTS = (4, 3)
SIZES = (5, 3, 2)  # the first attribute has NULL, the last is not rounded


def functional(draw: np.random.Generator) -> Functional:
    terms = tuple(
        Term(float(draw.normal()), {axis: draw.normal(size=size) for axis, size in enumerate(SIZES)}) for _ in range(3)
    )
    return Functional(SIZES, terms)


def table(known: Functional) -> np.ndarray:
    return np.array([known(record) for record in itertools.product(*map(range, SIZES))]).reshape(SIZES)


def mean(values: np.ndarray, place: tuple[float, float], third: int) -> float:
    """Return the mean of a table where two values lie between representatives."""
    total = 0.0
    for steps in itertools.product((0, 1), repeat=2):
        weight, index = 1.0, []
        for axis, step in enumerate(steps):
            low = min(int(place[axis]), COUNTS[axis] - 2)
            share = place[axis] - low
            weight *= share if step else 1 - share
            index.append(low + step)
        total += weight * float(values[(*index, third)])
    return total


def test_no_combination_has_a_product_above_that_of_its_means() -> None:
    draw = np.random.default_rng(11)
    broken = 0
    for _ in range(40):
        known = functional(draw)
        total = Total.of(known)
        below = product_of_means(total, total, dict(enumerate(COUNTS))).functional
        assert below is not None
        values, lower = table(known), table(below)
        for place in itertools.product(np.linspace(0, 3, 13), np.linspace(0, 2, 9)):
            for third in range(2):
                truth = mean(values, place, third) ** 2
                assert mean(lower, place, third) <= truth + 1e-9
                broken += mean(values**2, place, third) > truth + 1e-9
    assert broken > 1_000, "squares of rounded values would pass, too: the test has no power"


def test_it_is_bilinear_and_exact_without_rounding() -> None:
    draw = np.random.default_rng(12)
    first, second = Total.of(functional(draw)), Total.of(functional(draw))
    rounded = dict(enumerate(COUNTS))
    whole = product_of_means(first + second, first + second, rounded).functional
    parts = [product_of_means(a, b, rounded).functional for a in (first, second) for b in (first, second)]
    assert whole is not None
    np.testing.assert_allclose(table(whole), sum(table(part) for part in parts if part is not None), atol=1e-9)
    exact = product_of_means(first, second, {}).functional
    assert exact is not None
    assert exact.key == (first * second).functional.key  # type: ignore[union-attr]


def test_null_has_no_neighbour() -> None:
    vector = np.array([0.0, 1.0, 2.0, 3.0, 99.0])
    total = Total.of(Functional.of((5,), 0, vector))
    below = product_of_means(total, total, {0: 4}).functional
    assert below is not None
    _, values = below.single_vector()  # type: ignore[misc]
    np.testing.assert_allclose(values, [-0.25, 0.5, 3.5, 8.75, 99.0**2])


def test_stated_errors_do_not_include_how_people_differ() -> None:
    """n = 80 encodings: a deviation 1.6 times off is a false alarm of 1e-9; the sample covariance is 2.9 times off."""
    draw, many = np.random.default_rng(13), 80
    pay = np.clip(draw.normal(350, 140, 2_000).round(), -50, 949).astype(int)
    attributes = [tc.Ordinal("pay", -50, 949, cells=25), tc.Public("batch", type="int")]
    collection = tc.Collection(tc.Schema([tc.Service("staff", key="uid", attributes=attributes)]), epsilon=8.0)
    batch = np.repeat(np.arange(many), len(pay))
    people = {"uid": np.arange(len(batch)), "pay": np.tile(pay, many), "batch": batch}
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(staff=people, rng=tc.insecure_rng(1)))
    question = "SELECT batch, SUM(pay) AS x FROM staff GROUP BY batch"
    totals, wider = (db.sql(question, superpopulation=wide)["x"] for wide in (False, True))
    values = [total.value for total in totals]
    spread = float(np.std(values, ddof=1))
    assert 1 / 1.6 < np.mean([total.error for total in totals]) / spread < 1.6
    assert np.mean([total.error for total in wider]) / spread > 2.5, "the mutant passes: the test has no power"
    assert abs(np.mean(values) - pay.sum()) < 6.11 * spread / np.sqrt(many)
