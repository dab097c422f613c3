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


def run_upgrade(work: Path, seconds: float) -> dict[str, Any]:
    """End and start each collector in turn, by SIGTERM, while clients send; count what any client saw fail."""
    fleet, history = Fleet(work, 3, "--drain-seconds", "3"), History()
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
    result = {
        "replaced": replaced,
        "history": history.check(fleet.database.address),
        "told": dict(history.counts),
        "questions": {"asked": load.questions, "unanswered": dict(load.unanswered), "short": load.short},
        "reports_tried_again": dict(load.retries),
        "slowest_report_seconds": round(max(load.waits), 2),
        "mistakes": len(load.mistakes),
    }
    fleet.end()
    return result


def run_pause(work: Path, seconds: float) -> dict[str, Any]:
    """Stop whoever holds the lease in the middle of its work, again and again; it must change nothing when it wakes."""
    fleet, history = Fleet(work), History()
    load, until, rounds, held = Load(fleet.proxy.port, history), time.monotonic() + seconds, 0, 0
    pids = {_name_of(fleet, one.process.pid): one.process for one in fleet.collectors}
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
    result = {
        "stopped_leaders": rounds,
        "with_successor": held,
        "history": history.check(fleet.database.address),
        "told": dict(history.counts),
        "questions": {"asked": load.questions, "unanswered": dict(load.unanswered), "short": load.short},
        "mistakes": len(load.mistakes),
    }
    for mistake in load.mistakes[:10]:
        say(f"mistake: {mistake}")
    fleet.end()
    return result


def _leader(connection: psycopg.Connection[tuple[Any, ...]]) -> str:
    """Return the collector whose lease runs, if one's does."""
    query = "SELECT holder FROM tacit_leases WHERE NOT clean AND until > clock_timestamp()"
    rows = connection.execute(query).fetchall()
    return str(rows[0][0]) if rows else ""


def _name_of(fleet: Fleet, pid: int) -> str:
    """Return the name of a collector in the store: the one that is silent while its process is stopped."""
    with psycopg.connect(fleet.database.address, autocommit=True) as connection:
        query = "SELECT DISTINCT application_name FROM pg_stat_activity WHERE starts_with(application_name, 'tacit ')"
        names = [name.removeprefix("tacit ") for (name,) in connection.execute(query).fetchall()]
    os.kill(pid, signal.SIGSTOP)
    try:
        return _silent(fleet, names)
    finally:
        os.kill(pid, signal.SIGCONT)


def _silent(fleet: Fleet, names: list[str]) -> str:
    """Return the only one of some collectors that gives no sign of life for some seconds."""
    query = "SELECT id, beats FROM tacit_collectors"
    with psycopg.connect(fleet.database.address, autocommit=True) as connection:
        time.sleep(1.0)
        before = dict(connection.execute(query).fetchall())
        time.sleep(4.0)
        after = dict(connection.execute(query).fetchall())
    [silent] = [name for name in names if name in before and before[name] == after.get(name)]
    return silent
