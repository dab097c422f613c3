"""What answers about many people reveal about one of them: amplification by shuffling, as a certified upper bound.

An answer is a function of the multiset of people's messages; a message is everything that a person sends. Let M be
the channel from a person's records to the message, `ratio` (p) its worst likelihood ratio, and `share` (gamma) a number
for which

    M[z, y]  >=  gamma (M[x, y] + M[x', y]) / 2      for all records x and x' that a reader tells apart, all z and y.

Then everybody else sends, with probability gamma, what a person with record x or x' (a fair coin) would have sent, and
hides the person among *clones*. With C ~ Bin(people - 1, gamma), A ~ Bin(C, 1/2) and B ~ Bernoulli(p / (p + 1)), the
multiset for x is a random function of (A + B, C - A + 1 - B), and for x' the same function of (A + 1 - B, C - A + B):
no reader tells x from x' better than these two pairs of numbers (Feldman, McMillan and Talwar 2021 and 2023). Given
C = c, with t = c + 1, e = e**epsilon and k the smallest whole number above t (e p - 1) / ((p - 1)(e + 1)), their
hockey-stick divergence is

    d(c)  =  (p - e)/(p + 1) P[Bin(c, 1/2) = k - 1]  -  (e - 1) P[Bin(c, 1/2) >= k],        delta = E d(C).

d(c) does not grow with c, since one more clone is a random function of what was there; so C may be rounded down. For
the same reason delta does not grow with people or gamma, nor fall with p: each may be rounded in the safe direction.

Certified means: p, gamma, e and k are exact or rounded in the safe direction. Probabilities are products, quotients and
sums of positive doubles, normalised by their own sum: n such operations, in any order, are wrong by at most a factor
1 + n 2**-53 and terms that `_slack` covers. What truncated sums leave out is bounded by geometric series.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tacit.contract.budget import BudgetLike, exact_number, exp_below, log_above
from tacit.errors import UsageError

__all__ = ["DELTA", "MAX_CROWD", "Crowd", "central_epsilon", "parse_delta", "rounded_crowd"]

DELTA = Fraction(1, 10**8)
"""The default delta: the central bound fails with probability below one in a hundred million."""

MAX_CROWD = 10**10
"""Larger crowds are treated as this many people, which can only increase the bound."""

CROWD_DIGITS = 3
"""Significant digits of people; the rest is rounded down, so that answers about a growing crowd share a bound."""

EPSILON_DIGITS = 4
"""Significant digits of a central epsilon, which is rounded up."""

WORTH = 0.95
"""Share of the local epsilon above which a central epsilon, which fails with probability delta, is not stated."""

FINENESS = 256
"""Bits that ratio and share keep: a person's ratio over many reports has thousands."""

BLOCKS = 400
"""Numbers of clones that are examined; those between two of them are rounded down."""

ENTRIES = 4_000_000
"""Probabilities in memory at once: 64 MB."""

UNIT = 2.0**-53
"""Relative error of one rounded operation."""

Vector = npt.NDArray[np.float64]


def parse_delta(delta: BudgetLike) -> Fraction:
    """Return delta as the exact decimal the user wrote."""
    try:
        exact = exact_number(delta)
    except (ValueError, ZeroDivisionError):
        exact = Fraction(0)
    if not Fraction(1, 10**30) <= exact <= Fraction(1, 10):
        message = "delta must be a number from 1e-30 to 0.1, such as 1e-8: the chance that the central bound fails."
        raise UsageError(message, code="bad-option")
    return exact


def rounded_crowd(people: int) -> int:
    """Return the people that a bound is computed for: three digits, rounded down.

    Examples
    --------
    >>> rounded_crowd(1_234_567)
    1230000
    """
    unit = int(10 ** max(0, len(str(people)) - CROWD_DIGITS))
    return min(people // unit * unit, MAX_CROWD)


def central_epsilon(ratio: Fraction, share: Fraction, people: int, delta: Fraction = DELTA) -> float | None:
    """Return a central epsilon that certainly holds at delta, rounded up; None if it is hardly below the local one.

    Parameters
    ----------
    ratio : Fraction
        The worst likelihood ratio of everything that a person sends.
    share : Fraction
        The probability with which somebody else's message is a clone's.
    people : int
        The number of people whom a reader cannot distinguish, including the person.
    """
    if ratio == 1:
        return None
    return _solve(_outward(ratio), -_outward(-share), rounded_crowd(people), delta)


def _outward(value: Fraction) -> Fraction:
    """Round up to `FINENESS` bits."""
    bits = value.denominator.bit_length()
    if bits <= FINENESS:
        return value
    scale = 1 << (FINENESS + max(0, bits - value.numerator.bit_length()))
    return Fraction(math.ceil(value * scale), scale)


@lru_cache(maxsize=256)
def _solve(ratio: Fraction, share: Fraction, people: int, delta: Fraction) -> float | None:
    local = log_above(ratio)
    crowd = Crowd.of(ratio, share, people, delta)
    if crowd.delta(local * WORTH) > delta:
        return None
    low, high = local * 1e-9, local
    while high > low * (1 + 10.0 ** -(EPSILON_DIGITS + 1)):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if crowd.delta(middle) > delta else (low, middle)
    unit = 10.0 ** (math.floor(math.log10(high)) + 1 - EPSILON_DIGITS)
    for steps in range(math.ceil(high / unit), math.ceil(local * WORTH / unit) + 2):
        rounded = float(f"{steps * unit:.{EPSILON_DIGITS}g}")
        if crowd.delta(rounded) <= delta:  # for the returned, rounded number
            return rounded
    return None


def _slack(operations: int) -> float:
    """Return a bound on the relative error of a number of operations with positive doubles, and a margin."""
    return (operations + 64) * UNIT * 1.01


@dataclass(frozen=True, eq=False)
class Crowd:
    """People who hide one of them; `delta` of any epsilon is a lookup.

    For each number of clones c that is examined, ``exactly`` holds the probabilities of Bin(c, 1/2), rounded up, from
    its middle on, and ``above`` those of larger values, rounded down; ``start`` is where those of c begin, ``last``
    where they end. ``fewer`` is the probability of fewer clones than c, rounded up.
    """

    ratio: Fraction
    clones: tuple[int, ...]
    fewer: Vector
    exactly: Vector
    above: Vector
    start: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]

    @classmethod
    def of(cls, ratio: Fraction, share: Fraction, people: int, delta: Fraction) -> Crowd:
        """Return the crowd of a number of people; ``delta`` determines how far into the tails to look."""
        depth = math.log(1 / delta) + 40
        first, fewer = _fewer(people - 1, share, depth)
        most = min(int(np.searchsorted(fewer, 0.999)), len(fewer) - 1)  # the rare larger numbers count as this one
        width = math.ceil(math.sqrt(depth * (first + most + 1) / 2)) + 50
        blocks = min(most + 1, BLOCKS, max(24, ENTRIES // width))
        places = np.unique(np.linspace(0, most, blocks).round().astype(np.int64))
        clones = tuple(first + int(place) for place in places)
        coins = [_coins(c, width) for c in clones]
        ends = np.cumsum([len(exactly) for exactly, _ in coins])
        start = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
        exactly, above = (np.concatenate(parts) for parts in zip(*coins, strict=True))
        return cls(ratio, clones, fewer[places], exactly, above, start, ends - 1)

    def delta(self, epsilon: float) -> float:
        """Return a delta with which a central epsilon certainly holds."""
        p, e = self.ratio, exp_below(Fraction(epsilon))
        if e >= p:
            return 0.0
        gain, loss = _up((p - e) / (p + 1)), -_up(1 - e)
        top, bottom = (e * p - 1), (p - 1) * (e + 1)
        numerator, denominator = top.numerator * bottom.denominator, top.denominator * bottom.numerator
        beyond = [numerator * (c + 1) // denominator - (c + 1) // 2 for c in self.clones]  # k - 1, from the middle on
        place = np.minimum(self.start + beyond, self.last)  # further out probabilities are smaller
        first, second = gain * self.exactly[place], loss * self.above[place]
        excess = np.clip((first * (1 + 4 * UNIT) - second * (1 - 4 * UNIT)) * (1 + 4 * UNIT), 0.0, 1.0)
        excess = np.maximum.accumulate(excess[::-1])[::-1]  # true values fall with clones
        falls = np.concatenate((np.ones(1), excess[:-1])) - excess
        return min(1.0, float((falls * self.fewer).sum() + excess[-1]) * (1 + _slack(4 * len(excess))))


def _coins(clones: int, width: int) -> tuple[Vector, Vector]:
    """Return P[Bin(clones, 1/2) = i], rounded up, and P[> i], rounded down, from the middle on, ``width`` at most."""
    middle = (clones + 1) // 2
    steps = min(clones - middle, width)
    i = np.arange(steps, dtype=np.float64)
    terms = np.concatenate((np.ones(1), np.cumprod((clones - middle - i) / (middle + i + 1))))
    total = float(2 * terms.sum() - (clones % 2 == 0))
    step = (clones - middle - steps) / (middle + steps + 1)
    beyond = 2 * float(terms[-1]) * step / (1 - step)
    slack = _slack(6 * len(terms))
    above = np.concatenate((np.cumsum(terms[:0:-1])[::-1], np.zeros(1)))
    return terms / total * (1 + slack), above / (total + beyond) * (1 - slack)


def _fewer(trials: int, share: Fraction, depth: float) -> tuple[int, Vector]:
    """Return a first number, and from it on the probability that Bin(trials, share) is smaller, rounded up."""
    if share >= 1:
        return trials, np.zeros(1)
    mode = int((trials + 1) * share)
    reach = math.ceil(math.sqrt(2 * depth * (float(trials * share * (1 - share)) + 1)) + depth)
    first, last = max(0, mode - reach), min(trials, mode + reach)
    odds = float(share / (1 - share))
    up = np.arange(mode, last, dtype=np.float64)
    down = np.arange(mode, first, -1, dtype=np.float64)
    rising = np.cumprod((trials - up) / (up + 1) * odds)
    falling = np.cumprod(down / (trials - down + 1) / odds)
    terms = np.concatenate((falling[::-1], np.ones(1), rising))
    step = first / (trials - first + 1) / odds
    below = float(terms[0]) * step / (1 - step) if first else 0.0
    sums = np.concatenate((np.zeros(1), np.cumsum(terms[:-1]))) + below
    return first, np.minimum(1.0, sums / terms.sum() * (1 + _slack(10 * len(terms))))


def _up(value: Fraction) -> float:
    """Return a double that is not below a fraction."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
