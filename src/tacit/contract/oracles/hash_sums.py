"""Sums over the cells of several attributes whose hashes add up to an answer, modulo g.

Each attribute's vectors are summed by hash first; sums of products of vectors are then convolutions over the integers
modulo g. A single cell needs no sum: its hash says which one the others must have. Those that combine some vectors with
all of some others are one product of matrices. Many seeds hash an attribute alike, by the same **block**
of digits, so its hashes are kept once for each block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.contract.oracles.base import Cells, Codes, Reader

__all__ = ["HashedCodes"]

Sums = npt.NDArray[np.float64]

ROUNDING = 1e-13
"""Share of a vector's largest number below which a difference is rounding."""

FEW = 8
"""Products of vectors up to which adding up is faster than a product of matrices for each code."""


@dataclass(frozen=True, eq=False)
class _NearlyConstant:
    """Vectors that have one value at all cells but one, as those of groups do: a base, and what the cell has beside."""

    is_so: npt.NDArray[np.bool_]
    base: Sums
    cell: Codes
    beside: Sums

    @classmethod
    def of(cls, vectors: Sums) -> _NearlyConstant:
        """Look at vectors; if all but one of the first three agree, the middle one of them does."""
        base = np.sort(vectors[:, :3], axis=1)[:, (min(3, vectors.shape[1]) - 1) // 2]
        away = vectors - base[:, None]
        every, cell = np.arange(len(vectors)), np.abs(away).argmax(axis=1)
        beside = away[every, cell]
        away[every, cell] = 0.0
        is_so = np.abs(away).max(axis=1) <= ROUNDING * np.abs(vectors).max(axis=1)
        return cls(is_so, base, cell, beside)

    def part(self, some: Codes) -> _NearlyConstant:
        """Return some of the vectors."""
        return _NearlyConstant(self.is_so[some], self.base[some], self.cell[some], self.beside[some])


@dataclass(frozen=True, eq=False)
class HashedCodes:
    """Codes of a linear hash: which of some seeds, which answer, and whether it is the code that supports all cells."""

    g: int
    place: Codes
    reply: Codes
    supports_all: npt.NDArray[np.bool_]
    blocks: Sequence[Codes]
    """For each attribute, the block of each seed."""
    hashes: Sequence[Codes]
    """For each attribute, blocks x cells."""
    _left: dict[int, Codes] = field(default_factory=dict)

    @property
    def marks(self) -> int:
        """How many numbers a reader keeps."""
        return self.g * sum(hashe.size for hashe in self.hashes)

    def reader(self, dtype: type[np.floating[Any]]) -> Reader:
        """Return what sums products of vectors over the cells that a code supports."""
        marks = [(hashe[:, None, :] == np.arange(self.g)[:, None]).astype(dtype) for hashe in self.hashes]
        counts = [mark.sum(axis=2)[..., None] for mark in marks]

        def sum_by_hash(attribute: int, vectors: Sums) -> Sums:
            own = marks[attribute]
            sums: Sums = own.reshape(-1, own.shape[2]) @ vectors.T.astype(dtype)
            return sums.reshape(*own.shape[:2], len(vectors))

        def read(axes: Sequence[Sums], picks: Cells) -> Sums:
            *others, last = sorted(range(len(axes)), key=lambda i: len(axes[i]))  # groups have many vectors
            alike = _NearlyConstant.of(axes[last])
            by_hash = {i: sum_by_hash(i, axes[i]) for i in others}
            general = np.zeros(0) if alike.is_so.all() else sum_by_hash(last, axes[last])
            sums = np.empty((len(picks), len(self.place)), dtype=dtype)  # rows are written faster than columns
            ordered = np.ascontiguousarray(picks[:, [*others, last]])
            for rows, columns, chosen in _rectangles(ordered.tobytes(), len(axes)):
                near, places = alike.is_so[columns], chosen.reshape(len(rows), len(columns))
                parts = [by_hash[i][..., rows[:, k]] for k, i in enumerate(others)]
                if near.any():
                    table = self._near(alike.part(columns[near]), last, parts, others, counts[last])
                    sums[places[:, near].ravel()] = table.reshape(-1, len(self.place)) if len(self.place) else 0.0
                if not near.all():
                    table = self._convolve_with(general[..., columns[~near]], last, parts, others, len(rows))
                    sums[places[:, ~near].ravel()] = table.reshape(-1, len(self.place)) if len(self.place) else 0.0
            if self.supports_all.any():
                every = np.prod([own.sum(axis=1)[picks[:, i]] for i, own in enumerate(axes)], axis=0)
                sums[:, self.supports_all] = every[:, None]
            return sums.T

        return read

    def _rest(self, attribute: int) -> Codes:
        """Return cells x codes: the hash that a cell leaves for the other attributes, whatever is asked."""
        if attribute not in self._left:
            rest = self.reply - self.hashes[attribute].T.take(self.blocks[attribute][self.place], axis=1)
            self._left[attribute] = np.where(rest < 0, rest + self.g, rest)
        return self._left[attribute]

    def _near(
        self, vectors: _NearlyConstant, last: int, parts: Sequence[Sums], others: Sequence[int], counts: Sums
    ) -> Sums:
        """Return products of the others x vectors x codes: of the cell by the hash that it leaves, and of the rest."""
        products = parts[0].shape[2] if parts else 1
        dtype = counts.dtype
        table: Sums = np.zeros((products, len(vectors.cell), len(self.place)), dtype=dtype)
        if vectors.beside.any():
            if len(others) == 1:  # of which every block is summed
                [whole], row = parts, self.blocks[others[0]][self.place]
            else:
                whole, row = self._convolve(parts, others, products, dtype), self.place
            rest = self._rest(last)[vectors.cell] + self.g * row
            table = np.ascontiguousarray(whole.reshape(-1, products).T).take(rest, axis=1)
            if (vectors.beside != 1).any():
                table *= vectors.beside.astype(dtype)[:, None]
        if vectors.base.any():
            table += vectors.base.astype(dtype)[:, None] * self._convolve_with(counts, last, parts, others, products)
        return table

    def _convolve_with(
        self, right: Sums, last: int, parts: Sequence[Sums], others: Sequence[int], products: int
    ) -> Sums:
        """Return products of the others x vectors x codes, given blocks x hashes x vectors of the last attribute."""
        left, own = self._convolve(parts, others, products, right.dtype), right[self.blocks[last]]
        swapped = own.shape[2] < left.shape[2]
        small, large = (own, left) if swapped else (left, own)
        dense = 2 * len(self.place) >= left.shape[0] * self.g
        if dense:
            table = _all_answers(small, large)[self.place, self.reply]
        else:
            table = _answers(small, large, self.place, self.reply)
        return table.transpose(2, 1, 0) if swapped else table.transpose(1, 2, 0)

    def _convolve(self, parts: Sequence[Sums], of: Sequence[int], vectors: int, dtype: npt.DTypeLike) -> Sums:
        """Return seeds x hashes x vectors of several attributes together: hashes add up modulo g."""
        seeds = len(self.blocks[0])
        if not parts:
            whole: Sums = np.zeros((seeds, self.g, vectors), dtype=dtype)
            whole[:, 0] = 1.0
            return whole
        whole, *others = (part[self.blocks[i]] for part, i in zip(parts, of, strict=True))
        for other in others:
            added = np.zeros_like(whole)
            for k in range(self.g):
                added += whole[:, [k]] * np.roll(other, k, axis=1)
            whole = added
        return whole

    def margins(self, axis: int | None, vectors: Sequence[Sums]) -> Sums:
        """Return for each code and cell of one attribute the sum of the other's vector over the cells it supports."""
        others = [i for i in range(len(self.hashes)) if i != axis]
        left, row = np.zeros((1, self.g)), np.zeros(len(self.place), dtype=np.int64)
        left[:, 0] = 1.0
        for i in others:  # one at most: for each block and hash, the sum over the other attribute's cells
            flat = self.hashes[i] + self.g * np.arange(len(self.hashes[i]))[:, None]
            weights = np.broadcast_to(vectors[i], flat.shape).ravel().astype(np.float64)
            size = self.g * len(flat)
            left = np.asarray(np.bincount(flat.ravel(), weights, minlength=size), np.float64).reshape(-1, self.g)
            row = self.blocks[i][self.place]
        if axis is None:
            sums = left[row, self.reply][:, None]
        else:
            rest = self.reply[:, None] - self.hashes[axis].take(self.blocks[axis][self.place], axis=0)
            rest += np.where(rest < 0, self.g, 0) + (self.g * row)[:, None]
            sums = left.ravel().take(rest)
        sums[self.supports_all] = np.prod([vectors[i].sum() for i in others])
        return sums


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
    made = []
    for numbers in alike.values():
        places = np.concatenate([order[ends[number] : ends[number + 1]] for number in numbers])
        made.append((first[numbers], picks[order[ends[numbers[0]] : ends[numbers[0] + 1]], -1], places))
    return made
