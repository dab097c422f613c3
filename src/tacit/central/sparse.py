"""Noisy counts above a threshold, without visiting empty cells.

With noise on every cell and all counts below a threshold t >= 1 dropped, an empty cell appears with probability
p = a**t/(1 + a), and its count is then t plus a geometric number. So the empty cells that appear can be sampled by
drawing the gaps between them, which are geometric too: the output has exactly the distribution of noise on every cell
(Cormode, Procopiuc, Srivastava and Tran 2012).

All draws are OpenDP's. A discrete Laplace variable Z is geometric from 0 on, and so is -Z - 1 below 0. Gaps come from
the scale s' = -1/log(1 - p), lowered by `SLACK` as it is a double: empty cells appear with p' slightly above p. For
one record more in a cell, the chance of every output changes by a factor between a p'/p and 1/a p/p', and that of not
appearing by less, so the loss is at most that of the plain mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.central.noise import Ints, Laplace, NoiseSource
from tacit.central.records import Records

__all__ = ["Background", "Visible", "gap_scale", "people_missed", "unravel", "visible_cells", "window"]

FALSE_CELLS = 25_000
"""Approximate number of empty cells that appear; the threshold is the lowest that respects it."""

SLACK = 2.0**-40
"""Relative margin of the scale of gaps: a thousand times the rounding error of doubles."""


@dataclass(frozen=True, eq=False)
class Visible:
    """Cells with a noisy count at or above the threshold, in order."""

    cells: Ints
    counts: Ints
    threshold: int


@dataclass(frozen=True)
class Background:
    """What a cell that is left out counts, so that empty cells are unbiased together, and its variance.

    Examples
    --------
    >>> round(Background.of(2.0, 1).level, 6), round(-1 / (math.exp(0.5) - 1), 6)  # makes cells of any count unbiased
    (-1.541494, -1.541494)
    """

    level: float
    variance: float

    @classmethod
    def of(cls, scale: float, threshold: int) -> Background:
        """Return the background of a threshold."""
        a = math.exp(-1 / scale)
        chance = math.exp(-threshold / scale) / (1 + a)
        above = 1 / math.expm1(1 / scale)  # mean height above the threshold
        mean = threshold + above
        squares = mean**2 + above * (1 + above)
        level = -chance * mean / (1 - chance)
        return cls(level, chance * squares + (1 - chance) * level**2)


def people_missed(low_counts: int, cells: float, scale: float, threshold: int) -> float:
    """Return an upper estimate of the people in dropped cells, from how many counts lie just above the threshold.

    A cell of c people, at most t, shows a count in the window of `window` numbers from t on with the probability
    ``p a**-c``, where p is that of an empty cell. So the counts in the window, less those of empty cells, estimate p
    times the sum of ``a**-c - 1``, which is at least ``(1/a - 1) c`` in every cell. Two standard deviations are added.

    Examples
    --------
    >>> [round(people_missed(own, 10_000, 1.0, 4)) for own in (46, 100, 200)]
    [943, 2438, 9882]
    """
    a = math.exp(-1 / scale)
    chance = a**threshold * (1 - a ** window(scale)) / (1 + a)
    excess = max(0.0, low_counts - cells * chance) + 2 * math.sqrt(low_counts + 1)
    return excess / chance / (1 / a - 1)


def window(scale: float) -> int:
    """Return how many counts from the threshold on are nearly all of cells below it: about one scale of the noise."""
    return math.ceil(scale)


def visible_cells(records: Records, law: Laplace, source: NoiseSource) -> Visible:
    """Return the cells whose noisy counts reach the threshold."""
    occupied, counts = records.occupied
    empty = math.prod(records.sizes) - len(occupied)
    threshold = lowest_threshold(math.prod(records.sizes), law.scale)
    noisy = source.noisy(counts, law)
    is_released = noisy >= threshold
    ranks = _appearing(empty, gap_scale(law.scale, threshold), source)
    false = ranks + np.searchsorted(occupied - np.arange(len(occupied)), ranks, side="right")
    heights = threshold + _geometric(len(ranks), law.scale, source)
    cells = np.concatenate([occupied[is_released], false])
    order = np.argsort(cells)
    return Visible(cells[order], np.concatenate([noisy[is_released], heights])[order], threshold)


def lowest_threshold(cells: int, scale: float) -> int:
    """Return the lowest threshold that at most about `FALSE_CELLS` empty cells reach; it does not depend on data."""
    allowed = FALSE_CELLS / cells * (1 + math.exp(-1 / scale))
    return max(1, math.ceil(-scale * math.log(min(1.0, allowed))))


def gap_scale(scale: float, threshold: int) -> float:
    """Return the scale of the geometric gaps between empty cells that appear.

    Examples
    --------
    >>> round(gap_scale(1.0, 3), 3)
    26.972
    """
    chance = math.exp(-threshold / scale) / (1 + math.exp(-1 / scale))
    return -1 / math.log1p(-chance) * (1 - SLACK)


def _geometric(count: int, scale: float, source: NoiseSource) -> Ints:
    """Return geometric numbers: both halves of the discrete Laplace distribution are geometric.

    The library's draws end at the ends of 64 bits; ``~z`` is ``-z - 1`` there, too.
    """
    drawn = source.draws(count, scale)
    return np.where(drawn >= 0, drawn, ~drawn)


def _appearing(empty: int, scale: float, source: NoiseSource) -> Ints:
    """Return which empty cells appear, by their rank among all empty ones.

    Ranks are added up as Python's integers, because a few gaps of 2**60 and more do not fit 64 bits together; there are
    about `FALSE_CELLS` of them.
    """
    ranks: list[int] = []
    last = -1
    while True:
        wanted = int((empty - last) / scale * 1.1) + 16
        for gap in _geometric(wanted, scale, source).tolist():
            last += gap + 1
            if last >= empty:
                return np.array(ranks, dtype=np.int64)
            ranks.append(last)


def unravel(cells: Ints, sizes: tuple[int, ...]) -> Ints:
    """Return the value index of each attribute for flat cells: a row for each cell."""
    places = np.empty((len(cells), len(sizes)), dtype=np.int64)
    for i in range(len(sizes) - 1, -1, -1):
        cells, places[:, i] = np.divmod(cells, sizes[i])
    return places
