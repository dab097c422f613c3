"""Tables near a base: least squares plus ``strength`` times the divergence from the base, by Newton's method.

    minimise  misfit(x)/2 + strength * KL(x || base)   over tables x >= 0 that sum to 1

The table keeps given margins of the base. The divergence keeps cells positive, and keeps the base where the data carry
no information. Steps solve ``(strength I + S G S) u = -S gradient`` with S the square roots of the cells, by conjugate
gradients.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.estimate.functional import Vector
from tacit.model.evidence import Observed
from tacit.model.margins import Faces, Margins, keep_margins

__all__ = ["conjugate", "divergence", "near", "parameters"]

STEPS = 20
PROBES = 2
"""Steps of Newton's method, and random probes of a trace."""

EXACT = 64
"""Cells up to which parameters are counted exactly."""
SMALL = 1e-12
"""Smallest cell of a table."""


def conjugate(
    apply: Callable[[Vector], Vector], right: Vector, *, tolerance: float, most: int = 100, leading: int = 0
) -> Vector:
    """Solve ``apply(x) = right`` by conjugate gradients, for each leading index side by side."""
    axes = tuple(range(leading, right.ndim))
    solved, residual, along = np.zeros_like(right), right.copy(), right.copy()
    size = (residual**2).sum(axes, keepdims=True)
    enough = tolerance**2 * size
    for _ in range(most):
        if (size <= enough).all():
            break
        image = apply(along)
        curve = (along * image).sum(axes, keepdims=True)
        step = np.divide(size, curve, out=np.zeros_like(size), where=curve > 0)
        solved += step * along
        residual -= step * image
        new = (residual**2).sum(axes, keepdims=True)
        along = residual + np.divide(new, size, out=np.zeros_like(size), where=size > 0) * along
        size = new
    return solved


def divergence(table: Vector, base: Vector) -> float:
    """Return the divergence of a positive table from another."""
    return float((table * np.log(table / base)).sum())


def near(
    observed: Observed, base: Vector, strength: float, faces: Faces = ((),), start: Vector | None = None
) -> Vector:
    """Return the table that fits the observations and stays near the base, with the base's margins over faces."""
    base = np.maximum(base, SMALL) / np.maximum(base, SMALL).sum()
    table = base if start is None else start
    value = _objective(observed, table, base, strength)
    for _ in range(STEPS):
        slope = observed.gradient(table) + strength * np.log(table / base)
        root, margins = np.sqrt(table), Margins(table, faces)
        apply = _curvature(observed, table, strength, margins)
        step = root * conjugate(apply, -margins.centre(root * slope), tolerance=0.01)
        descent, part = -float((slope * step).sum()), 1.0
        growth = step / table
        while part > 1e-3:
            moved = keep_margins(table * np.exp(np.clip(part * growth, -5, 5)), base, faces)
            moved = np.maximum(moved, 1e-200)
            after = _objective(observed, moved, base, strength)
            if after < value - 1e-4 * part * descent:
                break
            part /= 2
        if after >= value:
            break
        gained, table, value = value - after, moved, after
        if gained < 1e-3:
            break
    return table


def parameters(observed: Observed, table: Vector, strength: float, faces: Faces = ((),)) -> float:
    """Return how many parameters a fit used: the trace of its hat matrix, estimated with random signs."""
    rng = np.random.default_rng(1)
    margins, total = Margins(table, faces), 0.0
    apply = _curvature(observed, table, strength, margins)
    if table.size <= EXACT:
        basis = margins.centre(np.eye(table.size).reshape(-1, *table.shape))
        images = apply(basis).reshape(table.size, -1)
        data = np.maximum(np.linalg.eigvalsh((images + images.T) / 2) - strength, 0.0)
        return float((data / (data + strength)).sum())
    for _ in range(PROBES):
        signs = margins.centre(rng.choice([-1.0, 1.0], observed.shape))
        solved = conjugate(apply, signs, tolerance=1e-3)
        total += float((signs**2).sum() - strength * (signs * solved).sum())
    return max(0.0, total / PROBES)


def _curvature(observed: Observed, table: Vector, strength: float, margins: Margins) -> Callable[[Vector], Vector]:
    root = np.sqrt(table)

    def apply(direction: Vector) -> Vector:
        return margins.centre(root * observed.information(root * direction) + strength * direction)

    return apply


def _objective(observed: Observed, table: Vector, base: Vector, strength: float) -> float:
    return 0.5 * observed.misfit(table) + strength * divergence(table, base)
