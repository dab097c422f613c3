"""Calendars: days in months, quarters and years, hours in days, and a coarse copy that cuts where they do."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.client.labels import unit_of
from tacit.contract.layouts.base import Calendar
from tacit.contract.schema import Categorical, Ordinal

__all__ = ["calendar_gram", "calendar_of", "coarse_calendar", "coarse_cells", "copy_size"]

COARSE = 128
"""Values of an attribute on which designs of many are computed, and cells that a calendar's partition may have."""

_EPOCH = datetime.date(1970, 1, 1)


def calendar_of(attribute: Ordinal | Categorical) -> Calendar:
    """Return the partitions of an attribute by the calendar, coarsest first, if it holds days, months or hours.

    Examples
    --------
    >>> calendar_of(Ordinal("d", datetime.date(2026, 1, 30), datetime.date(2026, 4, 2)))
    ((0, 61), (0, 2, 30, 61))
    """
    if isinstance(attribute, Ordinal):
        if not attribute.is_date or attribute.values < attribute.ticks or attribute.unit != 1:
            return ()
        first = _EPOCH + datetime.timedelta(days=int(attribute.start))
        days = [first + datetime.timedelta(days=i) for i in range(attribute.values)] if attribute.values < 2**16 else []
        return _partitions(days, [lambda day: day.year, _quarter, lambda day: (day.year, day.month)])
    unit = unit_of(attribute.values) if attribute.ordered and attribute.dictionary is None else None
    if unit == "month":
        months = [(int(value[:4]), (int(value[5:]) - 1) // 3) for value in attribute.values]
        return _partitions(months, [lambda month: month[0], lambda month: month])
    if unit == "hour":
        return _partitions(list(attribute.values), [lambda hour: hour[:7], lambda hour: hour[:10]])
    return ()


def _quarter(day: datetime.date) -> tuple[int, int]:
    return day.year, (day.month - 1) // 3


def _partitions(values: list[Any], keys: Iterable[Callable[[Any], Hashable]]) -> Calendar:
    """Return where each key changes, without partitions that tell nothing, repeat another or have too many cells."""
    partitions: list[tuple[int, ...]] = []
    for key in keys:
        names = [key(value) for value in values]
        starts = tuple(i for i, name in enumerate(names) if not i or name != names[i - 1])
        if (
            2 <= len(starts) <= COARSE
            and len(starts) < len(values)
            and (not partitions or len(starts) > len(partitions[-1]))
        ):
            partitions.append(starts)
    return tuple(partitions)


def copy_size(attributes: int) -> int:
    """Return on how many values of an attribute designs are computed, at most, by the number of attributes.

    For one or two there is time for finer copies, which large epsilon needs.
    """
    return 2 * COARSE if attributes <= 2 else COARSE


@lru_cache(maxsize=256)
def coarse_cells(values: int, calendar: Calendar, most: int) -> npt.NDArray[np.int64]:
    """Return the coarse cell of each value: equal parts of the range or, of a calendar, of its narrowest cells.

    Calendars keep to `COARSE`: on finer copies their cells count less against runs.
    """
    place = np.arange(values)
    most = COARSE if calendar else most
    if values <= most:
        return place
    if not calendar:
        return place * most // values
    starts = np.array(calendar[-1])
    cell = np.searchsorted(starts, place, side="right") - 1
    lengths = np.diff(np.append(starts, values))
    parts = max(1, most // len(starts))
    fine = cell * parts + (place - starts[cell]) * parts // lengths[cell]
    return np.unique(fine, return_inverse=True)[1].astype(np.int64)


def coarse_calendar(values: int, calendar: Calendar, most: int) -> Calendar:
    """Return a calendar's partitions of the coarse cells."""
    cells = coarse_cells(values, calendar, most)
    return tuple(tuple(int(cells[start]) for start in starts) for starts in calendar)


@lru_cache(maxsize=256)
def calendar_gram(values: int, null: bool, calendar: Calendar) -> npt.NDArray[np.float64]:  # noqa: FBT001
    """Return the mean of f f' over the cells of a calendar's partitions, each of which counts alike."""
    gram = np.zeros((values + null, values + null))
    for starts in calendar:
        cell = np.searchsorted(starts, np.arange(values), side="right") - 1
        gram[:values, :values] += (cell[:, None] == cell) / len(starts) / len(calendar)
    return gram
