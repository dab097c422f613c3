"""Recent reports are sorted in while others come: at every point of it, each is known once, also after a restart."""

from __future__ import annotations

import sqlite3
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from support.collectors import COLLECTION, reports_of
from tacit.server.store import sqlite as sqlite
from tacit.server.store.base import DIGEST_BYTES, Identity
from tacit.server.store.inbox import Inbox, Status
from tacit.server.store.recent import Recent
from tacit.server.store.validate import Report, Validator

VALIDATE = Validator(COLLECTION.contract)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "RECENT", 40)
    monkeypatch.setattr(sqlite, "SORTED_AT_ONCE", 10)


def validated(reports: list[dict[str, Any]]) -> list[Report]:
    passed = [VALIDATE(report) for report in reports]
    assert all(isinstance(one, Report) for one in passed)
    return [one for one in passed if isinstance(one, Report)]


def told(inbox: Inbox, reports: list[Report]) -> set[Status]:
    return set(inbox.put(COLLECTION.id, reports).result())


def opened(folder: Path) -> Inbox:
    inbox = Inbox(folder / "inbox.db")
    inbox.add_collection(COLLECTION.id, {service.name: service.sends for service in COLLECTION.schema.services}, "1")
    return inbox


def rows(folder: Path, table: str) -> int:
    with sqlite3.connect(folder / "inbox.db") as file:
        return int(file.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def some_chores(inbox: Inbox, number: int) -> int:
    """Do so many of the store's chores, as if it had been stopped there; return how many there were."""
    done = 0
    for chore in islice(inbox._store.chores(), number):
        chore()
        done += 1
    return done


def test_each_report_is_known_once_at_every_point(tmp_path: Path) -> None:
    first, later = validated(reports_of(0, 30)), validated(reports_of(100, 30))
    changed = [report._replace(content=report.content + b" ") for report in first]
    for stop in count():
        folder = tmp_path / str(stop)
        folder.mkdir()
        inbox = opened(folder)
        assert told(inbox, first) == {"stored"}
        done = some_chores(inbox, stop)
        assert told(inbox, first) == {"again"}
        assert told(inbox, changed) == {"report-differs"}
        assert told(inbox, later) == {"stored"}
        assert told(inbox, later) == {"again"}
        inbox.close()
        again = opened(folder)
        assert told(again, [*first, *later]) == {"again"}
        assert again.counts()["known"] == len(first) + len(later)
        some_chores(again, 1_000)
        assert rows(folder, "known") >= len(first), "all but what has come last"
        assert rows(folder, "reports") - rows(folder, "known") < 40
        assert told(again, [*first, *later]) == {"again"}
        again.close()
        if done < stop:
            break
    assert stop > 5


def test_who_is_forgotten_meanwhile_does_not_come_back(tmp_path: Path) -> None:
    first = validated(reports_of(0, 30))
    theirs = [report for report in first if report.person == "u-4"]
    assert len(theirs) > 2, "one of users, and all slots of orders"
    for stop in range(12):
        folder = tmp_path / str(stop)
        folder.mkdir()
        inbox = opened(folder)
        assert told(inbox, first) == {"stored"}
        chores = inbox._store.chores()
        for chore in islice(chores, stop):
            chore()
        assert inbox.forget(COLLECTION.id, "u-4") == len(theirs)
        for chore in chores:
            chore()
        assert told(inbox, theirs) == {"forgotten"}
        assert told(inbox, [one for one in first if one.person != "u-4"]) == {"again"}
        assert inbox.counts()["known"] == len(first) - len(theirs)
        inbox.close()
        with sqlite3.connect(folder / "inbox.db") as file:
            for table in ("known", "reports", "waiting"):
                assert not file.execute(f"SELECT 1 FROM {table} WHERE person = 'u-4'").fetchall()


def test_slots_of_a_person_are_told_apart() -> None:
    fresh = Recent(100)
    digests = [slot.to_bytes(DIGEST_BYTES, "big") for slot in range(250)]
    for slot, digest in enumerate(digests):
        fresh.add([(Identity(1, "a", slot), digest)], slot)
    assert (fresh.ripe(1), fresh.ripe(9)) == ((1, 99), (2, 199))
    assert [fresh.digest(Identity(1, "a", slot)) for slot in range(250)] == digests
    assert fresh.digest(Identity(1, "a", 250)) is None
    assert ((1, "a") in fresh, (2, "a") in fresh) == (True, False)
    fresh.drop(2)
    assert fresh.digest(Identity(1, "a", 199)) is None
    assert fresh.digest(Identity(1, "a", 200)) == digests[200]
    assert fresh.ripe(9) == (0, 0)
