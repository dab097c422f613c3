"""Optimised local hashing, as in the papers: a 32-bit seed picks a hash function, then randomised response.

Code        ``seed * g + y``.
Hash        MurmurHash3 (x86, 32 bit, Appleby 2011) of the cell as eight little-endian bytes, modulo g.
Guarantee   eps-LDP: given the seed, the answer is randomised response over g values (see grr); the seed is uniform
            and independent of the cell.
Sampling    one draw for the seed (``mod 2**32``, exactly uniform), one for the answer.
Variance    q(1-q)/(p-q)**2 per report for a false cell, with q = 1/g in expectation over an ideal hash family: unlike
            lh this is an approximation, as good as the hash.
Cost        O(1) per report, O(D) per report to decode.
Range       codes must fit 53 bits: g below 2**21.
Reference   Wang et al. 2017; baseline of the MDA, JOINT and CALM papers, g = round(e**eps) + 1.
"""

from __future__ import annotations

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
    Terms,
    are_integers,
    flat_index,
    flat_values,
    remainder,
)
from tacit.contract.oracles.grr import flip_count, respond
from tacit.contract.randomness import DRAW_BITS, Draws
from tacit.errors import InternalError, LayoutError

__all__ = ["LocalHash", "murmur3"]

SEEDS = 2**32
"""Seeds of the hash: murmur3 takes 32 bits."""

MAX_HASHES = 2**21
"""Hash values: a seed and an answer must fit 53 bits."""

_Words = npt.NDArray[np.uint32]


def _rotate(words: _Words, by: int) -> _Words:
    return (words << np.uint32(by)) | (words >> np.uint32(32 - by))


def murmur3(keys: npt.NDArray[np.uint64], seeds: _Words) -> _Words:
    """Return MurmurHash3_x86_32 of 64-bit keys."""
    state = seeds.copy()
    for word in ((keys & np.uint64(0xFFFFFFFF)).astype(np.uint32), (keys >> np.uint64(32)).astype(np.uint32)):
        mixed = _rotate(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        state = _rotate(state ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    state ^= np.uint32(8)  # length of the key in bytes
    state = (state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    state = (state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return state ^ (state >> np.uint32(16))


@dataclass(frozen=True)
class LocalHash(Oracle):
    """Hashing with a seeded general-purpose hash; the papers' baseline."""

    g: int
    flip: int

    name: ClassVar[str] = "olh"

    @classmethod
    def build(cls, sizes: Sequence[int], bound: Fraction, bits: int = DRAW_BITS) -> Self:
        """Return the channel with the papers' g = round(e**eps) + 1."""
        g = round(bound) + 1
        if g >= MAX_HASHES:
            message = f"olh: at this epsilon g is {g}; below {MAX_HASHES} codes fit 53 bits. Use a smaller epsilon."
            raise LayoutError(message, code="olh-out-of-range")
        oracle = cls(tuple(sizes), bits, g, flip_count(g, bound, bits))
        if oracle.stay <= oracle.flip or oracle.span < SEEDS:
            raise oracle.too_coarse()
        return oracle

    @property
    def stay(self) -> int:
        """Weight of the true hash given the seed."""
        return self.span - (self.g - 1) * self.flip

    @property
    def alphabet(self) -> int:
        """Number of codes."""
        return SEEDS * self.g

    @property
    def denominator(self) -> int:
        """Sum of a cell's weights."""
        return SEEDS * self.span

    @property
    def keep(self) -> Fraction:
        """Probability that the true cell is supported."""
        return Fraction(self.stay, self.span)

    @property
    def lie(self) -> Fraction:
        """Probability that a false cell is supported, over an ideal hash family."""
        return Fraction(1, self.g)

    @property
    def pair_split(self) -> tuple[Fraction, Fraction]:
        """Exactly one of two cells is supported, over an ideal hash family."""
        apart = Fraction(self.g - 1, self.g)
        return apart * Fraction(self.stay + self.flip, self.span), 2 * Fraction(1, self.g) * apart

    def flaw(self) -> str:
        """Check the number of hash values and the flips."""
        if not are_integers(self.g, low=2, high=MAX_HASHES - 1):
            return "bad-g"
        if not are_integers(self.flip, high=self.span) or (self.g - 1) * self.flip > self.span:
            return "bad-flip"
        return ""

    def hash(self, seeds: Codes, cell: Cells) -> Codes:
        """Return the hash of each cell under its seed."""
        hashed = murmur3(np.asarray(cell).astype(np.uint64), np.asarray(seeds).astype(np.uint32))
        return (hashed % np.uint32(self.g)).astype(np.int64)

    def randomise(self, cells: Sequence[Cells], seed: Draws, answer: Draws) -> Codes:
        """Return the code of each record."""
        seeds = remainder(seed, SEEDS)
        hashed = self.hash(seeds, flat_index(cells, self.sizes))
        return seeds * self.g + respond(hashed, answer, cells=self.g, flip=self.flip)

    def has_seed(self, code: Any, seed: Any) -> Any:
        """Return whether a code has the seed of a draw."""
        return code // self.g == seed % SEEDS

    def weight(self, cell: int, code: int) -> int:
        """Return the exact weight of a code."""
        seed, reply = divmod(code, self.g)
        hashed = int(self.hash(np.array([seed]), np.array([cell]))[0])
        return self.stay if reply == hashed else self.flip

    def support(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Mark the cells whose hash is the answer."""
        seeds, reply = np.divmod(np.asarray(codes, dtype=np.int64), self.g)
        cells = np.tile(np.arange(self.domain), len(seeds))
        hashed = self.hash(np.repeat(seeds, self.domain), cells).reshape(len(seeds), self.domain)
        marks: npt.NDArray[np.bool_] = hashed == reply[:, None]
        return marks

    def sums(self, terms: Terms, codes: Codes | None = None) -> npt.NDArray[np.float64]:
        """Return sums over the cells whose hash is the answer, visiting only cells where the function is not zero."""
        if codes is None:
            message = "olh: the alphabet is too large to visit; pass the codes that occur."
            raise InternalError(message)
        values = flat_values(terms)
        seeds, reply = np.divmod(np.asarray(codes, dtype=np.int64), self.g)
        total = np.zeros(len(seeds))
        for cell in np.flatnonzero(values):
            total += values[cell] * (self.hash(seeds, np.full(len(seeds), cell)) == reply)
        return total

    def columns(self) -> Iterator[Extremes]:
        """Every column has weight ``stay`` for cells of the answered hash and ``flip`` for the others.

        The named pair is the first whose hashes differ under the first seeds; a seed under which all cells collide
        has a constant column.
        """
        if self.domain == 1:
            yield Extremes(0, self.stay, 0, self.stay, 0)
            return
        seeds = np.arange(64)
        first, second = self.hash(seeds, 0 * seeds), self.hash(seeds, 0 * seeds + 1)
        seed = int(np.flatnonzero(first != second)[0])
        yield Extremes.of(seed * self.g + int(first[seed]), (self.stay, 0), (self.flip, 1))
