"""Draw the figures as SVG, and write the tables of README.md, from results.json, accuracy.json and speed.json alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.chart import chart
from bench.common import write_part
from bench.joint.claims import Figures
from bench.joint.tables import accuracy_table, gains, speed_table, statements, table
from tacit.estimate.chart import picture
from tacit.estimate.estimate import Estimate

HERE = Path(__file__).parent
NAMED = {
    "HIO": "#7b3294",
    "HIO-PUB": "#c2a5cf",
    "AHIO": "#d9822b",
    "EHIO": "#2a9d5c",
    "AMG": "#a0a0a0",
    "SC-JOIN": "#a0a0a0",
    "HIO-JOIN": "#d9822b",
    "HIO-JOIN-RDC": "#7b3294",
    "tacit": "#1b6ca8",
    "AHIO-RDC, k = 2^dq": "#7b3294",
    "AHIO-RDC, k = 4^dq": "#b07cc6",
    "AHIO-RDC, k = 16": "#d8bfe0",
    "HIO-RDC, k = 2^dq": "#d9822b",
    "HIO-RDC, k = 4^dq": "#e8b98a",
    "HIO-RDC, k = 16": "#a0a0a0",
    "HIO-JOIN, 2": "#e8b98a",
    "HIO-JOIN, 5": "#d9822b",
    "HIO-JOIN-RDC, 2": "#c2a5cf",
    "HIO-JOIN-RDC, 5": "#7b3294",
    "tacit, 2": "#7fb2d9",
    "tacit, 5": "#1b6ca8",
}
MEASURES = {"nmse_count": "NMSE of COUNT", "nmse_sum": "NMSE of SUM", "mre_avg": "relative error of AVG, median,"}


def _with_medians(point: dict[str, Any]) -> dict[str, Any]:
    """Return a point whose MRE is the median: the mean of a ratio says nothing where its denominator may be zero."""
    return point | {"mre_avg": point["mre_avg_median"], "mre_avg_std": 0.0} if "mre_avg" in point else point


def draw(figures: Figures) -> None:
    """Write the charts, three panels beside each other; points that were not run are left out."""
    points = {name: _with_medians(point) for name, point in figures.points.items()}
    rows: dict[str, list[dict[str, Any]]] = {}
    for panel in figures.panels.values():
        measure, kept = panel["measure"], []
        for curve in panel["curves"]:
            shown = [
                [at, name]
                for at, name in curve["points"]
                if {measure, f"{measure}_predicted"} & figures.points.get(name, {}).keys()
            ]
            kept += [curve | {"points": shown}] if shown else []
        if kept:
            rows.setdefault(panel["figure"].rstrip("abcdefghi*"), []).append(panel | {"curves": kept})
    for number, panels in rows.items():
        for place, some in enumerate(panels[k : k + 3] for k in range(0, len(panels), 3)):
            name = f"figure{number}-{place + 1}.svg" if len(panels) > 3 else f"figure{number}.svg"
            (HERE / name).write_text(chart(some, points, NAMED, MEASURES), encoding="utf-8")
    for one in ("count", "sum"):
        labels, cells = [], []
        for row in sorted(figures.groups, key=lambda each: -each[one]["truth"]):
            labels.append(f"{row['race']}, {row['method']}")
            cells.append(Estimate(row[one]["estimate"], row[one]["error"], 10_000, 0.95))
            if row["method"] == "tacit":
                labels.append(f"{row['race']}, true")
                cells.append(Estimate(row[one]["truth"], 0.0, 10_000, 0.95))
        if cells:
            title = "persons by race" if one == "count" else "income by race, units of 2,000"
            (HERE / f"figure11-{one}.svg").write_text(picture(title, labels, cells), encoding="utf-8")


def main() -> None:
    """Write the charts and the tables of whatever has been run."""
    page = HERE / "README.md"
    if (HERE / "results.json").exists():
        figures = Figures(json.loads((HERE / "results.json").read_text(encoding="utf-8")))
        draw(figures)
        for mark, write in (("figures", statements), ("table", table), ("gains", gains)):
            write_part(page, f"<!-- {mark} -->", write(figures))
    others: dict[str, Callable[[dict[str, Any]], str]] = {"accuracy": accuracy_table, "speed": speed_table}
    for name, write_other in others.items():
        if (HERE / f"{name}.json").exists():
            write_part(page, f"<!-- {name} -->", write_other(json.loads((HERE / f"{name}.json").read_text("utf-8"))))


if __name__ == "__main__":
    main()
