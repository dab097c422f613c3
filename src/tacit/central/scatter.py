"""How people are divided over a tree of boxes, from noisy counts of some of them.

From the root down, a box's people are divided between its halves: evenly, plus a deviation. How large deviations are is
learned, depth by depth, from the counts themselves: a mixture of normal distributions with scales from 0 to the box's
own count, fitted by EM. The deviation is its posterior mean, so that people are spread evenly where the counts show
nothing beyond noise, and no count is negative. Where halves were not counted, all people may be in one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.central.halving import Halving
from tacit.estimate.functional import Vector

__all__ = ["Counted", "Division", "combine", "read"]

Counted = tuple[Vector, Vector]
"""Counts and their variances, of all boxes of a depth; what was not counted is 0, and its variance infinite."""

SCALES = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 13)])
"""Standard deviations of a deviation in the mixture, over the largest possible one."""

STEPS, LEARNED_FROM = 40, 2**15
"""Steps of EM, and how many boxes of a depth it uses."""

HIDDEN = 1.0
"""Least posterior variance, over what noise and a box's own count leave open: the prior is learned from all boxes of a
depth, and a single one may differ."""


@dataclass(frozen=True, eq=False)
class Division:
    """What the counts say, by depth: the people of every box; and for every box, its deviation."""

    people: list[Vector]
    variances: list[Vector]
    """Posterior variances of people."""
    spreads: list[Vector]
    """Posterior variances of deviations."""
    residuals: list[Vector]
    """What the counts alone would add to them."""
    noises: list[Vector]
    """Variances of what the counts alone say."""


def combine(first: Counted, second: Counted) -> Counted:
    """Return the estimates of least variance from two independent ones."""
    (count, variance), (other, noise) = first, second
    with np.errstate(invalid="ignore"):
        both = np.where(variance + noise > 0, variance + noise, 1.0)
        weight = np.where(np.isinf(noise), 1.0, noise / both)
        left = np.where(np.isinf(noise), variance, np.where(np.isinf(variance), noise, variance * noise / both))
    return weight * count + (1 - weight) * other, left


def subtrees(halving: Halving, counted: list[Counted | None]) -> list[Counted]:
    """Return the best count of every box from what was counted inside it, by depth."""
    best: list[Counted] = []
    for depth in range(halving.depth, -1, -1):
        if best:
            below, noise = best[-1]
            inside = below[0::2] + below[1::2], noise[0::2] + noise[1::2]
        else:
            inside = np.zeros(2**depth), np.where(halving.sizes[depth] > 0, np.inf, 0.0)
        measured = counted[depth]
        count, variance = inside if measured is None else combine(inside, measured)
        best.append((np.where(np.isinf(variance), 0.0, count), variance))
    return best[::-1]


def read(halving: Halving, counted: list[Counted | None], total: Counted) -> Division:
    """Return the reading of counts, from the root down; ``total`` is another count of the root."""
    inside = subtrees(halving, counted)
    count, unsure = combine(inside[0], total)
    count = np.maximum(count, 0.0)
    reading = Division([count], [unsure], [], [], [])
    for depth in range(halving.depth):
        share, splits = halving.shares(depth)
        below, noise = inside[depth + 1]
        even, uneven = share * count, share * (1 - share)
        seen, variance, deviation = np.zeros((3, len(count)))
        known = splits & np.isfinite(noise[0::2] + noise[1::2])
        widest = (count**2 + unsure) * uneven
        spread = np.where(splits, widest, 0.0)
        if known.any():
            left, right = noise[0::2][known], noise[1::2][known]
            from_right = count[known] - below[1::2][known]
            seen[known] = (below[0::2][known] * right + from_right * left) / (left + right) - even[known]
            variance[known] = left * right / (left + right)
            deviation[known], spread[known] = _shrink(seen[known], variance[known], np.sqrt(widest[known]))
            hidden = variance * widest / np.maximum(variance + widest, 1e-300)
            spread[known] = np.maximum(spread, HIDDEN * hidden)[known]
        first = np.clip(even + deviation, 0.0, count)
        reading.spreads.append(spread)
        reading.residuals.append((seen - (first - even)) * known)
        reading.noises.append(variance)
        count = np.stack([first, count - first], axis=1).ravel()
        unsure = np.stack([share**2 * unsure + spread, (1 - share) ** 2 * unsure + spread], axis=1).ravel()
        reading.people.append(count)
        reading.variances.append(unsure)
    return reading


def _shrink(seen: Vector, noise: Vector, widest: Vector) -> tuple[Vector, Vector]:
    """Return posterior means and variances of deviations, from noisy ones and the largest that each can have."""
    prior = np.multiply.outer(widest**2, SCALES**2)
    both = prior + noise[:, None]
    logs = -0.5 * (seen[:, None] ** 2 / both + np.log(both))
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    sample = likelihood[:: -(-len(seen) // LEARNED_FROM)]
    flat = np.full(len(SCALES), 1 / len(SCALES))  # one imagined box, so that no scale vanishes where boxes are few
    mixture = flat
    for _ in range(STEPS):
        expected = (_normalise(sample * mixture)).sum(axis=0) + flat
        mixture = expected / expected.sum()
    weights, gain = _normalise(likelihood * mixture), prior / both
    means = gain * seen[:, None]
    mean = (weights * means).sum(axis=1)
    within = (weights * gain).sum(axis=1) * noise
    between = (weights * (means - mean[:, None]) ** 2).sum(axis=1)
    return mean, within + between


def _normalise(weights: Vector) -> Vector:
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
