"""Those who ask at once share one move, and a question that is being answered is not asked again because of one."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

import tacit as tc
from tacit.collection import Collection
from tacit.database import Database
from tacit.engines.deadline import Deadline
from tacit.server.collector import Collector
from tacit.server.store import mover, turns

USERS = tc.Service("users", key="uid", attributes=[tc.Categorical("a", list("xyz"))])
COLLECTION: Collection = tc.Collection(tc.Schema([USERS]), 4.0)
COUNT = "SELECT COUNT(*) AS n FROM users"


@pytest.fixture
def collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collector:
    monkeypatch.setattr(mover, "IDLE_SECONDS", 3_600.0)
    made = Collector(tmp_path)
    made.publish(COLLECTION)
    return made


def send(collector: Collector, first: int, count: int) -> None:
    reports = [{"person": f"p{i}", "service": "users", "slot": 0, "codes": [0]} for i in range(first, first + count)]
    statuses = collector.accept(COLLECTION.id, reports).result(60)
    assert {one["status"] for one in statuses} == {"stored"}


def counted(collector: Collector) -> int:
    watermark = collector.query(COUNT).watermark
    assert watermark is not None
    return watermark.counted


def test_an_answer_counts_what_was_acknowledged_before_it_was_asked(collector: Collector) -> None:
    send(collector, 0, 10)
    early = Deadline(60)
    send(collector, 10, 10)
    assert counted(collector) == 20
    send(collector, 20, 10)
    with early():  # asked before the last move began: it need not move again
        assert counted(collector) == 20
    late = Deadline(60)
    with late():
        assert counted(collector) == 30
    collector.close()


def test_a_move_waits_for_a_question(collector: Collector) -> None:
    send(collector, 0, 10)
    assert counted(collector) == 10
    asked: list[int] = []
    began = threading.Event()

    def slowly(database: Database) -> int:
        asked.append(1)
        began.set()
        time.sleep(0.3)
        return database.sql(COUNT)["n"].n

    answers: list[object] = []
    watermarks = collector._watermarks
    question = threading.Thread(target=lambda: answers.append(watermarks.measure(COUNT, (), slowly)))
    question.start()
    assert began.wait(60)
    send(collector, 10, 10)
    assert collector.move() == 10  # after the question
    question.join()
    [(people, mark)] = answers  # type: ignore[misc]
    assert (people, mark.watermark.counted) == (10, 10)
    assert len(asked) == 1
    collector.close()


def test_a_move_does_not_wait_for_ever(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.05)
    send(collector, 0, 10)
    moved = threading.Event()
    asked: list[int] = []

    def until_moved(database: Database) -> int:
        asked.append(1)
        if len(asked) == 1:
            assert moved.wait(60)
        return database.sql(COUNT)["n"].n

    answers: list[object] = []
    watermarks = collector._watermarks
    question = threading.Thread(target=lambda: answers.append(watermarks.measure(COUNT, (), until_moved)))
    question.start()
    while not asked:
        time.sleep(0.01)
    send(collector, 10, 10)
    collector.move()
    moved.set()
    question.join()
    [(people, mark)] = answers  # type: ignore[misc]
    assert (people, mark.watermark.counted) == (20, 20)
    assert len(asked) == 2  # and was asked again
    collector.close()
