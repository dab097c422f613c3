"""Ours, chosen by the number of people: blue if single cells can be estimated, adaptive boxes if not.

Rule        A fiftieth of the budget counts the people. With n epsilon/10 at least the number of cells (the grid that
            Qardaji, Yang and Li 2013 recommend would be finer than the domain) blue answers, unbiased; else adaptive.
Limit       At most `MAX_CELLS` cells. With more, every method here spends its budget on empty cells: one-way tables of
            the release were 50 to 135 times worse than noisy histograms of single columns.
Guarantee   epsilon: the choice depends on a noisy count only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from tacit.central.adaptive import TOTAL_SHARE, Adaptive, noisy_total
from tacit.central.blue import MAX_CELLS, Blue, view_cells
from tacit.central.body import Body
from tacit.central.charges import Charge
from tacit.central.noise import Source
from tacit.central.records import Records
from tacit.contract.schema import Service
from tacit.errors import LayoutError

__all__ = ["Auto", "check_cells", "prefers_blue"]

PER_CELL = 10.0
"""People times epsilon per cell from which every cell is worth counting."""

MOST_NAMED = 8
"""Columns, or groups of columns, that an error names."""


def prefers_blue(service: Service, epsilon: float, people: float) -> bool:
    """Return whether blue is expected to beat boxes for this many people."""
    cells = math.prod(attribute.size for attribute in service.sensitive)
    return cells <= MAX_CELLS and people * epsilon / PER_CELL >= cells and view_cells(service) <= MAX_CELLS


def check_cells(service: Service) -> None:
    """Refuse domains that no method here releases well, and name alternatives."""
    sizes = {attribute.name: attribute.size for attribute in service.sensitive}
    cells = math.prod(sizes.values())
    if cells <= MAX_CELLS:
        return
    shown = " × ".join(f"{name} {size:,}" for name, size in list(sizes.items())[:MOST_NAMED])
    left = dict(sorted(sizes.items(), key=lambda item: item[1]))
    dropped = []
    while math.prod(left.values()) > MAX_CELLS:
        dropped.append(left.popitem()[0])
    groups = _groups(sizes)
    each = "; ".join(", ".join(group) for group in groups[:MOST_NAMED])
    message = (
        f"{service.name}: {cells:,} cells ({shown}{' × …' if len(sizes) > MOST_NAMED else ''}); auto releases at most "
        f"{MAX_CELLS:,}, because tables of more are worse than noisy counts of single columns. Leave out or coarsen "
        f"(cells=, other=) the largest columns: without {', '.join(dropped)} there are {math.prod(left.values()):,} "
        f"cells. Or make {len(groups)} releases of a part of epsilon each, with these columns: {each}"
        f"{'; …' if len(groups) > MOST_NAMED else '.'}"
    )
    raise LayoutError(message, code="domain-too-large")


def _groups(sizes: Mapping[str, int]) -> list[list[str]]:
    """Return columns in groups of few enough cells, in their order."""
    groups: list[list[str]] = [[]]
    cells = 1
    for name, size in sizes.items():
        if groups[-1] and cells * size > MAX_CELLS:
            groups.append([])
            cells = 1
        groups[-1].append(name)
        cells *= size
    return groups


@dataclass(frozen=True)
class Auto:
    """The method."""

    def charges(self, service: Service, epsilon: Fraction) -> list[Charge]:
        """Return what it spends, whichever is chosen; refuse too many cells."""
        check_cells(service)
        return [
            Charge(epsilon * TOTAL_SHARE, "release: number of people"),
            Charge(epsilon * (1 - TOTAL_SHARE), "release: blue, or boxes and their parts"),
        ]

    def run(self, records: Records, epsilon: Fraction, source: Source) -> Body:
        """Return the release by the chosen method."""
        people = noisy_total(records, epsilon, source)
        if prefers_blue(records.service, float(epsilon), people):
            return Blue().run(records, epsilon * (1 - TOTAL_SHARE), source)
        return Adaptive().with_total(records, epsilon, source, people)
