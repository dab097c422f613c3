"""Real clients behind a proxy that disturbs everything, with kills of both sides: every record must be stored once."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.common import say
from bench.faults.collector import COLLECTION, Collector, Zygote
from bench.faults.proxy import FaultProxy
from tacit.client import connect

__all__ = ["run_deliveries"]

PEOPLE = 40
"""In one round."""


def run_deliveries(work: Path, zygote: Zygote, rounds: int, seconds: float) -> dict[str, Any]:
    """Disturb, kill, restart, and compare at the end of each round."""
    work.mkdir(parents=True, exist_ok=True)
    source, total = random.Random(16), Counter[str]()
    until = time.monotonic() + seconds
    collector = Collector(zygote, work / "collector")
    proxy = FaultProxy(collector.port, seed=16)
    for number in range(rounds):
        if time.monotonic() > until:
            break
        app = _app(proxy.port, work, number)
        for _ in range(source.randrange(4)):
            time.sleep(source.uniform(0.2, 1.5))
            if source.random() < 0.5:
                app.kill()
                app.wait()
                app, total["client_kills"] = _app(proxy.port, work, number), total["client_kills"] + 1
            else:
                collector.end(signal.SIGKILL)
                collector = Collector(zygote, work / "collector")
                proxy.target, total["collector_kills"] = collector.port, total["collector_kills"] + 1
        _finish(app, proxy, total)
        total["rounds"] += 1
        _compare(collector, work, number, total)
        if (number + 1) % 5 == 0:
            say(f"{number + 1} deliveries: {dict(total)}")
    proxy.close()
    collector.end()
    total["twice"] += collector.twice_stored()
    names = ("rounds", "client_kills", "collector_kills", "records", "lost", "twice", "rejected", "unfinished")
    return {name: total[name] for name in names} | {"requests": dict(sorted(proxy.met.items()))}


def _app(port: int, work: Path, number: int) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "bench.faults.delivery", f"http://127.0.0.1:{port}", str(work), COLLECTION.id]
    return subprocess.Popen([*words, str(number * PEOPLE), str(PEOPLE)], stderr=subprocess.DEVNULL)


def _finish(app: subprocess.Popen[bytes], proxy: FaultProxy, total: Counter[str]) -> None:
    """Let a client deliver the rest, disturbed as before."""
    del proxy
    try:
        app.wait(180)
    except subprocess.TimeoutExpired:
        app.kill()
        app.wait()
        total["unfinished"] += 1


def _compare(collector: Collector, work: Path, number: int, total: Counter[str]) -> None:
    """Compare the wallet with the collector: what was drawn is stored, unchanged, and nobody is counted twice."""
    client = connect(
        f"http://127.0.0.1:{collector.port}", collection=COLLECTION.id, store=work / "wallet.db", cap=1_000, every=0
    )
    delivered = client.flush(10.0)
    total["rejected"] += delivered.rejected
    total["unfinished"] += delivered.pending > 0
    people = range(number * PEOPLE, (number + 1) * PEOPLE)
    drawn = [
        json.loads(body) for one in people for entry in client.person(f"p-{one}").history() for body in entry.bodies
    ]
    client.close()
    answer = collector.ask(f"/v1/collections/{COLLECTION.id}/reports", {"reports": drawn})
    total["records"] += len(drawn)
    total["lost"] += len(drawn) - answer.statuses.count("again") + abs(3 * PEOPLE - len(drawn))
    total["twice"] += max(0, (collector.count().count or 0) - (number + 1) * PEOPLE)
    total["lost"] += max(0, (number + 1) * PEOPLE - (collector.count().count or 0))
