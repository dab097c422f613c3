"""From a raw table to a schema: keys, kinds, bounds that outliers do not move, and a table that fits it."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.errors import RecordError, SchemaError, UnknownNameError
from tacit.tables.columns import propose_column
from tacit.tables.naming import allowed_name
from tacit.tables.proposal import propose_services
from tacit.tables.read import as_arrow


def settings(values: Any, name: str = "x") -> dict[str, Any]:
    column = pa.chunked_array([pa.array(values)])
    return propose_column(name, column).settings


def test_one_outlier_does_not_move_the_bounds() -> None:
    pay = [float(i % 50_000) for i in range(100_000)]
    assert (
        settings([*pay, 299_999.0, -1e9])
        == settings(pay)
        == {"low": 0, "high": 50_000, "cells": 100, "outside": "clamp"}
    )


@pytest.mark.parametrize(
    ("name", "values", "low", "high"),
    [
        ("age", range(17, 91), 0, 99),
        ("age", range(1_700, 9_100), 0, 10_000),  # not years of age
        ("hours_per_week", range(1, 80), 0, 99),
        ("x", [-33, 71] * 50, -40, 80),
        ("x", [0.02, 0.93] * 50, 0, 1),
        ("x", range(1990, 2024), 1990, 2025),
        ("answer", [1, 2, 3, 5] * 50, 1, 5),
    ],
)
def test_bounds_are_round_or_known_by_name(name: str, values: Any, low: float, high: float) -> None:
    found = settings(list(values), name)
    assert (found["low"], found["high"]) == (low, high)


@pytest.mark.parametrize(
    ("values", "why"), [([2**60 + i for i in range(100)], "2^53"), ([1.0, math.inf] * 100, "infinite")]
)
def test_numbers_that_no_bounds_contain_are_left_out(values: Any, why: str) -> None:
    proposed = propose_column("x", pa.chunked_array([pa.array(values)]))
    assert not proposed.settings
    assert why in proposed.left_out


def test_rare_texts_are_not_listed_and_many_texts_are_left_out() -> None:
    assert settings(["a"] * 500 + ["b"] * 500 + ["Ms Unique"]) == {
        "kind": "categorical",
        "values": ["a", "b"],
        "other": "other",
    }
    assert propose_column("x", pa.chunked_array([[f"text {i}" for i in range(900)]])).left_out
    assert propose_column("x", pa.chunked_array([["a"] * 900])).left_out == "it is the same in all rows"
    assert settings([None, "a"] * 50) == {"kind": "categorical", "values": ["a"], "null": True}
    assert settings([math.nan, 3.0] * 50)["null"]


def test_numbers_that_identify_are_categories() -> None:
    zones = [zone for zone in range(100) for _ in range(100 - zone)]
    found = settings(zones, "zone_id")
    assert found["kind"] == "categorical"
    assert len(found["values"]) == 63
    assert found["other"] == "other"
    assert "14 % of the rows" in propose_column("zone_id", pa.chunked_array([zones])).hint
    assert settings(zones, "zones")["high"] == 100
    assert settings([10, 2, 1] * 50, "payment_type") == {"kind": "categorical", "values": [1, 2, 10]}


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["Agree", "Disagree", "Neutral", "Strongly agree"], ["Disagree", "Neutral", "Agree", "Strongly agree"]),
        (["good", "poor", "excellent"], ["poor", "good", "excellent"]),
        (["L", "S", "M"], ["S", "M", "L"]),
        (["55+", "5-17", "18-54", "<5"], ["<5", "5-17", "18-54", "55+"]),
        (["agree", "disagree"], None),  # two have no telling order
        (["agree", "disagree", "no answer"], None),
        (["12", "7", "100"], None),  # codes
        (["10-20", "10-30", "40-50"], None),
    ],
)
def test_scales_are_in_order(texts: list[str], values: list[str] | None) -> None:
    found = settings(texts * 50)
    assert found == {"kind": "categorical"} | (
        {"values": sorted(texts)} if values is None else {"values": values, "ordered": True}
    )


def test_lists_of_choices_are_pointed_out() -> None:
    choices = ["web", "ios", "ios;web", "api;ios", "api;ios;web", "api"]
    assert "split them at ';'" in propose_column("x", pa.chunked_array([choices * 50])).hint
    assert "split" not in propose_column("x", pa.chunked_array([["a;b", "c;d", "e;f"] * 50])).hint


def test_small_tables_tell_nothing_of_their_extremes() -> None:
    small = propose_column("pay", pa.chunked_array([[17.25, 12_345.75] * 50]))
    assert "17" not in small.hint
    assert "12" not in small.hint
    assert "17.12 and 12,346" in propose_column("pay", pa.chunked_array([[17.125, 12_345.75] * 1_500])).hint


def test_dates_take_whole_years() -> None:
    days = [datetime.date(2024, 3, 1) + datetime.timedelta(days=i % 300) for i in range(1_000)]
    found = settings([*days, datetime.date(2008, 12, 31)])
    assert (found["low"], found["high"]) == (datetime.date(2024, 1, 1), datetime.date(2024, 12, 31))


def test_keys_are_found() -> None:
    users = {"uid": list(range(100)), "age": [31, 47] * 50}
    orders = {"uid": [i // 3 for i in range(300)], "amount": [5, 9, 20] * 100}
    [first, second] = propose_services({"orders": orders, "users": users})
    assert (first.name, first.key, first.at_most) == ("users", "uid", None)
    assert (second.name, second.key, second.at_most, second.people) == ("orders", "uid", 3, 100)
    [alone] = propose_services({"trips": {"zone_id": [1, 2] * 50, "fare": [5, 9] * 50}})
    assert alone.key == "row_number"
    [told] = propose_services({"trips": {"zone_id": [1, 2] * 50, "fare": [5, 9] * 50}}, key="zone_id")
    assert (told.key, told.people) == ("zone_id", 2)
    with pytest.raises(UnknownNameError):
        propose_services({"trips": {"fare": [1, 2]}}, key="uid")
    with pytest.raises(SchemaError):
        propose_services({"trips": {"uid": [1, 2], "path": [[1], [2]]}})


def test_names_become_names_that_sql_allows() -> None:
    assert allowed_name("Hours per week") == "Hours_per_week"
    schema = tc.Schema.from_table({"Hours per week": [31, 47] * 50, "code": ["a", "b"] * 50})
    assert [a.name for a in schema["users"].attributes] == ["Hours_per_week", "code_"]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    lines = ["name,Age,town,pay"]
    for age, town, pay in zip(rng.integers(18, 80, 4_000), rng.integers(0, 3, 4_000), rng.random(4_000), strict=True):
        lines.append(f"{'ab'[age % 2]},{age if age != 40 else ''},{('Oslo', 'Bergen', '')[town]},{pay:.3f}")
    (tmp_path / "people.csv").write_text("\n".join(lines))
    return tmp_path / "people.csv"


def test_a_file_is_declared_prepared_and_encoded(people: Path) -> None:
    schema = tc.Schema.from_table(users=people)
    assert [(a.name, a.null) for a in schema["users"].attributes if a.name in ("Age", "town")] == [
        ("Age", True),
        ("town", True),
    ]
    collection = tc.Collection(schema, epsilon=4)
    with pytest.raises(RecordError):  # without preparation the table has no key
        collection.encode(users=people)
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(**collection.prepare(users=people), rng=tc.insecure_rng(3)))
    assert db.sql("SELECT COUNT(*) AS n FROM users")["n"].value == pytest.approx(4_000)


def test_rows_without_a_key_belong_to_nobody_and_the_others_take_part() -> None:
    lines = {"customer_id": [1, 1, 2, None, 3] * 20, "price": [1.5, 2.5, 3.5, 4.5, 5.5] * 20, "text": ["x"] * 100}
    collection = tc.Collection(tc.Schema.from_table(lines=lines), epsilon=2)
    made = collection.prepare(lines=lines)
    assert sorted(made["people"].to_pylist()) == [1, 2, 3]
    assert made["lines"].num_rows == 80
    assert collection.encode(**made)["lines"].num_rows == 3


@pytest.mark.parametrize("ending", ["jsonl", "ndjson"])
def test_json_lines_are_read(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    path.write_text(
        "\n".join(json.dumps({"uid": i, "age": 20 + i % 40, "town": "Oslo" if i % 2 else None}) for i in range(90))
    )
    assert tc.Schema.from_table(users=path)["users"].attributes[1].null
    with pytest.raises(RecordError):
        as_arrow("users", tmp_path / "t.xml")


def test_keys_stored_as_decimal_numbers_are_pointed_out() -> None:
    """Each row would be a person of its own, and a person with many rows would report many times."""
    table = {"customer_id": [float(i % 100) for i in range(400)], "age": [20 + i % 40 for i in range(400)]}
    [service] = propose_services({"visits": table})
    assert service.key == "row_number"
    assert any("customer_id may be the key" in note and "decimal point" in note for note in service.notes)
    assert "looks like an identifier" in service.columns[0].left_out
    with_fractions = propose_column("order_id", pa.chunked_array([[i + 0.5 for i in range(300)]]))
    assert with_fractions.settings
    assert propose_column("status", pa.chunked_array([[float(i % 5) for i in range(300)]])).settings


@pytest.mark.parametrize("text", ["{}%", "{} %", "${},000.50", "€{}", "{},5 €", "-{},000", "({}%)", "1'000.{} $"])
def test_numbers_with_signs_are_pointed_out(text: str) -> None:
    many = propose_column("rate", pa.chunked_array([[text.format(100 + i) for i in range(300)]]))
    assert "write plain numbers" in many.left_out
    few = propose_column("rate", pa.chunked_array([[text.format(100 + i % 5) for i in range(300)]]))
    assert "write plain numbers" in few.hint
    assert few.settings["kind"] == "categorical"


@pytest.mark.parametrize("text", ["01{}", "192.168.100.{}", "555 123 {}", "a{}%", "2026-01-{}"])
def test_other_texts_of_digits_are_not_numbers(text: str) -> None:
    assert (
        "plain numbers"
        not in propose_column("t", pa.chunked_array([[text.format(100 + i) for i in range(300)]])).left_out
    )
