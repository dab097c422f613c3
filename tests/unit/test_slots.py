"""People with any number of rows: what they send has one shape, and everybody who sends takes part."""

from __future__ import annotations

import pyarrow as pa
import pytest

import tacit as tc
from tacit.errors import RecordError

ORDERS = tc.Service("orders", key="uid", at_most=3, sends=2, attributes=[tc.Ordinal("n", 0, 9)])
CARD = tc.Service("card", key="uid", optional=True, attributes=[tc.Ordinal("n", 0, 9)])
PERSONS = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 9)])


def test_what_a_person_sends_has_one_shape_however_many_rows_she_has() -> None:
    """Number, order, columns, types and size of the reports are the same for everybody, in every service."""
    collection = tc.Collection(tc.Schema([PERSONS, ORDERS, CARD]), 2.0)
    shapes = set()
    for rows in range(6):
        reports = collection.encode(
            users={"uid": [1, 2], "age": [3, 4]},
            orders=pa.table({"uid": pa.array([1] * rows, pa.int64()), "n": pa.array([5] * rows, pa.int64())}),
            card=pa.table({"uid": pa.array([1] * (rows % 2), pa.int64()), "n": pa.array([5] * (rows % 2), pa.int64())}),
        )
        shapes.add(str([(t.schema, t.nbytes, t.drop_columns(["code"]).to_pylist()) for t in reports.values()]))
    assert len(shapes) == 1


def test_people_who_do_not_take_part_are_refused() -> None:
    collection = tc.Collection(tc.Schema([PERSONS, ORDERS]), 2.0)
    users = {"uid": [1, 2], "age": [3, 4]}
    for keys, code in (([1, 9], "people-differ"), (["1", "2"], "wrong-type"), ([1, None], "missing-key")):
        with pytest.raises(RecordError) as caught:
            collection.encode(users=users, orders={"uid": keys, "n": [1, 2]})
        assert caught.value.code == code
    alone = tc.Collection(tc.Schema([ORDERS]), 2.0)
    with pytest.raises(RecordError) as caught:
        alone.encode(orders={"uid": [1], "n": [1]})
    assert caught.value.code == "people-unknown"
    assert alone.encode(orders={"uid": [1], "n": [1]}, people=[1, 2, 3])["orders"].num_rows == 6
    texts = alone.encode(orders={"uid": ["a"], "n": [1]}, people=["a", "b"])["orders"]
    assert texts["uid"].to_pylist() == ["a", "a", "b", "b"]
    with pytest.raises(RecordError) as caught:
        tc.Collection(tc.Schema([PERSONS, CARD]), 2.0).encode(users=users, card={"uid": [1, 1], "n": [1, 2]})
    assert caught.value.code == "duplicate-key"
    with pytest.raises(RecordError) as caught:  # rows that are not drawn are checked, too
        collection.encode(users=users, orders={"uid": [1] * 50, "n": [1] * 49 + [10]})
    assert caught.value.code == "outside-domain"
