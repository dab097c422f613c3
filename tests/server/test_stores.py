"""The rules of reports on all stores: a file of SQLite, with or without a lake, and a real PostgreSQL server."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

import tacit as tc
from support.collectors import COLLECTION, body_of, collector_here, reports_of, serving
from support.engines import postgres_address
from tacit.encode.reports import report_table
from tacit.engines.lake.copies import back_up, restore
from tacit.engines.lake.storage import Folder
from tacit.errors import OverloadedError, UsageError
from tacit.server.collector import Collector

FEES = tc.Service("s", key="uid", attributes=[tc.Ordinal("a", 0, 3), tc.Public("fee")])
ROUND = tc.Collection(tc.Schema([FEES]), 1.0)
HIGHER = tc.Collection(tc.Schema([FEES]), 2.0, tier="high")

Opened = Callable[[], Collector]


@contextmanager
def store_named(name: str) -> Iterator[str]:
    """Lend the address of an empty store; the file's is empty."""
    if name == "sqlite":
        yield ""
    else:
        with postgres_address() as address:
            yield address


@pytest.fixture(params=["sqlite", "lake", "postgres"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Lend where a collector stores reports, and where it answers from."""
    if request.param == "lake":
        yield {"lake": str(tmp_path / "lake")}
        return
    with store_named(request.param) as address:
        yield {"store": address}


@pytest.fixture
def collector(places: dict[str, str], tmp_path: Path) -> Iterator[Collector]:
    with collector_here(tmp_path, COLLECTION, ROUND, HIGHER, **places) as made:
        yield made


def connect_to_inbox(places: dict[str, str], folder: Path) -> Any:
    """Return a connection to the inbox, past the collector."""
    address = places.get("store")
    return psycopg.connect(address) if address else closing(sqlite3.connect(folder / "inbox.db"))


def told(collector: Collector, reports: list[Any], collection: tc.Collection = COLLECTION) -> list[str]:
    return [one.get("code", one["status"]) for one in collector.accept(collection.id, reports).result()]


def fee(person: int | str, value: Any, code: int = 0) -> dict[str, Any]:
    return {"person": person, "service": "s", "slot": 0, "codes": [code], "public": {"fee": value}}


def test_first_one_wins(collector: Collector) -> None:
    reports = reports_of(0, 10)
    assert set(told(collector, reports)) == {"stored"}
    assert set(told(collector, reports)) == {"again"}
    assert told(collector, [*reports[:2], *reports[:2]]) == ["again"] * 4
    twice = reports_of(50, 1)
    assert told(collector, twice + twice) == ["stored"] * 3 + ["again"] * 3
    other = [report | {"public": {"os": "z"}} for report in reports if report["service"] == "users"]
    assert set(told(collector, other)) == {"report-differs"}
    assert collector.inbox.counts() == {"known": 33, "pending": 33}
    assert collector.query("SELECT COUNT(*) AS n FROM users")["n"].value == 11.0
    assert collector.inbox.counts() == {"known": 33, "pending": 0}
    assert set(told(collector, reports)) == {"again"}


def test_numbers_and_texts_are_different_people(collector: Collector) -> None:
    assert told(collector, [fee(42, 1), fee("42", 2), fee(-42, 3), fee(42, 1)], ROUND) == ["stored"] * 3 + ["again"]
    assert collector.query("SELECT SUM(fee) AS s FROM s")["s"].value == 6.0


def test_changed_tables_are_not_taken_for_a_store_that_is_away(
    collector: Collector, places: dict[str, str], tmp_path: Path
) -> None:
    with connect_to_inbox(places, tmp_path) as inbox:
        table = "tacit_reports" if places.get("store") else "reports"
        inbox.execute(f"ALTER TABLE {table} RENAME COLUMN content TO other")
        inbox.commit()
    with pytest.raises(OverloadedError, match=r"changed its tables") as refused:
        told(collector, reports_of(0, 1))
    assert refused.value.code == "store-altered"


def test_a_person_is_in_one_tier(collector: Collector) -> None:
    assert told(collector, [fee("p", None)], ROUND) == ["stored"]
    assert told(collector, [fee("p", None), fee("q", None)], HIGHER) == ["wrong-tier", "stored"]
    assert told(collector, [fee("q", None)], ROUND) == ["wrong-tier"]


def test_columns_without_a_type_take_any_scalar(collector: Collector) -> None:
    for person, value in enumerate([None, 2.5, None, 4]):
        assert told(collector, [fee(person, value)], ROUND) == ["stored"]
        collector.move()
    assert told(collector, [fee(9, "x"), fee(10, True), fee(11, 1)], ROUND) == ["stored"] * 3
    assert collector.query("SELECT SUM(fee) AS s FROM s")["s"].value == 7.5


def test_texts_that_a_store_cannot_keep_are_refused_by_every_store(collector: Collector) -> None:
    odd = ["a\x00b", "\ud800", "x" * 5_000]
    assert told(collector, [fee(number, text) for number, text in enumerate(odd)], ROUND) == [
        "wrong-public",
        "wrong-public",
        "too-large",
    ]
    fine = ["", "'; DROP TABLE tacit_known; --", "Ωß雪🙂", "\x01", "\t\r\n\\"]
    assert told(collector, [fee(number, text) for number, text in enumerate(fine)], ROUND) == ["stored"] * 5
    assert collector.move() == 5
    for text in fine[2:3]:
        assert collector.query(f"SELECT COUNT(*) AS n FROM s WHERE fee = '{text}'")["n"].value == 1.0


def test_forgotten_people_are_gone_and_stay_away(collector: Collector) -> None:
    reports = reports_of(0, 2)
    told(collector, reports)
    collector.move()
    told(collector, reports_of(2, 1))
    assert [collector.forget(person) for person in ("u-0", "u-2", "u-0")] == [3, 3, 0]
    assert collector.inbox.counts() == {"known": 3, "pending": 0}
    mine = [report for report in reports if report["person"] == "u-0"]
    assert set(told(collector, mine)) == {"forgotten"}
    assert collector.query("SELECT COUNT(*) AS n FROM users")["n"].value == 1.0


def test_what_was_stored_is_there_after_a_restart(places: dict[str, str], tmp_path: Path) -> None:
    first = Collector(tmp_path, **places)
    first.publish(COLLECTION)
    first.publish(ROUND)
    told(first, reports_of(0, 5))
    told(first, [fee(1, 2)], ROUND)
    first.forget("u-4")
    first.close()
    again = Collector(tmp_path, **places)
    assert again.inbox.counts()["known"] == 13
    assert told(again, [fee(1, "text"), fee(2, "text")], ROUND) == ["report-differs", "stored"]
    assert set(told(again, reports_of(0, 5))) == {"again", "forgotten"}
    assert again.query("SELECT COUNT(*) AS n FROM users")["n"].value == 4.0
    again.close()


@pytest.mark.parametrize("times", [1, 2, 3, 5])
def test_reports_may_come_several_times_at_once(collector: Collector, times: int) -> None:
    """R5 without HTTP: whoever comes first stores, all others hear `again`."""
    reports = reports_of(100 * times, 20)
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: told(collector, reports), range(times)))
    for statuses in zip(*found, strict=True):
        assert sorted(statuses) == ["again"] * (times - 1) + ["stored"]


def test_a_lost_connection_loses_nothing_and_is_made_again(tmp_path: Path) -> None:
    import psycopg

    with store_named("postgres") as address:
        collector = Collector(tmp_path, address)
        collector.publish(COLLECTION)
        reports = reports_of(0, 3)
        told(collector, reports[:1])
        with psycopg.connect(address, autocommit=True) as connection:
            others = "pid <> pg_backend_pid() AND datname = current_database()"
            connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
        with suppress(OverloadedError):  # unless the mover has noticed first
            assert told(collector, reports[1:]) == ["stored"] * 8
        assert told(collector, reports)[0] == "again"
        assert told(collector, reports) == ["again"] * 9
        assert collector.query("SELECT COUNT(*) AS n FROM users")["n"].value == 3.0
        collector.close()


@pytest.mark.parametrize("name", ["postgres", "lake"])
def test_what_a_killed_process_acknowledged_is_there(name: str, tmp_path: Path) -> None:
    with ExitStack() as opened:
        place = ("--lake", str(tmp_path / "lake"))
        if name == "postgres":
            place = ("--store", opened.enter_context(store_named("postgres")))
        sent = [reports_of(first, 10) for first in range(0, 200, 10)]
        with serving(tmp_path, *place) as running, running.client() as client:
            for reports in sent:
                assert client.post(running.path, json=body_of(reports)).status_code == 200
            running.end(signal.SIGKILL)
        with serving(tmp_path, *place) as running, running.client() as client:
            for reports in sent:
                statuses = client.post(running.path, json=body_of(reports)).json()["statuses"]
                assert {one["status"] for one in statuses} == {"again"}
            question = {"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"}
            assert client.post("/v1/query", json=question).json()["rows"][0]["n"] == 200


LOOK_ALIKE = ("1", 1, "01", "1 ", -1, "-1", "é", "e\u0301", "K", "\u212a", "i", "ı", "İ", "ß", "ss", "\\.", "", "NULL")
"""People whose ids a store could take for one: numbers, normal forms, letters and marks of its own formats."""


def test_people_whose_ids_look_alike_are_different_people(collector: Collector) -> None:
    people = [person for person in LOOK_ALIKE if person != ""]
    assert told(collector, [fee(person, 1) for person in people], ROUND) == ["stored"] * len(people)
    assert told(collector, [fee(person, 2) for person in people], ROUND) == ["report-differs"] * len(people)
    assert told(collector, [fee("", 1)], ROUND) == ["wrong-person"]
    for left, person in reversed(list(enumerate(people))):
        assert collector.query("SELECT COUNT(*) AS n FROM s")["n"].value == left + 1
        assert collector.reported_slots(ROUND.id, person) == [("s", 0)]
        assert collector.forget(person, ROUND.id) == 1
        assert told(collector, [fee(person, 1)], ROUND) == ["forgotten"]
    assert collector.inbox.sizes()[ROUND.id, "s"].known == 0


def test_bulk_loads_survive_reports_of_the_same_people(collector: Collector) -> None:
    """The inbox knows nothing of people who were loaded in bulk: no report of theirs makes the database look short."""
    rows = {"uid": [f"p{number}" for number in range(50)], "a": [1] * 50, "fee": ["1"] * 50}
    collector.load(ROUND.encode(s=rows))
    assert told(collector, [fee("p7", 1)], HIGHER) == ["stored"]
    assert told(collector, [fee("p8", 1), fee("new", 1)], ROUND) == ["stored", "stored"]
    for _ in range(2):
        answer = collector.query("SELECT COUNT(*) AS n FROM s")
        assert (answer["n"].value, answer.watermark) == (52, (53, 52))
        assert any("loaded in bulk" in note for note in answer.notes)
    assert collector.mover.fault is None
    assert not collector.mover.stores.is_rebuilding


def test_a_person_deleted_from_one_tier_cannot_report_in_another(collector: Collector) -> None:
    assert told(collector, [fee("p", None), fee("q", None)], ROUND) == ["stored", "stored"]
    assert collector.forget("p", ROUND.id) == 1
    assert told(collector, [fee("p", None), fee("q", None), fee("r", None)], HIGHER) == [
        "forgotten",
        "wrong-tier",
        "stored",
    ]
    assert collector.reported_slots(HIGHER.id, "p") == [("s", 0)], "a client is told before it draws"


def test_a_lost_tier_is_in_the_watermark(collector: Collector) -> None:
    """Reports that were loaded in bulk are gone with the database; the other tier's answer tells of them."""
    collector.load(ROUND.encode(s={"uid": ["p1", "p2"], "a": [1, 1], "fee": ["1", "1"]}))
    assert told(collector, [fee("q", 1)], HIGHER) == ["stored"]
    collector.move()
    if (collector.folder / "reports.tacit").exists():
        (collector.folder / "reports.tacit").unlink()
    else:
        collector.database._engine.clear(report_table(ROUND.id, "s"))
        collector.move()
    answer = collector.query("SELECT COUNT(*) AS n FROM s")
    assert (answer["n"].value, answer.watermark) == (1, (3, 1))
    assert any("lost with an earlier" in note for note in answer.notes)


def test_numbers_that_were_loaded_in_bulk_are_the_people_of_reports(collector: Collector) -> None:
    """Text comes beside them, each of them reports once, and they are deleted as numbers."""
    collector.load(ROUND.encode(s={"uid": range(20), "a": [1] * 20, "fee": ["1"] * 20}))
    assert told(collector, [fee("7", 1), fee(8, 1), fee(21, 1)], ROUND) == ["stored"] * 3
    assert collector.query("SELECT COUNT(*) AS n FROM s")["n"].value == 22, "8 was there"
    assert collector.mover.fault is None
    collector.forget(9, ROUND.id)
    collector.forget("10", ROUND.id)
    assert collector.query("SELECT COUNT(*) AS n FROM s")["n"].value == 21, "nobody is called 10"


def test_a_store_with_a_lake_does_not_start_without_it(tmp_path: Path) -> None:
    Collector(tmp_path, lake=str(tmp_path / "lake")).close()
    with pytest.raises(UsageError) as refused:
        Collector(tmp_path)
    assert refused.value.code == "no-lake"
    Collector(tmp_path, lake=str(tmp_path / "lake")).close()


def test_a_lake_of_yesterday_is_filled_again(tmp_path: Path) -> None:
    """The operator restores a backup under a running inbox: what was moved since is moved again."""
    lake, backup = tmp_path / "lake", Folder(tmp_path / "backup")
    with collector_here(tmp_path / "store", lake=str(lake)) as collector:
        told(collector, reports_of(0, 20))
        collector.move()
        back_up(Folder(lake), backup)
        told(collector, reports_of(20, 10))
        collector.move()
    shutil.rmtree(lake)
    restore(backup, Folder(lake))
    with collector_here(tmp_path / "store", lake=str(lake)) as collector:
        answer = collector.query("SELECT COUNT(*) AS n FROM users")
        assert answer["n"].value == 30.0
        assert answer.watermark.acknowledged == answer.watermark.counted
