"""The table of the page, from results.json alone."""

from __future__ import annotations

import json
from typing import Any

from bench.common import write_part
from bench.ingest.run import HERE, RESULTS

START = "<!-- results -->"
PARTS = ("batches", "singles", "peak", "overload")


def best(runs: list[dict[str, Any]], part: str) -> dict[str, Any]:
    """Return the repetition that left least unsent, had the shortest tail (or, as fast as can be, stored most)."""
    steady = part in ("batches", "singles")

    def rank(found: dict[str, Any]) -> tuple[float, float]:
        tail = found["latency"].get("p99", float("inf"))
        return (found["unsent"], tail) if steady else (0, -found["stored_per_second"])

    return min((run[part] for run in runs), key=rank)


def row(part: str, found: dict[str, Any]) -> str:
    answers, latency, question = found["answers"], found["latency"], found["question"]
    others = {status: count for status, count in answers.items() if status not in ("200", "429")}
    cells = [
        part,
        f"{found['stored_per_second']:,.0f}",
        *(f"{latency.get(name, float('nan')):,.0f}" for name in ("p50", "p99")),
        f"{answers.get('200', 0):,}",
        f"{answers.get('429', 0):,}",
        f"{sum(others.values()):,}",
        f"{found['unsent']:,}",
        f"{question.get('p50', float('nan')):,.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Write the table."""
    data = json.loads(RESULTS.read_text(encoding="utf-8"))
    runs = data["repetitions"]
    bare = max(run["bare_sqlite"]["stored_per_second"] for run in runs)
    loads = ", ".join(f"{run['load_before']:.0f}" for run in runs)
    lines = [
        "| part | reports stored/s | p50, ms | p99, ms | 200 | 429 | failed | not sent | question p50, ms |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        f"| bare SQLite | {bare:,.0f} | | | | | | | |",
        *(row(part, best(runs, part)) for part in PARTS),
        "",
        f"Best of {len(runs)} by the 99th percentile (batches, singles) or by reports stored (peak, overload), on "
        f"{data['cores']} cores shared with others: the load average "
        f"before the repetitions was {loads}. After the overload a single report was answered within 250 ms again "
        f"after {min(run['overload']['recovery_seconds'] for run in runs):.1f} s. The collector had at most "
        f"{max(run['memory_mib'] for run in runs):,} MiB and ended within "
        f"{max(run['shutdown_seconds'] for run in runs):.1f} s. Commit {data['commit'][:12]}.",
    ]
    write_part(HERE / "README.md", START, "\n".join(lines))


if __name__ == "__main__":
    main()
