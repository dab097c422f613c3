"""S6: sizes, compression, speed and patience have limits, and going beyond them has names."""

from __future__ import annotations

import gzip
import json
import resource
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.collectors import COLLECTION, body_of, collector_here, reports_of, served_here
from tacit.client.tokens import sign
from tacit.errors import OverloadedError
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.http.bodies import MOST_BYTES
from tacit.server.http.rates import Rate
from tacit.server.http.settings import Settings
from tacit.server.keys import AccessKey, Keys
from tacit.server.store import inbox
from tacit.server.store.sqlite import SqliteStore

PATH = f"/v1/collections/{COLLECTION.id}/reports"
GZIP = {"Content-Encoding": "gzip"}


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    with collector_here(tmp_path_factory.mktemp("collector")) as made:
        yield made


@pytest.fixture(scope="module")
def client(collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    app = make_app(collector, Keys(tmp_path_factory.mktemp("keys") / "keys.json"), settings=Settings(body_seconds=1))
    with served_here(app) as made:
        yield made


def named(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json().get("code", "")


def test_bodies_that_come_in_pieces_have_the_same_limit(client: httpx.Client) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(40):
            yield b" " * (1 << 15)

    assert named(client.post(PATH, content=pieces())) == (413, "too-large")
    whole = json.dumps(body_of(reports_of(0, 3))).encode()
    padded = whole + b" " * (MOST_BYTES - len(whole))
    assert client.post(PATH, content=(padded[i : i + 9_999] for i in range(0, len(padded), 9_999))).status_code == 200
    assert named(client.post(PATH, content=padded + b" ")) == (413, "too-large")


def test_compressed_bodies_are_read(client: httpx.Client) -> None:
    whole = json.dumps(body_of(reports_of(100, 300))).encode()
    small = gzip.compress(whole)
    response = client.post(PATH, content=small, headers=GZIP)
    assert response.status_code == 200, response.text
    assert {one["status"] for one in response.json()["statuses"]} == {"stored"}
    assert len(whole) > 5 * len(small)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (gzip.compress(b" " * (64 << 20)), (413, "too-large")),
        (gzip.compress(gzip.compress(b" " * (64 << 20))), (400, "bad-body")),
        (gzip.compress(b" " * (MOST_BYTES - 1)), (413, "too-large")),
        (gzip.compress(b'{"tacit": 1}')[:-4], (400, "bad-body")),
        (gzip.compress(b'{"tacit": 1}') + b"x", (400, "bad-body")),
        (gzip.compress(b'{"tacit": 1}') * 2, (400, "bad-body")),
        (b'{"tacit": 1}', (400, "bad-body")),
        (b"", (400, "bad-body")),
    ],
    ids=["bomb", "bomb in a bomb", "grows too much", "cut", "longer", "two", "none", "empty"],
)
def test_compression_is_no_way_around(client: httpx.Client, content: bytes, expected: tuple[int, str]) -> None:
    assert named(client.post(PATH, content=content, headers=GZIP)) == expected


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, gzip", "zstd", "x"])
def test_other_encodings_are_named(client: httpx.Client, encoding: str) -> None:
    assert named(client.post(PATH, content=b"x", headers={"Content-Encoding": encoding})) == (415, "unknown-encoding")


def test_a_number_that_is_too_long_spoils_its_own_report_only(client: httpx.Client) -> None:
    [good, *_] = reports_of(2_000, 1)
    text = '{"tacit":1,"reports":[{"person":' + "9" * 5_000 + "}," + json.dumps(good) + "]}"
    statuses = client.post(PATH, content=text.encode()).json()["statuses"]
    assert [one.get("code", one["status"]) for one in statuses] == ["wrong-person", "stored"]


def test_buckets_fill_steadily_and_hold_so_much() -> None:
    now = [0.0]
    rate, key = Rate("reports", 10, 20, clock=lambda: now[0]), AccessKey("shop", ("ingest",), "", "digest")
    rate.take(key, 20)
    with pytest.raises(OverloadedError) as refused:
        rate.take(key, 15)
    assert (refused.value.code, refused.value.retry_after) == ("slow-down", 2)
    rate.take(AccessKey("other", ("ingest",), "", "another"), 20)
    now[0] = 1.5
    rate.take(key, 15)
    now[0] = 100.0
    rate.take(key, 1_000)  # more than a full bucket needs a full one, and is paid for afterwards
    now[0] = 150.0
    with pytest.raises(OverloadedError):
        rate.take(key, 1)


def test_keys_that_do_too_much_are_told_to_wait(collector: Collector, tmp_path: Path) -> None:
    keys = Keys(tmp_path / "keys.json")
    one, other, analyst = keys.create("a", ["ingest"]), keys.create("b", ["ingest"]), keys.create("c", ["query"])
    slow = Settings(reports_per_second=0.3, questions_per_minute=2)
    with served_here(make_app(collector, keys, settings=slow)) as client:
        reports = reports_of(3_000, 1)
        assert client.post(PATH, json=body_of(reports, key=one)).status_code == 200
        refused = client.post(PATH, json=body_of(reports, key=one))
        assert named(refused) == (429, "slow-down")
        assert 1 <= int(refused.headers["retry-after"]) <= 10
        assert client.post(PATH, json=body_of(reports, key=other)).status_code == 200
        question = {"tacit": 1, "key": analyst, "sql": "SELECT COUNT(*) AS n FROM users"}
        found = [client.post("/v1/query", json=question).status_code for _ in range(3)]
        assert found == [200, 200, 429]


def test_a_public_key_is_emptied_by_nobody(collector: Collector, tmp_path: Path) -> None:
    """A browser key is in every page: neither strangers nor one of its people keep the others from reporting."""
    keys, page = Keys(tmp_path / "keys.json"), {"Origin": "https://shop.example"}
    key, secret = keys.create("page", ["ingest"], page["Origin"]), keys.create("page", ["sign"])
    first, second = ([one for one in reports_of(n, 1) if one["service"] == "users"] for n in (900, 901))

    def token(person: str) -> str:
        return sign(secret, collection=COLLECTION.id, person=person)

    with served_here(make_app(collector, keys, settings=Settings(reports_per_second=0.3))) as client:

        def send(reports: list[Any], proof: str) -> tuple[int, str]:
            return named(client.post(PATH, json=body_of(reports, key=key, token=proof), headers=page))

        assert send(first * 500, token("u-1")) == (403, "bad-token")
        assert send([{}] * 1000, token("u-1"))[0] == 200
        assert send([{}] * 1000, token("u-1")) == (429, "slow-down")
        assert send(first * 500, token("u-900"))[0] == 200
        assert send(first, token("u-900")) == (429, "slow-down")
        assert send(second, token("u-901"))[0] == 200


def test_slow_senders_keep_nobody_waiting(client: httpx.Client) -> None:
    """S6: 500 connections that send a byte now and then: others are served, and the slow ones are told off."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4_096, most), most))  # both ends are in this process
    head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{{".encode()
    slow = [socket.create_connection((client.base_url.host, client.base_url.port or 0)) for _ in range(500)]
    done = threading.Event()

    def drip() -> None:
        while not done.wait(0.1):
            for each in slow:
                each.send(b" ")

    for each in slow:
        each.sendall(head)
    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        for first in range(4_000, 4_010):
            assert client.post(PATH, json=body_of(reports_of(first, 1))).status_code == 200
    finally:
        done.set()
        dripping.join()
    slow[0].settimeout(60)
    assert b"slow-body" in slow[0].recv(4_096)
    for each in slow:
        each.close()


def test_more_than_can_wait_is_turned_away_and_served_later(
    client: httpx.Client, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R10 in small: while the store is slow, who comes too much is told so at once; questions and health go on."""
    go_on, insert = threading.Event(), SqliteStore.insert

    def slowly(self: SqliteStore, rows: Any) -> None:
        go_on.wait(30)
        insert(self, rows)

    monkeypatch.setattr(SqliteStore, "insert", slowly)
    monkeypatch.setattr(inbox, "WAITING_REPORTS", 60)
    batches = [body_of(reports_of(first, 10)) for first in range(6_000, 6_080, 10)]
    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(client.post, PATH, json=batch) for batch in batches]
        while sum(one.done() for one in sent) < 6:
            time.sleep(0.01)
        refused = [one.result() for one in sent if one.done()]
        assert {named(one) for one in refused} == {(429, "overloaded")}
        assert {one.headers["retry-after"] for one in refused} == {"1"}
        assert client.get("/healthz").status_code == 200
        go_on.set()
        assert [one.result().status_code for one in sent if one.result() not in refused] == [200, 200]
    for batch in batches:
        assert client.post(PATH, json=batch).status_code == 200
