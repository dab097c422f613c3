"""Cell partitioning: a noisy count of every cell (DPCube, algorithm 1).

Guarantee   epsilon: cells hold different people, so each may spend all of it.
Error       Every cell has independent noise: a range of k cells has k times the variance of one.
Sparse      Above `DENSE` cells only counts at or above a threshold are kept, and empty cells that reach it by noise are
            drawn without visiting the others (`tacit.central.sparse`). Every dropped cell counts the same, so that the
            sum over empty cells is unbiased; the few people in dropped cells are missed.
Reference   Xiao, Xiong and Yuan 2010.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
import pyarrow as pa

from tacit.central.body import Body, SummedTable, sum_over_cells
from tacit.central.boxes import Boxes
from tacit.central.charges import Charge
from tacit.central.noise import Ints, Laplace, NoiseSource
from tacit.central.records import Records
from tacit.central.sparse import unravel, visible_cells
from tacit.contract.budget import read_fraction
from tacit.contract.schema import Service
from tacit.estimate.functional import Functional, Vector

__all__ = ["DENSE", "CellCounts", "Cells"]

DENSE = 2**18
"""Up to this many cells, each gets its own noise: two seconds on a core."""


@dataclass(frozen=True)
class Cells:
    """The method."""

    def charges(self, service: Service, epsilon: Fraction) -> list[Charge]:  # noqa: ARG002
        """Return what it spends."""
        return [Charge(epsilon, "release: cells")]

    def run(self, records: Records, epsilon: Fraction, source: NoiseSource) -> Body:
        """Return the noisy counts."""
        law = Laplace(epsilon)
        if math.prod(records.sizes) <= DENSE:
            return CellCounts(source.noisy(records.table(), law), law)
        visible = visible_cells(records, law, source)
        places = unravel(visible.cells, records.sizes)
        return Boxes(records.sizes, places, places, visible.counts, law, threshold=visible.threshold)


class CellCounts:
    """A noisy count of every cell."""

    kind, unbiased = "cells", True

    def __init__(self, counts: Ints, law: Laplace) -> None:
        self.counts, self.law, self.sizes = counts, law, counts.shape
        self._table = SummedTable(counts)

    def value(self, functional: Functional) -> float:
        """Return the estimate of a functional's total."""
        return self._table.value(functional)

    def covariance(self, left: Functional, right: Functional) -> float:
        """Return the variance of a cell times the sum of the functionals' product."""
        return self.law.variance * sum_over_cells(left * right, self.sizes)

    def deviation(self, functional: Functional) -> tuple[float, float]:
        """Return the standard error of an estimate, and the equivalent number of equal draws."""
        square = functional * functional
        second = sum_over_cells(square, self.sizes)
        fourth = sum_over_cells(square * square, self.sizes) if len(square.terms) <= 20 else second**2
        return math.sqrt(self.law.variance * second), second**2 / fourth if fourth else 1.0

    def cell_estimates(self) -> Vector:
        """Return an estimate for every cell."""
        return self.counts.astype(np.float64)

    def facts(self) -> dict[str, Any]:
        """Return the metadata of a file."""
        return {"cell_epsilon": str(self.law.epsilon)}

    def columns(self) -> pa.Table:
        """Return the counts, last attribute fastest."""
        return pa.table({"count": self.counts.ravel()})

    @classmethod
    def of_file(cls, sizes: tuple[int, ...], facts: Mapping[str, Any], table: pa.Table) -> Self:
        """Return the body stored in a file."""
        counts = np.asarray(table.column("count"), dtype=np.int64)
        return cls(counts.reshape(sizes), Laplace(read_fraction(facts["cell_epsilon"])))
