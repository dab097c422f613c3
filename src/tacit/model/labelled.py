"""Labelled tables: a row for each combination of values, with its estimate; two attributes give a heat map."""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.contract.schema import Categorical, Ordinal
from tacit.estimate.answer import Answer
from tacit.estimate.chart import Picture, write_picture
from tacit.estimate.estimate import Estimate, t_quantile
from tacit.estimate.functional import Vector
from tacit.estimate.truncated import Truncated, open_interval
from tacit.model.marginals import Table
from tacit.sql.vectors import shown_value

__all__ = ["Marginal", "heat_map", "label_table"]

CELL, LEFT, TOP, MOST = 26, 130, 64, 60
"""Sizes of a heat map in pixels, and the maximum values of an attribute in it."""

INK = "#1f2933"


class Marginal(Answer):
    """A marginal table: columns of attributes, then ``count``; `plot` charts two attributes as a heat map."""

    def __init__(self, names: Sequence[str], labels: Sequence[Sequence[Any]], counts: Vector, answer: Answer) -> None:
        super().__init__(answer.columns, answer.rows, notes=answer.notes, estimates=("count",))
        self.names, self.labels, self.counts = tuple(names), [tuple(label) for label in labels], counts

    def plot(self, column: str | None = None, *, path: Any = None) -> Picture:
        """Chart the table as SVG, which notebooks display; ``path`` also writes it to a file."""
        if len(self.names) != 2 or max(map(len, self.labels)) > MOST:
            return super().plot(column, path=path)
        return write_picture(Picture(heat_map(self.names, self.labels, self.counts)), path)


def label_table(
    attributes: Sequence[Ordinal | Categorical], table: Table, people: int, confidence: float, most: float
) -> Marginal:
    """Return the table of counts with the original values as labels; ``most`` bounds the number of people."""
    labels = [[shown_value(attribute, i) for i in range(attribute.size)] for attribute in attributes]
    counts, errors = people * table.frequencies, people * table.errors
    unbiased = counts if table.unbiased is None else people * table.unbiased
    cells = zip(counts.ravel().tolist(), errors.ravel().tolist(), unbiased.ravel().tolist(), strict=True)
    processed = table.unbiased is not None
    rows = [
        (*values, _estimate(*cell, people, confidence, most) if processed else Estimate(*cell[:2], people, confidence))
        for values, cell in zip(itertools.product(*labels), cells, strict=True)
    ]
    names = [attribute.name for attribute in attributes]
    return Marginal(names, labels, counts, Answer([*names, "count"], rows, notes=table.notes))


def _estimate(count: float, error: float, unbiased: float, people: int, confidence: float, most: float) -> Estimate:
    """Return a post-processed count, with the uncertainty of the unbiased one, limited to 0 to the number of people."""
    bounds, quantile = (0.0, most), t_quantile(0.5 + confidence / 2, math.inf)
    low, high = open_interval(unbiased, error, bounds, confidence, quantile)
    around = Truncated.of(unbiased, error, *bounds).error_around(count)
    return Estimate(count, around, people, confidence, interval=(min(low, count), max(high, count)))


def heat_map(names: Sequence[str], labels: Sequence[Sequence[Any]], counts: Vector) -> str:
    """Return an SVG with a shaded cell for each pair of values; darker means more, and a tooltip has the number."""
    down, across = ([str("missing" if label is None else label) for label in values] for values in labels)
    width, height = LEFT + CELL * len(across) + 20, TOP + CELL * len(down) + 20
    top = max(float(np.max(counts)), 1e-12)
    title = html.escape(f"{names[0]} by {names[1]}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{title}, counts" font-family="sans-serif" font-size="12">',
        f'<text x="{LEFT}" y="15" fill="{INK}" font-weight="bold">{title}</text>',
    ]
    for place, label in enumerate(across):
        x = LEFT + CELL * (place + 0.6)
        turn = f'transform="rotate(-35 {x:.1f} {TOP - 6})"'
        parts.append(f'<text x="{x:.1f}" y="{TOP - 6}" fill="{INK}" {turn}>{html.escape(label[:9])}</text>')
    for row, label in enumerate(down):
        y = TOP + CELL * row
        parts.append(
            f'<text x="{LEFT - 8}" y="{y + 17}" fill="{INK}" text-anchor="end">{html.escape(label[:18])}</text>'
        )
        for column, other in enumerate(across):
            count = float(counts[row, column])
            shade = max(0.0, min(1.0, count / top)) ** 0.5  # small counts stay visible
            colour = f"rgb({245 - 234 * shade:.0f},{247 - 137 * shade:.0f},{250 - 97 * shade:.0f})"
            hint = html.escape(f"{label}, {other}: {count:,.0f}")
            parts.append(
                f'<rect x="{LEFT + CELL * column}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" fill="{colour}">'
                f"<title>{hint}</title></rect>"
            )
    return "".join([*parts, "</svg>"])
