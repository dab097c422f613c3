"""The levels of an attribute: from "anything" (level 0) to single values (the last one).

A level is a partition into runs of neighbouring values, described by two integers, **width** and **offset**: the cell
of value index v is ``(v + offset) // width``. Level 0 has a single cell; NULL, where declared, is a separate cell on
every other level. Nested levels have offset 0, and each refines the one before; partitions with offsets overlap. Levels
of a calendar, whose cells have different widths, list the first value of each cell instead. Cells contain real values
only, so the first and the last one may be narrower; there is no padding.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tacit.contract.schema import Categorical, Ordinal

__all__ = ["Level", "Levels"]


@dataclass(frozen=True, slots=True)
class Level:
    """One level: cells of ``width`` consecutive values, plus one for NULL; the first cell lacks ``offset`` values."""

    width: int
    values: int
    null: bool
    offset: int = 0
    starts: tuple[int, ...] = ()
    """First value indices of cells of different widths, as of months; then width and offset do not count."""

    @property
    def cells(self) -> int:
        """Number of cells."""
        if self.starts:
            return len(self.starts) + self.null
        return -(-(self.values + self.offset) // self.width) + self.null

    def cell_of(self, value: int) -> int:
        """Return the cell of one value index."""
        if self.null and value == self.values:
            return self.cells - 1
        return bisect_right(self.starts, value) - 1 if self.starts else (value + self.offset) // self.width

    def table(self) -> npt.NDArray[np.int64]:
        """Return the cell of every value index."""
        return _level_table(self)

    def matrix(self) -> npt.NDArray[np.float64]:
        """Return W: cells x value indices, 1 where the cell holds the value."""
        holds: npt.NDArray[np.bool_] = np.arange(self.cells)[:, None] == self.table()
        return holds.astype(np.float64)


@lru_cache(maxsize=256)
def _level_table(level: Level) -> npt.NDArray[np.int64]:
    values = np.arange(level.values + level.null, dtype=np.int64)
    if level.starts:
        table = np.searchsorted(level.starts, values, side="right") - 1
    else:
        table = (values + level.offset) // level.width
    if level.null:
        table[-1] = level.cells - 1
    table.setflags(write=False)
    return table


@dataclass(frozen=True)
class Levels:
    """All levels of an attribute, widest first. Level 0 is the root; it holds NULL too."""

    size: int
    levels: tuple[Level, ...]

    @classmethod
    def of(cls, attribute: Ordinal | Categorical) -> Levels:
        """Return the levels of an attribute: two for categories without order, else ceil(log_fanout(values)) + 1."""
        if isinstance(attribute, Categorical):
            count = len(attribute.values)
            return cls.build(count, fanout=attribute.fanout or max(2, count), null=attribute.null)
        return cls.build(attribute.values, fanout=attribute.fanout, null=attribute.null)

    @classmethod
    def build(cls, values: int, *, fanout: int, null: bool) -> Levels:
        """Return the levels over ``values`` values, without redundant ones."""
        widths = [1]
        while widths[-1] * fanout < values:
            widths.append(widths[-1] * fanout)
        return cls.of_runs(values, ((width, 0) for width in reversed(widths)), null=null)

    @classmethod
    def of_runs(
        cls, values: int, runs: Iterable[tuple[int, int]], *, null: bool, calendar: Iterable[tuple[int, ...]] = ()
    ) -> Levels:
        """Return the root, the levels of a calendar, and one for each (width, offset) that is not redundant."""
        root = Level(width=values + null, values=values + null, null=False)
        dated = [Level(0, values, null, starts=starts) for starts in calendar]
        below = [Level(width, values, null, offset) for width, offset in runs]
        return cls(values + null, (root, *dated, *(level for level in below if level.cells > 1)))

    @property
    def widths(self) -> list[int]:
        """Widths below the root and the calendar, coarsest first."""
        return [level.width for level in self.levels[1:] if not level.starts]

    @property
    def offsets(self) -> list[int]:
        """Offsets below the root, in the same order."""
        return [level.offset for level in self.levels[1:] if not level.starts]

    @property
    def calendar(self) -> list[list[int]]:
        """First value indices of the cells of calendar levels, which come first below the root."""
        return [list(level.starts) for level in self.levels if level.starts]

    @property
    def finest(self) -> int:
        """Index of the level of single values."""
        return len(self.levels) - 1

    def __len__(self) -> int:
        return len(self.levels)

    def __getitem__(self, index: int) -> Level:
        return self.levels[index]

    def cover(self, low: int, high: int) -> list[tuple[int, int]]:
        """Return the fewest cells, as (level, cell), that tile the values low..high; NULL is in no range."""
        tiles: list[tuple[int, int]] = []

        def descend(depth: int, cell: int) -> None:
            level = self.levels[depth]
            first = cell * level.width
            last = min(first + level.width, level.values) - 1
            if high < first or last < low:
                return
            if low <= first and last <= high and not (depth == 0 and self.has_null):
                tiles.append((depth, cell))
                return
            finer = self.levels[depth + 1]
            stop = -(-min(last + 1, finer.values) // finer.width)
            for child in range(first // finer.width, stop):
                descend(depth + 1, child)

        descend(0, 0)
        return tiles

    @property
    def has_null(self) -> bool:
        """Whether the last value index is NULL."""
        return len(self.levels) > 1 and self.levels[1].null
