"""Draw one SVG for each figure, and write the tables of README.md, from results.json and accuracy.json alone."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from claims import gains, judge

HERE = Path(__file__).parent
MARKS = {"figures": "<!-- figures -->", "gains": "<!-- gains -->", "accuracy": "<!-- accuracy -->"}
END = "<!-- end -->"
COLOURS = ("#d9822b", "#a0a0a0", "#7b3294", "#1b6ca8", "#2a9d5c")
NAMED = {
    "MG, OLH": "#e8b98a",
    "MG": "#d9822b",
    "HI": "#a0a0a0",
    "HIO": "#7b3294",
    "SC": "#2a9d5c",
    "tacit": "#1b6ca8",
    "tacit pairs": "#56b4e9",
}
WIDTH, HEIGHT, LEFT, TOP, GAP = 250, 190, 62, 46, 40
LEGEND = 16
"""Height of a line of the legend, below the axis."""


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = "black") -> str:
    """Return a line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1.0) -> str:
    """Return a straight line."""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


class Plot:
    """One panel: positions side by side, errors on a logarithmic axis."""

    def __init__(self, panel: dict[str, Any], points: dict[str, Any], left: float) -> None:
        self.panel, self.points, self.left = panel, points, left
        self.positions = list(dict.fromkeys(at for curve in panel["curves"] for at, _ in curve["points"]))
        values = [self.value(name)[0] for curve in panel["curves"] for _, name in curve["points"]]
        self.low = math.floor(math.log10(min(values)))
        self.high = max(self.low + 1, math.ceil(math.log10(max(values))))

    def value(self, name: str) -> tuple[float, float, bool]:
        """Return a point's error, its standard deviation, and whether it was measured."""
        point, measure = self.points[name], self.panel["measure"]
        if measure in point:
            return point[measure], point[f"{measure}_std"], True
        return point[f"{measure}_predicted"], 0.0, False

    def across(self, at: str) -> float:
        """Return where a position lies."""
        return self.left + WIDTH * (self.positions.index(at) + 0.5) / len(self.positions)

    def up(self, value: float) -> float:
        """Return where an error lies, cut at the axis."""
        share = (math.log10(max(value, 10**self.low)) - self.low) / (self.high - self.low)
        return TOP + HEIGHT * (1 - min(1.0, share))

    def draw(self) -> Iterable[str]:
        """Yield axes and curves."""
        foot = TOP + HEIGHT
        yield text(self.left, TOP - 24, f"Figure {self.panel['figure']}: {self.panel['title']}")
        shown = {"mnae": "MNAE", "mre_sum": "MRE of SUM", "mre_avg": "MRE of AVG"}[self.panel["measure"]]
        yield text(self.left, TOP - 8, f"{shown} by {self.panel['axis']}")
        for power in range(self.low, self.high + 1):
            y = self.up(10.0**power)
            yield line(self.left, y, self.left + WIDTH, y, "#dddddd")
            yield text(self.left - 6, y + 4, f"{10.0**power:g}", "end")
        for at in self.positions:
            yield text(self.across(at), foot + 16, at, "middle")
        for place, curve in enumerate(self.panel["curves"]):
            yield from self.curve(curve, NAMED.get(curve["name"], COLOURS[place % len(COLOURS)]), place)

    def curve(self, curve: dict[str, Any], colour: str, place: int) -> Iterable[str]:
        """Yield one curve with its line of the legend."""
        before: tuple[float, float] | None = None
        for at, name in curve["points"]:
            value, spread, measured = self.value(name)
            x, y = self.across(at) + 3 * (place - 1), self.up(value)
            if before:
                yield line(*before, x, y, colour)
            if measured:
                yield line(x, self.up(value - spread), x, self.up(value + spread), colour, 0.5)
            fill = colour if measured else "white"
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{fill}" stroke="{colour}"/>'
            before = x, y
        row, column = divmod(place, 3)
        yield text(self.left + 85 * column, TOP + HEIGHT + 34 + LEGEND * row, curve["name"], colour=colour)


def chart(panels: list[dict[str, Any]], points: dict[str, Any]) -> str:
    """Return the panels of a figure side by side."""
    step = LEFT + WIDTH + GAP
    plots = [Plot(panel, points, LEFT + step * place) for place, panel in enumerate(panels)]
    size = f'width="{step * len(plots)}" height="{TOP + HEIGHT + 34 + 2 * LEGEND}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
    body = [part for plot in plots for part in plot.draw()]
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *body, "</svg>\n"])


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
        (HERE / f"figure{number}.svg").write_text(chart(panels, results["points"]), encoding="utf-8")
    tables = {"figures": figure_table(results), "gains": gain_table(results)}
    if (HERE / "accuracy.json").exists():  # the two benchmarks run one without the other
        tables["accuracy"] = accuracy_table(json.loads((HERE / "accuracy.json").read_text(encoding="utf-8")))
    readme = HERE / "README.md"
    page = readme.read_text(encoding="utf-8")
    for name, table in tables.items():
        before, rest = page.split(MARKS[name])
        page = f"{before}{MARKS[name]}\n{table}\n{END}{rest.split(END, 1)[1]}"
    readme.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
