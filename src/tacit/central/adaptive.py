"""Ours for few people and many cells: a coarse grid, and in each box a grid as fine as its number of people allows.

Steps       1. The number of people, with a fiftieth of the budget. 2. Noisy counts of a grid of about n epsilon/160
            boxes, at least 100. 3. Each box is split into about (its noisy count) epsilon_3/5 even parts, counted with
            noise. Steps 2 and 3 share the rest evenly; boxes and parts are then fitted to each other (blue on two
            levels, `tacit.central.boxes`).
Guarantee   epsilon: parts of a step hold different people, steps add up; the splits depend on noisy counts only.
Error       Noise, and unevenness inside parts that a question splits; both shrink as n epsilon grows.
Reference   The numbers 160 and 5 are those of the adaptive grid of Qardaji, Yang and Li 2013, made for any number of
            attributes of any size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.central.body import Body
from tacit.central.boxes import Boxes, Parents
from tacit.central.charges import Charge
from tacit.central.noise import Ints, Laplace, NoiseSource
from tacit.central.records import Records
from tacit.central.sparse import unravel
from tacit.contract.schema import Service
from tacit.errors import LayoutError

__all__ = ["TOTAL_SHARE", "Adaptive", "even_parts", "noisy_total"]

TOTAL_SHARE = Fraction(1, 50)
"""Part of the budget for the number of people."""

COARSE, FEWEST, FINE = 160.0, 100, 5.0
"""People times epsilon per coarse box and per part, and the fewest coarse boxes."""

SURE = 4.0
"""Standard errors above 0 from which a box's people show how they are spread."""

MOST = 2**20
"""Maximum boxes of a grid, whatever the noise."""


def noisy_total(records: Records, epsilon: Fraction, source: NoiseSource) -> int:
    """Return the noisy number of rows, for `TOTAL_SHARE` of a budget."""
    [count] = source.noisy(np.array([len(records)], dtype=np.int64), Laplace(epsilon * TOTAL_SHARE))
    return max(1, int(count))


def even_parts(sizes: Ints, wanted: np.typing.NDArray[np.float64]) -> Ints:
    """Return the number of parts of each attribute that gives about the wanted number of boxes.

    Rows of ``sizes`` are boxes to split. All attributes get the same number of parts, m, but at most their number of
    values: m is the largest with ``prod_i min(size_i, m)`` at most the wanted number, rounded up; rounded down if
    rounding up would give more than `MOST` boxes, which takes many attributes.
    """
    low, high = np.ones(len(sizes)), np.maximum(1.0, sizes.max(axis=1).astype(np.float64))
    for _ in range(40):
        middle = (low + high) / 2
        fits = np.prod(np.minimum(sizes, middle[:, None]), axis=1) <= wanted
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    up, down = (np.minimum(sizes, limit[:, None]) for limit in (np.ceil(low - 1e-9), np.floor(low + 1e-9)))
    many = np.prod(up.astype(np.float64), axis=1) > MOST
    return np.asarray(np.where(many[:, None], down, up).astype(np.int64))


@dataclass(frozen=True)
class Adaptive:
    """The method."""

    def charges(self, service: Service, epsilon: Fraction) -> list[Charge]:
        """Return what it spends; refuse services whose attributes cannot all be split in two."""
        columns = sum(attribute.size > 1 for attribute in service.sensitive)
        if 2**columns > MOST:
            message = (
                f"{service.name}: {columns} columns; adaptive splits each of them, and takes at most "
                f"{int(math.log2(MOST))}. Leave some out, or make several releases of a part of epsilon each."
            )
            raise LayoutError(message, code="domain-too-large")
        half = (1 - TOTAL_SHARE) * epsilon / 2
        return [
            Charge(epsilon * TOTAL_SHARE, "release: number of people"),
            Charge(half, "release: coarse boxes"),
            Charge(half, "release: their parts"),
        ]

    def run(self, records: Records, epsilon: Fraction, source: NoiseSource) -> Body:
        """Return the noisy parts."""
        return self.with_total(records, epsilon, source, noisy_total(records, epsilon, source))

    def with_total(self, records: Records, epsilon: Fraction, source: NoiseSource, people: int) -> Body:
        """Return the noisy parts, given the noisy number of people."""
        law = Laplace((1 - TOTAL_SHARE) * epsilon / 2)
        cells, counts = records.occupied
        places = unravel(cells, records.sizes)
        wanted = min(MOST, max(FEWEST, people * float(epsilon) / COARSE))
        coarse = _Cuts.of(np.array([records.sizes], dtype=np.int64), np.array([wanted]))
        box = coarse.number(np.zeros(len(places), dtype=np.int64), places)
        coarse_counts = source.noisy(np.bincount(box, counts, minlength=coarse.boxes).astype(np.int64), law)
        low, high = coarse.bounds()
        fine = _Cuts.of(high - low + 1, np.clip(coarse_counts * float(law.epsilon) / FINE, 1, MOST))
        part = fine.number(box, places - low[box])
        noisy = source.noisy(np.bincount(part, counts, minlength=fine.boxes).astype(np.int64), law)
        inner_low, inner_high = fine.bounds()
        parents = Parents(fine.owner, coarse_counts, law)
        base = low[fine.owner]
        body = Boxes(records.sizes, base + inner_low, base + inner_high, noisy, law, parents=parents)
        body.unevenness = _unevenness(body, parents)
        return body


@dataclass(frozen=True, eq=False)
class _Cuts:
    """Boxes of given sizes, each split evenly along every attribute: value v of w is in part v * k // w of k."""

    sizes: Ints
    parts: Ints
    starts: Ints

    @classmethod
    def of(cls, sizes: Ints, wanted: np.typing.NDArray[np.float64]) -> _Cuts:
        parts = even_parts(sizes, wanted)
        return cls(sizes, parts, np.concatenate([[0], np.cumsum(np.prod(parts, axis=1))]))

    @property
    def boxes(self) -> int:
        """Number of all parts."""
        return int(self.starts[-1])

    @property
    def owner(self) -> Ints:
        """Box of each part."""
        return np.repeat(np.arange(len(self.sizes)), np.diff(self.starts))

    def number(self, box: Ints, places: Ints) -> Ints:
        """Return the part of each cell, given its box and its position inside."""
        number = np.zeros(len(box), dtype=np.int64)
        for i in range(self.sizes.shape[1]):
            k = self.parts[box, i]
            number = number * k + places[:, i] * k // self.sizes[box, i]
        return self.starts[box] + number

    def bounds(self) -> tuple[Ints, Ints]:
        """Return the first and last position of each part inside its box."""
        owner = self.owner
        number = np.arange(self.boxes) - self.starts[owner]
        low, high = (np.empty((self.boxes, self.sizes.shape[1]), dtype=np.int64) for _ in range(2))
        for i in range(self.sizes.shape[1] - 1, -1, -1):
            k, w = self.parts[owner, i], self.sizes[owner, i]
            number, place = np.divmod(number, k)
            low[:, i], high[:, i] = -(-place * w // k), -(-(place + 1) * w // k) - 1
        return low, high


def _unevenness(body: Boxes, parents: Parents) -> float:
    """Return how unevenly the parts share their boxes' people, beyond noise; assumed to be the same inside parts.

    Boxes with few people are more uneven, boxes with many matter more: the larger of both means is used.
    """
    counts, cells = body.counts, body.cells
    total, error = parents.sum_by_parent(counts), np.sqrt(parents.variance(body.law.variance))
    known = (parents.children > 1) & (total > SURE * error)
    if not known.any():
        return 1.0
    share = cells / parents.sum_by_parent(cells)[parents.of]
    off = parents.sum_by_parent((counts - share * total[parents.of]) ** 2) - (parents.children - 1) * body.law.variance
    ratios = (off / (total**2 * parents.sum_by_parent(share * (1 - share)) + ~known))[known]
    return float(min(1.0, max(0.0, ratios.mean(), np.average(ratios, weights=total[known]))))
