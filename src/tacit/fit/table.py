"""One table from everything that was seen of it: several ways to fit it, and the one that would predict best.

Candidates are the smooth table, and tables near the smooth one or near the plain base (no attribute told anything about
the other), with less and less strength. Each is judged by Mallows' criterion, misfit plus twice the parameters it took:
an estimate of how far it would be from views that other people filled in. What is less than chance counts for smooth
tables if each attribute is smooth by itself, and against them if not. So smooth data are smoothed, spiky data keep
their spikes, and with many people the table is what least squares say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np

from tacit.decode.functional import Vector
from tacit.fit.entropy import conjugate, near, parameters
from tacit.fit.smooth import Axis, Smooth, functions, smooth
from tacit.fit.views import Observed

__all__ = ["Fit", "fit_table"]

STRENGTHS = tuple(1280.0 / 4**k for k in range(12))
"""Strengths that are tried, in order, until the criterion rises."""

WAVES = {1: 10, 2: 6}
"""Waves of an attribute by the attributes of a table."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A table, and what was assumed about it before the data: a smooth table, or some strength of it or of the base."""

    observed: Observed
    table: Vector
    how: str
    start: Smooth
    strength: float
    told: float
    """How many parameters the reports told: near 0, the table is what was assumed."""

    @property
    def is_smooth(self) -> bool:
        """Whether nothing but smooth functions was needed."""
        return math.isinf(self.strength)

    def errors(self, directions: Vector) -> Vector:
        """Return standard errors of sums of cells with weights: directions have a leading axis.

        They are posterior errors: channel noise, and what the assumed prior allows beyond the data, to second order.
        """
        if self.is_smooth:
            along = directions.reshape(len(directions), -1) @ self.start.tangents
            return cast("Vector", np.sqrt(np.maximum(((along @ self.start.posterior) * along).sum(axis=1), 0.0)))
        root = np.sqrt(self.observed.weight)

        def seen(shift: Vector) -> Vector:
            return root * self.observed.sums(shift)

        def apply(sums: Vector) -> Vector:
            return sums + seen(self._prior(self.observed.back(root * sums)))

        spread = self._prior(directions)
        noisy = seen(spread)
        solved = conjugate(apply, noisy, tolerance=1e-3, most=200)
        left = (directions * spread).sum((1, 2)) - (noisy * solved).sum((1, 2))
        found: Vector = np.sqrt(np.maximum(left, 0.0))
        return found

    def _prior(self, directions: Vector) -> Vector:
        """Return the prior covariance times directions."""
        flat = directions.reshape(len(directions), -1)
        spread = ((flat @ self.start.tangents) * self.start.prior) @ self.start.tangents.T
        mean = (directions * self.table).sum((1, 2), keepdims=True)
        return cast("Vector", spread.reshape(directions.shape) + self.table * (directions - mean) / self.strength)


def fit_table(
    observed: Observed, base: Vector, axes: tuple[Axis, ...], marginals: tuple[Vector, ...], *, smooth_axes: bool = True
) -> Fit:
    """Return the best fit of a table, given what it would be if nothing had been seen.

    ``smooth_axes`` tells whether each attribute by itself is smooth: in doubt, so are two of them together.
    """
    smoothed = smooth(observed, base, functions(axes, marginals, WAVES[len(axes)]))
    bare = Smooth(base, smoothed.tangents[:, :0], smoothed.prior[:0], smoothed.posterior[:0, :0], 0.0)
    best = observed.misfit(smoothed.table) + 2 * smoothed.parameters
    found = Fit(observed, smoothed.table, "smooth", smoothed, np.inf, smoothed.parameters)
    for how, start in (("smooth", smoothed), ("base", bare)):
        last, table = np.inf, None
        for strength in STRENGTHS:
            table = near(observed, start.table, strength, table)
            took = parameters(observed, table, strength)
            told = took + _left(start.parameters, took, start.table.size)
            judged = observed.misfit(table) + 2 * told
            judged += math.sqrt(2 * took) * (1 if smooth_axes else -1)  # its chance
            if judged < best:
                best = judged
                found = Fit(observed, table, f"near the {how} table, strength {strength:g}", start, strength, told)
            if judged > last:
                break
            last = judged
    return found


def _left(smooth_parameters: float, took: float, cells: int) -> float:
    """Return how many parameters of a base still show in a table that follows the data with some of its own."""
    return smooth_parameters * max(0.0, 1 - took / cells)
