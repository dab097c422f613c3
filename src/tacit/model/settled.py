"""Fits whose observation variances are consistent with the fitted counts.

The oracle's noise is equal for all cells, but sampling of views is not: a cell with half of the people varies more than
an empty one. At epsilon 4 this is most of the variance of a view of few cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.estimate.functional import Vector
from tacit.model.evidence import Cells, NoisyTable, Observed, observe, showing
from tacit.model.table import Fit

__all__ = ["settled_fit"]

OWN = 0.2
"""Minimum mean share of a cell's variance from its own people at which a table is fitted twice."""


def settled_fit(
    evidence: Sequence[NoisyTable],
    face: tuple[int, ...],
    fine: tuple[Sequence[Cells], Sequence[Vector]],
    expected: Vector | None,
    fit: Callable[[Observed], Fit],
) -> Fit:
    """Return the fit of some attributes, in given cells with the shares of values; ``expected`` has known counts."""
    first = fit(observe(evidence, face, *fine, expected))
    shown = [table.proportional for table in showing(evidence, face)]
    return first if sum(shown) < OWN * len(shown) else fit(observe(evidence, face, *fine, first.table))
