"""Kill a collector under load at random moments; whatever it acknowledged must be there after a restart, once."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.common import say
from bench.faults.collector import Collector, Connection, Zygote
from bench.faults.people import People

__all__ = ["run_kills"]

SENDERS = 3
BATCH = 20
"""People in one request: 60 reports."""


class Load:
    """Sends reports of new people on some connections, asks, and looks at its health, until told to stop."""

    def __init__(self, people: People, port: int) -> None:
        self._people, self._lock, self._stopped = people, threading.Lock(), threading.Event()
        self.short = 0
        work = [self._send] * SENDERS + [self._ask, self._watch]
        self._threads = [threading.Thread(target=one, args=(Connection(port),)) for one in work]
        for thread in self._threads:
            thread.start()

    def _send(self, collector: Connection) -> None:
        while not self._stopped.is_set():
            with self._lock:
                some = self._people.new(BATCH)
                self._people.unknown |= set(some)
            answer = collector.send(some)
            with self._lock:
                self._people.note(some, answer)
        collector.hang_up()

    def _ask(self, collector: Connection) -> None:
        while not self._stopped.wait(0.1):
            with self._lock:
                least = self._people.least
            answer = collector.count()
            self.short += answer.count is not None and answer.count < least and not answer.is_qualified
        collector.hang_up()

    def _watch(self, collector: Connection) -> None:
        """Read what monitoring reads, far more often."""
        while not self._stopped.wait(0.02):
            collector.ask("/metrics")
            collector.ask("/readyz")
        collector.hang_up()

    def stop(self) -> None:
        """Stop all connections."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()


def run_kills(work: Path, zygote: Zygote, rounds: int, seconds: float) -> dict[str, Any]:
    """Kill, restart and compare, so many times or until the time is over."""
    source, people, total = random.Random(16), People(), Counter[str]()
    until = time.monotonic() + seconds
    collector = Collector(zygote, work)
    for number in range(rounds):
        if time.monotonic() > until:
            break
        before = set(people.acknowledged)
        load = Load(people, collector.port)
        time.sleep(source.uniform(0.05, 1.0))
        collector.end(signal.SIGKILL)
        load.stop()
        total["rounds"] += 1
        total["short"] += load.short
        collector = Collector(zygote, work)
        new = sorted(people.acknowledged - before)
        total["acknowledged"] += 3 * len(new)
        total["lost"] += _missing(collector, new)
        total["mistakes"] += people.settle(collector).status != 200
        counted = collector.count().count or 0
        total["lost"] += max(0, people.least - counted)
        total["twice"] += max(0, counted - people.most)
        if (number + 1) % 10 == 0:
            say(f"{number + 1} kills: {dict(total)}")
    total["lost"] += _missing(collector, sorted(people.acknowledged))
    collector.end()
    total["twice"] += collector.twice_stored()
    return {name: total[name] for name in ("rounds", "acknowledged", "lost", "twice", "short", "mistakes")}


def _missing(collector: Collector, people: list[int]) -> int:
    """Return how many reports a collector does not know: sent again, they would be new."""
    missing = 0
    for start in range(0, len(people), 300):
        some = people[start : start + 300]
        missing += 3 * len(some) - collector.send(some).statuses.count("again")
    return missing
