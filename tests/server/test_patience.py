"""Questions have so much time: the engine is interrupted when it is over, and others are answered meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import tacit as tc
from support.collectors import COLLECTION, body_of, collector_here, reports_of, served_here
from support.engines import engine_named
from tacit.database import Database
from tacit.engines.deadline import Deadline
from tacit.errors import OverloadedError
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.http import workers
from tacit.server.http.settings import Settings
from tacit.server.keys import Keys
from tacit.server.store import mover, watermarks

FOR_EVER = "SELECT sum(a.n * b.n) AS s FROM numbers AS a, numbers AS b, numbers AS c, numbers AS d"
ASKED = {"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"}


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_engines_stop_when_the_time_is_over(engine: str, tmp_path: Path) -> None:
    import pyarrow as pa

    with engine_named(engine, tmp_path) as database:
        numbers = {"numbers": pa.table({"n": list(range(20_000))})}
        with pytest.raises(OverloadedError) as late, Deadline(0.3)():
            database._engine.fetch(FOR_EVER, [], numbers)
        assert late.value.code == "too-slow"
        assert database._engine.fetch("SELECT count(*) AS n FROM numbers", [], numbers).to_pylist() == [{"n": 20_000}]
        with pytest.raises(OverloadedError), Deadline(0)():
            database._engine.fetch("SELECT 1 AS one", [], {})


@pytest.mark.parametrize(
    "question", ["SELECT MEDIAN(age) AS x FROM users", "SELECT state, AVG(age) AS x FROM users GROUP BY state"]
)
def test_work_between_two_statements_stops_too(question: str) -> None:
    """The codes were read by the same question before: what is computed from them is what takes too long."""
    attributes = [tc.Ordinal("age", 0, 99), tc.Categorical("state", [f"s{i}" for i in range(20)])]
    collection = tc.Collection(tc.Schema([tc.Service("users", key="uid", attributes=attributes)]), 2)
    with tc.connect() as database:
        database.create(collection)
        rows = np.arange(5_000)
        reports = collection.encode(users={"uid": rows, "age": rows % 100, "state": [f"s{i % 20}" for i in rows]})
        database.load(reports)
        database.sql(question)
        with pytest.raises(OverloadedError) as late, Deadline(0)():
            database.sql(question.replace("x", "y"))
        assert late.value.code == "too-slow"
    with pytest.raises(OverloadedError), Deadline(0)():
        collection.predict(question, users=1_000)


def test_closing_interrupts_what_is_being_asked(tmp_path: Path) -> None:
    import pyarrow as pa

    with ThreadPoolExecutor(4) as pool, engine_named("duckdb", tmp_path) as database:
        numbers = {"numbers": pa.table({"n": list(range(20_000))})}
        asked = [pool.submit(database._engine.fetch, FOR_EVER, [], numbers) for _ in range(4)]
        while not database._engine._cursors._busy:  # type: ignore[attr-defined]
            time.sleep(0.01)
        database.close()
        assert all(isinstance(one.exception(30), Exception) for one in asked)


@contextmanager
def slow(tmp_path: Path, seconds: float) -> Iterator[tuple[httpx.Client, threading.Event]]:
    """Lend a collector whose questions keep the engine busy for ever; the event tells that one was interrupted."""
    collector, interrupted = Collector(tmp_path), threading.Event()
    collector.publish(COLLECTION)

    def query(*_: Any, **__: Any) -> None:
        import pyarrow as pa

        try:
            collector.database._engine.fetch(FOR_EVER, [], {"numbers": pa.table({"n": list(range(20_000))})})
        except OverloadedError:
            interrupted.set()
            raise

    collector.query = query  # type: ignore[method-assign]
    app = make_app(collector, Keys(tmp_path / "keys.json"), settings=Settings(question_seconds=seconds))
    with served_here(app) as client:
        yield client, interrupted
    collector.close()


def test_a_question_that_takes_too_long_is_told_so_and_stopped(tmp_path: Path) -> None:
    with slow(tmp_path, 0.5) as (client, interrupted):
        response = client.post("/v1/query", json=ASKED)
        assert (response.status_code, response.json()["code"]) == (503, "too-slow")
        assert "retry-after" in response.headers
        assert interrupted.wait(10)


def test_others_are_served_while_questions_are_thought_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "WAITING", 6)
    with ThreadPoolExecutor(12) as pool:
        with slow(tmp_path, 60) as (client, interrupted):

            def ask(_: int) -> int:
                with httpx.Client(base_url=client.base_url, timeout=90, trust_env=False) as own:
                    return own.post("/v1/query", json=ASKED).status_code

            asked = [pool.submit(ask, number) for number in range(9)]
            while sum(one.done() for one in asked) < 3:  # more than may wait
                time.sleep(0.01)
            assert {one.result() for one in asked if one.done()} == {429}
            path = f"/v1/collections/{COLLECTION.id}/reports"
            assert client.post(path, json=body_of(reports_of(0, 3))).status_code == 200
            assert client.get("/healthz").status_code == 200
            assert not interrupted.is_set()
        assert interrupted.wait(10)  # the server has ended, and nobody thinks on


def test_a_question_waits_for_its_share_of_a_long_move_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six seconds of moving are before it; it waits for half a second, and says what it leaves out."""
    monkeypatch.setattr(watermarks, "MOVING_SECONDS", 0.2)
    monkeypatch.setattr(mover, "SLICE_SECONDS", 0.2)
    monkeypatch.setattr(mover, "MOVED_AT_ONCE", 10)
    load = Database.load

    def slow_load(database: Database, reports: Any) -> Any:
        time.sleep(0.1)
        return load(database, reports)

    monkeypatch.setattr(Database, "load", slow_load)
    with collector_here(tmp_path) as collector:
        collector.accept(COLLECTION.id, [one for one in reports_of(0, 600) if one["service"] == "users"]).result()
        while not collector.inbox.sizes()[COLLECTION.id, "users"].settled:
            time.sleep(0.01)  # until the mover has begun
        began = time.monotonic()
        answer = collector.query(ASKED["sql"])
        assert time.monotonic() - began < 3
        assert answer.watermark is not None
        assert answer.watermark.counted < answer.watermark.acknowledged == 600
        assert [note for note in answer.notes if "wait to be moved" in note]
        monkeypatch.setattr(Database, "load", load)
        collector.move()
        assert collector.query(ASKED["sql"]).watermark == (600, 600)
