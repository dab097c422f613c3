"""Write the tables of README.md from results.json alone."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from bench.common import write_part

HERE = Path(__file__).parent
START = "<!-- from results.json -->"


def measured_at(part: dict[str, Any]) -> str:
    """Return the commit and the machine of a part."""
    return f"Commit {part['commit'][:12]}, {part['cores']} core, Python {part['python']}."


def join_table(part: dict[str, Any]) -> list[str]:
    """Return the question next to the bare join."""
    took, bare = (statistics.median(part[name]) for name in ("seconds", "bare_seconds"))
    return [
        "| reports | codes | question, s | bare join, s | ratio | claimed | holds |",
        "|--:|--:|--:|--:|--:|--:|---|",
        f"| {part['reports']:,} | {part['codes']:,} | {took:.2f} | {bare:.2f} | {part['ratio']} | "
        f"at most {part['claimed']:g} | {'yes' if part['holds'] else '**no**'} |",
        "",
        measured_at(part),
    ]


def frequency_table(part: dict[str, Any]) -> list[str]:
    """Return all frequencies next to the peer's."""
    lines = [
        "| epsilon | reports | tacit, s | pure-ldp, s | ratio | claimed | from this many reports on |",
        "|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for epsilon, each in part["by_epsilon"].items():
        took, enough = statistics.median(each["seconds"]), each["reports_from_which_it_holds"]
        times = f"{took:.3f} | {each['peer_seconds']:.0f} | {each['ratio']:.0f} | at least {part['claimed']:g}"
        lines.append(f"| {epsilon} | {part['reports']:,} | {times} | {enough:,} |")
    lines += [
        "",
        "| variance per report at epsilon | tacit, predicted | tacit, measured | pure-ldp, theory | pure-ldp, measured "
        "| predicted over theory | equal or better |",
        "|--:|--:|--:|--:|--:|--:|---|",
    ]
    for epsilon, each in part["by_epsilon"].items():
        v = each["variance_per_report"]
        names = ("tacit_predicted", "tacit_measured", "peer_theory", "peer_measured")
        verdict = "yes" if each["variance_is_equal_or_better"] else "**no**"
        shown = " | ".join(f"{v[name]:.3f}" for name in names)
        lines.append(f"| {epsilon} | {shown} | {each['variance_ratio']:.3f} | {verdict} |")
    return [*lines, "", measured_at(part)]


def group_table(part: dict[str, Any]) -> list[str]:
    """Return groups and joins next to one COUNT and next to plain SQL: seconds, and of the processor."""
    lines = [
        "| question | anew, s | over one COUNT | claimed | from kept sums, s | from a rollup, s | plain SQL, s |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, row in part["questions"].items():
        claimed = f"at most {part['claims'][name]:g}" if name in part["claims"] else ""
        anew, kept, rollup, plain = (
            f"{row[word]:.3f} ({row[f'{word}_processor']:.3f})" if word in row else ""
            for word in ("anew", "kept", "rollup", "plain")
        )
        lines.append(f"| {name} | {anew} | {row['over_one_count']} | {claimed} | {kept} | {rollup} | {plain} |")
    first = part["first"]
    facts = [
        "In brackets, and for the ratios: seconds of the processor.",
        f"The first answer of a new process: {first['seconds']:.2f} s ({first['processor']:.2f});",
        f"as JSON, with its crowd: {first['as_json']:.2f} s.",
        f"Most memory of a process that asks all questions: {part['memory_mib']:,} MiB.",
        f"{part['people']:,} people; load average {part['load_average']}. {measured_at(part)}",
    ]
    return [*lines, "", " ".join(facts)]


def main() -> None:
    """Write the tables."""
    results = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
    lines = [*join_table(results["join"]), "", *frequency_table(results["frequencies"])]
    for name in ("groups", "groups at 20 million"):
        lines += ["", *group_table(results[name])] if name in results else []
    write_part(HERE / "README.md", START, "\n".join(lines))


if __name__ == "__main__":
    main()
