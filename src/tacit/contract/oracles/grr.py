"""Generalised randomised response: name the true cell, or another one at random.

Code        the cell that is named.
Guarantee   eps-LDP: every code has weight ``span - (D-1) flip`` for its own cell and ``flip`` for all others, and
            ``flip`` is the smallest integer for which the first is at most E times the second.
Sampling    one draw u: below ``(D-1) flip`` it names the cell ``1 + u mod (D-1)`` places further on, else the true
            one. The bound is a multiple of D-1, so the false cells are exactly equally likely.
Variance    q(1-q)/(p-q)**2 per report for a false cell, p = keep, q = lie.
Cost        O(1) per report.
Range       D <= 3 E + 2: in larger domains a few fake users move an estimate too far (Cao et al. 2021).
Reference   Kairouz, Bonawitz and Ramage 2016.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tacit.contract.oracles.base import (
    Cells,
    Codes,
    Extremes,
    Oracle,
    Reader,
    Terms,
    Vectors,
    are_integers,
    flat_index,
    flat_values,
    remainder,
)
from tacit.contract.randomness import DRAW_BITS, Draws
from tacit.errors import LayoutError

__all__ = ["Grr", "flip_count", "respond"]


def flip_count(cells: int, bound: Fraction, bits: int) -> int:
    """Return the smallest weight of a false cell that keeps true over false within ``bound``."""
    if cells == 1:
        return 0
    return -((-1 << bits) // (bound + cells - 1))


def respond(cell: Cells, draws: Draws, *, cells: int, flip: int) -> Codes:
    """Answer with the cell or, where the draw says so, with another one; shared by all hashing oracles."""
    if cells == 1:
        return np.zeros(len(draws), dtype=np.int64)
    shifted = cell + 1 + remainder(draws, cells - 1)
    shifted -= cells * (shifted >= cells)
    return np.where(draws < np.uint64((cells - 1) * flip), shifted, cell)


@dataclass(frozen=True)
class Grr(Oracle):
    """Generalised randomised response over D cells."""

    flip: int

    name: ClassVar[str] = "grr"
    fixed_support: ClassVar[bool] = True

    @classmethod
    def build(cls, sizes: Sequence[int], bound: Fraction, bits: int = DRAW_BITS) -> Self:
        """Return the channel with the largest keep probability; refuse domains that fake users could exploit."""
        cells = math.prod(sizes)
        if cells > 3 * bound + 2:
            message = (
                f"grr: {cells} cells, but at this epsilon more than {int(3 * bound + 2)} let a few fake users move an "
                "estimate too far. Use lh."
            )
            raise LayoutError(message, code="grr-domain-too-large")
        oracle = cls(tuple(sizes), bits, flip=flip_count(cells, bound, bits))
        if cells > 1 and oracle.stay <= oracle.flip:
            raise oracle.too_coarse()
        return oracle

    @property
    def stay(self) -> int:
        """Weight of the true cell."""
        return self.span - (self.domain - 1) * self.flip

    @property
    def alphabet(self) -> int:
        """Number of codes."""
        return self.domain

    @property
    def denominator(self) -> int:
        """Sum of a cell's weights."""
        return self.span

    @property
    def keep(self) -> Fraction:
        """Probability of naming the true cell."""
        return Fraction(self.stay, self.span)

    @property
    def lie(self) -> Fraction:
        """Probability of naming one given false cell."""
        return Fraction(self.flip, self.span)

    @property
    def pair_split(self) -> tuple[Fraction, Fraction]:
        """Exactly one of two cells is named."""
        return self.keep + self.lie, 2 * self.lie

    def flaw(self) -> str:
        """Check that the flips leave something for the truth."""
        if not are_integers(self.flip, high=self.span) or (self.domain - 1) * self.flip > self.span:
            return "bad-flip"
        return ""

    def randomise(self, cells: Sequence[Cells], seed: Draws, answer: Draws) -> Codes:  # noqa: ARG002
        """Return the named cell of each record."""
        return respond(flat_index(cells, self.sizes), answer, cells=self.domain, flip=self.flip)

    def weight(self, cell: int, code: int) -> int:
        """Return the exact weight of naming ``code``."""
        return self.stay if code == cell else self.flip

    def support(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Mark the named cell."""
        marks: npt.NDArray[np.bool_] = np.asarray(codes)[:, None] == np.arange(self.domain)
        return marks

    def sums(self, terms: Terms, codes: Codes | None = None) -> npt.NDArray[np.float64]:
        """Return the function's value at the named cell."""
        values = flat_values(terms)
        return values if codes is None else values[codes]

    def reader(self, codes: Codes, dtype: type[np.floating[Any]] = np.float64) -> Reader:
        """Return the reader of products at the named cells."""
        named = np.unravel_index(codes, self.sizes)

        def read(axes: Sequence[Vectors], picks: Cells) -> Vectors:
            products = np.ones((len(codes), len(picks)), dtype=dtype)
            for vectors, pick, cell in zip(axes, picks.T, named, strict=True):
                products *= vectors[pick][:, cell].T
            return products

        return read

    def margins(self, axis: int | None, vectors: Sequence[Vectors], codes: Codes) -> npt.NDArray[np.float64]:
        """Return the product at the named cell, in the place of its cell of one attribute."""
        named = np.unravel_index(codes, self.sizes)
        product = np.ones(len(codes))
        for place, cell in enumerate(named):
            if place != axis:
                product *= vectors[place][cell]
        if axis is None:
            return product[:, None]
        sums = np.zeros((len(codes), self.sizes[axis]))
        sums[np.arange(len(codes)), named[axis]] = product
        return sums

    def tally_work(self, codes: int) -> int:
        """Return the number of codes: every code names one cell."""
        return codes + self.domain

    def tally(self, codes: Codes, people: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return how many people named each cell."""
        return np.bincount(codes, people, minlength=self.domain).astype(np.float64)

    def columns(self) -> Iterator[Extremes]:
        """All columns are alike: the code's own cell against any other."""
        if self.domain == 1:
            yield Extremes(0, self.span, 0, self.span, 0)
            return
        yield Extremes.of(0, (self.stay, 0), (self.flip, 1))
