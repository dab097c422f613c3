"""Public columns: validated against their declaration before anything is drawn, and stored with the declared type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tacit.contract.schema import Public
from tacit.errors import RecordError
from tacit.tables.compute import pc

__all__ = ["public_array", "refuse_undeclared", "stored_text"]

INT, FLOAT = (pa.types.is_integer,), (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
STR = (pa.types.is_string, pa.types.is_large_string)

TYPES = {"int": INT, "float": FLOAT, "str": STR, "bool": (pa.types.is_boolean,)}
"""Arrow types that hold the values of a declared type."""

STORED = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
"""The Arrow type in which each declared type is stored."""

Scalar = str | int | float | bool | None
"""The values that a public column may hold."""

WHOLE = 2**53
"""Every integer below this limit is exact as a float; such floats are written without a point."""


def refuse_undeclared(service: str, attribute: Public, column: pa.ChunkedArray) -> None:
    """Raise if a typed public column has a value that it does not declare; the error shows no value."""
    missing = column.is_null()
    declared = _declared_type(attribute)
    if pa.types.is_null(column.type):
        wrong = np.zeros(len(column), dtype=np.bool_)
    elif not any(holds(column.type) for holds in TYPES[declared]):
        wrong = np.ones(len(column), dtype=np.bool_)
    else:
        wrong = ~np.asarray(_allowed_rows(attribute, declared, column)) & ~np.asarray(missing)
    if not attribute.null:
        wrong = wrong | np.asarray(missing)
    rows = np.flatnonzero(wrong)
    if len(rows):
        problem = f"values do not match the public column's declaration: {attribute.allowed}."
        raise RecordError(
            problem,
            code="wrong-public",
            service=service,
            column=attribute.name,
            rows=len(rows),
            first_row=int(rows[0]),
        )


def _allowed_rows(attribute: Public, declared: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return for each row whether its value is allowed; NULL rows do not count."""
    if attribute.values is not None:
        allowed = pc.is_in(column, value_set=pa.array(attribute.values, type=_comparable(column.type, attribute)))
    elif declared == "str":
        allowed = pc.invert(pc.match_substring(column, "\0"))
    elif pa.types.is_uint64(column.type):
        allowed = pc.less(column, pa.scalar(2**63, type=pa.uint64()))
    elif pa.types.is_floating(column.type):
        allowed = pc.is_finite(column)
    else:
        allowed = pc.true_unless_null(column)
    return allowed.fill_null(False)  # noqa: FBT003


def _comparable(kind: pa.DataType, attribute: Public) -> pa.DataType:
    """Return the common type of declared values and a column."""
    return kind if isinstance((attribute.values or ("",))[0], str) else pa.int64()


def _declared_type(attribute: Public) -> str:
    """Return the type of a typed public column, by its values where it lists them."""
    return attribute.type or ("str" if isinstance((attribute.values or ("",))[0], str) else "int")


def public_array(attribute: Public, values: list[Any]) -> pa.Array:
    """Return values that clients have sent as a column of the declared type; where none is declared, as text."""
    if not attribute.typed:
        return pa.array([stored_text(value) for value in values], pa.string())
    declared = _declared_type(attribute)
    if declared == "float":
        values = [None if value is None else float(value) for value in values]
    return pa.array(values, STORED[declared])


def stored_text(value: Scalar) -> str | None:
    """Return a scalar as text: equal numbers are equal texts.

    Examples
    --------
    >>> [stored_text(value) for value in ("ios", 7, 7.0, 0.5, True, None)]
    ['ios', '7', '7', '0.5', 'true', None]
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, int) or (value == int(value) and abs(value) < WHOLE) else repr(value)
