"""What an app does while a delivery is under way, and what becomes of deliveries that fail in unforeseen ways."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import tacit as tc
from support.collectors import COLLECTION
from tacit.client.client import Client
from tacit.client.transport import Answered, Transport
from tacit.client.wallet import Wallet

ROW = {"age": 3, "os": "ios"}


class Collecting(Transport):
    """Takes every report, after something has happened while it was on its way."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        super().__init__("http://127.0.0.1:1")
        self.meanwhile, self.taken = meanwhile, list[str]()

    def post(self, path: str, body: str) -> Answered:
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        if not path.endswith("/reports"):
            return Answered(200, b"{}")
        reports = json.loads(body)["reports"]
        self.taken += [report["person"] for report in reports]
        return Answered(200, json.dumps({"statuses": [{"status": "stored"}] * len(reports)}).encode())


def client_of(folder: Path, transport: Transport, every: float = 0, **more: object) -> Client:
    text = COLLECTION.to_json()
    return Client(transport, Wallet(folder / "w.db"), COLLECTION.id, text, "", 6, every, **more)  # type: ignore[arg-type]


def test_a_report_is_delivered_although_one_before_it_was_deleted_on_its_way(tmp_path: Path) -> None:
    """SQLite gives the number of a deleted last row to the next one: the answer is about the former."""

    def meanwhile() -> None:
        client.person("ada").forget()
        client.person("bo").record("users", ROW)

    transport = Collecting(meanwhile)
    client = client_of(tmp_path, transport)
    client.person("ada").record("users", ROW)
    client.flush(0)
    client.flush(0)
    assert client.person("bo").history()[0].statuses == ("stored",)
    assert transport.taken == ["ada", "bo"]
    client.close()


def test_deliveries_go_on_after_one_has_failed(tmp_path: Path) -> None:
    """A function for tokens may fail while somebody's server is away."""
    failed, delivered = threading.Event(), threading.Event()

    def token(_: object) -> str:
        if not failed.is_set():
            failed.set()
            raise ConnectionError
        return ""

    transport = Collecting()
    wallet = Wallet(tmp_path / "w.db")
    wallet.close()
    writer = client_of(tmp_path, transport)
    writer.person("ada").record("users", ROW)
    writer.close()
    transport.meanwhile = delivered.set
    client = client_of(tmp_path, transport, every=0.02, token=token)
    assert failed.wait(10)
    assert delivered.wait(10)
    client.close()


@pytest.mark.parametrize("content", [b"[" * 200_000, b"\xff", b"{", b""])
def test_no_answer_is_too_strange(content: bytes) -> None:
    answered = Answered(503, content)
    assert (answered.data, answered.code) == (None, "")


@pytest.mark.parametrize("part", ["head", "body", "body without a length"])
def test_an_answer_that_never_ends_is_given_up(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then kept whoever records a row waiting for ever."""
    monkeypatch.setattr("tacit.client.transport.SLOWEST", 1 << 21)
    length = "Content-Length: 100000\r\n" if part == "body" else "Connection: close\r\n"
    start = b"HTTP/1.1 200 OK\r\nX: " if part == "head" else f"HTTP/1.1 200 OK\r\n{length}\r\n[".encode()
    answering = threading.Event()

    def drip(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.recv(10_000)
            connection.sendall(start)
            while not answering.wait(0.02):
                connection.sendall(b"1")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip, args=(listening,))
        thread.start()
        asking = Transport(f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=0.5)
        answers: list[Answered] = []
        client = threading.Thread(target=lambda: answers.append(asking.post("/v1/receipts", "{}")), daemon=True)
        client.start()
        client.join(10)
        seen = list(answers)
        answering.set()
        thread.join()
    assert seen == [Answered(0)]


def test_what_waits_is_sent_although_no_thread_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Apps send what waits when they end: from Python 3.12 on no thread can be started then."""

    def fail(_: threading.Thread) -> None:
        message = "can't create new thread at interpreter shutdown"
        raise RuntimeError(message)

    def answer(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(10_000)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer, args=(listening,))
        thread.start()
        monkeypatch.setattr(threading.Timer, "start", fail)
        answered = Transport(f"http://127.0.0.1:{listening.getsockname()[1]}").post("/v1/receipts", "{}")
        thread.join()
    assert answered == Answered(200, b"{}")


class Refusing(Collecting):
    """Refuses to delete one person, and takes everything else."""

    def __init__(self, refused: str, status: int) -> None:
        super().__init__()
        self.refused, self.status, self.deletions = refused, status, list[tuple[str, str]]()

    def post(self, path: str, body: str) -> Answered:
        if path == "/v1/receipts":
            return Answered(200, b'{"taken": []}')
        if path != "/v1/forget":
            return super().post(path, body)
        asked = json.loads(body)
        self.deletions.append((asked["person"], asked["collection"]))
        if asked["person"] == self.refused:
            return Answered(self.status, b'{"code": "bad-token"}')
        return Answered(200, b'{"deleted": 1}')


@pytest.mark.parametrize("status", [403, 500])
def test_a_deletion_that_is_refused_keeps_nobody_elses_reports_back(tmp_path: Path, status: int) -> None:
    transport = Refusing("ada", status)
    client = client_of(tmp_path, transport)
    client.person("ada").forget()
    client.person("bo").record("users", ROW)
    delivered = client.flush(0)
    assert transport.taken == ["bo"]
    assert (delivered.sent, delivered.pending, delivered.problem) == (1, 1, "bad-token")
    transport.refused = ""
    assert client.flush(0).pending == 0
    client.close()


@pytest.mark.parametrize("token", ["", "a token of the second round"])
def test_deletions_name_their_collection_and_a_token_asks_for_its_own_alone(tmp_path: Path, token: str) -> None:
    """A deletion that waits from an earlier round must not delete the person from the next one."""
    transport = Refusing("", 200)
    first, second = (tc.Collection(COLLECTION.schema, 2.0, round=name) for name in ("first", "second"))
    for collection in (first, second):
        made = (transport, Wallet(tmp_path / "w.db"), collection.id, collection.to_json(), "", 6, 0, token)
        client = Client(*made)  # type: ignore[arg-type]
        if collection is first:
            client.person("ada").record("users", ROW)
            client.person("ada").forget()
        else:
            client.person("ada").record("users", ROW)
            assert client.flush(0).sent == 1
        client.close()
    assert transport.deletions == ([] if token else [("ada", first.id)])
    client = Client(*(transport, Wallet(tmp_path / "w.db"), first.id, first.to_json(), "", 6, 0, token))  # type: ignore[arg-type]
    assert client.flush(0).pending == 0
    assert transport.deletions == [("ada", first.id)]
    client.close()
