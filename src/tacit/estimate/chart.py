"""Charts of estimates: a dot and an error bar for each row, as SVG without any library."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

from tacit.estimate.estimate import Estimate
from tacit.tables.numbers import number_text

__all__ = ["FAINT", "INK", "MARK", "Picture", "picture", "write_picture"]

WIDTH, ROW, LABELS, TOP = 560, 22, 170, 26
MOST_ROWS = 60
"""Sizes in pixels, and the maximum rows that are drawn."""

INK, MARK, FAINT = "#1f2933", "#0b6e99", "#cbd2d9"


class Picture(str):
    """SVG text that notebooks display."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"Picture({len(self):,} characters of SVG; save it with path=, or use str())"


def write_picture(drawn: Picture, path: Any) -> Picture:
    """Write a chart to a file, if there is a path, and return it."""
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123  path may be anything that open takes
            file.write(drawn)
    return drawn


def picture(title: str, labels: Sequence[str], cells: Sequence[Estimate]) -> Picture:
    """Return an SVG with one line per estimate; the axis has round numbers and covers every finite interval."""
    shown = list(zip(labels, cells, strict=True))[:MOST_ROWS]
    ends = [end for _, cell in shown for end in (cell.low, cell.value, cell.high) if math.isfinite(end)]
    ticks = _ticks(min([0.0, *ends]), max([0.0, *ends]))
    low, high = ticks[0], ticks[-1]
    noisy = any(cell.is_noisy for _, cell in shown)
    height = TOP + ROW * len(shown) + 34 + (18 if noisy else 0)

    def x(value: float) -> float:
        inside = min(max(value, low), high)
        return LABELS + (inside - low) / (high - low) * (WIDTH - LABELS - 24)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" aria-label="{html.escape(title)} with intervals" font-family="sans-serif" font-size="12">',
        f'<text x="{LABELS}" y="15" fill="{INK}" font-weight="bold">{html.escape(title)}</text>',
    ]
    bottom = TOP + ROW * len(shown)
    for tick in ticks:
        at = f"{x(tick):.1f}"
        parts.append(f'<line x1="{at}" y1="{TOP}" x2="{at}" y2="{bottom}" stroke="{FAINT}"/>')
        label = number_text(tick, 10)
        parts.append(f'<text x="{at}" y="{bottom + 16}" fill="{INK}" text-anchor="middle">{label}</text>')
    for place, (label, cell) in enumerate(shown):
        y = TOP + ROW * (place + 0.5)
        name = label if len(label) <= 24 else label[:23] + "…"
        parts.append(
            f'<text x="{LABELS - 8}" y="{y + 4:.1f}" fill="{INK}" text-anchor="end">{html.escape(name)}</text>'
        )
        if not math.isfinite(cell.value):
            continue
        left, right = (
            x(cell.low if not math.isnan(cell.low) else cell.value),
            x(cell.high if not math.isnan(cell.high) else cell.value),
        )
        weak = cell.is_noisy
        hint = html.escape(f"{label} {cell}{', too noisy to tell' if weak else ''}".strip())
        dash, fill = (' stroke-dasharray="4 3"', "none") if weak else ("", MARK)
        line = f'x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}" stroke="{MARK}" stroke-width="2"{dash}'
        dot = f'cx="{x(cell.value):.1f}" cy="{y:.1f}" r="4" fill="{fill}" stroke="{MARK}"'
        parts.append(f"<g><title>{hint}</title><line {line}/><circle {dot}/></g>")
    if noisy:
        words = "dashed: the interval includes 0, too noisy to tell"
        parts.append(f'<text x="{LABELS}" y="{bottom + 34}" fill="{INK}">{words}</text>')
    if len(cells) > MOST_ROWS:
        parts.append(f'<text x="{LABELS}" y="{height - 2}" fill="{INK}">first {MOST_ROWS} of {len(cells)} rows</text>')
    return Picture("".join([*parts, "</svg>"]))


def _ticks(low: float, high: float) -> list[float]:
    """Return three to seven round numbers from below the low end to above the high one."""
    span = high - low or abs(high) or 1.0
    step = 10 ** math.floor(math.log10(span / 3))
    while span / step > 5:
        step *= 2 if span / step <= 10 else 5
    first, last = math.floor(low / step), math.ceil(high / step)
    return [i * step for i in range(first, max(last, first + 1) + 1)]
