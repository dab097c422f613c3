"""Support of the cells of some attributes by codes of a linear hash: the others are summed out, without their cells.

What a code adds to a cell of the wanted attributes is how many cells of the others complete its answer: a row of the
convolution of their hashes. Rows of codes whose seeds hash the wanted attributes alike are added up first; then each
cell reads one number of each row, or all rows are one Fourier transform.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tacit.contract.oracles.base import Codes
from tacit.contract.oracles.digits import multiples
from tacit.contract.oracles.hash_sums import HashedCodes

__all__ = ["margin_tally"]

ROWS_AT_ONCE = 2**21
"""Numbers of rows, and rows times cells, that are handled at once: 16 MiB."""

CODES_AT_ONCE = 2**17
"""Codes that are hashed at once: their waves take 60 MB for a hundred hashes."""

MOST_POINTS = 2**24
"""Points of a Fourier transform: a quarter of a gigabyte."""

Sums = npt.NDArray[np.float64]


def margin_tally(
    hash_codes: Callable[[Codes], HashedCodes],
    points: Sequence[Codes],
    places: Sequence[int],
    wanted: Sequence[int],
    codes: Codes,
    people: Sums,
    beside: Sequence[Sums],
) -> Sums:
    """Return how many people support each cell of the wanted attributes, summed over the cells of the others.

    ``points`` are the cells of every attribute, as numbers of some ``places``; those of the others are weighted by the
    vectors ``beside``.
    """
    telling, sizes = np.flatnonzero(codes), list(map(len, points))
    others = math.prod(float(vector.sum()) for i, vector in enumerate(beside) if i not in wanted)
    total = np.full(math.prod(sizes[i] for i in wanted), float(people[codes == 0].sum()) * others)
    for start in range(0, len(telling), CODES_AT_ONCE):
        batch = telling[start : start + CODES_AT_ONCE]
        hashed = hash_codes(codes[batch])
        blocks, rows = _add_up_rows(hashed, wanted, beside, people[batch])
        size = hashed.g ** sum(places[i] for i in wanted)
        if size <= MOST_POINTS and size * size.bit_length() < len(rows) * len(total):
            digits = [hashed.digits[i][block] for i, block in zip(wanted, blocks, strict=True)]
            total += _transform_rows(digits, [places[i] for i in wanted], [points[i] for i in wanted], rows)
        else:
            total += _read(hashed, wanted, blocks, rows)
    return total


def _add_up_rows(
    hashed: HashedCodes, wanted: Sequence[int], beside: Sequence[Sums], people: Sums
) -> tuple[list[Codes], Sums]:
    """Return the blocks of the wanted attributes that occur together, and how many people leave them each hash."""
    count = [len(digits) for digits in hashed.digits]
    place = np.zeros(len(hashed.place), dtype=np.int64)
    for i in wanted:
        place = place * count[i] + hashed.blocks[i][hashed.place]
    together, row = np.unique(place, return_inverse=True)
    order = np.argsort(row, kind="stable")
    rows = np.zeros((len(together), hashed.g))
    completing, seed = hashed.completing([i for i in range(len(count)) if i not in wanted], beside)
    step = max(1, ROWS_AT_ONCE // hashed.g)
    for start in range(0, len(order), step):
        batch = order[start : start + step]
        left = hashed.reply[batch, None] - np.arange(hashed.g)
        left += np.where(left < 0, hashed.g, 0) + (hashed.g * seed[batch])[:, None]
        first = np.flatnonzero(np.diff(row[batch], prepend=-1))
        rows[row[batch[first]]] += np.add.reduceat(people[batch, None] * completing.ravel().take(left), first, axis=0)
    blocks: list[Codes] = []
    for i in reversed(wanted):
        together, block = np.divmod(together, count[i])
        blocks.insert(0, block)
    return blocks, rows


def _transform_rows(digits: Sequence[Codes], places: Sequence[int], points: Sequence[Codes], rows: Sums) -> Sums:
    """Return the sum over rows of the number at each cell's hash, by one Fourier transform of all rows."""
    g, vector = rows.shape[1], np.zeros(len(rows), dtype=np.int64)
    for part, count in zip(digits, places, strict=True):
        vector = vector * g**count + part
    at, size = multiples(g, sum(places), vector)[:, 1:].ravel(), g ** sum(places)
    waves = np.fft.rfft(rows, axis=1)[:, 1:].ravel() * (2 / g if g > 2 else 1 / g)
    spectrum = np.bincount(at, waves.real, size) + 1j * np.bincount(at, waves.imag, size)
    values = np.fft.ifftn(spectrum.reshape((g,) * sum(places))).real * size + rows.mean(axis=1).sum()
    return np.asarray(values.reshape([g**count for count in places])[np.ix_(*points)].ravel())


def _read(hashed: HashedCodes, wanted: Sequence[int], blocks: Sequence[Codes], rows: Sums) -> Sums:
    """Return the sum over rows of the number at each cell's hash, cell by cell."""
    g, sizes = hashed.g, [hashed.hash.sizes[i] for i in wanted]
    total = np.zeros(math.prod(sizes))
    step = max(1, ROWS_AT_ONCE // total.size)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        at = np.zeros((len(rows[part]), 1), dtype=np.int64)
        for i, block in zip(wanted, blocks, strict=True):
            hashes = hashed.hash.cell_hashes(i, hashed.digits[i][block[part]])
            at = (at[:, :, None] + hashes[:, None, :]).reshape(len(at), -1)
            at -= np.where(at >= g, g, 0)
        at += g * np.arange(len(at))[:, None]
        total += rows[part].ravel().take(at).sum(axis=0)
    return total
