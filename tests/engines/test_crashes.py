"""A load that is killed leaves a database that opens, with every acknowledged batch whole and no part of another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tacit as tc
from support.engines import postgres_address
from support.tiers import keeping
from tacit.errors import ReportError

TESTS = Path(__file__).parents[1]
PEOPLE = 20_000
"""In each batch, which takes the engine tens of milliseconds."""

HEAD = """
import sys, time
import tacit as tc
from engines.test_crashes import PEOPLE, collection_of, people
collection = collection_of()
database = tc.connect(sys.argv[1])
database.create(collection)
for number in range(1000):
    reports = collection.encode(**people(number * PEOPLE, PEOPLE), rng=tc.insecure_rng(number))
"""
LOADER = (
    HEAD
    + """
    database.load(reports)
    print(number, flush=True)
"""
)
MUTANT = (
    HEAD
    + """
    database.load({"users": reports["users"]})
    print(number, flush=True)
    time.sleep(60)
    database.load({"orders": reports["orders"]})
"""
)


def collection_of() -> tc.Collection:
    users = tc.Service("users", key="uid", attributes=[tc.Ordinal("age", 0, 9), tc.Public("os")])
    orders = tc.Service("orders", key="uid", attributes=[tc.Ordinal("pay", 0, 4)], at_most=2)
    return tc.Collection(tc.Schema([users, orders]), 4.0)


def people(first: int, count: int) -> dict[str, dict[str, object]]:
    keys = list(range(first, first + count))
    users = {"uid": keys, "age": [k % 10 for k in keys], "os": ["i"] * count}
    return {"users": users, "orders": {"uid": keys[::3], "pay": [k % 5 for k in keys[::3]]}}


def killed_after(address: str, seconds: float, loader: str = LOADER) -> int:
    """Kill a loader some time after its first acknowledgement; return how many batches it acknowledged."""
    with subprocess.Popen(
        [sys.executable, "-c", loader, address],
        cwd=TESTS,
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGKILL)
        rest = process.stdout.read()
    assert first.strip() == "0"
    return 1 + len(rest.split())


def check(address: str, acknowledged: int) -> None:
    database = tc.connect(address)
    users = database.sql("SELECT COUNT(*) AS n FROM users")["n"].n
    orders = database.sql("SELECT COUNT(DISTINCT uid) AS n FROM orders")["n"].n
    joined = database.sql("SELECT COUNT(*) AS n FROM users JOIN orders USING (uid)")["n"].n
    database.close()
    assert users == orders == joined, "both services of a batch, or neither"
    assert users % PEOPLE == 0, "no part of a batch"
    assert acknowledged * PEOPLE <= users <= (acknowledged + 1) * PEOPLE, "at most one batch was not told of"


@pytest.mark.parametrize("round_", keeping([0, 1], range(12), "kills of a loader into DuckDB"))
def test_duckdb_keeps_whole_batches(round_: int, tmp_path: Path, seed: int) -> None:
    address = str(tmp_path / "reports.tacit")
    check(address, killed_after(address, 0.05 + seed % 1000 / 1500))


@pytest.mark.parametrize("round_", keeping([0], range(12), "kills of a loader into a lake"))
def test_a_lake_keeps_whole_batches(round_: int, tmp_path: Path, seed: int) -> None:
    address = f"{tmp_path}/lake/"
    check(address, killed_after(address, 0.05 + seed % 1000 / 1500))


def test_services_that_are_stored_one_by_one_are_caught(tmp_path: Path) -> None:
    address = str(tmp_path / "reports.tacit")
    acknowledged = killed_after(address, 0.1, MUTANT)
    with pytest.raises((AssertionError, ReportError)):
        check(address, acknowledged)


@pytest.mark.parametrize("round_", keeping([0], range(6), "kills of a loader into PostgreSQL"))
def test_postgres_keeps_whole_batches(round_: int, seed: int) -> None:
    with postgres_address() as address:
        check(address, killed_after(address, 0.05 + seed % 1000 / 1500))
