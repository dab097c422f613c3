"""Synthetic rows from tables: one attribute after another, each given the most informative earlier ones.

The attributes are ordered by the mutual information of two-way tables. Each is drawn given at most three earlier ones,
from their joint table; its dependence on other attributes follows through these.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tacit.estimate.functional import Vector

__all__ = ["draw_rows", "mutual_information"]

PARENTS = 3
"""Maximum earlier attributes that one is drawn from."""

MOST_SYNTHESIS_CELLS = 2**18
"""Maximum cells of a table that one is drawn from."""

TableOf = Callable[[Sequence[int]], Vector]
"""A function from attributes, in increasing order, to their frequencies."""

Ints = npt.NDArray[np.int64]


def mutual_information(table: Vector) -> float:
    """Return the mutual information of two attributes, in nats."""
    apart = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    held = table > 0
    return float((table[held] * np.log(table[held] / apart[held])).sum())


def draw_rows(sizes: Sequence[int], table_of: TableOf, rows: int, rng: np.random.Generator) -> list[Ints]:
    """Return value indices, one array for each attribute."""
    count = len(sizes)
    information = np.zeros((count, count))
    for i, j in itertools.combinations(range(count), 2):
        if sizes[i] * sizes[j] <= MOST_SYNTHESIS_CELLS:
            information[i, j] = information[j, i] = mutual_information(table_of((i, j)))
    drawn: dict[int, Ints] = {}
    while len(drawn) < count:
        left = [i for i in range(count) if i not in drawn]
        own = max(left, key=lambda i: (information[i, list(drawn)].max() if drawn else information[i].sum(), -i))
        parents = _parents(own, list(drawn), information, sizes)
        drawn[own] = _draw(own, parents, drawn, sizes, table_of, rows, rng)
    return [drawn[i] for i in range(count)]


def _parents(own: int, earlier: list[int], information: Vector, sizes: Sequence[int]) -> list[int]:
    """Return the most informative earlier attributes, as far as their joint table is small enough."""
    chosen: list[int] = []
    for i in sorted(earlier, key=lambda i: -information[own, i])[:PARENTS]:
        if math.prod(sizes[k] for k in (own, i, *chosen)) <= MOST_SYNTHESIS_CELLS and information[own, i] > 0:
            chosen.append(i)
    return chosen


def _draw(
    own: int,
    parents: list[int],
    drawn: dict[int, Ints],
    sizes: Sequence[int],
    table_of: TableOf,
    rows: int,
    rng: np.random.Generator,
) -> Ints:
    attributes = sorted([own, *parents])
    table = np.moveaxis(table_of(attributes), attributes.index(own), -1)
    others = [i for i in attributes if i != own]
    flat = np.maximum(table.reshape(-1, sizes[own]), 0.0)
    flat = np.where(flat.sum(axis=1, keepdims=True) > 0, flat, flat.sum(axis=0))  # never seen
    steps = np.cumsum(flat, axis=1)
    steps /= steps[:, -1:]
    place = np.zeros(rows, dtype=np.int64)
    for i in others:
        place = place * sizes[i] + drawn[i]
    flat_steps = (steps + np.arange(len(steps))[:, None]).ravel()  # rows concatenated: one search serves all
    positions = np.searchsorted(flat_steps, place + rng.random(rows), side="right")
    indices: Ints = np.minimum(positions - place * sizes[own], sizes[own] - 1)
    return indices
