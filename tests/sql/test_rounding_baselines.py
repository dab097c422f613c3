"""SR-HIO, AHIO, EHIO and AMG: exact means over roundings and codes, equal encoders, and sums without bias."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import tacit as tc
from support.chances import assert_mean
from support.channels import cell_in_view
from support.decoding import oracle_table
from support.tiers import keeping
from tacit.client import Interpreter
from tacit.contract.contract import ServiceContract
from tacit.contract.oracles import Oracle
from tacit.contract.randomness import insecure_rng
from tacit.errors import LayoutError, UnanswerableError
from tacit.estimate.decoder import Decoded, Decoder
from tacit.estimate.functional import Functional

BASELINES = ["srhio", "ahio", "ehio", "amg"]
ATTRIBUTES = [tc.Ordinal("age", 0, 4, fanout=2), tc.Ordinal("pay", 0, 3, fanout=2)]
SCHEMA = tc.Schema([tc.Service("s", key="uid", attributes=ATTRIBUTES)])
SIZES = (5, 4)


def roundings(
    service: ServiceContract, record: tuple[int, ...], sizes: tuple[int, ...]
) -> list[tuple[tuple[int, ...], Fraction]]:
    """Return the record with its derived values, each way, and the probability of it."""
    ways: list[tuple[tuple[int, ...], Fraction]] = [(record, Fraction(1))]
    for derived in service.derived:
        value, size = record[derived.source], sizes[derived.source]
        up = Fraction(value, size - 1)
        made = {1: 1, 0: 0} if derived.kind == "round" else {1: size + value, 0: size - 1 - value}
        ways = [((*w, made[bit]), p * (up if bit else 1 - up)) for w, p in ways for bit in (0, 1)]
    return [(way, chance) for way, chance in ways if chance]


class Codes:
    """Probabilities of codes, roundings included; an oracle's table is made once."""

    def __init__(self, service: ServiceContract, sizes: tuple[int, ...] = SIZES) -> None:
        self.service, self.sizes = service, sizes
        self._tables: dict[Oracle, np.ndarray] = {}

    def row(self, record: tuple[int, ...]) -> np.ndarray:
        channel = self.service.channels[0]
        total = np.zeros(channel.alphabet)
        for way, chance in roundings(self.service, record, self.sizes):
            for index, view in enumerate(channel.views):
                if view.oracle not in self._tables:
                    self._tables[view.oracle] = oracle_table(view.oracle)
                row = self._tables[view.oracle][cell_in_view(self.service, channel, index, way)]
                share = channel.view_weight(index) / view.oracle.span
                total[view.offset : view.offset + view.oracle.alphabet] += float(chance) * share * row
        return total


def mean(decoded: Decoded, row: np.ndarray) -> float:
    total = 0.0
    for coefficient, factors in decoded.products:
        [factor] = factors
        read = float(np.dot(row, factor.readings[0].contributions())) if factor.readings else 0.0
        total += coefficient * (factor.constant + read)
    return total


@pytest.mark.parametrize("mechanism", BASELINES)
@pytest.mark.parametrize("decoder", keeping(["cover"], ["cover", "rdc", "blue"], "decoders of rounding baselines"))
def test_means_are_sums_and_counts(mechanism: str, decoder: str) -> None:
    service = tc.Collection(SCHEMA, 1.0, mechanism=mechanism, oracle="lh").contract["s"]
    reader = Decoder(service, decoder)  # type: ignore[arg-type]
    age, pay = np.arange(5.0), 10.0 + 2.0 * np.arange(4)
    asked = [
        Functional.of(SIZES, 0, age),
        Functional.of(SIZES, 0, age * (age > 1)),
        Functional.of(SIZES, 1, pay * [0, 1, 1, 0]),
        Functional.of(SIZES, 0, age) * Functional.of(SIZES, 1, [0, 1, 1, 0]),
        Functional.of(SIZES, 0, age > 2) * Functional.of(SIZES, 1, pay),
        Functional.of(SIZES, 0, age > 2) * Functional.of(SIZES, 1, [0, 1, 1, 0]),
        Functional.of(SIZES, 0, age > 2),
    ]
    codes, decoded = Codes(service), [(functional, reader.decode(functional)) for functional in asked]
    for record in itertools.product(range(5), range(4)):
        row = codes.row(record)
        assert row.sum() == pytest.approx(1)
        for functional, found in decoded:
            assert mean(found, row) == pytest.approx(functional(record), abs=1e-9)
    with pytest.raises(UnanswerableError):
        reader.decode(Functional.of(SIZES, 0, age**2))


@pytest.mark.parametrize("mechanism", BASELINES)
def test_they_keep_to_the_budget_and_travel(mechanism: str) -> None:
    collection = tc.Collection(SCHEMA, "1.5", mechanism=mechanism, oracle="lh")
    service = collection.contract["s"]
    codes = Codes(service)
    rows = np.stack([codes.row(record) for record in itertools.product(range(5), range(4))])
    possible = rows.max(axis=0) > 0
    assert (rows.max(axis=0)[possible] / rows.min(axis=0)[possible]).max() <= math.exp(1.5) * (1 + 1e-9)
    assert collection.audit().ok  # exact, over all derived values; rounding first can only mix rows
    assert tc.Collection.from_json(collection.to_json()) == collection
    interpreter = Interpreter(collection.to_json())
    draws = np.random.default_rng(1).integers(0, 2**53, (50, interpreter.draws("s")))

    class Fixed:
        sequential = True

        def draws(self, count: int) -> np.ndarray:
            return draws.ravel()[:count].astype(np.uint64)

    table = {"uid": range(50), "age": [i % 5 for i in range(50)], "pay": [i % 4 for i in range(50)]}
    bulk = collection.encode(s=table, rng=Fixed())["s"]["code"].to_pylist()  # type: ignore[arg-type]
    single = [interpreter.encode("s", {"age": i % 5, "pay": i % 4}, [int(d) for d in draws[i]])[0] for i in range(50)]
    assert bulk == single


@pytest.mark.parametrize("mechanism", BASELINES)
def test_sums_through_sql(mechanism: str, seed: int) -> None:
    """n = 40,000; false alarm 1e-9; the mutant forgets the condition."""
    collection = tc.Collection(SCHEMA, 4.0, mechanism=mechanism)
    database = tc.connect()
    database.create(collection)
    source = np.random.default_rng(2)
    age, pay = source.integers(0, 5, 40_000), source.integers(0, 4, 40_000)
    database.load(collection.encode(s={"uid": range(40_000), "age": age, "pay": pay}, rng=insecure_rng(seed)))
    for decoder in ("cover", "rdc"):
        answer = database.sql("SELECT SUM(age) AS s, COUNT(*) AS n FROM s WHERE pay > 1", decoder=decoder)  # type: ignore[arg-type]
        truth = float(age[pay > 1].sum())
        assert_mean(answer["s"].value, truth, answer["s"].error, mutant=float(age.sum()))
        assert answer["s"].error > 0
        assert abs(answer["n"].value - np.count_nonzero(pay > 1)) < 6.11 * answer["n"].error
        assert math.isfinite(database.sql("SELECT AVG(age) AS a FROM s WHERE pay > 1", decoder=decoder)["a"].value)  # type: ignore[arg-type]


@pytest.mark.parametrize("mechanism", BASELINES)
def test_categories_stand_beside_rounded_attributes(mechanism: str) -> None:
    attributes = [tc.Categorical("kind", ["x", "y"]), tc.Ordinal("age", 0, 3, fanout=2)]
    schema = tc.Schema([tc.Service("s", key="uid", attributes=attributes)])
    service = tc.Collection(schema, 1.0, mechanism=mechanism, oracle="lh").contract["s"]
    [derived] = service.derived
    assert derived.source == 1
    functional = Functional.of((2, 4), 0, [0, 1]) * Functional.of((2, 4), 1, [0, 1, 2, 3])
    decoded = Decoder(service, "cover").decode(functional)
    codes = Codes(service, (2, 4))
    for record in itertools.product(range(2), range(4)):
        assert mean(decoded, codes.row(record)) == pytest.approx(functional(record), abs=1e-9)


def test_they_are_for_numbers_of_people_with_one_row() -> None:
    null = tc.Schema([tc.Service("s", key="uid", attributes=[tc.Ordinal("age", 0, 4, null=True)])])
    words = tc.Schema([tc.Service("s", key="uid", attributes=[tc.Categorical("kind", ["x", "y"])])])
    many = tc.Schema([tc.Service("s", key="uid", at_most=3, attributes=[tc.Ordinal("age", 0, 4)])])
    for schema, mechanism in ((null, "ahio"), (words, "ahio"), (many, "ehio"), (many, "srhio")):
        with pytest.raises(LayoutError) as caught:
            tc.Collection(schema, 1.0, mechanism=mechanism)
        assert caught.value.code == "layout-out-of-range"
