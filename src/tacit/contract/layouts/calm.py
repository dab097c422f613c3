"""CALM (the paper of that name): m sets of l attributes, chosen for the people, the budget and the questions expected.

Views       one channel with the whole budget; a person draws one of m sets of l attributes and reports their values.
Choice      Algorithm 1 weighs three errors. Noise: that of a one-way table from views of l attributes, ``k`` times for
            k attributes; it grows with l. Sampling: m/n, because each view has only some people. Reconstruction: of
            tables that no view covers; it has no formula, and theta stands for it.
Needs       ``users=``, the expected number of people, and k, the attributes of a question, as in ``calm(3)``.
Reading     directly from the views for covered questions; others by maximum entropy (`tacit.model`), if asked for.
Reference   Zhang et al. 2018, section 4.3. The printed algorithm would never use a covering design of the largest size
            l, while the paper's table of choices does; this one follows the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tacit.contract.layouts.base import ChannelPlan, Planning, check_number
from tacit.contract.layouts.covering import Sets, covering, spread

__all__ = ["THETA", "calm", "noise_error", "sampling_error", "view_sets", "view_shape"]

THETA = 0.001
"""Error of reconstruction that the paper assumes for all its data, as a sum of squares of frequencies."""


def noise_error(sizes: Sequence[int], users: int, epsilon: float, shown: int) -> float:
    """Return the variance of a one-way table, averaged over all views of ``shown`` attributes that hold it."""
    d, grown = len(sizes), math.exp(epsilon)
    products = np.zeros(shown + 1)  # elementary symmetric sums of the sizes: their mean product is that of a view
    products[0] = 1.0
    for size in sizes:
        products[1:] += size * products[:-1]
    cells = float(products[shown]) / math.comb(d, shown)
    return min(4 * grown, cells - 2 + grown) / (grown - 1) ** 2 * cells / shown * d / users


def sampling_error(views: int, users: int) -> float:
    """Return the bound on what it costs that each view is reported by some people only."""
    return views / users


def view_shape(sizes: Sequence[int], users: int, epsilon: float, asked: int) -> tuple[int, int]:
    """Return Algorithm 1's choice: attributes of a view, and the number of views.

    Examples
    --------
    >>> view_shape([2] * 8, 2**16, 2.0, asked=3)
    (4, 14)
    """
    shown, sets = _choose(sizes, users, epsilon, asked)
    return shown, sets if isinstance(sets, int) else len(sets)


def view_sets(sizes: Sequence[int], users: int, epsilon: float, asked: int) -> Sets:
    """Return the sets of attributes that views show: a covering design where one fits, else sets evenly spread."""
    shown, sets = _choose(sizes, users, epsilon, asked)
    return spread(len(sizes), shown, sets) if isinstance(sets, int) else sets


def _choose(sizes: Sequence[int], users: int, epsilon: float, asked: int) -> tuple[int, int | Sets]:
    d = len(sizes)
    largest = min(2, d)
    while largest < d and asked * noise_error(sizes, users, epsilon, largest + 1) <= THETA:
        largest += 1
    most = max(int(THETA * users), -(-d // largest))  # at least every attribute once
    best: tuple[float, int, Sets] | None = None
    for shown in range(asked, largest + 1):
        design = covering(d, shown, asked, most)
        if design is not None:
            error = max(sampling_error(len(design), users), asked * noise_error(sizes, users, epsilon, shown))
            if best is None or error < best[0]:
                best = error, shown, design
    if best is None:
        return largest, min(most, math.comb(d, largest))
    return best[1], best[2]


def calm(planning: Planning) -> list[ChannelPlan]:
    """Return one channel over the sets of attributes that suit questions about k attributes."""
    levels, number, expected = planning.levels, planning.number, planning.expected
    check_number("calm", number, len(levels))
    sizes = [attribute.size for attribute in levels]
    sets = view_sets(sizes, expected.people("calm"), float(expected.epsilon), number)
    views = tuple(
        tuple(level.finest if i in shown else 0 for i, level in enumerate(levels)) for shown in map(set, sets)
    )
    return [ChannelPlan(f"calm({number})", Fraction(1), views)]
