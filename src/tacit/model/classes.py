"""Classes of values.

For questions about attributes whose joint table would be large, each attribute is divided into **classes** of values
that the question does not distinguish, such as inside and outside a range: the maximum-entropy table over classes is
small.
"""

from __future__ import annotations

import numpy as np

from tacit.estimate.functional import Vector

__all__ = ["classes"]

TINY = 1e-300
"""Smallest divisor: sums of zero weights stay zero."""


def classes(vectors: Vector, weights: Vector, most: int) -> Vector:
    """Return classes x values, 1 where a class holds a value: values on which all vectors agree share a class.

    If there are too many, neighbours in the order of the vectors are merged into classes of about the same weight.
    """
    distinct, member = np.unique(vectors, axis=1, return_inverse=True)
    member = member.ravel()
    if distinct.shape[1] > most:
        mass = np.bincount(member, weights, minlength=distinct.shape[1])
        before = (np.cumsum(mass) - mass / 2) / max(mass.sum(), TINY)
        member = np.minimum((before * most).astype(np.int64), most - 1)[member]
        member = np.unique(member, return_inverse=True)[1]
    held: Vector = (member == np.arange(member.max() + 1)[:, None]).astype(np.float64)
    return held
