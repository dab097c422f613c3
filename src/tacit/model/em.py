"""Expectation maximisation over separate reports of several attributes (EM of the CALM paper).

Every person reports every attribute separately. The probability of a person's codes given the values is the product
over channels, so the maximum-likelihood frequencies are found by repeatedly distributing each person over the possible
combinations of values in proportion to their posterior. The start is the closed form: the product of the attributes'
separate inversions, unbiased, with negative values set to zero.
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
from tacit.estimate.functional import Vector
from tacit.model.evidence import along
from tacit.model.nonnegative import norm_sub

__all__ = ["Likeliest", "likeliest", "rows_of"]

ROUNDS = 1000
"""Maximum iterations of expectation maximisation."""

STILL = 1e-5
"""Change of a frequency below which the iteration stops."""

MOST_EM_CELLS = 2**22
"""Maximum combinations of codes."""


@dataclass(frozen=True, eq=False)
class Likeliest:
    """A table, its unbiased start, and the number of iterations."""

    table: Vector
    start: Vector
    rounds: int

    @property
    def converged(self) -> bool:
        """Whether the last iteration changed almost nothing."""
        return self.rounds < ROUNDS


@lru_cache(maxsize=256)
def rows_of(oracle: Oracle) -> Vector:
    """Return codes x cells: the probability of each code, given the cell."""
    cells, codes = range(oracle.domain), range(oracle.alphabet)
    weights = [[oracle.weight(cell, code) / oracle.denominator for cell in cells] for code in codes]
    return np.array(weights)


def likeliest(oracles: Sequence[Oracle], counts: npt.NDArray[np.int64]) -> Likeliest:
    """Return the frequencies of maximum likelihood for these counts of codes.

    There is an axis for each attribute; leading axes are independent problems.
    """
    if math.prod(oracle.alphabet for oracle in oracles) > MOST_EM_CELLS:
        message = "Expectation maximisation enumerates all combinations of codes; these attributes have too many."
        raise UnanswerableError(message, code="table-too-large")
    axes = tuple(range(counts.ndim - len(oracles), counts.ndim))
    seen = counts / counts.sum(axis=axes, keepdims=True)
    chances = [rows_of(oracle) for oracle in oracles]
    inverses: list[Vector] = [
        (oracle.support(np.arange(oracle.alphabet)).T.astype(np.float64) - float(oracle.lie))
        / float(oracle.keep - oracle.lie)
        for oracle in oracles
    ]
    start = along(seen, inverses)
    cells = math.prod(oracle.domain for oracle in oracles)
    table = norm_sub(start.reshape(*start.shape[: axes[0]], cells)).reshape(start.shape)
    table = 0.9 * table + 0.1 / cells  # a zero start stays zero
    rounds, change = 0, np.inf
    while change > STILL and rounds < ROUNDS:
        rounds += 1
        expected = along(table, chances)
        ratio = np.divide(seen, expected, out=np.zeros_like(seen), where=expected > 0)
        after = table * along(ratio, [matrix.T for matrix in chances])
        change = np.abs(after - table).max()
        table = after
    return Likeliest(table, start, rounds)
