"""How long an app waits for the Python client: importing it in a fresh process.

The claim is judged by the processor's time, which is what a machine with nothing else to do takes; seconds on the wall
and the machine's load are recorded beside it. The full run writes results.json; ``--slice`` measures a few times,
prints the numbers next to the committed ones, and exits with 1 if the claim fails.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.common import figure, provenance, say

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"

CLAIMED_SECONDS = 0.15
"""For `import tacit.client`, in a Python that has started."""

PROGRAM = """
import sys, time
wall, cpu = time.perf_counter(), time.process_time()
import tacit.client
print(time.perf_counter() - wall, time.process_time() - cpu)
print(len([name for name in ("numpy", "pyarrow", "duckdb", "sqlglot") if name in sys.modules]))
"""


def measure(repetitions: int) -> dict[str, Any]:
    """Return the seconds of imports in fresh processes, and how many heavy packages they loaded."""
    wall, processor, heavy = [], [], 0
    for _ in range(repetitions):
        result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
        one, two, loaded = result.stdout.split()
        wall.append(float(one))
        processor.append(float(two))
        heavy += int(loaded)
    return {
        "processor_median": figure(statistics.median(processor)),
        "wall_median": figure(statistics.median(wall)),
        "wall_best": figure(min(wall)),
        "heavy_packages": heavy,
        "load": figure(os.getloadavg()[0]),
    }


def _shown(found: dict[str, Any]) -> str:
    return f"{found['processor_median']:.3f} s of the processor, {found['wall_best']:.3f} s on the wall at best"


def main() -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slice", action="store_true", help="measure a few times and compare")
    options = parser.parse_args()
    repetitions = 5 if options.slice else 30
    found = measure(repetitions)
    holds = found["processor_median"] < CLAIMED_SECONDS and not found["heavy_packages"]
    say(f"import tacit.client: {_shown(found)}; {'holds' if holds else 'FAILS'}")
    if options.slice:
        before = json.loads(RESULTS.read_text(encoding="utf-8"))["import"]
        say(f"committed: {_shown(before)}")
    else:
        data = provenance(["tacit"], repetitions=repetitions, claimed_seconds=CLAIMED_SECONDS) | {"import": found}
        RESULTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
