"""Cursors of one connection in many threads."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from tacit import dbapi

QUESTIONS = [
    ("SELECT COUNT(*) AS n FROM shop WHERE age < ?", 10),
    ("SELECT COUNT(*) AS n FROM shop WHERE age < ?", 60),
    ("SELECT AVG(visits) AS n FROM clinic WHERE visits > ?", 1),
    ("SELECT COUNT(*) AS n FROM shop JOIN clinic USING (uid) WHERE visits > ?", 2),
    ("SELECT device, COUNT(*) AS n FROM shop WHERE device <> ? GROUP BY device", "web"),
    ("EXPLAIN SELECT COUNT(*) AS n FROM shop WHERE age < ?", 10),
]


@pytest.mark.parametrize("shared", [True, False], ids=["one connection", "one connection each"])
def test_threads_get_their_own_answers(path: Path, connection: dbapi.Connection, shared: bool) -> None:
    """A connection of DuckDB that threads share mixes up their results; none of ours does."""
    expected = [connection.cursor().execute(text, [value]).fetchall() for text, value in QUESTIONS]
    wrong: list[object] = []
    ready = threading.Barrier(len(QUESTIONS))

    def ask(number: int) -> None:
        text, value = QUESTIONS[number]
        opened = fresh if shared else dbapi.connect(path)
        ready.wait()
        try:
            for _ in range(6):
                rows = opened.cursor().execute(text, [value]).fetchall()
                if [_rounded(row) for row in rows] != [_rounded(row) for row in expected[number]]:
                    wrong.append((number, rows))
        except Exception as error:
            wrong.append((number, error))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    with dbapi.connect(path) as fresh:
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(QUESTIONS))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    sys.setswitchinterval(interval)
    assert wrong == []


def _rounded(row: tuple[object, ...]) -> list[object]:
    """Engines add up in any order: the last digits vary."""
    return [float(f"{cell:.8g}") if isinstance(cell, float) else cell for cell in row]
