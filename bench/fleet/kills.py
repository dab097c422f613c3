"""Kill collectors, the proxy and sessions of the database at random moments, under load and with real clients."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Self

import psycopg

from bench.common import ROOT, say
from bench.faults.collector import COLLECTION
from bench.fleet.history import History, read_wallets
from bench.fleet.load import Load, post
from deploy.fleet import Collector, Database, Proxy

__all__ = ["Fleet", "add_up", "run_kills"]

PEOPLE = 25
"""Of one run of an app."""

BETWEEN_CRASHES = 30.0
"""Seconds between crashes of PostgreSQL, which recovers for some of them: nothing can be stored meanwhile."""

APPS = 10_000_000
"""The first person of apps."""

VICTIMS = {"collector": 45, "session": 30, "proxy": 15, "paused": 6, "server": 4}
"""What is killed, and how often: a session of PostgreSQL is ended; `server` kills a session's process, after which
PostgreSQL ends all sessions and recovers; `paused` stops a collector for longer than a lease."""


class Fleet:
    """PostgreSQL, collectors and a proxy in a folder."""

    crashed = float("-inf")
    """When PostgreSQL last crashed."""

    def __init__(self, work: Path, collectors: int = 3, *options: str) -> None:
        work.mkdir(parents=True)
        work.chmod(0o755)
        self.work, contract = work, work / "contract.json"
        contract.write_text(COLLECTION.to_json(), encoding="utf-8")
        self.database = Database(work / "database")
        logs = [work / f"collector-{number}.log" for number in range(collectors)]
        self.collectors = [Collector(self.database.address, contract, log, *options) for log in logs]
        for one in self.collectors:
            one.wait()
        self.proxy = Proxy(work / "proxy", [one.port for one in self.collectors])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop everything, however a measurement ended."""
        self.proxy.end()
        for one in self.collectors:
            one.process.send_signal(signal.SIGCONT)
            one.end()
        self.database.end()


class Apps:
    """Apps of both languages, one run after the other, some of which are killed and started again."""

    def __init__(self, fleet: Fleet, built: Path) -> None:
        self._fleet, self._stopped, self.kills, self.runs = fleet, threading.Event(), 0, 0
        self.restarts = 0
        self._threads = [threading.Thread(target=self._run, args=(kind, built)) for kind in ("python", "typescript")]
        for thread in self._threads:
            thread.start()

    def _run(self, kind: str, built: Path) -> None:
        source, address, number = random.Random(kind), self._fleet.proxy.address, 0
        while not self._stopped.is_set():
            folder = self._fleet.work / f"{kind}-{number}"
            folder.mkdir()
            first = str(APPS + PEOPLE * number)
            if kind == "python":
                words = [
                    sys.executable,
                    "-m",
                    "bench.faults.delivery",
                    address,
                    str(folder),
                    COLLECTION.id,
                    first,
                    str(PEOPLE),
                ]
            else:
                words = [
                    "node",
                    str(ROOT / "bench" / "fleet" / "app.mjs"),
                    str(built),
                    address,
                    COLLECTION.id,
                    str(folder),
                    first,
                ]
                words.append(str(PEOPLE))
            app = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if source.random() < 0.5:
                time.sleep(source.uniform(1.0, 4.0))
                if app.poll() is None:
                    app.kill()
                    app.wait()
                    self.kills += 1
                    if kind == "typescript":
                        (folder / "history").unlink(missing_ok=True)  # it begins anew, and says all of it again
                    app = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while app.wait() != 0:  # no collector was there to fetch the contract from
                self.restarts += 1
                time.sleep(0.5)
                app = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.runs, number = self.runs + 1, number + 1

    def stop(self) -> None:
        """Let the running ones finish."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()


def run_kills(work: Path, built: Path, kills: int, seconds: float, seed: int) -> dict[str, Any]:
    """Kill so many times, or until the time is over; then compare what clients were told with the database."""
    with Fleet(work) as fleet:
        return _killed(fleet, built, kills, seconds, random.Random(seed))


def _killed(fleet: Fleet, built: Path, kills: int, seconds: float, source: random.Random) -> dict[str, Any]:
    history, done = History(), Counter[str]()
    load, apps, until = Load(fleet.proxy.port, history), Apps(fleet, built), time.monotonic() + seconds
    healing: list[threading.Thread] = []
    while sum(done.values()) < kills and time.monotonic() < until:
        time.sleep(source.uniform(0.1, 1.5))
        what = source.choices(list(VICTIMS), list(VICTIMS.values()))[0]
        if _kill(what, fleet, source, healing):
            done[what] += 1
            if sum(done.values()) % 20 == 0:
                say(f"{sum(done.values())} kills {dict(done)}: {dict(history.counts)}, questions {load.questions}")
                for mistake in load.mistakes[:5]:
                    say(f"  {mistake}")
    for thread in healing:
        thread.join()
    for one in fleet.collectors:
        one.wait()
    apps.stop()
    load.stop()
    waiting, rejected = read_wallets(history, fleet.work)
    final = [_count(one.port) for one in fleet.collectors]
    result = {
        "kills": dict(done) | {"app": apps.kills},
        "app_runs": apps.runs,
        "app_restarts": apps.restarts,
        "app_people": PEOPLE * apps.runs,
        "told": dict(history.counts),
        "people": dict(Counter(_kind(person) for person, service, _ in history.told if service == "users")),
        "history": history.check(fleet.database.address),
        "outboxes": {"waiting": waiting, "rejected": rejected},
        "questions": {
            "asked": load.questions,
            "with_notes": load.qualified,
            "unanswered": dict(load.unanswered),
            "short": load.short,
        },
        "final_counts_equal": len(set(final)) == 1 and final[0][0] == final[0][1],
        "mistakes": len(load.mistakes),
    }
    for mistake in load.mistakes[:20]:
        say(f"mistake: {mistake}")
    return result


def add_up(before: Any, more: Any) -> Any:
    """Return the results of several rounds as one."""
    if isinstance(more, dict):
        known = before if isinstance(before, dict) else {}
        return {name: add_up(known.get(name), more[name]) if name in more else known[name] for name in known | more}
    if isinstance(more, bool):
        return more and before is not False
    return more + (before or 0) if isinstance(more, int | float) else more


def _kind(person: str) -> str:
    return "typescript" if person.startswith("t-") else "python" if int(person[2:]) >= APPS else "http"


def _count(port: int) -> tuple[int, int]:
    for _ in range(50):
        status, answer = post(port, "/v1/query", {"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"})
        if status == 200:
            return answer["watermark"]["acknowledged"], round(answer["rows"][0]["n"])
        time.sleep(0.5)
    raise TimeoutError(answer)


def _kill(what: str, fleet: Fleet, source: random.Random, healing: list[threading.Thread]) -> bool:
    """Kill something, unless it is the last that works."""
    healing[:] = [thread for thread in healing if thread.is_alive()]
    if what == "proxy":
        fleet.proxy.kill()
        return True
    if what == "server" and time.monotonic() - fleet.crashed < BETWEEN_CRASHES:
        return False
    if what in ("session", "server"):
        fleet.crashed = time.monotonic() if what == "server" else fleet.crashed
        return _end_session(fleet.database, source, crash=what == "server")
    ready = [one for one in fleet.collectors if one.process.poll() is None]
    if len(healing) > 1 or len(ready) < len(fleet.collectors):  # one more works on
        return False
    victim = source.choice(ready)
    if what == "paused":
        victim.process.send_signal(signal.SIGSTOP)
        seconds = source.uniform(11.0, 14.0)

        def heal() -> None:
            time.sleep(seconds)
            victim.process.send_signal(signal.SIGCONT)
    else:
        victim.end(signal.SIGKILL)

        def heal() -> None:
            victim.start()
            victim.wait()

    healing.append(threading.Thread(target=heal))
    healing[-1].start()
    return True


def _end_session(database: Database, source: random.Random, *, crash: bool) -> bool:
    try:
        with psycopg.connect(database.address, autocommit=True) as connection:
            query = "SELECT pid FROM pg_stat_activity WHERE starts_with(application_name, 'tacit ') ORDER BY pid"
            pids = [pid for (pid,) in connection.execute(query).fetchall()]
            if not pids:
                return False
            pid = source.choice(pids)
            if crash:
                os.kill(pid, signal.SIGKILL)
            else:
                connection.execute("SELECT pg_terminate_backend(%s)", [pid])
            return True
    except psycopg.Error:  # it is recovering
        return False
