"""The Python client against a real collector: one budget, one draw, the same bytes, nothing raw anywhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from support.collectors import COLLECTION, Serving, serving
from tacit.client import Client, connect
from tacit.errors import ContractError, PrivacyError, TacitError, UsageError

ROW = {"age": 4, "os": "ios"}


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("collector")) as running:
        yield running


@pytest.fixture
def client(collector: Serving, tmp_path: Path) -> Iterator[Client]:
    made = connect(collector.address, collection=COLLECTION.id, store=tmp_path / "wallet.db", cap=6, every=0)
    yield made
    made.close()


def test_rows_are_drawn_once_delivered_and_counted(client: Client, collector: Serving) -> None:
    me = client.person("client-1")
    first = me.record("users", ROW)
    assert me.record("users", {"age": 9, "os": "other"}) == me.history()[0]  # the first one counts
    assert me.history()[0].bodies == first.bodies
    me.rows("orders", [])
    assert me.budget() == {"spent": 6.0, "cap": 6.0}
    delivered = client.flush()
    assert (delivered.sent, delivered.rejected, delivered.pending, delivered.problem) == (3, 0, 0, "")
    assert client.flush().sent == 0
    with collector.client() as http:
        sql = "SELECT COUNT(*) AS n FROM users WHERE os = 'ios'"
        assert http.post("/v1/query", json={"tacit": 1, "sql": sql}).json()["rows"][0]["n"] == 1


def test_none_or_many_rows_look_the_same(client: Client) -> None:
    sizes = set()
    for number, count in enumerate((0, 1, 3, 9)):
        me = client.person(f"rows-{number}")
        entry = me.rows("orders", [{"pay": 2}] * count)
        sizes.add((len(entry.bodies), tuple(sorted(json.loads(entry.bodies[0]))), entry.epsilon))
    assert len(sizes) == 1
    assert client.flush().sent == 8


def test_nobody_spends_more_than_the_cap(collector: Serving, tmp_path: Path) -> None:
    poor = connect(collector.address, collection=COLLECTION.id, store=tmp_path / "w.db", cap=3, every=0)
    me = poor.person(7)
    me.record("users", ROW)
    with pytest.raises(PrivacyError) as caught:
        me.rows("orders", [])
    assert caught.value.code == "cap-exceeded"
    assert me.budget()["spent"] == 2.0
    with pytest.raises(TacitError):
        poor.person(8).record("users", {"age": 400, "os": "x"})
    assert poor.person(8).budget()["spent"] == 0.0, "what was refused is not charged"
    assert poor.person("7").budget()["spent"] == 0.0, "7 and '7' are different people"
    poor.close()


def test_a_preview_is_what_leaves(client: Client) -> None:
    me = client.person("shown")
    shown = me.preview("users", ROW)
    assert shown.sentence.startswith("Sent unchanged: uid and os, and that you report to users.")
    assert "to at most 88.1 %" in shown.sentence
    assert client.flush().sent == 0, "a preview sends nothing"
    assert shown.raw == ROW
    entry = me.record("users", ROW)
    waiting = client.wallet.waiting(client.collection, 1000)
    said = f"{shown} {entry} {waiting}"
    assert not any(word in said for word in ("raw", "shown", "codes", str(ROW["os"]))), "a repr may end in a log"
    assert tuple(json.loads(body) for body in entry.bodies) == shown.leaves
    assert client.flush().sent == 1


def test_forgotten_people_are_deleted_everywhere(client: Client, collector: Serving) -> None:
    me = client.person("gone")
    me.record("users", ROW)
    client.flush()
    me.forget()
    assert client.flush().problem == ""
    with pytest.raises(PrivacyError):
        me.record("users", ROW)
    assert me.budget()["spent"] == 2.0, "what was spent stays spent"
    with collector.client() as http:
        body = {"person": "gone", "service": "users", "slot": 0, "codes": [0], "public": {"os": "ios"}}
        answer = http.post(collector.path, json={"tacit": 1, "reports": [body]}).json()
    assert answer["statuses"][0]["code"] == "forgotten"


def test_another_contract_is_refused(tmp_path: Path, collector: Serving) -> None:
    other = tc.Collection(COLLECTION.schema, 1.0)

    class Liar(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(other.to_json().encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Liar)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with pytest.raises(ContractError) as caught:
            connect(f"http://127.0.0.1:{server.server_port}", collection=COLLECTION.id, store=tmp_path / "a.db")
        assert caught.value.code == "contract-differs"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    for url, code in (("http://example.org", "no-tls"), ("ftp://x", "bad-option")):
        with pytest.raises(UsageError) as refused:
            connect(url, collection=COLLECTION.id, store=tmp_path / "b.db")
        assert refused.value.code == code


LOADER = """
import os, signal, sys
from tacit.client import connect
client = connect(sys.argv[1], collection=sys.argv[2], store=sys.argv[3], cap=6, every=0)
if sys.argv[4] == "die":
    client._transport.post = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
for number in range(20):
    client.person(number).record("users", {"age": number % 10, "os": "ios"})
    client.person(number).rows("orders", [{"pay": 1}] * (number % 4))
print(client.flush(), flush=True)
"""


def run(serving: Serving, store: Path, how: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", LOADER, serving.address, COLLECTION.id, str(store), how]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


def test_reports_survive_a_kill_and_are_the_same_bytes(tmp_path: Path) -> None:
    """R7: drawn, killed at the first request, started again twice: one distinct report for each identity."""
    store = tmp_path / "wallet.db"
    with serving(tmp_path / "one") as first:
        assert run(first, store, "die").returncode == -signal.SIGKILL
        before = bodies(store)
        assert len(before) == 60
        assert "sent=60, rejected=0, pending=0" in run(first, store, "live").stdout
        assert "sent=0, rejected=0, pending=0" in run(first, store, "live").stdout
        assert bodies(store) == before


def bodies(store: Path) -> list[tuple[str, str]]:
    import sqlite3

    with sqlite3.connect(store) as file:
        found = file.execute("SELECT person || service || slot, body FROM reports ORDER BY 1").fetchall()
    file.close()
    return found


def test_offline_reports_wait_and_arrive(tmp_path: Path) -> None:
    with serving(tmp_path / "c") as running:
        client = connect(running.address, collection=COLLECTION.id, store=tmp_path / "w.db", cap=6, every=0)
        running.end(signal.SIGKILL)
        client.person("offline").record("users", ROW)
        delivered = client.flush(seconds=1.5)
        assert (delivered.sent, delivered.pending, delivered.problem) == (0, 1, "no-answer")
        client.close()
    with serving(tmp_path / "c") as again:
        client = connect(again.address, collection=COLLECTION.id, store=tmp_path / "w.db", cap=6, every=0)
        assert client.flush().sent == 1
        client.close()


def test_no_raw_value_is_kept_or_sent(tmp_path: Path) -> None:
    canary = "canary-4f1c9d0e7b"
    kinds = tc.Categorical("kind", [canary, "another-value-of-the-list"])
    collection = tc.Collection(tc.Schema([tc.Service("s", key="uid", attributes=[kinds])]), 1.0)
    store = tmp_path / "wallet.db"
    from tacit.client.transport import Transport
    from tacit.client.wallet import Wallet

    Wallet(store).keep_contract(collection.id, "")  # the contract lists all values; look at everything else
    client = Client(Transport("http://127.0.0.1:1"), Wallet(store), collection.id, collection.to_json(), "", 4, 0)  # type: ignore[arg-type]
    entry = client.person("p").record("s", {"kind": canary})
    with pytest.raises(TacitError) as caught:
        client.person("q").record("s", {"kind": canary + "x"})
    client.flush(seconds=0)
    client.close()
    assert canary not in str(entry) + str(caught.value)
    for path in tmp_path.iterdir():
        assert canary.encode() not in path.read_bytes()


def test_the_client_needs_nothing_heavy() -> None:
    program = (
        "import sys, tacit.client; print([m for m in ('numpy', 'pyarrow', 'duckdb', 'sqlglot') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ)
    assert result.stdout.strip() == "[]"


def test_what_no_collector_takes_is_refused_before_it_is_charged(client: Client) -> None:
    for person in ("", "a\u00a0b", "x" * 201, 2**70, True):
        with pytest.raises(UsageError):
            client.person(person).record("users", ROW)
    for value in ("\ud800", float("nan"), 2**70, {}):
        with pytest.raises(TacitError):
            client.person("fine").record("users", {"age": 1, "os": value})
    assert client.person("fine").budget()["spent"] == 0.0
