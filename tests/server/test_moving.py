"""Reports go to the analytical database once, whoever reads the inbox at the same time."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.collectors import COLLECTION, collector_here, reports_of
from tacit.server.collector import Collector
from tacit.server.store import mover
from tacit.server.store.validate import Report, Validator

USERS = (COLLECTION.id, "users")
PEOPLE, AT_ONCE = 40, 10


@pytest.fixture
def collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """A collector to which people have reported, and that moves nothing by itself."""
    monkeypatch.setattr(mover, "IDLE_SECONDS", 3600)
    monkeypatch.setattr(mover, "MOVED_AT_ONCE", AT_ONCE)
    with collector_here(tmp_path / "store") as lent:
        validated = [Validator(COLLECTION.contract)(report) for report in reports_of(0, PEOPLE)]
        lent.inbox.put(COLLECTION.id, [one for one in validated if isinstance(one, Report)]).result()
        yield lent


def test_a_long_read_shows_nobody_else_an_old_state(collector: Collector) -> None:
    """SQLite gives statements of one connection the state that the oldest of them began with."""
    inbox, begun, go_on = collector.inbox, threading.Event(), threading.Event()
    slow = threading.Thread(target=inbox.sizes)

    def wait(cursor: object, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Stop at the first of several rows, when the statement is not at its end."""
        if threading.current_thread() is slow:
            begun.set()
            go_on.wait(10)
        return row

    inbox._store._reader.row_factory = wait  # type: ignore[attr-defined]
    slow.start()
    assert begun.wait(10)
    moved = inbox._store._writer.execute(  # type: ignore[attr-defined]
        "SELECT number FROM waiting JOIN places USING (place) WHERE service = 'users' LIMIT 10"
    ).fetchall()
    numbers = {number for (number,) in moved}
    inbox.mark_moved(*USERS, sorted(numbers))
    seen: set[int] = set()
    after = threading.Thread(target=lambda: seen.update(inbox.pending(*USERS, 1, 100).numbers))
    after.start()
    after.join(0.3)
    go_on.set()
    slow.join()
    after.join()
    assert len(seen) == PEOPLE - len(numbers)
    assert not seen & numbers


def test_what_is_read_twice_is_moved_once(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a read were out of date after all, the database would look for each report."""
    read, stale = collector.inbox.pending, dict[tuple[str, str], Any]()

    def pending(collection: str, service: str, sends: int, people: int) -> Any:
        place = (collection, service)
        if place not in stale:
            stale[place] = read(*place, sends, people)
            return stale[place]
        monkeypatch.setattr(collector.inbox, "pending", read)
        return stale[place]

    monkeypatch.setattr(collector.inbox, "pending", pending)
    answer = collector.query("SELECT COUNT(*) AS n FROM users")
    assert json.loads(answer.to_json())["rows"][0]["n"] == PEOPLE
    assert answer.watermark == (PEOPLE, PEOPLE)
