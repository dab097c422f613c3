"""The least variance per report of any channel with an unbiased linear decoder, for a set of questions.

With M = Q'D^-1 Q of a channel Q, D = diag(Q 1), the best linear decoder has mean variance ``(tr(M^-1 A) - tr A) / n``
over uniform records and questions with mean Gram matrix A. Always ``M 1 = 1``, and epsilon-LDP bounds the trace of M.
So

    bound(A) = [ 1'A1/n + (tr sqrt(P A P))**2 / (T - 1) - tr A ] / n,     P = I - 11'/n,

holds for every channel. It is nearly reached for ranges at small epsilon; for single vectors, and at large epsilon, no
channel comes near it, and it may even be negative.

**Ranges of one attribute at large epsilon.** There the bound is loose: it lets M spread its trace over eigenvectors as
it likes, but rows that tell much about wide ranges hold runs of values, and those have less trace. Up to constants a
range and its complement are one question. So all ranges of n values are the arcs of a cycle, but for n - 1 that only
add to A: ``P A P >= 2 / (n (n + 1)) B`` with B circulant, and because ``M <= I``, the variance of B is a lower limit.
The best M for B is circulant, too: the problem is convex, and stays the same if the cycle is turned. A row that is
E = e**epsilon on a set S of k values, and 1 elsewhere, turned n times, has at frequency f the eigenvalue
``mu_f = (E - 1)**2 |S_f|**2 / (n + (E - 1) k)**2``, where S_f is the Fourier transform of S. By Cauchy and Schwarz, for
any g_f >= 0,

    sum_f beta_f / mu_f >= (sum_f sqrt(beta_f g_f))**2 / max_S sum_f g_f mu_f,   beta_f = n / (4 sin(pi f / n)**2).

Let g be the transform of a kernel that is convex in the distance from 1 to n - 1. Then of all S with k values a run has
the largest ``sum_f g_f |S_f|**2``. For consider the distances along the cycle from each element of S to the r-th next
one. There are k of them, between r and n - k + r, and they add up to r n. Those of a run are the ends of that interval,
k - r times r and r times n - k + r, where the sum of a convex function is largest. So the maximum over all channels is
one over n - 1 runs. Kernels are ``delta + part * max(0, width - distance)``, whose best width and part are searched;
without the part it is the bound by the trace.
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


def bound_of_ranges(values: int, epsilon: float) -> float:
    """Return a bound for all ranges of one attribute that is much larger at large epsilon."""
    grown = math.exp(epsilon) - 1
    frequency, lengths = np.arange(1, values // 2 + 1), np.arange(1, values)
    times = np.where(2 * frequency == values, 1.0, 2.0)
    wanted = values / (4 * np.sin(np.pi * frequency / values) ** 2)
    waves = np.sin(np.pi * np.multiply.outer(frequency, lengths) / values) ** 2
    waves /= np.sin(np.pi * frequency / values)[:, None] ** 2
    told = grown**2 * waves / (values + grown * lengths) ** 2
    best = 0.0
    for width in sorted({max(1, round(values / 2 * share)) for share in np.geomspace(0.05, 1, 24)}):
        for part in (0.0, *np.geomspace(1e-6, 10, 60)):
            kernel = 1 + part * waves[:, width - 1]
            most = float(((times * kernel) @ told).max())
            best = max(best, float(times @ np.sqrt(wanted * kernel)) ** 2 / most)
    return (best - float(times @ wanted)) * 2 / (values**2 * (values + 1))
