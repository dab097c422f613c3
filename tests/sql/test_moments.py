"""Constant dates and times in questions, and the current time, which is the start of the hour (UTC)."""

from __future__ import annotations

import datetime

import pytest

import tacit as tc
from support.corpora import EVENTS, events_tables
from tacit.errors import TacitError
from tacit.sql import moments
from tacit.testing import identity_collection, reveal

COUNT = "SELECT COUNT(*) AS n FROM events WHERE "


@pytest.fixture(scope="module")
def database() -> tc.Database:
    collection = identity_collection(EVENTS)
    made = tc.connect()
    made.create(collection)
    made.load(reveal(collection, **events_tables()))
    return made


@pytest.fixture
def at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return datetime.datetime(2026, 11, 3, 12, 34, 56, tzinfo=tz)

    monkeypatch.setattr(moments.datetime, "datetime", Clock)


SAME = [
    ("ts >= now() - interval '6 hours'", "ts >= '2026-11-03T06'"),
    ("ts >= CURRENT_TIMESTAMP - INTERVAL '1 day' AND ts < now()", "ts >= '2026-11-02T12' AND ts < '2026-11-03T12'"),
    ("day >= CURRENT_DATE - 1", "day >= '2026-11-02'"),
    ("day < DATE_TRUNC('day', (NOW() + (INTERVAL '3 day')))", "day < '2026-11-06'"),
    (
        "day >= DATE_TRUNC('day', DATE_TRUNC('day', CURRENT_TIMESTAMP AT TIME ZONE 'UTC') + (-1 || ' day')::INTERVAL)",
        "day >= '2026-11-02'",
    ),
]


@pytest.mark.usefixtures("at_noon")
@pytest.mark.parametrize(("named", "written"), SAME)
def test_the_current_time_is_the_start_of_the_hour_and_a_note_says_so(
    database: tc.Database, named: str, written: str
) -> None:
    first, second = database.sql(COUNT + named), database.sql(COUNT + written)
    assert first["n"].value == pytest.approx(second["n"].value)
    assert 0 < second["n"].value <= 2_000
    assert any("the current time was read as 2026-11-03 12:00" in note for note in first.notes)
    assert not any("current time" in note for note in second.notes)


def test_answers_that_name_the_time_are_kept_for_an_hour(
    database: tc.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = []
    for hour in (1, 1, 5):
        clock = datetime.datetime.combine(datetime.date(2026, 11, 3), datetime.time(hour))
        for module in ("tacit.database", "tacit.answers.answer_cache"):
            monkeypatch.setattr(f"{module}.clock_for", lambda text, clock=clock: clock if "now" in text else None)
        values.append(database.sql(COUNT + "ts < now()")["n"].value)
    assert values[0] == values[1] < values[2]


def test_designs_and_predictions_have_no_clock() -> None:
    day = tc.Date("day", "2026-11-02", "2026-11-09")
    collection = tc.Collection(tc.Schema([tc.Service("events", key="device", attributes=[day])]), epsilon=2.0)
    with pytest.raises(TacitError, match="must not depend on the current time") as caught:
        collection.predict(COUNT + "day >= CURRENT_DATE - 1", users=1_000)
    assert caught.value.code == "unsupported-condition"


@pytest.mark.parametrize(
    "condition",
    ["ts > '2026-11-03 10:30:00'", "ts <= '2026-11-03 10:59:58'", "ts = '2026-11-03 10:59:59'", "ts < 'soon'"],
)
def test_times_within_an_hour_are_refused(database: tc.Database, condition: str) -> None:
    with pytest.raises(TacitError, match="was collected by the hour") as caught:
        database.sql(COUNT + condition)
    assert caught.value.code == "wrong-constant"


def test_a_date_of_an_hour_is_one_group_per_day(database: tc.Database) -> None:
    days = database.sql("SELECT CAST(ts AS DATE) AS d, COUNT(*) AS n FROM events GROUP BY 1")
    assert [row[0] for row in days] == [datetime.date(2026, 11, 2), datetime.date(2026, 11, 3)]
