"""Typed public columns: what they declare, where it is checked, and the wire format it makes."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import pytest

import tacit as tc
from tacit.errors import RecordError, SchemaError

OS = tc.Public("os", values=["ios", "android"])


def collection(*public: tc.Public) -> tc.Collection:
    service = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 9), *public])
    return tc.Collection(tc.Schema([service]), epsilon=1, mechanism="hio")


@pytest.mark.parametrize(
    ("column", "good", "bad"),
    [
        (OS, ["ios", "android"], ["IOS", "", 1, None, True, b"ios"]),
        (tc.Public("n", values=[1, 2]), [1, 2], [3, 1.0, True, "1", None]),
        (tc.Public("n", type=int), [0, -(2**63), 2**63 - 1], [2**63, 1.0, True, "1", None]),
        (tc.Public("n", type="float"), [0, 0.5, -1e300], [float("nan"), float("inf"), True, "1", 2**63, Decimal(1)]),
        (tc.Public("n", type=str), ["", "é"], ["a\0", "\ud800", 1, None]),
        (tc.Public("n", type=bool), [True, False], [0, 1, "true", None]),
        (tc.Public("n", type=bool, null=True), [True, None], [0]),
        (tc.Public("n"), ["", 1, 0.5, True, None], [datetime.date(2026, 1, 1), [], {}, float("nan"), 2**63, "\0"]),
    ],
)
def test_a_column_accepts_what_it_declares(column: tc.Public, good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if not column.accepts(value)] == []
    assert [value for value in bad if column.accepts(value)] == []


@pytest.mark.parametrize(
    "options",
    [
        {"values": []},
        {"values": "ios"},
        {"values": ["a", "a"]},
        {"values": ["a", 1]},
        {"values": [True]},
        {"values": [2**53]},
        {"values": ["a\0"]},
        {"values": ["a"], "type": str},
        {"type": list},
        {"type": "text"},
        {"type": "int", "null": 1},
        {"null": True},
    ],
)
def test_declarations_that_mean_nothing_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        tc.Public("os", **options)


def test_the_wire_version_is_2_only_with_a_typed_column() -> None:
    assert json.loads(collection(tc.Public("os")).to_json())["tacit"] == 1
    for column in (OS, tc.Public("os", type=str), tc.Public("os", values=["a"], null=True)):
        made = collection(column)
        assert json.loads(made.to_json())["tacit"] == 2
        assert tc.Collection.from_json(made.to_json()) == made
        assert made.schema["users"].public == (column,)


def test_a_file_declares_what_python_does() -> None:
    text = """
        epsilon = 1
mechanism = "hio"
        [[services]]
        name = "users"
        key = "uid"
        attributes = [
            {name = "age", low = 0, high = 9},
            {name = "os", kind = "public", values = ["ios", "android"]},
            {name = "n", kind = "public", type = "int", null = true},
        ]"""
    assert tc.Collection.from_toml(text) == collection(OS, tc.Public("n", type=int, null=True))


def test_diff_names_what_a_public_column_changes() -> None:
    before = collection(OS, tc.Public("n"))
    after = collection(tc.Public("os", values=["ios", "web", "tv"]), tc.Public("n", type=int))
    assert before.diff(after).changes == (
        "users.os: 2 values added, 1 removed",
        "users.n: type None becomes 'int'",
    )


@pytest.mark.parametrize(
    ("column", "good", "bad"),
    [
        (OS, ["ios", "android"], ["canary", "ios"]),
        (OS, ["ios", "ios"], [None, "ios"]),
        (OS, ["ios", "ios"], [7, 8]),
        (tc.Public("os", values=[1, 300]), [1, 300], [1, 44]),
        (tc.Public("os", type=int), [1, 2], [1.5, 2.5]),
        (tc.Public("os", type=float), [1, 2], [True, False]),
        (tc.Public("os", type=bool, null=True), [True, None], ["true", None]),
        (tc.Public("os", type=str), ["a", "b"], ["a\0", "b"]),
    ],
)
def test_tables_are_checked_before_anything_is_drawn(column: tc.Public, good: list[Any], bad: list[Any]) -> None:
    made = collection(column)
    reports = made.encode(users={"uid": [1, 2], "age": [3, 4], "os": good})["users"]
    assert reports.column("os").to_pylist() == good
    with pytest.raises(RecordError) as caught:
        made.encode(users={"uid": [1, 2], "age": [3, 4], "os": bad}, rng=Refusing())
    assert (caught.value.code, caught.value.column) == ("wrong-public", "os")
    assert "canary" not in str(caught.value)


class Refusing:
    """A source of randomness that nothing may be drawn from."""

    sequential = True

    def draws(self, count: int) -> Any:
        message = f"{count} draws were taken."
        raise AssertionError(message)
