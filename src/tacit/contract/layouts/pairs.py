"""Pairs (ours): every attribute by itself and every two attributes together, at several levels.

One channel with the whole budget; a person draws one of the views with equal probability. With many attributes, the
full product of levels leaves each view with almost nobody; here the number of views grows only with the square of the
number of attributes. Totals over one or two attributes stay unbiased; totals over more are refused, because they were
not collected together, or answered by maximum entropy (``consistent=True``). All levels below the root are reported or,
if ``users=`` gives the expected number of people, those that balance noise and uneven cells; the contract lists them.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from tacit.contract.layouts.base import MAX_VIEWS, ChannelPlan, Planning, View
from tacit.contract.layouts.resolution import explain_levels, levels_for
from tacit.errors import LayoutError

__all__ = ["pairs"]


def pairs(planning: Planning) -> list[ChannelPlan]:
    """Return one channel over all views of one or two attributes, at the levels that suit the people expected."""
    levels, depths = planning.levels, levels_for(planning.levels, planning.expected)
    used = [range(1, len(of_attribute)) for of_attribute in levels] if depths is None else depths
    heights = [len(depths_used) for depths_used in used]
    count = sum(heights) + sum(a * b for a, b in itertools.combinations(heights, 2))
    if count > MAX_VIEWS:
        message = f"{count} views of one or two attributes; at most {MAX_VIEWS}. Use 'am(2)' or larger fanouts."
        raise LayoutError(message, code="too-many-views")
    views: list[View] = []
    for chosen in [*((i,) for i in range(len(levels))), *itertools.combinations(range(len(levels)), 2)]:
        for level in itertools.product(*(used[i] for i in chosen)):
            shown = dict(zip(chosen, level, strict=True))
            views.append(tuple(shown.get(i, 0) for i in range(len(levels))))
    why = explain_levels(levels, planning.expected)
    return [ChannelPlan("pairs", Fraction(1), tuple(views) or ((0,) * len(levels),), why=why)]
