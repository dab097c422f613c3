"""The analytical file of a collector, opened by others: it says what its inbox holds, or is not opened."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import tacit as tc
from support.collectors import COLLECTION, body_of, collector_here, reports_of, serving
from support.engines import postgres_address
from tacit import dbapi
from tacit.cli import main
from tacit.errors import EngineError, OverloadedError

COUNT = "SELECT COUNT(*) AS n FROM users"


def test_the_file_of_a_stopped_collector_says_what_its_inbox_still_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    with collector_here(store) as made:
        made.accept(COLLECTION.id, reports_of(0, 510)).result()
        assert made.query(COUNT).watermark == (510, 510)
        made.mover.stop()
        made.accept(COLLECTION.id, reports_of(800, 10)).result()
    assert main(["query", str(store / "reports.tacit"), COUNT, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["watermark"] == {"acknowledged": 520, "counted": 510}
    assert "10 wait" in answer["notes"][-1]
    assert main(["query", str(store / "reports.tacit"), COUNT]) == 0
    assert "note: 520 reports were acknowledged, but 510 counted" in capsys.readouterr().out


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """Return the file of a stopped collector whose inbox holds ten of 520 people."""
    with collector_here(tmp_path / "store") as made:
        made.accept(COLLECTION.id, reports_of(0, 510)).result()
        assert made.query(COUNT).watermark == (510, 510)
        made.mover.stop()
        made.accept(COLLECTION.id, reports_of(800, 10)).result()
    return tmp_path / "store" / "reports.tacit"


def test_however_the_file_is_opened_answers_say_what_they_leave_out(stopped: Path) -> None:
    with closing(tc.connect(stopped)) as database:
        answer = database.sql(COUNT)
        assert (answer["n"].value, answer.watermark) == (510, (520, 510))
        assert "10 wait" in answer.notes[-1]
        assert "counts every report as it arrives" in answer.privacy.central.reason
        both = database.sql(f"{COUNT} UNION ALL SELECT COUNT(*) FROM orders")
        assert [note for note in both.notes if "wait" in note]
        assert database.sql("SHOW TABLES").watermark is None
        table = database.marginal(["age"])
        assert (table.watermark, len(table.counts)) == ((520, 510), 10)
        about = json.loads(database.synthesize(3, service="users", seed=1).schema.metadata[b"tacit.answer"])
        assert (about["watermark"], about["notes"]) == ([520, 510], [answer.notes[-1]])
    with closing(dbapi.connect(stopped)) as connection, closing(connection.cursor()) as cursor:
        cursor.execute(COUNT)
        assert any("10 wait" in note for note in cursor.notes)


def test_an_older_copy_of_the_file_is_not_taken_for_all_of_it(stopped: Path) -> None:
    with closing(tc.connect(stopped)) as database:
        database.forget("u-7")  # by hand, past the collector
        assert database.sql(COUNT).watermark == (520, 509)


def test_people_whose_deletion_waits_are_not_counted(stopped: Path) -> None:
    with sqlite3.connect(stopped.with_name("inbox.db")) as inbox:
        inbox.execute("INSERT INTO deletions VALUES (?, '', 'u-3')", [COLLECTION.id])
    inbox.close()
    with closing(tc.connect(stopped)) as database, pytest.raises(OverloadedError) as refused:
        database.sql(COUNT)
    assert refused.value.code == "deletion-pending"


def test_an_inbox_that_cannot_be_read_is_said(stopped: Path) -> None:
    stopped.with_name("inbox.db").write_bytes(b"no database")
    with closing(tc.connect(stopped)) as database:
        assert "cannot be read" in database.sql(COUNT).notes[-1]


def test_a_shared_store_says_so_too(tmp_path: Path) -> None:
    with postgres_address() as address, collector_here(tmp_path / "store", store=address) as collector:
        collector.accept(COLLECTION.id, reports_of(0, 40)).result()
        assert collector.query(COUNT).watermark == (40, 40)
        collector.mover.stop()
        collector.accept(COLLECTION.id, reports_of(800, 10)).result()
        with closing(tc.connect(address)) as database:
            assert database.sql(COUNT).watermark == (50, 40)


def test_the_file_of_a_running_collector_is_not_opened_beside_it(tmp_path: Path) -> None:
    with serving(tmp_path) as running, running.client() as client:
        client.post(running.path, json=body_of(reports_of(0, 10)))
        with pytest.raises(EngineError) as refused:
            tc.connect(tmp_path / "store" / "reports.tacit")
        assert refused.value.code == "store-in-use"
