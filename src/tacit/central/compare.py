"""A chart of a release beside the raw data, for the curator only."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import numpy as np

from tacit.central.records import Records
from tacit.central.release import Release
from tacit.contract.schema import Service
from tacit.errors import UnknownNameError, UsageError
from tacit.estimate.functional import Vector
from tacit.sql.vectors import shown_value
from tacit.tables.statements import compose

__all__ = ["check_column", "compare"]

WIDTH, HEIGHT, LEFT, TOP = 640, 300, 70, 50
RAW, RELEASED, INK = "#d9822b", "#0b6e99", "#1f2933"
WARNING = "shows raw data: for the curator only, never to be published"


def check_column(service: Service, column: str) -> int:
    """Return the place of a sensitive attribute, or refuse the name."""
    names = [attribute.name for attribute in service.sensitive]
    if column not in names:
        raise UnknownNameError("column", str(column), names, code="unknown-column")
    return names.index(column)


def compare(release: Release, table: Any, column: str, *, path: str | Path | None = None) -> str:
    """Chart the raw and the released counts of a column as SVG; the chart says that it must not be published.

    Parameters
    ----------
    release : Release
        What was released.
    table : table or path
        The raw table.
    column : str
        The attribute to draw.
    path : path, optional
        Also write the picture to a new file.
    """
    place = check_column(release.service, column)
    records = Records.read(table, release.service)
    attribute = release.service.sensitive[place]
    raw = np.bincount(records.values[place], minlength=attribute.size).astype(np.float64)
    counts = "SELECT {column}, COUNT(*) AS n FROM {table} GROUP BY {column}"
    answer = release.sql(compose(counts, column=column, table=release.service.name))
    cells = [cell for _, cell in answer]
    drawn = _picture(
        f"{column}: {release.method}, epsilon {float(release.epsilon):g}",
        [str(shown_value(attribute, index)) for index in range(attribute.size)],
        raw,
        np.array([[cell.low, cell.value, cell.high] for cell in cells]),
    )
    if path is not None:
        try:
            with Path(path).open("x", encoding="utf-8") as file:
                file.write(drawn)
        except OSError as cause:
            message = f"{Path(path).name} cannot be written ({type(cause).__name__}). Choose a new file."
            raise UsageError(message, code="unwritable-file") from None
    return drawn


def _picture(title: str, labels: list[str], raw: Vector, released: Vector) -> str:
    low, high = min(0.0, float(released.min())), max(1.0, float(raw.max()), float(released.max()))
    step = (WIDTH - LEFT - 20) / len(labels)

    def y(value: float) -> float:
        return TOP + HEIGHT * (1 - (value - low) / (high - low))

    foot = y(0.0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{TOP + HEIGHT + 40}" role="img" '
        f'aria-label="{html.escape(title)}" font-family="sans-serif" font-size="12">',
        f'<text x="{LEFT}" y="16" font-weight="bold" fill="{INK}">{html.escape(title)}</text>',
        f'<text x="{LEFT}" y="34" fill="#b00020">{WARNING}; <tspan fill="{RAW}">■ raw</tspan> '
        f'<tspan fill="{RELEASED}">● released with 95 % interval</tspan></text>',
        f'<line x1="{LEFT}" y1="{foot:.1f}" x2="{WIDTH - 20}" y2="{foot:.1f}" stroke="{INK}"/>',
    ]
    parts += [
        f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end" fill="{INK}">{value:,.0f}</text>'
        for value in (0.0, high)
    ]
    for place, (label, count, (lower, value, upper)) in enumerate(zip(labels, raw, released, strict=True)):
        x = LEFT + step * place
        middle, radius = x + step / 2, min(3.0, max(1.0, step / 3))
        parts.append(
            f'<g><title>{html.escape(label)}</title><rect x="{x:.1f}" y="{y(count):.1f}" width="{0.9 * step:.2f}" '
            f'height="{max(0.0, foot - y(count)):.1f}" fill="{RAW}" opacity="0.6"/><line x1="{middle:.1f}" '
            f'y1="{y(lower):.1f}" x2="{middle:.1f}" y2="{y(upper):.1f}" stroke="{RELEASED}"/>'
            f'<circle cx="{middle:.1f}" cy="{y(value):.1f}" r="{radius:.1f}" fill="{RELEASED}"/></g>'
        )
    ends = [(0, "start"), (len(labels) - 1, "end")]
    parts += [
        f'<text x="{LEFT + step * (place + 0.5):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="{anchor}" fill="{INK}">'
        f"{html.escape(labels[place])}</text>"
        for place, anchor in ends
    ]
    return "".join([*parts, "</svg>"])
