"""Sums over the cells of several attributes whose hashes add up to an answer, modulo g.

Each attribute's vectors are summed by hash first; sums of products of vectors are then convolutions over the integers
modulo g. Those that combine some vectors with all of some others are one product of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.contract.oracles.base import Cells, Codes, Reader

__all__ = ["HashedCodes"]

Sums = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HashedCodes:
    """Codes of a linear hash: which of some seeds, which answer, and whether it is the code that supports all cells."""

    g: int
    place: Codes
    reply: Codes
    supports_all: npt.NDArray[np.bool_]
    hashes: Sequence[Codes]
    """For each attribute, seeds x cells."""

    def reader(self, dtype: type[np.floating[Any]]) -> Reader:
        """Return what sums products of vectors over the cells that a code supports."""
        marks = [(own[:, None, :] == np.arange(self.g)[:, None]).astype(dtype) for own in self.hashes]

        def read(axes: Sequence[Sums], picks: Cells) -> Sums:
            by_hash = []
            for own, vectors in zip(marks, axes, strict=True):
                sums = own.reshape(-1, own.shape[2]) @ vectors.T.astype(dtype)
                by_hash.append(sums.reshape(*own.shape[:2], len(vectors)))
            combined = _combine_hashes(by_hash, picks, self.place, self.reply)
            if self.supports_all.any():
                every = np.prod([own.sum(axis=1)[picks[:, i]] for i, own in enumerate(axes)], axis=0)
                combined[self.supports_all] = every
            return combined

        return read

    def margins(self, axis: int | None, vectors: Sequence[Sums]) -> Sums:
        """Return for each code and cell of one attribute the sum of the other's vector over the cells it supports."""
        seeds = len(self.hashes[0])
        left = np.zeros((seeds, self.g))  # for each seed and hash, the sum over the other attribute's cells
        left[:, 0] = 1.0
        others = [i for i in range(len(self.hashes)) if i != axis]
        for i in others:
            flat = self.hashes[i] + self.g * np.arange(seeds)[:, None]
            weights = np.broadcast_to(vectors[i], flat.shape).ravel().astype(np.float64)
            left = np.asarray(np.bincount(flat.ravel(), weights, minlength=left.size), np.float64).reshape(left.shape)
        if axis is None:
            sums = left[self.place, self.reply][:, None]
        else:
            rest = self.reply[:, None] - self.hashes[axis][self.place]
            sums = left.ravel()[np.where(rest < 0, rest + self.g, rest) + (self.g * self.place)[:, None]]
        sums[self.supports_all] = np.prod([vectors[i].sum() for i in others])
        return sums


def _combine_hashes(by_hash: Sequence[Sums], picks: Cells, place: Codes, reply: Codes) -> Sums:
    """Return codes x picks: the sums of products of one vector for each attribute, for a code's seed and answer.

    ``by_hash`` has seeds x hashes x vectors of each attribute, ``picks`` the vectors of each product, and ``place`` and
    ``reply`` the seed and answer of each code.
    """
    seeds, g, _ = by_hash[0].shape
    sums = np.empty((len(place), len(picks)), dtype=by_hash[0].dtype)
    dense = 2 * len(place) >= seeds * g
    for rows, columns, chosen in _rectangles(picks.tobytes(), picks.shape[1]):
        last = by_hash[-1][..., columns]
        others = _convolve([own[..., rows[:, i]] for i, own in enumerate(by_hash[:-1])], last, len(rows))
        swapped = len(columns) < len(rows)
        small, large = (last, others) if swapped else (others, last)
        table = _all_answers(small, large)[place, reply] if dense else _answers(small, large, place, reply)
        sums[:, chosen] = (table.transpose(0, 2, 1) if swapped else table).reshape(len(place), len(chosen))
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
    table: Sums = small[place[:, None], left].transpose(0, 2, 1) @ large[place]
    return table


def _convolve(parts: Sequence[Sums], like: Sums, vectors: int) -> Sums:
    """Return seeds x hashes x vectors of several attributes together: hashes add up modulo g."""
    if not parts:
        whole = np.zeros((*like.shape[:2], vectors), dtype=like.dtype)
        whole[:, 0] = 1.0
        return whole
    whole = parts[0]
    for own in parts[1:]:
        added = np.zeros_like(whole)
        for k in range(whole.shape[1]):
            added += whole[:, [k]] * np.roll(own, k, axis=1)
        whole = added
    return whole


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
