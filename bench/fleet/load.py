"""Load on a fleet: senders of reports of new people, people who are deleted, second draws, and questions."""

from __future__ import annotations

import http.client
import itertools
import json
import random
import threading
import time
from collections import Counter
from typing import Any

from bench.faults.collector import COLLECTION, reports_of
from bench.fleet.history import History

__all__ = ["Load", "post"]

COUNT = {"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"}
PATH = f"/v1/collections/{COLLECTION.id}/reports"
AGAIN = (0, 408, 429, 500, 502, 503, 504, 507)
"""Statuses after which a client sends the same bytes again; 0 is no answer."""


def post(port: int, path: str, body: Any, seconds: float = 60.0) -> tuple[int, Any]:
    """Send one request; return the status, or 0 if there is no whole answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text.startswith(b"{") else None
    except (OSError, http.client.HTTPException, ValueError):
        return 0, None
    finally:
        connection.close()


class Load:
    """Senders and one who asks, on one port, until told to stop."""

    def __init__(self, port: int, history: History, *, senders: int = 3, batch: int = 10, pause: float = 0.02) -> None:
        self._port, self._history, self._batch, self._pause = port, history, batch, pause
        self._numbers, self._stopped, self._lock = itertools.count(), threading.Event(), threading.Lock()
        self.mistakes: list[str] = []
        self.questions = self.short = self.qualified = 0
        self.unanswered: Counter[str] = Counter()
        self.retries: Counter[int] = Counter()
        """Answers after which reports were sent again, by status."""
        self.seconds: list[float] = []
        self.waits: list[float] = []
        """Seconds from when reports left until they were acknowledged, over all tries."""
        self._threads = [threading.Thread(target=self._send, args=(n,), daemon=True) for n in range(senders)]
        self._threads.append(threading.Thread(target=self._ask, daemon=True))
        for thread in self._threads:
            thread.start()

    def _send(self, seed: int) -> None:
        source = random.Random(seed)
        while not self._stopped.is_set():
            with self._lock:
                people = [next(self._numbers) for _ in range(self._batch)]
            reports = reports_of(people)
            self._deliver(reports)
            if source.random() < 0.1:
                self._draw_again(reports)
            if source.random() < 0.1:
                self._delete(f"p-{source.choice(people)}")
            time.sleep(self._pause)

    def _deliver(self, reports: list[dict[str, Any]]) -> None:
        """Send the same bytes until they are acknowledged, as clients do."""
        self._history.send(reports)
        began = time.monotonic()
        while True:
            status, answer = post(self._port, PATH, {"tacit": 1, "reports": reports})
            if status == 200:
                heard = [one.get("code", one["status"]) for one in answer["statuses"]]
                self._history.hear(reports, heard)
                if wrong := set(heard) - {"stored", "again"}:
                    self.mistakes.append(f"reports were answered {wrong}")
                self.waits.append(time.monotonic() - began)
                return
            if status not in AGAIN:
                self.mistakes.append(f"reports were answered {status} {answer}")
                return
            self.retries[status] += 1
            time.sleep(0.1)

    def _draw_again(self, reports: list[dict[str, Any]]) -> None:
        """Send other draws of the same people: each must be refused."""
        others = [
            report | {"codes": reports_of([n + 1])[0]["codes"]}
            for n, report in enumerate(reports)
            if report["service"] == "users"
        ]
        status, answer = post(self._port, PATH, {"tacit": 1, "reports": others})
        if status != 200:
            return
        for other, one in zip(others, answer["statuses"], strict=True):
            same = self._history.told.get((other["person"], "users", 0)) == other["codes"]
            expected = "again" if same else "report-differs"
            if one.get("code", one["status"]) not in (expected, "forgotten"):
                self.mistakes.append(f"a second draw was answered {one}")

    def _delete(self, person: str) -> None:
        self._history.begin_deletion(person)
        while not self._stopped.is_set():
            status, answer = post(self._port, "/v1/forget", {"tacit": 1, "person": person, "collection": COLLECTION.id})
            if status == 200:
                self._history.end_deletion(person)
                return
            if status not in AGAIN:
                self.mistakes.append(f"a deletion was answered {status} {answer}")
                return
            time.sleep(0.2)

    def _ask(self) -> None:
        while not self._stopped.wait(0.25):
            least = self._history.users
            deleting = len(self._history.deleting)
            began = time.monotonic()
            status, answer = post(self._port, "/v1/query", COUNT)
            self.seconds.append(time.monotonic() - began)
            self.questions += 1
            if status != 200:
                code = (answer or {}).get("code", "")
                self.unanswered[f"{status} {code}".strip()] += 1
                if status not in AGAIN and code != "no-reports":
                    self.mistakes.append(f"a question was answered {status} {answer}")
                time.sleep(1.0)
                continue
            least -= len(self._history.deleting) - deleting  # whose deletion was begun since
            counted, mark = round(answer["rows"][0]["n"]), answer["watermark"]
            self.qualified += bool(answer.get("notes"))
            if mark["acknowledged"] < least or (counted < least and mark["acknowledged"] == mark["counted"]):
                self.short += 1
                self.mistakes.append(f"{least} were acknowledged, {counted} counted, and the mark is {mark}")
            if counted != mark["counted"]:
                self.mistakes.append(f"{counted} were counted, and the mark is {mark}")

    def stop(self) -> None:
        """Stop; what was begun is finished."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()
