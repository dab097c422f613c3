"""Booleans, dates, times, choices and places: what they declare, what records hold, and what questions ask."""

from __future__ import annotations

import datetime
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tacit as tc
from tacit.client.record import BIAS, AttributeEncoder
from tacit.client.scalars import plain_scalar
from tacit.contract.files import attribute_data, read_attribute
from tacit.encode.values import reader_of
from tacit.errors import BindError, RecordError, SchemaError
from tacit.testing import identity_collection, reveal

MONTH = tc.Date("month", "2026-10-05", "2026-12-01", unit="month")
HOUR = tc.Timestamp("at", "2026-11-02", "2026-11-03T23:59", unit="hour")
WEEK = tc.Date("week", "2026-10-20", "2026-11-30", unit="week", null=True)
SMOKER = tc.Boolean("smoker", null=True)
NOON = datetime.datetime(2026, 11, 2, 12, 30)


def test_what_they_declare() -> None:
    assert MONTH.values == ("2026-10", "2026-11", "2026-12")
    assert (HOUR.values[0], HOUR.values[-1], HOUR.size) == ("2026-11-02T00", "2026-11-03T23", 48)
    assert (str(WEEK.low), str(WEEK.high), WEEK.cells) == ("2026-10-19", "2026-12-06", 7)
    assert read_attribute({"name": "smoker", "kind": "boolean", "null": True}) == SMOKER
    for one in (MONTH, HOUR, WEEK, SMOKER):
        assert read_attribute(attribute_data(one)) == one
    assert tc.Date("day", "2026-01-01", "2026-12-31") == tc.Ordinal(
        "day", datetime.date(2026, 1, 1), datetime.date(2026, 12, 31)
    )
    assert (
        read_attribute({"name": "m", "kind": "date", "low": "2026-10-05", "high": "2026-12-01", "unit": "month"}).size
        == 3
    )


@pytest.mark.parametrize(
    ("attribute", "value", "index"),
    [
        (SMOKER, True, 1),
        (SMOKER, "false", 0),
        (SMOKER, np.bool_(True), 1),
        (SMOKER, None, 2),
        (MONTH, datetime.date(2026, 11, 30), 1),
        (MONTH, NOON, 1),
        (MONTH, "2026-12", 2),
        (HOUR, NOON, 12),
        (HOUR, np.datetime64("2026-11-03T01:59"), 25),
        (WEEK, datetime.date(2026, 10, 25), 0),
        (WEEK, datetime.date(2026, 10, 26), 1),
    ],
)
def test_client_and_encoder_read_the_same_value(attribute: Any, value: Any, index: int) -> None:
    reader = reader_of("users", attribute)
    column = pa.array([plain_scalar(value)])
    if value is None:
        column = pa.array([None], pa.bool_())
    [found] = reader.values(*reader.positions(column, 0), None)
    assert found == index
    collection = tc.Collection(tc.Schema([tc.Service("users", "uid", [attribute])]), epsilon=2)
    service = json.loads(collection.to_json())["services"][0]
    client = AttributeEncoder("users", service["attributes"][0] | service["levels"][0])
    assert client.index(client.read({attribute.name: plain_scalar(value)}), 0) - BIAS == index


@pytest.mark.parametrize(
    ("attribute", "value", "code"),
    [
        (SMOKER, 1, "wrong-type"),
        (tc.Boolean("smoker"), None, "missing-value"),
        (MONTH, datetime.date(2027, 1, 1), "unknown-category"),
        (HOUR, datetime.date(2026, 11, 2), "wrong-type"),
        (HOUR, NOON.replace(tzinfo=datetime.UTC), "wrong-type"),
    ],
)
def test_other_values_are_refused(attribute: Any, value: Any, code: str) -> None:
    with pytest.raises(RecordError) as caught:
        reader_of("users", attribute).positions(pa.array([value]), 0)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "declare",
    [
        lambda: tc.Date("d", "2026-13-01", "2026-12-31"),
        lambda: tc.Date("d", "2026-02-01", "2026-01-01"),
        lambda: tc.Date("d", "2026-01-01", "2026-02-01", unit="year"),  # type: ignore[arg-type]
        lambda: tc.Date("d", "2026-01-05", "2026-01-06", unit="week"),
        lambda: tc.Timestamp("t", "2000-01-01", "2026-01-01", unit="hour"),
        lambda: tc.Timestamp("t", NOON.replace(tzinfo=datetime.UTC), NOON, unit="hour"),
        lambda: tc.Timestamp("t", "2026-01-01", "2026-01-02", unit="hour", outside="clamp"),
        lambda: tc.Place("p", south=1, west=1, north=1, east=2),
        lambda: tc.Place("p", south=1, west=1, north=2, east=2, cells=100),
        lambda: tc.Timestamp("t", "2026-01-01", "2026-01-02", unit="minute"),  # type: ignore[arg-type]
    ],
)
def test_declarations_that_make_no_sense_are_refused(declare: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        declare()
    assert caught.value.message.endswith(".")


@pytest.fixture(scope="module")
def db() -> tc.Database:
    """Two hundred people, asked without noise."""
    home = tc.Place("home", south=59, west=10, north=60, east=12, cells=4)
    users = tc.Service("users", "uid", [SMOKER, MONTH, HOUR, WEEK, *home])
    likes = tc.Choices("likes", key="uid", values=["tea", "coffee", "milk"], at_most=2)
    collection = identity_collection(tc.Schema([users, likes]))
    times = [NOON + datetime.timedelta(minutes=7 * i) for i in range(200)]
    table = {
        "uid": list(range(200)),
        "smoker": [None if i % 10 == 0 else i % 4 == 1 for i in range(200)],
        "month": times,
        "at": times,
        "week": times,
        "home_lat": [59 + i / 200 for i in range(200)],
        "home_lon": [10 + i / 100 for i in range(200)],
        "not declared": ["x"] * 200,
    }
    chosen = {"uid": list(range(200)), "likes": [["tea", "milk"][: i % 3] for i in range(200)]}
    made = tc.connect()
    made.create(collection)
    made.load(reveal(collection, **collection.prepare(users=table, likes=chosen)))
    return made


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("SELECT COUNT(*) AS n FROM users WHERE smoker", 50),
        ("SELECT COUNT(*) AS n FROM users WHERE NOT smoker", 130),
        ("SELECT COUNT(*) AS n FROM users WHERE smoker = TRUE", 50),
        ("SELECT COUNT(*) AS n FROM users WHERE smoker IS NULL", 20),
        ("SELECT COUNT(*) AS n FROM users WHERE smoker OR at < '2026-11-02T13'", 54),
        ("SELECT COUNT(*) AS n FROM users WHERE month >= '2026-11'", 200),
        ("SELECT COUNT(*) AS n FROM users WHERE month < DATE '2026-11-01'", 0),
        ("SELECT COUNT(*) AS n FROM users WHERE at < '2026-11-03 00:00:00'", 99),
        ("SELECT COUNT(*) AS n FROM users WHERE at BETWEEN '2026-11-02T13' AND '2026-11-02T14'", 17),
        ("SELECT COUNT(*) AS n FROM users WHERE week >= '2026-11-02' AND week <= '2026-11-08'", 200),
        ("SELECT COUNT(*) AS n FROM users WHERE home_lat < 59.5", 100),
    ],
)
def test_questions_about_them(db: tc.Database, question: str, expected: int) -> None:
    assert db.sql(question)["n"].value == pytest.approx(expected, abs=1e-6)


def test_groups_are_shown_as_declared(db: tc.Database) -> None:
    assert dict(db.sql("SELECT smoker, COUNT(*) AS n FROM users GROUP BY smoker").rows).keys() == {False, True, None}
    weeks = [row[0] for row in db.sql("SELECT week, COUNT(*) AS n FROM users GROUP BY week").rows]
    assert weeks[2] == datetime.date(2026, 11, 2)
    for wrong in ("at > 'x'", "month = '2026-11-15'", "at = 5"):
        with pytest.raises(BindError):
            db.sql(f"SELECT COUNT(*) AS n FROM users WHERE {wrong}")


def test_booleans_need_no_new_version_and_months_say_that_they_are_ordered() -> None:
    for attribute, version in ((SMOKER, 1), (MONTH, 2)):
        schema = tc.Schema([tc.Service("users", "uid", [attribute])])
        assert f'"tacit": {version}' in tc.Collection(schema, epsilon=2, mechanism="hio").to_json()


@pytest.mark.parametrize(
    "attribute",
    [
        tc.Place("home", south=59, west=10, north=60, east=11)[0],
        tc.Ordinal("x", 0, "0.00001", step="0.0000001"),
        tc.Ordinal("x", 0, 1e-5, step=1e-7),
        tc.Ordinal("x", 0, f"0.{'0' * 38}10", step=f"0.{'0' * 38}01"),
    ],
)
def test_small_steps_are_written_as_contracts_write_them(attribute: tc.Ordinal, tmp_path: Path) -> None:
    """Python writes decimals below 0.000001 with an exponent, which every validator refuses, ours too."""
    made = tc.Collection(tc.Schema([tc.Service("s", key="uid", attributes=[attribute])]), 2.0)
    assert tc.Collection.from_json(made.to_json()).id == made.id
    with closing(tc.connect(tmp_path / "d.tacit")) as database:
        database.create(made)
    with closing(tc.connect(tmp_path / "d.tacit")) as database:
        assert [one.id for one in database.collections] == [made.id]


def test_bounds_have_at_most_forty_places() -> None:
    with pytest.raises(tc.TacitError, match="40 places") as refused:
        tc.Ordinal("x", 0, f"0.{'0' * 39}10", step=f"0.{'0' * 39}01")
    assert refused.value.code == "bad-bound"
