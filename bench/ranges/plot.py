"""Draw ranges.svg and write the tables of README.md, from results.json alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.chart import chart
from bench.common import write_part

HERE = Path(__file__).parent
COLOURS = {"consistent": "#1b6ca8", "unbiased": "#a0a0a0", "best peer": "#d9822b"}
KEYS = {"consistent": "fit", "unbiased": "unbiased", "best peer": "best_peer"}


def table(results: dict[str, Any]) -> str:
    """Return every set of questions with its errors."""
    head = "| people | data | d, asked, volume | epsilon | consistent | best peer | ratio | unbiased | intervals hold |"
    lines = [head, "|--:|---|---|--:|--:|--:|--:|--:|--:|"]
    for point in results["points"].values():
        for name, found in point["sets"].items():
            asked, _, volume = name.partition(" at ")
            fit, best, plain = found["fit"], found.get("best_peer"), found.get("unbiased")
            cells = [f"{point['people']:,}", point["data"], f"{point['attributes']}, {asked}, {volume}"]
            cells += [
                point["epsilon"],
                f"{fit:.4f}",
                f"{best:.4f}" if best else "",
                f"{fit / best:.2f}" if best else "",
            ]
            cells += [f"{plain:.4f}" if plain else "refused", f"{found['covered']:.0%}"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def told(results: dict[str, Any]) -> str:
    """Return the claims with what was found."""
    found = results["summary"]
    lines = [
        f"- {found['at_or_below_best_peer']} of {found['cells']} cells are at or below the best peer; missed: "
        f"{', '.join(found['missed']) or 'none'}.",
        f"- Geometric mean over the best peer: {found['geometric_mean_over_best_peer']:.2f} (target 0.40).",
        f"- Geometric mean over unbiased answers: {found['geometric_mean_over_unbiased']:.2f}; worst set: "
        f"{found['worst_over_unbiased']:.2f} (target: at most 1).",
        f"- Stated 95 % intervals held the truth in {found['covered']:.0%} of cases.",
        f"- {results['encodings']} encodings of each, {results['seconds'] / 60:.0f} minutes on a busy machine of "
        f"{results['cores']} cores, commit {results['commit'][:12]}.",
    ]
    return "\n".join(lines)


def drawing(results: dict[str, Any]) -> str:
    """Return the panels: two attributes asked at volume 0.5, by data set, over the comparison's settings."""
    points: dict[str, Any] = {}
    panels = []
    for place, data in enumerate(("normal", "spiky", "laplace"), start=1):
        curves = []
        for curve, key in KEYS.items():
            placed = []
            for name, point in results["points"].items():
                found = point["sets"]["2 at 0.5"]
                if point["data"] == data and "best_peer" in found:
                    points[f"{name} | {curve}"] = {"mae": found[key], "mae_std": 0.0}
                    placed.append((f"{point['attributes']}, {point['epsilon']}", f"{name} | {curve}"))
            curves.append({"name": curve, "points": placed})
        panels.append(
            {"figure": str(place), "title": data, "axis": "attributes, epsilon", "measure": "mae", "curves": curves}
        )
    return chart(panels, points, COLOURS, {"mae": "mean absolute error / n"})


def main() -> None:
    """Write the picture and the tables."""
    results = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
    (HERE / "ranges.svg").write_text(drawing(results), encoding="utf-8")
    write_part(HERE / "README.md", "<!-- claims -->", told(results))
    write_part(HERE / "README.md", "<!-- table -->", table(results))


if __name__ == "__main__":
    main()
