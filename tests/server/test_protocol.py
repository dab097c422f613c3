"""The collector over real sockets: contracts by hash, a status for each report, stable errors."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

import tacit as tc
from support.collectors import COLLECTION, Serving, body_of, collector_here, reports_of, served_here, serving
from tacit.errors import OverloadedError
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.http import connections
from tacit.server.keys import Keys
from tacit.server.store.sqlite import SqliteStore


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("collector")) as running:
        yield running


@pytest.fixture
def client(collector: Serving) -> Iterator[httpx.Client]:
    with collector.client() as made:
        yield made


def statuses(response: httpx.Response) -> list[str]:
    assert response.status_code == 200, response.text
    return [one.get("code", one["status"]) for one in response.json()["statuses"]]


def test_contracts_are_their_hash(client: httpx.Client) -> None:
    response = client.get(f"/v1/collections/{COLLECTION.id}")
    assert hashlib.sha256(response.content).hexdigest() == COLLECTION.id
    assert response.content == COLLECTION.to_json().encode()
    assert client.get("/v1/collections/" + "0" * 64).status_code == 404
    [listed] = client.get("/v1/collections").json()["collections"]
    assert listed["id"] == COLLECTION.id


def test_first_one_wins_and_the_same_is_acknowledged_again(collector: Serving, client: httpx.Client) -> None:
    reports = reports_of(0, 20)
    assert set(statuses(client.post(collector.path, json=body_of(reports)))) == {"stored"}
    assert set(statuses(client.post(collector.path, json=body_of(reports)))) == {"again"}
    other = [report | {"public": {"os": "z"}} for report in reports if report["service"] == "users"]
    assert set(statuses(client.post(collector.path, json=body_of(other)))) == {"report-differs"}
    answer = client.post("/v1/query", json={"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users WHERE os = 'i'"})
    assert answer.json()["rows"][0]["n"] == 10


BAD: list[tuple[Any, str]] = [
    (7, "bad-report"),
    ({}, "wrong-person"),
    ({"person": ""}, "wrong-person"),
    ({"person": "x" * 201}, "wrong-person"),
    ({"person": True}, "wrong-person"),
    ({"person": 2**63}, "wrong-person"),
    ({"person": "p", "service": "nobody"}, "unknown-service"),
    ({"person": "p", "service": ["users"]}, "unknown-service"),
    ({"person": "p", "service": "users", "slot": 1}, "unknown-slot"),
    ({"person": "p", "service": "users", "slot": True}, "unknown-slot"),
    ({"person": "p", "service": "users", "slot": 0, "codes": []}, "unknown-code"),
    ({"person": "p", "service": "users", "slot": 0, "codes": [-1]}, "unknown-code"),
    ({"person": "p", "service": "users", "slot": 0, "codes": [10**9]}, "unknown-code"),
    ({"person": "p", "service": "users", "slot": 0, "codes": [1.0]}, "unknown-code"),
    ({"person": "p", "service": "users", "slot": 0, "codes": [1]}, "wrong-public"),
    ({"person": "p", "service": "users", "slot": 0, "codes": [1], "public": {"os": {}}}, "wrong-public"),
    ({"person": "p", "service": "users", "slot": 0, "codes": [1], "public": {"os": 1, "x": 2}}, "wrong-public"),
    ({"person": "p", "service": "users", "slot": 0, "codes": [1], "public": {"os": [3]}}, "wrong-public"),
    ({"person": "p", "service": "users", "slot": 0, "codes": [1], "public": {"os": "x" * 4093}}, "too-large"),
    ({"person": "p", "service": "orders", "slot": 2, "codes": [1]}, "unknown-slot"),
]


def test_one_bad_report_never_sinks_its_batch(collector: Serving, client: httpx.Client) -> None:
    good = reports_of(100, len(BAD) + 1)
    users = [report for report in good if report["service"] == "users"]
    mixed = [users[0]]
    for (bad, _), fine in zip(BAD, users[1:], strict=True):
        mixed += [bad, fine]
    found = statuses(client.post(collector.path, json=body_of(mixed)))
    assert found[::2] == ["stored"] * (len(BAD) + 1)
    assert found[1::2] == [code for _, code in BAD]


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"", 400, "bad-body"),
        (b"[]", 400, "bad-body"),
        (b"\xff", 400, "bad-body"),
        (b"[" * 100_000, 400, "bad-body"),
        (b"{}", 400, "protocol-version"),
        (b'{"tacit": 2}', 400, "protocol-version"),
        (b'{"tacit": 1}', 400, "bad-body"),
        (b'{"tacit": 1, "reports": [' + b"1," * 1000 + b"1]}", 413, "too-large"),
        (b" " * ((1 << 20) + 1), 413, "too-large"),
    ],
)
def test_bad_bodies_are_named(collector: Serving, client: httpx.Client, content: bytes, status: int, code: str) -> None:
    response = client.post(collector.path, content=content, headers={"Content-Type": "text/plain;charset=UTF-8"})
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert response.headers["content-type"] == "application/problem+json"


def numbers_of(text: str) -> dict[str, str]:
    """Return the samples of metrics."""
    return dict(line.rsplit(maxsplit=1) for line in text.splitlines() if not line.startswith("#"))


def test_questions_errors_and_numbers(collector: Serving, client: httpx.Client) -> None:
    client.post(collector.path, json=body_of(reports_of(1000, 200)))
    sql = "SELECT COUNT(*) AS n, AVG(pay) AS p FROM users JOIN orders USING (uid) WHERE age < 5"
    row = client.post("/v1/query", json={"tacit": 1, "sql": sql, "confidence": 0.9}).json()["rows"][0]
    assert row["n_low"] < row["n"] < row["n_high"]
    bad = client.post("/v1/query", json={"tacit": 1, "sql": "SELECT COUNT(*) FROM nowhere"})
    assert (bad.status_code, bad.json()["code"]) == (400, "unknown-table")
    assert client.get("/healthz").json() == {"status": "ok"}
    numbers = numbers_of(client.get("/metrics").text)
    assert int(numbers["tacit_stored_total"]) >= 400
    assert int(numbers["tacit_reports_known"]) == int(numbers["tacit_stored_total"])


@pytest.mark.parametrize("connections", [1, 16])
def test_reports_that_come_several_times_are_stored_once(collector: Serving, connections: int) -> None:
    """R5: reports are sent 1, 2, 3 and 5 times, one after the other or at once, in batches that overlap."""
    reports = reports_of(5_000 * connections, 40)
    times = (1, 2, 3, 5)
    sendings = [[one for place, one in enumerate(reports) if number < times[place % 4]] for number in range(5)]
    batches = [some[start : start + 7] for some in sendings for start in range(0, len(some), 7)]
    with collector.client() as client, ThreadPoolExecutor(connections) as pool:
        answers = list(pool.map(lambda some: statuses(client.post(collector.path, json=body_of(some))), batches))
        found: dict[tuple[str, str, int], list[str]] = {}
        for batch, answer in zip(batches, answers, strict=True):
            for report, status in zip(batch, answer, strict=True):
                found.setdefault((report["person"], report["service"], report["slot"]), []).append(status)
        assert {tuple(sorted(each)) for each in found.values()} == {
            (*("again",) * (count - 1), "stored") for count in times
        }
        before = refused(client)
        other = [report | {"public": {"os": "other"}} for report in reports if report["service"] == "users"]
        assert set(statuses(client.post(collector.path, json=body_of(other)))) == {"report-differs"}
        assert refused(client) == before + len(other)


def refused(client: httpx.Client) -> int:
    numbers = numbers_of(client.get("/metrics").text)
    return int(numbers["tacit_refused_total"])


def test_forgotten_people_are_gone_and_stay_away(collector: Serving, client: httpx.Client) -> None:
    reports = reports_of(9_000, 2)
    client.post(collector.path, json=body_of(reports))
    count = {"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"}
    before = client.post("/v1/query", json=count).json()["rows"][0]["n"]
    mine = [report for report in reports if report["person"] == "u-9000"]
    assert client.post("/v1/forget", json={"tacit": 1, "person": "u-9000"}).json() == {"deleted": len(mine)}
    assert client.post("/v1/query", json=count).json()["rows"][0]["n"] == before - 1
    assert set(statuses(client.post(collector.path, json=body_of(mine)))) == {"forgotten"}
    assert client.post("/v1/forget", json={"tacit": 1, "person": "u-9000"}).json() == {"deleted": 0}


def test_a_collector_beyond_this_machine_needs_tls_and_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tacit.cli import main

    assert main(["serve", str(tmp_path), "--host", "0.0.0.0", "--port", "0"]) == 2
    assert "no-tls" in capsys.readouterr().err
    assert main(["serve", str(tmp_path), "--host", "0.0.0.0", "--behind-proxy", "--port", "0"]) == 2
    assert "no-keys" in capsys.readouterr().err


def test_half_a_letter_is_refused_and_sinks_nothing(collector: Serving, client: httpx.Client) -> None:
    [good] = [report for report in reports_of(20_000, 1) if report["service"] == "users"]
    text = '{"tacit":1,"reports":[' + json.dumps(good) + ',{"person":"p","service":"users","slot":0,"codes":[1],'
    text += '"public":{"os":"\\ud800"}}]}'
    assert statuses(client.post(collector.path, content=text.encode())) == ["stored", "wrong-public"]


def test_without_keys_pages_of_others_may_not_borrow_it(collector: Serving, client: httpx.Client) -> None:
    body = {"tacit": 1, "person": "u-1"}
    origins = ("https://evil.example", "null", "file://", "[", "http://[::1", "localhost", "https://", "")
    hosts = ("stats.example.org", "[", "[::1", "")
    for headers in [{"Origin": one} for one in origins] + [{"Host": one} for one in hosts]:
        response = client.post("/v1/forget", json=body, headers=headers)
        assert (response.status_code, response.json()["code"]) == (403, "wrong-origin"), headers
    assert client.post("/v1/forget", json=body, headers={"Origin": "http://localhost:3000"}).status_code == 200


def test_keys_are_for_scopes_origins_and_services(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "one" / "store" / "keys.json")
    (tmp_path / "one" / "store").mkdir(parents=True)
    page = keys.create("shop", ["ingest"], "https://shop.example/", ["users"])
    analyst = keys.create("analyst", ["query"])
    with serving(tmp_path / "one", "--allow-without-token", "shop") as running, running.client() as client:
        reports = reports_of(0, 2)
        at_home = {"Origin": "https://shop.example"}
        found = client.post(running.path, json=body_of(reports, key=page), headers=at_home)
        expected = {"users": "stored", "orders": "wrong-service"}
        assert statuses(found) == [expected[report["service"]] for report in reports]
        assert found.headers["access-control-allow-origin"] == "https://shop.example"
        forget = {"tacit": 1, "person": "u-1", "key": page}
        query = {"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"}
        cases: list[tuple[str, dict[str, Any], dict[str, str], int, str]] = [
            (running.path, body_of(reports), {}, 401, "unknown-key"),
            (running.path, body_of(reports, key="\ud800"), {}, 401, "unknown-key"),
            (running.path, body_of(reports, key=analyst), {}, 403, "wrong-scope"),
            (running.path, body_of(reports, key=page), {"Origin": "https://evil.example"}, 403, "wrong-origin"),
            (running.path, body_of(reports, key=page), {}, 403, "wrong-origin"),
            ("/v1/forget", forget, at_home, 403, "token-needed"),
            ("/v1/query", query | {"key": page}, at_home, 403, "wrong-scope"),
            ("/v1/query", query, {}, 401, "unknown-key"),
        ]
        for path, body, headers, status, code in cases:
            response = client.post(path, content=json.dumps(body).encode(), headers=headers)
            assert (response.status_code, response.json()["code"]) == (status, code), (path, code)
        assert client.post("/v1/query", json=query | {"key": analyst}).json()["rows"][0]["n"] == 2
    assert page.encode() not in (tmp_path / "one" / "store" / "keys.json").read_bytes()


def test_a_person_is_in_one_tier_of_a_round(tmp_path: Path) -> None:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=[tc.Ordinal("a", 0, 3)])])
    tiers = [tc.Collection(schema, epsilon, tier=tier) for tier, epsilon in (("", 1.0), ("high", 2.0))]
    collector = Collector(tmp_path)
    for tier in tiers:
        collector.publish(tier)
    report = {"person": "p", "service": "s", "slot": 0, "codes": [0]}
    assert collector.accept(tiers[0].id, [report]).result() == [{"status": "stored"}]
    assert collector.accept(tiers[1].id, [report]).result() == [{"status": "refused", "code": "wrong-tier"}]
    collector.close()


def test_a_commit_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=[tc.Ordinal("a", 0, 3), tc.Public("fee")])])
    collection = tc.Collection(schema, 1.0)
    collector = Collector(tmp_path)
    collector.publish(collection)
    report = {"person": "p", "service": "s", "slot": 0, "codes": [0], "public": {"fee": 3}}
    original = SqliteStore.insert

    def full(self: SqliteStore, rows: Any) -> None:
        original(self, rows)
        message = "disk full"
        raise sqlite3.OperationalError(message)

    monkeypatch.setattr(SqliteStore, "insert", full)
    with pytest.raises(OverloadedError):
        collector.accept(collection.id, [report]).result()
    monkeypatch.setattr(SqliteStore, "insert", original)
    assert collector.accept(collection.id, [report]).result() == [{"status": "stored"}]
    collector.close()
    again = Collector(tmp_path)
    assert again.query("SELECT SUM(fee) AS s FROM s")["s"].value == 3.0
    again.close()


def test_a_column_without_a_type_takes_any_scalar(tmp_path: Path) -> None:
    schema = tc.Schema([tc.Service("s", key="uid", attributes=[tc.Ordinal("a", 0, 3), tc.Public("fee")])])
    collection, collector = tc.Collection(schema, 1.0), Collector(tmp_path)
    collector.publish(collection)
    for person, fee in enumerate([None, 2.5, None, 4]):
        report = {"person": person, "service": "s", "slot": 0, "codes": [0], "public": {"fee": fee}}
        assert collector.accept(collection.id, [report]).result() == [{"status": "stored"}]
        assert collector.move() == 1
    assert collector.query("SELECT SUM(fee) AS s FROM s")["s"].value == 6.5
    text = {"person": 9, "service": "s", "slot": 0, "codes": [0], "public": {"fee": "x"}}
    assert collector.accept(collection.id, [text]).result() == [{"status": "stored"}]
    assert collector.query("SELECT SUM(fee) AS s FROM s")["s"].value == 6.5
    collector.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"not http at all\r\n\r\n",
        b"GET /v1/collections HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: " + b"x" * 20_000 + b"\r\n\r\n",
        b"GET /v1/collections HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + b"X: y\r\n" * 9_000 + b"\r\n",
        b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=["not http", "long header", "many headers", "length", "chunk"],
)
def test_what_is_not_http_is_a_problem_too(collector: Serving, sent: bytes) -> None:
    parts = urlsplit(collector.address)
    with socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=60) as connection:
        connection.sendall(sent)
        received = b""
        while chunk := connection.recv(4096):
            received += chunk
    head, _, content = received.partition(b"\r\n\r\n")
    assert head.startswith((b"HTTP/1.1 400", b"HTTP/1.1 431"))
    assert b"application/problem+json" in head
    assert json.loads(content)["code"] in ("bad-request", "bad-body", "head-too-large")


def spoken(collector: Serving, *parts: bytes) -> bytes:
    """Send parts one after the other, so that each arrives alone, and return everything that comes until the end."""
    place = urlsplit(collector.address)
    received = b""
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(0.02)
        except OSError:  # closed already, with an answer to be read
            pass
        try:
            while chunk := connection.recv(4096):
                received += chunk
        except ConnectionResetError:
            pass
    return received


@pytest.mark.parametrize("part", [b"x" * 2_000, b"X: y\r\n" * 300, b"\r\n" * 1_000], ids=["value", "headers", "blank"])
def test_a_head_that_does_not_end_is_refused_in_time(collector: Serving, part: bytes) -> None:
    begun = b"" if part.startswith(b"\r\n") else b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "
    received = spoken(collector, begun, *[part] * 20)
    assert not received or (received.startswith(b"HTTP/1.1 400") and b"bad-request" in received)


@pytest.mark.parametrize("part", [b"abc: def\r\n" * 10_000, b"x" * 100_000], ids=["trailers", "a trailer"])
def test_what_follows_a_body_has_an_end(collector: Serving, part: bytes) -> None:
    head = b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    received = spoken(collector, head + b"2\r\n{}\r\n0\r\nabc: ", *[part] * 30)
    assert received.count(b"HTTP/1.1 ") <= 1
    assert b"HTTP/1.1 200" not in received
    assert httpx.get(f"{collector.address}/healthz").status_code == 200


def test_a_body_that_was_answered_early_may_not_come_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1.0)
    with collector_here(tmp_path) as made, served_here(make_app(made, Keys(tmp_path / "keys.json"))) as client:
        address = (client.base_url.host, client.base_url.port or 0)
        with socket.create_connection(address, timeout=30) as connection:
            connection.sendall(b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
            assert connection.recv(4096).startswith(b"HTTP/1.1 404")
            start = time.monotonic()
            with contextlib.suppress(OSError):
                while connection.send(b"x") and time.monotonic() < start + 60:
                    time.sleep(0.05)
            assert time.monotonic() < start + 45


def test_requests_may_follow_each_other_without_waiting(collector: Serving) -> None:
    """A large body and the beginning of the next head come together; the head is not as large as both."""
    body = json.dumps({"tacit": 1, "sql": "SELECT nothing", "more": "x" * 60_000}).encode()
    post = b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    get = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    received = spoken(collector, post + get[:20], get[20:])
    assert [answer[:3] for answer in received.split(b"HTTP/1.1 ")[1:]] == [b"400", b"200"]
    assert b"bad-request" not in received


def test_people_who_were_loaded_in_bulk_are_counted_once(tmp_path: Path) -> None:
    """The engine looks for people again only where it has others than the inbox; then it must."""
    with collector_here(tmp_path) as made:
        reports = reports_of(0, 30)
        made.accept(COLLECTION.id, reports[:20]).result()
        assert made.move() == 20
        users = {"uid": [f"u-{number}" for number in range(15, 25)], "age": [1] * 10, "os": ["a"] * 10}
        made.database.load({"users": COLLECTION.encode(users=users, orders={"uid": [], "pay": []})["users"]})
        made.accept(COLLECTION.id, reports[20:30]).result()
        made.move()
        assert made.query("SELECT COUNT(*) AS n FROM users")["n"].value == 30.0


def test_a_move_that_was_cut_short_is_repeated_without_counting_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with collector_here(tmp_path) as made:
        reports = reports_of(0, 30)
        made.accept(COLLECTION.id, reports).result()
        with monkeypatch.context() as patch:
            patch.setattr(made.inbox, "mark_moved", lambda *_: 1 / 0)  # the database has them, the inbox has not let go
            assert made.move() == 0
            assert made.inbox.counts()["pending"] == 90
        made.move()  # unless the collector's own thread has repeated it by now
        assert made.inbox.counts()["pending"] == 0
        made.accept(COLLECTION.id, reports_of(30, 5)).result()
        assert made.forget("u-3") == 3
        assert made.query("SELECT COUNT(*) AS n FROM users")["n"].value == 34.0
