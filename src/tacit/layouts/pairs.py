"""Pairs (ours): every attribute by itself and every two attributes together, at all levels below the root.

One channel with the whole budget; a person draws one of the views with equal probability. With many attributes the full
product of levels leaves each view with next to nobody; here their number grows with the square of the attributes only.
Totals over one or two attributes stay unbiased; totals over more were not collected together and are refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from tacit.errors import LayoutError
from tacit.layouts.base import MAX_VIEWS, ChannelPlan, View
from tacit.layouts.levels import Levels

__all__ = ["pairs"]


def pairs(levels: Sequence[Levels]) -> list[ChannelPlan]:
    """Return one channel over all views of one or two attributes."""
    heights = [attribute.finest for attribute in levels]
    count = sum(heights) + sum(a * b for a, b in itertools.combinations(heights, 2))
    if count > MAX_VIEWS:
        message = f"{count} views of one or two attributes; at most {MAX_VIEWS}. Use 'am(2)' or larger fanouts."
        raise LayoutError(message, code="too-many-views")
    views: list[View] = []
    for chosen in [*((i,) for i in range(len(levels))), *itertools.combinations(range(len(levels)), 2)]:
        for depths in itertools.product(*(range(1, len(levels[i])) for i in chosen)):
            shown = dict(zip(chosen, depths, strict=True))
            views.append(tuple(shown.get(i, 0) for i in range(len(levels))))
    return [ChannelPlan("pairs", Fraction(1), tuple(views) or ((0,) * len(levels),))]
