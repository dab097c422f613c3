"""A collector's folder with many reports in it, filled in bulk: as if their people had sent them one by one."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import numpy as np

import tacit as tc
from bench.common import say
from tacit.server.collector import Collector

__all__ = ["COLLECTION", "fill"]

USERS = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 99)])
COLLECTION = tc.Collection(tc.Schema([USERS]), 2.0)
CHUNK = 1_000_000


def fill(folder: Path, reports: int, seed: int) -> None:
    """Fill a folder; keys are 64 random bits in hexadecimal, digests random bytes: nobody sends these again."""
    collector = Collector(folder)
    collector.publish(COLLECTION)
    source = np.random.default_rng(seed)
    keys = np.sort(source.integers(0, 2**63, reports))
    inbox = sqlite3.connect(folder / "inbox.db", isolation_level=None)
    [place] = inbox.execute("SELECT place FROM places").fetchone()
    for start in range(0, reports, CHUNK):
        some = [f"{key:016x}" for key in keys[start : start + CHUNK].tolist()]
        ages = source.integers(0, 100, len(some))
        encoded = COLLECTION.encode(users={"uid": some, "age": ages}, rng=tc.insecure_rng(seed + start))
        collector.database.load(encoded)
        digests = source.bytes(12 * len(some))
        rows = ((place, key, 0, digests[12 * i : 12 * i + 12]) for i, key in enumerate(some))
        inbox.execute("BEGIN")
        inbox.executemany("INSERT INTO known (place, person, slot, digest) VALUES (?, ?, ?, ?)", rows)
        inbox.execute("INSERT OR REPLACE INTO sizes (place, known) VALUES (?, ?)", (place, start + len(some)))
        inbox.execute("COMMIT")
        say(f"filled {start + len(some):,} of {reports:,}")
    inbox.close()
    collector.close()


if __name__ == "__main__":
    fill(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
