"""How long one waits before any work: imports, and the command line's help, each in a fresh process.

Claims are judged by the processor's time, which is what a machine with nothing else to do takes: the interpreter's own
start included. Seconds on the wall and the machine's load are recorded beside it. The full run writes results.json;
``--slice`` measures a few times, prints the numbers next to the committed ones, and exits with 1 if a claim fails.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.common import figure, provenance, say
from tacit.cli.command import VERBS

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"

CLAIMED_SECONDS = 0.15

STARTS = {
    "import tacit.client": ["-c", "import tacit.client"],
    "import tacit": ["-c", "import tacit"],
    "tacit --version": ["-m", "tacit.cli", "--version"],
    "tacit --help": ["-m", "tacit.cli", "--help"],
} | {f"tacit {verb} --help": ["-m", "tacit.cli", verb, "--help"] for verb in VERBS}


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(words: list[str], repetitions: int) -> dict[str, float]:
    """Return the seconds of a command in fresh processes."""
    wall, processor = [], []
    for _ in range(repetitions):
        before, started = _processor(), time.perf_counter()
        subprocess.run([sys.executable, *words], capture_output=True, check=True)
        wall.append(time.perf_counter() - started)
        processor.append(_processor() - before)
    return {
        "processor_median": figure(statistics.median(processor)),
        "wall_median": figure(statistics.median(wall)),
        "wall_best": figure(min(wall)),
    }


def _shown(seconds: dict[str, Any]) -> str:
    return f"{seconds['processor_median']:.3f} s of the processor, {seconds['wall_best']:.3f} s on the wall at best"


def main() -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slice", action="store_true", help="measure a few times and compare")
    options = parser.parse_args()
    repetitions = 3 if options.slice else 20
    starts = {name: measure(words, repetitions) for name, words in STARTS.items()}
    committed = json.loads(RESULTS.read_text(encoding="utf-8"))["starts"] if options.slice else {}
    holds = True
    for name, seconds in starts.items():
        fast = seconds["processor_median"] < CLAIMED_SECONDS
        holds = holds and fast
        compared = f" (committed: {_shown(committed[name])})" if name in committed else ""
        say(f"{name}: {_shown(seconds)}; {'holds' if fast else 'FAILS'}{compared}")
    if not options.slice:
        data = provenance(["tacit"], repetitions=repetitions, claimed_seconds=CLAIMED_SECONDS)
        data |= {"load": figure(os.getloadavg()[0]), "starts": starts}
        RESULTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
