"""A table as HTML, for notebooks: no script, no style sheet, readable in light and dark."""

from __future__ import annotations

import html
from collections.abc import Sequence

__all__ = ["table_html"]

FAINT = ' style="opacity:0.55;font-style:italic"'


def table_html(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Sequence[bool] = (),
    faint: Sequence[bool] = (),
    caption: str = "",
) -> str:
    """Return a table; columns of numbers are right-aligned, and unreliable rows are faint."""
    aligned = [' style="text-align:right"' if number else ' style="text-align:left"' for number in numbers]
    aligned += [' style="text-align:left"'] * (len(head) - len(aligned))
    top = "".join(f"<th{style}>{html.escape(name)}</th>" for name, style in zip(head, aligned, strict=True))
    lines = []
    for place, row in enumerate(rows):
        cells = "".join(f"<td{style}>{html.escape(cell)}</td>" for cell, style in zip(row, aligned, strict=True))
        lines.append(f"<tr{FAINT if place < len(faint) and faint[place] else ''}>{cells}</tr>")
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
