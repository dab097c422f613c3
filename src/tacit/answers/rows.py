"""The rows of an answer: in order, at the level their number asks for, and chosen by their estimates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from tacit.estimate.answer import Options
from tacit.estimate.estimate import Estimate
from tacit.sql.bind import Bound

__all__ = ["Pending", "Row", "finished"]

Row = tuple[tuple[Any, ...], list[Any]]
"""The values and classes of a row's group, and its cells."""


class Pending(ABC):
    """An estimate whose level is not known yet: it may depend on how many there are."""

    @abstractmethod
    def at(self, level: float) -> Estimate:
        """Return the estimate."""


def finished(bound: Bound, rows: list[Row], options: Options) -> list[list[Any]]:
    """Return the rows that are shown."""
    rows.sort(key=lambda row: tuple((value is None, str(type(value)), value) for value in row[0]))
    level, width = options.confidence, len(bound.names)
    if options.simultaneous:
        count = sum(isinstance(cell, Pending) for _, row in rows for cell in row[:width])
        level = 1 - (1 - options.confidence) / max(1, count)
    cells = [[cell.at(level) if isinstance(cell, Pending) else cell for cell in row] for _, row in rows]
    chosen = bound.selection.apply(cells) if bound.selection.selects else cells
    return [row[:width] for row in chosen]
