"""The comparator: square wave reporting with EM and smoothing (Li et al., SIGMOD 2020), from the paper's description.

A value v in [0, 1] is reported as a number in [-b, 1 + b]: within b of v with e**epsilon times the density that it has
elsewhere, b as large as says most. Reports are counted in as many bins as there are values. Expectation maximisation
finds the distribution, and after each step every value is averaged with its neighbours, by 1, 2, 1.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["square_wave"]

Vector = npt.NDArray[np.float64]

MOST_STEPS = 10_000


def square_wave(counts: Vector, epsilon: float, rng: np.random.Generator) -> Vector:
    """Report everybody, given how many have each value, and return the estimated shares of values."""
    size, grown = len(counts), math.exp(epsilon)
    reach = (epsilon * grown - grown + 1) / (2 * grown * (grown - 1 - epsilon))
    channel = _channel(size, reach, grown)
    seen = sum(rng.multinomial(int(people), column) for people, column in zip(counts, channel.T, strict=True))
    return _estimate(channel, np.asarray(seen, dtype=np.float64))


def _channel(size: int, reach: float, grown: float) -> Vector:
    """Return outputs x values: the probability of each bin of reports for a value at the middle of its own."""
    low = 1 / (2 * reach * grown + 1)
    edges = np.linspace(-reach, 1 + reach, size + 1)
    middle = (np.arange(size) + 0.5) / size
    near = np.clip(
        np.minimum(edges[1:, None], middle + reach) - np.maximum(edges[:-1, None], middle - reach), 0.0, None
    )
    made: Vector = low * np.diff(edges)[:, None] + low * (grown - 1) * near
    return made / made.sum(axis=0)


def _estimate(channel: Vector, seen: Vector) -> Vector:
    """Return the smoothed maximum likelihood: steps until the log-likelihood of all reports hardly changes."""
    shares = np.full(channel.shape[1], 1 / channel.shape[1])
    before = -math.inf
    for _ in range(MOST_STEPS):
        expected = channel @ shares
        likelihood = float(seen @ np.log(expected))
        if abs(likelihood - before) < 1e-3:
            break
        before = likelihood
        shares = shares * (channel.T @ (seen / expected))
        padded = np.concatenate([shares[:1], shares, shares[-1:]])
        shares = padded[:-2] + 2 * padded[1:-1] + padded[2:]
        shares /= shares.sum()
    return shares
