"""Ours, chosen by the number of people: blue where cells can be told apart, adaptive boxes where they cannot.

Rule        A fiftieth of the budget counts the people. With n epsilon/10 at least the number of cells (the grid that
            Qardaji, Yang and Li 2013 recommend would be finer than the domain) blue answers, unbiased; else adaptive.
Guarantee   epsilon: what is chosen depends on a noisy count only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from tacit.central.adaptive import TOTAL_SHARE, Adaptive, noisy_total
from tacit.central.blue import MAX_CELLS, Blue, view_cells
from tacit.central.body import Body
from tacit.central.charges import Charge
from tacit.central.noise import Source
from tacit.central.records import Records
from tacit.schema import Service

__all__ = ["Auto", "prefers_blue"]

PER_CELL = 10.0
"""People times epsilon per cell from which every cell is worth counting."""


def prefers_blue(service: Service, epsilon: float, people: float) -> bool:
    """Tell whether blue is expected to beat boxes for this many people."""
    cells = math.prod(attribute.size for attribute in service.sensitive)
    return cells <= MAX_CELLS and people * epsilon / PER_CELL >= cells and view_cells(service) <= MAX_CELLS


@dataclass(frozen=True)
class Auto:
    """The method."""

    def charges(self, service: Service, epsilon: Fraction) -> list[Charge]:  # noqa: ARG002
        """Return what it spends, whichever is chosen."""
        return [
            Charge(epsilon * TOTAL_SHARE, "release: number of people"),
            Charge(epsilon * (1 - TOTAL_SHARE), "release: blue, or boxes and their parts"),
        ]

    def run(self, records: Records, epsilon: Fraction, source: Source) -> Body:
        """Return what was chosen."""
        people = noisy_total(records, epsilon, source)
        if prefers_blue(records.service, float(epsilon), people):
            return Blue().run(records, epsilon * (1 - TOTAL_SHARE), source)
        return Adaptive().with_total(records, epsilon, source, people)
