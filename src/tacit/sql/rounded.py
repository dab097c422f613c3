"""Products of totals over values that clients round randomly.

A report shows the rounded value D, so a product f h of functionals is estimated as the mean of f(D) h(D), and errors
would include how much people differ. What they should subtract is the product of the means over the rounding, which is
smaller by the covariance that the rounding adds. For one attribute that is ``r (1 - r)`` times the differences of f and
h between the two nearest representatives, at most a quarter of their product; for several it is at most the sum over
them (Efron and Stein 1981). So a quarter of the products of differences, to both neighbours of each representative, is
subtracted: in every direction the error is never too small, and with many cells hardly too large.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tacit.estimate.functional import Functional, Term, Vector
from tacit.sql.totals import Total

__all__ = ["product_of_means"]


def product_of_means(left: Total, right: Total, rounded: Mapping[int, int]) -> Total:
    """Return a total below the product of the means of two totals over the rounding of some attributes.

    Parameters
    ----------
    left, right : Total
        The factors.
    rounded : mapping
        The number of representatives of each attribute that is rounded; NULL follows them.
    """
    if not rounded:
        return left * right
    read = [{i for piece in total.pieces for i in piece.functional.attributes} for total in (left, right)]
    added = [
        _differences(left, axis, rounded[axis], step) * _differences(right, axis, rounded[axis], step)
        for axis in sorted(read[0] & read[1] & rounded.keys())
        for step in (-1, 1)
    ]
    return Total.sum([left * right, *(total.scaled(-0.25) for total in added)]) if added else left * right


def _differences(total: Total, axis: int, count: int, step: int) -> Total:
    """Return how much a total changes if an attribute moves to the next representative."""
    pieces = (replace(piece, functional=_differences_of(piece.functional, axis, count, step)) for piece in total.pieces)
    return Total(tuple(piece for piece in pieces if piece.functional.terms))


def _differences_of(functional: Functional, axis: int, count: int, step: int) -> Functional:
    terms = (
        Term(term.coefficient, {**term.factors, axis: _neighbours(term.factors[axis], count, step)})
        for term in functional.terms
        if axis in term.factors
    )
    return Functional(functional.sizes, tuple(term for term in terms if not term.vanishes))


def _neighbours(vector: Vector, count: int, step: int) -> Vector:
    """Return each representative's difference from its neighbour on one side; 0 where it has none, and for NULL."""
    moved, differences = np.zeros(len(vector)), np.diff(vector[:count])
    if step > 0:
        moved[: count - 1] = differences
    else:
        moved[1:count] = differences
    return moved
