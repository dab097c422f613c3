"""The loop of both benchmarks of this folder: measure what a file of results lacks, campaign by campaign."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from bench.common import provenance, say, write_part
from bench.model.tally import Tally, added, numbers, table_of

__all__ = ["README", "measure_missing"]

README = Path(__file__).parent / "README.md"

Measure = Callable[[Path, range], dict[str, Tally]]
"""From the folder of data and the numbers of encodings to sums by class."""


def measure_missing(
    campaigns: Iterable[tuple[str, Measure]], *, results: Path, part: str, minutes: float, description: str | None
) -> None:
    """Add encodings to each named campaign until it has as many as the command line asks for; renew the table."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--encodings", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=minutes)
    options = parser.parse_args()
    known = json.loads(results.read_text()) if results.exists() else {"points": {}}
    start = time.monotonic()
    for key, measure in campaigns:
        late = time.monotonic() - start > 60 * options.minutes
        before = known["points"].get(key, {"encodings": 0, "classes": {}})
        if options.only not in key or late or before["encodings"] >= options.encodings:
            continue
        more = measure(options.data, range(before["encodings"], options.encodings))
        classes = added(before["classes"], more)
        known["points"][key] = {"encodings": options.encodings, "classes": classes}
        known["provenance"] = provenance(["numpy", "duckdb"])
        results.write_text(json.dumps(known, indent=1) + "\n")
        for label, sums in classes.items():
            say(f"{key}: {label}: " + ", ".join(f"{name} {value:.3f}" for name, value in numbers(sums).items()))
    write_part(README, part, table_of(known["points"]))
