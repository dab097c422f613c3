"""Ordinal attributes, and the checks that all kinds of attributes share; frozen and validated when they are made.

An attribute turns a raw value into a **value index** 0..size-1 (NULL, where declared, is the last one); everything
private happens on indices.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, ClassVar, Literal

from tacit.client.scalars import plain_scalar
from tacit.contract.budget import decimal_text, exact_number
from tacit.errors import SchemaError
from tacit.tables.naming import NAME, RESERVED, allowed_name

__all__ = ["MAX_VALUES", "Ordinal", "check_distinct", "check_flag", "check_name", "is_text"]

MAX_VALUES = 1_000_000
"""Maximum values of an ordinal: finer ones cannot be estimated, and would bloat every table."""

MAX_TICKS = 2**31
"""Maximum steps between low and high: ticks times cells must stay exact in 53 bits."""

_EPOCH = datetime.date(1970, 1, 1)

MAX_PLACES = 40
"""Decimal places of a bound or step, as contracts write them."""

NumberLike = int | float | str | Decimal | Fraction | datetime.date


def check_name(kind: str, name: object) -> None:
    """Refuse names that SQL or files do not allow, and names reserved by the package."""
    if not isinstance(name, str) or not NAME.match(name):
        hint = f" Rename it, for example to {allowed_name(name)}." if isinstance(name, str) else " Pass a text."
        message = (
            f"The {kind} name {name!r} is not allowed. Names are letters, digits and underscores, at most 63, "
            f"and do not start with a digit.{hint}"
        )
        raise SchemaError(message, code="bad-name")
    if name.lower() in RESERVED:
        message = f"The {kind} name {name!r} is reserved ({', '.join(sorted(RESERVED))}). Choose another one."
        raise SchemaError(message, code="reserved-name")


def check_distinct(kind: str, names: Iterable[str]) -> None:
    """Refuse a name that occurs twice, ignoring case."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            message = f"Two {kind}s are named {name!r} (case is ignored). Rename one."
            raise SchemaError(message, code="duplicate-name")
        seen.add(name.lower())


def check_flag(owner: str, option: str, value: object) -> None:
    """Refuse options that are neither True nor False."""
    if not isinstance(value, bool):
        message = f"{owner}: {option} is {value!r}; it must be True or False."
        raise SchemaError(message, code="bad-option")


def _bound(value: Any) -> Any:
    """Return a bound as a plain value; a datetime at midnight is a date."""
    value = plain_scalar(value)
    midnight = isinstance(value, datetime.datetime) and value.tzinfo is None and value.time() == datetime.time()
    return datetime.date(value.year, value.month, value.day) if midnight else value


def _exact(owner: str, setting: str, value: object) -> Fraction:
    """Return a bound or step as the exact decimal that the user wrote."""
    try:
        exact = exact_number(value)
        places = -int(Decimal(decimal_text(exact)).as_tuple().exponent)  # thirds have no decimal
    except (ValueError, InvalidOperation, ZeroDivisionError):
        exact, places = Fraction(2**53), 0
    if abs(exact) >= 2**53 or places > MAX_PLACES:
        message = (
            f"{owner}: {setting} is {str(value)[:40]!r}; it must be a decimal number below 2**53 with at most "
            f"{MAX_PLACES} places, or a date."
        )
        raise SchemaError(message, code="bad-bound")
    return exact


def _plain(value: Fraction) -> int | Decimal:
    """Return a bound as users write it: a whole number, or a decimal."""
    return int(value) if value.denominator == 1 else Decimal(decimal_text(value))


@dataclass(frozen=True)
class Ordinal:
    """Numbers or dates between ``low`` and ``high``, both included.

    Parameters
    ----------
    name : str
        Column name.
    low, high : int, float, Decimal, str or datetime.date
        Declared range; public, never taken from data.
    fanout : int
        How many cells of a level refine one cell of the level above it (2 to 64).
    cells : int, optional
        Coarser resolution: the range is represented by this many cells.
    dither : bool
        With ``cells``: round at random to the two nearest of ``cells`` evenly spaced representatives, so that sums
        stay unbiased; ``False`` puts values into equal bins, exact on bin edges.
    step : number, optional
        Distance of neighbouring values; default 1 (one day for dates), and with ``cells`` a power of ten at most a
        thousandth of a cell. Without ``cells`` a value between steps is refused, with ``cells`` it is rounded.
    outside : "refuse" or "clamp"
        What happens to values out of range.
    null : bool
        Whether NULL is a value of its own; otherwise a missing value is refused.
    """

    name: str
    low: NumberLike
    high: NumberLike
    fanout: int = 5
    cells: int | None = None
    dither: bool = True
    step: NumberLike | None = None
    outside: Literal["refuse", "clamp"] = "refuse"
    null: bool = False
    start: Fraction = field(init=False, repr=False, compare=False)
    unit: Fraction = field(init=False, repr=False, compare=False)
    ticks: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_name("attribute", self.name)
        for option in ("low", "high", "step", "cells", "fanout"):
            object.__setattr__(self, option, _bound(getattr(self, option)))
        self._check_options()
        low, high = self._bounds()
        unit = self._unit(low, high)
        count = (high - low) / unit + 1
        if count.denominator != 1:
            message = f"{self.name}: {self.high} is not a whole number of steps of {unit} above {self.low}. Adjust one."
            raise SchemaError(message, code="uneven-step")
        set_once = object.__setattr__  # derived once; the class is frozen
        if not self.is_date:  # canonical numbers, so that equal attributes compare equal
            set_once(self, "low", _plain(low))
            set_once(self, "high", _plain(high))
        set_once(self, "step", _plain(unit))
        set_once(self, "start", low)
        set_once(self, "unit", unit)
        set_once(self, "ticks", int(count))
        if self.ticks > MAX_TICKS:
            message = (
                f"{self.name}: {self.ticks} steps from low to high; at most {MAX_TICKS} are allowed. Use a larger step."
            )
            raise SchemaError(message, code="domain-too-large")
        self._check_cells()

    def _check_options(self) -> None:
        for option in ("dither", "null"):
            check_flag(self.name, option, getattr(self, option))
        if isinstance(self.fanout, bool) or not isinstance(self.fanout, int) or not 2 <= self.fanout <= 64:
            message = f"{self.name}: fanout is {self.fanout!r}; it must be a whole number from 2 to 64."
            raise SchemaError(message, code="bad-option")
        if self.cells is not None and (
            isinstance(self.cells, bool) or not isinstance(self.cells, int) or self.cells < 2
        ):
            message = f"{self.name}: cells is {self.cells!r}; it must be a whole number of at least 2."
            raise SchemaError(message, code="bad-option")
        if self.outside not in ("refuse", "clamp"):
            message = f"{self.name}: outside is {self.outside!r}; it must be 'refuse' or 'clamp'."
            raise SchemaError(message, code="bad-option")

    def _bounds(self) -> tuple[Fraction, Fraction]:
        if self.is_date:
            if type(self.high) is not datetime.date or type(self.low) is not datetime.date:
                message = f"{self.name}: low and high must both be dates (datetime.date), or both numbers."
                raise SchemaError(message, code="bad-bound")
            low, high = Fraction((self.low - _EPOCH).days), Fraction((self.high - _EPOCH).days)
        else:
            low, high = _exact(self.name, "low", self.low), _exact(self.name, "high", self.high)
        if high < low:
            message = f"{self.name}: high {self.high} is below low {self.low}, so the domain is empty. Swap them."
            raise SchemaError(message, code="empty-domain")
        return low, high

    def _unit(self, low: Fraction, high: Fraction) -> Fraction:
        if self.step is not None:
            unit = _exact(self.name, "step", self.step)
            if unit <= 0 or (self.is_date and unit.denominator != 1):
                message = f"{self.name}: step is {self.step}; it must be above 0, and whole days for dates."
                raise SchemaError(message, code="bad-bound")
            return unit
        places = max(len(decimal_text(bound).partition(".")[2]) for bound in (low, high))
        unit = Fraction(1, int(10**places))
        if self.cells is not None and not self.is_date:
            while unit * 1000 * self.cells > high - low and unit > Fraction(1, 10**9):
                unit /= 10
        return unit

    def _check_cells(self) -> None:
        if self.cells is not None and self.cells > self.ticks:
            message = f"{self.name}: cells is {self.cells}, but there are only {self.ticks} values. Drop cells=."
            raise SchemaError(message, code="bad-option")
        if self.values > MAX_VALUES:
            message = (
                f"{self.name}: {self.values} values; at most {MAX_VALUES} can be told apart. "
                "Set cells=, for example cells=1000."
            )
            raise SchemaError(message, code="domain-too-large")

    ordered: ClassVar[bool] = True
    """Whether the values are in ascending order, as those of categories may be."""

    @property
    def is_date(self) -> bool:
        """Whether the values are dates."""
        return isinstance(self.low, datetime.date)

    @property
    def values(self) -> int:
        """Number of distinct values, without NULL."""
        return self.ticks if self.cells is None else self.cells

    @property
    def size(self) -> int:
        """Number of value indices, including NULL."""
        return self.values + self.null

    @property
    def dithered(self) -> bool:
        """Whether encoding a record uses a draw to round this attribute."""
        return self.cells is not None and self.dither and self.cells < self.ticks


def is_text(value: str) -> bool:
    """Return whether text is valid UTF-8: lone surrogates are not."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
