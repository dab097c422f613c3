"""Tables (ours): every set of l attributes, l chosen for the people, the budget and the questions expected.

Views       one channel with the whole budget; a person draws one of all sets of l attributes and reports their values.
Choice      for each l, the error of a k-way table is predicted from the noise of its one-way, two-way and three-way
            means; the usual size of the last bounds the error of not measuring them. At least two if k is.
            All sets are used: means are combined over all views and interactions are shrunk, so many views with few
            people each do no harm, while a missing set cannot be compensated (Algorithm 1 of CALM leaves sets out).
Needs       ``users=``, the expected number of people, and k, the attributes of a question, as in ``tables(3)``.
Reading     as `tacit.contract.layouts.calm`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tacit.contract.layouts.base import MAX_VIEWS, ChannelPlan, Planning, check_number
from tacit.contract.layouts.marginals import am

__all__ = ["predicted_error", "tables", "together"]

INTERACTIONS = {2: 0.002, 3: 0.0005}
"""Squares of two-way and three-way interactions that are expected, as correlations of signs: about 0.04 and 0.02."""

MOST_TOGETHER = 4
"""Most attributes of a view: interactions of more are negligible beside their noise."""

MOST_SETS = MAX_VIEWS // 20
"""Views at most: all clients hold the list."""


def cell_noise(cells: float, epsilon: float) -> float:
    """Return the variance per report of a sign over equally likely cells, by the best subset selection."""
    grown, least = math.exp(epsilon), math.inf
    for width in range(1, max(2, math.ceil(cells))):
        if width < cells:
            keep = width * grown / (width * grown + cells - width)
            lie = (keep * (width - 1) + (1 - keep) * width) / (cells - 1)
            least = min(least, width * (cells - width) / ((cells - 1) * (keep - lie) ** 2))
        if width > 2 * cells / (1 + grown) + 2:
            break
    return least


def predicted_error(sizes: Sequence[int], users: int, epsilon: float, asked: int, shown: int) -> float:
    """Return the error to be expected of a table of ``asked`` attributes from views of ``shown``, up to a factor."""
    d = len(sizes)
    size = math.exp(sum(math.log(max(count, 1)) for count in sizes) / d)
    noise = cell_noise(max(size**shown, 2.0), epsilon)
    total = 0.0
    for order in range(1, min(asked, 3) + 1):
        expected = INTERACTIONS.get(order, math.inf)
        if order <= shown:
            variance = noise * math.comb(d, shown) / math.comb(d - order, shown - order) / users
            error = variance if order == 1 else variance * expected / (variance + expected)
        else:
            error = expected
        # an error in the mean of a set of attributes enters those of all larger sets, of which smaller ones have more
        total += math.comb(asked, order) / 2**order * max(size - 1, 1.0) ** order * error
    return total


def together(sizes: Sequence[int], users: int, epsilon: float, asked: int) -> int:
    """Return how many attributes a view should show."""
    possible = [
        shown
        for shown in range(min(2, asked), min(MOST_TOGETHER, asked) + 1)
        if math.comb(len(sizes), shown) <= MOST_SETS
    ]
    return min(possible or [min(2, asked)], key=lambda shown: predicted_error(sizes, users, epsilon, asked, shown))


def tables(planning: Planning) -> list[ChannelPlan]:
    """Return one channel over all sets of attributes, of the size that suits questions about k attributes."""
    levels, number, expected = planning.levels, planning.number, planning.expected
    check_number("tables", number, len(levels))
    shown = together([level.size for level in levels], expected.people("tables"), float(expected.epsilon), number)
    return [replace(plan, name=f"tables({number})") for plan in am(replace(planning, number=shown))]
