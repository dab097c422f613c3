"""The body of a release: values and errors of functionals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa

from tacit.central.noise import Ints
from tacit.estimate.functional import Functional, Vector

__all__ = ["Body", "SummedTable", "dot", "sum_over_cells"]


class Body(Protocol):
    """Noisy numbers of one shape, and how functionals are estimated from them."""

    kind: str
    """Name of the shape in files."""

    unbiased: bool
    """Whether every functional is estimated without bias."""

    sizes: tuple[int, ...]
    """Number of values of each attribute."""

    def value(self, functional: Functional) -> float:
        """Return the estimate of a functional's total."""
        ...

    def covariance(self, left: Functional, right: Functional) -> float:
        """Return the covariance of two estimates."""
        ...

    def deviation(self, functional: Functional) -> tuple[float, float]:
        """Return the standard error of an estimate, and the equivalent number of equal draws."""
        ...

    def cell_estimates(self) -> Vector:
        """Return an estimate for every cell, with an axis for each attribute."""
        ...

    def facts(self) -> dict[str, Any]:
        """Return the metadata of a file."""
        ...

    def columns(self) -> pa.Table:
        """Return the numbers as a table."""
        ...

    @classmethod
    def of_file(cls, sizes: tuple[int, ...], facts: Mapping[str, Any], table: pa.Table) -> Self:
        """Return the body stored in a file."""
        ...


class SummedTable:
    """A table with an axis for each attribute; sums over unused attributes are cached."""

    def __init__(self, numbers: Ints | Vector) -> None:
        self.numbers = np.asarray(numbers, dtype=np.float64)
        self._sums: dict[tuple[int, ...], Vector] = {}

    def value(self, functional: Functional) -> float:
        """Return the sum over cells of number times functional."""
        return sum(self.product(term.coefficient, dict(term.factors)) for term in functional.terms)

    def product(self, coefficient: float, factors: Mapping[int, Vector]) -> float:
        """Return the sum over cells of number times a product of one vector per attribute."""
        axes = tuple(sorted(factors))
        if axes not in self._sums:
            others = tuple(i for i in range(self.numbers.ndim) if i not in axes)
            self._sums[axes] = self.numbers.sum(axis=others) if others else self.numbers
        left: Any = self._sums[axes]
        for axis in reversed(axes):  # last axis first, so that the others keep their positions
            left = left @ factors[axis]
        return coefficient * float(left)


def sum_over_cells(functional: Functional, sizes: tuple[int, ...]) -> float:
    """Return the sum of a functional over all cells."""
    total = 0.0
    for term in functional.terms:
        factors = (float(term.factors[i].sum()) if i in term.factors else size for i, size in enumerate(sizes))
        total += term.coefficient * math.prod(factors)
    return total


def dot(left: Vector, right: Vector) -> float:
    """Return the sum of products, on one thread: BLAS would start all, which slows down a busy machine."""
    return float(np.multiply(left, right).sum())
