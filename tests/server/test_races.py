"""What happens between two steps: every test stops one thread there and lets another one run."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from support.collectors import COLLECTION, collector_here, reports_of
from tacit.cli import main
from tacit.database import Database
from tacit.errors import OverloadedError, UsageError
from tacit.server import archive
from tacit.server.collector import Collector
from tacit.server.store import mover

COUNT = "SELECT COUNT(*) AS n FROM users"
SAME_ROUND = tc.Collection(COLLECTION.schema, 5.0)
PEOPLE = 20


@pytest.fixture
def collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """A collector with some people, that moves nothing by itself."""
    monkeypatch.setattr(mover, "IDLE_SECONDS", 3600)
    with collector_here(tmp_path / "store") as lent:
        lent.accept(COLLECTION.id, reports_of(0, PEOPLE)).result()
        lent.move()
        yield lent


def counted(collector: Collector) -> tuple[float, tuple[int, int] | None, tuple[str, ...]]:
    answer = collector.query(COUNT)
    return answer["n"].value, answer.watermark, tuple(answer.notes)


def started(work: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_reports_that_are_moved_during_a_question_are_in_its_watermark(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is computed after a batch was loaded, and before the mover has done anything else about it."""
    loaded, go_on, moving = threading.Event(), threading.Event(), list[threading.Thread]()
    load = collector.database.load

    def slow(*given: Any) -> Any:
        found = load(*given)
        loaded.set()
        assert go_on.wait(10)
        return found

    def ask(database: Database) -> tc.Answer:
        if not moving:
            collector.accept(COLLECTION.id, reports_of(PEOPLE, 10)).result()
            moving.append(started(collector.move))
            assert loaded.wait(10)
            threading.Timer(0.2, go_on.set).start()
        return database.sql(COUNT)

    monkeypatch.setattr(collector.database, "load", slow)
    answer, measured = collector._watermarks.measure(COUNT, (), ask)
    moving[0].join()
    assert answer["n"].value == measured.watermark.counted == measured.watermark.acknowledged == PEOPLE + 10


def test_bulk_loads_during_a_question_are_in_its_watermark(collector: Collector) -> None:
    rows = {"uid": ["b-1", "b-2"], "age": [1, 2], "os": ["i", "a"]}
    bulk = COLLECTION.encode(users=rows, orders={"uid": ["b-1"], "pay": [1]})
    asked = []

    def ask(database: Database) -> tc.Answer:
        if not asked:
            collector.load(bulk)
        asked.append(database)
        return database.sql(COUNT)

    answer, measured = collector._watermarks.measure(COUNT, (), ask)
    assert answer["n"].value == measured.watermark.counted == measured.watermark.acknowledged == PEOPLE + 2


class Slow:
    """A lock that the main thread takes again only after others had their turn."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        if threading.current_thread() is threading.main_thread():
            time.sleep(0.5)


def test_no_answer_comes_between_the_two_halves_of_a_deletion(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The inbox has deleted the person; the analytical database has not yet."""
    half, forget, found = threading.Event(), collector.inbox.forget, list[Any]()

    def recorded(*given: Any) -> int:
        deleted = forget(*given)
        half.set()
        return deleted

    def ask() -> None:
        half.wait(10)
        found.extend(counted(collector))

    monkeypatch.setattr(collector.inbox, "forget", recorded)
    monkeypatch.setattr(collector._watermarks, "settle", lambda _: None)  # the question has been here before
    monkeypatch.setattr(collector.mover, "_lock", Slow())
    asking = started(ask)
    collector.forget("u-3")
    asking.join()
    assert found == [PEOPLE - 1, (PEOPLE - 1, PEOPLE - 1), ()]


def test_everything_is_deleted_while_the_database_is_rebuilt(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new database knows no collection yet; people are deleted from all of them nevertheless."""
    empty, go_on, bring = threading.Event(), threading.Event(), collector.mover.stores._bring_contracts

    def slow() -> None:
        empty.set()
        assert go_on.wait(10)
        bring()

    (collector.folder / "reports.tacit").unlink()
    monkeypatch.setattr(collector.mover.stores, "_bring_contracts", slow)
    moving = started(collector.move)
    assert empty.wait(10)
    assert list(collector.collections) == [COLLECTION.id]
    assert collector.collection(COLLECTION.id).to_json() == COLLECTION.to_json()
    threading.Timer(0.2, go_on.set).start()
    assert collector.forget("u-3") == 3
    moving.join()
    assert counted(collector) == (PEOPLE - 1, (PEOPLE - 1, PEOPLE - 1), ())


def test_what_is_logged_during_an_export_does_not_spoil_it(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question is logged after the log was copied; the archive is about the copy."""
    copy = archive._copy_sqlite

    def copied(source: Path, target: Path) -> None:
        copy(source, target)
        collector.log.add("question", sql="")

    monkeypatch.setattr(archive, "_copy_sqlite", copied)
    archive.export_store(collector, tmp_path / "a.zip")
    assert main(["import", str(tmp_path / "a.zip"), str(tmp_path / "again")]) == 0


def test_an_archive_holds_nobody_who_was_deleted_by_its_log(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deletion that comes while an archive is made is in all of its files, or in none."""
    copy, deleting = archive._copy_sqlite, list[threading.Thread]()

    def copied(source: Path, target: Path) -> None:
        copy(source, target)
        if not deleting:
            deleting.append(started(lambda: collector.forget("u-3")))
            deleting[0].join(0.2)

    monkeypatch.setattr(archive, "_copy_sqlite", copied)
    archive.export_store(collector, tmp_path / "a.zip")
    deleting[0].join()
    archive.restore(tmp_path / "a.zip", tmp_path / "again")
    restored = Collector(tmp_path / "again")
    told = any(entry["event"] == "person-deleted" for entry in restored.log.read().entries)
    statuses = restored.accept(COLLECTION.id, [r for r in reports_of(0, PEOPLE) if r["person"] == "u-3"]).result()
    restored.close()
    assert {one.get("code", one["status"]) for one in statuses} == ({"forgotten"} if told else {"again"})


def test_a_contract_that_is_refused_is_kept_nowhere(collector: Collector) -> None:
    """Kept in the inbox alone, it would stop every move and question from the next start on."""
    with pytest.raises(UsageError) as refused:
        collector.publish(SAME_ROUND)
    assert refused.value.code == "round-exists"
    collector.close()
    again = Collector(collector.folder)
    assert again.mover.fault is None
    assert counted(again)[0] == PEOPLE
    events = [entry["event"] for entry in again.log.read().entries]
    again.close()
    assert events.count("contract-published") == 1


def test_a_database_of_another_store_leaves_no_contracts_behind(collector: Collector, tmp_path: Path) -> None:
    with collector_here(tmp_path / "other", SAME_ROUND) as other:
        other.accept(SAME_ROUND.id, [r for r in reports_of(0, 5) if r["service"] == "users"]).result()
        other.move()
    collector.close()
    shutil.copyfile(tmp_path / "other" / "reports.tacit", collector.folder / "reports.tacit")
    again = Collector(collector.folder)
    again.move()
    assert list(again.collections) == [COLLECTION.id]
    assert counted(again) == (PEOPLE, (PEOPLE, PEOPLE), ())
    assert json.loads(again.query(COUNT).to_json())["watermark"] == {"acknowledged": PEOPLE, "counted": PEOPLE}
    again.close()


def test_nothing_is_loaded_in_bulk_into_a_database_that_is_not_in_order(collector: Collector, tmp_path: Path) -> None:
    """Loading marks the database as this store's: one that is newer than the inbox must not be taken for it."""
    collector.close()
    old = (collector.folder / "inbox.db").read_bytes()
    again = Collector(collector.folder)
    for first in (100, 200, 300):
        again.accept(COLLECTION.id, reports_of(first, 3)).result()
        again.move()
    again.close()
    (collector.folder / "inbox.db").write_bytes(old)
    behind = Collector(collector.folder)
    rows = {"uid": ["b-1"], "age": [1], "os": ["i"]}
    for _ in range(2):
        with pytest.raises(OverloadedError) as refused:
            behind.load(COLLECTION.encode(users=rows, orders={"uid": ["b-1"], "pay": [1]}))
        assert refused.value.code == "inbox-behind"
    behind.close()
