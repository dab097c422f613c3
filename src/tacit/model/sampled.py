"""Tables of a panel's round: its people are a random sample, which adds to every error."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tacit.contract.panel import Design
from tacit.contract.schema import Service
from tacit.model.marginals import Table

__all__ = ["of_panel"]

SURELY = 7.0
"""Standard deviations within which the number of people asked in a round is assumed to lie."""


def of_panel(table: Table, rows: int, service: Service, design: Design) -> tuple[Table, int, float]:
    """Scale a table up to all members of a panel; return it with the number of rows and its upper bound.

    With y rows of a cell, a person asked adds ``weight * (weight - 1) * y**2`` to the variance of its count, and y is
    at most the rows that a person may have. Where the number of people is known, less is added; only the total uses
    this here.
    """
    each = service.rows_at_most / service.sends
    people, left_out = rows / each, 1 - 1 / design.weight
    known = table.frequencies if table.unbiased is None else np.maximum(table.unbiased, table.frequencies)
    spread = left_out * service.rows_at_most * np.clip(known, 0.0, 1.0) / (max(1.0, people) * each)
    share = min(1.0, people / design.enrolled.asked) if design.enrolled else 0.0
    most = design.weight * each * (people + SURELY * math.sqrt(people * left_out * (1 - share)))
    note = f"a panel's newest round, in which each person stands for {design.weight:.4g}; errors include who was asked"
    widened = replace(table, errors=np.sqrt(table.errors**2 + spread), notes=(*table.notes, note))
    return widened, round(design.weight * rows), most
