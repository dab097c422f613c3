"""What a report of a view says about the counts of its cells."""

from __future__ import annotations

__all__ = ["information"]


def information(cells: float, grown: float) -> float:
    """Return u of a view: the information of the best subset selection over its cells about a contrast."""
    size = max(1, round(cells / (grown + 1)))
    best = max(
        cells * (h * grown**2 + cells - h) / (h * grown + cells - h) ** 2
        for h in {size, size + 1, max(1, size - 1)}
        if h < cells
    )
    return cells * (best - 1) / (cells - 1)
