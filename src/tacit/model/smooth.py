"""Smooth tables: a base table times the exponential of a few smooth functions, as smooth as the data suggest.

    x = base * exp(sum_p theta_p phi_p) / total,   theta_p ~ N(0, scale / order_p**2)

The functions of an ordinal attribute are its first cosines, made orthogonal under the base; those of two attributes are
their products. Orders are squares of frequencies: curves bend little. One number, the scale, limits the functions'
coefficients; it maximises the evidence (MacKay's update) within the Gauss-Newton steps for theta. The table keeps the
margins of the base.

Alone, an attribute has several **shapes**, of which the evidence chooses: people often sit at the first or the last
value (zero, a limit), bends may be sharp (orders are frequencies), and amounts are smooth on a logarithmic scale, from
either end, where a power law is a straight line.

Two attributes have two shapes: smooth over the places of cells, or a product of that and of one that is smooth over the
ranks of people, as the dependence of amounts is, however skewed they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit.estimate.functional import Vector
from tacit.model.evidence import Observed
from tacit.model.margins import Faces, Margins, keep_margins

__all__ = ["Smooth", "TableAxis", "functions", "pair_shapes", "shapes", "smooth"]

WIDEST = 12
"""Maximum product of two attributes' orders: finer waves in both at once never reduced the error."""

SHAPE_WAVES, LEAST_CELLS = 24, 8
"""Waves of an attribute alone, and ordered cells from which on it has other shapes than a smooth one."""

EDGE = 2.0
"""Frequency that an edge, a first or last value apart from the others, counts as."""

STEPS = 30
"""Maximum steps of Newton's method."""

SMALLEST = 1e-12
"""Smallest share of a cell whose rank counts."""

LOWEST = -200.0
"""Smallest exponent of a cell, so that margins never overflow."""


@dataclass(frozen=True)
class TableAxis:
    """One axis of a table: ordered cells, or categories; the last ones may be apart (NULL)."""

    cells: int
    ordered: bool
    apart: int = 0

    def waves(self, most: int, marginal: Vector | None = None) -> Vector:
        """Return up to ``most`` functions over the cells: cosines, or one for each of few categories.

        Each cell apart has one more. Cosines are over places, or over the ranks of the people of a ``marginal``.
        """
        count = self.cells - self.apart
        if self.ordered:
            places = (np.arange(count) + 0.5) / count if marginal is None else _ranks(marginal[:count])
            waves = _cosines(places, min(most, count - 1))
        else:
            waves = np.eye(count)[:, 1:] if count <= most + 1 else np.zeros((count, 0))
        return self.on_all_cells(waves)

    def on_all_cells(self, waves: Vector) -> Vector:
        """Return functions over the ordered cells as functions over all, with one for each cell apart."""
        count = self.cells - self.apart
        wide = np.zeros((self.cells, waves.shape[1] + self.apart))
        wide[:count, : waves.shape[1]], wide[count:, waves.shape[1] :] = waves, np.eye(self.apart)
        return wide

    def orders(self, count: int) -> npt.NDArray[np.int64]:
        """Return the order of each function: the frequency of a cosine; 1 for all categories and cells apart."""
        waves = count - self.apart if self.ordered else 0
        return np.concatenate([np.arange(1, waves + 1), np.ones(count - waves, dtype=np.int64)])


@dataclass(frozen=True, eq=False)
class Functions:
    """Functions over the cells of a table, in columns, with their orders."""

    values: Vector
    order: Vector


@dataclass(frozen=True, eq=False)
class Smooth:
    """A fitted table; its tangents, and the covariance of their coefficients given the data.

    ``parameters`` is the effective number of them learned from the data, ``evidence`` the logarithm of the marginal
    likelihood.
    """

    table: Vector
    tangents: Vector
    posterior: Vector
    parameters: float
    evidence: float


def functions(axes: tuple[TableAxis, ...], marginals: tuple[Vector, ...], most: int) -> Functions:
    """Return the functions of one axis, or of two and their products, orthogonal under the marginals."""
    if len(axes) == 2:
        return _products(axes, marginals, most, by_rank=False)
    waves = _orthogonal(axes[0].waves(most), marginals[0])
    return Functions(waves, axes[0].orders(waves.shape[1]).astype(np.float64) ** 2)


def pair_shapes(axes: tuple[TableAxis, ...], marginals: tuple[Vector, ...], most: int) -> list[tuple[str, Functions]]:
    """Return the shapes that a table of two attributes may have: smooth over places, or also over ranks."""
    places = functions(axes, marginals, most)
    ranks = _products(axes, marginals, most, by_rank=True)
    both = Functions(np.concatenate([places.values, ranks.values], axis=1), np.concatenate([places.order, ranks.order]))
    return [("a smooth table", places), ("a smooth table, also over ranks", both)]


def _products(axes: tuple[TableAxis, ...], marginals: tuple[Vector, ...], most: int, *, by_rank: bool) -> Functions:
    left, right = (
        _orthogonal(axis.waves(most, marginal if by_rank else None), marginal)
        for axis, marginal in zip(axes, marginals, strict=True)
    )
    values = np.einsum("ap,bq->abpq", left, right).reshape(len(left) * len(right), -1)
    order = np.multiply.outer(axes[0].orders(left.shape[1]), axes[1].orders(right.shape[1])).ravel()
    low = order <= WIDEST
    return Functions(values[:, low], order[low] ** 2.0)


def shapes(axis: TableAxis, marginal: Vector) -> list[tuple[str, Functions]]:
    """Return the shapes that an attribute's own table may have."""
    listed = [("a smooth table", functions((axis,), (marginal,), SHAPE_WAVES))]
    cells = axis.cells - axis.apart
    if not axis.ordered or cells < LEAST_CELLS:
        return listed
    count = min(SHAPE_WAVES, cells - 3)
    places, frequency = np.arange(cells) + 0.5, np.arange(1.0, count + 1)
    edges, growing = np.eye(cells)[:, [0, cells - 1]], np.log1p(places) / np.log1p(cells)
    others = [
        ("a smooth table with edges", places / cells, 2),
        ("a curve with bends and edges", places / cells, 1),
        ("a smooth table on a logarithmic scale", growing, 2),
        ("a smooth table on a logarithmic scale from above", growing[::-1], 2),
    ]
    for name, scale, power in others:
        waves = axis.on_all_cells(np.concatenate([edges, _cosines(scale, count)], axis=1))
        order = np.concatenate([[EDGE, EDGE], frequency]) ** power
        listed.append((name, Functions(_orthogonal(waves, marginal), np.concatenate([order, np.ones(axis.apart)]))))
    return listed


def _cosines(places: Vector, count: int) -> Vector:
    """Return the first cosines over places from 0 to 1."""
    return np.cos(np.pi * np.multiply.outer(places, np.arange(1, count + 1)))


def _ranks(marginal: Vector) -> Vector:
    """Return the mean rank, from 0 to 1, of the people in each cell."""
    shares = np.maximum(marginal, SMALLEST)
    ranks: Vector = (np.cumsum(shares) - shares / 2) / shares.sum()
    return ranks


def _orthogonal(waves: Vector, marginal: Vector) -> Vector:
    weight = np.sqrt(np.maximum(marginal, 1e-6))
    columns = np.column_stack([np.ones(len(waves)), waves]) * weight[:, None]
    orthogonal: Vector = np.linalg.qr(columns)[0][:, 1:] / weight[:, None]
    return orthogonal


def smooth(observed: Observed, base: Vector, basis: Functions, faces: Faces) -> Smooth:
    """Fit the smooth table."""
    base = np.maximum(base, 1e-12)
    theta, scale = np.zeros(len(basis.order)), 1.0
    table, parameters = base, 0.0
    for _ in range(STEPS):
        precision = basis.order**2 / scale
        before = _objective(observed, table, precision, theta)
        root = np.sqrt(table)
        functions = np.moveaxis(basis.values.reshape(*table.shape, -1), -1, 0)
        tangents = (root * Margins(table, faces).centre(root * functions)).reshape(len(functions), -1).T
        data = _information(observed, tangents)
        slope = tangents.T @ observed.gradient(table).ravel() + precision * theta
        spread: Vector = np.linalg.inv(data + np.diag(precision)).astype(np.float64)
        step, part, after = -spread @ slope, 1.0, before
        while part > 1e-3:
            moved = _table(base, basis, theta + part * step, faces)
            after = _objective(observed, moved, precision, theta + part * step)
            if after < before:
                theta, table = theta + part * step, moved
                break
            part /= 2
        parameters = float(np.trace(data @ spread))
        wanted = _scale(basis, theta, precision * np.diag(spread), scale)
        settled = before - after < 0.01 and abs(np.log(wanted / scale)) < 0.05
        scale = wanted
        if settled:
            break
    gained = 0.5 * (np.linalg.slogdet(spread)[1] + np.log(precision).sum())
    return Smooth(table, tangents, spread, parameters, gained - _objective(observed, table, precision, theta))


def _scale(basis: Functions, theta: Vector, left: Vector, scale: float) -> float:
    """Return the scale of the coefficients, given the share of each one's prior variance that is left."""
    learned = max(float((1 - left).sum()), 0.1)
    return float(np.clip(((basis.order * theta) ** 2).sum() / learned, 1e-4, 100.0)) if len(theta) else scale


def _table(base: Vector, basis: Functions, theta: Vector, faces: Faces) -> Vector:
    """Return the base times the exponential of functions, with the base's margins."""
    exponent = (basis.values @ theta).reshape(base.shape)
    return keep_margins(base * np.exp(np.maximum(exponent - exponent.max(), LOWEST)), base, faces)


def _objective(observed: Observed, table: Vector, precision: Vector, theta: Vector) -> float:
    return 0.5 * observed.misfit(table) + 0.5 * float(precision @ theta**2)


def _information(observed: Observed, tangents: Vector) -> Vector:
    """Return the precision matrix of the coefficients given the data."""
    stacked = np.moveaxis(tangents.reshape(*observed.shape, -1), -1, 0)
    seen = (observed.sums(stacked) * np.sqrt(observed.weight)).reshape(len(stacked), observed.weight.size)
    information: Vector = seen @ seen.T
    return information
