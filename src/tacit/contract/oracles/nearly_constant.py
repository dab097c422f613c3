"""Vectors that have one value at all cells but one, as those of groups do: what is read with them needs no product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.contract.oracles.base import Codes

__all__ = ["NearlyConstant"]

Sums = npt.NDArray[np.float64]

ROUNDING = 1e-13
"""Share of a vector's largest number below which a difference is rounding."""


@dataclass(frozen=True, eq=False)
class NearlyConstant:
    """For each vector, whether it is so, its base, and what one cell has beside it."""

    is_so: npt.NDArray[np.bool_]
    base: Sums
    cell: Codes
    beside: Sums

    @classmethod
    def of(cls, vectors: Sums) -> NearlyConstant:
        """Look at vectors; if all but one of the first three agree, the middle one of them does."""
        base = np.sort(vectors[:, :3], axis=1)[:, (min(3, vectors.shape[1]) - 1) // 2]
        away = vectors - base[:, None]
        every, cell = np.arange(len(vectors)), np.abs(away).argmax(axis=1)
        beside = away[every, cell]
        away[every, cell] = 0.0
        is_so = np.abs(away).max(axis=1) <= ROUNDING * np.abs(vectors).max(axis=1)
        return cls(is_so, base, cell, beside)

    def part(self, chosen: Codes) -> NearlyConstant:
        """Return some of the vectors."""
        return NearlyConstant(self.is_so[chosen], self.base[chosen], self.cell[chosen], self.beside[chosen])

    def multiply(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return vectors x rows: the product of each vector, all of which must be nearly constant, with each row."""
        table: npt.NDArray[Any] = rows.take(self.cell, axis=1).T * self.beside.astype(rows.dtype)[:, None]
        table += np.multiply.outer(self.base.astype(rows.dtype), rows.sum(axis=1))
        return table
