"""Fifty analysts at once beside reports that come in: how long each waits for an answer. Writes analysts.json.

Every analyst asks the next question as soon as the last is answered; few ask the same. A thousand reports a second are
sent meanwhile, so every answer has to count new people. ``--against`` measures an earlier commit first, on a copy of
the same store.

```text
python -m bench.ingest.analysts --people 2000000 --against COMMIT
```
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from bench.common import ROOT, provenance, say
from bench.ingest.fill import fill
from bench.ingest.run import PACKAGES, Serving, sent

RESULT = Path(__file__).parent / "analysts.json"
SEED = 20_261_116


class Analyst(threading.Thread):
    """Asks until the time is over."""

    def __init__(self, address: str, end: float, seed: int) -> None:
        super().__init__(daemon=True)
        self._address, self._end, self._source = urlsplit(address), end, random.Random(seed)
        self.seconds: list[float] = []
        self.refused = 0

    def run(self) -> None:
        """Ask."""
        connection = http.client.HTTPConnection(self._address.hostname or "", self._address.port, timeout=120)
        while time.monotonic() < self._end:
            low = self._source.randrange(80)
            high = low + self._source.randrange(1, 20)
            groups = self._source.random() < 0.5
            text = f"SELECT COUNT(*) AS n FROM users WHERE age BETWEEN {low} AND {high}"
            if groups:
                text = f"SELECT age, COUNT(*) AS n FROM users WHERE age BETWEEN {low} AND {high} GROUP BY age"
            start = time.perf_counter()
            body = json.dumps({"tacit": 1, "sql": text})
            connection.request("POST", "/v1/query", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                self.seconds.append(time.perf_counter() - start)
            else:
                self.refused += 1
                time.sleep(0.2)


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Serve a folder, send and ask."""
    serving = Serving(folder)
    process, load = psutil.Process(serving.process.pid), os.getloadavg()[0]
    before = sum(process.cpu_times()[:2])
    end = time.monotonic() + options.seconds
    analysts = [Analyst(serving.address, end, SEED + number) for number in range(options.analysts)]
    for one in analysts:
        one.start()
    stored = sent(serving, SEED, rate=options.rate / 100, batch=100, seconds=options.seconds, connections=8)
    for one in analysts:
        one.join()
    used = sum(process.cpu_times()[:2]) - before
    serving.end()
    seconds = sorted(second for one in analysts for second in one.seconds)
    return {
        "answers": len(seconds),
        "refused": sum(one.refused for one in analysts),
        "median_seconds": round(statistics.median(seconds), 3),
        "p95_seconds": round(seconds[int(0.95 * len(seconds))], 3),
        "processor_seconds_per_answer": round(used / len(seconds), 4),
        "load_average_before": round(load, 1),
        "reports": {name: stored.get(name) for name in ("stored", "p99", "latency") if name in stored},
    }


def main() -> None:
    """Measure this commit, and an earlier one before it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=2_000_000)
    parser.add_argument("--analysts", type=int, default=50)
    parser.add_argument("--rate", type=int, default=1_000, help="reports a second")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--against", metavar="COMMIT")
    options = parser.parse_args()
    results = provenance(PACKAGES, parameters=vars(options))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder / "filled", options.people, SEED)
        for when, commit in (("before", options.against), ("after", "HEAD")):
            if commit is None:
                continue
            source = folder / f"source-{when}"
            source.mkdir()
            packed = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True).stdout
            subprocess.run(["tar", "-x", "-C", str(source)], input=packed, check=True)
            os.environ["PYTHONPATH"] = os.pathsep.join([str(source / "src"), str(ROOT)])
            shutil.copytree(folder / "filled", folder / when)
            results[when] = measure(folder / when, options)
            say(f"{when}: {json.dumps(results[when])}")
            RESULT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
