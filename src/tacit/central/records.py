"""A table of people as value indices, validated before anything is spent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.central.noise import Ints
from tacit.contract.randomness import SystemRng
from tacit.contract.schema import Ordinal, Schema, Service
from tacit.encode.keys import key_column
from tacit.encode.tables import as_table
from tacit.encode.values import reader_of
from tacit.errors import LayoutError, SchemaError
from tacit.estimate.functional import Functional, Vector

__all__ = ["Records", "released_service"]

MAX_DOMAIN = 2**62
"""Cells of the product of all attributes: a cell is a 64-bit number."""

FEW_CELLS = 2**24
"""Up to this many cells, all are counted at once instead of sorting the rows."""


def released_service(declared: Service | Schema) -> Service:
    """Return a service, or that of a schema with one; refuse what a curator cannot release.

    That is several rows per person, public columns, or too many cells.
    """
    service = declared.services[0] if isinstance(declared, Schema) and len(declared.services) == 1 else declared
    if not isinstance(service, Service):
        message = f"A {type(service).__name__} is not a Service, nor a schema of one. Declare one table's columns."
        raise SchemaError(message, code="bad-option")
    if service.at_most is not None or service.optional:
        message = (
            f"{service.name}: the guarantee is for people with one row each. Declare neither at_most= nor optional=, "
            "and keep one row per person."
        )
        raise SchemaError(message, code="one-row-per-person")
    if service.public:
        names = ", ".join(attribute.name for attribute in service.public)
        message = f"{service.name}: {names} would be published as it is. Declare it Ordinal or Categorical."
        raise SchemaError(message, code="public-not-possible")
    if math.prod(attribute.size for attribute in service.sensitive) > MAX_DOMAIN:
        message = f"{service.name}: the attributes together have more than 2**62 cells. Use fewer or coarser ones."
        raise LayoutError(message, code="domain-too-large")
    return service


@dataclass(frozen=True, eq=False)
class Records:
    """Rows of a service: for each attribute its value index, and for ordinals also the exact tick."""

    service: Service
    values: tuple[Ints, ...]
    ticks: tuple[tuple[Ints, npt.NDArray[np.bool_] | None], ...]

    @classmethod
    def read(cls, table: Any, declared: Service | Schema) -> Records:
        """Read and validate a table: columns, types, ranges, one row per person; errors never show a value."""
        service = released_service(declared)
        rows = as_table(service, table)
        key_column(service, rows)
        values, ticks = [], []
        for attribute in service.sensitive:
            reader = reader_of(service.name, attribute)
            column = rows.column(attribute.name)
            array = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
            position, missing = reader.positions(array, 0)
            dithered = isinstance(attribute, Ordinal) and attribute.dithered
            draws = SystemRng().draws(len(position)) if dithered else None
            values.append(reader.values(position, missing, draws))
            ticks.append((position, missing))
        return cls(service, tuple(values), tuple(ticks))

    def __len__(self) -> int:
        return len(self.values[0])

    def __repr__(self) -> str:
        return f"Records({self.service.name}, withheld)"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of value indices of each attribute."""
        return tuple(attribute.size for attribute in self.service.sensitive)

    def take(self, rows: npt.NDArray[Any]) -> Records:
        """Return some of the rows."""
        ticks = tuple((tick[rows], None if missing is None else missing[rows]) for tick, missing in self.ticks)
        return Records(self.service, tuple(column[rows] for column in self.values), ticks)

    def evaluate(self, functional: Functional) -> Vector:
        """Return the value of a functional for each row."""
        total = np.zeros(len(self))
        for term in functional.terms:
            product = np.full(len(self), term.coefficient)
            for attribute, vector in term.factors.items():
                product *= vector[self.values[attribute]]
            total += product
        return total

    @cached_property
    def flat(self) -> Ints:
        """Cell of each row in the product of all attributes, last attribute fastest."""
        cell = np.zeros(len(self), dtype=np.int64)
        for column, size in zip(self.values, self.sizes, strict=True):
            cell = cell * size + column
        return cell

    @cached_property
    def occupied(self) -> tuple[Ints, Ints]:
        """Cells with rows, in order, and the number of rows in each."""
        if math.prod(self.sizes) <= FEW_CELLS:
            table = np.bincount(self.flat, minlength=1)
            cells = np.flatnonzero(table)
            return cells, table[cells]
        cells, counts = np.unique(self.flat, return_counts=True)
        return cells, counts.astype(np.int64)

    def table(self) -> Ints:
        """Return the counts of all cells as an array with one axis for each attribute."""
        cells, counts = self.occupied
        counted = np.zeros(math.prod(self.sizes), dtype=np.int64)
        counted[cells] = counts
        return counted.reshape(self.sizes)
