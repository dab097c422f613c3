"""Cells that scatter around a base, each by a factor whose distribution is learned from the table itself.

    x_a = base_a * r_a,   r_a ~ g,   g a mixture of zero and of narrow bells along a geometric series

The prior g models spikes, empty cells and point masses: neighbours are independent, but cell sizes share a
distribution. The posterior given all observations, whose noise is correlated between cells, is approximated by
expectation propagation: every cell's prior is replaced by a normal distribution that matches its posterior mean and
variance given the other cells. This gives a mean, a covariance and a marginal likelihood, which is maximised to learn
g. A cell's own g is learned from the other cells, and a wide distribution counts as `OTHERS` more of them: learned from
itself, a cell of a small table would confirm its own noise.

Reference   Minka 2001 (expectation propagation); Jiang and Zhang 2009 (empirical Bayes of normal means).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.estimate.functional import Vector
from tacit.model.evidence import Observed

__all__ = ["MOST_CELLS", "Scatter", "scatter"]

MOST_CELLS = 512
"""Maximum cells: every iteration inverts a matrix of them."""

FACTORS = np.concatenate([[0.0], np.geomspace(1e-2, 1e3, 60)])
"""The means of the parts of the distribution of factors."""

WIDTH = 0.1
"""Standard deviation of a part, relative to its mean: half of the distance to the next."""

ROUNDS, DAMPING = 40, 0.6
"""Maximum iterations of expectation propagation, and the part of each step that is taken."""

SETTLED = 1e-4
"""Change of the table, in units of its errors, below which the iteration stops."""

PARAMETERS = 3.0
"""Number of parameters counted for the learned distribution: it mostly consists of a few point masses."""

OTHERS, AT_BASE = 4.0, 0.2
"""Cells that the distribution before any data counts as, and its share at the base itself; the rest is wide."""

FLOOR = 0.02
"""Smallest cell of a base, relative to a uniform one."""


@dataclass(frozen=True, eq=False)
class Scatter:
    """The posterior of a table: mean, covariance, and the logarithm of the marginal likelihood."""

    table: Vector
    covariance: Vector
    evidence: float


def scatter(observed: Observed, base: Vector) -> Scatter | None:
    """Return the posterior of a table of one attribute; None where the iteration does not converge."""
    cells = base.size
    base = np.maximum(base, FLOOR / cells)
    base = base / base.sum()
    [stack] = observed.stacks
    information = stack.T @ (observed.weight[:, None] * stack)
    exact = 1e3 * float(np.trace(information)) + 1.0  # the total is known: one more observation, nearly exact
    information = information + exact
    seen = observed.back(observed.weight * observed.value) + exact
    grid = base[:, None] * FACTORS
    bell = (WIDTH * grid) ** 2
    wide = (cells >= FACTORS).astype(np.float64)  # no cell is larger than the table
    wide *= (1 - AT_BASE) / wide.sum()
    wide[np.argmin(np.abs(FACTORS - 1))] += AT_BASE
    share = np.full((cells, len(FACTORS)), 1 / len(FACTORS))
    precision, pull = 1 / (3 * base) ** 2, base / (3 * base) ** 2
    before = base
    for _ in range(ROUNDS):
        covariance = np.linalg.inv(information + np.diag(precision))
        mean = covariance @ (seen + pull)
        variance = np.diag(covariance)
        around = 1 / np.maximum(1 / variance - precision, 1e-3 / variance)
        centre = around * (mean / variance - pull)
        chance, nearest = _parts(grid, bell, centre[:, None], around[:, None])
        part = np.exp(chance - chance.max(axis=1, keepdims=True)) * share
        part /= part.sum(axis=1, keepdims=True)
        share = (part.sum(axis=0) - part + OTHERS * wide) / (cells - 1 + OTHERS)
        means = (part * nearest).sum(axis=1)
        inside = bell * around[:, None] / (bell + around[:, None])
        spread = np.maximum((part * (nearest**2 + inside)).sum(axis=1) - means**2, 1e-6 * np.minimum(base**2, around))
        wanted = np.maximum(1 / spread - 1 / around, 1e-6 / around)
        pull = (1 - DAMPING) * pull + DAMPING * (means * (wanted + 1 / around) - centre / around)
        precision = (1 - DAMPING) * precision + DAMPING * wanted
        if not (np.isfinite(mean).all() and np.isfinite(precision).all()):
            return None
        moved = float((np.abs(means - before) / np.sqrt(around)).max())
        before = means
        if moved < SETTLED:
            break
    covariance = np.linalg.inv(information + np.diag(precision))
    mean = covariance @ (seen + pull)
    if not np.isfinite(mean).all():
        return None
    table = np.maximum(before, 1e-3 * FLOOR / cells)
    return Scatter(
        table / table.sum(),
        np.asarray(covariance, np.float64),
        _evidence(observed, base, share, (precision, pull), exact),
    )


def _parts(grid: Vector, bell: Vector, centre: Vector, around: Vector) -> tuple[Vector, Vector]:
    """Return the log-likelihood of each part for a cell known to be around a number, and its posterior mean."""
    variance = bell + around
    likely: Vector = -0.5 * (grid - centre) ** 2 / variance - 0.5 * np.log(variance)
    mean: Vector = grid + bell / variance * (centre - grid)
    return likely, mean


def _evidence(observed: Observed, base: Vector, share: Vector, sites: tuple[Vector, Vector], exact: float) -> float:
    """Return the logarithm of the marginal likelihood, in which the total is given."""
    precision, pull = sites
    [stack] = observed.stacks
    information = stack.T @ (observed.weight[:, None] * stack) + exact
    seen = observed.back(observed.weight * observed.value) + exact
    posterior = information + np.diag(precision)
    covariance = np.linalg.inv(posterior)
    variance, mean = np.diag(covariance), covariance @ (seen + pull)
    around = 1 / np.maximum(1 / variance - precision, 1e-3 / variance)
    centre = around * (mean / variance - pull)
    grid = base[:, None] * FACTORS
    chance, _ = _parts(grid, (WIDTH * grid) ** 2, centre[:, None], around[:, None])
    top = chance.max(axis=1)
    evidence = top + np.log((np.exp(chance - top[:, None]) * share).sum(axis=1)) - 0.5 * np.log(2 * np.pi)
    site = -0.5 * np.log1p(precision * around)
    site = site + 0.5 * ((centre / around + pull) ** 2 / (1 / around + precision) - centre**2 / around)
    height = float(pull @ mean - 0.5 * precision @ mean**2)  # at the mode: sums of squares would cancel to a few digits
    height -= 0.5 * observed.misfit(mean) + 0.5 * exact * (1 - float(mean.sum())) ** 2
    volume = 0.5 * (len(mean) * np.log(2 * np.pi) - np.linalg.slogdet(posterior)[1])
    total = 0.5 * np.log(exact / (2 * np.pi))  # the observation of the total is a density
    shared = share.mean(axis=0)
    factor = float(FACTORS @ shared)
    wide = float((((1 + WIDTH**2) * FACTORS**2 @ shared) - factor**2) * (base**2).sum()) + 1e-12
    sum_to_one = -0.5 * (1 - factor) ** 2 / wide - 0.5 * np.log(2 * np.pi * wide)
    return float(height + volume + (evidence - site).sum() + total - sum_to_one - PARAMETERS)
