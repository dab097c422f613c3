"""Test whether views and seeds are as evenly distributed as those of honest reports, independently of the data.

The view of a report and the seed of its hash are drawn (or assigned) independently of the record. So the number of
reports of each view, and of each seed within a view, is multinomial with probabilities that the contract states,
whatever the population is. Liars who all send the code that moves an answer most make one seed of one view **too
frequent**; made-up reports that cycle through codes are **too even**.

Where counts are 5 or more on average, Pearson's statistic is tested, as a normal deviate by the Wilson-Hilferty
formula; the statistics of all views are added up. Where there are more seeds than that, pairs of reports with equal
seeds are counted: about Poisson with mean n (n - 1) / (2 seeds), tested by their deviance. The alarm threshold is 5
standard deviations on either side, which honest reports exceed a few times in a million.

It cannot detect liars who draw view and seed honestly and choose only the answer: they look like a population. Channels
with one view and no seeds cannot be tested.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.contract.contract import Channel
from tacit.contract.oracles import Oracle
from tacit.contract.oracles.base import Codes
from tacit.contract.oracles.linear_hash import LinearHash
from tacit.contract.oracles.local_hash import SEEDS, LocalHash
from tacit.estimate.functional import Vector

__all__ = ["Evenness", "evenness_of"]

ALARM = 5.0
"""Alarm threshold, in standard deviations."""

ENOUGH = 5.0
"""Minimum expected reports of a view or seed for Pearson's statistic; views with fewer are merged."""


@dataclass(frozen=True)
class Evenness:
    """Deviations of views and seeds from their expected frequencies, in standard deviations; NaN where not tested."""

    views: float
    seeds: float

    @property
    def problem(self) -> str:
        """The problem in words; empty if there is none."""
        for label, distance in (("views", self.views), ("seeds of hashes", self.seeds)):
            if distance > ALARM:
                return f"some {label} are too frequent ({distance:.0f} standard deviations)"
            if distance < -ALARM:
                return f"{label} are too even ({-distance:.0f} standard deviations)"
        return ""


def evenness_of(channel: Channel, codes: Codes, people: Vector) -> Evenness:
    """Return how even the reports of a channel are, given the count of each code, in order of codes."""
    bounds = np.searchsorted(codes, [view.offset for view in channel.views] + [channel.alphabet])
    totals = np.concatenate(([0.0], np.cumsum(people)))[bounds]
    counts = np.diff(totals)
    share = np.array([channel.probability(index) for index in range(len(channel.views))])
    parts = []
    for view, start, end in zip(channel.views, bounds[:-1], bounds[1:], strict=True):
        seed = _seeds(view.oracle, codes[start:end] - view.offset)
        if seed is not None and end > start:
            numbers, count = seed
            first = np.flatnonzero(np.diff(numbers, prepend=-1))  # in the order of codes
            parts.append((np.add.reduceat(people[start:end], first).astype(np.float64), count))
    return Evenness(_views(counts, share), _together(parts))


def _seeds(oracle: Oracle, codes: Codes) -> tuple[Codes, int] | None:
    """Return the seed of each code and the number of seeds; None for oracles without seeds."""
    if isinstance(oracle, LinearHash) and oracle.seeds > 1:
        return np.maximum(codes - 1, 0) // oracle.g, oracle.seeds
    return (codes // oracle.g, SEEDS) if isinstance(oracle, LocalHash) else None


def _views(counts: Vector, share: Vector) -> float:
    """Return the deviation of the numbers of reports per view from their probabilities."""
    n = float(counts.sum())
    rare = n * share < ENOUGH
    expected = np.append(n * share[~rare], n * share[rare].sum())
    observed = np.append(counts[~rare], counts[rare].sum())
    enough = expected >= ENOUGH
    if enough.sum() < 2:
        return math.nan
    statistic = float(((observed - expected) ** 2 / np.maximum(expected, ENOUGH))[enough].sum())
    return _normal(statistic, int(enough.sum()) - 1)


def _together(parts: list[tuple[Vector, int]]) -> float:
    """Return the deviation of seeds from equal frequencies, over all views: the worse of two tests."""
    statistic = pairs = expected = 0.0
    degrees = 0
    for counts, seeds in parts:
        n = float(counts.sum())
        if n >= ENOUGH * seeds:
            statistic, degrees = statistic + seeds / n * float((counts**2).sum()) - n, degrees + seeds - 1
        else:
            pairs, expected = pairs + float((counts * (counts - 1)).sum()) / 2, expected + n * (n - 1) / (2 * seeds)
    scores = [_normal(statistic, degrees)] if degrees else []
    scores += [_deviance(pairs, expected)] if expected else []
    return max(scores, key=abs, default=math.nan)


def _normal(statistic: float, degrees: int) -> float:
    """Return a chi-square statistic as a standard normal deviate (Wilson and Hilferty)."""
    spread = 2 / (9 * degrees)
    return float(((statistic / degrees) ** (1 / 3) - (1 - spread)) / math.sqrt(spread))


def _deviance(count: float, mean: float) -> float:
    """Return the signed root of the deviance of a count from a Poisson mean."""
    logarithm = count * math.log(count / mean) if count else 0.0
    return math.copysign(math.sqrt(max(0.0, 2 * (logarithm - (count - mean)))), count - mean)
