"""Write the table of results.json into the README, with the extrapolation it allows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.common import write_part

HERE = Path(__file__).parent
CLUSTER_CORES = 1_000
TARGET = 10_000_000_000


def cell(value: Any) -> str:
    """Return a number, or a dash where nothing was measured."""
    return "–" if value is None else f"{value:g}"


def main() -> None:
    """Write both parts."""
    results = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
    columns = {
        "load_seconds": "load, s",
        "last_batch_seconds": "last batch, s",
        "query_seconds": "range COUNT, s",
        "bare_seconds": "bare join, s",
        "rollup_query_seconds": "with rollup, s",
        "bytes_per_report": "bytes each",
        "peak_memory_mib": "memory, MiB",
    }
    lines = [f"| engine | reports | {' | '.join(columns.values())} |", "|---|--:|" + "--:|" * len(columns)]
    for point in results["points"]:
        cells = [cell(point.get(word)) for word in columns]
        mark = "*" if "beside" in point else ""
        lines.append(f"| {point['engine']} | {point['reports']:,}{mark} | {' | '.join(cells)} |")
    beside = [f"{p['engine']} beside {p['beside']}" for p in results["points"] if "beside" in p]
    if beside:
        lines.append(f"\n\\* Measured {', '.join(beside)}, so not used below.")
    other = "".join(f"; {what}: {commit[:12]}" for what, commit in results.get("commits", {}).items())
    lines.append(f"\nCommit {results['commit'][:12]}{other}; {results['cores']} cores, shared with others.")
    write_part(HERE / "README.md", "<!-- results -->", "\n".join(lines))
    compared = json.loads((HERE / "compared.json").read_text(encoding="utf-8"))
    write_part(HERE / "README.md", "<!-- compared -->", comparison(compared))
    write_part(HERE / "README.md", "<!-- cluster -->", extrapolated(results["points"]))


def comparison(results: dict[str, Any]) -> str:
    """Return two commits next to each other."""
    columns = {
        "load_seconds": "load, s",
        "small_batch_seconds": "10,000 more, s",
        "query_seconds": "range COUNT, s",
        "query_processor_seconds": "its processor time",
        "kept_query_seconds": "from kept sums, s",
        "kept_query_processor_seconds": "its processor time",
        "rollup_query_seconds": "with rollup, s",
        "bytes_per_report": "bytes each",
        "load_average": "load average",
    }
    lines = [f"| engine | reports | | {' | '.join(columns.values())} |", "|---|--:|---|" + "--:|" * len(columns)]
    for point in results["points"]:
        cells = " | ".join(cell(point.get(word)) for word in columns)
        lines.append(f"| {point['engine']} | {point['reports']:,} | {point['when']} | {cells} |")
    return "\n".join([*lines, "", f"Before: {results['earlier'][:12]}, after: {results['commit'][:12]}."])


def extrapolated(points: list[dict[str, Any]]) -> str:
    """Return the arithmetic from the two largest undisturbed sizes of Spark on one core to ten billion reports."""
    ours = [p for p in points if p["engine"] == "spark1" and "failed" not in p and "beside" not in p]
    small, large = ours[-2:]
    rows = large["reports"] - small["reports"]
    per_row = (large["query_seconds"] - small["query_seconds"]) / rows
    fixed = large["query_seconds"] - per_row * large["reports"]
    scanned = per_row * TARGET / CLUSTER_CORES
    load = (large["load_seconds"] - small["load_seconds"]) / rows
    disk = TARGET * large["bytes_per_report"] / 1e9
    return "\n".join(
        [
            f"- One core scans and joins a report in ({large['query_seconds']:g} − {small['query_seconds']:g}) s / "
            f"{rows:,} = {per_row * 1e9:.0f} ns; a question has a fixed part of {fixed:.1f} s.",
            f"- {TARGET:,} reports on {CLUSTER_CORES:,} cores: {TARGET / CLUSTER_CORES:,.0f} reports each, "
            f"{scanned:.1f} s + {fixed:.1f} s for a question.",
            f"- Loading takes {load * 1e6:.1f} µs of a core for a report here, so "
            f"{load * TARGET / CLUSTER_CORES:,.0f} s on that cluster, shuffles not counted.",
            f"- {large['bytes_per_report']:g} bytes each are {disk:,.0f} GB of Parquet files.",
        ]
    )


if __name__ == "__main__":
    main()
