"""Fit one table to all its observations, shrunk towards a base by as much as the data suggest.

The base is the given one (uniform, or the prediction from smaller tables), or a smooth table. Cells scatter around it,
with variance ``base / strength``, or, in tables of one attribute, with factors from a learned distribution
(`tacit.model.scatter`). Every base and strength has a marginal likelihood,

    log p = -misfit / 2 - strength KL(x || base) - 1/2 log det(1 + information / strength),

whose last part is the integral of the number of parameters over the logarithm of the strength. The table is the average
over all of them, weighted by marginal likelihood, so that smooth data are smoothed, spiky data keep their spikes, and
with many people the table is the least-squares one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from tacit.estimate.functional import Vector
from tacit.model.drawn import KNOWN, Drawn, draw_to_data
from tacit.model.evidence import Observed, along
from tacit.model.margins import Margins
from tacit.model.near import conjugate, divergence, near, parameters
from tacit.model.scatter import MOST_CELLS, scatter
from tacit.model.smooth import Smooth, TableAxis, pair_shapes, shapes, smooth

__all__ = ["Fit", "Prior", "fit_table", "learn_prior"]

STRENGTHS = tuple(4.0**k for k in range(9, -6, -1))
"""Strengths to try, in order, until the marginal likelihood has fallen too far."""

LEARNED = 0.0
"""Placeholder for a strength: factors of a learned distribution."""

UNSEEN = 0.02
"""Parameters below which a strength counts as infinite: the table is the base."""

FALLEN = 8.0
"""Fall of the logarithm of the marginal likelihood after which no weaker strength is tried."""

NEGLIGIBLE = 0.01
"""Weight below which a candidate is left out of the average."""

RULE_OF_THREE = 3 / 1.96
"""The rule of three: with 95 % confidence, something absent from n records has a share below 3 / n."""

ROUNDS = 100
"""Iterations of expectation maximisation over the distribution of strengths."""

WAVES = 6
"""Waves of an attribute in tables of two."""

MOMENTS = 4
"""Waves of an attribute's own table that the data decide rather than the fit: they carry its mean and variance."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A table near a base with some strength, infinite for the base itself, and its marginal likelihood (logarithm)."""

    table: Vector
    start: Smooth
    strength: float
    learned: float
    likelihood: float
    how: str
    covariance: Vector | None = None
    """Covariance of the cells given the base, where it is known as a matrix."""


Prior = Mapping[float, float]


def even_prior() -> dict[float, float]:
    """Return the uninformative prior: a third each on the base itself, on strengths, and on a learned distribution."""
    return {math.inf: 1 / 3} | dict.fromkeys(STRENGTHS, 1 / 3 / len(STRENGTHS)) | {LEARNED: 1 / 3}


@dataclass(frozen=True, eq=False)
class Fit:
    """An average of candidates."""

    observed: Observed
    tried: tuple[Candidate, ...]
    faces: tuple[tuple[int, ...], ...]
    """Given margins: errors cover the rest of the table."""

    prior: Prior | None = None
    """The prior probability of each strength, infinity included."""

    axes: tuple[TableAxis, ...] = ()
    """The axes of a table that may be smooth."""

    @cached_property
    def candidates(self) -> list[tuple[float, Candidate]]:
        """The candidates that count, with their weights in the average."""
        prior = self.prior or even_prior()
        scores = [candidate.likelihood + math.log(prior[candidate.strength] + 1e-300) for candidate in self.tried]
        for place, candidate in enumerate(self.tried):
            if math.isinf(candidate.strength):  # strengths that were not tried count as infinite
                strengths = {other.strength for other in self.tried if other.start is candidate.start} - {math.inf}
                mass = sum(share for strength, share in prior.items() if strength > max(strengths, default=LEARNED))
                scores[place] = candidate.likelihood + math.log(max(mass, 1e-300))
        weights = np.exp(np.array(scores) - max(scores))
        weights[weights < NEGLIGIBLE] = 0.0
        weights /= weights.sum()
        return [(float(weight), candidate) for weight, candidate in zip(weights, self.tried, strict=True) if weight]

    @cached_property
    def table(self) -> Vector:
        """The average table, corrected where the data contradict it."""
        return self._drawn.table

    @cached_property
    def _average(self) -> Vector:
        return cast("Vector", sum(weight * candidate.table for weight, candidate in self.candidates))

    @cached_property
    def _drawn(self) -> Drawn:
        ordered = len(self.axes) == 1 and self.axes[0].ordered
        waves = self.axes[0].waves(MOMENTS) if ordered else np.zeros((self._average.size, 0))
        return draw_to_data(
            self.observed, self._average, lambda directions: self._posterior(directions, self._average), waves
        )

    @property
    def learned(self) -> float:
        """Effective number of parameters learned from the reports; if near 0, the table is an assumption."""
        return sum(weight * candidate.learned for weight, candidate in self.candidates)

    @property
    def how(self) -> str:
        """How the table was fitted."""
        weight, best = max(self.candidates, key=lambda weighted: weighted[0])
        others = f" (weight {weight:.0%})" if weight < 1 - NEGLIGIBLE else ""
        return best.how + others

    def errors(self, directions: Vector) -> Vector:
        """Return standard errors of sums of cells with weights: directions have a leading axis.

        They are posterior errors: of the smooth functions, of cells scattered around them, and of the choice among
        candidates. The share that a sample as informative as the reports could have missed entirely is added. No error
        exceeds half of the range of the weights, the largest possible one.
        """
        square = np.maximum(self._posterior(directions, self.table), self._drawn.variance(directions))
        widest = np.ptp(directions.reshape(len(directions), -1), axis=1)
        unseen = RULE_OF_THREE * self._bare(directions) / np.where(widest > 0, widest, 1.0)
        return cast("Vector", np.minimum(np.sqrt(np.maximum(square, 0.0) + unseen**2), widest / 2))

    def _posterior(self, directions: Vector, table: Vector) -> Vector:
        """Return the mean squared distance of sums of cells from those of a table, over all candidates."""
        square = np.zeros(len(directions))
        for weight, candidate in self.candidates:
            shift = directions.reshape(len(directions), -1) @ (candidate.table - table).ravel()
            square += weight * (self._variance(candidate, directions) + shift**2)
        return square

    def _variance(self, candidate: Candidate, directions: Vector) -> Vector:
        tangents, posterior = candidate.start.tangents, candidate.start.posterior
        onto = directions.reshape(len(directions), -1) @ tangents
        projected = onto @ posterior
        smooth_part: Vector = (projected * onto).sum(axis=1)
        if candidate.covariance is not None:
            flat = directions.reshape(len(directions), -1)
            return cast("Vector", smooth_part + ((flat @ candidate.covariance) * flat).sum(axis=1))
        if math.isinf(candidate.strength):
            return smooth_part
        axes = tuple(range(1, directions.ndim))
        shape, root = self.observed.shape, np.sqrt(candidate.table)
        seen = self.observed.information(tangents.T.reshape(-1, *shape)).reshape(tangents.shape[::-1])

        def rest(spread: Vector) -> Vector:
            information = self.observed.information(spread).reshape(len(spread), -1)
            information = information - (information @ tangents) @ posterior @ seen
            return cast("Vector", information.reshape(spread.shape))

        margins = Margins(candidate.table, self.faces)

        def apply(spread: Vector) -> Vector:
            return margins.centre(candidate.strength * spread + root * rest(root * spread))

        open_to = margins.centre(root * (directions - (projected @ seen).reshape(directions.shape)))
        solved = conjugate(apply, open_to, tolerance=1e-2, leading=1)
        return cast("Vector", smooth_part + (open_to * solved).sum(axes))

    def _bare(self, directions: Vector) -> Vector:
        """Return the variance of answers under the weakest assumption: one record of any kind.

        For weights from 0 to 1, its inverse is the size of an equally informative sample of exact records.
        """
        waves, known = self._waves
        axes = tuple(range(1, directions.ndim))
        cells = math.prod(self.observed.shape)
        seen = along(directions - directions.mean(axes, keepdims=True), [wave.T for wave in waves])
        return cast("Vector", (seen**2 / (cells + known)).sum(axes))

    @cached_property
    def missed(self) -> float:
        """The share of people that may have been missed entirely, for a question about half of each axis's cells."""
        half = np.ones(())
        for cells in self.observed.shape:
            half = np.multiply.outer(half, np.arange(cells) < (cells + 1) // 2)
        return RULE_OF_THREE * float(self._bare(half[None].astype(np.float64))[0])

    @cached_property
    def is_determined(self) -> bool:
        """Whether the data have information about every difference between cells."""
        known = self._waves[1]
        return int((known > KNOWN * known.max()).sum()) >= known.size - 1

    @cached_property
    def _waves(self) -> tuple[list[Vector], Vector]:
        """Functions of each axis, from coarse to fine, and the data's information about each product of them.

        Sums over cells of nested partitions have the same eigenvectors if their cells have one size, else
        approximately.
        """
        waves = [_eigenvectors(stack.T @ stack) for stack in self.observed.stacks]
        squares = [((stack @ wave) ** 2).T for stack, wave in zip(self.observed.stacks, waves, strict=True)]
        return waves, along(self.observed.weight, squares)


def fit_table(
    observed: Observed,
    base: Vector,
    faces: tuple[tuple[int, ...], ...],
    axes: Sequence[TableAxis],
    marginals: Sequence[Vector],
) -> Fit:
    """Return the fit of a table near a base, whose margins over faces it keeps.

    If its axes are given, it may also be near a smooth table: the likeliest one of several shapes. The others count as
    they are.
    """
    bare = Smooth(base, np.zeros((base.size, 0)), np.zeros((0, 0)), 0.0, -observed.misfit(base) / 2)
    starts = [("the prediction from smaller tables" if base.ndim > 1 else "the uniform table", bare)]
    bases = shapes(axes[0], marginals[0]) if len(axes) == 1 else []
    if len(axes) == 2:
        bases = pair_shapes(tuple(axes), tuple(marginals), WAVES)
    curved = [(how, smooth(observed, base, basis, faces)) for how, basis in bases if basis.values.shape[1]]
    if curved:
        starts.append(max(curved, key=lambda named: named[1].evidence))
    tried = [candidate for how, start in starts for candidate in _chain(observed, start, how, faces)]
    tried += [_alone(how, start) for how, start in curved if start is not starts[-1][1]]
    return Fit(observed, tuple(tried), faces, axes=tuple(axes))


def _alone(how: str, start: Smooth) -> Candidate:
    """Return a start itself as a candidate."""
    return Candidate(start.table, start, math.inf, start.parameters, start.evidence, how)


def _chain(observed: Observed, start: Smooth, how: str, faces: Sequence[tuple[int, ...]]) -> list[Candidate]:
    """Return tables at increasing distance from a start."""
    tried = [_alone(how, start)]
    floor = np.maximum(start.table, 1e-12)
    floor /= floor.sum()
    spent = start.evidence + 0.5 * observed.misfit(start.table)  # by the start's own parameters
    table, volume, before, highest = None, 0.0, 0.0, start.evidence
    for strength in STRENGTHS:
        if table is None and parameters(observed, floor, strength, faces) < UNSEEN:
            continue
        table = near(observed, start.table, strength, faces, table)
        took = parameters(observed, table, strength, faces)
        volume += 0.5 * math.log(4) * (took + before) / 2 if before else 0.5 * took
        before = took
        likelihood = spent - 0.5 * observed.misfit(table) - strength * divergence(table, floor) - volume
        left = start.parameters * max(0.0, 1 - took / table.size)
        name = f"near {how}, strength {strength:.3g}"
        tried.append(Candidate(table, start, strength, took + left, likelihood, name))
        highest = max(highest, likelihood)
        if likelihood < highest - FALLEN:
            break
    if start.table.ndim == 1 and start.table.size <= MOST_CELLS:
        learned = scatter(observed, start.table)
        if learned is not None:
            name, took = f"cells of learned sizes around {how}", float(start.table.size)
            candidate = Candidate(
                learned.table, start, LEARNED, took, spent + learned.evidence, name, learned.covariance
            )
            tried.append(candidate)
    return tried


def learn_prior(fits: Sequence[Fit]) -> dict[float, float]:
    """Return the distribution of strengths among tables of one kind, by maximum likelihood.

    The uninformative prior counts as one more table. A strength that a table did not try counts as infinite above its
    first, and as its last below.
    """
    prior = even_prior()
    rows = []
    for fit in fits:
        known = {
            candidate.strength: candidate.likelihood for candidate in fit.tried if candidate.start is fit.tried[0].start
        }
        first, last = max(set(known) - {math.inf}, default=0.0), min(known)
        filled = [known.get(s, known[math.inf] if s > first else known[last] - FALLEN) for s in prior]
        rows.append(np.exp(np.array(filled) - max(filled)))
    likelihoods, even = np.stack(rows), np.array(list(prior.values()))
    share = even
    for _ in range(ROUNDS):
        part = likelihoods * share
        part /= part.sum(axis=1, keepdims=True)
        share = (part.sum(axis=0) + even) / (len(rows) + 1)
    return dict(zip(prior, share.tolist(), strict=True))


def _eigenvectors(square: Vector) -> Vector:
    """Return the eigenvectors of a matrix; for single values they are known, however many categories there are."""
    plain = np.count_nonzero(square) == np.count_nonzero(np.diag(square))
    vectors: Vector = np.eye(len(square)) if plain else np.linalg.eigh(square)[1]
    return vectors
