"""Dummy rows and double rounding, the papers' baseline for people with any number of rows: exact means, and sums."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import tacit as tc
from support.chances import assert_mean
from support.channels import channel_row
from support.tiers import keeping
from tacit.client import Interpreter
from tacit.contract.contract import ServiceContract
from tacit.contract.randomness import insecure_rng
from tacit.errors import ContractError, UnanswerableError
from tacit.estimate.decoder import Decoder
from tacit.estimate.functional import Functional

SIZES = (2, 4)
MOST = 3
ATTRIBUTES = [tc.Categorical("kind", ["x", "y"]), tc.Ordinal("pay", 0, 3, fanout=2)]


def collection_of(epsilon: float, sends: int = 1, oracle: str = "auto") -> tc.Collection:
    users = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 7, fanout=2)])
    orders = tc.Service("orders", key="uid", attributes=ATTRIBUTES, at_most=MOST, sends=sends)
    return tc.Collection(tc.Schema([users, orders]), epsilon, mechanism="ahio", oracle=oracle)


@cache
def record_row(service: ServiceContract, record: tuple[int, ...]) -> np.ndarray:
    return np.array([float(chance) for chance in channel_row(service, service.channels[0], record)])


def report_row(service: ServiceContract, rows: list[tuple[int, int]]) -> np.ndarray:
    """Return P(code) of one report of a person: over the drawn or made-up row and both roundings."""
    drawn = rows or list(itertools.product(*map(range, SIZES)))
    full = Fraction(min(len(rows), MOST), MOST)
    total = np.zeros(service.channels[0].alphabet)
    for row, up, most in itertools.product(drawn, (0, 1), (0, 1)):
        above = Fraction(row[1], SIZES[1] - 1)
        chance = Fraction(1, len(drawn)) * (above if up else 1 - above) * (full if most else 1 - full)
        total += float(chance) * record_row(service, (*row, 2 * most + up))
    return total


PEOPLE = [[], [(0, 0)], [(1, 3)], [(0, 1), (1, 2)], [(0, 2), (1, 1), (1, 3)], [(0, 3), (0, 1), (1, 1), (1, 2)]]


@pytest.mark.parametrize("decoder", ["cover", "rdc", "blue"])
@pytest.mark.parametrize("sends", [1, 2])
def test_means_are_totals_of_rows(decoder: str, sends: int) -> None:
    service = collection_of(2.0, sends, "lh").contract["orders"]
    reader = Decoder(service, decoder)  # type: ignore[arg-type]
    sizes = (*SIZES, 3)
    rows_only = Functional.of(sizes, 2, [MOST / sends, 0.0, 0.0])
    y, pay = Functional.of(sizes, 0, [0.0, 1.0]), Functional.of(sizes, 1, [10.0, 12.0, 14.0, 16.0])
    middle = Functional.of(sizes, 1, [0.0, 1.0, 1.0, 0.0])
    for functional in (rows_only, y * rows_only, y * middle * rows_only, pay * rows_only, y * middle * pay * rows_only):
        [(coefficient, [factor])] = reader.decode(functional).products
        values = factor.constant + factor.readings[0].contributions()
        for rows in PEOPLE:
            mean = sends * coefficient * float(report_row(service, rows) @ values)
            truth = sum(functional((*row, 0)) for row in rows) * sends / MOST * min(1.0, MOST / max(1, len(rows)))
            assert mean == pytest.approx(truth, abs=1e-9)
    with pytest.raises(UnanswerableError):
        reader.decode(Functional.of(sizes, 2, [1 / sends, 0.0, 1 / sends]))  # people who have rows
    with pytest.raises(UnanswerableError):
        reader.decode(Functional.of(sizes, 1, [0.0, 1.0, 4.0, 9.0]) * rows_only)


def test_numbers_of_rows_are_hidden_within_the_budget() -> None:
    collection = collection_of(2.0, oracle="lh")
    assert collection.audit().ok
    rows = np.stack([report_row(collection.contract["orders"], one) for one in PEOPLE])
    assert rows.sum(axis=1) == pytest.approx(1)
    possible = rows[:, rows.max(axis=0) > 0]
    assert (possible.max(axis=0) / possible.min(axis=0)).max() <= math.exp(1.0) * (1 + 1e-9)  # half of the budget
    assert tc.Collection.from_json(collection.to_json()) == collection
    with pytest.raises(ContractError) as caught:
        Interpreter(collection.to_json())
    assert caught.value.code == "not-for-clients"


@pytest.mark.parametrize("sends", keeping([1], [1, 2], "rows sent, beside made-up ones"))
def test_sums_and_counts_through_sql(sends: int, seed: int) -> None:
    """n = 400,000 people; false alarm 1e-9; the mutant counts made-up rows, or forgets the condition."""
    collection, people = collection_of(20.0, sends), 400_000
    source = np.random.default_rng(3)
    count = source.integers(0, MOST + 1, people)
    owner = np.repeat(np.arange(people), count)
    kind, pay = source.integers(0, 2, len(owner)), source.integers(0, 4, len(owner))
    raw = {"uid": owner, "kind": np.array(["x", "y"])[kind], "pay": pay}
    age = source.integers(0, 8, people)
    reports = collection.encode(users={"uid": range(people), "age": age}, orders=raw, rng=insecure_rng(seed))
    assert reports["orders"].num_rows == sends * people
    database = tc.connect()
    database.create(collection)
    database.load(reports)
    young = age[owner] < 4
    for decoder in ("cover", "rdc"):
        text = "SELECT COUNT(*) AS n, SUM(pay) AS s FROM users JOIN orders USING (uid) WHERE kind = 'y' AND age < 4"
        answer = database.sql(text, decoder=decoder)  # type: ignore[arg-type]
        hit = (kind == 1) & young
        assert_mean(answer["n"].value, float(hit.sum()), answer["n"].error, mutant=float(np.count_nonzero(kind == 1)))
        assert_mean(answer["s"].value, float(pay[hit].sum()), answer["s"].error, mutant=float(pay[kind == 1].sum()))
        made_up = len(owner) + np.count_nonzero(count == 0)
        whole = database.sql("SELECT COUNT(*) AS n FROM orders", decoder=decoder)["n"]  # type: ignore[arg-type]
        assert_mean(whole.value, float(len(owner)), whole.error, mutant=float(made_up))
