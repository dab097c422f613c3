"""R2: an inbox whose journal was cut off, or altered, at any place holds whole commits, in order, and nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from support.collectors import COLLECTION, reports_of
from support.tiers import how_many
from tacit.server.store.inbox import Inbox
from tacit.server.store.validate import Report, Validator
from tacit.server.store.verification import verify_inbox

TAIL = 256 << 10
CUTS = how_many(60, 1_000, "bytes at which the journal of an inbox is cut off")
FLIPS = how_many(40, 500, "altered bits of the journal of an inbox")


class Journal(NamedTuple):
    """The files of an inbox while it was written to, and how large the journal was after each commit."""

    database: bytes
    journal: bytes
    ends: list[int]
    reports: list[int]

    def commits_before(self, cut: int) -> int:
        """Return the reports of all commits whose bytes are before a place."""
        return max([stored for end, stored in zip(self.ends, self.reports, strict=True) if end <= cut], default=0)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    """Return the files as a crash would leave them: copied while the inbox is open."""
    folder = tmp_path_factory.mktemp("inbox")
    inbox, validate = opened(folder), Validator(COLLECTION.contract)
    ends, stored = [], [0]
    for first in range(0, 300, 3):
        checked = [one for one in map(validate, reports_of(first, 3)) if isinstance(one, Report)]
        assert set(inbox.put(COLLECTION.id, checked).result()) == {"stored"}
        ends.append((folder / "inbox.db-wal").stat().st_size)
        stored.append(stored[-1] + len(checked))
    files = [(folder / name).read_bytes() for name in ("inbox.db", "inbox.db-wal")]
    inbox.close()
    return Journal(*files, ends, stored[1:])


def opened(folder: Path) -> Inbox:
    inbox = Inbox(folder / "inbox.db")
    inbox.add_collection(COLLECTION.id, {service.name: service.sends for service in COLLECTION.schema.services}, "1")
    return inbox


def stored_in(folder: Path, database: bytes, journal: bytes) -> int:
    """Return how many reports an inbox of these bytes has, all as they were stored; -1 if it refuses to open."""
    (folder / "inbox.db-shm").unlink(missing_ok=True)
    (folder / "inbox.db").write_bytes(database)
    (folder / "inbox.db-wal").write_bytes(journal)
    try:
        inbox = opened(folder)
    except sqlite3.Error:
        return -1
    known = inbox.counts()["known"]
    inbox.close()
    with closing(sqlite3.connect(folder / "inbox.db")) as file:
        checked = verify_inbox(file)
    assert not checked.problems
    assert checked.reports == known
    return known


def places(first: int, last: int, count: int) -> Iterator[int]:
    return (int(place) for place in np.unique(np.linspace(first, last, count).astype(int)))


def test_a_journal_that_is_cut_off_anywhere_holds_all_commits_before(written: Journal, tmp_path: Path) -> None:
    whole = len(written.journal)
    assert whole > TAIL
    kept = {
        cut: stored_in(tmp_path, written.database, written.journal[:cut]) for cut in places(whole - TAIL, whole, CUTS)
    }
    assert kept == {cut: written.commits_before(cut) for cut in kept}
    assert len(set(kept.values())) >= 10, "cuts between many commits"


def test_an_altered_journal_holds_whole_commits_before_the_place(written: Journal, tmp_path: Path) -> None:
    """SQLite ends a journal at the first page that does not match its sum: what was committed before is there."""
    source = np.random.default_rng(5)
    for place in source.integers(32, len(written.journal), FLIPS):
        altered = bytearray(written.journal)
        altered[place] ^= 1 << int(source.integers(8))
        known = stored_in(tmp_path, written.database, bytes(altered))
        assert known in {-1, 0, *written.reports}
        assert known == -1 or known >= written.commits_before(int(place)), place
