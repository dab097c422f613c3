"""FC and AM(k) (the CALM paper): products of single values, of all attributes or of every k of them.

FC      one channel, one view: the full contingency table.
AM(k)   one channel; a person draws one of the sets of k attributes and reports their values together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from tacit.errors import LayoutError
from tacit.layouts.base import MAX_VIEWS, ChannelPlan
from tacit.layouts.levels import Levels

__all__ = ["am", "fc"]


def fc(levels: Sequence[Levels]) -> list[ChannelPlan]:
    """Return one channel with the single view of all values."""
    return [ChannelPlan("fc", Fraction(1), (tuple(attribute.finest for attribute in levels),))]


def am(levels: Sequence[Levels], number: int) -> list[ChannelPlan]:
    """Return one channel over all sets of ``number`` attributes."""
    if not 1 <= number <= len(levels):
        message = f"am takes the number of attributes of a marginal, from 1 to {len(levels)} here."
        raise LayoutError(message, code="mechanism-number")
    count = math.comb(len(levels), number)
    if count > MAX_VIEWS:
        message = f"{count} sets of {number} attributes; at most {MAX_VIEWS} views. Use a smaller number, as am(2)."
        raise LayoutError(message, code="too-many-views")
    views = tuple(
        tuple(attribute.finest if i in chosen else 0 for i, attribute in enumerate(levels))
        for chosen in itertools.combinations(range(len(levels)), number)
    )
    return [ChannelPlan(f"am({number})", Fraction(1), views)]
