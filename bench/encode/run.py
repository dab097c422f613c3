"""Encode benchmark: tacit's throughput next to pure-ldp's and multi-freq-ldpy's, and its peak memory.

The full run writes results.json. ``--slice`` recomputes some cells at a smaller size, prints them next to the
committed ones, and exits with 1 if a claim fails.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import tacit as tc
from bench.common import ROOT, provenance, say
from bench.encode.load import Meter, Patience
from bench.encode.peers import HASHING, Peer, peers
from bench.encode.subject import DENSE, SPARSE, flat_collection, flat_table, pair_collection, pair_table

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"

SUBJECT = "tacit: two attributes of 625 values, HIO"
"""The cell that every ratio is taken of."""

SPARSE_IDS = f"{SUBJECT}, sparse ids"
"""The same with ids spread over 62 bits, whose duplicates are found by sorting instead of marking: no claim."""

ONE_CORE = f"{SUBJECT}, one core"
"""The same work on one core, as the peers are: no claim, shown for what it says about the encoder itself."""

TACIT = "tacit"
"""Kind of the cells that are ours."""

CLAIMED_RATIO = 20
"""Times the throughput per report of every local-hashing encoder of the peers."""

CLAIMED_OVERHEAD = 2 * 1024**3
"""Bytes above the loaded input and the returned table, at the full number of rows."""

FIXED_OVERHEAD = 256 * 1024**2
"""Bytes that chunks in flight take whatever the number of rows; the slice's share of the claim does not shrink it."""

PACKAGES = ("tacit", "numpy", "pyarrow", "pure-ldp", "multi-freq-ldpy", "xxhash", "numba")
SEED = 20_240_601


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    rows: int
    repetitions: int
    peer_seconds: float
    patience_seconds: float
    memory_rows: int
    only_hashing: bool
    size: int = 625
    peer_size: int = 1024
    epsilon: float = 1.0


FULL = Sizes(
    rows=4_000_000,
    repetitions=5,
    peer_seconds=2.0,
    patience_seconds=900.0,
    memory_rows=50_000_000,
    only_hashing=False,
)
SLICE = Sizes(
    rows=2_000_000,
    repetitions=5,
    peer_seconds=0.4,
    patience_seconds=15.0,
    memory_rows=5_000_000,
    only_hashing=True,
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One encoder with its input: ``work`` encodes ``reports`` reports."""

    name: str
    kind: str
    reports: int
    work: Callable[[], object]
    seconds: list[float] = field(default_factory=list)
    cores: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)

    def time(self) -> None:
        """Run once and note the seconds, the cores this process had, and the cores others used."""
        meter = Meter()
        self.work()
        for measured, noted in zip(meter.read(), (self.seconds, self.cores, self.others), strict=True):
            noted.append(measured)

    def summary(self) -> dict[str, Any]:
        """Return what results.json holds of this cell."""
        return {
            "name": self.name,
            "kind": self.kind,
            "reports": self.reports,
            "seconds": [round(seconds, 4) for seconds in self.seconds],
            "cores_used": [round(cores, 2) for cores in self.cores],
            "cores_used_by_others": [round(cores, 2) for cores in self.others],
            "reports_per_second": round(self.reports / statistics.median(self.seconds)),
            "reports_per_second_best": round(self.reports / min(self.seconds)),
        }


@contextmanager
def one_core() -> Iterator[None]:
    """Confine this thread, and the threads it starts, to one core."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def encode(collection: tc.Collection, table: pa.Table) -> None:
    """Encode as a user does: all validation on, randomness of the operating system."""
    collection.encode(users=table)


def encode_on_one_core(collection: tc.Collection, table: pa.Table) -> None:
    """Encode with every thread on the same core."""
    with one_core():
        encode(collection, table)


def subject_cells(sizes: Sizes) -> list[Cell]:
    """Return tacit's cells: the claim's, the same on one core, and the peers' own task."""
    pair, flat = pair_collection(sizes.size, sizes.epsilon), flat_collection(sizes.peer_size, sizes.epsilon)
    records = pair_table(sizes.rows, sizes.size, keys=DENSE, seed=SEED)
    sparse = pair_table(sizes.rows, sizes.size, keys=SPARSE, seed=SEED)
    values = flat_table(sizes.rows, sizes.peer_size, keys=DENSE, seed=SEED)
    cells = [
        (SUBJECT, partial(encode, pair, records)),
        (SPARSE_IDS, partial(encode, pair, sparse)),
        (ONE_CORE, partial(encode_on_one_core, pair, records)),
        ("tacit: one attribute of 1,024 values, OLH", partial(encode, flat, values)),
    ]
    return [Cell(name, TACIT, sizes.rows, work) for name, work in cells]


def peer_cell(peer: Peer, sizes: Sizes) -> Cell:
    """Return a peer's cell, sized to take about ``peer_seconds``; its reports are dropped as they are made."""
    rng = np.random.default_rng(SEED)

    def work_on(reports: int) -> Callable[[], object]:
        values = (rng.integers(0, sizes.peer_size, reports) + peer.first).tolist()
        return lambda: deque(map(peer.encode, values), maxlen=0)

    work_on(100)()  # compiles what is compiled on first use
    trial = Cell(peer.name, peer.kind, 2000, work_on(2000))
    trial.time()
    reports = max(2000, int(trial.reports / trial.seconds[0] * sizes.peer_seconds))
    return Cell(peer.name, peer.kind, reports, work_on(reports))


def throughput(sizes: Sizes) -> list[dict[str, Any]]:
    """Time all cells, repetition by repetition, so that a slow minute of the machine meets all of them."""
    chosen = [peer for peer in peers(sizes.peer_size, sizes.epsilon) if peer.kind == HASHING or not sizes.only_hashing]
    cells = [*subject_cells(sizes), *(peer_cell(peer, sizes) for peer in chosen)]
    for cell in cells:
        if cell.kind == TACIT:
            cell.work()  # the first encoding loads code and builds tables; peers had their trial
    patience = Patience(sizes.patience_seconds)
    for repetition in range(sizes.repetitions):
        for cell in cells:
            patience.wait()
            cell.time()
        say(f"  repetition {repetition + 1} of {sizes.repetitions} done")
    return [cell.summary() for cell in cells]


def with_ratios(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add to each peer how many times faster the subject is: median, best, with sparse ids and on one core."""
    ours = {cell["name"]: cell for cell in cells if cell["kind"] == TACIT}
    subject = ours[SUBJECT]
    for cell in cells:
        if cell["kind"] != TACIT:
            median, best = cell["reports_per_second"], cell["reports_per_second_best"]
            cell["ratio"] = round(subject["reports_per_second"] / median, 2)
            cell["ratio_best"] = round(subject["reports_per_second_best"] / best, 2)
            cell["ratio_sparse_ids"] = round(ours[SPARSE_IDS]["reports_per_second"] / median, 2)
            cell["ratio_one_core"] = round(ours[ONE_CORE]["reports_per_second"] / median, 2)
    return cells


def memory(sizes: Sizes, keys: Iterable[str]) -> list[dict[str, Any]]:
    """Measure peak memory in a fresh process for each kind of keys."""
    found = []
    for kind in keys:
        options = {"rows": sizes.memory_rows, "size": sizes.size, "epsilon": sizes.epsilon, "keys": kind, "seed": SEED}
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        done = subprocess.run(
            [sys.executable, "-m", "bench.encode.memory", *words], cwd=ROOT, check=True, capture_output=True, text=True
        )
        found.append(json.loads(done.stdout))
        say(f"  {kind} ids: {found[-1]['overhead_bytes'] / 1024**3:.2f} GiB above input and output")
    return found


def judge(cells: list[dict[str, Any]], sizes_in_memory: list[dict[str, Any]], limit: int) -> dict[str, Any]:
    """Return the claims with what was found."""
    hashing = [cell for cell in cells if cell["kind"] == HASHING]
    lowest = min(cell["ratio"] for cell in hashing)
    largest = max(size["overhead_bytes"] for size in sizes_in_memory)
    every = [cell for cell in cells if cell["kind"] != TACIT]
    fastest = max(every, key=lambda cell: cell["reports_per_second"])
    return {
        "throughput": {"claimed": CLAIMED_RATIO, "found": lowest, "holds": lowest >= CLAIMED_RATIO},
        "memory": {"claimed_bytes": limit, "found_bytes": largest, "holds": largest <= limit},
        "unclaimed": {
            "fastest_peer": fastest["name"],
            "ratio_to_fastest_peer": fastest["ratio"],
            "least_ratio_sparse_ids": min(cell["ratio_sparse_ids"] for cell in hashing),
            "least_ratio_one_core": min(cell["ratio_one_core"] for cell in hashing),
        },
    }


def measure(sizes: Sizes, keys: Iterable[str], limit: int) -> dict[str, Any]:
    """Run both parts."""
    say(f"Throughput at {sizes.rows:,} rows, {sizes.repetitions} interleaved repetitions.")
    cells = with_ratios(throughput(sizes))
    say(f"Memory at {sizes.memory_rows:,} rows.")
    sizes_in_memory = memory(sizes, keys)
    claims = judge(cells, sizes_in_memory, limit)
    parameters = {name: getattr(sizes, name) for name in Sizes.__slots__} | {"seed": SEED}
    return provenance(PACKAGES, parameters=parameters) | {
        "throughput": cells,
        "memory": sizes_in_memory,
        "claims": claims,
    }


def show(results: dict[str, Any], committed: dict[str, Any] | None = None) -> None:
    """Print the cells, next to the committed ones if there are any."""
    before = {cell["name"]: cell for cell in committed["throughput"]} if committed else {}
    say(f"{'encoder':<56}{'kind':<15}{'reports/s':>12}{'ratio':>8}" + ("   committed" if before else ""))
    for cell in results["throughput"]:
        old = before.get(cell["name"], {})
        was = f"{old['reports_per_second']:>12,}{old.get('ratio', ''):>8}" if old else ""
        line = f"{cell['name']:<56}{cell['kind']:<15}{cell['reports_per_second']:>12,}{cell.get('ratio', ''):>8}"
        say(line + was)
    for source, sizes in (("", results["memory"]), ("committed: ", committed["memory"] if committed else [])):
        for size in sizes:
            above = f"{size['overhead_bytes']:,} bytes above input and output"
            say(f"{source}{size['keys']} ids, {size['rows']:,} rows: {above}")
    show_claims(results)


def show_claims(results: dict[str, Any]) -> None:
    """Print what is claimed, what was found, and how busy the machine was."""
    subject = next(cell for cell in results["throughput"] if cell["name"] == SUBJECT)
    speed, room, rest = (results["claims"][name] for name in ("throughput", "memory", "unclaimed"))
    used, others = (statistics.median(subject[name]) for name in ("cores_used", "cores_used_by_others"))
    say(f"tacit had {used:.2f} of {results['cores']} cores, others {others:.2f}. On a busy machine ratios are too low.")
    say(f"claim: {CLAIMED_RATIO} times all local-hashing peers; least found {speed['found']}. Holds: {speed['holds']}.")
    say(f"claim: at most {room['claimed_bytes']:,} bytes; most found {room['found_bytes']:,}. Holds: {room['holds']}.")
    sparse, single = rest["least_ratio_sparse_ids"], rest["least_ratio_one_core"]
    say(f"no claim: the least ratio is {sparse} with sparse ids and {single} on one core.")
    say(f"no claim: {rest['ratio_to_fastest_peer']} times the fastest of these peers, {rest['fastest_peer']}.")


def main() -> int:
    """Run in full or in part; return 1 if a claim fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slice", action="store_true", help="recompute some cells and compare with results.json")
    if parser.parse_args().slice:
        share = round(CLAIMED_OVERHEAD * SLICE.memory_rows / FULL.memory_rows) + FIXED_OVERHEAD
        results = measure(SLICE, [DENSE], share)
        show(results, json.loads(RESULTS.read_text(encoding="utf-8")))
    else:
        results = measure(FULL, [DENSE, SPARSE], CLAIMED_OVERHEAD)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        show(results)
    return 0 if results["claims"]["throughput"]["holds"] and results["claims"]["memory"]["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
