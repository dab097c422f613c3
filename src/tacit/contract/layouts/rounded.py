"""Baselines that sum a sensitive attribute by rounding it (the JOINT paper, section 3).

A value is randomly rounded to one of the two ends of its domain, with the value as mean. The rounded value is a
**derived** attribute: it has no column, and uses one draw.

SR-HIO   every attribute is rounded; HIO over attributes and rounded ones together.
AHIO     people are partitioned by attribute; those of A report HIO over all attributes and A's rounded value (augment).
EHIO     the same partition; A is reported once, in a domain of twice the size: its upper half holds values rounded up,
         its lower half, mirrored, those rounded down (embed).
AMG      AHIO's partition, with one marginal of all values instead of HIO.

Counts ignore the rounded values; sums of A use the rounded values of A's part.

AHIO also supports services in which a person may have no row or several (section 5, double rounding): a report is of a
random row, or of an artificial one, and contains the person's number of rows, rounded to 0 or the maximum, in one
derived attribute together with A's rounded value. Counts use the rounded number, from all parts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal

from tacit.contract.layouts.base import MAX_VIEWS, ChannelPlan, Planning, View
from tacit.contract.layouts.levels import Levels
from tacit.contract.schema import Ordinal, Service
from tacit.errors import LayoutError

__all__ = ["ROUNDED", "Derived", "Kind", "derive", "plan_rounded"]

Kind = Literal["round", "embed", "pair"]


@dataclass(frozen=True, slots=True)
class Derived:
    """An attribute made of another one at random.

    Its rounded value; itself on either half of a doubled domain; or a pair, twice the rounded number of rows plus the
    rounded value.
    """

    source: int
    kind: Kind

    def levels(self, source: Levels, fanout: int) -> Levels:
        """Return the levels of the derived attribute."""
        if self.kind != "embed":
            ends = 2 if self.kind == "round" else 4
            return Levels.build(ends, fanout=ends, null=False)
        return Levels.build(2 * source.size, fanout=fanout, null=False)


Sources = Mapping[int, Levels]
"""Levels of derived attributes, by the attribute they are made of."""

Views = Callable[[Sequence[Levels], Sources], Iterable[View]]
"""From the levels of attributes and derived attributes to views over both."""


def _sr_hio(levels: Sequence[Levels], derived: Sources) -> Iterator[View]:
    return itertools.product(*(range(len(level)) for level in (*levels, *derived.values())))


def _partition(levels: Sequence[Levels], derived: Sources, *, plain: bool) -> Iterator[View]:
    """Yield HIO's views for each derived attribute: beside the attribute it is made of, or in its place."""
    for rounded in derived:
        plain_ranges = [range(len(level) if plain or i != rounded else 1) for i, level in enumerate(levels)]
        derived_ranges = [range(len(level) if source == rounded else 1) for source, level in derived.items()]
        yield from itertools.product(*plain_ranges, *derived_ranges)


def _amg(levels: Sequence[Levels], derived: Sources) -> Iterator[View]:
    finest = [level.finest for level in levels]
    for rounded in derived:
        yield (*finest, *(level.finest if source == rounded else 0 for source, level in derived.items()))


ROUNDED: dict[str, tuple[Kind, Views]] = {
    "srhio": ("round", _sr_hio),
    "ahio": ("round", partial(_partition, plain=True)),
    "ehio": ("embed", partial(_partition, plain=False)),
    "amg": ("round", _amg),
}


def derive(layout: str, service: Service) -> tuple[Derived, ...]:
    """Return the derived attributes of a layout: one for each attribute that holds numbers; none for other layouts."""
    if layout not in ROUNDED:
        return ()
    kind, _ = ROUNDED[layout]
    attributes = service.sensitive
    if not service.one_to_one:
        if layout != "ahio":
            message = f"{layout} is for services with one row per person. Use hio, or the baseline ahio."
            raise LayoutError(message, code="layout-out-of-range")
        kind = "pair"
    derived = tuple(Derived(i, kind) for i, attribute in enumerate(attributes) if isinstance(attribute, Ordinal))
    if not derived or any(attribute.null for attribute in attributes):
        message = f"{layout} needs an ordinal attribute to round, and does not support NULL. Use hio."
        raise LayoutError(message, code="layout-out-of-range")
    if any(attributes[attribute.source].size < 2 for attribute in derived):
        message = f"{layout}: an attribute with a single value cannot be rounded. Remove it."
        raise LayoutError(message, code="layout-out-of-range")
    return derived


def plan_rounded(layout: str, planning: Planning) -> list[ChannelPlan]:
    """Return the one channel of a rounding baseline."""
    _, views = ROUNDED[layout]
    if math.prod(len(level) for level in planning.levels) > MAX_VIEWS:
        message = f"More than {MAX_VIEWS} combinations of levels. Use fewer attributes."
        raise LayoutError(message, code="too-many-views")
    planned = tuple(itertools.islice(views(planning.levels, planning.derived), MAX_VIEWS + 1))
    if len(planned) > MAX_VIEWS:
        message = f"More than {MAX_VIEWS} views. Use fewer attributes."
        raise LayoutError(message, code="too-many-views")
    return [ChannelPlan(layout, Fraction(1), planned)]
