"""The time of a question while reports arrive, in stores of several sizes."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

import psycopg

import tacit as tc
from bench.common import figure, say
from bench.faults.collector import COLLECTION
from bench.fleet.kills import Fleet
from bench.fleet.throughput import Sending, ask_once, send_for, settle
from tacit.encode.reports import report_table
from tacit.tables.statements import compose

__all__ = ["run_questions"]

SIZES = (1_000_000, 4_000_000, 8_000_000)
RATE = 2_000.0
"""Reports a second that arrive meanwhile."""

QUESTIONS = 7

GROW = """
INSERT INTO {table} SELECT 'grown-' || {size} || '-' || i, slot, channel, code
FROM (SELECT * FROM {table} LIMIT 1) AS one, generate_series(1, %s) i
"""
"""Rows of people who never sent any; the store is told that it knows them."""

KNOW = """
INSERT INTO tacit_sizes AS old (place, known, shard) SELECT place, %s, 15 FROM tacit_places WHERE service = 'users'
ON CONFLICT (place, shard) DO UPDATE SET known = old.known + excluded.known
"""


def run_questions(folder: Path) -> dict[str, Any]:
    """Grow a store with a rollup, and ask while reports arrive; the first batch counts the rows that were added."""
    results: dict[str, Any] = {}
    with Fleet(folder / "fleet", 2) as fleet:
        send_for(fleet.proxy.port, 2.0)
        settle(fleet)
        for size in SIZES:
            _grow(fleet, size)
            sending = Sending(fleet.proxy.port, RATE)
            time.sleep(5.0)
            asked = [ask_once(fleet) for _ in range(QUESTIONS)]
            sending.stop()
            settle(fleet)
            results[str(size)] = {
                "question_seconds": figure(statistics.median(seconds for seconds, _, _ in asked)),
                "unanswered": [why for _, _, why in asked if why],
                "load_average": figure(os.getloadavg()[0]),
            }
            say(f"{size:,} reports: {json.dumps(results[str(size)])}")
    return results


def _grow(fleet: Fleet, size: int) -> None:
    table = report_table(COLLECTION.id, "users")
    with psycopg.connect(fleet.database.address, autocommit=True) as connection:
        [(rows,)] = connection.execute(compose("SELECT count(*) FROM {table}", table=table)).fetchall()
        connection.execute(compose(GROW, table=table, size=compose(str(size))), [size - rows])
        connection.execute(KNOW, [size - rows])
        connection.execute("VACUUM ANALYZE")
    with contextlib.closing(tc.connect(fleet.database.address)) as database:
        database.rollup("users")
