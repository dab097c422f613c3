"""Speed of answers: one question over 20 million reports next to a bare join, all frequencies next to pure-ldp, groups.

The full run writes results.json; ``--part`` renews one part of it. ``--slice`` measures at smaller sizes, prints the
numbers next to the committed ones, and exits with 1 if a claim of speed fails.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import tacit as tc
from bench.common import provenance, say, timed
from bench.speed.groups import groups
from tacit.engines.duckdb import SHUT

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PACKAGES = ("tacit", "numpy", "pyarrow", "duckdb")
PEERS = ("pure-ldp", "xxhash")
"""Needed for the frequencies alone."""
SEED = 20_250_301
JOIN, FREQUENCIES, GROUPS, MANY = "join", "frequencies", "groups", "groups at 20 million"

CLAIMED_OVERHEAD = 3.0
"""Times the bare join that a question may take."""

CLAIMED_SPEED = 500.0
"""Times faster than pure-ldp's exact server for all frequencies of a domain."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured; the peer's time is that of ``peer_reports``, scaled to ``reports`` if they differ."""

    join_reports: int
    join_repetitions: int
    reports: int
    peer_reports: int
    repetitions: int
    epsilons: tuple[float, ...]
    people: int
    side: int = 625
    values: int = 1024


FULL = Sizes(20_000_000, 7, 2_000_000, 50_000, 5, (0.5, 1.0), 2_000_000)
SLICE = Sizes(4_000_000, 3, 2_000_000, 20_000, 2, (1.0,), 500_000)


def pair_reports(sizes: Sizes) -> tuple[tc.Collection, dict[str, Any]]:
    """Return the two-attribute collection at epsilon 1 with its reports."""
    attributes = [tc.Ordinal(name, low=0, high=sizes.side - 1) for name in ("a", "b")]
    schema = tc.Schema([tc.Service("users", key="uid", attributes=attributes)])
    collection = tc.Collection(schema, 1.0, mechanism="hio")
    rng = np.random.default_rng(SEED)
    rows = sizes.join_reports
    columns = {name: rng.integers(0, sizes.side, rows, dtype=np.int16) for name in ("a", "b")}
    return collection, collection.encode(users={"uid": np.arange(rows)} | columns, rng=tc.insecure_rng(SEED))


def question(sizes: Sizes, rng: np.random.Generator) -> str:
    """Return a count over a random range on both attributes, half of each domain wide."""
    width = sizes.side // 2
    low = rng.integers(0, sizes.side - width + 1, 2)
    ranges = [f"{name} BETWEEN {start} AND {start + width - 1}" for name, start in zip("ab", low, strict=True)]
    return f"SELECT COUNT(*) AS n FROM users WHERE {' AND '.join(ranges)}"


def join(sizes: Sizes) -> dict[str, Any]:
    """Time questions next to the bare join of the same reports with as many contributions as there are codes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.tacit"
        collection, reports = pair_reports(sizes)
        db = tc.connect(path)
        db.create(collection)
        loading = timed(partial(db.load, reports))
        reports.clear()
        beside = duckdb.connect(str(path), config=SHUT)  # a second connection to the database that is open already
        [(table,)] = beside.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'reports%'"
        ).fetchall()
        codes = sum(channel.alphabet for channel in collection.contract["users"].channels)
        beside.execute(f"CREATE TEMP TABLE contributions AS SELECT range AS code, random() AS c FROM range({codes})")
        bare = f'SELECT SUM(c) FROM "{table}" JOIN contributions USING (code)'
        rng = np.random.default_rng(SEED + 1)
        rounds = []
        for _ in range(sizes.join_repetitions + 1):
            took = timed(partial(db.sql, question(sizes, rng)))
            rounds.append((took, timed(lambda: beside.execute(bare).fetchall())))
        beside.close()
        db.close()
    ours, theirs = zip(*rounds[1:], strict=True)  # the first round reads the file and loads code
    ratio = round(statistics.median(ours) / statistics.median(theirs), 2)
    return {
        "reports": sizes.join_reports,
        "codes": codes,
        "load_seconds": round(loading, 1),
        "seconds": [round(value, 4) for value in ours],
        "bare_seconds": [round(value, 4) for value in theirs],
        "ratio": ratio,
        "claimed": CLAIMED_OVERHEAD,
        "holds": ratio <= CLAIMED_OVERHEAD,
    }


def frequencies(sizes: Sizes) -> dict[str, Any]:
    """Compare all frequencies of one attribute, at each epsilon."""
    found = {str(epsilon): _frequencies(sizes, epsilon) for epsilon in sizes.epsilons}
    return {
        "reports": sizes.reports,
        "peer_reports": sizes.peer_reports,
        "by_epsilon": found,
        "claimed": CLAIMED_SPEED,
        "holds": all(each["ratio"] >= CLAIMED_SPEED for each in found.values()),
    }


def _frequencies(sizes: Sizes, epsilon: float) -> dict[str, Any]:
    from bench.speed.peer import olh_variance, serve  # the join runs without the peer installed

    attribute = tc.Categorical("v", values=list(range(sizes.values)))
    schema = tc.Schema([tc.Service("users", key="uid", attributes=[attribute])])
    collection = tc.Collection(schema, epsilon)
    values = np.random.default_rng(SEED).integers(0, sizes.values, sizes.reports)
    db = tc.connect()
    db.create(collection)
    db.load(collection.encode(users={"uid": np.arange(sizes.reports), "v": values}, rng=tc.insecure_rng(SEED)))
    text = "SELECT v, COUNT(*) AS n FROM users GROUP BY v"
    answer = db.sql(text)  # not timed: loads code and builds tables
    seconds = [round(timed(lambda: db.sql(text)), 4) for _ in range(sizes.repetitions)]
    db.close()
    peer = serve(values[: sizes.peer_reports], sizes.values, epsilon, SEED)
    peer_seconds = peer.seconds * sizes.reports / sizes.peer_reports
    truth = np.bincount(values, minlength=sizes.values)
    estimates = np.array([estimate.value for estimate in answer["n"]])
    peer_truth = np.bincount(values[: sizes.peer_reports], minlength=sizes.values)
    single = collection.predict("SELECT COUNT(*) AS n FROM users WHERE v = 0", users=sizes.reports)["n"]
    variance = {
        "tacit_predicted": single.error**2 / sizes.reports,
        "tacit_measured": float(np.mean((estimates - truth) ** 2)) / sizes.reports,
        "peer_theory": olh_variance(sizes.values, epsilon),
        "peer_measured": float(np.mean((peer.estimates - peer_truth) ** 2)) / sizes.peer_reports,
    }
    ratio = peer_seconds / statistics.median(seconds)
    variance_ratio = round(variance["tacit_predicted"] / variance["peer_theory"], 4)
    say(f"  epsilon {epsilon}: {statistics.median(seconds):.3f} s against {peer_seconds:.1f} s")
    return {
        "seconds": seconds,
        "peer_seconds": round(peer_seconds, 2),
        "ratio": round(ratio, 1),
        "reports_from_which_it_holds": round(sizes.reports * CLAIMED_SPEED / ratio),
        "variance_per_report": {name: round(value, 5) for name, value in variance.items()},
        "variance_ratio": variance_ratio,
        "variance_is_equal_or_better": variance_ratio <= 1,
    }


PARTS: dict[str, Callable[[Sizes, Path | None], dict[str, Any]]] = {
    JOIN: lambda sizes, _: join(sizes),
    FREQUENCIES: lambda sizes, _: frequencies(sizes),
    GROUPS: lambda sizes, folder: groups(sizes.people, SEED, folder),
    MANY: lambda sizes, folder: groups(10 * sizes.people, SEED, folder),
}


def show(name: str, found: dict[str, Any]) -> None:
    """Print one part."""
    if name in (GROUPS, MANY):
        for question, row in found["questions"].items():
            most = f", at most {found['claims'][question]:g}" if question in found["claims"] else ""
            times = f"{row['over_one_count']} times one COUNT{most}, {row['over_plain_sql']} times plain SQL"
            say(f"{question}: {row['anew']:.3f} s, {times}; {row['kept']:.3f} s from kept sums.")
        say(f"{found['people']:,} people. Holds: {found['holds']}.")
        return
    if name == JOIN:
        took, bare = (statistics.median(found[name]) for name in ("seconds", "bare_seconds"))
        say(f"{found['reports']:,} reports: a question {took:.3f} s, the bare join {bare:.3f} s.")
        say(f"claim: at most {found['claimed']} times the bare join; found {found['ratio']}. Holds: {found['holds']}.")
        return
    for epsilon, each in found["by_epsilon"].items():
        took = statistics.median(each["seconds"])
        say(f"epsilon {epsilon}, {found['reports']:,} reports: {took:.3f} s, pure-ldp {each['peer_seconds']:.1f} s.")
        enough = each["reports_from_which_it_holds"]
        say(
            f"  {each['ratio']} times faster, at {each['variance_ratio']} times its variance; holds from {enough:,} on."
        )
    say(f"claim: at least {found['claimed']} times faster. Holds: {found['holds']}.")


def main() -> int:
    """Run in full or in part; return 1 if a claim of speed fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slice", action="store_true", help="measure at smaller sizes and compare")
    parser.add_argument("--part", choices=list(PARTS), help="measure one part only")
    parser.add_argument("--folder", type=Path, help="keep groups' reports and times there: a stopped run goes on")
    options = parser.parse_args()
    sizes = SLICE if options.slice else FULL
    committed = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    holds = True
    for name in [options.part] if options.part else list(PARTS):
        found = provenance(
            [*PACKAGES, *(PEERS if name == FREQUENCIES else ())], parameters=asdict(sizes) | {"seed": SEED}
        ) | PARTS[name](sizes, options.folder)
        show(name, found)
        holds &= found["holds"]
        if options.slice and name in committed:
            say("committed:")
            show(name, committed[name])
        elif not options.slice:
            committed[name] = found
    if not options.slice:
        RESULTS.write_text(json.dumps(committed, indent=1) + "\n", encoding="utf-8")
    return int(not holds)


if __name__ == "__main__":
    sys.exit(main())
