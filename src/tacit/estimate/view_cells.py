"""How the records of a population fall into the cells of one view, and what its oracle adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.contract.contract import ServiceContract
from tacit.contract.oracles.base import Oracle
from tacit.estimate.functional import Vector

__all__ = ["ViewCells", "cells_of_view"]


@dataclass(frozen=True, eq=False)
class ViewCells:
    """One view of a population."""

    active: tuple[int, ...]
    """The attributes that it shows."""
    oracle: Oracle
    tables: list[Any]
    """The cell of each value, for each attribute that the view shows."""
    ones: list[Vector]
    places: list[list[int]]
    """Of each extra cell."""
    mixture: list[tuple[float, list[Vector]]]
    """Frequencies of records and of each extra cell, each with the frequencies of cells of every attribute."""
    share: float
    """The probability of the view."""
    noise: float
    excess: float
    """By how much the true cell's mean square differs from another's: 1 + v_true - v."""


def cells_of_view(
    service: ServiceContract, channel: int, index: int, presence: Vector, frequencies: Sequence[Vector]
) -> ViewCells:
    """Return what a view of a channel shows, given frequencies of a record, of extra cells, and of reported values."""
    view = service.channels[channel].views[index]
    oracle, extras = view.oracle, service.extras
    tables = [service.levels[i][view.levels[i]].table() for i in view.active]
    cells: list[Vector] = [
        np.bincount(table, frequencies[i], minlength=size).astype(np.float64)
        for table, i, size in zip(tables, view.active, oracle.sizes, strict=True)
    ]
    places = [[oracle.sizes[0] - extras + extra, *(0 for _ in oracle.sizes[1:])] for extra in range(extras)]
    mixture = [(float(presence[0]), cells)]
    for extra, place in enumerate(places):
        marks = [(np.arange(s) == cell).astype(np.float64) for s, cell in zip(oracle.sizes, place, strict=True)]
        mixture.append((float(presence[1 + extra]), marks))
    return ViewCells(
        view.active,
        oracle,
        tables,
        [np.ones(size) for size in oracle.sizes],
        places,
        mixture,
        service.channels[channel].probability(index),
        float(oracle.noise),
        float(1 + oracle.true_variance - oracle.false_variance) if oracle.domain > 1 else 1.0,
    )
