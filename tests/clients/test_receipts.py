"""A lost wallet: whoever holds the person's token is told which reports exist, and draws none of them again."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.collectors import COLLECTION
from tacit.client import Client, connect

ROW = {"age": 4, "os": "ios"}
KEY = "tacit_live_x"


class Store:
    """What a small collector holds and was asked, and how it answers questions for receipts."""

    def __init__(self) -> None:
        self.reports: dict[tuple[Any, str, int], dict[str, Any]] = {}
        self.asked: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.receipts_status = 200
        self.receipts_body: Any = None
        self.reports_status = 200

    def taken(self, person: object) -> list[dict[str, Any]]:
        return [{"service": service, "slot": slot} for who, service, slot in self.reports if who == person]


@contextmanager
def collecting(store: Store) -> Iterator[str]:
    """Lend the address of a collector on loopback that stores reports by their identity, first one wins."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, COLLECTION.to_json().encode())

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            body = json.loads(content)
            if self.path == "/v1/receipts":
                store.asked.append(body)
                answer = store.receipts_body or {"taken": store.taken(body["key"])}
                return self._answer(store.receipts_status, json.dumps(answer).encode())
            store.bodies.append(content)  # whatever it answers: it has seen them
            if store.reports_status != 200:
                return self._answer(store.reports_status, b"{}")
            statuses = []
            for report in body["reports"]:
                identity = report["person"], report["service"], report["slot"]
                known = store.reports.setdefault(identity, report)
                differs = {"status": "refused", "code": "report-differs"}
                statuses.append({"status": "stored"} if known == report else differs)
            return self._answer(200, json.dumps({"statuses": statuses}).encode())

        def _answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def opened(address: str, wallet: Path, *, token: str = "12.ab") -> Client:
    return connect(address, collection=COLLECTION.id, store=wallet, key=KEY, token=token, cap=6, every=0)


def test_a_lost_wallet_draws_nothing_that_the_collector_holds(tmp_path: Path) -> None:
    store = Store()
    with collecting(store) as address:
        first = opened(address, tmp_path / "lost.db")
        first.person("ada").record("users", ROW)
        assert first.flush().sent == 1
        first.close()
        again = opened(address, tmp_path / "new.db")
        me = again.person("ada")
        entry = me.record("users", {"age": 9, "os": "web"})
        assert (entry.statuses, entry.bodies, entry.epsilon) == (("taken",), (), 0)
        assert me.record("users", ROW) == entry
        shown = me.preview("users", ROW)
        assert shown.leaves == ()
        assert shown.sentence.startswith("Nothing is sent")
        me.rows("orders", [])  # was not reported before, so it is drawn and charged
        assert me.budget()["spent"] == 4.0
        assert again.flush().sent == 2
        again.close()
    assert len(store.reports) == 3
    assert store.asked == [{"collection": COLLECTION.id, "key": "ada", "token": "12.ab"}] * 3, "for each service"
    assert len(store.bodies) == 2


def copied(wallet: Path, name: str) -> Path:
    return Path(shutil.copy(wallet, wallet.with_name(name)))


def test_an_older_copy_of_a_wallet_draws_nothing_that_the_collector_holds(tmp_path: Path) -> None:
    """A backup, or the wallet of another device: it knows the person, but not what was drawn since."""
    store = Store()
    with collecting(store) as address:
        first = opened(address, tmp_path / "w.db")
        first.person("ada").record("users", ROW)
        first.flush()
        first.close()
        older, offline = copied(tmp_path / "w.db", "older.db"), copied(tmp_path / "w.db", "offline.db")
        newer = opened(address, tmp_path / "w.db")
        newer.person("ada").rows("orders", [{"pay": 1}])
        newer.flush()
        newer.close()
        seen = len(store.bodies)
        again = opened(address, older)
        assert again.person("ada").rows("orders", []).statuses == ("taken",)
        assert again.flush().sent == 0
        again.close()
        store.receipts_status = 503
        again = opened(address, offline)
        assert again.person("ada").rows("orders", []).statuses == ("waiting", "waiting")
        assert again.flush(seconds=0).sent == 0
        store.receipts_status = 200
        assert again.flush().sent == 0
        statuses = {entry.service: (entry.statuses[0], entry.epsilon > 0) for entry in again.person("ada").history()}
        assert statuses == {"orders": ("taken", False), "users": ("stored", True)}, (
            "what this one has sent stays charged"
        )
        again.close()
    assert len(store.bodies) == seen, "the second draw never left"


@pytest.mark.parametrize("status", [200, 503])
def test_a_preview_is_asked_about_again_before_its_report_leaves(tmp_path: Path, status: int) -> None:
    """Whoever looks at a preview may report from another device before they release it."""
    store = Store()
    with collecting(store) as address:
        here = opened(address, tmp_path / "here.db")
        assert here.person("ada").preview("users", ROW).leaves
        elsewhere = opened(address, tmp_path / "elsewhere.db")
        elsewhere.person("ada").record("users", ROW)
        elsewhere.flush()
        elsewhere.close()
        store.receipts_status = status
        other = opened(address, tmp_path / "here.db")  # another process with the same wallet
        entry = other.person("ada").record("users", ROW)
        assert (entry.statuses, entry.epsilon == 0) == ((("taken",), True) if status == 200 else (("waiting",), False))
        assert other.flush(seconds=0).sent == 0
        store.receipts_status = 200
        assert here.flush().sent == other.flush().sent == 0
        assert other.person("ada").history()[0].statuses == ("taken",)
        assert other.person("ada").budget()["spent"] == 0, "what never left costs nothing"
        assert here.person("ada").preview("users", ROW).leaves == ()
        here.close()
        other.close()
    assert len(store.bodies) == 1, "the second draw never left"


def test_what_an_earlier_version_kept_unasked_is_asked_for_once(tmp_path: Path) -> None:
    """It kept people instead of services."""
    store = Store()
    store.receipts_status = 503
    with collecting(store) as address:
        client = opened(address, tmp_path / "w.db")
        client.person("ada").record("users", ROW)
        client.close()
        with closing(sqlite3.connect(tmp_path / "w.db")) as file, file:
            file.execute("INSERT INTO unasked SELECT collection, person FROM unasked_services")
            file.execute("DELETE FROM unasked_services")
        client = opened(address, tmp_path / "w.db")
        assert client.flush(seconds=0).sent == 0
        client.close()
        store.receipts_status = 200
        for sent in (1, 0):
            asked = len(store.asked)
            client = opened(address, tmp_path / "w.db")
            assert (client.flush().sent, len(store.asked) - asked) == (sent, sent)
            client.close()


def test_one_question_for_each_person_and_none_without_a_token(tmp_path: Path) -> None:
    store = Store()
    with collecting(store) as address:
        client = opened(address, tmp_path / "w.db")
        for person in ("ada", 7, "7"):
            for _ in range(3):
                client.person(person).record("users", ROW)
        client.close()
        assert [asked["key"] for asked in store.asked] == ["ada", 7, "7"]
        silent = opened(address, tmp_path / "v.db", token="")
        silent.person("bo").record("users", ROW)
        silent.close()
    assert len(store.asked) == 3


@pytest.mark.parametrize("status", [404, 405])
def test_collectors_without_receipts_are_served_as_before(tmp_path: Path, status: int) -> None:
    store = Store()
    store.receipts_status = status
    with collecting(store) as address:
        client = opened(address, tmp_path / "w.db")
        assert client.person("ada").record("users", ROW).statuses == ("waiting",)
        assert client.flush().sent == 1
        client.close()


@pytest.mark.parametrize(
    ("status", "body"), [(503, None), (429, None), (500, None), (200, {"taken": 1}), (200, {"other": []})]
)
def test_what_was_drawn_unasked_waits_for_the_answer(tmp_path: Path, status: int, body: Any) -> None:
    """The collector does not say: the report is drawn, so that offline apps work, and stays until it has said."""
    store = Store()
    with collecting(store) as address:
        before = opened(address, tmp_path / "lost.db")
        before.person("ada").record("users", ROW)
        before.flush()
        before.close()
        store.receipts_status, store.receipts_body = status, body
        client = opened(address, tmp_path / "new.db")
        entry = client.person("ada").record("users", {"age": 9, "os": "web"})
        assert entry.statuses == ("waiting",)
        client.person("ada").rows("orders", [])
        delivered = client.flush(seconds=0)
        assert (delivered.sent, delivered.pending) == (0, 3)
        assert delivered.problem
        client.close()
        store.receipts_status, store.receipts_body = 200, None
        client = opened(address, tmp_path / "new.db")
        assert client.flush().sent == 2, "the orders, and nothing that differs"
        assert client.person("ada").history()[1].statuses == ("taken",)
        assert client.person("ada").budget()["spent"] == 4.0, "what never left costs nothing"
        client.close()
    assert not [body for body in store.bodies if b'"web"' in body], "the second draw never left"


def test_answers_about_unknown_services_are_ignored(tmp_path: Path) -> None:
    store = Store()
    store.receipts_body = {"taken": [{"service": "other", "slot": 0}, {"service": 5}, "x", None, {}]}
    with collecting(store) as address:
        client = opened(address, tmp_path / "w.db")
        assert client.person("ada").record("users", ROW).statuses == ("waiting",)
        client.close()


def test_a_useless_token_does_not_keep_reports_from_a_collector_without_receipts(tmp_path: Path) -> None:
    store = Store()
    store.receipts_status = 404
    with collecting(store) as address:
        client = opened(address, tmp_path / "w.db")
        client.person("ada").record("users", ROW)
        assert client.flush().sent == 1
        client.close()


def test_a_token_that_was_over_is_asked_with_again_before_anything_leaves(tmp_path: Path) -> None:
    store = Store()
    with collecting(store) as address:
        before = opened(address, tmp_path / "lost.db")
        before.person("ada").record("users", ROW)
        before.flush()
        before.close()
        store.receipts_status = store.reports_status = 403
        client = opened(address, tmp_path / "new.db")
        client.person("ada").record("users", {"age": 9, "os": "web"})
        delivered = client.flush(seconds=0)
        assert (delivered.pending, delivered.problem) == (1, "no-answer")
        store.receipts_status = store.reports_status = 200
        delivered = client.flush()
        assert (delivered.sent, delivered.pending) == (0, 0)
        assert client.person("ada").history()[0].statuses == ("taken",)
        client.close()
    assert len(store.bodies) == 1, "the second draw never left"
