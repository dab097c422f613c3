"""What hashes to GF(4), GF(8) or GF(9) would save: the noise of whole contracts, with prime powers and with primes.

Run ``python -m bench.limit.powers``. A hash to g values has noise ``(E + g - 1)**2 / ((g - 1) (E - 1)**2)`` per report;
views that another oracle serves better than any hash keep it. See decision 0102.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

import tacit as tc
from bench.common import say
from tacit.contract.oracles.linear_hash import best_prime

POWERS = (4, 8, 9, 16, 25, 27, 32, 49, 64, 81)
DOMAINS = ((64,), (256,), (16, 16), (64, 64), (32, 32, 32))


def noise(grown: float, g: int) -> float:
    """Return the noise of a hash to g values."""
    return (grown + g - 1) ** 2 / ((g - 1) * (grown - 1) ** 2)


def best(grown: float) -> tuple[int, int]:
    """Return the best prime, and the best prime or prime power."""
    prime = best_prime(Fraction(grown))
    return prime, min((prime, *POWERS), key=lambda g: noise(grown, g))


def saved(sizes: tuple[int, ...], epsilon: float) -> float:
    """Return the share of its noise that a contract would save, in the geometric mean over reports."""
    attributes = [tc.Ordinal(f"a{i}", 0, size - 1) for i, size in enumerate(sizes)]
    schema = tc.Schema([tc.Service("s", key="uid", attributes=attributes)])
    channel = tc.Collection(schema, epsilon).contract["s"].channels[0]
    grown = math.exp(epsilon)
    prime, power = best(grown)
    total = 0.0
    for number, view in enumerate(channel.views):
        cells = view.oracle.domain
        if cells <= power:
            continue
        now = min(float(view.oracle.noise), noise(grown, prime) - 1 / cells)
        then = min(now, noise(grown, power) - 1 / cells)
        total += float(channel.probability(number)) * math.log(then / now)
    return 1 - math.exp(total)


def main() -> None:
    """Print the largest gain of a single hash, and that of contracts."""
    grid = np.linspace(0.1, 4.2, 2_000)
    gains = [1 - noise(math.exp(e), best(math.exp(e))[1]) / noise(math.exp(e), best(math.exp(e))[0]) for e in grid]
    say(f"one hash: {max(gains):.1%} at epsilon {grid[int(np.argmax(gains))]:.2f}, {np.mean(gains):.1%} on average")
    for sizes in DOMAINS:
        said = ", ".join(f"{saved(sizes, epsilon):.1%} at {epsilon}" for epsilon in (0.5, 1.0, 2.0, 4.0))
        say(f"{' x '.join(map(str, sizes))}: {said}")


if __name__ == "__main__":
    main()
