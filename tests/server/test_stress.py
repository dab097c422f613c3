"""Everything at once for a few seconds: senders, retries, deletions, questions, copies, probes; then count everything.

Each question's count must be exactly what its watermark says, and lie between what was acknowledged before it was asked
and what had been sent when it was answered.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.collectors import COLLECTION, reports_of
from support.engines import postgres_address
from tacit.server.archive import export_store, restore
from tacit.server.collector import Collector
from tacit.server.store import inbox, mover
from tacit.server.store import sqlite as files
from tacit.server.store.verification import verify_inbox

SENDERS, BATCHES, BATCH = 3, 40, 10
LEAST = 5
"""Times that everything else is done, and as often as it can be until all is sent."""

COUNT = "SELECT COUNT(*) AS n FROM users"


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(postgres_address()) if request.param == "postgres" else ""


class Crowd:
    """People who report, and some who want to be forgotten."""

    def __init__(self, collector: Collector) -> None:
        self.collector, self.lock, self.sending = collector, threading.Lock(), SENDERS
        self.sent, self.stored, self.gone, self.going = 0, 0, 0, 0
        self.deletable = list[str]()
        self.asked = 0

    def repeat(self, work: Callable[[int], object]) -> None:
        number = 0
        while self.sending or number < LEAST:
            work(number)
            number += 1
            time.sleep(0.01)  # locks are not fair: who takes one again at once keeps others out

    def send(self, sender: int) -> None:
        def work(number: int) -> None:
            reports = reports_of(1_000_000 * sender + BATCH * number, BATCH)
            with self.lock:
                self.sent += BATCH
            twice = [self.collector.accept(COLLECTION.id, reports) for _ in range(2)]
            told = [{one["status"] for one in answer.result(30)} for answer in twice]
            assert told == [{"stored"}, {"again"}]
            with self.lock:
                self.stored += BATCH
                self.deletable.append(reports[0]["person"])

        for number in range(BATCHES):
            work(number)
            time.sleep(0.05)
        with self.lock:
            self.sending -= 1

    def forget(self) -> None:
        def work(_: int) -> None:
            with self.lock:
                person = self.deletable.pop() if self.deletable else None
                self.going += person is not None
            if person is not None:
                assert self.collector.forget(person) == 3
                with self.lock:
                    self.gone += 1

        self.repeat(work)

    def ask(self) -> None:
        def work(_: int) -> None:
            with self.lock:
                stored, gone = self.stored, self.gone
            answer = self.collector.query(COUNT) if stored else None
            with self.lock:
                sent, going = self.sent, self.going
            if answer is not None:
                count, watermark = answer["n"].value, answer.watermark
                assert watermark is not None
                assert count == watermark.counted <= watermark.acknowledged, watermark
                assert stored - going <= watermark.acknowledged <= sent - gone
                self.asked += 1

        self.repeat(work)

    def copy(self, folder: Path) -> None:
        def work(number: int) -> None:
            export_store(self.collector, folder / f"{number}.zip")

        self.repeat(work)

    def look(self) -> None:
        def work(number: int) -> None:
            self.collector.inbox.sizes()
            self.collector.reported_slots(COLLECTION.id, f"u-{number}")
            self.collector.inbox.probe()
            self.collector.mover.probe()

        self.repeat(work)


def test_everything_at_once(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in ((mover, "IDLE_SECONDS", 0.05), (mover, "MOVED_AT_ONCE", 200), (files, "RECENT", 300)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(inbox, "MOST_BEHIND", 10**9)
    collector = Collector(tmp_path / "store", store)
    collector.publish(COLLECTION)
    crowd = Crowd(collector)
    works: list[Callable[[], Any]] = [lambda sender=sender: crowd.send(sender) for sender in range(SENDERS)]
    works += [crowd.forget, crowd.ask, crowd.ask, crowd.look]
    works += [] if store else [lambda: crowd.copy(tmp_path)]
    with ThreadPoolExecutor(len(works)) as pool:
        for running in [pool.submit(work) for work in works]:
            running.result()
    left = crowd.stored - crowd.gone
    answer = collector.query(COUNT)
    sizes, counts = collector.inbox.sizes(), collector.inbox.counts()
    behind, fault = collector.inbox.behind, collector.mover.fault
    collector.close()

    assert (answer["n"].value, answer.watermark, answer.notes) == (left, (left, left), ())
    assert {key[1]: (size.known, size.pending) for key, size in sizes.items()} == {
        "users": (left, 0),
        "orders": (2 * left, 0),
    }
    assert (counts, behind, fault) == ({"known": 3 * left, "pending": 0}, 0, None)
    if not store:
        check_files(tmp_path)


def check_files(folder: Path) -> None:
    """The inbox is whole, and so is every archive that was made on the way."""
    with contextlib.closing(sqlite3.connect(folder / "store" / "inbox.db")) as file:
        assert verify_inbox(file).problems == ()
    archives = sorted(folder.glob("*.zip"))
    for archive in archives:
        restore(archive, folder / archive.stem)
    last = Collector(folder / archives[-1].stem)
    answer = last.query(COUNT)
    last.close()
    assert answer["n"].value == answer.watermark.counted == answer.watermark.acknowledged  # type: ignore[union-attr]
