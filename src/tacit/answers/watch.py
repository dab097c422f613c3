"""Watch stored reports for lies that show in their views and seeds.

Codes are counted again whenever a table has grown by a tenth; if a question has read sums by code over all reports,
these are used. What this process loads is counted as it comes; what others load, some seconds after it came.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tacit.answers.code_cache import cached_counts
from tacit.contract.contract import ServiceContract
from tacit.engines.base import Engine, ReportBatch
from tacit.engines.code_counts import code_counts
from tacit.engines.row_counts import stored_rows
from tacit.estimate.answer import Answer
from tacit.estimate.evenness import evenness_of
from tacit.sql.rounds import Round

__all__ = ["Watch", "problem_of"]

FEW = 1_000
"""Minimum reports of a channel for a test."""

COUNTED_SECONDS = 10.0
"""Seconds after which the rows of a table that other processes may have changed are counted again."""


class Seen(NamedTuple):
    """The problem with a table (empty if none), its rows, and in which version of the database and when it was read."""

    problem: str
    rows: int
    version: Hashable
    at: float


def problem_of(engine: Engine, table: str, service: ServiceContract) -> tuple[str, int]:
    """Return the problem with the views and seeds of a table's reports (empty if none), and their number."""
    cached = cached_counts(engine, table) if len(service.channels) == 1 else None
    counts = {0: cached} if cached is not None else code_counts(engine, table, rollup=table in engine.rollups())
    reports = sum(int(people.sum()) for _, people in counts.values())
    for number, (codes, people) in counts.items():
        problem = evenness_of(service.channels[number], codes, people.astype(np.float64)).problem
        if problem and people.sum() >= FEW:
            return problem, reports
    return "", reports


class Watch:
    """The state of the tables of one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._lock = engine, threading.Lock()
        self._seen: dict[str, Seen] = {}
        self._more: dict[str, int] = {}

    def note_growth(self, batches: Iterable[ReportBatch]) -> None:
        """Record that reports were added."""
        with self._lock:
            for batch in batches:
                self._more[batch.table] = self._more.get(batch.table, 0) + batch.rows

    def with_notes(self, answer: Answer, rounds: Sequence[Round]) -> Answer:
        """Add notes to an answer about services whose reports honest devices would hardly send."""
        answer.notes += tuple(self._notes(rounds))
        return answer

    def _notes(self, rounds: Sequence[Round]) -> list[str]:
        notes: dict[str, str] = {}
        version = self._engine.changes()
        if version is None:  # the engine has no cache, and counting codes for each question takes long
            return []
        for round_ in rounds:
            for stored in round_.stored:
                problem = self._problem(stored.table, stored.service, version)
                if problem:
                    name = stored.service.service.name
                    notes[name] = f"reports of {name} look made up: {problem} (docs/assigned.md#made-up-reports)"
        return list(notes.values())

    def _problem(self, table: str, service: ServiceContract, version: Hashable) -> str:
        with self._lock:
            known, more = self._seen.get(table), self._more.get(table, 0)
        now = time.monotonic()
        if known is not None and version != known.version and now >= known.at + COUNTED_SECONDS:
            more = stored_rows(self._engine, table) - known.rows
            known = known._replace(version=version, at=now)
            with self._lock:
                self._seen[table], self._more[table] = known, more
        if known is None or 10 * more > known.rows:
            if not self._engine.has_table(table):
                return ""
            known = Seen(*problem_of(self._engine, table, service), version, now)
            with self._lock:
                self._seen[table], self._more[table] = known, 0
        return known.problem
