"""Ours for one attribute: noisy counts of a binary tree, split as unevenly as they show.

Steps       1. The number of people, with a fiftieth of the budget. 2. Runs of values are halved again and again; every
            third level of this tree, single values included, is counted with noise. The levels share the rest; a
            coarser one gets 5/4 of the next finer one's share.
Reading     From the root down, a node's people are divided between its halves: evenly, plus a deviation. How large
            deviations are is learned, level by level, from the counts themselves: a mixture of normal distributions
            with scales from 0 to the node's own count, fitted by EM. The deviation is its posterior mean, so that
            people are spread evenly where the counts show nothing beyond noise, and no count is negative.
Guarantee   epsilon: nodes of a level hold different people, levels add up; reading is post-processing.
Error       The posterior variance of all deviations that a question depends on, which are taken as independent, what
            noise may have hidden, and the variance of the total; more where the counts contradict the prior.
Reference   Kolaczyk and Nowak 2004 (multiscale priors), Stephens 2017 (mixtures of scales). Against DAWA, which chooses
            even runs with a part of the budget: bench/curator.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa

from tacit.central.adaptive import TOTAL_SHARE, noisy_total
from tacit.central.body import Body, SummedTable, dot
from tacit.central.charges import Charge
from tacit.central.halving import Halving
from tacit.central.noise import Ints, Laplace, NoiseSource
from tacit.central.records import Records
from tacit.contract.budget import read_fraction
from tacit.contract.schema import Service
from tacit.errors import LayoutError
from tacit.estimate.functional import Functional, Vector

__all__ = ["Multiscale", "NoisyTree", "fits_multiscale"]

MAX_VALUES = 2**20
"""Limit on the attribute's values: seconds, and 16 MB for a question."""

EVERY = 3
"""Halvings between two levels that are counted: a fan-out of 8."""

COARSER = Fraction(5, 4)
"""Share of a level over that of the next finer one. With 1 instead, tables with few people have up to half more
error; with 3/2, tables with many people a fifth more."""

SCALES = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 13)])
"""Standard deviations of a split in the mixture, over the largest possible one."""

STEPS, LEARNED_FROM = 40, 2**15
"""Steps of EM, and how many nodes of a level it uses."""

LEAST_VARIANCE = 1e-9
"""Taken as the variance of noise that budgets in the thousands round to none."""

UNSURE = 1.0
"""Standard errors by which deviations may be larger than the counts show. With 0, intervals for a thousand
people held in 0.86 of the cases."""

MANY_DRAWS = 1e6
"""Equivalent number of draws: posteriors of many deviations together are nearly normal."""

MOST_CACHED = 8
"""Functionals whose contrasts are cached."""


def fits_multiscale(service: Service) -> bool:
    """Return whether a service has one attribute, with few enough values.

    Halving two attributes in turn was tried: 2.3 times DAWA's error on tables of two, where adaptive has 1.6 times.
    """
    return len(service.sensitive) == 1 and service.sensitive[0].size <= MAX_VALUES


@dataclass(frozen=True)
class Multiscale:
    """The method."""

    def charges(self, service: Service, epsilon: Fraction) -> list[Charge]:
        """Return what it spends; refuse more attributes or values than it takes."""
        if not fits_multiscale(service):
            message = (
                f"{service.name}: multiscale takes one attribute of at most {MAX_VALUES:,} values. Use "
                "method='adaptive', or method='marginals' for many attributes."
            )
            raise LayoutError(message, code="domain-too-large")
        return [
            Charge(epsilon * TOTAL_SHARE, "release: number of people"),
            Charge(epsilon * (1 - TOTAL_SHARE), "release: levels of the tree"),
        ]

    def run(self, records: Records, epsilon: Fraction, source: NoiseSource) -> Body:
        """Return the noisy tree."""
        return self.with_total(records, epsilon, source, noisy_total(records, epsilon, source))

    def with_total(self, records: Records, epsilon: Fraction, source: NoiseSource, people: int) -> NoisyTree:
        """Return the noisy tree, given the noisy number of people."""
        tree = NoisyTree(records.sizes, epsilon, people)
        sums, sizes = tree.halving.sums(records.table()), tree.halving.sizes
        for depth, law in tree.laws.items():
            tree.counts[depth] = source.noisy(sums[depth][sizes[depth] > 0].astype(np.int64), law)
        return tree


class NoisyTree:
    """Noisy counts of some levels of a tree over the values."""

    kind, unbiased = "multiscale", False
    assumption = (
        "people are divided evenly where the noisy counts show no difference; how uneven they may be is learned from "
        "the counts, and errors include it"
    )

    def __init__(self, sizes: tuple[int, ...], epsilon: Fraction, people: int) -> None:
        self.sizes, self.epsilon, self.people = sizes, epsilon, people
        self.halving = Halving(sizes[0])
        self.counts: dict[int, Ints] = {}
        depths = range(self.halving.depth, -1 if self.halving.depth == 0 else 0, -EVERY)  # finest first
        weights = [COARSER**number for number in range(len(depths))]
        unit = (1 - TOTAL_SHARE) * epsilon / sum(weights)
        self.laws = {depth: Laplace(weight * unit) for depth, weight in zip(depths, weights, strict=True)}
        self.total_law = Laplace(TOTAL_SHARE * epsilon)
        self._cached: dict[Hashable, list[Vector]] = {}

    @cached_property
    def _subtrees(self) -> list[tuple[Vector, Vector]]:
        """The best count of every node from what was counted in its subtree, and its variance, by depth."""
        subtrees: list[tuple[Vector, Vector]] = []
        count = variance = np.zeros(0)
        for depth in range(self.halving.depth, -1, -1):
            occupied = self.halving.sizes[depth] > 0
            if subtrees:
                count, variance = count[0::2] + count[1::2], variance[0::2] + variance[1::2]
            if depth in self.counts:
                counted = np.zeros(len(occupied))
                counted[occupied] = self.counts[depth]
                noise = np.where(occupied, max(self.laws[depth].variance, LEAST_VARIANCE), 0.0)
                count, variance = _combine(count, variance, counted, noise) if subtrees else (counted, noise)
            subtrees.append((count, variance))
        return subtrees[::-1]

    @cached_property
    def _root(self) -> tuple[float, float]:
        """The number of people and its variance."""
        count, variance = self._subtrees[0]
        people, noise = np.array([float(self.people)]), np.array([self.total_law.variance])
        best, left = _combine(count, variance, people, noise)
        return max(0.0, float(best[0])), float(left[0])

    @cached_property
    def _read(self) -> _Reading:
        """The tree, read from the root down."""
        count, unsure = (np.array([number]) for number in self._root)
        spreads, residuals, noises = list[Vector](), list[Vector](), list[Vector]()
        for depth in range(self.halving.depth):
            share, splits = self.halving.shares(depth)
            (below, noise), even = self._subtrees[depth + 1], share * count
            deviation, spread, seen, variance = np.zeros((4, len(count)))
            left, right = noise[0::2][splits], noise[1::2][splits]
            from_right = count[splits] - below[1::2][splits]
            seen[splits] = (below[0::2][splits] * right + from_right * left) / (left + right) - even[splits]
            variance[splits] = left * right / (left + right)
            widest = np.sqrt((count**2 + unsure) * share * (1 - share))[splits]
            deviation[splits], spread[splits] = _shrink(seen[splits], variance[splits], widest)
            first = np.clip(even + deviation, 0.0, count)
            spreads.append(spread)
            residuals.append((seen - (first - even)) * splits)
            noises.append(variance)
            count = np.stack([first, count - first], axis=1).ravel()
            unsure = np.stack([share**2 * unsure + spread, (1 - share) ** 2 * unsure + spread], axis=1).ravel()
        return _Reading(count, spreads, residuals, noises)

    @cached_property
    def _table(self) -> SummedTable:
        return SummedTable(self.cell_estimates())

    def value(self, functional: Functional) -> float:
        """Return the estimate of a functional's total."""
        return self._table.value(functional)

    def _contrasts(self, functional: Functional) -> list[Vector]:
        """Return how much the answer rises with each node's deviation, by depth; last, with the number of people."""
        key = functional.key
        if key not in self._cached:
            while len(self._cached) >= MOST_CACHED:
                self._cached.pop(next(iter(self._cached)))
            self._cached[key] = self.halving.contrasts(_vector(functional))
        return self._cached[key]

    def covariance(self, left: Functional, right: Functional) -> float:
        """Return the posterior covariance of two answers."""
        *first, mean = self._contrasts(left)
        *second, other_mean = self._contrasts(right)
        total = float(mean[0] * other_mean[0]) * self._root[1]
        return total + sum(dot(a * b, spread) for a, b, spread in zip(first, second, self._read.spreads, strict=True))

    def deviation(self, functional: Functional) -> tuple[float, float]:
        """Return the standard error of an estimate, and the equivalent number of equal draws.

        Where the estimate without a prior is further away than twice its own noise, the prior may be wrong about this
        answer: the error is then half of the difference, if that is more.
        """
        error, contrasts = math.sqrt(max(0.0, self.covariance(functional, functional))), self._contrasts(functional)
        off = sum(dot(contrast, residual) for contrast, residual in zip(contrasts, self._read.residuals, strict=False))
        noise = sum(
            dot(contrast**2, variance) for contrast, variance in zip(contrasts, self._read.noises, strict=False)
        )
        return (max(error, abs(off) / 2) if abs(off) > 2 * math.sqrt(noise) else error), MANY_DRAWS

    def cell_estimates(self) -> Vector:
        """Return an estimate for every cell, with an axis for each attribute."""
        return self._read.leaves[: self.halving.values]

    def facts(self) -> dict[str, Any]:
        """Return the metadata of a file."""
        shares = {str(depth): str(law.epsilon) for depth, law in self.laws.items()}
        return {"tree_epsilon": str(self.epsilon), "people": self.people, "levels": shares}

    def columns(self) -> pa.Table:
        """Return the counts of all counted levels, one after another, the finest first."""
        sizes = [len(self.counts[depth]) for depth in self.laws]
        depths = np.repeat(np.array(list(self.laws), dtype=np.int32), sizes)
        return pa.table({"depth": depths, "count": np.concatenate([self.counts[depth] for depth in self.laws])})

    @classmethod
    def of_file(cls, sizes: tuple[int, ...], facts: Mapping[str, Any], table: pa.Table) -> Self:
        """Return the body stored in a file."""
        tree = cls(sizes, read_fraction(facts["tree_epsilon"]), int(facts["people"]))
        shares = {int(depth): read_fraction(share) for depth, share in dict(facts["levels"]).items()}
        tree.laws = {depth: Laplace(shares[depth]) for depth in sorted(shares, reverse=True)}
        if max(shares) != tree.halving.depth or min(shares) < 0:
            raise ValueError("levels")
        depths, counts = np.asarray(table.column("depth")), np.asarray(table.column("count"), dtype=np.int64)
        for depth in tree.laws:
            tree.counts[depth] = counts[depths == depth]
            if len(tree.counts[depth]) != np.count_nonzero(tree.halving.sizes[depth]):
                raise ValueError(depth)
        return tree


@dataclass(frozen=True, eq=False)
class _Reading:
    """What the counts say: the people of every leaf; and for every node, by depth, its deviation."""

    leaves: Vector
    spreads: list[Vector]
    """Posterior variances of deviations."""
    residuals: list[Vector]
    """What the counts alone would add to them."""
    noises: list[Vector]
    """Variances of what the counts alone say."""


def _vector(functional: Functional) -> Vector:
    """Return what a functional of one attribute is for each value."""
    total = np.zeros(functional.sizes)
    for term in functional.terms:
        total += term.coefficient * term.factors.get(0, 1.0)
    return total


def _combine(first: Vector, variance: Vector, second: Vector, noise: Vector) -> tuple[Vector, Vector]:
    """Return the estimate of least variance from two independent ones; nodes without values have no noise."""
    both = np.where(variance + noise > 0, variance + noise, 1.0)
    return (first * noise + second * variance) / both, variance * noise / both


def _shrink(seen: Vector, noise: Vector, widest: Vector) -> tuple[Vector, Vector]:
    """Return posterior means and variances of deviations, from noisy ones and the largest that each can have."""
    if not len(seen):
        return seen, seen
    prior = np.multiply.outer(widest**2, SCALES**2)
    both = prior + noise[:, None]
    logs = -0.5 * (seen[:, None] ** 2 / both + np.log(both))
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    sample = likelihood[:: -(-len(seen) // LEARNED_FROM)]
    flat = np.full(len(SCALES), 1 / len(SCALES))  # one imagined node, so that no scale vanishes where nodes are few
    mixture = flat
    for _ in range(STEPS):
        expected = (_normalise(sample * mixture)).sum(axis=0) + flat
        mixture = expected / expected.sum()
    weights, gain = _normalise(likelihood * mixture), prior / both
    means = gain * seen[:, None]
    mean = (weights * means).sum(axis=1)
    within = (weights * gain).sum(axis=1) * noise
    between = (weights * (means - mean[:, None]) ** 2).sum(axis=1)
    return mean, within + between + _hidden_variance(seen, noise, widest, float(mixture @ SCALES**2))


def _hidden_variance(seen: Vector, noise: Vector, widest: Vector, learned: float) -> Vector:
    """Return the variance that larger deviations than the learned ones would leave: noise may have hidden them.

    They are as large as one standard error above the mean square of the deviations that were seen allows, and a node's
    own count limits them.
    """
    squares, hidden = float((seen**2 - noise).sum()), math.sqrt(2 * float((noise**2).sum()))
    possible = min(1.0, (squares + UNSURE * hidden) / max(float((widest**2).sum()), 1e-300))
    further = max(0.0, possible - learned) * widest**2
    return np.asarray(further * noise / (further + noise))


def _normalise(weights: Vector) -> Vector:
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
