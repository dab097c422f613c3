"""Estimates as a picture: a dot and an error bar for each row, as SVG that needs no library to draw or to show."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

from tacit.estimate.estimate import Estimate

__all__ = ["FAINT", "INK", "MARK", "Picture", "picture", "write_picture"]

WIDTH, ROW, LABELS, TOP = 560, 22, 170, 26
MOST_ROWS = 60
INK, MARK, FAINT = "#1f2933", "#0b6e99", "#cbd2d9"


class Picture(str):
    """SVG text that notebooks draw."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"Picture({len(self):,} characters of SVG; save it with path=, or str() it)"


def write_picture(drawn: Picture, path: Any) -> Picture:
    """Write a picture to a file, if there is a path, and return it."""
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123  path may be anything that open takes
            file.write(drawn)
    return drawn


def picture(title: str, labels: Sequence[str], cells: Sequence[Estimate]) -> Picture:
    """Return an SVG with one line for each estimate; the axis has round numbers and holds every finite interval."""
    shown = list(zip(labels, cells, strict=True))[:MOST_ROWS]
    ends = [end for _, cell in shown for end in (cell.low, cell.value, cell.high) if math.isfinite(end)]
    ticks = _ticks(min([0.0, *ends]), max([0.0, *ends]))
    low, high = ticks[0], ticks[-1]
    height = TOP + ROW * len(shown) + 34

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
        parts.append(f'<line x1="{x(tick):.1f}" y1="{TOP}" x2="{x(tick):.1f}" y2="{bottom}" stroke="{FAINT}"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 16}" fill="{INK}" text-anchor="middle">{tick:,.10g}</text>')
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
        hint = html.escape(f"{label} {cell}".strip())
        parts.append(
            f'<g><title>{hint}</title><line x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}" '
            f'stroke="{MARK}" stroke-width="2"/><circle cx="{x(cell.value):.1f}" cy="{y:.1f}" r="4" fill="{MARK}"/></g>'
        )
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
