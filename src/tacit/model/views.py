"""Noisy tables from counts of codes: unbiased frequencies of each view, with their variance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.contract.contract import CompiledView, ServiceContract
from tacit.contract.oracles import Oracle
from tacit.errors import UnanswerableError
from tacit.model.basis import Array
from tacit.model.coefficients import Shape, Shown

__all__ = ["Counts", "ViewTable", "decode_frequencies", "shape_of", "view_tables"]

Counts = Mapping[int, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]
"""For each channel, the codes that occur, in order, and their counts."""

MOST_VIEW_CELLS = 2**22
"""Views with more cells are not decoded: each cell would be noise alone."""


@dataclass(frozen=True, eq=False)
class ViewTable:
    """One view's frequencies, and how many people reported it."""

    shown: Shown
    table: Array
    reports: int


def view_tables(service: ServiceContract, counts: Counts) -> list[ViewTable]:
    """Return the table of every view that somebody reported; views without information are left out."""
    if service.extras or service.derived or service.channels[0].parities:
        message = (
            f"{service.service.name}: tables need a service with exactly one row per person, and a mechanism that does "
            f"not round values (this one is {service.layout}). Ask with SQL."
        )
        raise UnanswerableError(message, code="no-tables")
    tables = []
    for number, channel in enumerate(service.channels):
        codes, times = counts.get(number, (np.zeros(0, np.int64), np.zeros(0, np.int64)))
        bounds = np.searchsorted(codes, [*(view.offset for view in channel.views), channel.alphabet])
        for view, start, stop in zip(channel.views, bounds, bounds[1:], strict=False):
            if stop > start and any(view.levels) and view.oracle.domain <= MOST_VIEW_CELLS:
                mine = decode_frequencies(view.oracle, codes[start:stop] - view.offset, times[start:stop])
                tables.append(ViewTable(_consistency_view(view), mine, int(times[start:stop].sum())))
    return tables


def _consistency_view(view: CompiledView) -> Shown:
    """Return a view for consistency; the variance of a cell has the oracle's part and that of sampling people."""
    noise = float(view.oracle.noise) + 1 / view.oracle.domain
    return Shown(view.active, tuple(view.levels[i] for i in view.active), noise)


def decode_frequencies(oracle: Oracle, codes: npt.NDArray[np.int64], times: npt.NDArray[np.int64]) -> Array:
    """Return the unbiased frequencies of a view's cells, from codes and their counts."""
    keep, lie = float(oracle.keep), float(oracle.lie)
    frequencies: Array = (oracle.tally(codes, times.astype(np.float64)) / times.sum() - lie) / (keep - lie)
    return frequencies.reshape(oracle.sizes)


def shape_of(service: ServiceContract, views: Sequence[ViewTable]) -> Shape:
    """Return the shape of all these views: attributes, views and the positions of means."""
    return Shape(service.levels, tuple(view.shown for view in views))
