"""R16: health tells the truth when files or a PostgreSQL server are gone; what must survive lives in the store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.collectors import COLLECTION, body_of, collector_here, reports_of, served_here, serving
from support.engines import own_postgres, postgres_address
from tacit.database import Database
from tacit.errors import EngineError, OverloadedError, UsageError
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.keys import Keys
from tacit.server.store import mover
from tacit.server.store.base import content_digest
from tacit.server.store.log import Log

COUNT = {"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"}
RUN_OUT = "UPDATE tacit_leases SET until = '-infinity'"
"""What ten seconds do to the lease of a collector that was stopped."""

SECONDS = 5.0
"""In which readiness must have noticed."""


@pytest.fixture
def address() -> Iterator[str]:
    with postgres_address() as made:
        yield made


def told(collector: Collector, reports: list[Any]) -> set[str]:
    return {one.get("code", one["status"]) for one in collector.accept(COLLECTION.id, reports).result()}


def wait_until(client: httpx.Client, status: int, seconds: float = SECONDS) -> httpx.Response:
    """Return what /readyz says once it has this status."""
    end = time.monotonic() + seconds
    while (found := client.get("/readyz")).status_code != status:
        assert time.monotonic() < end, found.text
        time.sleep(0.1)
    return found


def is_problem(response: httpx.Response, status: int, *codes: str) -> bool:
    """Tell whether a response says what is wrong, and when to try again."""
    assert response.headers["content-type"] == "application/problem+json"
    assert int(response.headers["retry-after"]) >= 1
    assert "Internal error" not in response.text
    found = response.json()
    return response.status_code == status and found["code"] in codes


def test_readiness_writes_and_liveness_does_not(tmp_path: Path) -> None:
    with serving(tmp_path) as running, running.client() as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.get("/readyz").json() == {"status": "ready", "warnings": []}
        client.post(running.path, json=body_of(reports_of(0, 10)))
        answer = client.post("/v1/query", json=COUNT).json()
        assert answer["watermark"] == {"acknowledged": 10, "counted": 10}


@pytest.mark.parametrize("name", ["inbox.db", "log.db"])
def test_a_file_that_is_gone_is_noticed(tmp_path: Path, name: str) -> None:
    """Reports would be acknowledged, or deletions logged, into nowhere."""
    with serving(tmp_path) as running, running.client() as client:
        client.post(running.path, json=body_of(reports_of(0, 10)))
        path = tmp_path / "store" / name
        path.rename(path.with_suffix(".away"))
        fault = wait_until(client, 503)
        assert is_problem(fault, 503, "no-store")
        assert client.get("/healthz").status_code == 200
        assert is_problem(client.post("/v1/query", json=COUNT), 503, "no-store") or name == "log.db"
        path.with_suffix(".away").rename(path)
        wait_until(client, 200)
        assert client.post("/v1/query", json=COUNT).json()["watermark"]["counted"] == 10


def test_an_analytical_file_that_is_gone_is_rebuilt_without_a_question(tmp_path: Path) -> None:
    with serving(tmp_path) as running, running.client() as client:
        client.post(running.path, json=body_of(reports_of(0, 300)))
        assert client.post("/v1/query", json=COUNT).json()["watermark"]["counted"] == 300
        (tmp_path / "store" / "reports.tacit").unlink()
        time.sleep(1)
        wait_until(client, 200)
        assert (tmp_path / "store" / "reports.tacit").exists()
        assert client.post("/v1/query", json=COUNT).json()["watermark"] == {"acknowledged": 300, "counted": 300}


def test_an_altered_file_of_a_lake_is_said_until_it_is_restored(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    with collector_here(tmp_path / "store", lake=str(lake)) as collector:
        told(collector, reports_of(0, 40))
        collector.move()
        victims = {path: path.read_bytes() for path in lake.rglob("*.parquet")}
        for path, content in victims.items():
            path.write_bytes(content[: len(content) // 2] + b"!" + content[len(content) // 2 + 1 :])
        with served_here(make_app(collector, Keys(tmp_path / "keys.json"))) as client:
            assert is_problem(client.post("/v1/query", json=COUNT), 503, "no-store", "damaged-store")
            assert "lake" in wait_until(client, 503).json()["detail"]
            assert told(collector, reports_of(100, 5)) == {"stored"}
            for path, content in victims.items():
                path.write_bytes(content)
            wait_until(client, 200, 2 * SECONDS)
            answer = client.post("/v1/query", json=COUNT).json()
            assert answer["watermark"] == {"acknowledged": 45, "counted": 45}


def test_a_postgres_server_goes_away_and_comes_back(tmp_path: Path) -> None:
    with (
        own_postgres() as server,
        serving(tmp_path, "--store", server.address) as running,
        running.client() as client,
    ):
        assert client.post(running.path, json=body_of(reports_of(0, 100))).status_code == 200
        assert client.post("/v1/query", json=COUNT).json()["watermark"] == {"acknowledged": 100, "counted": 100}
        server.stop()
        fault = wait_until(client, 503)
        assert is_problem(fault, 503, "no-store")
        for _ in range(3):
            assert is_problem(client.post("/v1/query", json=COUNT), 503, "no-store")
            assert is_problem(client.post(running.path, json=body_of(reports_of(100, 10))), 503, "no-store")
            catalogue = client.get("/v1/catalogue")
            assert is_problem(catalogue, 503, "no-store")
        assert client.get("/healthz").status_code == 200
        server.start()
        wait_until(client, 200, 10)
        assert client.post(running.path, json=body_of(reports_of(100, 10))).status_code == 200
        answer = client.post("/v1/query", json=COUNT).json()
        assert answer["rows"][0]["n"] == 110
        assert answer["watermark"] == {"acknowledged": 110, "counted": 110}


def test_what_was_read_before_the_lease_ran_out_is_not_loaded(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another collector has deleted one of the people since: they must not come back."""
    import psycopg

    monkeypatch.setattr(mover, "IDLE_SECONDS", 3600)
    made, others = mover.batch_of, list[Collector]()

    def slow(*given: Any) -> Any:
        table = made(*given)
        if not others:
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute(RUN_OUT)
            others.append(Collector(tmp_path / "two", address))
            others[0].forget("u-1")
        return table

    with collector_here(tmp_path / "one", store=address) as first:
        told(first, reports_of(0, 5))
        monkeypatch.setattr(mover, "batch_of", slow)
        first.move()
        assert first.mover.fault is not None
        answer = others[0].query(COUNT["sql"])
        others[0].close()
        assert (answer["n"].value, answer.watermark) == (4, (4, 4))


def test_deleted_people_stay_away_from_a_fresh_folder(address: str, tmp_path: Path) -> None:
    with collector_here(tmp_path / "one", store=address) as first:
        told(first, reports_of(0, 10))
        first.forget("u-4")
        assert not (tmp_path / "one" / "tombstones.key").exists()
    theirs = [report for report in reports_of(0, 10) if report["person"] == "u-4"]
    with collector_here(tmp_path / "two", store=address) as again:
        assert told(again, theirs) == {"forgotten"}
        assert told(again, [report for report in reports_of(0, 10) if report not in theirs]) == {"again"}
        assert again.query(COUNT["sql"]).watermark == (9, 9)


def test_a_fresh_folder_is_not_open_to_all_and_goes_on_with_the_log(address: str, tmp_path: Path) -> None:
    with collector_here(tmp_path / "one", store=address) as first:
        told(first, reports_of(0, 3))
        first.forget("u-1")
        first.check_keys(has_keys=True)
        before = first.log.head()
    with collector_here(tmp_path / "two", store=address) as again:
        assert again.log.read().since(before).ok
        assert [entry["event"] for entry in again.log.read().entries] == ["contract-published", "person-deleted"]
        with pytest.raises(UsageError) as refused:
            again.check_keys(has_keys=False)
        assert refused.value.code == "no-keys"


def test_the_log_of_a_folder_goes_on_in_the_database(address: str, tmp_path: Path) -> None:
    """Collectors before version 3 of the store kept it in the folder."""
    (tmp_path / "one").mkdir()
    before = Log(tmp_path / "one" / "log.db")
    before.add("question", sql="0", key="a")
    before.add("question", sql="1", key="b")
    head = before.head()
    with collector_here(tmp_path / "one", store=address) as made:
        assert made.log.read().since(head).ok
        assert len(made.log.read().entries) == 3
    before.add("key-created", name="c")
    head = before.head()
    for _ in range(2):
        with collector_here(tmp_path / "one", store=address) as made:
            noted = [entry["details"] for entry in made.log.read().entries if entry["event"] == "folder-log"]
            assert noted == [{"entries": 3, "head": head.hash}], "once for each head"
    before.close()


VERSION_1 = """
CREATE TABLE tacit_store (version INTEGER);
CREATE TABLE tacit_places (place SERIAL PRIMARY KEY, collection TEXT, service TEXT, round TEXT,
  UNIQUE (collection, service));
CREATE TABLE tacit_known (place INTEGER, person TEXT COLLATE "C", slot INTEGER, digest BYTEA,
  PRIMARY KEY (place, person, slot));
CREATE TABLE tacit_pending (number BIGSERIAL PRIMARY KEY, place INTEGER, person TEXT COLLATE "C",
  slot INTEGER, content BYTEA);
CREATE INDEX tacit_whole ON tacit_pending (place, person);
CREATE TABLE tacit_kinds (place INTEGER, number INTEGER, kind TEXT, PRIMARY KEY (place, number));
CREATE TABLE tacit_forgotten (collection TEXT, digest BYTEA, PRIMARY KEY (collection, digest));
CREATE TABLE tacit_totals (known BIGINT);
INSERT INTO tacit_store VALUES (1);
INSERT INTO tacit_totals VALUES (1);
"""


def test_a_postgres_store_of_version_1_brings_its_key_along(address: str, tmp_path: Path) -> None:
    import psycopg

    from tacit.server.store.tombstones import Tombstones

    key = bytes(range(32))
    content = b'[[3],["a"]]'
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(VERSION_1)
        place = "INSERT INTO tacit_places (collection, service, round) VALUES (%s, 'users', '') RETURNING place"
        [(number,)] = connection.execute(place, [COLLECTION.id]).fetchall()
        row = [number, "u-8", 0, content_digest(content)]
        connection.execute("INSERT INTO tacit_known VALUES (%s, %s, %s, %s)", row)
        insert = "INSERT INTO tacit_pending (place, person, slot, content) VALUES (%s, %s, %s, %s)"
        connection.execute(insert, [*row[:3], content])
        trace = Tombstones(key).of(COLLECTION.id, "u-4")
        connection.execute("INSERT INTO tacit_forgotten VALUES (%s, %s)", [COLLECTION.id, trace])
    with pytest.raises(EngineError) as refused:
        Collector(tmp_path / "fresh", address)
    assert refused.value.code == "tombstone-key-missing", "nobody may be stored again because a file is missing"
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "tombstones.key").write_bytes(key)
    theirs = [report for report in reports_of(0, 10) if report["person"] == "u-4"]
    with collector_here(tmp_path / "old", store=address) as migrated:
        assert told(migrated, theirs) == {"forgotten"}
        assert not (tmp_path / "old" / "tombstones.key").exists()
        assert migrated.query(COUNT["sql"]).watermark == (1, 1)
    with collector_here(tmp_path / "fresh", store=address) as again:
        assert told(again, theirs) == {"forgotten"}


def test_rows_taken_from_postgres_are_brought_back(address: str, tmp_path: Path) -> None:
    import psycopg

    from tacit.encode.reports import report_table

    with collector_here(tmp_path, store=address) as made:
        told(made, reports_of(0, 30))
        assert made.query(COUNT["sql"]).watermark == (30, 30)
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"DELETE FROM \"{report_table(COLLECTION.id, 'users')}\" WHERE uid < 'u-2'")
        for _ in range(50):
            try:
                answer = made.query(COUNT["sql"])
                break
            except OverloadedError as refusal:
                if refusal.code != "rebuilding":
                    raise
                time.sleep(0.1)
        assert (answer["n"].value, answer.watermark) == (30, (30, 30))


def test_a_lease_that_runs_out_between_the_check_and_the_load_stores_nothing(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stamp is compared inside the transaction that stores, so no time is left for another collector."""
    import psycopg

    monkeypatch.setattr(mover, "IDLE_SECONDS", 3600)
    load, others = Database.load, list[Collector]()

    def late(database: Database, reports: Any) -> Any:
        if not others:
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute(RUN_OUT)
            others.append(Collector(tmp_path / "two", address))
            others[0].forget("u-1")
        return load(database, reports)

    with collector_here(tmp_path / "one", store=address) as first:
        told(first, reports_of(0, 5))
        monkeypatch.setattr(Database, "load", late)
        first.move()
        assert first.mover.fault is not None
        answer = others[0].query(COUNT["sql"])
        assert (answer["n"].value, answer.watermark) == (4, (4, 4))
        others[0].close()
        first.move()
        assert first.mover.fault is None, "it has the database again, and compares it anew"
        told(first, reports_of(20, 5))
        assert first.query(COUNT["sql"]).watermark == (9, 9)
