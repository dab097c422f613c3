"""Columns to value indices: the declared rules for types, ranges, missing values and coarser cells.

Every rule here is integer arithmetic, except that floating-point input is first rounded to the declared steps:
``floor((x - low) / step + 0.5)`` in IEEE doubles, which every language computes identically. `tacit.client` follows the
same rules for one record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.client.labels import unit_of
from tacit.contract.oracles.base import remainder
from tacit.contract.randomness import Draws
from tacit.contract.schema import Categorical, Ordinal
from tacit.encode.keys import Ints
from tacit.errors import RecordError, SchemaError
from tacit.tables.compute import pc

__all__ = ["OFF_STEP", "CategoryReader", "ColumnReader", "OrdinalReader", "reader_of"]

OFF_STEP = 1e-6
"""Tolerance, in steps, within which a number counts as on a step: decimals have no exact doubles."""

Mask = npt.NDArray[np.bool_]

LABELS = {"month": "%Y-%m", "hour": "%Y-%m-%dT%H"}
"""Formats of the values of each unit of time."""


def type_name(kind: pa.DataType) -> str:
    """Return the name of a column's type; names of nested fields may be values, and are left out."""
    return "nested values" if pa.types.is_nested(kind) else str(kind)


@dataclass(frozen=True)
class ColumnReader:
    """Reads one attribute's column, chunk by chunk."""

    service: str
    attribute: Any

    def positions(self, column: pa.Array, first_row: int) -> tuple[Ints, Mask | None]:
        """Return the tick (ordinal) or list index (categorical) of each row, and which rows are NULL.

        ``first_row`` is where the chunk starts in its table. NULL rows are taken out before anything is checked.
        """
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        rows = np.arange(first_row, first_row + len(column))
        if not column.null_count:
            return self._read(column, rows), None
        missing: Mask = np.asarray(column.is_null())
        if not self.attribute.null:
            problem = "values are missing. Declare null=True to collect missing values as a value of their own."
            raise self._refuse(problem, "missing-value", rows[missing])
        indices = np.zeros(len(column), dtype=np.int64)
        if not missing.all():
            indices[~missing] = self._read(column.drop_null(), rows[~missing])
        return indices, missing

    def values(self, positions: Ints, missing: Mask | None, draws: Draws | None) -> Ints:
        """Return value indices: NULL is the last one; ``draws`` round a dithered attribute."""
        indices = self._indices(positions, draws)
        return indices if missing is None else np.where(missing, self.attribute.size - 1, indices)

    def _read(self, column: pa.Array, rows: Ints) -> Ints:
        raise NotImplementedError

    def _indices(self, positions: Ints, draws: Draws | None) -> Ints:  # noqa: ARG002
        return positions

    def _refuse(self, problem: str, code: str, rows: Ints) -> RecordError:
        """Return the error for the given rows of the table, or for the whole column."""
        first = int(rows[0]) if len(rows) else None
        name = self.attribute.name
        return RecordError(problem, code=code, service=self.service, column=name, rows=len(rows), first_row=first)

    def _wrong_type(self, column: pa.Array, wanted: str) -> RecordError:
        problem = f"the column holds {type_name(column.type)}, the declared values are {wanted}. Convert it."
        return self._refuse(problem, "wrong-type", np.zeros(0, dtype=np.int64))


@dataclass(frozen=True)
class CategoryReader(ColumnReader):
    """Looks values up in the declared list."""

    attribute: Categorical

    def _read(self, column: pa.Array, rows: Ints) -> Ints:
        listed, other = self.attribute.values, self.attribute.other
        if other is not None and other not in listed:  # a dictionary that a contract names is first read here
            message = f"{self.attribute.name}: the catch-all is not in the dictionary. Nothing is encoded with it."
            raise SchemaError(message, code="bad-dictionary")
        column = self._as_listed_type(column)
        indices = pc.index_in(column, value_set=pa.array(list(listed), column.type))
        if not indices.null_count:
            return np.asarray(indices, dtype=np.int64)
        if other is None:
            problem = "values are not in the declared list. List them, or name a catch-all with other=."
            raise self._refuse(problem, "unknown-category", rows[np.asarray(indices.is_null())])
        fallback = list(listed).index(other)
        return np.asarray(pc.fill_null(indices, fallback), dtype=np.int64)

    def _as_listed_type(self, column: pa.Array) -> pa.Array:
        kind = column.type
        unit = None if self.attribute.dictionary else unit_of(self.attribute.values, self.attribute.other)
        if unit == "boolean" and pa.types.is_boolean(kind):
            return column.cast(pa.large_string())
        if unit in LABELS and (pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)):
            if unit == "hour" and pa.types.is_date(kind):
                raise self._wrong_type(column, "hours")
            return pc.strftime(column.cast(pa.timestamp("s"), safe=False), LABELS[unit]).cast(pa.large_string())
        if self.attribute.has_text:
            if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
                return column.cast(pa.large_string())
            raise self._wrong_type(column, "text")
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        try:
            numbers = column.cast(pa.int64()) if is_number else None
        except pa.ArrowInvalid:
            numbers = None  # the error would show the number
        if numbers is None:
            raise self._wrong_type(column, "whole numbers")
        return numbers


@dataclass(frozen=True)
class OrdinalReader(ColumnReader):
    """Rounds numbers and dates to the declared steps."""

    attribute: Ordinal

    def _read(self, column: pa.Array, rows: Ints) -> Ints:
        attribute = self.attribute
        numbers = self._days(column, rows) if attribute.is_date else self._numbers(column)
        if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
            problem = "values are NaN or infinite. Remove them, or make them NULL and declare null=True."
            raise self._refuse(problem, "not-finite", rows[~np.isfinite(numbers)])
        exact = numbers.dtype.kind != "f" and attribute.unit == 1 and attribute.start.denominator == 1
        last = attribute.start + attribute.unit * (attribute.ticks - 1)
        low: Any = int(attribute.start) if exact else float(attribute.start)
        high: Any = int(last) if exact else float(last)
        outside = (numbers < low) | (numbers > high)
        if outside.any():
            if attribute.outside == "refuse":
                limits = f"{attribute.low}..{attribute.high}"
                problem = f"values are outside {limits}. Widen the range, or set outside='clamp'."
                raise self._refuse(problem, "outside-domain", rows[outside])
            numbers = np.clip(numbers, low, high)
        if exact:
            ticks: Ints = numbers - low
            return ticks
        return self._on_steps(numbers, rows)

    def _on_steps(self, numbers: npt.NDArray[Any], rows: Ints) -> Ints:
        attribute = self.attribute
        steps = (numbers - float(attribute.start)) / float(attribute.unit)
        ticks = np.floor(steps + 0.5)
        off = np.abs(steps - ticks) > OFF_STEP
        if attribute.cells is None and off.any():
            problem = f"values lie between steps of {attribute.step}. Declare a finer step=, or cells=."
            raise self._refuse(problem, "between-steps", rows[off])
        return np.clip(ticks, 0, attribute.ticks - 1).astype(np.int64)

    def _numbers(self, column: pa.Array) -> npt.NDArray[Any]:
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            raise self._wrong_type(column, "numbers")
        if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
            column = column.cast(pa.float64())
        numbers: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
        if numbers.dtype == np.uint64:  # values beyond 63 bits are outside every range anyway
            numbers = np.minimum(numbers, np.uint64(2**63 - 1))
        return numbers if numbers.dtype.kind == "f" else numbers.astype(np.int64, copy=False)

    def _days(self, column: pa.Array, rows: Ints) -> Ints:
        """Return days since 1970; a time of day or a time zone is never dropped silently."""
        kind = column.type
        if not (pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)):
            raise self._wrong_type(column, "dates (without time zone)")
        days = column.cast(pa.date32(), safe=False)
        if not pa.types.is_date32(kind):
            inside_day = np.asarray(pc.not_equal(days.cast(kind, safe=False), column))
            if inside_day.any():
                problem = "times have a time of day, the declared values are dates. Truncate them to days."
                raise self._refuse(problem, "wrong-type", rows[inside_day])
        return np.asarray(days.cast(pa.int32()), dtype=np.int64)

    def _indices(self, positions: Ints, draws: Draws | None) -> Ints:
        attribute = self.attribute
        if attribute.cells is None or attribute.cells == attribute.ticks:
            return positions
        if draws is None:
            return positions * attribute.cells // attribute.ticks  # equal bins
        # Round to one of the two nearest representatives, up in proportion to the distance from the lower one.
        scaled, span = positions * (attribute.cells - 1), attribute.ticks - 1
        lower = scaled // span
        return lower + (remainder(draws, span) < scaled - lower * span)


def reader_of(service: str, attribute: Ordinal | Categorical) -> ColumnReader:
    """Return the reader for an attribute."""
    return OrdinalReader(service, attribute) if isinstance(attribute, Ordinal) else CategoryReader(service, attribute)
