"""Synthetic rows: people drawn from a release's counts, made non-negative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tacit.central.body import Body
from tacit.central.boxes import Boxes
from tacit.central.marginals import MarginalTables
from tacit.central.noise import Ints
from tacit.central.sparse import unravel
from tacit.contract.schema import Service
from tacit.errors import UsageError
from tacit.estimate.functional import Functional, Vector
from tacit.sql.vectors import shown_value

__all__ = ["nonnegative", "synthetic_rows"]

MAX_ROWS = 100_000_000
"""Maximum synthetic rows."""


def nonnegative(counts: Vector, total: float) -> Vector:
    """Return the nearest numbers of 0 or more with a given sum: all are lowered alike, and cut at 0.

    Examples
    --------
    >>> nonnegative(np.array([5.0, 2.0, -3.0]), 4.0)
    array([3.5, 0.5, 0. ])
    """
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(counts) + 1)
    last = int(np.flatnonzero(ordered > excess)[-1]) if total > 0 else 0
    return np.maximum(counts - excess[last], 0) if total > 0 else np.zeros(len(counts))


def synthetic_rows(body: Body, service: Service, rows: int | None, seed: int | None) -> pa.Table:
    """Return rows drawn from a release."""
    people = max(1.0, body.value(Functional.constant(body.sizes)))
    count = round(people) if rows is None else rows
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_ROWS:
        message = f"rows is {count!r}; it must be a whole number from 1 to {MAX_ROWS}."
        raise UsageError(message, code="bad-option")
    source = np.random.default_rng(seed)
    if isinstance(body, MarginalTables):
        places = body.draw(count, source)
    elif isinstance(body, Boxes):
        places = _of_boxes(body, people, count, source)
    else:
        places = _of_cells(body, people, count, source)
    columns: dict[str, Any] = {}
    for i, attribute in enumerate(service.sensitive):
        shown = pa.array([shown_value(attribute, index) for index in range(attribute.size)])
        columns[attribute.name] = shown.take(pa.array(places[:, i]))
    return pa.table(columns)


def _of_cells(body: Body, people: float, count: int, source: np.random.Generator) -> Ints:
    chances = nonnegative(body.cell_estimates().ravel(), people)
    return unravel(source.choice(len(chances), count, p=chances / chances.sum()), body.sizes)


def _of_boxes(body: Boxes, people: float, count: int, source: np.random.Generator) -> Ints:
    chances = nonnegative(body.counts, people)
    box = source.choice(len(chances), count, p=chances / chances.sum())
    return np.asarray(source.integers(body.low[box], body.high[box] + 1))
