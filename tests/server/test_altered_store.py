"""R2: a stopped collector's files are cut off or altered at any byte: rebuilt, refused or said, never counted."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from support.collectors import COLLECTION, collector_here, reports_of
from support.durable import COUNT, assert_complete, stopped_store
from support.tiers import how_many
from tacit.server.collector import Collector


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return the folder of a stopped collector."""
    return stopped_store(tmp_path / "store")


def flipped(content: bytes, position: int, bit: int = 0) -> bytes:
    return content[:position] + bytes([content[position] ^ 1 << bit]) + content[position + 1 :]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_a_file_that_was_cut_off_is_rebuilt(store: Path, share: float) -> None:
    path = store / "reports.tacit"
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with collector_here(store) as again:
        assert_complete(again)


def test_altered_bytes_of_the_analytical_file_never_change_an_answer(store: Path) -> None:
    whole = (store / "reports.tacit").read_bytes()
    for position in range(1_000, len(whole), len(whole) // how_many(4, 12, "altered bytes of the analytical file")):
        (store / "reports.tacit").write_bytes(flipped(whole, position))
        with collector_here(store) as again:
            assert_complete(again)


def test_altered_reports_are_never_counted(tmp_path: Path) -> None:
    """Every bit of a stored row is altered in turn; what is counted is what was sent, or less and said."""
    plain = tc.Collection(tc.Schema([tc.Service("s", key="uid", attributes=[tc.Ordinal("a", 0, 3)])]), 1.0)
    sent = [{"person": f"person-{i}", "service": "s", "slot": 0, "codes": [i % 4]} for i in range(20)]
    with collector_here(tmp_path / "store", plain) as made:
        made.mover.stop()
        made.accept(plain.id, sent).result()
    with sqlite3.connect(tmp_path / "store" / "inbox.db") as file:
        rows = file.execute("SELECT number, person, slot, digest, content FROM reports ORDER BY number").fetchall()
    file.close()
    number, person, slot, digest, content = rows[7]
    altered: list[tuple[str, Any]] = [("slot", slot ^ 1)]
    bits = list(itertools.product(range(len(content)), range(8)))
    some = bits[:: max(1, len(bits) // how_many(6, 10_000, "altered bits of a stored report"))]
    altered += [("content", flipped(content, at, bit)) for at, bit in some]
    altered += [("digest", flipped(digest, at)) for at in range(len(digest))]
    changed = [flipped(person.encode(), at).decode() for at in range(len(person))]
    altered += [("person", name) for name in changed]
    for attempt, (column, value) in enumerate(altered):
        folder = tmp_path / str(attempt)
        shutil.copytree(tmp_path / "store", folder)
        with sqlite3.connect(folder / "inbox.db") as file:
            file.execute(f"UPDATE reports SET {column} = ? WHERE number = ?", (value, number))
        file.close()
        with collector_here(folder, plain) as again:
            answer = again.query("SELECT COUNT(*) AS n FROM s")
            assert (answer["n"].value, answer.watermark) == (19, (20, 19)), column
            assert "1 are damaged" in answer.notes[-1]
            assert again.inbox.sizes()[plain.id, "s"].damaged == 1
        shutil.rmtree(folder)


def test_flipped_bits_of_the_inbox_are_refused_or_said(store: Path) -> None:
    """Pages of reports, wherever the bit falls: a wrong count never comes without a word."""
    with collector_here(store) as made:
        made.mover.stop()
        made.accept(COLLECTION.id, reports_of(5_000, 100)).result()
        made.close = lambda: None  # type: ignore[method-assign]
        made.inbox.close()
        made.log.close()
        made.analytical.close()
    whole = (store / "inbox.db").read_bytes()
    wrong = said = 0
    for position in range(100, len(whole), len(whole) // 30):
        (store / "inbox.db").write_bytes(flipped(whole, position, position % 8))
        kept = (store / "reports.tacit").read_bytes()
        try:
            again = Collector(store)
        except Exception:
            said += 1
            continue
        try:
            answer = again.query(COUNT)
            short = answer["n"].value != 610
            wrong += short and not answer.notes
            said += short
        except Exception:
            said += 1
        finally:
            again.close()
            (store / "reports.tacit").write_bytes(kept)
    assert wrong == 0
