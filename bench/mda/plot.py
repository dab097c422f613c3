"""Draw one SVG for each figure, and write the tables of README.md, from results.json and accuracy.json alone."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from bench.chart import chart
from bench.common import write_part
from bench.mda.claims import gains, judge

HERE = Path(__file__).parent
MARKS = {"figures": "<!-- figures -->", "gains": "<!-- gains -->", "accuracy": "<!-- accuracy -->"}
NAMED = {
    "MG, OLH": "#e8b98a",
    "MG": "#d9822b",
    "HI": "#a0a0a0",
    "HIO": "#7b3294",
    "SC": "#2a9d5c",
    "tacit": "#1b6ca8",
    "tacit pairs": "#56b4e9",
}
SHOWN = {"mnae": "MNAE", "mre_sum": "MRE of SUM", "mre_avg": "MRE of AVG"}


def figure_table(results: dict[str, Any]) -> str:
    """Return the paper's statements with what was found."""
    lines = ["| figure | the paper says | here | found |", "|---|---|---|---|"]
    for each in judge(results):
        verdict = "agrees" if each["agrees"] else "**differs**"
        lines.append(f"| {each['figure']} | {each['paper']} | {verdict} | {each['found']} |")
    measured = [point for point in results["points"].values() if point["queries"]]
    count, minutes = sum(point["queries"] for point in measured), results["seconds"] / 60
    ran = f"{len(measured)} points measured and {len(results['points']) - len(measured)} predicted"
    lines += ["", f"{ran}; {count:,} questions, {minutes:.0f} minutes on one core."]
    lines += [f"Commit {results['commit'][:12]}, Python {results['python']}.", "", *trust(measured, count)]
    return "\n".join(lines)


def trust(measured: list[dict[str, Any]], count: int) -> list[str]:
    """Return how stated errors compare with measured ones, and predicted with stated ones."""
    off = sum(point["off_over_stated"] * point["queries"] for point in measured) / count
    pairs = [(point, "mnae" if "mnae" in point else "mre_sum") for point in measured]
    both = [(point, name) for point, name in pairs if f"{name}_predicted" in point]
    ratios = sorted(point[f"{name}_predicted"] / point[f"{name}_stated"] for point, name in both)
    tail = len(ratios) // 20
    most, every = (f"{ratios[cut]:.2f} to {ratios[-1 - cut]:.2f}" for cut in (tail, 0))
    return [
        f"Measured errors are on average {off:.3f} times the stated standard errors; for normal errors it is 0.798.",
        f"Predicted over stated errors of SUM: {most} at nine points of ten, {every} at all.",
    ]


def gain_table(results: dict[str, Any]) -> str:
    """Return, for each setting and epsilon, how many times smaller tacit's errors are than HIO's."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for gain in gains(results["points"]):
        setting, _, epsilon, _, _ = gain["point"].split(" | ")
        groups.setdefault((setting, epsilon.removeprefix("eps "), gain["method"]), []).append(gain)
    lines = [
        "| setting | epsilon | method | points | error of HIO over tacit's | measured, geometric mean |",
        "|---|--:|---|--:|--:|--:|",
    ]
    for (setting, epsilon, method), found in groups.items():
        expected = [each["expected"] for each in found]
        seen = [math.log(each["measured"]) for each in found if each["measured"] is not None]
        mean = f"{math.exp(sum(seen) / len(seen)):.2f}" if seen else "predicted only"
        reach = f"{min(expected):.2f} to {max(expected):.2f}" if len(found) > 1 else f"{expected[0]:.2f}"
        lines.append(f"| {setting} | {epsilon} | {method} | {len(found)} | {reach} | {mean} |")
    return "\n".join(lines)


def accuracy_table(found: dict[str, Any]) -> str:
    """Return the ratios of mean squared errors."""
    lines = [
        "| case | baseline | measured ratio to blue | predicted | claimed | holds |",
        "|---|---|--:|--:|--:|---|",
    ]
    for name, case in found["cases"].items():
        p = case["parameters"]
        for decoder, ratio in case["ratios"].items():
            shown = f"{ratio['measured']:.2f} ± {ratio['standard_error']:.2f} | {ratio['predicted']:.2f}"
            claimed = f"{ratio['claimed']:g} | {'yes' if ratio['holds'] else '**no**'}" if ratio["claimed"] else "– | –"
            lines.append(f"| {name}: {p['attributes']} x {p['values']} values | {decoder}, OLH | {shown} | {claimed} |")
    seconds = sum(case["seconds"] for case in found["cases"].values())
    lines += ["", f"Commit {found['commit'][:12]}, {seconds / 60:.0f} minutes on one core."]
    return "\n".join(lines)


def main() -> None:
    """Write the charts and the tables."""
    results = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
    figures: dict[str, list[dict[str, Any]]] = {}
    for panel in results["panels"]:
        figures.setdefault(panel["figure"].rstrip("abcd*"), []).append(panel)
    for number, panels in figures.items():
        (HERE / f"figure{number}.svg").write_text(chart(panels, results["points"], NAMED, SHOWN), encoding="utf-8")
    tables = {"figures": figure_table(results), "gains": gain_table(results)}
    if (HERE / "accuracy.json").exists():  # the two benchmarks run one without the other
        tables["accuracy"] = accuracy_table(json.loads((HERE / "accuracy.json").read_text(encoding="utf-8")))
    for name, table in tables.items():
        write_part(HERE / "README.md", MARKS[name], table)


if __name__ == "__main__":
    main()
