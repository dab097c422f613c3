"""Reports a second: a real collector with many reports in its store takes more while it answers a question a second.

The full run writes results.json. ``--slice`` does the same at a small size, prints the numbers next to the committed
ones, and exits with 1 if a request failed: times are the machine's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.common import provenance, say
from bench.ingest.fill import COLLECTION, fill

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PACKAGES = ("tacit", "duckdb", "starlette", "uvicorn", "httptools", "uvloop")
SEED = 20_261_115


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    reports: int
    seconds: float
    batches_per_second: float
    singles_per_second: float
    repetitions: int
    batch: int = 100
    overload: float = 5.0


FULL = Sizes(10_000_000, 60, 200, 1_000, 3)
SLICE = Sizes(100_000, 5, 20, 50, 1)


class Serving:
    """`tacit serve` over a folder."""

    def __init__(self, folder: Path) -> None:
        words = [sys.executable, "-m", "tacit.cli", "serve", str(folder), "--port", "0"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]

    def memory(self) -> int:
        """Return the most memory it has had, in MiB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) >> 10

    def end(self) -> float:
        """End it and return the seconds that took."""
        start = time.perf_counter()
        os.kill(self.process.pid, signal.SIGTERM)
        if self.process.wait(60) != 0:
            raise RuntimeError("the collector failed")
        return time.perf_counter() - start


def sent(serving: Serving, seed: int, **load: Any) -> dict[str, Any]:
    """Run a load in a process of its own."""
    alphabet = COLLECTION.contract.services[0].channels[0].alphabet
    given = {"address": serving.address, "collection": COLLECTION.id, "alphabet": alphabet, "seed": seed} | load
    words = [sys.executable, "-m", "bench.ingest.load", json.dumps(given)]
    return dict(json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout))


def bare(folder: Path, sizes: Sizes, seed: int) -> dict[str, float]:
    """Store the same rows with bare SQLite: a commit, on disk, for each batch; no HTTP, no checks, no questions."""
    path = folder.with_name("bare.db")
    shutil.copyfile(folder / "inbox.db", path)
    file = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = FULL"):
        file.execute(f"PRAGMA {pragma}")
    file.execute("CREATE TABLE contents (number INTEGER PRIMARY KEY, place, person, slot, content)")
    stored, start, number = 0, time.perf_counter(), seed << 40
    while time.perf_counter() - start < min(sizes.seconds, 10):
        rows = [(1, os.urandom(8).hex(), 0, os.urandom(12)) for _ in range(sizes.batch)]
        file.execute("BEGIN IMMEDIATE")
        file.executemany("INSERT INTO known (place, person, slot, digest) VALUES (?, ?, ?, ?)", rows)
        contents = ((one, person, slot, b"[[12345],[]]") for one, person, slot, _ in rows)
        file.executemany("INSERT INTO contents (place, person, slot, content) VALUES (?, ?, ?, ?)", contents)
        file.execute("COMMIT")
        stored, number = stored + len(rows), number + len(rows)
    took = time.perf_counter() - start
    file.close()
    path.unlink()
    return {"stored_per_second": stored / took}


def recovery(serving: Serving, seed: int) -> float:
    """Return the seconds until a single report is answered within a quarter of a second again."""
    start = time.perf_counter()
    while True:
        one = sent(serving, seed, rate=20, batch=1, seconds=0.5, connections=2)
        seed += 1
        if one["latency"].get("p50", 1e9) < 250:
            return time.perf_counter() - start


def repetition(folder: Path, sizes: Sizes, number: int) -> dict[str, Any]:
    """Measure everything once."""
    seed = SEED + 1_000 * (number + 1)  # nobody who is in the store
    found: dict[str, Any] = {"load_before": os.getloadavg()[0], "bare_sqlite": bare(folder, sizes, number)}
    say(f"bare SQLite: {found['bare_sqlite']['stored_per_second']:,.0f} reports/s")
    serving = Serving(folder)
    common = {"seconds": sizes.seconds, "connections": 32}
    found["batches"] = sent(serving, seed, rate=sizes.batches_per_second, batch=sizes.batch, **common)
    say(f"batches: {json.dumps(found['batches'])}")
    found["singles"] = sent(serving, seed + 1, rate=sizes.singles_per_second, batch=1, **common)
    say(f"singles: {json.dumps(found['singles'])}")
    short = max(2.0, sizes.seconds / 4)
    found["peak"] = sent(serving, seed + 2, rate=0, batch=sizes.batch, seconds=short, connections=32)
    say(f"peak: {json.dumps(found['peak'])}")
    rate = sizes.overload * found["peak"]["stored_per_second"] / sizes.batch
    found["overload"] = sent(serving, seed + 3, rate=rate, batch=sizes.batch, seconds=short, connections=400)
    found["overload"]["offered_per_second"] = rate * sizes.batch
    found["overload"]["recovery_seconds"] = recovery(serving, seed + 100)
    say(f"overload: {json.dumps(found['overload'])}")
    found["memory_mib"], found["shutdown_seconds"] = serving.memory(), serving.end()
    return found


def main() -> int:
    """Measure, and write or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slice", action="store_true", help="measure at a small size and compare")
    parser.add_argument("--folder", help="where the store is made; it is kept, and used again if it is there")
    options = parser.parse_args()
    sizes = SLICE if options.slice else FULL
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.folder or temporary) / "store"
        if not folder.exists():
            fill(folder, sizes.reports, SEED)
        runs = [repetition(folder, sizes, number) for number in range(sizes.repetitions)]
    found = provenance(PACKAGES, parameters=asdict(sizes) | {"seed": SEED}, repetitions=runs)
    failed = [run for run in runs for part in ("batches", "singles") if set(run[part]["answers"]) != {"200"}]
    if options.slice:
        say(RESULTS.read_text(encoding="utf-8")[:2_000] if RESULTS.exists() else "nothing is committed yet")
        return int(bool(failed))
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
