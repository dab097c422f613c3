"""Processor time of a report and of a question, by part of a fleet, for one, two and three collectors.

Times of the processor are read from /proc, so what else runs on the machine changes them little; reports a second are
what the machine could do beside its other work, and are given with its load.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import psycopg

from bench.common import figure, say
from bench.faults.collector import COLLECTION, reports_of
from bench.fleet.kills import Fleet
from bench.fleet.load import COUNT, PATH, post
from deploy.fleet import children_of

__all__ = ["run_steady", "run_throughput"]

SECONDS = 12.0
CONNECTIONS = 6
PEOPLE = 33
"""In one request: 99 reports."""

STEADY_SECONDS = 10.0
"""Between two questions while the load is held."""

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
    _send(fleet.proxy.port, 2.0)  # tables and caches are there
    settle(fleet)
    before, load = meter.read(), os.getloadavg()[0]
    sent, seconds = _send(fleet.proxy.port, SECONDS)
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


_numbers = itertools.count(50_000_000)


def _send(port: int, seconds: float, rate: float = float("inf")) -> tuple[int, float]:
    """Send reports of new people, so many a second; return how many were acknowledged, and in how many seconds."""
    until, lock, sent = time.monotonic() + seconds, threading.Lock(), 0
    began, between = time.monotonic(), CONNECTIONS * 3 * PEOPLE / rate

    def work() -> None:
        nonlocal sent
        due = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while time.monotonic() < until:
            with lock:
                people = [next(_numbers) for _ in range(PEOPLE)]
            body = json.dumps({"tacit": 1, "reports": reports_of(people)})
            try:
                connection.request("POST", PATH, body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                answer = response.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                continue
            if response.status == 200:
                with lock:
                    sent += answer.count(b"stored")
            else:
                time.sleep(0.2)
            due += between
            time.sleep(max(0.0, due - time.monotonic()))
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sent, time.monotonic() - began


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
        sent, took = _send(fleet.proxy.port, 8.0)
        settle(fleet)
        peak = sent / took
        rows, until = [], time.monotonic() + seconds
        while time.monotonic() < until:
            rows.append({"second": round(time.monotonic() - until + seconds), **_steady_row(fleet, 0.8 * peak)})
            say(json.dumps(rows[-1]))
    return {"peak_reports_per_second": figure(peak), "seconds": seconds, "collection": COLLECTION.id[:12], "rows": rows}


def _steady_row(fleet: Fleet, rate: float) -> dict[str, Any]:
    """Send at a rate for some seconds, ask, and read what must stay flat."""
    sent, took = _send(fleet.proxy.port, STEADY_SECONDS, rate)
    asked = time.monotonic()
    status, answer = post(fleet.proxy.port, "/v1/query", COUNT)
    watermark = answer["watermark"] if status == 200 else {}
    return {
        "reports_per_second": figure(sent / took),
        "question_seconds": figure(time.monotonic() - asked),
        "counted": watermark.get("counted"),
        "acknowledged": watermark.get("acknowledged"),
        "memory_mib": round(sum(_memory(one.process.pid) for one in fleet.collectors) / len(fleet.collectors)),
        "load_average": figure(os.getloadavg()[0]),
    }


def _memory(pid: int) -> float:
    """Return the resident memory of a process, in MiB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
