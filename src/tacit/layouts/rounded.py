"""Baselines that sum a sensitive attribute by rounding it (the JOINT paper, section 3).

A value is rounded at random to one of the two ends of its domain, with the value as mean. The rounded value is a
**derived** attribute: it has no column, and spends one draw.

SR-HIO   every attribute is rounded; HIO over attributes and rounded ones together.
AHIO     people are partitioned by attribute; those of A report HIO over all attributes and A's rounded value (augment).
EHIO     the same partition; A is reported once, in a domain of twice the size: its upper half holds values rounded up,
         its lower half, mirrored, those rounded down (embed).
AMG      AHIO's partition, with one marginal of all values instead of HIO.

Counts ignore the rounded values; sums of A read those of A's part.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tacit.errors import LayoutError
from tacit.layouts.base import MAX_VIEWS, ChannelPlan, View
from tacit.layouts.levels import Levels
from tacit.schema import Categorical, Ordinal

__all__ = ["ROUNDED", "Derived", "Kind", "derive", "plan_rounded"]

Kind = Literal["round", "embed"]


@dataclass(frozen=True, slots=True)
class Derived:
    """An attribute made of another one at random: its rounded value, or itself on either half of a doubled domain."""

    source: int
    kind: Kind

    def levels(self, source: Levels, fanout: int) -> Levels:
        """Return the levels of the derived attribute."""
        if self.kind == "round":
            return Levels.build(2, fanout=2, null=False)
        return Levels.build(2 * source.size, fanout=fanout, null=False)


Views = Callable[[Sequence[Levels], Sequence[Levels]], list[View]]
"""From the levels of attributes and derived attributes to views over both."""


def _sr_hio(levels: Sequence[Levels], derived: Sequence[Levels]) -> list[View]:
    return list(itertools.product(*(range(len(one)) for one in (*levels, *derived))))


def _ahio(levels: Sequence[Levels], derived: Sequence[Levels]) -> list[View]:
    parts = []
    for own in range(len(derived)):
        depths = [range(len(one) if i == own else 1) for i, one in enumerate(derived)]
        parts += list(itertools.product(*(range(len(one)) for one in levels), *depths))
    return parts


def _ehio(levels: Sequence[Levels], derived: Sequence[Levels]) -> list[View]:
    parts = []
    for own in range(len(derived)):
        plain = [range(1 if i == own else len(one)) for i, one in enumerate(levels)]
        doubled = [range(len(one) if i == own else 1) for i, one in enumerate(derived)]
        parts += list(itertools.product(*plain, *doubled))
    return parts


def _amg(levels: Sequence[Levels], derived: Sequence[Levels]) -> list[View]:
    finest = tuple(one.finest for one in levels)
    return [(*finest, *(one.finest if i == own else 0 for i, one in enumerate(derived))) for own in range(len(derived))]


ROUNDED: dict[str, tuple[Kind, Views]] = {
    "srhio": ("round", _sr_hio),
    "ahio": ("round", _ahio),
    "ehio": ("embed", _ehio),
    "amg": ("round", _amg),
}


def derive(layout: str, attributes: Sequence[Ordinal | Categorical]) -> tuple[Derived, ...]:
    """Return the derived attributes of a layout: one for each attribute that holds numbers; none for other layouts."""
    if layout not in ROUNDED:
        return ()
    kind, _ = ROUNDED[layout]
    derived = tuple(Derived(i, kind) for i, attribute in enumerate(attributes) if isinstance(attribute, Ordinal))
    if not derived or any(attribute.null for attribute in attributes):
        message = f"{layout} rounds ordinal attributes, of which there must be one, and knows no NULL. Use hio."
        raise LayoutError(message, code="layout-out-of-range")
    if any(attributes[one.source].size < 2 for one in derived):
        message = f"{layout}: an attribute of a single value cannot be rounded. Leave it out."
        raise LayoutError(message, code="layout-out-of-range")
    return derived


def plan_rounded(layout: str, levels: Sequence[Levels], derived: Sequence[Levels]) -> list[ChannelPlan]:
    """Return the one channel of a rounding baseline."""
    _, views = ROUNDED[layout]
    found = tuple(views(levels, derived))
    if len(found) > MAX_VIEWS:
        message = f"{len(found)} views; at most {MAX_VIEWS}. Use fewer attributes."
        raise LayoutError(message, code="too-many-views")
    return [ChannelPlan(layout, Fraction(1), found)]
