"""Draw the figures and write the tables of the page, from results.json alone: python -m bench.calm.plot."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path
from typing import Any

from bench.calm.figures import CELLS, EPSILONS, FEW, MIXED, RUNS, SHAPES, name_of
from bench.calm.methods import METHODS
from bench.calm.populations import NAMES, SVM
from bench.chart import chart
from bench.common import write_part

HERE = Path(__file__).parent
COLOURS = {
    "tacit": "#1b6ca8", "CALM": "#d9822b", "FT": "#7b3294", "AM": "#2a9d5c", "FC": "#c0392b", "EM": "#8d6e63",
    "Uni": "#a0a0a0",
    "NoNoise": "#2a9d5c", "Majority": "#a0a0a0",
}  # fmt: skip
MEASURES = {"sse": "sum of squared errors", "wrong": "share of wrong labels"}

Points = dict[str, Any]


def _curve(points: Points, title: str, named: list[tuple[str, str]], measure: str) -> dict[str, Any] | None:
    found = [(at, name) for at, name in named if measure in points.get(name, {})]
    return {"name": title, "points": found} if found else None


def _panel(number: str, title: str, axis: str, measure: str, curves: list[Any]) -> dict[str, Any] | None:
    kept = [curve for curve in curves if curve]
    return {"figure": number, "title": title, "axis": axis, "measure": measure, "curves": kept} if kept else None


def errors(points: Points, figure: str, people: int) -> list[Any]:
    """Return the panels of figure 4 or 5 for one number of people."""
    panels = []
    for cell in CELLS:
        if (cell.figure, cell.people) == (figure, people):
            words = cell.figure, cell.data, cell.attributes, cell.asked, cell.people
            named = {m: [(str(e), name_of(*words, e, m)) for e in EPSILONS] for m in METHODS}
            curves = [_curve(points, method, names, "sse") for method, names in named.items()]
            again = any(points.get(name_of(*words, e, "CALM"), {}).get("repeated_rows") for e in EPSILONS)
            title = f"{cell.data}, d = {cell.attributes}, k = {cell.asked}, n = 2^{people.bit_length() - 1}"
            panels.append(_panel(figure, title + (" (rows repeated)" if again else ""), "epsilon", "sse", curves))
    return [panel for panel in panels if panel]


def labels(points: Points) -> list[Any]:
    """Return the panels of figure 6."""
    panels = []
    for data in SVM:
        for most in (2, 3):
            for copies in (1, 16):
                curves = []
                for method in ("tacit", "CALM", "FT", "AM", "FC"):
                    named = [(str(e), name_of("6", data, most, copies, e, method)) for e in EPSILONS]
                    curves.append(_curve(points, method, named, "wrong"))
                for method in ("NoNoise", "Majority"):
                    named = [(str(e), name_of("6", data, most, 1, 0.0, method)) for e in EPSILONS]
                    curves.append(_curve(points, method, named, "wrong"))
                title = f"{data}, {most} categories, people x {copies}"
                panels.append(_panel("6", title, "epsilon", "wrong", curves))
    return [panel for panel in panels if panel]


def mixed(points: Points) -> list[Any]:
    """Return the panels of figure 8: by epsilon, then by the size that views are chosen for."""
    head, panels = ("8", "retail", 16), []
    for k in (3, 6, 8):
        curves = []
        for method in ("for 3", "for 6", "for 8", "PriView"):
            named = [(str(e), name_of(*head, k, 2**16, e, method)) for e in EPSILONS]
            curves.append(_curve(points, method.replace("for", "views for k' ="), named, "sse"))
        panels.append(_panel("8", f"retail, d = 16, k = {k}", "epsilon", "sse", curves))
    for k in (3, 6, 8):
        curves = []
        for epsilon in FEW:
            named = [(str(other), name_of(*head, k, 2**16, epsilon, f"for {other}")) for other in range(2, 17)]
            curves.append(_curve(points, f"epsilon {epsilon}", named, "sse"))
        panels.append(_panel("8", f"retail, d = 16, k = {k}", "k'", "sse", curves))
    return [panel for panel in panels if panel]


def sizes(points: Points) -> list[Any]:
    """Return the panels of figure 9: by the size of questions, one for each epsilon."""
    panels = []
    for epsilon in FEW:
        curves = []
        for same in (False, True):
            mine = [w for w in MIXED if w[0] == "9" and w[5] == epsilon and w[6] == (w[3] if same else 3)]
            named = [(str(words[3]), name_of(*words[:6], f"for {words[6]}")) for words in mine]
            curves.append(_curve(points, f"views for k' = {'k' if same else 3}", named, "sse"))
        panels.append(_panel("9", f"retail, d = 16, n = 2^18, epsilon {epsilon}", "k", "sse", curves))
    return [panel for panel in panels if panel]


def ratios(points: Points) -> str:
    """Return a table of every cell: tacit and CALM, their ratio, and the best of the others."""
    lines = [
        "| data, d, k, n | epsilon | tacit | CALM | tacit / CALM | FT, AM, FC / CALM |",
        "|---|---|---|---|---|---|",
    ]
    logs, above, gains = [], [], {method: [] for method in ("FT", "AM", "FC")}  # type: ignore[var-annotated]
    for cell in CELLS:
        for epsilon in EPSILONS:
            words = cell.figure, cell.data, cell.attributes, cell.asked, cell.people, epsilon
            found = {method: points.get(name_of(*words, method), {}) for method in METHODS}
            ours, calm = found["tacit"], found["CALM"]
            if "sse" not in ours or "sse" not in calm:
                continue
            ratio = ours["sse"] / calm["sse"]
            logs.append(math.log(ratio))
            error = math.hypot(ours["sse_std"], calm["sse_std"]) / math.sqrt(RUNS)
            head = f"{cell.data}, {cell.attributes}, {cell.asked}, 2^{cell.people.bit_length() - 1}"
            if ours["sse"] > calm["sse"] + 2 * error:
                above.append(f"{head}, epsilon {epsilon}")
            for method, factors in gains.items():
                factors += [found[method]["sse"] / calm["sse"]] if "sse" in found[method] else []
            others = ", ".join(
                f"{found[m]['sse'] / calm['sse']:.2g}" if "sse" in found[m] else "-" for m in ("FT", "AM", "FC")
            )
            lines.append(f"| {head} | {epsilon} | {ours['sse']:.3g} | {calm['sse']:.3g} | {ratio:.2f} | {others} |")
    told = f"{len(logs)} cells; tacit / CALM in the geometric mean: {math.exp(sum(logs) / max(1, len(logs))):.2f}. "
    told += f"Cells where tacit is above CALM by more than two standard errors: {'; '.join(above) or 'none'}."
    for method, factors in gains.items():
        low, middle, high = min(factors), statistics.median(factors), max(factors)
        often = f"ten or more in {sum(factor >= 10 for factor in factors)} of {len(factors)}"
        told += f" {method} / CALM: {low:.1f} to {high:.0f}, median {middle:.1f}; {often}."
    return "\n".join([told, "", *lines])


def shapes(points: Points) -> str:
    """Return figure 7 as two tables."""
    parts = []
    for axis, place in (("views", 6), ("epsilon", 4)):
        mine = [words for words in SHAPES if (words[4] == 0.6 if axis == "views" else words[6] == 28)]
        across = sorted({words[place] for words in mine})
        rows = [
            f"| attributes of a view | {' | '.join(f'{axis} {value}' for value in across)} |",
            "|---" * (len(across) + 1) + "|",
        ]
        for shown in sorted({words[5] for words in mine}):
            cells = []
            for value in across:
                words = next(words for words in mine if words[5] == shown and words[place] == value)
                found = points.get(name_of("7", *words[:5], f"{words[6]} of {shown}"), {})
                cells.append(f"{found['sse']:.3g}" if "sse" in found else "-")
            rows.append(f"| {shown} | {' | '.join(cells)} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def main() -> None:
    """Draw everything that was measured."""
    results = json.loads((HERE / "results.json").read_text())
    points = results["points"]
    figures = {
        "figure4-16": errors(points, "4", 2**16),
        "figure4-18": errors(points, "4", 2**18),
        "figure5-16": errors(points, "5", 2**16),
        "figure5-18": errors(points, "5", 2**18),
        "figure6": labels(points),
        "figure8": mixed(points),
        "figure9": sizes(points),
    }
    made = []
    for name, panels in figures.items():
        for part in range(0, len(panels), 3):
            suffix = f"-{part // 3 + 1}" if len(panels) > 3 else ""
            drawn = chart(panels[part : part + 3], points, COLOURS, MEASURES)
            (HERE / f"{name}{suffix}.svg").write_text(drawn, encoding="utf-8")
            made.append(f"![]({name}{suffix}.svg)")
    readme = HERE / "README.md"
    write_part(readme, "<!-- figures -->", "\n".join(made))
    write_part(readme, "<!-- cells -->", ratios(points))
    write_part(readme, "<!-- shapes -->", shapes(points))
    seconds = points.get("speed", {}).get("median_seconds", {})
    lines = ["| | seconds |", "|---|---|", *(f"| {name} | {value:.2f} |" for name, value in seconds.items())]
    write_part(readme, "<!-- speed -->", "\n".join(lines))
    labelled = [
        "| data | " + " | ".join(str(e) for e in EPSILONS) + " | NoNoise | Majority |",
        "|---" * (len(EPSILONS) + 3) + "|",
    ]
    for data in SVM:
        for most in (2, 3):
            for copies in (1, 4, 16):
                for method in ("tacit", "CALM", "FT"):
                    names = [name_of("6", data, most, copies, e, method) for e in EPSILONS]
                    names += [name_of("6", data, most, 1, 0.0, own) for own in ("NoNoise", "Majority")]
                    shown = [f"{points[n]['wrong']:.3f}" if "wrong" in points.get(n, {}) else "-" for n in names]
                    labelled.append(f"| {NAMES[data]}, {most} categories, x {copies}, {method} | {' | '.join(shown)} |")
    write_part(readme, "<!-- labels -->", "\n".join(labelled))


if __name__ == "__main__":
    main()
