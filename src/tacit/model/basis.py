"""Functions of one attribute, from coarse to fine: coordinates in which views of different levels agree.

Function 0 is 1; the others are orthonormal over the values, sum to zero, and the first ``cells(j)`` of all are constant
on the cells of level j. A view at level j therefore shows exactly these, as sums over its cells: the same coordinate
has the same value in every view.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tacit.contract.layouts import Levels

__all__ = ["Array", "analysis", "functions", "synthesis"]

Array = npt.NDArray[np.float64]


@lru_cache(maxsize=128)
def functions(levels: Levels) -> Array:
    """Return values x functions: column 0 is 1, the others are orthonormal and ordered from coarse to fine."""
    columns = [np.ones((levels.size, 1))]
    parent = levels[0].table()
    for level in levels.levels[1:]:
        table = level.table()
        first = np.unique(table, return_index=True)[1]
        last_child = np.append(parent[first][1:] != parent[first][:-1], True)  # follows from the others
        columns.append(level.matrix().T[:, ~last_child])
        parent = table
    spanned, _ = np.linalg.qr(np.concatenate(columns, axis=1))
    spanned[:, 0] = 1.0
    spanned.setflags(write=False)
    return spanned


@lru_cache(maxsize=512)
def analysis(levels: Levels, depth: int) -> Array:
    """Return functions x cells of a level: the values on its cells of the functions that the level shows."""
    level = levels[depth]
    first = np.unique(level.table(), return_index=True)[1]
    return np.ascontiguousarray(functions(levels)[first, : level.cells].T)


@lru_cache(maxsize=128)
def synthesis(levels: Levels) -> Array:
    """Return values x functions: frequencies from the means of all functions."""
    back = functions(levels).copy()
    back[:, 0] = 1.0 / levels.size
    return back
