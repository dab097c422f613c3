"""Draw synthetic rows from tables: one attribute after another, each given the most informative earlier ones.

The attributes are ordered by the mutual information of two-way tables. Each is drawn given at most three earlier ones,
from their joint table; its dependence on other attributes follows through these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tacit.estimate.functional import Vector

__all__ = ["Progress", "Sampler", "draw_rows", "mutual_information"]

PARENTS = 3
"""Maximum earlier attributes on which a draw is conditioned."""

MOST_SYNTHESIS_CELLS, MOST_CELLS = 2**18, 2**15
"""Maximum cells of a table of two attributes to draw from, and of a larger table, which needs maximum entropy."""

NOTHING = 1e-6
"""Mutual information, in nats, below which two attributes count as independent."""

TableOf = Callable[[Sequence[int]], Vector]
"""A function from attributes, in increasing order, to their frequencies."""

Progress = Callable[[int, int], None]
"""Called with the number of attributes drawn, and the total."""

Ints = npt.NDArray[np.int64]


def mutual_information(table: Vector) -> float:
    """Return the mutual information of two attributes, in nats."""
    apart = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    held = table > 0
    return float((table[held] * np.log(table[held] / apart[held])).sum())


def draw_rows(sizes: Sequence[int], table_of: TableOf, rows: int, rng: np.random.Generator) -> list[Ints]:
    """Return value indices, one array for each attribute."""
    sampler = Sampler(dict(enumerate(sizes)), table_of, rng)
    drawn = sampler.draw(range(len(sizes)), {}, rows)
    return [drawn[i] for i in range(len(sizes))]


class Sampler:
    """Draws all or some attributes, given others; tables of pairs are computed once."""

    def __init__(
        self,
        sizes: Mapping[int, int],
        table_of: TableOf,
        rng: np.random.Generator,
        progress: Progress | None = None,
        count: int | None = None,
    ) -> None:
        self._sizes, self._table_of, self._rng, self._progress = dict(sizes), table_of, rng, progress
        self._count = len(sizes) if count is None else count
        self._information: dict[tuple[int, int], float] = {}
        self._done = 0

    def draw(self, wanted: Iterable[int], known: Mapping[int, Ints], rows: int) -> dict[int, Ints]:
        """Return given and wanted attributes, the most dependent ones first."""
        drawn, left = dict(known), list(wanted)
        while left:
            attribute = self.next_of(left, list(drawn), left)
            parents = self._parents(attribute, list(drawn))
            drawn[attribute] = _draw(attribute, parents, drawn, self._sizes, self._table_of, rows, self._rng)
            left.remove(attribute)
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._count)
        return drawn

    def limit(self, sizes: Mapping[int, int], table_of: TableOf) -> None:
        """Switch to other tables, whose attributes may have fewer values."""
        self._sizes, self._table_of = self._sizes | dict(sizes), table_of

    def next_of(self, left: Sequence[int], earlier: Sequence[int], others: Sequence[int]) -> int:
        """Return the attribute that depends most on an earlier one; without any, on all others."""

        def rank(i: int) -> tuple[float, int]:
            known = [self.information(i, j) for j in (earlier or others) if j != i]
            return (max(known, default=0.0) if earlier else sum(known), -i)

        return max(left, key=rank)

    def information(self, i: int, j: int) -> float:
        """Return the mutual information of two attributes; 0 where their table would be too large."""
        pair = (min(i, j), max(i, j))
        if pair not in self._information:
            small = self._sizes[i] * self._sizes[j] <= MOST_SYNTHESIS_CELLS
            self._information[pair] = mutual_information(self._table_of(pair)) if small else 0.0
        return self._information[pair]

    def _parents(self, attribute: int, earlier: list[int]) -> list[int]:
        """Return the most informative earlier attributes whose joint table is small enough."""
        chosen: list[int] = []
        for i in sorted(earlier, key=lambda i: -self.information(attribute, i))[:PARENTS]:
            cells = math.prod(self._sizes[k] for k in (attribute, i, *chosen))
            if cells <= (MOST_CELLS if chosen else MOST_SYNTHESIS_CELLS) and self.information(attribute, i) > NOTHING:
                chosen.append(i)
        return chosen


def _draw(
    attribute: int,
    parents: list[int],
    drawn: dict[int, Ints],
    sizes: Mapping[int, int],
    table_of: TableOf,
    rows: int,
    rng: np.random.Generator,
) -> Ints:
    attributes = sorted([attribute, *parents])
    table = np.moveaxis(table_of(attributes), attributes.index(attribute), -1)
    others = [i for i in attributes if i != attribute]
    flat = np.maximum(table.reshape(-1, sizes[attribute]), 0.0)
    flat = np.where(flat.sum(axis=1, keepdims=True) > 0, flat, flat.sum(axis=0))  # this combination has no people
    steps = np.cumsum(flat, axis=1)
    steps /= steps[:, -1:]
    place = np.zeros(rows, dtype=np.int64)
    for i in others:
        place = place * sizes[i] + drawn[i]
    flat_steps = (steps + np.arange(len(steps))[:, None]).ravel()  # rows concatenated: one search serves all
    positions = np.searchsorted(flat_steps, place + rng.random(rows), side="right")
    indices: Ints = np.minimum(positions - place * sizes[attribute], sizes[attribute] - 1)
    return indices
