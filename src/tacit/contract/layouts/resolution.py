"""The levels that pairs reports for the people expected: noise against what is uneven within cells.

A range of half of an attribute's values, at any place, has a known share of its energy between two levels: two cells
are cut, each at any point, so a third of a cell's width is left below a level. Least squares read the energy between
levels k - 1 and k with variance 1/lambda_k, where lambda_k adds up the widths of level k and all finer ones, times
their shares of people. So

    F_j = sum_{k <= j} energy_k / lambda_k
    error**2 = min_j ( noise F_j**2 / people of the pair + 2 (UNEVEN / cells_j)**2 )

is the error of a question over two such attributes that is answered no finer than level j; the second term is what
people within a cut cell are unlike its mean. Grid methods in the literature (HDG, AHEAD) balance the same two terms.
Single values are always among the levels, so everything over one or two attributes keeps an unbiased answer, and no
choice may cost unbiased answers more than `SLACK`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from tacit.contract.layouts.base import Expected
from tacit.contract.layouts.levels import Levels

__all__ = ["explain_levels", "levels_for"]

UNEVEN = 0.3
"""Share of a cut cell's people on the wrong side, if they are taken as even: near 0.3 on normal and on census data."""

SLACK = 1.2
"""Most that unbiased answers may lose in standard error against their own best levels."""

MOST_LEVELS = 12
"""Levels of an attribute up to which all choices are compared; of more, only the finest ones are."""

MOST_WORDS = 100
"""Characters of a contract's reason that list cells."""


def levels_for(levels: Sequence[Levels], expected: Expected) -> list[tuple[int, ...]]:
    """Return the levels of each attribute that are worth reporting; all of them where nobody knows how many people."""
    if expected.users is None:
        return [tuple(range(1, len(level))) for level in levels]
    grown = math.exp(min(float(expected.epsilon), 30.0))
    noise = 4 * grown / (grown - 1) ** 2 * max(1, math.comb(len(levels), 2)) / expected.users
    return [_choose_levels(level, noise) for level in levels]


def explain_levels(levels: Sequence[Levels], expected: Expected) -> str:
    """Return the choice in words, for contracts; empty where nothing was chosen."""
    if expected.users is None:
        return ""
    chosen = levels_for(levels, expected)
    texts = [
        "-".join(str(level[depth].cells) for depth in depths)
        for level, depths in zip(levels, chosen, strict=True)
        if depths
    ]
    shown = f"{texts[0]} of each attribute" if len(set(texts)) == 1 else ", ".join(texts)
    shown = shown if len(shown) <= MOST_WORDS else shown[:MOST_WORDS] + "…"
    return f"cells of levels for {expected.users:,} people, noise against uneven cells: {shown}"


def _choose_levels(levels: Levels, noise: float) -> tuple[int, ...]:
    if not levels.finest:
        return ()
    depths = range(max(1, levels.finest - MOST_LEVELS), levels.finest)
    choices = [
        (*coarser, levels.finest)
        for count in range(len(depths) + 1)
        for coarser in itertools.combinations(depths, count)
    ]
    judged = [(_errors([levels[depth].cells for depth in choice], noise), choice) for choice in choices]
    bound = SLACK * min(unbiased for (unbiased, _), _ in judged)
    return min(((error, len(choice), choice) for (unbiased, error), choice in judged if unbiased <= bound))[2]


def _errors(cells: Sequence[int], noise: float) -> tuple[float, float]:
    """Return what the error of unbiased answers is proportional to, and the squared error at the best level."""
    values, widths = cells[-1], [cells[-1] / count for count in cells]
    factor, least = 0.0, math.inf
    for k, width in enumerate(widths):
        energy = (widths[k - 1] - width) / 3 if k else values / 4 - width / 3
        factor += max(energy, 0.0) * len(cells) / sum(widths[k:])
        uneven = 0.0 if k == len(cells) - 1 else 2 * (UNEVEN / cells[k]) ** 2
        least = min(least, noise * factor**2 + uneven)
    return factor, least
