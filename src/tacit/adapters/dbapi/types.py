"""Type objects and constructors of PEP 249.

The type code of a column is a Python type; ``code == NUMBER`` tells its kind.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Date",
    "DateFromTicks",
    "Kind",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "type_code",
]


class Kind:
    """A kind of column: equal to the type code of each of its columns.

    Examples
    --------
    >>> NUMBER == float, float == NUMBER, STRING == float
    (True, True, False)
    """

    def __init__(self, name: str, *types: type) -> None:
        self.name, self.types = name, frozenset(types)

    def __eq__(self, other: object) -> bool:
        return self is other or other in self.types

    def __hash__(self) -> int:
        return hash(self.types)

    def __repr__(self) -> str:
        return self.name


STRING = Kind("STRING", str)
BINARY = Kind("BINARY", bytes)
NUMBER = Kind("NUMBER", bool, int, float, Decimal)
DATETIME = Kind("DATETIME", datetime.date, datetime.time, datetime.datetime)
ROWID = Kind("ROWID")

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes
DateFromTicks = datetime.date.fromtimestamp
TimestampFromTicks = datetime.datetime.fromtimestamp


def TimeFromTicks(ticks: float) -> datetime.time:  # noqa: N802  PEP 249 names it so
    """Return the local time of seconds since 1970."""
    return datetime.datetime.fromtimestamp(ticks).time()


def type_code(values: Iterable[Any]) -> type:
    """Return the type code of a column of group values: that of the first non-NULL value, else text.

    Examples
    --------
    >>> type_code([None, 3]), type_code([])
    (<class 'int'>, <class 'str'>)
    """
    first = next((value for value in values if value is not None), "")
    known = STRING, NUMBER, DATETIME, BINARY
    return next((base for base in type(first).__mro__ if any(base in kind.types for kind in known)), str)
