"""Subset selection: report a random set of w cells, which holds the true cell more often than chance.

Code        0 is the set of all cells; 1 + r is the w-subset of colexicographic rank r.
Guarantee   eps-LDP: a set has weight ``inside`` for the cells in it and ``outside`` for the others; ``outside`` is the
            smallest integer for which ``inside <= E outside``. Code 0 has the same weight for every cell.
Sampling    one draw u. With N0 sets without and N1 sets with the true cell: below ``N0 outside`` the set without it of
            index ``u mod N0``; below that plus ``N1 inside`` the set with it of index ``(u - N0 outside) mod N1``; the
            few draws left over (fewer than N1) give code 0. So the sets of each kind are exactly equally likely.
Variance    of a zero-sum contrast: w(D-w)/(D(D-1)(p-q)**2) - 1/D per report and unit length, if no draw is left over.
Cost        O(D) per report.
Range       at most 2**22 sets; w = 1 is grr.
Reference   Ye and Barg 2018; Wang et al. 2016.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from tacit.contract.oracles.base import (
    Cells,
    Codes,
    Extremes,
    Oracle,
    Terms,
    are_integers,
    flat_index,
    flat_values,
    remainder,
)
from tacit.contract.randomness import DRAW_BITS, Draws
from tacit.errors import LayoutError

__all__ = ["MAX_SUBSETS", "Subset"]

MAX_SUBSETS = 2**22
"""Codes of one view: a contribution table of this size still uploads in about a second."""


def _at_most(cells: int, w: int, limit: int) -> bool:
    """Return whether there are at most ``limit`` subsets, without computing huge binomials."""
    count = 1
    for place in range(min(w, cells - w)):
        count = count * (cells - place) // (place + 1)
        if count > limit:
            return False
    return True


@dataclass(frozen=True)
class Subset(Oracle):
    """Subset selection of w out of D cells."""

    w: int
    inside: int
    outside: int

    name: ClassVar[str] = "ss"
    fixed_support: ClassVar[bool] = True

    @classmethod
    def build(cls, sizes: Sequence[int], bound: Fraction, bits: int = DRAW_BITS) -> Self:
        """Return the channel of the least noisy subset size within range."""
        cells = math.prod(sizes)
        ideal = cells / (1 + bound)  # the best size for two-designs; noise is convex around it
        near = range(max(1, int(ideal) - 1), min(cells - 1, int(ideal) + 2) + 1)
        fitting = [w for w in near if _at_most(cells, w, MAX_SUBSETS)]
        if not fitting:
            message = (
                f"ss: {cells} cells have more than {MAX_SUBSETS} subsets of the best size {round(ideal)}. Use lh."
                if cells > 1
                else "ss: a domain of one cell needs no subset. Use grr."
            )
            raise LayoutError(message, code="ss-out-of-range")
        return min((cls.of_size(sizes, w, bound, bits) for w in fitting), key=lambda oracle: oracle.noise)

    @classmethod
    def of_size(cls, sizes: Sequence[int], w: int, bound: Fraction, bits: int = DRAW_BITS) -> Self:
        """Return the channel for subsets of ``w`` cells."""
        cells = math.prod(sizes)
        with_it, without = math.comb(cells - 1, w - 1), math.comb(cells - 1, w)
        outside = int((1 << bits) / (with_it * bound + without))
        while ((1 << bits) - without * outside) // with_it > bound * outside:
            outside += 1
        oracle = cls(tuple(sizes), bits, w, ((1 << bits) - without * outside) // with_it, outside)
        if oracle.inside <= oracle.outside:
            raise oracle.too_coarse()
        return oracle

    @property
    def _with(self) -> int:
        return math.comb(self.domain - 1, self.w - 1)

    @property
    def _without(self) -> int:
        return math.comb(self.domain - 1, self.w)

    @property
    def _left_over(self) -> int:
        return self.span - self._with * self.inside - self._without * self.outside

    @property
    def alphabet(self) -> int:
        """Number of codes."""
        return 1 + math.comb(self.domain, self.w)

    @property
    def denominator(self) -> int:
        """Sum of a cell's weights."""
        return self.span

    @property
    def keep(self) -> Fraction:
        """Probability that the true cell is in the set."""
        return Fraction(self._with * self.inside + self._left_over, self.span)

    @property
    def lie(self) -> Fraction:
        """Probability that a given false cell is in the set."""
        both, only = self._choose(2, 2), self._choose(2, 1)
        return Fraction(both * self.inside + only * self.outside + self._left_over, self.span)

    @property
    def pair_split(self) -> tuple[Fraction, Fraction]:
        """Exactly one of two cells is in the set."""
        either = self._choose(2, 1) * (self.inside + self.outside)
        neither = 2 * (self._choose(3, 2) * self.inside + self._choose(3, 1) * self.outside)
        return Fraction(either, self.span), Fraction(neither, self.span)

    def _choose(self, fixed: int, chosen: int) -> int:
        """Count the sets whose membership of ``fixed`` cells is given, ``chosen`` of them in."""
        if self.domain < fixed or self.w < chosen:
            return 0
        return math.comb(self.domain - fixed, self.w - chosen)

    @cached_property
    def _pascal(self) -> npt.NDArray[np.int64]:
        table = [[math.comb(n, k) for k in range(self.w + 2)] for n in range(self.domain + 1)]
        return np.array(table, dtype=np.int64)

    def flaw(self) -> str:
        """Check the size, the number of sets, and that no weight is negative."""
        if not are_integers(self.w, low=1, high=self.domain - 1) or not _at_most(self.domain, self.w, MAX_SUBSETS):
            return "bad-subset"
        if not are_integers(self.inside, self.outside, high=self.span) or self._left_over < 0:
            return "bad-subset"
        return ""

    def randomise(self, cells: Sequence[Cells], seed: Draws, answer: Draws) -> Codes:  # noqa: ARG002
        """Return the code of each record's set."""
        cell = flat_index(cells, self.sizes)
        lower = self._without * self.outside
        code = np.zeros(len(cell), dtype=np.int64)
        for rows, index, is_inside in (
            (answer < np.uint64(lower), remainder(answer, self._without), False),
            (answer >= np.uint64(lower), remainder(answer - np.uint64(lower), self._with), True),
        ):
            code[rows] = 1 + self._rank(index[rows], cell[rows], with_cell=is_inside)
        return np.where(answer < np.uint64(self.span - self._left_over), code, 0)

    def _rank(self, index: Codes, cell: Cells, *, with_cell: bool) -> Codes:
        """Rank the set made of the ``index``-th subset of the other cells, and the cell itself if it is in."""
        pascal = self._pascal
        size = self.w - with_cell
        rank, below, left = np.zeros(len(index), dtype=np.int64), np.full(len(index), size), index
        for place in range(size, 0, -1):  # members from the largest down, by the combinatorial number system
            ways = np.ascontiguousarray(pascal[: self.domain - 1, place])
            member = np.searchsorted(ways, left, side="right") - 1
            left = left - ways[member]
            above = member >= cell  # the other cells are numbered without the true cell
            below -= above
            rank += pascal[member + above, place + (above if with_cell else 0)]
        return rank + pascal[cell, below + 1] if with_cell else rank

    def members(self, code: int) -> list[int]:
        """Return the cells of a code, one by one; the inverse of the ranking."""
        if code == 0:
            return list(range(self.domain))
        cells, left, size = [], code - 1, self.w
        for place in range(self.domain - 1, -1, -1):
            ways = math.comb(place, size)
            if size and left >= ways:
                cells.append(place)
                left, size = left - ways, size - 1
        return cells[::-1]

    def weight(self, cell: int, code: int) -> int:
        """Return the exact weight of a set."""
        if code == 0:
            return self._left_over
        return self.inside if cell in self.members(code) else self.outside

    def support(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Mark the cells of each set."""
        codes = np.asarray(codes, dtype=np.int64)
        marks = np.zeros((len(codes), self.domain), dtype=np.bool_)
        left, size = codes - 1, np.full(len(codes), self.w)
        for place in range(self.domain - 1, -1, -1):
            ways = self._pascal[place, size]
            chosen = (left >= ways) & (size > 0)
            marks[:, place] = chosen
            left = left - np.where(chosen, ways, 0)
            size = size - chosen
        marks[codes == 0] = True
        return marks

    def sums(self, terms: Terms, codes: Codes | None = None) -> npt.NDArray[np.float64]:
        """Return sums over the members of all sets, by Pascal's recursion.

        In colexicographic order the sets of k among the first n cells are those without cell n-1, then those with it.
        """
        values = flat_values(terms)
        by_size: list[npt.NDArray[np.float64]] = [np.zeros(1)] + [np.zeros(0)] * self.w
        for value in values:
            by_size = [by_size[0]] + [
                np.concatenate((by_size[k], by_size[k - 1] + value)) for k in range(1, self.w + 1)
            ]
        every = np.concatenate(([values.sum()], by_size[self.w]))
        return every if codes is None else every[codes]

    def columns(self) -> Iterator[Extremes]:
        """Code 0, then any set: one of its cells against one outside."""
        yield Extremes(0, self._left_over, 0, self._left_over, 0)
        yield Extremes.of(1, (self.inside, 0), (self.outside, self.domain - 1))  # rank 0 is the set 0..w-1
