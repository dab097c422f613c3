"""Codes are counted alike from reports and from their rollup, also after people were deleted."""

from __future__ import annotations

import numpy as np
import pytest

import tacit as tc
from tacit.model.stored import code_counts

SCHEMA = tc.Schema([tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 15), tc.Ordinal("n", 0, 15)])])


def test_a_rollup_counts_as_the_reports_do_without_people_who_were_deleted() -> None:
    collection, people = tc.Collection(SCHEMA, 2.0, mechanism="pairs"), 40
    database = tc.connect()
    database.create(collection)
    table = {"uid": np.arange(people), "age": np.arange(people) % 16, "n": np.arange(people) % 7}
    database.load(collection.encode(users=table, rng=tc.insecure_rng(1)))
    database.rollup("users", by=[])
    for person in range(0, people, 2):
        database.forget(person)
    [(_, stored)] = database._catalog.newest_round("users")
    plain, rolled = (code_counts(database._engine, stored, rollup=own) for own in (False, True))
    assert plain.keys() == rolled.keys() == {0}
    assert np.array_equal(plain[0], rolled[0])
    assert plain[0][1].sum() == people // 2
    assert database.sql("SELECT COUNT(*) AS c FROM users WHERE age < 8", consistent=True)["c"].value >= 0


@pytest.mark.parametrize("mechanism", ["am(2)", "pairs", "hio", "calm(2)"])
def test_attributes_of_one_value_are_the_same_for_everybody(mechanism: str) -> None:
    attributes = [tc.Categorical("a", [0, 1]), tc.Categorical("one", ["x"]), tc.Ordinal("y", 0, 4)]
    schema = tc.Schema([tc.Service("t", key="uid", attributes=attributes)])
    collection = tc.Collection(schema, 2.0, mechanism=mechanism, users=500)
    rows = {"uid": range(500), "a": [0, 1] * 250, "one": ["x"] * 500, "y": [0, 1, 2, 3, 4] * 100}
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(t=rows, rng=tc.insecure_rng(1)))
    for names, cells in ((["one"], 1), (["a", "one"], 2), (["one", "y", "a"], 10)):
        table = db.marginal(names).to_pandas()
        assert len(table) == cells
        assert table[table.columns[len(names)]].sum() == pytest.approx(500)
    assert set(db.synthesize(20, seed=1)["one"].to_pylist()) == {"x"}
