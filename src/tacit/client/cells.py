"""Compute a view's cell from a person's values, with the same work for all values, and with or without a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tacit.client.record import BIAS
from tacit.client.steps import LIFT
from tacit.client.views import run_of

__all__ = ["LevelCells", "ParityCells", "cell_reader"]

Data = dict[str, Any]


class LevelCells:
    """Cells of a view that has a level for each of its attributes."""

    def __init__(self, levels: Sequence[tuple[int, Data, int]], sizes: Sequence[int], extras: int) -> None:
        self._steps: list[tuple[int, Callable[[int], int], int, int]] = []
        for (place, attribute, level), size in zip(levels, sizes, strict=True):
            cells = size - (0 if self._steps else extras)
            self._steps.append((place, _cell_of(attribute, level), BIAS + attribute["count"], LIFT + cells - 1))
        zeros = [LIFT] * (len(sizes) - 1)
        self._extras = [[LIFT + sizes[0] - extras + extra, *zeros] for extra in range(2)]

    def read(self, values: Sequence[int], *, is_row: bool, extra: int) -> list[int]:
        """Return a row's cells plus LIFT, or those of an extra cell."""
        cells = []
        for place, cell_of, null, null_cell in self._steps:
            value = values[place]
            cells.append((cell_of(value), null_cell)[value == null])
        return (self._extras[extra], cells)[is_row]


def _cell_of(attribute: Data, level: int) -> Callable[[int], int]:
    """Return the function from a value index plus BIAS to its cell plus LIFT: the same work for every value."""
    listed = attribute.get("starts", ())
    if 0 < level <= len(listed):
        starts = [BIAS + start for start in listed[level - 1]]
        return lambda value: LIFT - 1 + sum([value >= start for start in starts])
    width, offset = run_of(attribute, level) if level else (BIAS, 0)  # the root is one cell
    shift = LIFT * width - BIAS + offset
    return lambda value: (value + shift) // width


class ParityCells:
    """The cell of a view with a mask for each attribute: the parity of the masked bits."""

    def __init__(self, masks: Sequence[tuple[int, int]]) -> None:
        self._masks = masks

    def read(self, values: Sequence[int], *, is_row: bool, extra: int) -> list[int]:
        """Return a row's parity plus LIFT; in a service with parities, everybody has a row."""
        del is_row, extra
        return [LIFT + sum((values[place] & mask).bit_count() for place, mask in self._masks) % 2]


def cell_reader(
    view: Any, active: Sequence[int], sizes: Sequence[int], attributes: Sequence[Data], extras: int, *, parities: bool
) -> LevelCells | ParityCells:
    """Return the reader of a view's cells; the view has a level, or a mask, for each active attribute."""
    if parities:
        return ParityCells([(place, view[place]) for place in active])
    return LevelCells([(place, attributes[place], view[place]) for place in active], sizes, extras)
