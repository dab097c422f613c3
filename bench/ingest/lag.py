"""How far the analytical database falls behind the inbox under load, and how long a question takes after a burst.

Nobody asks during the load, so that only the collector's own mover works. Prints one line of JSON.

```text
python -m bench.ingest.lag --seconds 30
```
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

from bench.ingest.fill import COLLECTION, fill
from bench.ingest.run import Serving, sent

QUESTION = {"tacit": 1, "sql": "SELECT COUNT(*) AS n FROM users"}


class Watch:
    """Samples the reports that are pending, until it is told to stop."""

    def __init__(self, address: str) -> None:
        self._address, self._stop = address, threading.Event()
        self.pending: list[int] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.25):
            self.pending.append(pending(self._address))

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


def pending(address: str) -> int:
    """Return how many reports wait to be moved."""
    with urllib.request.urlopen(f"{address}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return int(float(next(line.split()[-1] for line in lines if line.startswith("tacit_reports_pending"))))


def asked(address: str) -> dict[str, Any]:
    """Ask how many people there are; return the seconds that took, and what was counted."""
    request = urllib.request.Request(
        f"{address}/v1/query", json.dumps(QUESTION).encode(), {"Content-Type": "application/json"}
    )
    start = time.perf_counter()
    with urllib.request.urlopen(request, timeout=120) as answer:
        found = json.load(answer)
    return {
        "seconds": round(time.perf_counter() - start, 2),
        "n": found["rows"][0]["n"],
        "watermark": found.get("watermark"),
    }


def main() -> None:
    """Fill a store, send as much as it takes, and look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--reports", type=int, default=1_000_000, help="in the store before")
    parser.add_argument("--rate", type=float, default=0, help="requests of 100 a second; 0: as many as it takes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "store"
        fill(folder, options.reports, 1)
        serving = Serving(folder)
        asked(serving.address)
        watch = Watch(serving.address)
        load = {"rate": options.rate, "batch": 100, "seconds": options.seconds, "connections": 32}
        result = sent(serving, 2, question_every=1e9, **load)
        watch.stop()
        after = pending(serving.address)
        question = asked(serving.address)
        print(
            json.dumps(
                {
                    "collection": COLLECTION.id[:8],
                    "load_average": os.getloadavg()[0],
                    "stored_per_second": round(result["stored_per_second"]),
                    "answers": result["answers"],
                    "most_pending": max(watch.pending, default=0),
                    "pending_after": after,
                    "question_after": question,
                    "stopped_in": round(serving.end(), 2),
                }
            )
        )


if __name__ == "__main__":
    main()
