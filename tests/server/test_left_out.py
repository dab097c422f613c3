"""What an answer leaves out is said in every kind of answer; what cannot be moved holds up nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.collectors import COLLECTION, collector_here, reports_of, served_here
from tacit.engines.duckdb import DuckDB
from tacit.errors import OverloadedError
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.http.settings import Settings
from tacit.server.keys import Keys
from tacit.server.store import mover

COUNT = "SELECT COUNT(*) AS n FROM users"
TABLES = ("SHOW TABLES", "DESCRIBE users", "SELECT 1 AS one", "SELECT table_name FROM information_schema.tables")


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Collector]:
    with collector_here(tmp_path / "store") as made:
        made.accept(COLLECTION.id, reports_of(0, 510)).result()
        assert made.query(COUNT).watermark == (510, 510)
        yield made


def test_tables_and_synthetic_rows_say_what_they_leave_out(running: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    assert running.marginal(["age"]).watermark == (510, 510)
    monkeypatch.setattr(mover, "has_room", lambda _: False)
    running.accept(COLLECTION.id, reports_of(2_000, 90)).result()
    table, rows = running.marginal(["age"]), running.synthesize(5, service="users", seed=1)
    assert table.watermark == (600, 510)
    assert [note for note in table.notes if "90 wait to be moved" in note]
    about = json.loads(rows.schema.metadata[b"tacit.answer"])
    assert (about["watermark"], about["notes"]) == ([600, 510], list(table.notes[-1:]))


def test_tables_and_synthetic_rows_are_refused_where_reports_cannot_be_moved(
    running: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> list[int]:
        raise ValueError

    monkeypatch.setattr(DuckDB, "append", fail)
    running.accept(COLLECTION.id, reports_of(2_000, 90)).result()
    for ask in (lambda: running.marginal(["age"]), lambda: running.synthesize(5, service="users")):
        with pytest.raises(OverloadedError) as refused:
            ask()
        assert refused.value.code == "move-failed"


def test_lists_and_forecasts_say_what_they_leave_out(running: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """The analyst's screen shows the people of each service, and of each draft."""
    with served_here(make_app(running, Keys(running.folder / "keys.json"))) as client:
        [users] = [one for one in client.get("/v1/catalogue").json()["services"] if one["name"] == "users"]
        assert (users["people"], users["notes"]) == (510, [])
        running.accept(COLLECTION.id, reports_of(2_000, 90)).result()
        assert client.post("/v1/draft", json={"tacit": 1, "sql": COUNT}).json()["people"] == 600
        monkeypatch.setattr(mover, "has_room", lambda _: False)
        running.accept(COLLECTION.id, reports_of(3_000, 10)).result()
        [users] = [one for one in client.get("/v1/catalogue").json()["services"] if one["name"] == "users"]
        assert users["people"] == 600
        assert "610 reports were acknowledged, but 600 counted" in users["notes"][0]


def test_lists_and_forecasts_are_refused_where_reports_cannot_be_moved(
    running: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> list[int]:
        raise ValueError

    monkeypatch.setattr(DuckDB, "append", fail)
    running.accept(COLLECTION.id, reports_of(2_000, 90)).result()
    with served_here(make_app(running, Keys(running.folder / "keys.json"))) as client:
        refused = [client.get("/v1/catalogue")]
        refused += [client.post(f"/v1/{path}", json={"tacit": 1, "sql": COUNT}) for path in ("draft", "curves")]
    assert [(one.status_code, one.json()["code"]) for one in refused] == [(503, "move-failed")] * 3


def test_lists_take_from_the_rate_of_questions(running: Collector) -> None:
    keys = Keys(running.folder / "keys.json")
    bearer = {"Authorization": f"Bearer {keys.create('analyst', ['query'])}"}
    with served_here(make_app(running, keys, settings=Settings(questions_per_minute=0.5)), **bearer) as client:
        statuses = [client.get("/v1/catalogue").status_code for _ in range(6)]
    assert statuses == [200] * 5 + [429]


def test_everything_that_a_database_answers_is_answered_by_its_collector(running: Collector) -> None:
    for text in TABLES:
        answer = running.query(text)
        assert answer.rows == running.database.sql(text).rows
        assert answer.watermark is None
    both = f"{COUNT} UNION ALL SELECT COUNT(*) FROM orders"
    answer, plain = running.query(both), running.database.sql(both)
    assert [row[0].value for row in answer.rows] == [row[0].value for row in plain.rows]
    assert answer.watermark == (1530, 1530)
    assert answer.privacy is not None


def test_a_service_that_cannot_be_moved_stops_no_other(running: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.server.store.inbox.MOST_BEHIND", 300)
    made = mover.batch_of

    def fail(collection: Any, compiled: Any, *given: Any) -> Any:
        if compiled.service.name == "orders":
            raise ValueError
        return made(collection, compiled, *given)

    monkeypatch.setattr(mover, "batch_of", fail)
    by = {name: [one for one in reports_of(2_000, 700) if one["service"] == name] for name in ("users", "orders")}
    running.accept(COLLECTION.id, by["orders"][:400]).result()
    running.move()
    assert running.mover.fault is not None
    with pytest.raises(OverloadedError):
        running.accept(COLLECTION.id, by["orders"][400:])
    for start in range(0, 600, 200):
        running.accept(COLLECTION.id, by["users"][start : start + 200]).result()
        running.move()
    with running.still():
        running.accept(COLLECTION.id, by["users"][600:]).result()
    monkeypatch.undo()
    running.move()
    running.accept(COLLECTION.id, by["orders"][400:]).result()
    answer = running.query(COUNT)
    assert (answer["n"].value, answer.watermark) == (1_210, (1_210, 1_210))
