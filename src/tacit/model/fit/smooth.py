"""Smooth tables: a base table times the exponential of a few smooth functions, as smooth as the data suggest.

    x = base * exp(sum_p theta_p phi_p) / total,   theta_p ~ N(0, scale / order_p**2)

The functions of an ordinal attribute are its first cosines, made orthogonal under the base; those of two attributes are
their products. Orders are squares of frequencies: curves bend little. How far the functions may go is one number, the
scale, found by maximising the evidence (MacKay's update) within the Gauss-Newton steps that find theta. In a table of
two attributes the functions of one alone are free, so that marginals can follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from tacit.estimate.functional import Vector
from tacit.model.fit.views import Observed

__all__ = ["Axis", "Smooth", "functions", "smooth"]

WIDEST = 12
"""Largest product of two attributes' orders: finer waves in both at once were never worth their noise."""

FREE_PRECISION = 0.1
STEPS = 30


@dataclass(frozen=True)
class Axis:
    """One axis of a table: ordered cells, or categories; the last may be NULL."""

    cells: int
    ordered: bool
    null: bool

    def waves(self, most: int) -> Vector:
        """Return up to ``most`` functions over the cells: cosines, or one for each of few categories, and NULL."""
        own = self.cells - self.null
        if self.ordered:
            places = (np.arange(own) + 0.5) / own
            waves = np.cos(np.pi * np.multiply.outer(places, np.arange(1, min(most, own - 1) + 1)))
        else:
            waves = np.eye(own)[:, 1:] if own <= most + 1 else np.zeros((own, 0))
        if not self.null:
            return waves
        wide = np.zeros((self.cells, waves.shape[1] + 1))
        wide[:own, :-1], wide[own, -1] = waves, 1.0
        return wide


@dataclass(frozen=True, eq=False)
class Functions:
    """Functions over the cells of a table, in columns, with their orders and which of them are unpenalised."""

    values: Vector
    order: Vector
    free: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Smooth:
    """A fitted table; its tangents, and the covariance of their coefficients given the data.

    ``parameters`` is the effective number of them learned from the data.
    """

    table: Vector
    tangents: Vector
    posterior: Vector
    parameters: float


def functions(axes: tuple[Axis, ...], marginals: tuple[Vector, ...], most: int) -> Functions:
    """Return the functions of one axis, or of two and their products, orthogonal under the marginals."""
    waves = [_orthogonal(axis.waves(most), own) for axis, own in zip(axes, marginals, strict=True)]
    if len(waves) == 1:
        orders = np.arange(1.0, waves[0].shape[1] + 1) ** 2
        return Functions(waves[0], orders, np.zeros(len(orders), dtype=bool))
    left, right = (np.column_stack([np.ones(len(own)), own]) for own in waves)
    values = np.einsum("ap,bq->abpq", left, right).reshape(len(left) * len(right), -1)
    p, q = np.divmod(np.arange(values.shape[1]), right.shape[1])
    order, free = np.maximum(p, 1) * np.maximum(q, 1), (p == 0) | (q == 0)
    kept = (p + q > 0) & (free | (order <= WIDEST))
    return Functions(values[:, kept], order[kept] ** 2.0, free[kept])


def _orthogonal(waves: Vector, marginal: Vector) -> Vector:
    weight = np.sqrt(np.maximum(marginal, 1e-6))
    columns = np.column_stack([np.ones(len(waves)), waves]) * weight[:, None]
    made: Vector = np.linalg.qr(columns)[0][:, 1:] / weight[:, None]
    return made


def smooth(observed: Observed, base: Vector, given: Functions) -> Smooth:
    """Fit the smooth table."""
    logs = np.log(np.maximum(base, 1e-12)).ravel()
    theta, scale = np.zeros(len(given.order)), 1.0
    table, tangents = _table(observed, logs, given, theta), np.zeros((0, 0))
    parameters = 0.0
    for _ in range(STEPS):
        precision = np.where(given.free, FREE_PRECISION, given.order**2 / scale)
        before = _objective(observed, table, precision, theta)
        flat = table.ravel()
        tangents = flat[:, None] * (given.values - flat @ given.values)
        data = _information(observed, tangents)
        slope = tangents.T @ observed.gradient(table).ravel() + precision * theta
        spread = np.linalg.inv(data + np.diag(precision))
        step, part = -spread @ slope, 1.0
        while part > 1e-3:
            moved = _table(observed, logs, given, theta + part * step)
            after = _objective(observed, moved, precision, theta + part * step)
            if after < before:
                theta, table = theta + part * step, moved
                break
            part /= 2
        parameters = float(np.trace(data @ spread))
        wanted = _scale(given, theta, precision * np.diag(spread), scale)
        settled = before - after < 0.01 and abs(np.log(wanted / scale)) < 0.05
        scale = wanted
        if settled:
            break
    return Smooth(table, tangents, spread, parameters)


def _scale(given: Functions, theta: Vector, left: Vector, scale: float) -> float:
    """Return the scale of the coefficients, given what share of each one's prior variance is left."""
    bound = ~given.free
    if not bound.any():
        return scale
    learned = max(float((1 - left)[bound].sum()), 0.1)
    return float(np.clip(((given.order * theta)[bound] ** 2).sum() / learned, 1e-4, 100.0))


def _table(observed: Observed, logs: Vector, given: Functions, theta: Vector) -> Vector:
    exponent = logs + given.values @ theta
    raised: Vector = np.exp(exponent - exponent.max()).reshape(observed.shape)
    return cast("Vector", raised / raised.sum())


def _objective(observed: Observed, table: Vector, precision: Vector, theta: Vector) -> float:
    return 0.5 * observed.misfit(table) + 0.5 * float(precision @ theta**2)


def _information(observed: Observed, tangents: Vector) -> Vector:
    """Return the precision matrix of the coefficients given the data."""
    stacked = np.moveaxis(tangents.reshape(*observed.shape, -1), -1, 0)
    seen = (observed.sums(stacked) * np.sqrt(observed.weight)).reshape(len(stacked), observed.weight.size)
    made: Vector = seen @ seen.T
    return made
