"""Draw throughput.svg, and the tables of README.md, from results.json alone."""

from __future__ import annotations

import json
import math
from html import escape
from pathlib import Path
from typing import Any

from bench.common import write_part

HERE = Path(__file__).parent
START = "<!-- from results.json -->"
COLOURS = {"tacit": "#1b6ca8", "local hashing": "#d9822b", "other": "#a0a0a0"}
LABELS, BARS, ROW, TOP, BOTTOM = 350, 400, 24, 40, 30
RATIOS = ("ratio", "ratio_best", "ratio_sparse_ids", "ratio_one_core")
LOWEST, DECADES = 4, 4
"""The axis runs over this many powers of ten, from 10**LOWEST reports a second."""


def across(rate: float) -> float:
    """Return where a rate lies on the logarithmic axis."""
    return LABELS + BARS * (math.log10(rate) - LOWEST) / DECADES


def text(x: float, y: float, words: str, anchor: str = "start") -> str:
    """Return a line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def bars(cells: list[dict[str, Any]]) -> list[str]:
    """Return label, bar and number of each encoder, fastest first."""
    drawn = []
    for place, cell in enumerate(sorted(cells, key=lambda cell: -cell["reports_per_second"])):
        y, rate = TOP + ROW * place, cell["reports_per_second"]
        width = across(rate) - LABELS
        box = f'x="{LABELS}" y="{y}" width="{width:.1f}" height="{ROW - 8}"'
        drawn.append(f'<rect {box} fill="{COLOURS[cell["kind"]]}"/>')
        drawn.append(text(LABELS - 8, y + 12, cell["name"], "end"))
        drawn.append(text(LABELS + width + 6, y + 12, f"{rate / 1e6:.2f} M/s"))
    return drawn


def chart(cells: list[dict[str, Any]]) -> str:
    """Return the chart as SVG."""
    foot = TOP + ROW * len(cells)
    grid = []
    for power in range(LOWEST, LOWEST + DECADES + 1):
        x = across(10**power)
        grid.append(f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{foot}" stroke="#dddddd"/>')
        grid.append(text(x, foot + 16, f"{10**power:,}", "middle"))
    legend = [
        f'<g fill="{colour}">{text(LABELS + 130 * place, 20, kind)}</g>'
        for place, (kind, colour) in enumerate(COLOURS.items())
    ]
    size = f'width="{LABELS + BARS + 90}" height="{foot + BOTTOM}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    title = text(8, 20, "Reports encoded a second (logarithmic), median")
    return "\n".join(
        [head, '<rect width="100%" height="100%" fill="white"/>', title, *legend, *grid, *bars(cells), "</svg>\n"]
    )


def tables(results: dict[str, Any]) -> str:
    """Return the tables of throughput and memory in Markdown."""
    lines = [
        "| encoder | kind | million reports/s | ratio | best | sparse ids | one core |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for cell in results["throughput"]:
        ratios = [f"{cell[name]:.1f}" if name in cell else "" for name in RATIOS]
        rate = f"{cell['reports_per_second'] / 1e6:.2f}"
        lines.append(f"| {cell['name']} | {cell['kind']} | {rate} | {' | '.join(ratios)} |")
    lines += ["", "| ids | rows | seconds | GiB above input and returned table |", "|---|--:|--:|--:|"]
    for size in results["memory"]:
        overhead = f"{size['overhead_bytes'] / 1024**3:.2f}"
        lines.append(f"| {size['keys']} | {size['rows']:,} | {size['seconds']:.1f} | {overhead} |")
    lines += ["", f"Commit {results['commit'][:12]}, {results['cores']} cores, Python {results['python']}."]
    return "\n".join(lines)


def main() -> None:
    """Write the chart and the tables."""
    results = json.loads((HERE / "results.json").read_text(encoding="utf-8"))
    (HERE / "throughput.svg").write_text(chart(results["throughput"]), encoding="utf-8")
    write_part(HERE / "README.md", START, tables(results))


if __name__ == "__main__":
    main()
