"""Show estimates that are not numbers: dates and values of a list, with their possible values beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tacit.estimate.estimate import Choice, Estimate
from tacit.sql.bind import Bound
from tacit.sql.modes import Mode
from tacit.sql.quantiles import Quantile

__all__ = ["label_rows", "names_of"]

MOST_NAMED = 12
"""Maximum values listed in a cell."""


def names_of(bound: Bound) -> list[tuple[str, ...]]:
    """Return the columns that show each output column: a date ``m`` also has ``m_low`` and ``m_high``."""
    names = []
    for place, name in enumerate(bound.names):
        kind = bound.labels.get(place)
        names.append((name, f"{name}_could_be") if isinstance(kind, Mode) else _three(name) if kind else (name,))
    return names


def _three(name: str) -> tuple[str, ...]:
    return name, f"{name}_low", f"{name}_high"


def label_rows(bound: Bound, rows: Sequence[Sequence[Any]]) -> tuple[list[str], list[list[Any]], list[str]]:
    """Return names, rows, and which columns are estimates, with labels instead of their numbers."""
    names = [name for listed in names_of(bound) for name in listed]
    shown = [[cell for place, value in enumerate(row) for cell in _cells(bound, place, value)] for row in rows]
    numbers = [name for place, name in enumerate(bound.names) if not bound.is_key(place) and place not in bound.labels]
    return names, shown, numbers


def _cells(bound: Bound, place: int, cell: Any) -> list[Any]:
    kind = bound.labels.get(place)
    if kind is None or not isinstance(cell, Estimate):
        return [cell]
    if isinstance(kind, Quantile):
        label = kind.outcomes.label
        return [
            None if label is None or math.isnan(number) else label(number)
            for number in (cell.value, cell.low, cell.high)
        ]
    possible = cell.possible if isinstance(cell, Choice) else ()
    listed = [str(kind.labels[place]) for place in possible[:MOST_NAMED]]
    more = [f"and {len(possible) - MOST_NAMED} more"] if len(possible) > MOST_NAMED else []
    return [None if math.isnan(cell.value) else kind.labels[int(cell.value)], ", ".join([*listed, *more])]
