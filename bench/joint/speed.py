"""A two-service join over 10 million users, next to the same join in plain SQL on tables of the same size.

The full run writes speed.json. ``--slice`` asks three times in place of seven, prints the numbers next to the committed
ones, and exits with 1 if the claim fails. Fewer users would not do: building the tables of contributions takes the same
time for any number of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import tacit as tc
from bench.common import provenance, say, timed
from bench.encode.memory import CLEAR, RESET_PEAK, resident, settled
from tacit.engines.duckdb import SHUT

HERE = Path(__file__).parent
RESULTS = HERE / "speed.json"
PACKAGES = ("tacit", "numpy", "pyarrow", "duckdb")
SEED = 20_200_831

CLAIMED_OVERHEAD = 2.0
"""Times the plain join that a question over both services may take."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured, and how much memory the engine may use."""

    users: int
    repetitions: int
    memory_limit: int = 3 * 1024**3
    values: int = 125
    categories: int = 500
    epsilon: float = 2.0


FULL, SLICE = Sizes(10_000_000, 7), Sizes(10_000_000, 3)


def tables_of(sizes: Sizes) -> dict[str, dict[str, Any]]:
    """Return both services' rows, with their keys in different orders."""
    rng = np.random.default_rng(SEED)
    tables = {}
    for i in (1, 2):
        columns = {
            f"o{i}": rng.integers(1, sizes.values + 1, sizes.users, dtype=np.int16),
            f"c{i}": rng.integers(0, sizes.categories, sizes.users, dtype=np.int16),
        }
        tables[f"t{i}"] = {"uid": rng.permutation(sizes.users), **columns}
    return tables


def collection_of(sizes: Sizes) -> tc.Collection:
    """Compile SYN-2's two services."""
    services = [
        tc.Service(
            f"t{i}",
            key="uid",
            attributes=[
                tc.Ordinal(f"o{i}", low=1, high=sizes.values),
                tc.Categorical(f"c{i}", values=list(range(sizes.categories))),
            ],
        )
        for i in (1, 2)
    ]
    return tc.Collection(tc.Schema(services), sizes.epsilon, mechanism="hio")


def questions(sizes: Sizes, repetition: int) -> dict[str, str]:
    """Return the question of a round, in plain SQL as well, and the whole join: every pair multiplied and added."""
    low = 1 + 7 * repetition % (sizes.values - 15)
    condition = f"c1 = {repetition} AND o2 BETWEEN {low} AND {low + 14}"
    return {
        "tacit": f"SELECT SUM(o2) AS s FROM t1 JOIN t2 USING (uid) WHERE {condition}",
        "plain": "SELECT SUM(o1 * o2) FROM plain1 JOIN plain2 USING (uid)",
        "filtered": f"SELECT SUM(o2) FROM plain1 JOIN plain2 USING (uid) WHERE {condition}",
    }


def measure(sizes: Sizes) -> dict[str, Any]:
    """Load, then ask in turns."""
    with tempfile.TemporaryDirectory() as folder:
        path, collection, tables = Path(folder) / "joined.tacit", collection_of(sizes), tables_of(sizes)
        db = tc.connect(path)
        db.create(collection)
        beside = duckdb.connect(str(path), config=SHUT)  # a second connection to the database that is open already
        beside.execute(f"SET memory_limit = '{sizes.memory_limit // 1024**2}MiB'")
        for i in (1, 2):
            beside.register("incoming", pa.table(tables[f"t{i}"]))
            beside.execute(f"CREATE TABLE plain{i} AS SELECT * FROM incoming")
            beside.unregister("incoming")
        loading = timed(lambda: db.load(collection.encode(**tables, rng=tc.insecure_rng(SEED))))
        tables.clear()
        db.sql(questions(sizes, 0)["tacit"])  # loads code and reads the file
        before = settled()
        CLEAR.write_text(RESET_PEAK)
        rounds: dict[str, list[float]] = {"tacit": [], "plain": [], "filtered": []}
        for repetition in range(sizes.repetitions):
            asked = questions(sizes, repetition)
            rounds["tacit"].append(timed(partial(db.sql, asked["tacit"])))
            for name in ("plain", "filtered"):
                rounds[name].append(timed(lambda text=asked[name]: beside.execute(text).fetchall()))  # type: ignore[misc]
        peak = resident("VmHWM")
        beside.close()
        db.close()
    ratio = round(min(rounds["tacit"]) / min(rounds["plain"]), 2)
    return {
        "users": sizes.users,
        "load_seconds": round(loading, 1),
        "seconds": {name: [round(value, 4) for value in values] for name, values in rounds.items()},
        "ratio": ratio,
        "ratio_of_medians": round(statistics.median(rounds["tacit"]) / statistics.median(rounds["plain"]), 2),
        "ratio_to_filtered": round(min(rounds["tacit"]) / min(rounds["filtered"]), 2),
        "claimed": CLAIMED_OVERHEAD,
        "resident_before": before,
        "peak_resident": peak,
        "memory_limit": sizes.memory_limit,
        "within_memory": peak <= sizes.memory_limit,
        "holds": ratio <= CLAIMED_OVERHEAD,
    }


def show(found: dict[str, Any]) -> None:
    """Print what was found."""
    took, plain, filtered = (min(found["seconds"][name]) for name in ("tacit", "plain", "filtered"))
    say(f"{found['users']:,} users, best of {len(found['seconds']['tacit'])}: a question over the join {took:.3f} s,")
    say(f"  the same join in plain SQL {plain:.3f} s, with the question's conditions {filtered:.3f} s.")
    peak, limit = (found[name] / 1024**3 for name in ("peak_resident", "memory_limit"))
    say(f"  peak resident size of the process {peak:.2f} GiB, the engine's limit {limit:.2f} GiB.")
    say(f"claim: at most {found['claimed']} times the plain join; found {found['ratio']}. Holds: {found['holds']}.")


def main() -> int:
    """Run in full or in part; return 1 if the claim fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slice", action="store_true", help="ask fewer times and compare")
    options = parser.parse_args()
    sizes = SLICE if options.slice else FULL
    found = provenance(PACKAGES, parameters=asdict(sizes) | {"seed": SEED}) | measure(sizes)
    show(found)
    if options.slice and RESULTS.exists():
        say("committed:")
        show(json.loads(RESULTS.read_text(encoding="utf-8")))
    elif not options.slice:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return int(not found["holds"])


if __name__ == "__main__":
    sys.exit(main())
