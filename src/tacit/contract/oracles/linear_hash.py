"""Linear hashing over GF(g): hash the cell to g values with a random linear form, then randomised response.

Code        0 supports all cells; 1 + r g + y is "the hash of my cell under seed number r is (near) y".
Hash        every attribute has a block of k digits in base g: its cell times a public multiplier, modulo g**k (a
            formula instead of a list of permuted cells). The seed is a non-zero vector of as many digits; the hash is
            their inner product modulo g. For two cells exactly (g**(K-1) - 1) of (g**K - 1) seeds collide, so p and q
            are exact, whatever the sizes.
Seeds       (c s, c y) is the same event as (s, y) for c in 1..g-1, and s = 0 says nothing: seeds are the vectors whose
            leading non-zero digit is 1. Number r is ``g**j + r - (g**j - 1)/(g - 1)`` read in base g, where j is its
            leading place.
Guarantee   eps-LDP: given the seed, the answer is randomised response over g values (see grr); the seed's
            distribution is the same for all cells. Code 0 collects the few draws that do not divide evenly among the
            seeds, so seeds are exactly equally likely; its weight is the same for all cells.
Sampling    one draw for the seed (``mod`` the number of seeds), one for the answer.
Variance    about (E + g - 1)**2 / ((g - 1)(E - 1)**2) per report and cell; g is the best prime for it.
Cost        O(K) per report, by tables of inner products.
Range       any domain whose codes fit 53 bits.
Reference   Wang et al. 2017 for hashing; Acharya, Sun and Zhang 2019 for structured families.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tacit.contract.oracles.base import Cells, Codes, Extremes, Oracle, Reader, Terms, Vectors, are_integers, remainder
from tacit.contract.oracles.digits import (
    DOT_TABLE,
    best_prime,
    digits_for,
    distinct,
    dot,
    inner_products,
    is_prime,
    multiples,
    multiplier,
    points_of,
    points_of_waves,
    transform,
    values_of_waves,
)
from tacit.contract.oracles.grr import flip_count, respond
from tacit.contract.oracles.hash_sums import HashedCodes
from tacit.contract.oracles.margin_tally import margin_tally
from tacit.contract.oracles.sparse_tally import is_sparse, sparse_tally
from tacit.contract.randomness import DRAW_BITS, Draws
from tacit.errors import LayoutError

__all__ = ["LinearHash"]

ROWS_AT_ONCE = 2**22
"""Seeds times g whose sums are computed at once: 64 MB of waves."""

MARKS_AT_ONCE = 2**22
"""Blocks of seeds times g times cells whose hashes are marked at once: 32 MiB as numbers, at most."""

Waves = npt.NDArray[np.complex128]

MAX_PRIME = 2**20
"""Largest g: beyond it grr takes every domain whose codes fit, and a hash has nothing to add."""


@dataclass(frozen=True)
class LinearHash(Oracle):
    """Linear hashing of the cells of one or more attributes."""

    g: int
    flip: int
    multipliers: tuple[int, ...]

    name: ClassVar[str] = "lh"
    tables: ClassVar[tuple[str, ...]] = ("multipliers",)
    fast_margins: ClassVar[bool] = True

    @classmethod
    def build(cls, sizes: Sequence[int], bound: Fraction, bits: int = DRAW_BITS) -> Self:
        """Return the channel for the best prime."""
        if bound > MAX_PRIME // 2:
            message = f"lh: at this epsilon the best prime is beyond {MAX_PRIME}. Use a smaller epsilon."
            raise LayoutError(message, code="lh-out-of-range")
        g = best_prime(bound)
        multipliers = tuple(multiplier(digits_for(size, g), g) for size in sizes)
        oracle = cls(tuple(sizes), bits, g, flip_count(g, bound, bits), multipliers)
        if oracle.stay <= oracle.flip:
            raise oracle.too_coarse()
        if oracle.seeds > oracle.span:
            message = f"lh: {oracle.domain} cells need {oracle.seeds.bit_length()}-bit seeds; draws have {bits} bits."
            raise LayoutError(message, code="codes-too-large")
        return oracle

    @cached_property
    def digits(self) -> tuple[int, ...]:
        """Digits of each attribute's block."""
        return tuple(digits_for(size, self.g) for size in self.sizes)

    @cached_property
    def seeds(self) -> int:
        """Number of seeds."""
        return max(1, (int(self.g ** sum(self.digits)) - 1) // (self.g - 1))

    @cached_property
    def _seed_weight(self) -> int:
        return self.span // self.seeds

    @property
    def _left_over(self) -> int:
        return self.span - self.seeds * self._seed_weight

    @property
    def stay(self) -> int:
        """Weight of the true hash given the seed."""
        return self.span - (self.g - 1) * self.flip

    @property
    def alphabet(self) -> int:
        """Number of codes."""
        return 1 + self.seeds * self.g

    @property
    def denominator(self) -> int:
        """Sum of a cell's weights: one draw for the seed times one for the answer."""
        return self.span**2

    def _collide(self, forms: int) -> Fraction:
        """Return the share of seeds that vanish on ``forms`` independent differences of cells."""
        places = sum(self.digits)
        if places == 0:
            return Fraction(0)  # a single cell: there is nothing to collide with
        return Fraction(self.g ** max(0, places - forms) - 1, self.g**places - 1)

    def _mix(self, on_true: Fraction, on_false: Fraction) -> Fraction:
        """Return the probability of an event that code 0 always has, and others by the answer."""
        null = Fraction(self._left_over, self.span)
        return null + (1 - null) * (on_true * self.stay + on_false * self.flip) / self.span

    @property
    def keep(self) -> Fraction:
        """Probability that the true cell is supported."""
        return self._mix(Fraction(1), Fraction(0))

    @property
    def lie(self) -> Fraction:
        """Probability that a given false cell is supported."""
        collide = self._collide(1)
        return self._mix(collide, 1 - collide)

    @property
    def pair_split(self) -> tuple[Fraction, Fraction]:
        """Exactly one of two cells is supported; where neither is true, averaged over placements of the third.

        On average over placements a third cell lies on the line through the two (then all three collide together)
        with probability (g-2)/(g**K - 2).
        """
        pair, points = self._collide(1), self.g ** sum(self.digits)
        on_line = Fraction(self.g - 2, points - 2) if points > 2 else Fraction(0)
        triple = on_line * pair + (1 - on_line) * self._collide(2)
        seeded = 1 - Fraction(self._left_over, self.span)
        either = (1 - pair) * Fraction(self.stay + self.flip, self.span)
        with_third = 2 * (pair - triple)
        neither = with_third * (self.stay + self.flip) + (1 - pair - with_third) * 2 * self.flip
        return seeded * either, seeded * neither / self.span

    @property
    def parameters(self) -> dict[str, Any]:
        """The prime, the flip weight and the multiplier of each number of digits."""
        factors = {str(places): factor for places, factor in zip(self.digits, self.multipliers, strict=True)}
        return {"g": self.g, "flip": self.flip, "multipliers": factors}

    @classmethod
    def read(cls, sizes: Sequence[int], bits: int, parameters: Mapping[str, Any]) -> Self:
        """Return the channel with the multipliers of its numbers of digits; 0 (invalid) where one is missing."""
        g, factors = parameters["g"], parameters["multipliers"]
        digits = [str(digits_for(size, g)) for size in sizes] if g > 1 else []
        return cls(tuple(sizes), bits, g, parameters["flip"], tuple(factors.get(places, 0) for places in digits))

    @cached_property
    def _points(self) -> tuple[npt.NDArray[np.int64], ...]:
        """Cell to point, for each attribute."""
        return tuple(
            points_of(self.g, places, factor, size)
            for size, factor, places in zip(self.sizes, self.multipliers, self.digits, strict=True)
        )

    @cached_property
    def _leading(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """First seed number of each leading place, and what to add to a number to get its vector."""
        powers = [self.g**place for place in range(max(1, sum(self.digits)))]
        first = [(power - 1) // (self.g - 1) for power in powers]
        add = [power - start for power, start in zip(powers, first, strict=True)]
        return np.array(first, dtype=np.int64), np.array(add, dtype=np.int64)

    def _vector(self, number: Codes) -> Codes:
        """Return the seed vector, as an integer in base g, of each seed number."""
        first, add = self._leading
        vector: Codes = number + add[-1]
        undecided = np.flatnonzero(number < first[-1])
        for place in range(len(first) - 2, -1, -1):  # each round leaves a g-th part
            if not len(undecided):
                break
            vector[undecided] = number[undecided] + add[place]
            undecided = undecided[number[undecided] < first[place]]
        return vector

    def hash(self, number: Codes, cells: Sequence[Cells]) -> Codes:
        """Return the hash of each record's cells under its seed number."""
        g, left = self.g, self._vector(number)
        chunk = max(1, digits_for(DOT_TABLE + 1, g) - 1)  # digits that one look-up takes
        total = np.zeros(len(number), dtype=np.int64)
        columns = list(zip(self._points, self.digits, cells, strict=True))
        for points, places, column in reversed(columns):  # the last attribute has the lowest digits
            point = points[column]
            while places > 0:
                step = g ** min(places, chunk)
                low_point = remainder(point, step) if places > chunk else point
                total += dot(g, min(chunk, max(self.digits)), remainder(left, step), low_point)
                left, point, places = left // step, point // step if places > chunk else point, places - chunk
        return remainder(total, g)

    def flaw(self) -> str:
        """Check the prime, the flips, the number of seeds, and that multipliers permute."""
        if not are_integers(self.g, low=2, high=MAX_PRIME) or not is_prime(self.g):
            return "bad-g"
        if not are_integers(self.flip, high=self.span) or (self.g - 1) * self.flip > self.span:
            return "bad-flip"
        if self.seeds > self.span:
            return "codes-too-large"
        for factor, places in zip(self.multipliers, self.digits, strict=True):
            if not are_integers(factor, low=1, high=self.g**places) or (places and factor % self.g == 0):
                return "bad-multiplier"
        return ""

    def randomise(self, cells: Sequence[Cells], seed: Draws, answer: Draws) -> Codes:
        """Return the code of each record."""
        number = remainder(seed, self.seeds)
        reply = respond(self.hash(number, cells), answer, cells=self.g, flip=self.flip)
        code = number * self.g + reply + 1
        if self._left_over:
            code[seed >= np.uint64(self.span - self._left_over)] = 0
        return code

    def has_seed(self, code: Any, seed: Any) -> Any:
        """Return whether a code has the number of a seed draw, or is the one that supports all cells."""
        is_left_over = seed >= self.span - self._left_over
        return ((code == 0) == is_left_over) & (is_left_over | ((code - 1) // self.g == seed % self.seeds))

    def _cells_of(self, cell: Cells | list[int]) -> list[Cells]:
        return [np.asarray(column).ravel() for column in np.unravel_index(cell, self.sizes)]

    def weight(self, cell: int, code: int) -> int:
        """Return the exact weight of a code."""
        if code == 0:
            return self._left_over * self.span
        number, reply = divmod(code - 1, self.g)
        hashed = int(self.hash(np.array([number]), self._cells_of([cell]))[0])
        return self._seed_weight * (self.stay if reply == hashed else self.flip)

    def support(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Mark the cells whose hash is the answer."""
        codes = np.asarray(codes, dtype=np.int64)
        number, reply = np.divmod(np.maximum(codes - 1, 0), self.g)
        every = self._cells_of(np.arange(self.domain))
        tiled = [np.tile(column, len(codes)) for column in every]
        hashed = self.hash(np.repeat(number, self.domain), tiled).reshape(len(codes), self.domain)
        marks: npt.NDArray[np.bool_] = hashed == reply[:, None]
        marks[codes == 0] = True
        return marks

    def sums(self, terms: Terms, codes: Codes | None = None) -> npt.NDArray[np.float64]:
        """Return sums over the cells whose hash is the answer, without visiting any product of cells.

        The sums over all cells of hash u are a convolution over Z_g of one row per attribute. In waves k of u it is a
        product, and attribute i's row is its Fourier transform over Z_g**digits at k times the seed's digits.
        """
        number = np.arange(self.seeds) if codes is None else (np.maximum(np.asarray(codes), 1) - 1) // self.g
        total = sum(float(np.prod([vector.sum() for vector in term])) for term in terms)
        transforms = [[self._transform(i, vector) for i, vector in enumerate(term)] for term in terms]
        rows = np.empty((len(number), self.g))
        step = max(1, ROWS_AT_ONCE // self.g)
        for start in range(0, len(number), step):
            rows[start : start + step] = self._rows(transforms, number[start : start + step])
        if codes is None:
            return np.concatenate(([total], rows.ravel()))
        of_code = rows[np.arange(len(number)), (np.maximum(codes, 1) - 1) % self.g]
        return np.where(np.asarray(codes) == 0, total, of_code)

    def _rows(self, transforms: list[list[Waves]], number: Codes) -> npt.NDArray[np.float64]:
        """Return for some seeds the sums over the cells of each hash."""
        blocks = self._blocks(self._vector(number))
        waves = np.zeros((len(number), self.g // 2 + 1), dtype=np.complex128)
        at = [self._waves_at(i, block) for i, block in enumerate(blocks)]
        for term in transforms:
            product = at[0](term[0])
            for look_up, vector in zip(at[1:], term[1:], strict=True):
                product *= look_up(vector)
            waves += product
        return np.concatenate([waves.real, waves.imag], axis=1) @ values_of_waves(self.g)

    def _waves_at(self, attribute: int, block: Codes) -> Callable[[Waves], Waves]:
        """Return a function from an attribute's transform to its values at k times each block of digits.

        Blocks repeat in a large chunk of seeds: then all of them are looked up once, as far as that fits.
        """
        places = self.digits[attribute]
        if (size := int(self.g**places)) > len(block):
            index = multiples(self.g, places, block)
            return lambda transform: transform[index]
        every = multiples(self.g, places, np.arange(size))
        return lambda transform: transform[every][block]

    def _blocks(self, vector: Codes) -> list[Codes]:
        """Cut seed vectors into each attribute's digits."""
        blocks = []
        for places in reversed(self.digits):
            blocks.append(remainder(vector, self.g**places))
            vector = vector // self.g**places
        return blocks[::-1]

    def _transform(self, attribute: int, vector: Vectors) -> Waves:
        """Return the Fourier transform over Z_g**digits of an attribute's vector."""
        return transform(self.g, self.digits[attribute], self.multipliers[attribute], vector)

    def reader(self, codes: Codes, dtype: type[np.floating[Any]] = np.float64) -> Reader:
        """Return the reader of sums over the cells whose hash is the answer: each vector by hash, then combined."""
        hashed = self._hash_codes(codes)
        if len(codes) > 1 and hashed.marks > MARKS_AT_ONCE:
            parts = np.array_split(codes, min(len(codes), -(-hashed.marks // MARKS_AT_ONCE)))
            return lambda axes, picks: np.concatenate([self.reader(part, dtype)(axes, picks) for part in parts])
        return hashed.reader(dtype)

    def margins(self, axis: int | None, vectors: Sequence[Vectors], codes: Codes) -> Vectors:
        """Return sums over other attributes: over the cells whose hashes complete the answer."""
        return self._hash_codes(codes).margins(axis, vectors)

    def _hash_codes(self, codes: Codes) -> HashedCodes:
        """Return codes as seeds and answers, with the hashes of each attribute's cells under each seed."""
        number, reply = np.divmod(np.maximum(codes, 1) - 1, self.g)
        seeds, place = distinct(number, self.seeds)
        parts = zip(self._blocks(self._vector(seeds)), self.digits, strict=True)
        blocks = [distinct(digits, self.g**places) for digits, places in parts]
        return HashedCodes(self, place, reply, codes == 0, [row for _, row in blocks], [block for block, _ in blocks])

    def hash_sums(self, attribute: int, block: Codes, vectors: Vectors) -> Vectors:
        """Return blocks x hashes x vectors: sums over an attribute's cells of each hash, from Fourier transforms."""
        waves = self._waves_at(attribute, block)
        rows = [waves(self._transform(attribute, vector)) for vector in vectors]
        values = [np.concatenate([row.real, row.imag], axis=1) @ values_of_waves(self.g) for row in rows]
        return np.stack(values, axis=2)

    def cell_hashes(self, attribute: int, block: Codes, cells: Codes | None = None) -> Codes:
        """Return the inner product modulo g of blocks of a seed's digits with each cell of an attribute."""
        points = self._points[attribute]
        return inner_products(self.g, self.digits[attribute], block, points if cells is None else points[cells])

    def cluster(self, codes: Codes) -> Codes:
        """Return the number of each code's seed: together, its answers show every cell once."""
        return (np.maximum(codes, 1) - 1) // self.g

    def tally_work(self, codes: int) -> int:
        """Return about how many cells are visited: those of all codes, or the points of the Fourier transform."""
        return codes * self.domain if is_sparse(codes, self.domain, self.alphabet) else 8 * self.alphabet

    def tally(self, codes: Codes, people: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return how many people support each cell: each seed's answers, as waves, and one Fourier transform back."""
        places = sum(self.digits)
        if not places or is_sparse(len(codes), self.domain, self.alphabet):
            return sparse_tally(self.hash, self.sizes, self.g, codes, people)
        counts = np.bincount(codes, people, minlength=self.alphabet)
        waves = np.fft.rfft(counts[1:].reshape(self.seeds, self.g), axis=1)[:, 1:]
        points = points_of_waves(self.g, places, waves)
        cells = points.reshape([self.g**digit for digit in self.digits])[np.ix_(*self._points)]
        return np.asarray(cells.ravel() * self.g ** (places - 1) + counts[1:].sum() / self.g + counts[0])

    def margin_tally(self, axes: Sequence[int], codes: Codes, people: Vectors, beside: Sequence[Vectors]) -> Vectors:
        """Return the tally of the cells of some attributes, without visiting those of the others."""
        return margin_tally(self._hash_codes, self._points, self.digits, axes, codes, people, beside)

    def columns(self) -> Iterator[Extremes]:
        """Code 0, then any seed that tells two cells apart: the one whose hash is the answer against the other.

        A cell of hash y weighs ``seed_weight * stay``, any other ``seed_weight * flip``; there is no third weight. The
        seed that is 1 at the lowest place of the last block of two or more cells tells its cells 0 and 1 apart, since
        its multiplier is prime to g.
        """
        null = self._left_over * self.span
        yield Extremes(0, null, 0, null, 0)
        if self.domain == 1:
            only = self._seed_weight * self.stay
            yield Extremes(1, only, 0, only, 0)
            return
        block = max(i for i, size in enumerate(self.sizes) if size > 1)
        unit = self.g ** sum(self.digits[block + 1 :])
        other = int(np.ravel_multi_index([int(i == block) for i in range(len(self.sizes))], self.sizes))
        code = 1 + (unit - 1) // (self.g - 1) * self.g  # answer 0: the hash of cell 0
        yield Extremes.of(code, (self._seed_weight * self.stay, 0), (self._seed_weight * self.flip, other))
