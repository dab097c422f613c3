"""R15: no answer is short silently. Files are deleted and replaced, running and stopped; moves fail."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import tacit as tc
from support.collectors import COLLECTION, collector_here, reports_of
from support.durable import COUNT, answered, assert_complete, stopped_store
from tacit.encode.reports import report_table
from tacit.engines.duckdb import DuckDB
from tacit.errors import EngineError, OverloadedError, ReportError
from tacit.server.collector import Collector
from tacit.server.store import mover, records

NEXT = tc.Collection(COLLECTION.schema, 6.0, round="next")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return the folder of a stopped collector."""
    return stopped_store(tmp_path / "store")


@pytest.fixture
def running(store: Path) -> Iterator[Collector]:
    made = Collector(store)
    yield made
    made.close()


def run_on(collector: Collector, statement: str) -> list[Any]:
    with collector.database._engine._cursor() as cursor:  # type: ignore[attr-defined]
        return list(cursor.execute(statement).fetchall())


def rows_of(collector: Collector, person: str) -> list[Any]:
    table = report_table(COLLECTION.id, "users")
    return run_on(collector, f"SELECT * FROM \"{table}\" WHERE uid = '{person}'")


def test_every_answer_says_what_was_acknowledged_and_counted(running: Collector) -> None:
    running.accept(COLLECTION.id, reports_of(600, 7)).result()
    answer = running.query(COUNT)
    assert (answer.watermark.acknowledged, answer.watermark.counted) == (517, 517)
    assert '"watermark": {\n  "acknowledged": 517,\n  "counted": 517\n }' in answer.to_json()
    both = running.query("SELECT COUNT(*) AS n FROM users JOIN orders USING (uid)").watermark
    assert both == (517 + 1034 // 2 * 2, 517 + 1034 // 2 * 2)


def test_a_question_is_marked_by_the_rounds_it_is_about(running: Collector) -> None:
    running.publish(NEXT)
    running.accept(NEXT.id, reports_of(0, 40)).result()
    assert running.query(COUNT).watermark == (40, 40)
    assert running.query("SELECT round, COUNT(*) AS n FROM users GROUP BY round").watermark == (550, 550)


def test_people_with_a_part_of_their_reports_are_acknowledged_and_not_counted(running: Collector) -> None:
    part = [report for report in reports_of(900, 1) if report["service"] == "orders"][:1]
    running.accept(COLLECTION.id, part).result()
    answer = running.query("SELECT COUNT(*) AS n FROM orders")
    assert answer.watermark.acknowledged == answer.watermark.counted + 1
    assert "1 wait" in answer.notes[-1]


def test_what_is_loaded_in_bulk_counts_as_acknowledged(running: Collector) -> None:
    users = {"uid": [f"b-{number}" for number in range(30)], "age": [1] * 30, "os": ["a"] * 30}
    encoded = COLLECTION.encode(users=users, orders={"uid": [], "pay": []})
    running.load({"users": encoded["users"]})
    assert_complete(running, 540)
    running.forget("b-4")
    assert_complete(running, 539)


def test_a_failed_move_refuses_instead_of_counting_less(running: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine fails as it does when its journal cannot be written."""
    append = DuckDB.append

    def failing(*_: Any) -> list[int]:
        message = "Could not write file: Input/output error"
        raise duckdb.IOException(message)

    monkeypatch.setattr(DuckDB, "append", failing)
    running.accept(COLLECTION.id, reports_of(1_000, 2_000)).result()
    with pytest.raises(OverloadedError) as refused:
        running.query(COUNT)
    assert refused.value.code == "move-failed"
    assert running.inbox.counts()["pending"] == 6_000
    monkeypatch.setattr(DuckDB, "append", append)
    assert_complete(running, 2_510)


def test_acknowledged_reports_that_are_not_moved_yet_are_not_called_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow is not failed: a question said that no reports were loaded, while hundreds of people had reported."""
    with collector_here(tmp_path / "new") as made:
        parts = [report for report in reports_of(0, 9) if report["service"] == "orders" and report["slot"] == 0]
        made.accept(COLLECTION.id, parts).result()  # the rest of these people's reports is missing
        with pytest.raises(OverloadedError, match="none can be counted yet") as behind:
            made.query("SELECT COUNT(*) AS n FROM orders")
        assert behind.value.code == "reports-behind"
        with pytest.raises(ReportError, match="No reports of users"):
            made.query(COUNT)
        monkeypatch.setattr(mover.Mover, "move", lambda *_, **__: None)
        made.accept(COLLECTION.id, reports_of(10, 5)).result()
        with pytest.raises(OverloadedError, match="none can be counted yet"):
            made.query(COUNT)


def test_a_full_disk_is_said_in_the_answer(running: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    running.accept(COLLECTION.id, reports_of(1_000, 2_000)).result()
    running.publish(NEXT)
    running.accept(NEXT.id, reports_of(0, 40)).result()
    running.move()
    running.accept(COLLECTION.id, reports_of(3_000, 90)).result()
    with monkeypatch.context() as patch:
        patch.setattr(mover, "has_room", lambda _: False)
        running.accept(COLLECTION.id, reports_of(4_000, 10)).result()
        answer = running.query("SELECT round, COUNT(*) AS n FROM users GROUP BY round")
        acknowledged, counted = answer.watermark
        assert (acknowledged, counted) == (2_650, sum(row[1].value for row in answer))
        assert f"{acknowledged:,} reports were acknowledged, but {counted:,} counted" in answer.notes[-1]
    assert running.query("SELECT round, COUNT(*) AS n FROM users GROUP BY round").watermark == (2_650, 2_650)


@pytest.mark.parametrize("reason", ["full", "slow"])
def test_a_newer_round_that_is_not_moved_is_not_passed_over(
    running: Collector, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    """Without any report of the new round in the database, the question would be about the old one."""
    running.publish(NEXT)
    with monkeypatch.context() as patch:
        if reason == "full":
            patch.setattr(mover, "has_room", lambda _: False)
        else:
            patch.setattr(mover.Mover, "move", lambda *_, **__: None)
        running.accept(NEXT.id, reports_of(0, 40)).result()
        answer = running.query(COUNT)
        assert answer.watermark == (550, 510)
        assert "40 wait" in answer.notes[-1]
    assert running.query(COUNT).watermark == (40, 40)


@pytest.mark.parametrize("with_journal", [True, False])
def test_a_deleted_analytical_file_is_rebuilt(store: Path, *, with_journal: bool) -> None:
    (store / "reports.tacit").unlink()
    if with_journal:
        (store / "reports.tacit.wal").unlink(missing_ok=True)
    with collector_here(store) as again:
        assert_complete(again)
        assert not rows_of(again, "u-3")


def test_an_analytical_file_that_is_deleted_while_it_is_open_is_rebuilt(running: Collector) -> None:
    (running.folder / "reports.tacit").unlink()
    running.accept(COLLECTION.id, reports_of(700, 5)).result()
    assert_complete(running, 515)
    running.close()
    with collector_here(running.folder) as again:
        assert_complete(again, 515)


def test_a_file_of_another_store_is_set_aside(store: Path, tmp_path: Path) -> None:
    with collector_here(tmp_path / "other") as other:
        other.accept(COLLECTION.id, reports_of(50, 20)).result()
        other.move()
    shutil.copyfile(tmp_path / "other" / "reports.tacit", store / "reports.tacit")
    with collector_here(store) as again:
        assert_complete(again)
    assert (store / "reports.tacit.aside-1").exists()


def test_an_older_copy_of_the_analytical_file_is_rebuilt(store: Path, tmp_path: Path) -> None:
    shutil.copyfile(store / "reports.tacit", tmp_path / "older")
    with collector_here(store) as later:
        later.forget("u-8")
        assert_complete(later, 509)
    shutil.copyfile(tmp_path / "older", store / "reports.tacit")
    with collector_here(store) as again:
        assert_complete(again, 509)
        assert not rows_of(again, "u-8")


def test_an_inbox_older_than_the_analytical_file_is_said_until_somebody_decides(store: Path, tmp_path: Path) -> None:
    shutil.copyfile(store / "inbox.db", tmp_path / "older")
    with collector_here(store) as later:
        for first in (700, 800, 900):
            later.accept(COLLECTION.id, reports_of(first, 10)).result()
            later.move()
    shutil.copyfile(tmp_path / "older", store / "inbox.db")
    with collector_here(store) as again:
        with pytest.raises(OverloadedError) as refused:
            again.query(COUNT)
        assert refused.value.code == "inbox-behind"
        (store / "reports.tacit").unlink()
        assert_complete(again)


def test_a_lost_inbox_is_not_replaced_by_an_empty_one(store: Path) -> None:
    (store / "inbox.db").unlink()
    with pytest.raises(EngineError) as refused:
        Collector(store)
    assert refused.value.code == "inbox-missing"


def test_reports_are_not_acknowledged_into_an_inbox_that_was_deleted(running: Collector) -> None:
    (running.folder / "inbox.db").rename(running.folder / "inbox.moved")
    with pytest.raises(OverloadedError) as refused:
        running.accept(COLLECTION.id, reports_of(700, 5)).result()
    assert refused.value.code == "no-store"
    with pytest.raises(OverloadedError):
        running.query(COUNT)
    (running.folder / "inbox.moved").rename(running.folder / "inbox.db")
    running.accept(COLLECTION.id, reports_of(700, 5)).result()
    assert_complete(running, 515)


def test_a_move_that_loses_rows_is_noticed(running: Collector) -> None:
    """Whoever takes rows out of the analytical database does not make answers short."""
    run_on(running, f"DELETE FROM \"{report_table(COLLECTION.id, 'users')}\" WHERE uid > 'u-2'")
    assert_complete(running)


def test_a_migrated_store_says_what_was_lost_with_its_analytical_file(tmp_path: Path) -> None:
    """Earlier versions kept no content of what they had moved."""
    import zipfile

    with zipfile.ZipFile(Path(__file__).parent / "golden" / "store-3.zip") as file:
        file.extractall(tmp_path / "store")
    with collector_here(tmp_path / "store", COLLECTION) as migrated:
        before = migrated.query(COUNT)
        assert before.watermark == (304, 304)
        migrated.accept(COLLECTION.id, reports_of(4_000, 6)).result()
        migrated.move()
    (tmp_path / "store" / "reports.tacit").unlink()
    with collector_here(tmp_path / "store") as again:
        answer = answered(again)
        assert answer.watermark == (310, 9)
        assert answer["n"].value == 9
        assert "301 were lost" in answer.notes[-1]
        again.forget("u-1")
        assert answered(again).watermark == (309, 9)


def test_a_person_who_is_deleted_while_the_database_is_away_is_never_counted_again(
    running: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget = DuckDB.forget

    def failing(*_: Any) -> int:
        message = "Could not write file: Input/output error"
        raise duckdb.IOException(message)

    monkeypatch.setattr(DuckDB, "forget", failing)
    with pytest.raises(OverloadedError) as pending:
        running.forget("u-9")
    assert pending.value.code == "deletion-pending"
    with pytest.raises(OverloadedError):
        running.query(COUNT)
    monkeypatch.setattr(DuckDB, "forget", forget)
    assert_complete(running, 509)
    assert running.inbox.deletions() == []


def test_reports_are_turned_away_while_too_many_wait_for_the_database(
    running: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.server.store.inbox.MOST_BEHIND", 300)
    with running.still():
        running.accept(COLLECTION.id, reports_of(2_000, 110)).result()
        with pytest.raises(OverloadedError) as refused:
            running.accept(COLLECTION.id, reports_of(3_000, 1))
        assert refused.value.code == "overloaded"
        assert refused.value.retry_after > 1
    running.move()
    running.accept(COLLECTION.id, reports_of(3_000, 1)).result()
    assert_complete(running, 510 + 111)


def test_people_who_never_complete_their_reports_do_not_stop_others(
    running: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.server.store.inbox.MOST_BEHIND", 300)
    parts = [r for r in reports_of(2_000, 900) if r["service"] == "orders" and r["slot"] == 0]
    for start in range(0, len(parts), 200):
        running.accept(COLLECTION.id, parts[start : start + 200]).result()
        running.move()
    running.accept(COLLECTION.id, reports_of(9_000, 5)).result()
    assert_complete(running, 515)


def test_a_rebuild_that_is_killed_goes_on(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "REFILLED_AT_ONCE", 100)
    (store / "reports.tacit").unlink()
    with collector_here(store) as first:
        first.mover.stop()
        assert first.mover.stores.is_rebuilding
        with pytest.raises(OverloadedError):
            first.query(COUNT)
    with collector_here(store) as again:
        assert_complete(again)
        assert not again.mover.stores.is_rebuilding
