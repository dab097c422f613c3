"""Panels of curves with a logarithmic axis, as SVG, from points as results.json holds them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any, Generic, Protocol, TypeVar

__all__ = ["Curve", "Panel", "chart", "layout", "line", "text"]

COLOURS = ("#d9822b", "#a0a0a0", "#7b3294", "#1b6ca8", "#2a9d5c")
WIDTH, HEIGHT, LEFT, TOP, GAP = 250, 190, 62, 46, 40
LEGEND = 16
"""Height of a line of the legend, below the axis."""

SHORT = 12
"""Letters up to which three names fit beside each other."""

Looks = tuple[dict[str, str], dict[str, str]]
"""Colours of curves, and what measures are called."""


class Point(Protocol):
    """A mark of a panel."""

    @property
    def name(self) -> str:
        """Key of the point."""


P = TypeVar("P", bound=Point)


@dataclass(frozen=True)
class Curve(Generic[P]):
    """A named row of points."""

    name: str
    points: tuple[tuple[str, P], ...]


@dataclass(frozen=True)
class Panel(Generic[P]):
    """One plot: what its axis shows, and which number of a point it draws."""

    figure: str
    title: str
    axis: str
    measure: str
    curves: tuple[Curve[P], ...]


def layout(panel: Panel[Any]) -> dict[str, Any]:
    """Return a panel as results.json holds it: curves as positions with the names of their points."""
    curves = [
        {"name": curve.name, "points": [[position, point.name] for position, point in curve.points]}
        for curve in panel.curves
    ]
    return {name: getattr(panel, name) for name in ("figure", "title", "axis", "measure")} | {"curves": curves}


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = "black") -> str:
    """Return a line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1.0) -> str:
    """Return a straight line."""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


class Plot:
    """One panel: positions side by side, errors on a logarithmic axis."""

    def __init__(self, panel: dict[str, Any], points: dict[str, Any], left: float, looks: Looks) -> None:
        self.panel, self.points, self.left = panel, points, left
        self.colours, self.measures = looks
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
        shown = self.measures[self.panel["measure"]]
        yield text(self.left, TOP - 8, f"{shown} by {self.panel['axis']}")
        for power in range(self.low, self.high + 1):
            y = self.up(10.0**power)
            yield line(self.left, y, self.left + WIDTH, y, "#dddddd")
            yield text(self.left - 6, y + 4, f"{10.0**power:g}", "end")
        for at in self.positions:
            yield text(self.across(at), foot + 16, at, "middle")
        for place, curve in enumerate(self.panel["curves"]):
            yield from self.curve(curve, self.colours.get(curve["name"], COLOURS[place % len(COLOURS)]), place)

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
        row, column = divmod(place, columns_of(self.panel))
        x = self.left + (WIDTH + 5) / columns_of(self.panel) * column
        yield text(x, TOP + HEIGHT + 34 + LEGEND * row, curve["name"], colour=colour)


def columns_of(panel: dict[str, Any]) -> int:
    """Return the number of columns of a panel's legend."""
    return 3 if max(len(curve["name"]) for curve in panel["curves"]) <= SHORT else 2


def chart(
    panels: list[dict[str, Any]], points: dict[str, Any], colours: dict[str, str], measures: dict[str, str]
) -> str:
    """Return the panels of a figure side by side, given the colours of curves and the names of measures."""
    step = LEFT + WIDTH + GAP
    plots = [Plot(panel, points, LEFT + step * place, (colours, measures)) for place, panel in enumerate(panels)]
    rows = max(2, *(-(-len(panel["curves"]) // columns_of(panel)) for panel in panels))
    size = f'width="{step * len(plots)}" height="{TOP + HEIGHT + 34 + rows * LEGEND}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
    body = [part for plot in plots for part in plot.draw()]
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *body, "</svg>\n"])
