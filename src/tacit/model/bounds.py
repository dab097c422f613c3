"""Bounds of a total per person, or of a ratio of two totals, for any population."""

from __future__ import annotations

import math

import numpy as np

from tacit.estimate.functional import Functional, Vector

__all__ = ["mean_bounds", "ratio_bounds"]

MOST_BOUNDED_CELLS = 2**16
"""Up to this many combinations of values are enumerated; above, terms are bounded one by one."""


def mean_bounds(functional: Functional) -> tuple[float, float]:
    """Return the smallest and the largest value of a functional over all records.

    Examples
    --------
    >>> mean_bounds(Functional.of((3,), 0, [0, 2, 5]) - Functional.constant((3,), 1.0))
    (-1.0, 4.0)
    """
    cells = _cells(functional, functional.attributes)
    if cells is not None:
        return float(cells.min()), float(cells.max())
    low = high = 0.0
    for term in functional.terms:
        ends = np.array([term.coefficient, term.coefficient])
        for vector in term.factors.values():
            products = np.multiply.outer(ends, [vector.min(), vector.max()])
            ends = np.array([products.min(), products.max()])
        low, high = low + float(ends[0]), high + float(ends[1])
    return low, high


def ratio_bounds(above: Functional, below: Functional) -> tuple[float, float]:
    """Return the smallest and the largest ratio of two functionals over the records where the second is above 0.

    The ratio of their totals lies in between if the second is never negative, and the first is 0 where the second is.
    """
    attributes = tuple(sorted({*above.attributes, *below.attributes}))
    first, second = _cells(above, attributes), _cells(below, attributes)
    if first is None or second is None or (second < 0).any() or first[second == 0].any() or not (second > 0).any():
        return -math.inf, math.inf
    ratios = first[second > 0] / second[second > 0]
    return float(ratios.min()), float(ratios.max())


def _cells(functional: Functional, attributes: tuple[int, ...]) -> Vector | None:
    """Return the value of every combination of some attributes' values; None if they are too many."""
    sizes = [functional.sizes[i] for i in attributes]
    if math.prod(sizes) > MOST_BOUNDED_CELLS:
        return None
    total = np.zeros(sizes)
    for term in functional.terms:
        product = np.full((), term.coefficient)
        for i in attributes:
            product = np.multiply.outer(product, term.factors.get(i, np.ones(functional.sizes[i])))
        total = total + product
    return total
