"""Peak memory of one encoding, measured in a process of its own (Linux); prints one JSON object.

What counts is what encoding needs beyond the loaded input and the table it returns. The returned key column shares
the input's memory, so it is not subtracted a second time. Of the new columns, pages never written to (a column of
zeros) are not resident: what is subtracted is the fall in resident size when the returned table is dropped, and never
more than its nominal size.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from pathlib import Path

import pyarrow as pa

from bench.encode.subject import DENSE, SPARSE, pair_collection, pair_table

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")
RESET_PEAK = "5"
"""What the kernel's clear_refs file takes to set the peak resident size back to the present one."""


def resident(field: str) -> int:
    """Return VmRSS (now) or VmHWM (peak) of this process in bytes."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024


def settled() -> int:
    """Return the resident size after giving unused memory back."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    return resident("VmRSS")


def buffers(table: pa.Table) -> dict[int, int]:
    """Return address and size of all memory behind a table."""
    arrays = [chunk for column in table.columns for chunk in column.chunks]
    return {buffer.address: buffer.size for array in arrays for buffer in array.buffers() if buffer is not None}


def measure(rows: int, size: int, epsilon: float, keys: str, seed: int) -> dict[str, int | float | str]:
    """Encode a table of ``rows`` rows with everything on, and return sizes in bytes."""
    collection = pair_collection(size, epsilon)
    collection.encode(users=pair_table(1000, size, keys=keys, seed=seed))  # loads code, builds tables
    table = pair_table(rows, size, keys=keys, seed=seed)
    before = settled()
    CLEAR.write_text(RESET_PEAK)
    start = time.perf_counter()
    reports = collection.encode(users=table)["users"]
    seconds = time.perf_counter() - start
    peak, after = resident("VmHWM"), settled()
    if reports.num_rows != rows:
        message = f"{reports.num_rows} reports from {rows} rows."
        raise RuntimeError(message)
    given = buffers(table)
    returned = sum(length for address, length in buffers(reports).items() if address not in given)
    del reports
    released = after - settled()
    return {
        "keys": keys,
        "rows": rows,
        "seconds": round(seconds, 3),
        "input_bytes": table.nbytes,
        "resident_before_bytes": before,
        "resident_after_bytes": after,
        "peak_bytes": peak,
        "returned_new_bytes": returned,
        "returned_resident_bytes": released,
        "overhead_bytes": peak - before - min(returned, released),
    }


def main() -> None:
    """Measure with the parameters of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--keys", choices=[DENSE, SPARSE], required=True)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    found = measure(given.rows, given.size, given.epsilon, given.keys, given.seed)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
