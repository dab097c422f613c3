"""GROUP BY and joins next to one COUNT, and next to plain SQL on the raw rows, on one population in one run.

Two services of the same people, epsilon 4 in all: ages, incomes, states and a public column; orders, at most three a
person. Every question is asked with the sums by code fetched anew, with the sums that were kept, and from a rollup;
answers are never kept. The first question of a new process is timed with its imports.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import tacit as tc
from bench.common import say, timed
from tacit.answers import answer_cache, code_cache

__all__ = ["CLAIMS", "groups"]

STATES = [f"s{i}" for i in range(50)]
ONE, JOINED = "COUNT with a range", "join, one COUNT"

QUESTIONS = {
    ONE: "SELECT COUNT(*) AS n FROM u WHERE age BETWEEN 20 AND 39",
    "GROUP BY state (50)": "SELECT state, COUNT(*) AS n FROM u GROUP BY state",
    "GROUP BY age (100)": "SELECT age, COUNT(*) AS n FROM u GROUP BY age",
    "GROUP BY state, age < 10 (500)": "SELECT state, age, COUNT(*) AS n FROM u WHERE age < 10 GROUP BY state, age",
    "AVG GROUP BY state, public column (150)": "SELECT state, os, AVG(income) AS m FROM u GROUP BY state, os",
    JOINED: "SELECT COUNT(*) AS n FROM o JOIN u USING (uid) WHERE category = 'a' AND age < 40",
    "join, COUNT GROUP BY state": "SELECT state, COUNT(*) AS n FROM o JOIN u USING (uid) GROUP BY state",
}

CLAIMS = {
    "GROUP BY state (50)": 2.0,
    "GROUP BY age (100)": 2.0,
    "GROUP BY state, age < 10 (500)": 4.0,
    "AVG GROUP BY state, public column (150)": 4.0,
    "join, COUNT GROUP BY state": 2.0,
}
"""Times the processor time of one COUNT, or one joined COUNT, that a question may take with sums fetched anew."""

REPETITIONS, FEW, MANY_PEOPLE = 5, 2, 10_000_000
"""How often each question is timed, and how often with many people."""

CHUNK = 2_000_000
"""People who are encoded at a time."""


def people_of(count: int, seed: int, first: int = 0) -> dict[str, pa.Table]:
    """Return uniform people, numbered from some number on, and their orders."""
    source = np.random.default_rng(seed)
    users = {
        "uid": np.arange(first, first + count),
        "age": source.integers(0, 100, count),
        "income": source.integers(0, 200, count),
        "state": np.array(STATES)[source.integers(0, 50, count)],
        "os": np.array(["ios", "android", "web"])[source.integers(0, 3, count)],
    }
    buyers = np.repeat(np.arange(first, first + count), source.integers(0, 3, count))
    orders = {
        "uid": buyers,
        "amount": source.integers(0, 100, len(buyers)),
        "category": np.array(list("abcdefgh"))[source.integers(0, 8, len(buyers))],
    }
    return {"u": pa.table(users), "o": pa.table(orders)}


def schema() -> tc.Schema:
    """Return both services."""
    person = [tc.Ordinal("age", 0, 99), tc.Ordinal("income", 0, 199), tc.Categorical("state", STATES), tc.Public("os")]
    order = [tc.Ordinal("amount", 0, 99), tc.Categorical("category", list("abcdefgh"))]
    return tc.Schema(
        [
            tc.Service("u", key="uid", attributes=person),
            tc.Service("o", key="uid", at_most=3, sends=1, attributes=order),
        ]
    )


def median(act: Callable[[], object], repetitions: int) -> tuple[float, float]:
    """Return median seconds of some repetitions, after one that is not counted, and of the processor the least."""
    act()
    seconds, used = [], []
    for _ in range(repetitions):
        start = time.process_time()
        seconds.append(timed(act))
        used.append(time.process_time() - start)
    return round(statistics.median(seconds), 4), round(min(used), 4)


def anew(db: tc.Database, question: str) -> None:
    """Ask without anything that was kept."""
    kept, code_cache.MOST_BYTES = code_cache.MOST_BYTES, 0
    db.sql(question)
    code_cache.MOST_BYTES = kept


FIRST = """
import resource, sys, time
start = time.perf_counter()
import tacit as tc
db = tc.connect(sys.argv[1])
db.sql(sys.argv[2])
answered = time.perf_counter()
used = resource.getrusage(resource.RUSAGE_SELF)
db.sql(sys.argv[2]).to_json()
print(answered - start, used.ru_utime + used.ru_stime, time.perf_counter() - start)
"""


def first(path: Path) -> dict[str, float]:
    """Return the best of some new processes: seconds to the first answer, of the processor, and until it is JSON.

    The first of them writes bytecode, as installation does; without it, imports alone take 0.75 s.
    """
    words = [sys.executable, "-c", FIRST, str(path), QUESTIONS[ONE]]
    installed = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    runs = [
        subprocess.run(words, check=True, capture_output=True, text=True, env=installed).stdout.split()
        for _ in range(REPETITIONS)
    ]
    seconds, processor, as_json = (min(map(float, column)) for column in zip(*runs, strict=True))
    return {"seconds": round(seconds, 3), "processor": round(processor, 3), "as_json": round(as_json, 3)}


ASKED = """
import json, resource, sys
import tacit as tc
db = tc.connect(sys.argv[1])
for question in json.loads(sys.argv[2]):
    db.sql(question)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


def memory(path: Path) -> int:
    """Return the most memory of a new process that asks all questions, in MiB."""
    words = [sys.executable, "-c", ASKED, str(path), json.dumps(list(QUESTIONS.values()))]
    return int(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def load(path: Path, people: int, seed: int) -> duckdb.DuckDBPyConnection:
    """Load reports of people, and their raw rows into a database beside them, some at a time; both only once."""
    plain, complete = duckdb.connect(str(path.with_suffix(".raw"))), path.with_suffix(".complete")
    if complete.exists():
        return plain
    collection = tc.Collection(schema(), 4.0, users=people)
    db = tc.connect(path)
    db.create(collection)
    for start in range(0, people, CHUNK):
        raw = people_of(min(CHUNK, people - start), seed + start, first=start)
        db.load(collection.encode(**raw, rng=tc.insecure_rng(seed + start)))
        for name, table in raw.items():
            plain.register("incoming", table)
            known = "INSERT INTO" if start else "CREATE TABLE"
            plain.execute(f"{known} {name} {'' if start else 'AS'} SELECT * FROM incoming")
            plain.unregister("incoming")
    db.close()
    complete.touch()
    return plain


def groups(people: int, seed: int, folder: Path | None = None) -> dict[str, Any]:
    """Time all questions; return seconds, and ratios to one COUNT and to plain SQL.

    In a folder that is kept, what a run that was stopped has measured is not measured again.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as made:
            return groups(people, seed, Path(made))
    answer_cache.MOST_CELLS, times = 0, FEW if people >= MANY_PEOPLE else REPETITIONS
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{people}.tacit"
    done = path.with_suffix(".json")
    measured: dict[str, Any] = json.loads(done.read_text()) if done.exists() else {}
    plain = load(path, people, seed)

    def remember(name: str, measure: Callable[[], Any]) -> Any:
        if name not in measured:
            measured[name] = measure()
            done.write_text(json.dumps(measured))
        return measured[name]

    started, used = remember("first", lambda: first(path)), remember("memory", lambda: memory(path))
    db = tc.connect(path)
    rows = {name: remember(name, partial(_times, db, plain, name, times)) for name in QUESTIONS}
    if not all(f"rollup {name}" in measured for name in QUESTIONS if not name.startswith("join")):
        db.rollup("u", by=["os"])
    for name, question in QUESTIONS.items():
        if not name.startswith("join"):
            took = remember(f"rollup {name}", partial(median, partial(db.sql, question), times))
            rows[name]["rollup"], rows[name]["rollup_processor"] = took
    plain.close()
    db.close()
    for name, row in rows.items():
        one = rows[JOINED if name.startswith("join") else ONE]
        row["over_one_count"] = round(row["anew_processor"] / one["anew_processor"], 2)
        row["over_plain_sql"] = round(row["anew_processor"] / row["plain_processor"], 1)
    return {
        "people": people,
        "first": started,
        "memory_mib": used,
        "load_average": round(os.getloadavg()[0], 1),
        "questions": rows,
        "claims": CLAIMS,
        "holds": all(rows[name]["over_one_count"] <= most for name, most in CLAIMS.items()),
    }


def _times(db: tc.Database, plain: duckdb.DuckDBPyConnection, name: str, repetitions: int) -> dict[str, float]:
    question = QUESTIONS[name]
    acts = {
        "anew": partial(anew, db, question),
        "kept": partial(db.sql, question),
        "plain": lambda: plain.execute(question).fetchall(),
    }
    took = {}
    for word, act in acts.items():
        took[word], took[f"{word}_processor"] = median(act, repetitions)
    say(f"  {name}: {took['anew']:.3f} s, {took['kept']:.3f} s from kept sums, plain SQL {took['plain']:.3f} s")
    return took
