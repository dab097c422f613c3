"""Check a public column against its declaration, before anything is drawn."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.contract.schema import Public
from tacit.errors import RecordError

__all__ = ["refuse_undeclared"]

INT, FLOAT = (pa.types.is_integer,), (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
STR = (pa.types.is_string, pa.types.is_large_string)

TYPES = {"int": INT, "float": FLOAT, "str": STR, "bool": (pa.types.is_boolean,)}
"""Arrow types that hold the values of a declared type."""


def refuse_undeclared(service: str, attribute: Public, column: pa.ChunkedArray) -> None:
    """Raise if a typed public column has a value that it does not declare; the error shows no value."""
    missing = column.is_null()
    declared = attribute.type or ("str" if isinstance((attribute.values or ("",))[0], str) else "int")
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
