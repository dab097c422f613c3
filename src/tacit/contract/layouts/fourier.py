"""FT(k) (as compared with in the CALM paper): parities of bits, by randomised response.

Views       one channel with the whole budget; a person draws one parity and reports it, a single bit. An attribute of
            c values is written in ceil(log2 c) bits; a parity is a mask of bits for each of at most k attributes, so
            that tables of any k attributes follow. (The paper allows masks of as many bits over any attributes, most
            of which no table of k attributes needs.)
Reading     by inverse Walsh-Hadamard transform: each parity is read from its own view, and only there.
Range       services with one row per person; tables of at most k attributes.
Reference   Cormode, Kulkarni and Srivastava 2018; Zhang et al. 2018, section 3.5 and appendix A.1.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from tacit.contract.layouts.base import MAX_VIEWS, ChannelPlan, Planning, View, check_number
from tacit.errors import LayoutError

__all__ = ["bits_of", "ft", "parity_count", "parity_views"]


def bits_of(values: int) -> int:
    """Return the bits needed to distinguish a number of values."""
    return (values - 1).bit_length()


def parity_count(sizes: Sequence[int], order: int) -> int:
    """Return the number of parities over at most ``order`` attributes."""
    counts = [1] + [0] * order
    for size in sizes:
        masks = (1 << bits_of(size)) - 1
        counts = [count + (masks * counts[i - 1] if i else 0) for i, count in enumerate(counts)]
    return sum(counts[1:])


def parity_views(sizes: Sequence[int], order: int) -> list[View]:
    """Return a mask for each attribute, for all parities: of one attribute first, the last mask changing fastest."""
    views: list[View] = []
    telling = [i for i, size in enumerate(sizes) if size > 1]
    for count in range(1, order + 1):
        for chosen in itertools.combinations(telling, count):
            for masks in itertools.product(*(range(1, 1 << bits_of(sizes[i])) for i in chosen)):
                mask_of = dict(zip(chosen, masks, strict=True))
                views.append(tuple(mask_of.get(i, 0) for i in range(len(sizes))))
    return views


def ft(planning: Planning) -> list[ChannelPlan]:
    """Return one channel over the parities of at most k attributes."""
    levels, number = planning.levels, planning.number
    check_number("ft", number, len(levels))
    sizes = [attribute.size for attribute in levels]
    count = parity_count(sizes, number)
    if count > MAX_VIEWS or count == 0:
        message = f"{count} parities of {number} attributes; 1 to {MAX_VIEWS} are possible. Use a smaller k, or tables."
        raise LayoutError(message, code="too-many-views")
    return [ChannelPlan(f"ft({number})", Fraction(1), tuple(parity_views(sizes, number)), parities=True)]
