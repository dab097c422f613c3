"""Correct a fitted table where the data contradict it, so that no answer is worse than least squares.

Along the eigenvectors of the data's information, from the best known to the least, a fitted table differs from the
least-squares table by coefficients whose noise is known. Where the fit is right these differences are pure noise.
Directions of about the same information form a block; a share of a block's differences is added to the table,

    1 - CAUTION * (m - 2) / sum of squared differences in units of their noise,      at least 0,

by Stein's estimator: for a block of m > 2 directions its squared error is at most that of least squares, whatever the
truth is and whatever the fit was, and it adds almost nothing to a fit that is right.

Reference   James and Stein 1961; Green and Strawderman 1991 (combining biased and unbiased estimators).
"""

from __future__ import annotations

import numpy as np

from tacit.estimate.functional import Vector
from tacit.model.evidence import Observed
from tacit.model.nonnegative import norm_sub

__all__ = ["MOST_CELLS", "draw_to_data"]

MOST_CELLS = 512
"""Maximum cells: a matrix of them is decomposed."""

CAUTION = 1.25
"""Multiple of Stein's shrinkage; up to 2 the result is never worse than least squares."""

BLOCK = 6
"""Directions of the first block, which has the best-known ones; each further block has twice as many."""

KNOWN = 1e-9
"""Information, relative to the largest, below which a direction counts as unobserved."""


def draw_to_data(observed: Observed, table: Vector) -> Vector:
    """Return a table of one attribute, corrected by the data."""
    [stack] = observed.stacks
    if not 3 < table.size <= MOST_CELLS:
        return table
    information = stack.T @ (observed.weight[:, None] * stack)
    inside = np.eye(table.size) - 1 / table.size  # the total is known
    known, directions = np.linalg.eigh(inside @ information @ inside)
    order = np.argsort(-known)
    order = order[known[order] > KNOWN * known[order[0]]]
    known, directions = known[order], directions[:, order]
    off = directions.T @ -observed.gradient(table) / known
    moved, start, size = table.copy(), 0, BLOCK
    while start < len(known):
        stop = len(known) if len(known) - start < 2 * size else start + size
        part = slice(start, stop)
        excess = float((known[part] * off[part] ** 2).sum())
        share = max(0.0, 1 - CAUTION * (stop - start - 2) / excess) if stop - start > 2 and excess > 0 else 0.0
        moved += share * directions[:, part] @ off[part]
        start, size = stop, 2 * size
    return norm_sub(moved, float(table.sum()))
