"""A chart of verdicts: the relative width of each interval, on a logarithmic axis."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tacit.estimate.chart import FAINT, INK, MARK, Picture, write_picture

__all__ = ["Bar", "verdict_picture"]

WIDTH, ROW, TOP, LEFT = 720, 34, 30, 16
LOWEST, HIGHEST = 0.001, 10.0
"""Sizes in pixels, and the ends of the logarithmic axis of relative half widths."""

INKS = {"good": MARK, "rough": "#b7791f", "too noisy": "#b83232"}


class Bar(NamedTuple):
    """A question, the relative half width of its interval, and the verdict."""

    label: str
    relative: float
    word: str


def verdict_picture(title: str, bars: Sequence[Bar], limits: tuple[float, float], path: Any) -> Picture:
    """Return an SVG with a bar for each question, labelled with its verdict; wide bars are noisy."""
    height, bottom = TOP + ROW * len(bars) + 24, TOP + ROW * len(bars)

    def x(relative: float) -> float:
        inside = min(max(relative, LOWEST), HIGHEST)
        return LEFT + math.log(inside / LOWEST) / math.log(HIGHEST / LOWEST) * (WIDTH - 2 * LEFT)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" aria-label="{html.escape(title)}" font-family="sans-serif" font-size="12">',
        f'<text x="{LEFT}" y="16" fill="{INK}" font-weight="bold">{html.escape(title)}</text>',
    ]
    for limit in (0.01, *limits, 1.0):
        at = f'x1="{x(limit):.1f}" y1="{TOP}" x2="{x(limit):.1f}" y2="{bottom}"'
        parts.append(f'<line {at} stroke="{FAINT}"/>')
        parts.append(
            f'<text x="{x(limit):.1f}" y="{bottom + 16}" fill="{INK}" text-anchor="middle">± {limit * 100:g} %</text>'
        )
    for place, bar in enumerate(bars):
        y, known = TOP + ROW * place, not math.isnan(bar.relative)
        word = bar.word if not math.isfinite(bar.relative) else f"± {bar.relative * 100:.2g} %, {bar.word}"
        label = bar.label if len(bar.label) <= 84 else bar.label[:83] + "…"
        parts.append(f'<text x="{LEFT}" y="{y + 12}" fill="{INK}">{html.escape(f"{label}: {word}")}</text>')
        if known:
            size = f'width="{max(2.0, x(bar.relative) - LEFT):.1f}" height="10"'
            parts.append(f'<rect x="{LEFT}" y="{y + 17}" {size} fill="{INKS.get(bar.word, FAINT)}" rx="2"/>')
    return write_picture(Picture("".join([*parts, "</svg>"])), path)
