"""Snapshots: answers advance by whole crowds, also after crashes, rebuilds and deletions; else nothing is claimed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from support.collectors import COLLECTION, reports_of
from support.engines import postgres_address
from tacit.errors import UsageError
from tacit.server.collector import Collector

COUNT = "SELECT COUNT(*) AS n FROM users"
JOINED = "SELECT COUNT(*) AS n FROM users JOIN orders USING (uid)"


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "sqlite":
        yield ""
        return
    with postgres_address() as address:
        yield address


def send(collector: Collector, reports: list[dict[str, Any]]) -> None:
    statuses = collector.accept(COLLECTION.id, reports).result()
    assert {one["status"] for one in statuses} == {"stored"}


def opened(folder: Path, store: str = "", snapshot: int | None = None) -> Collector:
    collector = Collector(folder, store, snapshot=snapshot)
    collector.publish(COLLECTION)
    return collector


def counted(collector: Collector) -> float:
    try:
        return float(collector.query(COUNT)["n"].value)
    except tc.TacitError:
        return 0.0


def crowd(collector: Collector) -> tuple[int, str]:
    privacy = collector.query(COUNT).privacy
    assert privacy is not None
    reason = privacy.central.reason
    return privacy.central.people, "" if "too few" in reason else reason


def test_nobody_is_counted_before_enough_people_have_sent_everything(store: str, tmp_path: Path) -> None:
    with closing(opened(tmp_path, store, snapshot=50)) as collector:
        first = reports_of(0, 60)
        send(collector, [one for one in first if one["service"] == "users"])
        assert counted(collector) == 0, "everybody lacks the other service"
        later = [one for one in first if one["service"] == "orders"]
        send(collector, [one for one in later if int(one["person"][2:]) < 49])
        assert counted(collector) == 0, "49 people are not 50"
        send(collector, [one for one in later if int(one["person"][2:]) >= 49])
        assert counted(collector) == 60
        send(collector, reports_of(60, 49))
        assert counted(collector) == 60
        send(collector, reports_of(109, 1))
        assert counted(collector) == 110
        assert collector.query(JOINED)["n"].value >= 0
        assert crowd(collector)[0] == 25, "50 people came at once, 25 of each os"
        mark = collector.query(COUNT).watermark
        assert mark is not None
        assert mark.acknowledged == mark.counted


def test_the_setting_is_kept_and_rebuilding_counts_the_same_people(tmp_path: Path) -> None:
    with closing(opened(tmp_path, snapshot=40)) as collector:
        send(collector, reports_of(0, 50))
        assert counted(collector) == 50
        send(collector, reports_of(50, 10))
        assert counted(collector) == 50
    (tmp_path / "reports.tacit").unlink()
    with closing(opened(tmp_path)) as again:
        assert again.snapshots.least == 40
        assert counted(again) == 50, "neither fewer than before, nor the ten who wait"
        send(again, reports_of(60, 30))
        assert counted(again) == 90
        assert crowd(again) == (20, "")


def test_a_crash_after_a_snapshot_was_remembered_counts_it_whole(tmp_path: Path) -> None:
    with closing(opened(tmp_path, snapshot=40)) as collector, collector.still():
        send(collector, reports_of(0, 40))
        batch = collector.snapshots.next(COLLECTION)  # remembered, and then nothing is moved
        assert batch is not None
        send(collector, reports_of(40, 5))
    with closing(opened(tmp_path)) as again:
        assert counted(again) == 40
        assert crowd(again) == (20, "")


def test_deleted_people_hide_nobody(tmp_path: Path) -> None:
    with closing(opened(tmp_path, snapshot=40)) as collector:
        send(collector, reports_of(0, 50))
        assert crowd(collector) == (25, "")
        collector.forget("u-1")
        assert counted(collector) == 49
        assert crowd(collector) == (24, "")
        collector.forget("u-2", COLLECTION.id, ["orders"])
        assert "some services only" in crowd(collector)[1]


def test_without_snapshots_nothing_is_claimed(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as collector:
        send(collector, reports_of(0, 50))
        assert "newcomers" in crowd(collector)[1]
    with closing(opened(tmp_path, snapshot=10)) as later:
        assert "before snapshots were enabled" in crowd(later)[1], "those fifty came one by one"
    with pytest.raises(UsageError):
        Collector(tmp_path / "other", snapshot=1)


def test_turning_snapshots_off_ends_the_claim(tmp_path: Path) -> None:
    with closing(opened(tmp_path, snapshot=10)) as collector:
        send(collector, reports_of(0, 20))
        assert crowd(collector) == (10, "")
    with closing(opened(tmp_path, snapshot=0)) as open_now:
        assert "newcomers" in crowd(open_now)[1]
    with closing(opened(tmp_path, snapshot=10)) as again:
        assert "while they were off" in crowd(again)[1]


def test_a_bulk_load_is_a_snapshot_if_it_is_the_first(tmp_path: Path) -> None:
    keys = list(range(60))
    raw = {"users": {"uid": keys, "age": [1] * 60, "os": ["a"] * 20 + ["i"] * 40}, "orders": {"uid": [0], "pay": [1]}}
    with closing(opened(tmp_path, snapshot=10)) as collector:
        collector.load(COLLECTION.encode(**raw, rng=tc.insecure_rng(1)))
        assert crowd(collector) == (20, "")
        moved = {"users": raw["users"] | {"uid": list(range(100, 160))}, "orders": {"uid": [100], "pay": [1]}}
        collector.load(COLLECTION.encode(**moved, rng=tc.insecure_rng(2)))
        assert "in bulk" in crowd(collector)[1]
