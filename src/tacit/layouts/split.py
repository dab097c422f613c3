"""SC (the MDA paper): every attribute reports every level by itself; conjunctions come from products of estimates.

One channel for each attribute and each of its levels below the root, with an equal share of the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tacit.layouts.base import ChannelPlan
from tacit.layouts.levels import Levels

__all__ = ["sc"]


def sc(levels: Sequence[Levels]) -> list[ChannelPlan]:
    """Return one channel for each attribute and level."""
    pairs = [(i, j) for i, attribute in enumerate(levels) for j in range(1, len(attribute))]
    if not pairs:  # every attribute has a single value
        return [ChannelPlan("sc", Fraction(1), ((0,) * len(levels),))]
    return [
        ChannelPlan(
            f"sc {attribute}-{level}",
            Fraction(1, len(pairs)),
            (tuple(level if i == attribute else 0 for i in range(len(levels))),),
        )
        for attribute, level in pairs
    ]
