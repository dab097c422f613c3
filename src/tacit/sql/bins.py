"""HISTOGRAM and width_bucket: bins of an ordinal column, with public borders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from sqlglot import exp

from tacit.contract.budget import exact_number
from tacit.contract.schema import Ordinal
from tacit.sql.dates import truncate
from tacit.sql.public import literal_of
from tacit.sql.scope import BoundColumn, Scope
from tacit.sql.totals import Total
from tacit.sql.vectors import exact_values, null_vector, shown_value

__all__ = ["buckets", "histogram"]

MAX_BUCKETS = 1_000
"""Maximum bins and buckets of a question."""

BINS, BUCKETS = 20, 10
"""Default maximum of bins of a histogram, and default buckets of width_bucket."""

PERIODS = {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}
"""Bins of dates, with the approximate number of days of each."""

Classes = list[tuple[Any, Total]]


def histogram(scope: Scope, node: exp.Expr) -> Classes | None:
    """Return the bins of HISTOGRAM, each by its first value; None for a column whose values are bins already.

    Borders depend on the declared range, never on data: multiples of 1, 2 or 5 times a power of ten, whole calendar
    periods, or whole cells.
    """
    message = "HISTOGRAM takes a sensitive column and a maximum number of bins: HISTOGRAM(column, 20)."
    arguments = node.expressions
    column = scope.find(arguments[0]) if 1 <= len(arguments) <= 2 and isinstance(arguments[0], exp.Column) else None
    most = _count(arguments[1]) if len(arguments) == 2 else BINS
    if column is None or most is None or not hasattr(column.attribute, "size"):
        raise scope.refusal(message, node, "unsupported-group")
    attribute = column.attribute
    if column.lookup or not isinstance(attribute, Ordinal) or attribute.values <= most:
        return None
    return _classes(scope, column, attribute, _places(attribute, most))


def _places(attribute: Ordinal, most: int) -> list[Any]:
    """Return the first possible value of each value's bin."""
    days = attribute.ticks * attribute.unit
    if attribute.is_date and attribute.values == attribute.ticks:
        fitting = [unit for unit, length in PERIODS.items() if days / length <= most]
        unit = fitting[0] if fitting else "year"
        return [truncate(unit, shown_value(attribute, index)) for index in range(attribute.values)]
    if attribute.values < attribute.ticks:  # whole cells
        cells = math.ceil(attribute.values / most)
        return [shown_value(attribute, index // cells * cells) for index in range(attribute.values)]
    width = _round_width(Fraction(days, most) if days else Fraction(1))
    starts = [math.floor(value / width) * width for value in exact_values(attribute)]
    return [int(start) if start.denominator == 1 else float(start) for start in starts]


def _round_width(least: Fraction) -> Fraction:
    """Return the smallest of 1, 2, 5, 10, 20, … times a power of ten that is at least a width."""
    power = Fraction(10) ** (math.floor(math.log10(least)) - 1)
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least:
                return factor * power
        power *= 10


def _classes(scope: Scope, column: BoundColumn, attribute: Ordinal, places: Sequence[Any]) -> Classes:
    missing = null_vector(attribute)
    labels = list(dict.fromkeys(places))
    numbers = np.array([*(labels.index(place) for place in places), *([-1] * attribute.null)])
    classes: Classes = [(label, scope.total(column, numbers == number)) for number, label in enumerate(labels)]
    return [*classes, (None, scope.total(column, missing))] if missing.any() else classes


def _count(node: exp.Expr) -> int | None:
    literal = literal_of(node)
    is_integer = literal is not None and not literal[1] and literal[0].isdigit() and len(literal[0]) <= 4
    count = int(literal[0]) if is_integer and literal is not None else 0
    return count if 1 <= count <= MAX_BUCKETS else None


def buckets(scope: Scope, node: exp.WidthBucket) -> Classes:
    """Return equal buckets 1..count from low to high, 0 below and count + 1 above, as PostgreSQL numbers them.

    Without bounds they range from the first declared value to one step after the last; their default number is ten.
    """
    column = scope.find(node.this) if isinstance(node.this, exp.Column) else None
    message = (
        "width_bucket takes an ordinal column of numbers, a lower bound, an upper bound and the number of buckets; or "
        "the column alone, or with the number of buckets."
    )
    attribute = column.attribute if column is not None and not column.lookup else None
    if column is None or not isinstance(attribute, Ordinal) or attribute.is_date:
        raise scope.refusal(message, node, "unsupported-group")
    arguments = [node.args.get(word) for word in ("min_value", "max_value", "num_buckets")]
    numbers = [literal_of(item) for item in arguments if item is not None]
    if any(number is None or number[1] for number in numbers) or len(numbers) == 2:
        raise scope.refusal(message, node, "unsupported-group")
    ends = (attribute.start, attribute.start + attribute.unit * attribute.ticks)
    try:
        known = [exact_number(number[0]) or Fraction(0) for number in numbers if number]
    except ValueError:  # an exponent
        raise scope.refusal(message, node, "unsupported-group") from None
    low, high, count = known if len(known) == 3 else (*ends, known[0] if known else Fraction(BUCKETS))
    if not low < high or count.denominator != 1 or not 1 <= count <= MAX_BUCKETS:
        raise scope.refusal(
            f"{message} Use at most {MAX_BUCKETS} buckets and a lower bound below the upper one.",
            node,
            "unsupported-group",
        )
    last = int(count) + 1
    places = [min(max(math.floor((v - low) * count / (high - low)) + 1, 0), last) for v in exact_values(attribute)]
    return _classes(scope, column, attribute, places)
