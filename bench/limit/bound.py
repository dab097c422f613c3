"""The least variance per report of any channel with an unbiased linear decoder, for a set of questions.

With M = Q'D^-1 Q of a channel Q, D = diag(Q 1), the best linear decoder has mean variance ``(tr(M^-1 A) - tr A) / n``
over uniform records and questions with mean Gram matrix A. Always ``M 1 = 1``, and epsilon-LDP bounds the trace of M.
So

    bound(A) = [ 1'A1/n + (tr sqrt(P A P))**2 / (T - 1) - tr A ] / n,     P = I - 11'/n,

holds for every channel. It is nearly reached for ranges at small epsilon; for single vectors, and at large epsilon, no
channel comes near it, and it may even be negative.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


def most_trace(values: int, epsilon: float) -> float:
    """Return T: the largest trace of M for so many values."""
    grown = math.exp(epsilon)
    best = values / (grown + 1)
    sizes = {max(1, min(values - 1, round(best * factor))) for factor in np.linspace(0.5, 1.5, 41)} | {1}
    return max(values * (k * grown**2 + values - k) / (k * grown + values - k) ** 2 for k in sizes)


def bound_of(gram: Matrix, epsilon: float) -> float:
    """Return the bound for questions with a mean Gram matrix over all values of the joint domain."""
    values = len(gram)
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    roots = np.sqrt(np.maximum(np.linalg.eigvalsh(centred), 0)).sum()
    trace = most_trace(values, epsilon)
    return float((gram.sum() / values + roots**2 / (trace - 1) - np.trace(gram)) / values)
