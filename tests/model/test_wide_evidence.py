"""Views of very many cells are read margin by margin: the same tables, in seconds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tacit as tc
from tacit.contract.oracles import Oracle
from tacit.model import reports as reports_module
from tacit.model.evidence import NoisyTable, observe
from tacit.model.reports import Reports, model_of

SIZES = (12, 9, 30, 4)


def encoded(people: int) -> tuple[tc.Collection, tc.Database]:
    source = np.random.default_rng(3)
    attributes = [tc.Ordinal(f"a{i}", low=0, high=size - 1) for i, size in enumerate(SIZES)]
    schema = tc.Schema([tc.Service("t", key="uid", attributes=[*attributes, tc.Public("os")])])
    collection = tc.Collection(schema, 4.0, mechanism="hio", users=people)
    values = {f"a{i}": source.integers(0, size, people) for i, size in enumerate(SIZES)}
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(t={"uid": np.arange(people), "os": np.arange(people) % 2, **values}))
    return collection, db


def test_margins_of_wide_views_are_those_of_their_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """With public classes and without; sums over people differ by rounding alone."""
    people = 4_000
    collection, _ = encoded(1)
    contract = collection.contract["t"]
    source = np.random.default_rng(5)
    codes = source.integers(0, contract.channels[0].alphabet, people)
    group = source.integers(0, 2, people)
    sent = Reports((contract,), (np.zeros(people, np.int64),), (codes,), np.ones(people, np.int64), group)

    def evidence(slow: int) -> list[NoisyTable]:
        monkeypatch.setattr(reports_module, "SLOW", slow)
        return list(model_of([sent], 2).evidence)

    whole, margins = evidence(2**62), evidence(0)
    assert any(callable(table.shares) for table in margins)
    assert not any(callable(table.shares) for table in whole)
    sizes = [*SIZES, 2]
    for count in (1, 2, 3):
        for face in itertools.combinations(range(len(sizes)), count):
            fine = [np.arange(sizes[i]) // (2 if i == 2 else 1) for i in face]
            even = [np.full(sizes[i], 1 / sizes[i]) for i in face]
            left, right = observe(whole, face, fine, even), observe(margins, face, fine, even)
            assert np.allclose(left.value, right.value, rtol=1e-10, atol=1e-12), face
            assert np.allclose(left.weight, right.weight, rtol=1e-12), face


def test_fitted_answers_never_make_a_table_of_all_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each code was looked up in millions of cells: four attributes had no answer in 28 s."""
    _, db = encoded(20_000)
    decode = reports_module.decode_frequencies

    def checked(oracle: Oracle, codes: np.ndarray, times: np.ndarray) -> np.ndarray:
        assert len(oracle.sizes) < 3 or oracle.tally_work(len(codes)) <= 2**20, "this makes a table of a wide view"
        return decode(oracle, codes, times)

    monkeypatch.setattr(reports_module, "decode_frequencies", checked)
    question = "SELECT a1, COUNT(*) AS n FROM t WHERE a0 < 6 AND a2 > 10 GROUP BY a1"
    fitted = db.sql(question, consistent=True)
    assert sum(estimate.value for estimate in fitted["n"]) == pytest.approx(20_000 * 6 / 12 * 19 / 30, rel=0.5)
