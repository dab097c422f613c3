"""A rolling upgrade under load, and a leader that is stopped while it moves reports."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import psycopg

from bench.common import say
from bench.fleet.history import History
from bench.fleet.kills import Fleet
from bench.fleet.load import Load

__all__ = ["run_pause", "run_upgrade"]

PAUSED_SECONDS = 14.0
"""Longer than a lease."""

SILENT_SECONDS, SILENT_WITHIN = 8.0, 45.0
"""Seconds without a heartbeat (several of its periods), and how long to wait for that."""


def run_upgrade(work: Path, seconds: float) -> dict[str, Any]:
    """End and start each collector in turn, by SIGTERM, while clients send; count what any client saw fail."""
    with Fleet(work, 3, "--drain-seconds", "3") as fleet:
        return _upgraded(fleet, seconds)


def _upgraded(fleet: Fleet, seconds: float) -> dict[str, Any]:
    history = History()
    load, until, replaced = Load(fleet.proxy.port, history), time.monotonic() + seconds, 0
    time.sleep(3)
    for one in fleet.collectors * 2:
        if time.monotonic() > until:
            break
        one.end(signal.SIGTERM)
        one.start()
        one.wait()
        time.sleep(2)
        replaced += 1
        say(f"{replaced} collectors were replaced: {dict(history.counts)}, tries again {dict(load.retries)}")
    load.stop()
    return {
        "replaced": replaced,
        "history": history.check(fleet.database.address),
        "told": dict(history.counts),
        "questions": {"asked": load.questions, "unanswered": dict(load.unanswered), "short": load.short},
        "reports_tried_again": dict(load.retries),
        "slowest_report_seconds": round(max(load.waits), 2),
        "mistakes": len(load.mistakes),
    }


def run_pause(work: Path, seconds: float) -> dict[str, Any]:
    """Stop whoever holds the lease in the middle of its work, again and again; it must change nothing when it wakes."""
    with Fleet(work) as fleet:
        return _paused(fleet, seconds)


def _paused(fleet: Fleet, seconds: float) -> dict[str, Any]:
    pids = {_name_of(fleet, one.process.pid): one.process for one in fleet.collectors}
    history = History()
    load, until, rounds, held = Load(fleet.proxy.port, history), time.monotonic() + seconds, 0, 0
    while rounds < 8 and time.monotonic() < until:
        time.sleep(0.7)
        with psycopg.connect(fleet.database.address, autocommit=True) as connection:
            holder = _leader(connection)
            if holder not in pids:
                continue
            pids[holder].send_signal(signal.SIGSTOP)
            time.sleep(0.05)
            if _leader(connection) != holder:  # it had just let go
                pids[holder].send_signal(signal.SIGCONT)
                continue
            [(token,)] = connection.execute("SELECT token FROM tacit_fences").fetchall()
            time.sleep(PAUSED_SECONDS)
            [(after,)] = connection.execute("SELECT token FROM tacit_fences").fetchall()
            held += after > token
        pids[holder].send_signal(signal.SIGCONT)
        rounds += 1
        say(f"{rounds} leaders were stopped, {held} had a successor when they woke: {dict(history.counts)}")
    time.sleep(3)
    load.stop()
    for mistake in load.mistakes[:10]:
        say(f"mistake: {mistake}")
    return {
        "stopped_leaders": rounds,
        "with_successor": held,
        "history": history.check(fleet.database.address),
        "told": dict(history.counts),
        "questions": {"asked": load.questions, "unanswered": dict(load.unanswered), "short": load.short},
        "mistakes": len(load.mistakes),
    }


def _leader(connection: psycopg.Connection[tuple[Any, ...]]) -> str:
    """Return the collector whose lease runs, if one's does."""
    query = "SELECT holder FROM tacit_leases WHERE NOT clean AND until > clock_timestamp()"
    rows = connection.execute(query).fetchall()
    return str(rows[0][0]) if rows else ""


def _name_of(fleet: Fleet, pid: int) -> str:
    """Return the name of a collector in the store: the one whose heartbeat stops with its process."""
    _wait_for_silent(fleet, 0)
    os.kill(pid, signal.SIGSTOP)
    try:
        [name] = _wait_for_silent(fleet, 1)
        return name
    finally:
        os.kill(pid, signal.SIGCONT)


def _wait_for_silent(fleet: Fleet, number: int) -> list[str]:
    """Wait until so many of all collectors have had no heartbeat for some seconds, and return them."""
    query = "SELECT id, extract(epoch FROM clock_timestamp() - seen)::float8 FROM tacit_collectors"
    until = time.monotonic() + SILENT_WITHIN
    with psycopg.connect(fleet.database.address, autocommit=True) as connection:
        while time.monotonic() < until:
            ages = dict(connection.execute(query).fetchall())
            silent = [str(name) for name, seconds in ages.items() if seconds > SILENT_SECONDS]
            if len(ages) == len(fleet.collectors) and len(silent) == number:
                return silent
            time.sleep(0.2)
    raise TimeoutError(f"{len(silent)} of {len(ages)} collectors have no heartbeat, where {number} should.")
