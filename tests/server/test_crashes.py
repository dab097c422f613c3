"""R1: what is acknowledged is on disk. The collector is killed at random moments; nothing it said is lost.

``make crashes`` kills it 200 times.
"""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from support.collectors import Serving, body_of, reports_of
from support.tiers import how_many

ROUNDS = how_many(2, 100, "kills of a collector under load")
PEOPLE = 40
"""In each request: 120 reports."""

MUTANT = """
import sys, time
from tacit.cli import main
from tacit.server.store.inbox import Inbox
commit = Inbox._commit
def answer_first(self, group):
    for request in group:
        request.answer.set_result(["stored"] * len(request.reports))
        nobody = type("Nobody", (), {"set_result": lambda *_: None, "set_exception": lambda *_: None})()
        object.__setattr__(request, "answer", nobody)
    time.sleep(0.2)
    commit(self, group)
Inbox._commit = answer_first
sys.exit(main(sys.argv[1:]))
"""


class Sender:
    """Sends reports of new people without end, on some connections, and notes what was acknowledged."""

    def __init__(self, first: int) -> None:
        self.acknowledged: list[dict[str, Any]] = []
        self._next, self._lock = first, threading.Lock()

    def run(self, serving: Serving) -> None:
        with serving.client() as client:
            while True:
                with self._lock:
                    first, self._next = self._next, self._next + PEOPLE
                reports = reports_of(first, PEOPLE, seed=first)
                try:
                    response = client.post(serving.path, json=body_of(reports))
                    while response.status_code == httpx.codes.TOO_MANY_REQUESTS:  # reports of earlier rounds are moved
                        time.sleep(0.1)
                        response = client.post(serving.path, json=body_of(reports))
                    statuses = response.json()["statuses"]
                except (httpx.HTTPError, ValueError):
                    return  # it was killed: nobody knows what became of these
                with self._lock:
                    self.acknowledged += [r for r, s in zip(reports, statuses, strict=True) if s["status"] == "stored"]

    @property
    def next(self) -> int:
        """The first person that nobody has sent yet."""
        return self._next


def killed(serving: Serving, sender: Sender, seconds: float) -> None:
    """Let some connections send until a thousand reports are acknowledged and a while has passed; then kill."""
    threads = [threading.Thread(target=sender.run, args=(serving,)) for _ in range(3)]
    before = len(sender.acknowledged)
    for thread in threads:
        thread.start()
    while len(sender.acknowledged) < before + 1_000:
        assert any(thread.is_alive() for thread in threads), "Nobody sends any more: see the warnings for the reason."
        time.sleep(0.01)
    time.sleep(seconds)
    serving.end(signal.SIGKILL)
    for thread in threads:
        thread.join()


def lost(serving: Serving, reports: list[dict[str, Any]]) -> int:
    """Return how many reports a collector does not know: sent again, they would be new."""
    missing = 0
    with serving.client() as client:
        for start in range(0, len(reports), 1_000):
            answer = client.post(serving.path, json=body_of(reports[start : start + 1_000]))
            while answer.status_code == 429:  # reports of quick rounds wait to be moved
                time.sleep(float(answer.headers["retry-after"]))
                answer = client.post(serving.path, json=body_of(reports[start : start + 1_000]))
            missing += sum(one["status"] != "again" for one in answer.json()["statuses"])
    return missing


def test_nothing_acknowledged_is_lost(tmp_path: Path, source: np.random.Generator) -> None:
    sender = Sender(0)
    for _ in range(ROUNDS):
        serving, before = Serving(tmp_path), len(sender.acknowledged)
        killed(serving, sender, float(source.uniform(0, 0.3)))
        assert len(sender.acknowledged) >= before + 1_000
        again = Serving(tmp_path)
        try:
            assert lost(again, sender.acknowledged[before:]) == 0
        finally:
            assert again.end() == 0
    final = Serving(tmp_path)
    try:
        assert lost(final, sender.acknowledged) == 0
        with final.client() as client:
            sql = "SELECT COUNT(*) AS n FROM users"
            counted = client.post("/v1/query", json={"tacit": 1, "sql": sql}).json()["rows"][0]["n"]
        people = {report["person"] for report in sender.acknowledged if report["service"] == "users"}
        assert len(people) <= counted <= sender.next
    finally:
        final.end()


def test_acknowledging_before_the_commit_is_caught(tmp_path: Path) -> None:
    sender = Sender(0)
    program = tmp_path / "mutant.py"
    program.write_text(MUTANT, encoding="utf-8")
    serving = Serving(tmp_path, program=str(program))
    killed(serving, sender, 0.0)
    again = Serving(tmp_path)
    try:
        assert lost(again, sender.acknowledged) > 0
    finally:
        again.end()


def test_told_to_end_it_answers_and_exits(tmp_path: Path) -> None:
    """R11: SIGTERM under load ends within seconds, exit code 0, nothing acknowledged lost."""
    sender = Sender(0)
    for _ in range(max(1, ROUNDS // 10)):
        serving, before = Serving(tmp_path), len(sender.acknowledged)
        threads = [threading.Thread(target=sender.run, args=(serving,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        while len(sender.acknowledged) < before + 300:
            time.sleep(0.01)
        assert serving.end(signal.SIGTERM) == 0
        for thread in threads:
            thread.join()
    again = Serving(tmp_path)
    try:
        assert lost(again, sender.acknowledged) == 0
    finally:
        again.end()
