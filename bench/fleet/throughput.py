"""Processor time of a report and of a question, by part of a fleet, for one, two and three collectors.

Times of the processor are read from /proc, so what else runs on the machine changes them little; reports a second are
what the machine could do beside its other work, and are given with its load.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import statistics
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg

import tacit as tc
from bench.common import figure, say
from bench.faults.collector import COLLECTION, reports_of
from bench.fleet.kills import Fleet
from bench.fleet.load import PATH, post
from deploy.fleet import children_of

__all__ = ["Sending", "ask_once", "run_steady", "run_throughput", "send_for", "settle"]

SECONDS = 12.0
CONNECTIONS = 6
PEOPLE = 33
"""In one request: 99 reports."""

PEAK_SECONDS = 12.0
STEADY_SECONDS = 10.0
"""For which the peak is measured, and between two looks at the fleet while the load is held."""

PARTS = ("collectors", "database", "proxy")

TICKS = os.sysconf("SC_CLK_TCK")


def seconds_of(pid: int) -> float:
    """Return the processor time of a process and of the children it has waited for."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, words[11:15])) / TICKS


class Meter:
    """Processor times of the parts of a fleet."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def read(self) -> dict[str, float]:
        """Return the seconds of each part; sessions of PostgreSQL that ended are in their parent."""
        server = self._fleet.database.pid
        proxy = self._fleet.proxy.process.pid
        return {
            "collectors": sum(seconds_of(one.process.pid) for one in self._fleet.collectors),
            "database": seconds_of(server) + sum(map(seconds_of, children_of(server))),
            "proxy": seconds_of(proxy) + sum(map(seconds_of, children_of(proxy))),
        }


def run_throughput(folder: Path) -> dict[str, Any]:
    """Send as much as is taken to one, two and three collectors, then ask questions of each."""
    results: dict[str, Any] = {}
    for collectors in (1, 2, 3):
        with Fleet(folder / f"fleet-{collectors}", collectors) as fleet:
            results[str(collectors)] = _measure(fleet)
        say(f"{collectors} collectors: {json.dumps(results[str(collectors)])}")
    return results


def _measure(fleet: Fleet) -> dict[str, Any]:
    meter = Meter(fleet)
    send_for(fleet.proxy.port, 2.0)  # tables and caches are there
    settle(fleet)
    before, load = meter.read(), os.getloadavg()[0]
    sent, seconds = send_for(fleet.proxy.port, SECONDS)
    stored = meter.read()
    settle(fleet)
    moved = meter.read()
    asked = _ask(fleet.proxy.port, 40)
    after = meter.read()
    return {
        "load_average": figure(load),
        "reports": sent,
        "reports_per_second": figure(sent / seconds),
        "microseconds_per_report": _per(before, stored, sent),
        "microseconds_per_report_with_moving": _per(before, moved, sent),
        "milliseconds_per_question": {name: figure(value / 1000) for name, value in _per(moved, after, asked).items()},
    }


def _per(before: dict[str, float], after: dict[str, float], number: int) -> dict[str, float]:
    return {name: figure(1e6 * (after[name] - before[name]) / max(1, number)) for name in before}


_numbers, _questions = itertools.count(50_000_000), itertools.count()


class Sending:
    """Threads that send reports of new people, so many a second, until they are stopped."""

    def __init__(self, port: int, rate: float = float("inf")) -> None:
        self._port, self._between = port, CONNECTIONS * 3 * PEOPLE / rate
        self._lock, self._stopped, self._began = threading.Lock(), threading.Event(), time.monotonic()
        self.acknowledged = 0
        self.refused: Counter[str] = Counter()
        """Requests that were not answered with 200, by status; 0 without an answer."""
        self._threads = [threading.Thread(target=self._work) for _ in range(CONNECTIONS)]
        for thread in self._threads:
            thread.start()

    def _work(self) -> None:
        due = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        while not self._stopped.is_set():
            with self._lock:
                people = [next(_numbers) for _ in range(PEOPLE)]
            body = json.dumps({"tacit": 1, "reports": reports_of(people)})
            try:
                connection.request("POST", PATH, body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                status, answer = response.status, response.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                status, answer = 0, b""
            with self._lock:
                self.acknowledged += answer.count(b"stored")
                self.refused.update([] if status == 200 else [str(status)])
            due = max(due + self._between, time.monotonic() - self._between)  # what was missed is not sent in a burst
            self._stopped.wait(max(0.0 if status == 200 else 0.2, due - time.monotonic()))
        connection.close()

    def stop(self) -> float:
        """Stop, and return for how many seconds it sent."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        return time.monotonic() - self._began


def send_for(port: int, seconds: float) -> tuple[int, float]:
    """Send as much as is taken; return how many reports were acknowledged, and in how many seconds."""
    sending = Sending(port)
    time.sleep(seconds)
    took = sending.stop()
    return sending.acknowledged, took


def _ask(port: int, questions: int) -> int:
    """Ask different questions, so that nothing is answered from what was kept; return how many."""
    answered = 0
    for number in range(questions):
        text = f"SELECT COUNT(*) AS n FROM users WHERE age <= {number % 10} AND age >= {number % 3}"
        status, _ = post(port, "/v1/query", {"tacit": 1, "sql": text})
        answered += status == 200
    return answered


def settle(fleet: Fleet) -> None:
    """Wait until everything is moved."""
    with psycopg.connect(fleet.database.address, autocommit=True) as connection:
        while connection.execute("SELECT EXISTS (SELECT 1 FROM tacit_waiting)").fetchall() == [(True,)]:
            time.sleep(0.1)


def run_steady(folder: Path, seconds: float) -> dict[str, Any]:
    """Hold 80 % of the peak for a while; pending reports, memory and the time of a question must stay flat."""
    with Fleet(folder / "fleet", 3) as fleet:
        sent, took = send_for(fleet.proxy.port, PEAK_SECONDS)
        settle(fleet)
        with contextlib.closing(tc.connect(fleet.database.address)) as database:
            database.rollup("users")  # otherwise questions about one service read all of its reports
        peak = sent / took
        sending, rows, until = Sending(fleet.proxy.port, 0.8 * peak), [], time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                rows.append({"second": round(time.monotonic() - until + seconds), **_steady_row(fleet, sending)})
                say(json.dumps(rows[-1]))
        finally:
            took = sending.stop()
        settle(fleet)
    return {
        "peak_reports_per_second": figure(peak),
        "reports_per_second": figure(sending.acknowledged / took),
        "reports": sent + sending.acknowledged,
        "refused": dict(sending.refused),
        "seconds": round(took),
        "thirds": [_middle(rows[len(rows) * n // 3 : len(rows) * (n + 1) // 3]) for n in range(3)],
        "collection": COLLECTION.id[:12],
        "rows": rows,
    }


def _steady_row(fleet: Fleet, sending: Sending) -> dict[str, Any]:
    """Wait for some seconds, ask while reports arrive, and read what must stay flat."""
    meter, started, sent = Meter(fleet), time.monotonic(), sending.acknowledged
    before = meter.read()
    time.sleep(STEADY_SECONDS)
    with psycopg.connect(fleet.database.address, autocommit=True) as connection:
        [(pending,)] = connection.execute("SELECT count(*) FROM tacit_waiting").fetchall()
    asked = [ask_once(fleet) for _ in range(3)]
    after, more = meter.read(), sending.acknowledged - sent
    return {
        "reports_per_second": figure(more / (time.monotonic() - started)),
        "pending": pending,
        "question_seconds": figure(statistics.median(seconds for seconds, _, _ in asked)),
        "left_out": max(left_out for _, left_out, _ in asked),
        "unanswered": [why for _, _, why in asked if why],
        "memory_mib": round(sum(_memory(one.process.pid) for one in fleet.collectors) / len(fleet.collectors)),
        "microseconds_per_report": _per(before, after, more),
        "load_average": figure(os.getloadavg()[0]),
    }


def ask_once(fleet: Fleet) -> tuple[float, int, str]:
    """Ask; return the seconds, the reports that the answer left out, and why there is none."""
    number = next(_questions)
    text = f"SELECT COUNT(*) AS n FROM users WHERE age BETWEEN {number % 5} AND {5 + number // 5 % 5}"
    began = time.monotonic()
    status, answer = post(fleet.proxy.port, "/v1/query", {"tacit": 1, "sql": text})
    if status != 200:
        return time.monotonic() - began, 0, f"{status} {(answer or {}).get('code', '')}"
    return time.monotonic() - began, answer["watermark"]["acknowledged"] - answer["watermark"]["counted"], ""


def _middle(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the medians of some rows."""
    names = ("reports_per_second", "pending", "question_seconds", "left_out", "memory_mib", "load_average")
    parts = {name: statistics.median(row["microseconds_per_report"][name] for row in rows) for name in PARTS}
    return {name: statistics.median(row[name] for row in rows) for name in names} | {"microseconds_per_report": parts}


def _memory(pid: int) -> float:
    """Return the resident memory of a process, in MiB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
