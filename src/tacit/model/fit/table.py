"""Fit one table to all observations of it: several candidates, and the one with the best predicted error.

Candidates are the smooth table, and tables near the smooth one or near the plain base (independent attributes), with
decreasing strength. Each is scored by Mallows' criterion, misfit plus twice the parameters used: an estimate of its
distance from views that other people would have reported. Differences smaller than chance favour smooth tables if each
attribute alone is smooth, and disfavour them otherwise. So smooth data are smoothed, spiky data keep their spikes, and
with many people the table is the least-squares one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

from tacit.estimate.functional import Vector
from tacit.model.fit.entropy import conjugate, near, parameters
from tacit.model.fit.smooth import Axis, Smooth, functions, smooth
from tacit.model.fit.views import Observed

__all__ = ["Fit", "fit_table"]

STRENGTHS = tuple(20480.0 / 4**k for k in range(14))
"""Strengths to try, in order, until the criterion has risen too far."""

DOUBT = 2.0
"""Standard deviations by which the criterion of a looser fit may be worse by chance."""

RULE_OF_THREE = 3 / 1.96
"""What n records have not shown at all has a share of less than 3 / n, in 95 of 100 cases."""

WAVES = {1: 10, 2: 6}
"""Waves of an attribute, by the number of attributes of a table."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A table, and its prior: a smooth table, or a table near it or near the base with some strength."""

    observed: Observed
    table: Vector
    how: str
    start: Smooth
    strength: float
    learned: float
    """How many parameters were learned from the reports; if near 0, the table is an assumption."""
    doubt: float = np.inf
    """The least strength that the data do not speak against: errors are of fits as loose as that.

    At least one record, the maximum possible; infinite if the data carry no information.
    """

    @property
    def is_smooth(self) -> bool:
        """Whether smooth functions were enough."""
        return math.isinf(self.strength)

    def errors(self, directions: Vector) -> Vector:
        """Return standard errors of sums of cells with weights: directions have a leading axis.

        They are posterior errors: of the smooth functions, and of cells scattered around them as far as the data allow
        (`doubt`). What a sample as informative as the reports could have missed altogether is added. No error is larger
        than half of the distance between the weights, which is all that is possible.
        """
        smooth = self.start
        along = directions.reshape(len(directions), -1) @ smooth.tangents
        projected = along @ smooth.posterior
        square = (projected * along).sum(axis=1)
        if np.isfinite(self.doubt):
            square += self._scatter(directions, projected)
        widest = np.ptp(directions, axis=(1, 2))
        unseen = RULE_OF_THREE * self._bare(directions) / np.where(widest > 0, widest, 1.0)
        return cast("Vector", np.minimum(np.sqrt(np.maximum(square, 0.0) + unseen**2), widest / 2))

    def _scatter(self, directions: Vector, projected: Vector) -> Vector:
        """Return the contribution of cells that scatter around the smooth functions, given these."""
        tangents, posterior = self.start.tangents, self.start.posterior
        shape, root = self.observed.shape, np.sqrt(self.table)
        seen = self.observed.information(tangents.T.reshape(-1, *shape)).reshape(tangents.shape[::-1])

        def rest(spread: Vector) -> Vector:
            information = self.observed.information(spread).reshape(len(spread), -1)
            information = information - (information @ tangents) @ posterior @ seen
            return cast("Vector", information.reshape(spread.shape))

        def centre(spread: Vector) -> Vector:
            return cast("Vector", spread - root * (root * spread).sum((1, 2), keepdims=True))

        def apply(spread: Vector) -> Vector:
            return centre(self.doubt * spread + root * rest(root * spread))

        open_to = centre(root * (directions - (projected @ seen).reshape(directions.shape)))
        return cast("Vector", (open_to * conjugate(apply, open_to, tolerance=1e-2)).sum((1, 2)))

    def _bare(self, directions: Vector) -> Vector:
        """Return the variance of answers that assume next to nothing, one record of any kind.

        For weights from 0 to 1, its inverse is the size of a sample of exact records that would say as much.
        """
        left, right, known = self._waves
        cells = directions[0].size
        seen = left.T @ (directions - directions.mean((1, 2), keepdims=True)) @ right
        return cast("Vector", (seen**2 / (cells + known)).sum((1, 2)))

    @cached_property
    def missed(self) -> float:
        """The share of people that may have been missed altogether when half of the rows and columns are asked for."""
        rows, columns = self.observed.shape
        half = np.multiply.outer(np.arange(rows) < (rows + 1) // 2, np.arange(columns) < (columns + 1) // 2)
        return RULE_OF_THREE * float(self._bare(half[None].astype(np.float64))[0])

    @cached_property
    def _waves(self) -> tuple[Vector, Vector, Vector]:
        """Functions of rows and of columns, from coarse to fine, and the data's information about each product of them.

        Sums over cells of nested levels have the same eigenvectors, if cells of a level are of one size; else nearly.
        """
        rows, columns = self.observed.rows, self.observed.columns
        left, right = (_eigenvectors(side.T @ side) for side in (rows, columns))
        return left, right, ((rows @ left) ** 2).T @ self.observed.weight @ (columns @ right) ** 2


def fit_table(
    observed: Observed, base: Vector, axes: tuple[Axis, ...], marginals: tuple[Vector, ...], *, smooth_axes: bool = True
) -> Fit:
    """Return the best fit of a table, given its prior.

    ``smooth_axes`` says whether each attribute alone is smooth: in doubt, so is their joint table.
    """
    smoothed = smooth(observed, base, functions(axes, marginals, WAVES[len(axes)]))
    bare = Smooth(base, smoothed.tangents[:, :0], smoothed.posterior[:0, :0], 0.0)
    plain = best = observed.misfit(smoothed.table) + 2 * smoothed.parameters
    fit = Fit(observed, smoothed.table, "smooth", smoothed, np.inf, smoothed.parameters)
    tried: dict[str, list[tuple[float, float, float]]] = {}
    for how, start in (("smooth", smoothed), ("base", bare)):
        last, table, rose = np.inf, None, False
        for strength in STRENGTHS:
            table = near(observed, start.table, strength, table)
            took = parameters(observed, table, strength)
            learned = took + _remaining_parameters(start.parameters, took, start.table.size)
            criterion, chance = observed.misfit(table) + 2 * learned, math.sqrt(2 * took)
            judged = criterion + chance * (1 if smooth_axes else -1)
            tried.setdefault(how, []).append((strength, criterion, chance))
            rose = rose or judged > last  # after a rise, fits may degenerate and seem to use no parameters
            if judged < best and not rose:
                best, plain = judged, criterion
                fit = Fit(observed, table, f"near the {how} table, strength {strength:g}", start, strength, learned)
            if rose and criterion > plain + DOUBT * chance:
                break
            last = judged
    chain = tried["base" if fit.start is bare else "smooth"]
    loose = [strength for strength, criterion, chance in chain if chance >= 1 and criterion <= plain + DOUBT * chance]
    return replace(fit, doubt=max(1.0, min([fit.strength, *loose])))


def _eigenvectors(square: Vector) -> Vector:
    """Return the eigenvectors of a matrix; for a single level they are known, however many categories it has."""
    plain = np.count_nonzero(square) == np.count_nonzero(np.diag(square))
    vectors: Vector = np.eye(len(square)) if plain else np.linalg.eigh(square)[1]
    return vectors


def _remaining_parameters(smooth_parameters: float, took: float, cells: int) -> float:
    """Return how many parameters of a base still show in a table that follows the data with its own parameters."""
    return smooth_parameters * max(0.0, 1 - took / cells)
