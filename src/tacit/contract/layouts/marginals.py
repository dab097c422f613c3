"""FC and AM(k) (the CALM paper), MG and MG(k) (the MDA paper): products of single values.

FC      one channel, one view: the full contingency table.
AM(k)   one channel; a person draws one of the sets of k attributes and reports their values together.
MG      the MDA paper's baseline on released marginals: the same views, read by summing cells (``decoder="cover"``).
        As there, the released marginals are those that the questions need: of all attributes, or of every k.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

from tacit.contract.layouts.base import MAX_VIEWS, ChannelPlan, Planning, check_number
from tacit.errors import LayoutError

__all__ = ["am", "fc", "mg", "mg_of"]


def fc(planning: Planning) -> list[ChannelPlan]:
    """Return one channel with the single view of all values."""
    return [ChannelPlan("fc", Fraction(1), (tuple(attribute.finest for attribute in planning.levels),))]


def am(planning: Planning) -> list[ChannelPlan]:
    """Return one channel over all sets of k attributes."""
    levels, number = planning.levels, planning.number
    check_number("am", number, len(levels))
    count = math.comb(len(levels), number)
    if count > MAX_VIEWS:
        message = f"{count} sets of {number} attributes; at most {MAX_VIEWS} views. Use a smaller number, as am(2)."
        raise LayoutError(message, code="too-many-views")
    views = tuple(
        tuple(attribute.finest if i in chosen else 0 for i, attribute in enumerate(levels))
        for chosen in itertools.combinations(range(len(levels)), number)
    )
    return [ChannelPlan(f"am({number})", Fraction(1), views)]


def mg(planning: Planning) -> list[ChannelPlan]:
    """Return one channel with the marginal of all attributes."""
    return [ChannelPlan("mg", Fraction(1), plan.views) for plan in fc(planning)]


def mg_of(planning: Planning) -> list[ChannelPlan]:
    """Return one channel over the marginals of every k attributes."""
    return [ChannelPlan(f"mg({planning.number})", Fraction(1), plan.views) for plan in am(planning)]
