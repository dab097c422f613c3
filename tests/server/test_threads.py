"""What several threads use at once: rates, places and their costs, the event loop, and an inbox that is closed."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest

import tacit as tc
from support.collectors import COLLECTION, body_of, collector_here, reports_of, served_here
from tacit.errors import OverloadedError
from tacit.server.app import make_app
from tacit.server.collector import Collector
from tacit.server.http.rates import BUCKETS, Rate
from tacit.server.keys import AccessKey, Keys
from tacit.server.routes import contracts
from tacit.server.store import inbox as inboxes
from tacit.server.store import mover
from tacit.server.store.base import Standing
from tacit.server.store.inbox import Inbox
from tacit.server.store.validate import Report

KEY = AccessKey("shop", ("ingest",), "", "0" * 64)
CONTENT = b"[[0],[]]"


@contextmanager
def hasty_threads() -> Iterator[None]:
    """Let threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def test_threads_take_no_more_than_a_bucket_holds() -> None:
    rate, at_once, took = Rate("deletions", 1, 1_000, clock=lambda: 0.0), 8, list[int]()

    def take(_: int) -> None:
        mine = 0
        for number in range(2_000):
            rate.take(KEY, 1, number)  # everybody's own, which are many
            try:
                rate.take(KEY, 1)
            except OverloadedError:
                continue
            mine += 1
        took.append(mine)

    with hasty_threads(), ThreadPoolExecutor(at_once) as pool:
        list(pool.map(take, range(at_once)))
    assert sum(took) == 1_000


def test_full_buckets_are_dropped_while_others_are_taken_from() -> None:
    now = [0.0]
    rate = Rate("deletions", 1, 1, clock=lambda: now[0])

    def take(thread: int) -> None:
        for number in range(BUCKETS):
            now[0] += 1
            rate.take(KEY, 1, f"{thread} {number}")

    with hasty_threads(), ThreadPoolExecutor(4) as pool:
        list(pool.map(take, range(4)))
    assert len(rate._buckets) <= BUCKETS + 1, "of 4 * BUCKETS people, most have a full bucket again"


def test_collections_are_added_while_reports_come(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path / "inbox.db")
    services = {"a": 1, "b": 2}

    def add(name: str) -> None:
        inbox.add_collection(name, services, name)
        inbox.limit(Fraction(100), dict.fromkeys(((name, "a"), (name, "b")), Fraction(1)))

    add("first")

    def send(thread: int) -> set[str]:
        reports = [[Report(f"{thread} {number}", "a", 0, CONTENT)] for number in range(150)]
        return {status for report in reports for status in inbox.put("first", report).result(30)}

    with hasty_threads(), ThreadPoolExecutor(5) as pool:
        sending = [pool.submit(send, thread) for thread in range(4)]
        for number in range(60):
            add(f"more {number}")
        assert {status for one in sending for status in one.result()} == {"stored"}
    inbox.close()


def test_an_unknown_place_costs_everything(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path / "inbox.db")
    for name in ("known", "unknown"):
        inbox.add_collection(name, {"a": 1}, name)
    assert inbox.put("unknown", [Report("ada", "a", 0, CONTENT)]).result() == ["stored"]
    inbox.limit(Fraction(2), {("known", "a"): Fraction(1)})
    both = [Report(person, "a", 0, CONTENT) for person in ("ada", "bo")]
    assert inbox.put("known", both).result() == ["over-total", "stored"]
    inbox.close()


def test_a_closed_inbox_says_so(tmp_path: Path) -> None:
    """Whoever comes after the thread that stores reports has ended would wait for ever."""
    inbox = Inbox(tmp_path / "inbox.db")
    inbox.add_collection("x", {"a": 1}, "x")
    inbox.close()
    with pytest.raises(OverloadedError) as ending:
        inbox.put("x", [Report("ada", "a", 0, CONTENT)]).result(5)
    assert ending.value.code == "ending"


def test_a_store_that_does_not_answer_keeps_no_other_request_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go_on = threading.Event(), threading.Event()
    with collector_here(tmp_path / "store") as collector:
        sizes, standing = collector.inbox.sizes, collector.inbox.recall

        def slow_sizes() -> object:
            asked.set()
            go_on.wait(120)
            return sizes()

        def slow_state(name: str) -> str | None:
            if threading.current_thread().name.startswith(("probe", "asyncio", "Thread")):
                asked.set()
                go_on.wait(120)
            return standing(name)

        app = make_app(collector, Keys(tmp_path / "store" / "keys.json"))
        with served_here(app) as client, ThreadPoolExecutor(2) as pool:
            for route, name, slow in (("metrics", "sizes", slow_sizes), ("readyz", "recall", slow_state)):
                asked.clear()
                go_on.clear()
                with monkeypatch.context() as patched:
                    patched.setattr(collector.inbox, name, slow)
                    waiting = pool.submit(client.get, f"/{route}")
                    assert asked.wait(60)
                    try:
                        assert httpx.get(f"{client.base_url}/healthz", timeout=60, trust_env=False).status_code == 200
                    finally:
                        go_on.set()
                    assert waiting.result().status_code == 200, route


def test_a_shared_store_that_does_not_answer_keeps_no_other_request_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody may name a collection that nobody has published: the store is asked for it beside the event loop."""
    asked, go_on = threading.Event(), threading.Event()
    with collector_here(tmp_path / "store") as collector:
        standing = collector.inbox.standing

        def slow_standing() -> Standing:
            asked.set()
            go_on.wait(120)
            return standing()

        app = make_app(collector, Keys(tmp_path / "store" / "keys.json"))
        monkeypatch.setattr(collector.inbox, "standing", slow_standing)
        monkeypatch.setattr(collector.inbox, "is_shared", True)
        other = f"/v1/collections/{'0' * 64}"
        with served_here(app) as client, ThreadPoolExecutor(2) as pool:
            for method, path, body in (
                ("GET", other, None),
                ("GET", f"{other}/audit", None),
                ("POST", f"{other}/reports", body_of([])),
                ("POST", "/v1/forget", {"tacit": 1, "person": "p", "collection": "0" * 64}),
            ):
                asked.clear()
                go_on.clear()
                waiting = pool.submit(client.request, method, path, json=body)
                assert asked.wait(60)
                try:
                    assert httpx.get(f"{client.base_url}/healthz", timeout=10, trust_env=False).status_code == 200, path
                finally:
                    go_on.set()
                assert waiting.result().json()["code"] == "unknown-collection"
        monkeypatch.undo()


def test_what_everybody_may_fetch_is_made_once_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dictionary of a million values takes 0.15 s to write, the views of a large contract as long to list."""
    (tmp_path / "words.txt").write_text("".join(f"word {number}\n" for number in range(50)))
    column = tc.Categorical("word", dictionary=str(tmp_path / "words.txt"))
    collection = tc.Collection(tc.Schema([tc.Service("s", key="uid", attributes=[column])]), 1.0)
    made: list[str] = []

    def note(name: str, work: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def noted(given: Any) -> Any:
            made.append(f"{name} by {threading.current_thread().name.partition('_')[0]}")
            return work(given)

        return noted

    monkeypatch.setattr(contracts, "dictionaries_of", note("dictionary", contracts.dictionaries_of))
    monkeypatch.setattr(contracts, "view_codes", note("codes", contracts.view_codes))
    with collector_here(tmp_path / "store", collection) as collector:
        app = make_app(collector, Keys(tmp_path / "store" / "keys.json"))
        with served_here(app) as client:
            text = (tmp_path / "words.txt").read_bytes()
            for _ in range(3):
                assert client.get(f"/v1/dictionaries/{hashlib.sha256(text).hexdigest()}").content == text
                assert client.get(f"/v1/collections/{collection.id}/audit").json()["codes"]["views"] >= 1
            assert client.get(f"/v1/dictionaries/{'0' * 64}").status_code == 404
    assert made == ["dictionary by audits", "codes by audits", "dictionary by audits"]


def test_reports_are_taken_after_a_restart_while_the_database_is_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports that are brought back are no reason to turn others away."""
    monkeypatch.setattr(inboxes, "MOST_BEHIND", 10)
    with collector_here(tmp_path / "store") as collector:
        collector.accept(COLLECTION.id, reports_of(0, 5)).result()
        collector.move()
    (tmp_path / "store" / "reports.tacit").unlink()
    monkeypatch.setattr(mover.Mover, "_move_all", lambda *_: (0, None))  # it takes long
    for first in (100, 200):
        with collector_here(tmp_path / "store") as collector:
            assert collector.mover.stores.is_rebuilding
            told = collector.accept(COLLECTION.id, reports_of(first, 2)).result()
            assert {one["status"] for one in told} == {"stored"}
    monkeypatch.undo()
    collector = Collector(tmp_path / "store")
    assert collector.query("SELECT COUNT(*) AS n FROM users")["n"].value == 9
    collector.close()
