"""Ours, chosen by the columns and the number of people: multiscale for one and two; else blue or adaptive boxes.

Rule        A fiftieth of the budget counts the people. One or two attributes with 64 to a million cells: multiscale;
            blue, which is unbiased, if n epsilon is at least a thousand times the number of cells. Others: blue if it
            is at least ten times this number (the grid that Qardaji, Yang and Li 2013 recommend would be finer than the
            domain). If not, marginals for five columns and more, as boxes hardly split any of them; else adaptive.
Wide        Above `MAX_CELLS` cells, marginals: other methods spend their budget on empty cells; their one-way tables
            were 50 to 135 times worse than noisy histograms of single columns.
Guarantee   epsilon: the choice depends on a noisy count only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from tacit.central.adaptive import TOTAL_SHARE, Adaptive, noisy_total
from tacit.central.blue import MAX_CELLS, Blue, view_cells
from tacit.central.body import Body
from tacit.central.charges import Charge
from tacit.central.marginals import MOST_SINGLE, Marginals
from tacit.central.multiscale import Multiscale, fits_multiscale
from tacit.central.noise import NoiseSource
from tacit.central.records import Records
from tacit.contract.schema import Ordinal, Service

__all__ = ["Auto", "is_wide", "prefers_blue", "prefers_marginals", "prefers_multiscale"]

PER_CELL, MANY = 10.0, 1000.0
"""People times epsilon per cell from which blue answers: where the alternative is adaptive, and where it is multiscale,
which has 0.7 to 1.2 times blue's error with fewer."""

FEWEST_CELLS = 64
"""Cells from which multiscale is taken: a few boxes tell little about how uneven people are (decision 0094)."""


MANY_COLUMNS = 5
"""Columns from which pairs of them are counted instead of boxes."""


def prefers_marginals(service: Service) -> bool:
    """Return whether a service has many columns, all of which can be counted."""
    columns = [attribute for attribute in service.sensitive if attribute.size > 1]
    counted = all(isinstance(column, Ordinal) or column.size <= MOST_SINGLE for column in columns)
    return len(columns) >= MANY_COLUMNS and counted


def prefers_multiscale(service: Service) -> bool:
    """Return whether multiscale takes a service, and has enough cells to learn from."""
    return fits_multiscale(service) and math.prod(attribute.size for attribute in service.sensitive) >= FEWEST_CELLS


def prefers_blue(service: Service, epsilon: float, people: float) -> bool:
    """Return whether blue is expected to do as well as the other method for this many people."""
    cells = math.prod(attribute.size for attribute in service.sensitive)
    enough = MANY if prefers_multiscale(service) else PER_CELL
    return cells <= MAX_CELLS and people * epsilon / enough >= cells and view_cells(service) <= MAX_CELLS


def is_wide(service: Service) -> bool:
    """Return whether cells of the full product are too many to count."""
    return math.prod(attribute.size for attribute in service.sensitive) > MAX_CELLS


@dataclass(frozen=True)
class Auto:
    """The method."""

    def charges(self, service: Service, epsilon: Fraction) -> list[Charge]:
        """Return what it spends, whichever is chosen; refuse too many cells."""
        if is_wide(service):
            return Marginals().charges(service, epsilon)
        return [
            Charge(epsilon * TOTAL_SHARE, "release: number of people"),
            Charge(
                epsilon * (1 - TOTAL_SHARE),
                "release: blue, columns and pairs, boxes stage by stage, or boxes and their parts",
            ),
        ]

    def run(self, records: Records, epsilon: Fraction, source: NoiseSource) -> Body:
        """Return the release by the chosen method."""
        if is_wide(records.service):
            return Marginals().run(records, epsilon, source)
        people = noisy_total(records, epsilon, source)
        if prefers_blue(records.service, float(epsilon), people):
            return Blue().run(records, epsilon * (1 - TOTAL_SHARE), source)
        if prefers_marginals(records.service):
            return Marginals().run(records, epsilon * (1 - TOTAL_SHARE), source)
        chosen = Multiscale() if prefers_multiscale(records.service) else Adaptive()
        return chosen.with_total(records, epsilon, source, people)
