"""Vectors over the integers modulo g, written as numbers in base g: digits, inner products, multiples."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tacit.contract.oracles.base import Codes, remainder

__all__ = ["DOT_TABLE", "digits_for", "dot", "multiples"]

DOT_TABLE = 1024
"""Largest side of a table of inner products: a million bytes, which stay in a processor's second-level cache."""


def digits_for(cells: int, g: int) -> int:
    """Return how many digits in base g tell ``cells`` cells apart."""
    digits = 0
    while g**digits < cells:
        digits += 1
    return digits


def dot(g: int, digits: int, left: Codes, right: Codes) -> Codes:
    """Return inner products modulo g of vectors of few digits: by table, or of single digits for large g."""
    if g > DOT_TABLE:
        return remainder(left * right, g)
    table = _dot_table(g, digits)
    products: Codes = table.ravel()[left * len(table) + right]
    return products


@lru_cache(maxsize=16)
def _dot_table(g: int, digits: int) -> npt.NDArray[np.uint16]:
    """Return inner products modulo g of all pairs of vectors of ``digits`` digits."""
    table = np.zeros((1, 1), dtype=np.uint16)
    low = np.multiply.outer(np.arange(g), np.arange(g)) % g
    for _ in range(digits):  # a leading digit is added to all shorter vectors
        side = len(table)
        blocks = (low[:, None, :, None] + table[None, :, None, :]) % g
        table = blocks.reshape(side * g, side * g).astype(np.uint16)
    return table


def multiples(g: int, digits: int, vector: Codes) -> Codes:
    """Return k s for vectors s of some digits and k = 0..g//2, digit by digit modulo g."""
    scale = np.arange(g // 2 + 1)
    result = np.zeros((len(vector), len(scale)), dtype=np.int64)
    for place in range(digits):
        digit = vector // g**place % g
        result += digit[:, None] * scale % g * g**place
    return result
