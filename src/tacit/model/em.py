"""Expectation maximisation over separate reports of several attributes (EM of the CALM paper).

Every person reports every attribute by itself. The chance of a person's codes, given the values, is a product of the
channels', so the frequencies that make all reports likeliest are found by sharing each person out among the
combinations of values there may be, in proportion, again and again. The start is the closed form: the product of the
attributes' own inversions, unbiased, with what is negative set to zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tacit.contract.oracles import Oracle
from tacit.errors import UnanswerableError
from tacit.model.basis import Array
from tacit.model.coefficients import along
from tacit.model.nonnegative import norm_sub

__all__ = ["Likeliest", "likeliest", "rows_of"]

ROUNDS = 1000
STILL = 1e-5
"""Change of a frequency below which the search stops."""

MOST_EM_CELLS = 2**22
"""Combinations of codes that are counted."""


@dataclass(frozen=True, eq=False)
class Likeliest:
    """A table, its unbiased start, and how many rounds it took."""

    table: Array
    start: Array
    rounds: int

    @property
    def converged(self) -> bool:
        """Whether the last round changed next to nothing."""
        return self.rounds < ROUNDS


@lru_cache(maxsize=256)
def rows_of(oracle: Oracle) -> Array:
    """Return codes x cells: the chance of each code, given the cell."""
    cells, codes = range(oracle.domain), range(oracle.alphabet)
    weights = [[oracle.weight(cell, code) / oracle.denominator for cell in cells] for code in codes]
    return np.array(weights)


def likeliest(oracles: Sequence[Oracle], counts: npt.NDArray[np.int64]) -> Likeliest:
    """Return the frequencies under which these counts of codes are likeliest.

    There is an axis for each attribute; leading ones are counts by themselves.
    """
    if math.prod(one.alphabet for one in oracles) > MOST_EM_CELLS:
        message = "Expectation maximisation enumerates all combinations of codes; these attributes have too many."
        raise UnanswerableError(message, code="table-too-large")
    axes = tuple(range(counts.ndim - len(oracles), counts.ndim))
    seen = counts / counts.sum(axis=axes, keepdims=True)
    chances = [rows_of(one) for one in oracles]
    inverses: list[Array] = [
        (one.support(np.arange(one.alphabet)).T.astype(np.float64) - float(one.lie)) / float(one.keep - one.lie)
        for one in oracles
    ]
    start = along(seen, inverses)
    cells = math.prod(one.domain for one in oracles)
    table = norm_sub(start.reshape(*start.shape[: axes[0]], cells)).reshape(start.shape)
    table = 0.9 * table + 0.1 / cells  # what starts at zero stays there
    rounds, change = 0, np.inf
    while change > STILL and rounds < ROUNDS:
        rounds += 1
        expected = along(table, chances)
        ratio = np.divide(seen, expected, out=np.zeros_like(seen), where=expected > 0)
        after = table * along(ratio, [matrix.T for matrix in chances])
        change = np.abs(after - table).max()
        table = after
    return Likeliest(table, start, rounds)
