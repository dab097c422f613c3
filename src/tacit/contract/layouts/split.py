"""SC (the MDA paper) and EM (as compared with in the CALM paper): every attribute is reported separately.

SC   one channel for each attribute and each of its levels below the root, with an equal share of the budget;
     conjunctions come from products of estimates.
EM   one channel for each attribute, of its single values; joint tables start from the same products and are improved
     by expectation maximisation over people's reports (`tacit.model`, ``method="em"``).
"""

from __future__ import annotations

from fractions import Fraction

from tacit.contract.layouts.base import ChannelPlan, Planning

__all__ = ["em", "sc"]


def sc(planning: Planning) -> list[ChannelPlan]:
    """Return one channel for each attribute and level."""
    pairs = [(i, j) for i, attribute in enumerate(planning.levels) for j in range(1, len(attribute))]
    return _alone("sc", pairs, len(planning.levels))


def em(planning: Planning) -> list[ChannelPlan]:
    """Return one channel for each attribute."""
    finest = [(i, level.finest) for i, level in enumerate(planning.levels) if level.finest]
    return _alone("em", finest, len(planning.levels))


def _alone(name: str, pairs: list[tuple[int, int]], attributes: int) -> list[ChannelPlan]:
    """Return a channel for each attribute and level."""
    if not pairs:  # every attribute has a single value
        return [ChannelPlan(name, Fraction(1), ((0,) * attributes,))]
    return [
        ChannelPlan(
            f"{name} {attribute}-{level}",
            Fraction(1, len(pairs)),
            (tuple(level if i == attribute else 0 for i in range(attributes)),),
        )
        for attribute, level in pairs
    ]
