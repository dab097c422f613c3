"""Sums over the cells of several attributes whose hashes add up to an answer, modulo g.

Each attribute's vectors are summed by hash first; sums of products of vectors are then convolutions over the integers
modulo g. A single cell needs no sum: its hash says which one the others must have. Those that combine some vectors with
all of some others are one product of matrices. Many seeds hash an attribute alike, by the same **block**
of digits, so its hashes are kept once for each block. Attributes of very many cells have no table of hashes: sums come
from their Fourier transform.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tacit.contract.oracles.base import Cells, Codes, Reader
from tacit.contract.oracles.nearly_constant import NearlyConstant

__all__ = ["HashedCodes"]

Sums = npt.NDArray[np.float64]

FEW = 8
"""Products of vectors up to which adding up is faster than a product of matrices for each code."""

SMALL_PRIME = 7
"""Largest g for which adding up g shifted copies is as fast as multiplying Fourier transforms."""


WIDE = 2**12
"""Cells of an attribute above which sums come from its Fourier transform instead of a table of hashes."""


class Hash(Protocol):
    """What reads need of a linear hash."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Cells of each attribute."""

    @property
    def g(self) -> int:
        """Number of hash values."""

    def cell_hashes(self, attribute: int, block: Codes, cells: Codes | None = None) -> Codes:
        """Return blocks x cells: the hashes of all cells of an attribute, or of some."""

    def hash_sums(self, attribute: int, block: Codes, vectors: Sums) -> Sums:
        """Return blocks x hashes x vectors: sums over the cells of each hash, without a table of hashes."""


@dataclass(frozen=True, eq=False)
class HashedCodes:
    """Codes of a linear hash: which of some seeds, which answer, and whether it is the code that supports all cells."""

    hash: Hash
    place: Codes
    reply: Codes
    supports_all: npt.NDArray[np.bool_]
    blocks: Sequence[Codes]
    """For each attribute, the block of each seed."""
    digits: Sequence[Codes]
    """For each attribute, the digits of its blocks."""
    _left: dict[int, Codes] = field(default_factory=dict)

    @cached_property
    def hashes(self) -> list[Codes | None]:
        """For each attribute, blocks x cells; None for very many cells."""
        return [
            None if size > WIDE else self.hash.cell_hashes(i, block)
            for i, (size, block) in enumerate(zip(self.hash.sizes, self.digits, strict=True))
        ]

    @property
    def g(self) -> int:
        """Number of hash values."""
        return self.hash.g

    @property
    def marks(self) -> int:
        """How many numbers a reader keeps."""
        return self.g * sum(hashed.size for hashed in self.hashes if hashed is not None)

    def reader(self, dtype: type[np.floating[Any]]) -> Reader:
        """Return what sums products of vectors over the cells that a code supports."""
        marks = [
            None if hashed is None else (hashed[:, None, :] == np.arange(self.g)[:, None]).astype(dtype)
            for hashed in self.hashes
        ]
        counted: dict[int, Sums] = {}

        def sum_by_hash(attribute: int, vectors: Sums) -> Sums:
            matrix = marks[attribute]
            if matrix is None:
                return self.hash.hash_sums(attribute, self.digits[attribute], vectors).astype(dtype)
            sums: Sums = matrix.reshape(-1, matrix.shape[2]) @ vectors.T.astype(dtype)
            return sums.reshape(*matrix.shape[:2], len(vectors))

        def count_by_hash(attribute: int, cells: int) -> Sums:
            if attribute not in counted:
                counted[attribute] = sum_by_hash(attribute, np.ones((1, cells)))
            return counted[attribute]

        def read(axes: Sequence[Sums], picks: Cells) -> Sums:
            *others, last = sorted(range(len(axes)), key=lambda i: len(axes[i]))  # groups have many vectors
            alike = NearlyConstant.of(axes[last])
            by_hash = {i: sum_by_hash(i, axes[i]) for i in others}
            general = np.zeros(0) if alike.is_so.all() else sum_by_hash(last, axes[last])
            sums = np.empty((len(picks), len(self.place)), dtype=dtype)  # rows are written faster than columns
            ordered = np.ascontiguousarray(picks[:, [*others, last]])
            for rows, columns, chosen in _rectangles(ordered.tobytes(), len(axes)):
                near, places = alike.is_so[columns], chosen.reshape(len(rows), len(columns))
                parts = [_Part(i, by_hash[i], rows[:, k]) for k, i in enumerate(others)]
                if near.any():
                    counts = count_by_hash(last, axes[last].shape[1])
                    table = self._near(alike.part(columns[near]), last, parts, len(rows), counts)
                    sums[places[:, near].ravel()] = table.reshape(-1, len(self.place)) if len(self.place) else 0.0
                if not near.all():
                    table = self._convolve_with(general[..., columns[~near]], last, parts, len(rows))
                    sums[places[:, ~near].ravel()] = table.reshape(-1, len(self.place)) if len(self.place) else 0.0
            if self.supports_all.any():
                every = np.prod([vectors.sum(axis=1)[picks[:, i]] for i, vectors in enumerate(axes)], axis=0)
                sums[:, self.supports_all] = every[:, None]
            return sums.T

        return read

    def _residue_of(self, attribute: int, cells: Codes) -> Codes:
        """Return cells x codes: the hash that a cell leaves for the other attributes, whatever is asked."""
        known, row = self.hashes[attribute], self.blocks[attribute][self.place]
        if known is None:
            hashed = self.hash.cell_hashes(attribute, self.digits[attribute], cells)
            return self._complete(self.reply - hashed.T.take(row, axis=1))
        if attribute not in self._left:
            self._left[attribute] = self._complete(self.reply - known.T.take(row, axis=1))
        return self._left[attribute][cells]

    def _complete(self, residue: Codes) -> Codes:
        return np.where(residue < 0, residue + self.g, residue)

    def _near(self, vectors: NearlyConstant, last: int, parts: Sequence[_Part], products: int, counts: Sums) -> Sums:
        """Return products of the others x vectors x codes: of the cell by the hash that it leaves, and of the rest."""
        dtype = counts.dtype
        table: Sums = np.zeros((products, len(vectors.cell), len(self.place)), dtype=dtype)
        if vectors.beside.any():
            if len(parts) == 1:  # of which every block is summed
                summed, row = parts[0].chosen, self.blocks[parts[0].attribute][self.place]
            else:
                summed, row = self._convolve(parts, products, dtype), self.place
            residue = self._residue_of(last, vectors.cell) + self.g * row
            table = np.ascontiguousarray(summed.reshape(-1, products).T).take(residue, axis=1)
            if (vectors.beside != 1).any():
                table *= vectors.beside.astype(dtype)[:, None]
        if vectors.base.any():
            table += vectors.base.astype(dtype)[:, None] * self._convolve_with(counts, last, parts, products)
        return table

    def _convolve_with(self, right: Sums, last: int, parts: Sequence[_Part], products: int) -> Sums:
        """Return products of the others x vectors x codes, given blocks x hashes x vectors of the last attribute."""
        left, block = self._convolve(parts, products, right.dtype), right[self.blocks[last]]
        swapped = block.shape[2] < left.shape[2]
        small, large = (block, left) if swapped else (left, block)
        dense = 2 * len(self.place) >= left.shape[0] * self.g
        if dense:
            table = _all_answers(small, large)[self.place, self.reply]
        else:
            table = _answers(small, large, self.place, self.reply)
        return table.transpose(2, 1, 0) if swapped else table.transpose(1, 2, 0)

    def _convolve(self, parts: Sequence[_Part], vectors: int, dtype: npt.DTypeLike) -> Sums:
        """Return seeds x hashes x vectors of several attributes together: hashes add up modulo g."""
        if not parts:
            unit: Sums = np.zeros((len(self.blocks[0]), self.g, vectors), dtype=dtype)
            unit[:, 0] = 1.0
            return unit
        if len(parts) > 1 and self.g > SMALL_PRIME:
            waves = [(np.fft.rfft(part.sums, axis=1)[..., part.columns], part.attribute) for part in parts]
            first, *behind = (wave[self.blocks[i]] for wave, i in waves)
            for other in behind:
                first *= other
            return np.fft.irfft(first, self.g, axis=1).astype(dtype)
        if len(parts) == 1:
            return parts[0].chosen[self.blocks[parts[0].attribute]]
        unit, *others = (part.chosen.T.take(self.blocks[part.attribute], axis=2) for part in parts)
        for shifted in others:  # vectors x hashes x seeds: long rows are multiplied fast
            twice = np.concatenate([shifted, shifted], axis=1)  # so that shifts are views
            added = unit[:, [0]] * shifted
            for k in range(1, self.g):
                added += unit[:, [k]] * twice[:, self.g - k : 2 * self.g - k]
            unit = added
        return np.ascontiguousarray(unit.T)

    def margins(self, axis: int | None, vectors: Sequence[Sums]) -> Sums:
        """Return for each code and cell of one attribute the sum of the others' vectors over the cells it supports."""
        others = [i for i in range(len(self.blocks)) if i != axis]
        left, row = self.completing(others, vectors)
        if axis is None:
            sums = left[row, self.reply][:, None]
        else:
            known = self.hashes[axis]
            hashed = self.hash.cell_hashes(axis, self.digits[axis]) if known is None else known
            twice = np.concatenate([left, left], axis=1)  # so that what is left needs no remainder
            residue = hashed.take(self.blocks[axis][self.place], axis=0)
            np.subtract((self.reply + self.g + 2 * self.g * row)[:, None], residue, out=residue)
            sums = twice.ravel().take(residue)
        sums[self.supports_all] = np.prod([vectors[i].sum() for i in others])
        return sums

    def completing(self, others: Sequence[int], vectors: Sequence[Sums]) -> tuple[Sums, Codes]:
        """Return rows of the sums of products of vectors over the cells of each hash, and the row of each code."""
        parts = [_Part(i, self._sum_alone(i, vectors[i]), np.zeros(1, dtype=np.int64)) for i in others]
        if len(parts) == 1:
            return parts[0].sums[..., 0], self.blocks[others[0]][self.place]
        if parts:
            return self._convolve(parts, 1, np.float64)[..., 0], self.place
        return np.eye(1, self.g), np.zeros(len(self.place), dtype=np.int64)

    def _sum_alone(self, attribute: int, vector: Sums) -> Sums:
        """Return blocks x hashes x 1: the sums of one vector over an attribute's cells."""
        known = self.hashes[attribute]
        if known is None:
            return self.hash.hash_sums(attribute, self.digits[attribute], vector[None, :])
        flat = known + self.g * np.arange(len(known))[:, None]
        weights = np.broadcast_to(vector, flat.shape).ravel().astype(np.float64)
        sums = np.bincount(flat.ravel(), weights, minlength=self.g * len(flat))
        return np.asarray(sums, np.float64).reshape(-1, self.g, 1)


@dataclass(frozen=True, eq=False)
class _Part:
    """Blocks x hashes x vectors of one attribute, and the vectors that each product takes."""

    attribute: int
    sums: Sums
    columns: Codes

    @property
    def chosen(self) -> Sums:
        """The sums of each product's vector."""
        return self.sums[..., self.columns]


def _all_answers(small: Sums, large: Sums) -> Sums:
    """Return seeds x answers x vectors x vectors."""
    seeds, g, _ = small.shape
    left = (np.arange(g)[:, None] - np.arange(g)) % g  # answers x hashes of the others
    turned = small[:, left].transpose(0, 1, 3, 2).reshape(seeds, g * small.shape[2], g)
    return (turned @ large).reshape(seeds, g, small.shape[2], large.shape[2])


def _answers(small: Sums, large: Sums, place: Codes, reply: Codes) -> Sums:
    """Return codes x vectors x vectors."""
    g = small.shape[1]
    left = (reply[:, None] - np.arange(g)) % g
    turned, others = small[place[:, None], left], large[place]
    if small.shape[2] * large.shape[2] <= FEW:
        return np.asarray(np.einsum("cgi,cgj->cij", turned, others))
    table: Sums = turned.transpose(0, 2, 1) @ others
    return table


@lru_cache(maxsize=16)
def _rectangles(listed: bytes, attributes: int) -> list[tuple[Cells, Cells, Codes]]:
    """Return picks of the first attributes and of the last whose combinations all occur, and the places of these."""
    picks = np.frombuffer(listed, dtype=np.int64).reshape(-1, attributes)
    first, row = np.unique(picks[:, :-1], axis=0, return_inverse=True)
    row = row.ravel()
    order = np.lexsort((picks[:, -1], row))
    ends = np.searchsorted(row[order], np.arange(len(first) + 1))
    alike: dict[bytes, list[int]] = {}
    for number, (start, stop) in enumerate(pairwise(ends.tolist())):
        alike.setdefault(picks[order[start:stop], -1].tobytes(), []).append(number)
    groups = []
    for numbers in alike.values():
        places = np.concatenate([order[ends[number] : ends[number + 1]] for number in numbers])
        groups.append((first[numbers], picks[order[ends[numbers[0]] : ends[numbers[0] + 1]], -1], places))
    return groups
