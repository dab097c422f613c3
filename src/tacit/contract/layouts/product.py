"""HIO and HI (the MDA paper): all combinations of levels, by splitting people or by splitting the budget.

HIO   one channel with the whole budget; a person draws one combination of levels.
HI    one channel for each combination, with an equal share of the budget; a person reports in all of them.

With one attribute the root carries no information and is left out, as in the paper; with more attributes the paper uses
all (h+1)**d combinations, the all-root one included, and so do these baselines. The all-root combination has one cell
and carries no information: as in the paper, HI spends one of its (h+1)**d equal shares of the budget on it, and HIO the
same share of the people.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from tacit.contract.layouts.base import MAX_VIEWS, ChannelPlan, Planning, View
from tacit.contract.layouts.levels import Levels
from tacit.errors import LayoutError

__all__ = ["hi", "hio"]


def level_combinations(levels: Sequence[Levels]) -> tuple[View, ...]:
    """Return every combination of levels, the last attribute's changing fastest."""
    skip_root = len(levels) == 1 and len(levels[0]) > 1
    count = math.prod(len(attribute) for attribute in levels)
    if count > MAX_VIEWS:
        message = (
            f"{count if count < 10**9 else 'More than 10**9'} combinations of levels; at most {MAX_VIEWS} views. "
            "Use mechanism='sc', 'am(2)' or 'am(1)', a larger fanout, or fewer attributes in the service."
        )
        raise LayoutError(message, code="too-many-views")
    return tuple(itertools.product(*(range(int(skip_root), len(attribute)) for attribute in levels)))


def hio(planning: Planning) -> list[ChannelPlan]:
    """Return one channel over all combinations of levels."""
    return [ChannelPlan("hio", Fraction(1), level_combinations(planning.levels))]


def hi(planning: Planning) -> list[ChannelPlan]:
    """Return one channel for each combination of levels."""
    views = level_combinations(planning.levels)
    return [ChannelPlan("hi " + "-".join(map(str, view)), Fraction(1, len(views)), (view,)) for view in views]
