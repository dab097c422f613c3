"""The work of `tacit bench`; its options are in `cli.options`.

The people are the demo's synthetic town, because the truth of real people is not known. They are encoded again and
again, so that stated errors can be compared with real ones.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tacit.adapters.connect import connect
from tacit.cli.progress import bar
from tacit.cli.story import QUESTIONS, compare
from tacit.collection import Collection
from tacit.contract.budget import parse_epsilon
from tacit.database import Database
from tacit.datasets import market, market_schema
from tacit.errors import UsageError
from tacit.server.demo_data import Demo

__all__ = ["run"]

R = TypeVar("R")

PEOPLE = (1_000, 10_000_000)
"""Minimum and maximum people, which are in memory."""

ENCODINGS = (2, 10_000)
"""Minimum and maximum times that they are encoded: a spread needs two."""

HOLD, FALSE_ALARM = 0.95, 1e-9
"""The share of intervals that hold, and the probability of an alarm about all of them if that is true."""


@dataclass
class QuestionRun:
    """A question: seconds here and of plain SQL on the raw rows, and its numbers beside the truth in each encoding."""

    sql: str
    seconds: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)
    cells: list[list[dict[str, Any]]] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """Return the medians of seconds, how many intervals hold, and real errors over stated ones."""
        cells = [cell for of_encoding in self.cells for cell in of_encoding]
        errors = [((cell["value"] - cell["truth"]) / cell["error"]) for cell in cells if cell["error"]]
        return {
            "sql": self.sql,
            "seconds": statistics.median(self.seconds),
            "seconds_of_plain_sql": statistics.median(self.plain),
            "intervals": len(cells),
            "hold": sum(cell["covered"] for cell in cells),
            "real_over_stated_error": math.sqrt(statistics.fmean(error * error for error in errors))
            if errors
            else None,
        }

    def is_improbable(self, false_alarm: float) -> bool:
        """Return whether the intervals of any number hold more rarely than chance explains."""
        return any(
            _at_most(sum(cell["covered"] for cell in of_number), len(of_number)) < false_alarm / len(self.cells[0])
            for of_number in zip(*self.cells, strict=True)
        )


def run(options: argparse.Namespace) -> int:
    """Encode the town, load its reports and ask the demo's questions, as often as is asked for."""
    _check("--people", options.people, PEOPLE)
    _check("--encodings", options.encodings, ENCODINGS)
    collection = Collection(market_schema(), parse_epsilon(options.epsilon), round="bench")
    raw = market(options.people)
    demo, runs = Demo(raw, QUESTIONS, []), [QuestionRun(question["sql"]) for question in QUESTIONS]
    encode, load = list[float](), list[float]()
    for number in range(options.encodings):
        reports, seconds = _time(lambda: collection.encode(**raw))
        encode.append(seconds)
        with connect() as database:
            database.create(collection)
            load.append(_time(lambda: database.load(reports))[1])  # noqa: B023  called at once
            for question, measured in zip(QUESTIONS, runs, strict=True):
                _ask(database, demo, question, measured)
        if sys.stderr.isatty():
            bar(number + 1, options.encodings, "encodings")
    count = sum(table.num_rows for table in reports.values())
    rates = [count / statistics.median(seconds) for seconds in (encode, load)]
    improbable = any(measured.is_improbable(FALSE_ALARM / len(runs)) for measured in runs)
    result = {
        "people": options.people,
        "epsilon": float(collection.contract.epsilon),
        "encodings": options.encodings,
        "reports_encoded_per_second": round(rates[0]),
        "reports_loaded_per_second": round(rates[1]),
        "questions": [measured.summary() for measured in runs],
        "ok": not improbable,
    }
    print(json.dumps(result) if options.json else _text(result))
    return 1 if improbable else 0


def _check(option: str, number: int, allowed: tuple[int, int]) -> None:
    least, most = allowed
    if not least <= number <= most:
        message = f"{option} is {number}; from {least:,} to {most:,} are possible."
        raise UsageError(message, code="bad-option")


def _ask(database: Database, demo: Demo, question: dict[str, str], measured: QuestionRun) -> None:
    """Ask one question of the reports, whose answer would be kept, and of the raw rows."""
    answer, seconds = _time(lambda: database.sql(question["sql"]))
    measured.seconds.append(seconds)
    measured.plain.append(_time(lambda: demo.exact(question["sql"]))[1])
    rows = compare(answer, demo, question)["rows"]
    measured.cells.append([cell for row in rows for cell in row.values() if isinstance(cell, dict)])


def _time(work: Callable[[], R]) -> tuple[R, float]:
    start = time.perf_counter()
    done = work()
    return done, time.perf_counter() - start


def _at_most(hits: int, trials: int) -> float:
    """Return the probability that at most this many intervals hold, each with the probability stated."""
    return math.fsum(math.comb(trials, k) * HOLD**k * (1 - HOLD) ** (trials - k) for k in range(hits + 1))


def _text(result: dict[str, Any]) -> str:
    """Return the result as lines of text."""
    lines = [
        f"A synthetic town of {result['people']:,} people, epsilon {result['epsilon']:g}, encoded "
        f"{result['encodings']} times.",
        f"{result['reports_encoded_per_second']:,} reports encoded and {result['reports_loaded_per_second']:,} loaded "
        "per second.",
        "",
        f"{'seconds':>9} {'plain SQL':>9}  {'intervals hold':>14}  {'real/stated error':>17}  question",
    ]
    for measured in result["questions"]:
        ratio = measured["real_over_stated_error"]
        lines.append(
            f"{measured['seconds']:>9.4f} {measured['seconds_of_plain_sql']:>9.4f}  "
            f"{measured['hold']:>6} of {measured['intervals']:<4}  "
            f"{'not known' if ratio is None else f'{ratio:.2f}':>17}  {measured['sql']}"
        )
    held, all_of_them = (sum(question[name] for question in result["questions"]) for name in ("hold", "intervals"))
    lines += ["", f"{held} of {all_of_them} intervals contain the truth; 95 % should."]
    if not result["ok"]:
        lines.append("Fewer than chance explains. This is a bug in tacit: report it with the lines above.")
    return "\n".join(lines)
