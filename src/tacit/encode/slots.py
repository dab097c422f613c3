"""Select which of a person's rows are reported: everybody sends the same number, however many rows they have.

A person with k rows has max(k, at_most) places, with the rows in the first k. The device draws ``sends`` places without
replacement; draw u for slot i takes the ``u mod (places - i)``-th of those left. A place with a row is reported as the
row, any other as *skip*, or as *none* if the person has no row at all. So a row is reported with probability
sends/places, and totals are scaled by at_most/sends. The draws that pick places come first, for all people, then those
of the reports.

The baseline with double rounding draws rows with replacement, uses an artificial row if there is none, and rounds the
number of rows to 0 or at_most, separately for each report.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tacit.contract.contract import ServiceContract
from tacit.contract.randomness import Draws, Rng
from tacit.contract.schema import Categorical, Service
from tacit.encode.assigned import Assignment
from tacit.encode.keys import Ints

__all__ = ["NONE", "SKIP", "Slots", "choose_rows"]

NONE, SKIP = 0, 1
"""Extra cells."""

MADE_UP, FULL = 0, 1
"""Marks of double rounding: no row, so use an artificial one; the number of rows rounded to the maximum."""


@dataclass(frozen=True, eq=False)
class Slots:
    """Rows to encode, by person and slot; ``extra`` is -1, or an extra cell or mark."""

    table: pa.Table
    extra: Ints


def choose_rows(
    compiled: ServiceContract,
    table: pa.Table,
    owner: Ints,
    people: int,
    rng: Rng,
    coins: pa.ChunkedArray | None = None,
) -> Slots:
    """Return the rows that each person reports; ``owner`` has each row's person, and ``coins`` assign the places."""
    service = compiled.service
    count = np.bincount(owner, minlength=people).astype(np.int64)
    if compiled.makes_rows_up:
        places, extra = _draw_rows_with_replacement(service, count, rng)
    else:
        if service.at_most is None:
            places = np.zeros((people, 1), dtype=np.int64)
        else:
            draws = rng.draws(people * service.sends).reshape(people, service.sends)
            if coins is not None:
                draws = Assignment.places(coins, service.name, service.sends)
            places = _drawn_places(np.maximum(count, service.at_most), draws)
        extra = np.where(places < count[:, None], -1, np.where(count[:, None] == 0, NONE, SKIP))
    if table.num_rows == 0:
        return Slots(_placeholder(service, people * service.sends), extra.ravel())
    order = np.argsort(owner, kind="stable")
    first = np.concatenate([[0], np.cumsum(count)[:-1]]) if people else np.zeros(0, dtype=np.int64)
    row = np.where(places < count[:, None], first[:, None] + places, 0)
    return Slots(table.take(pa.array(order[row].ravel())), extra.ravel())


def _draw_rows_with_replacement(service: Service, count: Ints, rng: Rng) -> tuple[Ints, Ints]:
    """Return a row for each slot, drawn with replacement, and the marks of double rounding."""
    shape = len(count), service.sends
    which, rounding = (rng.draws(math.prod(shape)).reshape(shape) for _ in range(2))
    places = (which % np.maximum(count, 1)[:, None].astype(np.uint64)).astype(np.int64)
    full = (rounding % np.uint64(service.rows_at_most)).astype(np.int64) < count[:, None]
    return places, np.where(count[:, None] == 0, MADE_UP, np.where(full, FULL, -1))


def _drawn_places(places: Ints, draws: Draws) -> Ints:
    """Return a place for each draw of a person, all distinct and below the person's number of places."""
    people, sends = draws.shape
    chosen = np.zeros((people, sends), dtype=np.int64)
    for slot in range(sends):
        left = (places - slot).astype(np.uint64)
        place = (draws[:, slot] % left).astype(np.int64)
        for taken in np.sort(chosen[:, :slot], axis=1).T:  # skip places already taken
            place += place >= taken
        chosen[:, slot] = place
    return chosen


def _placeholder(service: Service, rows: int) -> pa.Table:
    """Return rows of an arbitrary valid value; their content is ignored."""
    columns = {}
    for attribute in service.sensitive:
        value = attribute.values[0] if isinstance(attribute, Categorical) else attribute.low
        columns[attribute.name] = pa.array([value]).take(pa.array(np.zeros(rows, dtype=np.int64)))
    return pa.table(columns)
