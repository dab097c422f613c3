"""Optimised unary encoding, as in the papers: one bit per cell, each flipped on its own.

Code        bit a of the code is the bit of cell a.
Guarantee   eps-LDP: moving from one cell to another changes two bits; the ratio is at most
            ``one (span - zero) / (zero (span - one))``, with ``one`` half of the draws and ``zero`` rounded up.
Sampling    one answer draw per cell: the bit is set where the draw is below ``one`` (true cell) or ``zero`` (others).
Variance    q(1-q)/(p-q)**2 per report for a false cell, p = 1/2, q = 1/(E+1).
Cost        O(D) draws and bits per report.
Range       at most 52 cells: the bits are the code, and codes must fit 53 bits.
Reference   Wang et al. 2017; baseline of the CALM paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
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
)
from tacit.contract.randomness import DRAW_BITS, Draws
from tacit.errors import LayoutError

__all__ = ["MAX_BITS", "Unary"]

MAX_BITS = 52
"""Cells whose bits fit a code of 53 bits and leave room for other views."""


@dataclass(frozen=True)
class Unary(Oracle):
    """One randomised bit per cell."""

    one: int
    zero: int

    name: ClassVar[str] = "oue"

    @classmethod
    def build(cls, sizes: Sequence[int], bound: Fraction, bits: int = DRAW_BITS) -> Self:
        """Return the channel with p = 1/2 and the smallest allowed q."""
        oracle = cls(tuple(sizes), bits, one=1 << (bits - 1), zero=-((-1 << bits) // (bound + 1)))
        return oracle.within_range("oue")

    def within_range(self, name: str) -> Self:
        """Return the channel; refuse an oracle with more cells than codes have bits, or too short draws."""
        if self.domain > MAX_BITS:
            message = f"{name}: {self.domain} cells make codes of as many bits; at most {MAX_BITS} fit. Use lh."
            raise LayoutError(message, code="oue-out-of-range")
        if self.zero >= self.one:
            raise self.too_coarse(name)
        return self

    @property
    def alphabet(self) -> int:
        """Number of codes."""
        return 1 << self.domain

    @property
    def answers(self) -> int:
        """One draw for each bit."""
        return self.domain

    @property
    def denominator(self) -> int:
        """Sum of a cell's weights."""
        return int(self.span**self.domain)

    @property
    def keep(self) -> Fraction:
        """Probability that the true cell's bit is set."""
        return Fraction(self.one, self.span)

    @property
    def lie(self) -> Fraction:
        """Probability that another cell's bit is set."""
        return Fraction(self.zero, self.span)

    @property
    def pair_split(self) -> tuple[Fraction, Fraction]:
        """Exactly one of two bits is set."""
        p, q = self.keep, self.lie
        return p * (1 - q) + q * (1 - p), 2 * q * (1 - q)

    def flaw(self) -> str:
        """Check the number of bits and that the thresholds are probabilities."""
        if self.domain > MAX_BITS:
            return "bad-bits"
        return "" if are_integers(self.one, self.zero, high=self.span) else "bad-bits"

    def randomise(self, cells: Sequence[Cells], seed: Draws, answer: Draws) -> Codes:  # noqa: ARG002
        """Return the bits of each record as an integer; ``answer`` has a column for each cell."""
        cell, answer = flat_index(cells, self.sizes), answer.reshape(-1, self.domain)
        code = np.zeros(len(cell), dtype=np.int64)
        for place in range(self.domain):
            threshold = np.where(cell == place, np.uint64(self.one), np.uint64(self.zero))
            code |= (answer[:, place] < threshold).astype(np.int64) << place
        return code

    def weight(self, cell: int, code: int) -> int:
        """Return the exact weight of a bit string."""
        product = 1
        for place in range(self.domain):
            threshold = self.one if place == cell else self.zero
            product *= threshold if code >> place & 1 else self.span - threshold
        return product

    def support(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Mark the cells whose bit is set."""
        marks: npt.NDArray[np.bool_] = (np.asarray(codes)[:, None] >> np.arange(self.domain)) & 1 == 1
        return marks

    def sums(self, terms: Terms, codes: Codes | None = None) -> npt.NDArray[np.float64]:
        """Return sums over the cells whose bit is set."""
        every = np.arange(self.alphabet) if codes is None else np.asarray(codes)
        total = np.zeros(len(every))
        for place, value in enumerate(flat_values(terms)):
            total += value * (every >> place & 1)
        return total

    def columns(self) -> Iterator[Extremes]:
        """Bits are independent, so two cells differ in two factors and all others cancel.

        For a code with the bits of cells 0 and 1 set to (1, 0), cell 0 weighs ``one (span - zero)`` and cell 1
        ``zero (span - one)``, times common factors; (0, 0) and (1, 1) give smaller or equal ratios.
        """
        if self.domain == 1:
            yield Extremes(1, self.one, 0, self.one, 0)
            return
        yield Extremes.of(1, (self.one * (self.span - self.zero), 0), (self.zero * (self.span - self.one), 1))
