"""Columns of public dimension tables, as functions of a foreign key.

A dimension (products, shops) is public and joined on a sensitive attribute that holds its key. Each of its columns is
then one known value for every value of that attribute, so conditions, measures and groups on it are vectors over the
attribute: no join is needed, and nothing is lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.errors import BindError, UnknownNameError, UsageError
from tacit.estimate.functional import Vector
from tacit.sql.vectors import OPERATORS, Sensitive, kind_of, shown_value

__all__ = ["Dimension", "Lookup"]


@dataclass(frozen=True, eq=False)
class Lookup:
    """One value for each value index of a foreign key; None where the dimension has no such row, or no value in it."""

    name: str
    values: tuple[Any, ...]

    def null(self) -> Vector:
        """Return the vector that marks missing values."""
        return np.array([value is None for value in self.values], dtype=np.float64)

    def measure(self) -> Vector:
        """Return the values as numbers, 0 where missing."""
        if any(isinstance(value, bool) or not isinstance(value, int | float | None) for value in self.values):
            message = f"{self.name} does not hold numbers, so it has no sum. Use COUNT, or group by it."
            raise BindError(message, code="not-a-number")
        return np.array([0.0 if value is None else float(value) for value in self.values])

    def compare(self, comparison: str, literal: str, *, is_text: bool) -> Vector:
        """Return where ``value comparison literal`` is true."""
        compare = OPERATORS[comparison]
        wanted: Any = literal if is_text else float(literal)
        kinds = {kind_of(value) for value in self.values if value is not None}
        if kinds - {kind_of(wanted)}:
            message = f"{self.name} is compared with a constant of another type. Compare text with text."
            raise BindError(message, code="wrong-constant")
        return np.array([value is not None and compare(value, wanted) for value in self.values], dtype=np.float64)

    def classes(self) -> list[tuple[Any, Vector]]:
        """Return each distinct value with the vector that marks it; missing ones last."""
        known = sorted({value for value in self.values if value is not None}, key=lambda value: (kind_of(value), value))
        by_value = [(label, np.array([value == label for value in self.values], dtype=np.float64)) for label in known]
        return [*by_value, (None, self.null())] if self.null().any() else by_value


@dataclass(frozen=True, eq=False)
class Dimension:
    """A public table with one row for each key."""

    name: str
    key: str
    table: pa.Table

    @classmethod
    def of(cls, name: str, rows: pa.Table, key: str) -> Dimension:
        """Return the dimension of a table; refuse one whose key is not unique."""
        if key not in rows.column_names:
            raise UnknownNameError("column", key, rows.column_names)
        keys = rows.column(key)
        if keys.null_count or len(keys.unique()) != len(keys):
            message = f"{name}: the values of {key} must be unique and not NULL."
            raise UsageError(message, code="duplicate-key")
        return cls(name, key, rows)

    def lookups(self, attribute: Sensitive) -> tuple[Vector, dict[str, Lookup]]:
        """Return which values of a foreign key the dimension has, and each column as a function of it."""
        place = {key: row for row, key in enumerate(self.table.column(self.key).to_pylist())}
        rows = [place.get(shown_value(attribute, index)) for index in range(attribute.size)]
        matched = np.array([row is not None for row in rows], dtype=np.float64)
        columns = {}
        for name in self.table.column_names:
            column = self.table.column(name).to_pylist()
            values = tuple(None if row is None else _plain(column[row]) for row in rows)
            columns[name.lower()] = Lookup(name, values)
        return matched, columns


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
