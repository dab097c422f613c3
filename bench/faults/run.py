"""Fail calls, kill processes and disturb connections, and count what was lost, stored twice or answered short.

python -m bench.faults.run                     # everything, n = 1..200; some hours
python -m bench.faults.run --minutes 30        # as many rounds as fit, spread over all files and calls
python -m bench.faults.run --parts syscalls --only reports.tacit
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from contextlib import closing
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from bench.common import provenance, say
from bench.faults.collector import Zygote
from bench.faults.deliveries import run_deliveries
from bench.faults.keys import run_keys
from bench.faults.kills import run_kills
from bench.faults.shim import CALLS, Shim
from bench.faults.syscalls import Cell, Rehearsal, Round, Rounds, cells_of

COLUMNS = (
    "acknowledged",
    "lost",
    "twice",
    "short",
    "mistakes",
    "tracebacks",
    "died",
    "hung",
    "restart_needed",
    "unstartable",
    "refused_to_start",
)
SHARES = {"syscalls": 0.7, "keys": 0.05, "kills": 0.1, "proxy": 0.15}
"""Of the time, if there is a limit."""

SAVED_SECONDS = 120.0
"""Seconds of one cell after which its rounds are kept, so that an interrupted run loses no more."""

TRIES = 4
"""Rounds of a running collector in which a call must fail to happen before none is expected: some calls, such as those
of checkpoints, come when the collector has time."""

SHOWN = 3
"""Bad rounds of a cell that are kept in full."""


def next_n(cell: Cell, left: list[int], seen: int, ahead: int) -> int:
    """Return the next n, so many calls or more ahead in a count that goes on, or the first of a new count."""
    if cell.phase != "running" or cell.exports:
        return left[0]
    return next((n for n in left if n > seen + ahead), left[0])


def run_cell(rounds: Rounds, cell: Cell, most: int, until: float, before: dict[str, Any]) -> dict[str, Any]:
    """Run the rounds of one cell that were not run before, and add up what all of them found."""
    fired: list[Round] = []
    tried, reach = set(before.get("tried", ())), before.get("reach", most + 1)
    rng, calls, missed = random.Random(len(tried)), 1, Counter[int]()
    while left := [n for n in range(1, min(most + 1, reach)) if n not in tried]:
        if fired and time.monotonic() > until:
            break
        made = rounds.run(cell, next_n(cell, left, rounds.seen, rng.randrange(calls)))
        calls = max(1, rounds.seen - made.n)  # of what follows a fault: the next one may be at any of as many
        if made.fired:
            fired.append(made)
            tried.add(made.n)
        else:
            missed[made.n] += 1
            if cell.phase != "running" or cell.exports or missed[made.n] >= TRIES:
                reach = min(made.n, made.seen + 1)
    rows = [*fired, rounds.last()]
    codes: Counter[str] = Counter(before.get("codes", {}))
    for one in fired:
        codes.update(one.codes)
    bad = [one.plain() for one in rows if one.bad]
    return {
        **asdict(cell),
        "rounds": len(tried),
        "largest_n": max(tried, default=0),
        "complete": all(n in tried for n in range(1, min(most + 1, reach))),
        **{name: before.get(name, 0) + sum(getattr(one, name) for one in rows) for name in COLUMNS},
        "codes": dict(codes),
        "bad_rounds": before.get("bad_rounds", 0) + len(bad),
        "examples": [*before.get("examples", ()), *bad][:SHOWN],
        "reach": reach,
        "tried": sorted(tried),
    }


def run_syscalls(work: Path, options: argparse.Namespace, seconds: float) -> list[dict[str, Any]]:
    """Run all cells; what was found so far is kept in a file, whatever ends the run."""
    shim = Shim(work / "shim")
    cells = cells_of(Rehearsal(shim, work / "rehearsal").touched, set(options.calls))
    cells = [cell for cell in cells if all(word in str(cell) for word in options.only)]
    part = options.output and options.output.with_suffix(".part.json")
    kept = json.loads(part.read_text(encoding="utf-8")) if options.resume and part and part.exists() else []
    results: dict[Cell, dict[str, Any]] = {Cell(*(one[own.name] for own in fields(Cell))): one for one in kept}
    left = [cell for cell in cells if not results.get(cell, {}).get("complete")]
    say(f"{len(cells)} files, calls and errors, {len(left)} not complete; {options.n} rounds each, if so many happen")
    zygote, until = Zygote(shim.environment()), time.monotonic() + seconds
    try:
        for number, cell in enumerate(left):
            end = time.monotonic() + (until - time.monotonic()) / (len(left) - number)
            made: dict[str, Any] = results.get(cell, {})
            while not made.get("complete") and (not made or time.monotonic() < end):
                rounds = Rounds(shim, zygote, work / "cell")
                try:
                    made = run_cell(rounds, cell, options.n, min(end, time.monotonic() + SAVED_SECONDS), made)
                finally:
                    rounds.close()
                    shutil.rmtree(work / "cell", ignore_errors=True)
                results[cell] = made
                if part:
                    part.write_text(json.dumps(list(results.values()), indent=1), encoding="utf-8")
            wrong = ", ".join(f"{name} {made[name]}" for name in COLUMNS[1:] if made[name])
            done = f"{made['rounds']} rounds, n to {made['largest_n']}"
            say(f"[{number + 1}/{len(left)}] {cell}: {done}; {wrong or 'well'}")
            for one in made["examples"][:1]:
                say(f"    for example: {one}")
    finally:
        zygote.close()
    return [results[cell] for cell in cells if results.get(cell, {}).get("rounds")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=list(SHARES), default=list(SHARES))
    parser.add_argument("--n", type=int, default=200, help="calls of each kind on each file that fail, one a round")
    parser.add_argument(
        "--calls", nargs="+", choices=list(CALLS), default=["write", "sync", "open", "rename", "truncate"]
    )
    parser.add_argument("--only", nargs="+", default=[], help="words that a file, call, error or phase must contain")
    parser.add_argument("--rounds", type=int, default=100, help="kills, and disturbed deliveries")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after about so many minutes")
    parser.add_argument("--resume", action="store_true", help="run what a run with the same output left out")
    parser.add_argument("--output", type=Path, help="where to write the results as JSON")
    options = parser.parse_args()
    seconds = 60 * options.minutes or 1e9
    whole = sum(SHARES[part] for part in options.parts)
    results: dict[str, Any] = {"about": provenance(["duckdb", "uvicorn"], n=options.n, rounds=options.rounds)}
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        for part in options.parts:
            say(f"== {part}")
            started = time.monotonic()
            results[part] = PARTS[part](Path(name) / part, options, seconds * SHARES[part] / whole)
            results["about"][f"{part}_seconds"] = round(time.monotonic() - started)
            if options.output:
                options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


def run_killing(work: Path, options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    with closing(Zygote(os.environ)) as zygote:
        return run_kills(work, zygote, options.rounds, seconds)


def run_proxy(work: Path, options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    with closing(Zygote(os.environ)) as zygote:
        return run_deliveries(work, zygote, options.rounds, seconds)


def run_commands(work: Path, options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    shim = Shim(work / "shim")
    with closing(Zygote(shim.environment())) as zygote:
        return run_keys(work, shim, zygote, options.n, seconds)


PARTS = {"syscalls": run_syscalls, "keys": run_commands, "kills": run_killing, "proxy": run_proxy}

if __name__ == "__main__":
    raise SystemExit(main())
