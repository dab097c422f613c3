"""Views of very many cells: read code by code, without tables of their cells, and equal to what tables give."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit as tc
from tacit.answers import answer_cache, code_cache, code_sums, moments
from tacit.contract.oracles import LinearHash, Oracle, hash_sums
from tacit.estimate import batch as batch_module
from tacit.estimate import blocks, reading, tallies, term_batch
from tacit.estimate.batch import FunctionalBatch, batch_of
from tacit.estimate.blocks import totals_of
from tacit.estimate.decoder import Decoder
from tacit.estimate.tallies import Tallies
from unit.test_batch import ATTRIBUTES, KINDS, random_functionals


@pytest.mark.parametrize("bound", [Fraction(3, 2), Fraction(12), Fraction(30)])  # g is 3, 13 and 31
@pytest.mark.parametrize("sizes", [(40,), (40, 3), (6, 40, 3), (4, 3, 5, 7)])
def test_sums_of_wide_attributes(
    sizes: tuple[int, ...], bound: Fraction, source: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle = LinearHash.build(sizes, bound)
    codes = np.unique(np.append(source.integers(0, oracle.alphabet, 200), 0))
    axes = [
        np.concatenate([np.eye(size)[:2], 0.5 + np.eye(size)[-1:], source.normal(size=(2, size))]) for size in sizes
    ]
    picks = source.integers(0, 5, (30, len(sizes)))
    vectors = [source.normal(size=size) for size in sizes]
    for wide in (3, 2**12):
        monkeypatch.setattr(hash_sums, "WIDE", wide)
        right = Oracle.reader(oracle, codes)(axes, picks)
        assert np.allclose(oracle.reader(codes)(axes, picks), right, rtol=0, atol=1e-10 * np.abs(right).max())
        for axis in (None, *range(len(sizes))):
            right = Oracle.margins(oracle, axis, vectors, codes)
            made = oracle.margins(axis, vectors, codes)
            assert np.allclose(made, right, rtol=0, atol=1e-10 * np.abs(right).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("mechanism", "most"), [("hio", 3), ("pairs", 2), ("partitions", 2)])
def test_codes_one_by_one_and_margins_give_what_tables_give(
    mechanism: str, most: int, kind: str, source: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = tc.Schema([tc.Service("u", key="uid", attributes=ATTRIBUTES, **KINDS[kind])])  # type: ignore[arg-type]
    service = tc.Collection(schema, 4.0, mechanism=mechanism, users=100_000).contract["u"]
    decoder, channel = Decoder(service), service.channels[0]
    functionals = random_functionals(service, most, source)
    codes = np.unique(source.integers(0, channel.alphabet, 2_000))
    weights = source.normal(size=len(codes))
    totals = []
    ways = ((2**40, 2**40, 0), (2**40, 0, 0), (3, 0, 0), (2**40, 0, 2**40), (3, 0, 2**40))
    for most_cells, most_work, of_functional in ways:  # tables; codes one by one; margins
        monkeypatch.setattr(tallies, "MOST_WORK", most_work)
        monkeypatch.setattr(tallies, "WORK_OF_CODE", most_work)
        monkeypatch.setattr(term_batch, "CELLS_OF_FUNCTIONAL", of_functional)
        monkeypatch.setattr(blocks, "MOST_CELLS", most_cells)
        blocks._layout.cache_clear()
        batch = batch_of(decoder, functionals)
        assert batch is not None
        totals.append(totals_of(batch, Tallies(channel, codes, weights)))
    blocks._layout.cache_clear()
    for by_code in totals[1:]:
        assert np.allclose(by_code, totals[0], rtol=1e-9, atol=1e-9 * np.abs(totals[0]).max())


def test_bounds_of_very_many_cells_are_wider_at_most(
    source: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = tc.Schema([tc.Service("u", key="uid", attributes=ATTRIBUTES)])
    service = tc.Collection(schema, 1.0, mechanism="fc").contract["u"]
    products = [[source.normal(size=size) for size in (12, 9, 5)] for _ in range(2)]
    for own, is_equal in ((products[:1], True), (products, False)):
        read = reading.Reading(service.channels[0], {0: own})
        monkeypatch.setattr(reading, "MATRIX_CELLS", 2**24)
        low, high = reading.view_bounds(read)
        monkeypatch.setattr(reading, "MATRIX_CELLS", 1)
        lowest, highest = reading.view_bounds(read)
        if is_equal:
            assert math.isclose(low, lowest, rel_tol=1e-9)
            assert math.isclose(high, highest, rel_tol=1e-9)
        assert lowest <= low * (1 - 1e-9)
        assert highest >= high * (1 - 1e-9)


def test_one_of_a_hundred_thousand_values(tmp_path: Path) -> None:
    """A table of codes x cells would take gigabytes, and the maximum shift 66 GiB."""
    words = [f"w{i:06d}" for i in range(100_000)]
    (tmp_path / "words.txt").write_text("".join(f"{word}\n" for word in words))
    word = tc.Categorical("word", dictionary=tmp_path / "words.txt")
    collection = tc.Collection(tc.Schema([tc.Service("u", key="uid", attributes=[word])]), 2.0)
    db = tc.connect()
    db.create(collection)
    people = {"uid": range(3_000), "word": ["w000007"] * 1_000 + words[:2_000]}
    db.load(collection.encode(u=people, rng=tc.insecure_rng(7)))
    start = time.process_time()
    answer = db.sql("SELECT COUNT(*) AS people FROM u WHERE word = 'w000007'")
    assert "max_shift" in answer.to_json()
    assert time.process_time() - start < 3.0
    assert abs(answer["people"].value - 1_001) < 5 * answer["people"].error


@pytest.fixture(scope="module")
def four() -> tc.Database:
    """Return a database of 20,000 people with four attributes."""
    attributes = [
        tc.Ordinal("age", 0, 99),
        tc.Ordinal("hours", 0, 49),
        tc.Categorical("state", [f"s{i}" for i in range(10)]),
        tc.Ordinal("visits", 0, 24),
    ]
    collection = tc.Collection(tc.Schema([tc.Service("u", key="uid", attributes=attributes)]), 4.0, mechanism="hio")
    source = np.random.default_rng(5)
    people = {
        "uid": range(20_000),
        "age": source.integers(0, 100, 20_000),
        "hours": source.integers(0, 50, 20_000),
        "state": [f"s{i % 10}" for i in range(20_000)],
        "visits": source.integers(0, 25, 20_000),
    }
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(u=people, rng=tc.insecure_rng(7)))
    return db


def test_groups_of_four_attributes_under_hio(four: tc.Database) -> None:
    """Tables of all views would visit two billion cells; decoding each total at each code took 16 seconds."""
    start = time.process_time()
    answer = four.sql("SELECT state, CORR(age, hours) AS r, COUNT(*) AS people FROM u GROUP BY state")
    assert time.process_time() - start < 5.0
    assert all(abs(row[2].value - 2_000) < 5 * row[2].error for row in answer.rows)


@pytest.mark.parametrize("sampled", [2**10, 2**18])
def test_errors_are_the_same_where_contributions_are_kept(
    four: tc.Database, sampled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What totals have read of codes is not read again for their squares, be they all codes of a view or some."""
    monkeypatch.setattr(answer_cache, "MOST_CELLS", 0)
    monkeypatch.setattr(code_cache, "MOST_BYTES", 0)
    monkeypatch.setattr(code_sums, "SAMPLED_BY_CODE", sampled)
    monkeypatch.setattr(code_sums, "SAMPLED", 2**10)
    question = "SELECT COUNT(*) AS n, SUM(age) AS a, SUM(age * hours) AS r FROM u WHERE state = 's1' AND visits < 9"
    taken = []
    take = FunctionalBatch.take_contributions

    def noted(*given: Any) -> Any:
        values = take(*given)
        taken.append(values is not None)
        return values

    monkeypatch.setattr(FunctionalBatch, "take_contributions", noted)
    [kept] = four.sql(question).rows
    assert any(taken)
    monkeypatch.setattr(batch_module, "VALUES_KEPT", 0)
    taken.clear()
    [anew] = four.sql(question).rows
    assert not any(taken)
    for cell, other in zip(kept, anew, strict=True):
        assert math.isclose(cell.value, other.value, rel_tol=1e-6)
        assert math.isclose(cell.error, other.error, rel_tol=1e-5)


def test_products_of_pairs_are_the_same_by_matrices(four: tc.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "MOST_CELLS", 0)
    question = "SELECT CORR(age, hours) AS r, STDDEV(age) AS s, MEDIAN(hours) AS m FROM u"
    turns: list[int] = []
    with_pairs = moments._Batch._with_pairs

    def counted(*given: Any) -> Any:
        turns.append(1)
        return with_pairs(*given)

    monkeypatch.setattr(moments._Batch, "_with_pairs", counted)
    monkeypatch.setattr(moments, "MANY_PAIRS", 1)
    [by_matrices] = four.sql(question).rows
    assert turns
    turns.clear()
    monkeypatch.setattr(moments, "FEW_WEIGHTS", 0)
    [by_pairs] = four.sql(question).rows
    assert not turns
    for cell, other in zip(by_matrices, by_pairs, strict=True):
        assert [cell.value, cell.error, cell.low, cell.high] == pytest.approx(
            [other.value, other.error, other.low, other.high], rel=1e-5
        )
