"""One engine at one size, in a process of its own: load, ask, and say what it took, as one line of JSON."""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psutil
import pyarrow as pa

import tacit as tc
from bench.common import seed_of, timed
from tacit.answers import code_cache
from tacit.engines.duckdb import SHUT

SIDE = 125
BATCH, BATCH_OF_SPARK = 2_000_000, 10_000_000
"""Reports in one load: Spark looks through all keys it has for each."""

ASKED = 7
"""Questions timed; the first is not counted."""

FEW = 10_000
"""Reports of a small batch, loaded at last."""


def collection_of() -> tc.Collection:
    """Two attributes of 125 values: about 100,000 codes."""
    attributes = [tc.Ordinal(name, low=0, high=SIDE - 1) for name in ("a", "b")]
    schema = tc.Schema([tc.Service("users", key="uid", attributes=attributes)])
    return tc.Collection(schema, 1.0, mechanism="hio", oracle="lh")


def batches(collection: tc.Collection, reports: int, most: int) -> Iterator[pa.Table]:
    """Yield reports with random 64-bit keys, none of them twice, and codes that are as frequent as uniform records'."""
    rng = np.random.default_rng(seed_of("scale", reports))
    [channel] = collection.contract["users"].channels
    views = len(channel.views)
    sizes = np.array([view.oracle.alphabet for view in channel.views])
    offsets = np.array([view.offset for view in channel.views])
    for start in range(0, reports, most):
        rows = min(most, reports - start)
        place = np.arange(start, start + rows, dtype=np.uint64)
        key = (place * np.uint64(0x9E3779B97F4A7C15)).view(np.int64)  # odd: a permutation of 64-bit numbers
        view = rng.integers(0, views, rows)
        code = offsets[view] + (rng.random(rows) * sizes[view]).astype(np.int64)
        columns = {
            "uid": key,
            "slot": np.zeros(rows, np.int16),
            "channel": np.zeros(rows, np.int32),
            "code": code,
        }
        yield pa.table(columns).replace_schema_metadata({"tacit.collection": collection.id, "tacit.service": "users"})


def questions(seed: int) -> Iterator[str]:
    """Yield counts over random ranges of both attributes, half of each domain wide."""
    rng, width = np.random.default_rng(seed), SIDE // 2
    while True:
        a, b = rng.integers(0, SIDE - width, 2)
        yield f"SELECT COUNT(*) AS n FROM users WHERE a BETWEEN {a} AND {a + width} AND b BETWEEN {b} AND {b + width}"


class Memory:
    """Peak resident memory of this process and those it started, sampled ten times a second."""

    def __init__(self) -> None:
        self.peak, self._over = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        own = psutil.Process()
        while not self._over.wait(0.1):
            total = 0
            for process in (own, *own.children(recursive=True)):
                try:
                    total += process.memory_info().rss
                except psutil.Error:  # it has ended
                    continue
            self.peak = max(self.peak, total)

    def stop(self) -> int:
        """Return the peak in bytes."""
        self._over.set()
        self._thread.join()
        return max(self.peak, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


@contextmanager
def opened(engine: str, folder: Path) -> Iterator[tuple[tc.Database, Callable[[], int]]]:
    """Lend a database, and a function that says how large it is on disk."""
    if engine == "duckdb":
        path = folder / "reports.tacit"
        yield tc.connect(path), lambda: path.stat().st_size
    elif engine == "postgres":
        import psycopg

        with _postgres() as address:
            database = tc.connect(address)

            def size() -> int:
                with psycopg.connect(address, autocommit=True) as connection:
                    sizes = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class"  # with their indexes
                    tables = "relname LIKE 'reports_%' AND relkind = 'r'"
                    [(found,)] = connection.execute(f"{sizes} WHERE {tables}").fetchall()
                return int(found)

            yield database, size
            database.close()
    else:
        from tacit.engines.spark import local_session

        path = folder / "reports"
        session = local_session(int(engine[-1]))
        yield tc.connect(str(path), engine=session), lambda: sum(f.stat().st_size for f in path.rglob("*.parquet"))
        session.stop()


@contextmanager
def _postgres() -> Iterator[str]:
    import pgserver

    with tempfile.TemporaryDirectory() as folder:
        server = pgserver.get_server(folder)
        yield server.get_uri()
        server.cleanup()


def bare(folder: Path) -> Callable[[], float]:
    """Return a timer of the scan and join that any question must do, in the same database."""
    beside = duckdb.connect(str(folder / "reports.tacit"), config=SHUT)
    [(table,)] = beside.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'reports%'"
    ).fetchall()
    [(codes,)] = beside.execute(f'SELECT max(code) + 1 FROM "{table}"').fetchall()
    beside.execute(f"CREATE TEMP TABLE contributions AS SELECT range AS code, random() AS c FROM range({codes})")
    text = f'SELECT sum(c) FROM "{table}" JOIN contributions USING (code)'
    return lambda: timed(lambda: beside.execute(text).fetchall())


def processor_seconds() -> float:
    """Return the processor time of this process, those it started, and servers of PostgreSQL that it did not."""
    own = psutil.Process()
    servers = [one for one in psutil.process_iter(["name"]) if one.info["name"] == "postgres"]
    total = 0.0
    for process in {own, *own.children(recursive=True), *servers}:
        try:
            times = process.cpu_times()
        except psutil.Error:  # it has ended; its parent counts it
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def asked(database: tc.Database, text: Iterator[str]) -> dict[str, float]:
    """Return median seconds of questions, and their processor time on average: sums fetched anew, and kept."""
    found = {}
    for name, kept in (("query", 0), ("kept_query", code_cache.MOST_BYTES)):
        before, code_cache.MOST_BYTES = code_cache.MOST_BYTES, kept
        seconds = [timed(lambda: database.sql(next(text)))]
        start = processor_seconds()
        seconds += [timed(lambda: database.sql(next(text))) for _ in range(ASKED - 1)]
        found[f"{name}_seconds"] = round(statistics.median(seconds[1:]), 4)
        found[f"{name}_processor_seconds"] = round((processor_seconds() - start) / (ASKED - 1), 4)
        code_cache.MOST_BYTES = before
    return found


def measure(engine: str, reports: int) -> dict[str, Any]:
    """Load and ask."""
    collection, memory = collection_of(), Memory()
    with tempfile.TemporaryDirectory() as name, opened(engine, Path(name)) as (database, size):
        folder = Path(name)
        database.create(collection)
        most = BATCH_OF_SPARK if engine.startswith("spark") else BATCH
        loads = [timed(partial(database.load, {"users": table})) for table in batches(collection, reports, most)]
        *_, last = batches(collection, reports + FEW, reports)
        found: dict[str, Any] = {
            "engine": engine,
            "reports": reports,
            "codes": collection.contract["users"].channels[0].alphabet,
            "load_seconds": round(sum(loads), 2),
            "last_batch_seconds": round(loads[-1], 2),
            "small_batch_seconds": round(timed(partial(database.load, {"users": last})), 3),
        }
        text = questions(seed_of("scale", engine))
        found |= asked(database, text)
        if engine == "duckdb":
            other = bare(folder)
            found["bare_seconds"] = round(statistics.median([other() for _ in range(ASKED)][1:]), 4)
        if not engine.startswith("spark"):
            start = time.perf_counter()
            database.rollup("users")
            found["rollup_made_seconds"] = round(time.perf_counter() - start, 2)
            found["rollup_query_seconds"] = asked(database, text)["query_seconds"]
        found["bytes_per_report"] = round(_size_without_rollup(database, size, engine, folder) / reports, 2)
    return found | {"peak_memory_mib": memory.stop() >> 20}


def _size_without_rollup(database: tc.Database, size: Callable[[], int], engine: str, folder: Path) -> int:
    """Return the size on disk once everything is written there; the rollup is small beside it."""
    database.close()
    if engine == "duckdb":
        with duckdb.connect(str(folder / "reports.tacit"), config=SHUT) as connection:
            connection.execute("CHECKPOINT")
    return size()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=["duckdb", "postgres", "spark1", "spark2"])
    parser.add_argument("reports", type=int)
    options = parser.parse_args()
    print(json.dumps(measure(options.engine, options.reports)))
