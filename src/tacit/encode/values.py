"""Columns to value indices: the declared rules for types, ranges, missing values and coarser cells.

Every rule here is arithmetic on integers, except that floating-point input is first brought onto the declared steps:
``floor((x - low) / step + 0.5)`` in IEEE doubles, which every language computes alike. `tacit.client` follows the same
rules for one record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import RecordError
from tacit.oracles.base import remainder
from tacit.randomness import Draws
from tacit.schema import Categorical, Ordinal

__all__ = ["OFF_STEP", "ColumnReader"]

OFF_STEP = 1e-6
"""How far from a step, in steps, a number may be and still count as on it: decimals have no exact doubles."""

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ColumnReader:
    """Reads one attribute's column, chunk by chunk; ``first_row`` is where the chunk starts."""

    service: str
    attribute: Ordinal | Categorical

    def refuse(self, problem: str, code: str, bad: Any, first_row: int) -> RecordError:
        """Return the error for the rows marked in ``bad``."""
        rows = int(np.count_nonzero(bad))
        first = first_row + int(np.argmax(bad)) if rows else None
        return RecordError(
            problem, code=code, service=self.service, column=self.attribute.name, rows=rows, first_row=first
        )

    def positions(self, column: pa.Array, first_row: int) -> tuple[Ints, Mask | None]:
        """Return the tick (ordinal) or the index (categorical) of each row, and which rows are NULL."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        missing = np.asarray(column.is_null()) if column.null_count else None
        if missing is not None and not self.attribute.null:
            problem = "values are missing. Declare null=True to collect missing values as a value of their own."
            raise self.refuse(problem, "missing-value", missing, first_row)
        if isinstance(self.attribute, Categorical):
            return self._category(column, missing, first_row), missing
        return self._ticks(column, missing, first_row), missing

    def values(self, positions: Ints, missing: Mask | None, draws: Draws | None) -> Ints:
        """Return value indices: ticks into cells (spending the draws, where dithered), NULL as the last index."""
        attribute = self.attribute
        if isinstance(attribute, Ordinal) and attribute.cells is not None and attribute.cells < attribute.ticks:
            positions = _dither(positions, attribute, draws) if draws is not None else _bin(positions, attribute)
        if missing is not None:
            positions = np.where(missing, attribute.size - 1, positions)
        return positions

    def _category(self, column: pa.Array, missing: Mask | None, first_row: int) -> Ints:
        attribute = self.attribute
        assert isinstance(attribute, Categorical)  # noqa: S101  for the type checker
        if not pa.types.is_null(column.type):
            column = self._as_dictionary_type(column, isinstance(attribute.values[0], str), first_row)
            found = pc.index_in(column, value_set=pa.array(attribute.values, column.type))
        else:
            found = pa.nulls(len(column), pa.int32())
        unknown = np.asarray(found.is_null())
        if missing is not None:
            unknown &= ~missing
        if unknown.any() and attribute.other is None:
            problem = "values are not in the declared list. List them, or name a catch-all with other=."
            raise self.refuse(problem, "unknown-category", unknown, first_row)
        fallback = 0 if attribute.other is None else attribute.values.index(attribute.other)
        return np.asarray(pc.fill_null(found, fallback), dtype=np.int64)

    def _as_dictionary_type(self, column: pa.Array, text: bool, first_row: int) -> pa.Array:  # noqa: FBT001
        kind = column.type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
        if text and is_text:
            return column.cast(pa.large_string())
        if not text and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            try:
                return column.cast(pa.int64())
            except pa.ArrowInvalid:
                pass
        problem = f"the column holds {kind}, the declared values are {'text' if text else 'whole numbers'}. Convert it."
        raise self.refuse(problem, "wrong-type", np.zeros(0), first_row)

    def _ticks(self, column: pa.Array, missing: Mask | None, first_row: int) -> Ints:
        attribute = self.attribute
        assert isinstance(attribute, Ordinal)  # noqa: S101  for the type checker
        numbers = self._numbers(column, attribute, first_row)
        if missing is not None:
            numbers = np.where(missing, numbers.dtype.type(float(attribute.start)), numbers)
        if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
            problem = "values are NaN or infinite. Remove them, or make them NULL and declare null=True."
            raise self.refuse(problem, "not-finite", ~np.isfinite(numbers), first_row)
        exact_integers = numbers.dtype.kind != "f" and attribute.unit == 1 and attribute.start.denominator == 1
        low: Any = int(attribute.start) if exact_integers else float(attribute.start)
        span: Any = attribute.ticks - 1 if exact_integers else float(attribute.unit * (attribute.ticks - 1))
        outside = (numbers < low) | (numbers > low + span)
        if outside.any():
            if attribute.outside == "refuse":
                problem = (
                    f"values are outside {attribute.low}..{attribute.high}. Widen the range, or set outside='clamp'."
                )
                raise self.refuse(problem, "outside-domain", outside, first_row)
            numbers = np.clip(numbers, low, low + span)
        if exact_integers:
            ticks: Ints = numbers - low
            return ticks
        return self._on_steps(numbers, attribute, first_row)

    def _on_steps(self, numbers: npt.NDArray[Any], attribute: Ordinal, first_row: int) -> Ints:
        steps = (numbers - float(attribute.start)) / float(attribute.unit)
        ticks = np.floor(steps + 0.5)
        if attribute.cells is None:
            off = np.abs(steps - ticks) > OFF_STEP
            if off.any():
                problem = f"values lie between steps of {attribute.step}. Declare a finer step=, or cells=."
                raise self.refuse(problem, "between-steps", off, first_row)
        return np.clip(ticks, 0, attribute.ticks - 1).astype(np.int64)

    def _numbers(self, column: pa.Array, attribute: Ordinal, first_row: int) -> npt.NDArray[Any]:
        kind = column.type
        number_types = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        date_types = (pa.types.is_date, pa.types.is_timestamp)
        allowed: tuple[Callable[[pa.DataType], bool], ...] = date_types if attribute.is_date else number_types
        if pa.types.is_null(kind):
            return np.zeros(len(column), dtype=np.int64)
        if not any(test(kind) for test in allowed):
            wanted = "dates" if attribute.is_date else "numbers"
            problem = f"the column holds {kind}, the declared values are {wanted}. Convert it."
            raise self.refuse(problem, "wrong-type", np.zeros(0), first_row)
        if attribute.is_date:
            column = self._days(column, first_row)
        elif pa.types.is_decimal(kind) or kind == pa.float16():
            column = column.cast(pa.float64())
        if column.null_count:
            column = pc.fill_null(column, pa.scalar(0, column.type))
        numbers: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
        if numbers.dtype.kind == "f":
            return numbers.astype(np.float64, copy=False)
        if numbers.dtype == np.uint64:  # what does not fit 63 bits is outside every range anyway
            numbers = np.minimum(numbers, np.uint64(2**63 - 1))
        return numbers.astype(np.int64, copy=False)

    def _days(self, column: pa.Array, first_row: int) -> pa.Array:
        """Return days since 1970; a time of day is never dropped silently."""
        days = column.cast(pa.date32())
        if not pa.types.is_date32(column.type):
            inside_day = np.asarray(pc.fill_null(pc.not_equal(days.cast(column.type), column), fill_value=False))
            if inside_day.any():
                problem = "times have a time of day, the declared values are dates. Truncate them to days."
                raise self.refuse(problem, "wrong-type", inside_day, first_row)
        return days.cast(pa.int32())


def _bin(ticks: Ints, attribute: Ordinal) -> Ints:
    assert attribute.cells is not None  # noqa: S101  for the type checker
    return ticks * attribute.cells // attribute.ticks


def _dither(ticks: Ints, attribute: Ordinal, draws: Draws) -> Ints:
    """Round to one of the two nearest representatives, upwards in proportion to the distance from the lower one."""
    assert attribute.cells is not None  # noqa: S101  for the type checker
    scaled, span = ticks * (attribute.cells - 1), attribute.ticks - 1
    lower = scaled // span
    return lower + (remainder(draws, span) < scaled - lower * span)
