"""Scalars of numpy, pandas, Arrow and enumerations as plain Python values."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["plain_rows", "plain_scalar"]

PLAIN = frozenset({str, int, float, bool, type(None), datetime.date})
"""A set, so that every lookup takes the same time."""

MISSING = frozenset({"NAType", "NaTType"})


def plain_scalar(value: Any) -> Any:
    """Return a scalar as a plain Python value; anything else is returned unchanged, to be refused later.

    Examples
    --------
    >>> import enum
    >>> plain_scalar(enum.StrEnum("Plan", ["FREE", "PRO"]).PRO)
    'pro'
    """
    if type(value) in PLAIN:
        return value
    if type(value).__name__ in MISSING:  # of pandas
        return None
    if isinstance(value, enum.Enum):
        return plain_scalar(value.value)
    if type(value).__module__.partition(".")[0] in ("numpy", "pyarrow"):
        value = _unwrap(value)
    if isinstance(value, bool | float | datetime.datetime) or not isinstance(value, str | int):
        return float(value) if isinstance(value, float) else value
    return str.__str__(value) if isinstance(value, str) else int(value)


def _unwrap(value: Any) -> Any:
    """Return the value of a numpy or Arrow scalar; arrays are not scalars."""
    if hasattr(value, "as_py"):
        return value.as_py()
    if getattr(value, "ndim", 0):
        return value
    if type(value).__name__ == "datetime64":
        value = value.astype("datetime64[us]")  # nanoseconds would become integers
    return value.item()


def plain_rows(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return rows with plain values; anything that is not a row is returned unchanged."""
    return [{k: plain_scalar(v) for k, v in row.items()} if isinstance(row, Mapping) else row for row in rows]
