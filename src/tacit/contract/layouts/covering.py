"""Sets of attributes that are reported together: covering designs, and evenly spread sets where a design is too large.

A covering design is a list of sets of ``size`` attributes such that every ``covered`` attributes are in one of them.
Known best ones are built by formula: all sets (size = covered), blocks (covered = 1), and, for three of 2**r attributes
in sets of four, the quadruples whose numbers cancel under exclusive or (Steiner quadruple systems: 14 of 8, 140 of 16).
Others are found greedily. Sizes are compared with Schönheim's bound first: a design that cannot fit is not built.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

__all__ = ["covering", "least_sets", "spread"]

Sets = list[tuple[int, ...]]

MOST_COVERED = 60_000
"""Maximum sets to be covered by a greedy design."""


def least_sets(attributes: int, size: int, covered: int) -> int:
    """Return Schönheim's bound: no covering design has fewer sets."""
    bound = 1
    for taken in range(covered - 1, -1, -1):
        bound = -(-(attributes - taken) * bound // (size - taken))
    return bound


def covering(attributes: int, size: int, covered: int, most: int) -> Sets | None:
    """Return a covering design of at most ``most`` sets, or None if none was found.

    Examples
    --------
    >>> len(covering(8, 4, 3, most=65)), len(covering(16, 4, 3, most=262)), covering(16, 3, 3, most=262)
    (14, 140, None)
    """
    if least_sets(attributes, size, covered) > most:
        return None
    if size == attributes:
        return [tuple(range(attributes))]
    if size == covered:
        return list(itertools.combinations(range(attributes), size))
    if (size, covered) == (4, 3) and attributes & (attributes - 1) == 0:
        triples = itertools.combinations(range(attributes), 3)
        sets = sorted({tuple(sorted((a, b, c, a ^ b ^ c))) for a, b, c in triples})
    elif math.comb(attributes, covered) <= MOST_COVERED:
        sets = _greedy(attributes, size, covered)
    else:
        return None
    return sets if len(sets) <= most else None


def _greedy(attributes: int, size: int, covered: int) -> Sets:
    """Cover the rest greedily: each set starts from an uncovered combination and grows by whatever covers most."""
    left = dict.fromkeys(itertools.combinations(range(attributes), covered))
    sets: Sets = []
    while left:
        chosen = set(next(iter(left)))
        while len(chosen) < size:
            gains = {
                i: sum(
                    tuple(sorted((*others, i))) in left
                    for others in itertools.combinations(sorted(chosen), covered - 1)
                )
                for i in range(attributes)
                if i not in chosen
            }
            chosen.add(max(gains, key=lambda i: (gains[i], -i)))
        sets.append(tuple(sorted(chosen)))
        for done in itertools.combinations(sets[-1], covered):
            left.pop(done, None)
    return sets


def spread(attributes: int, size: int, count: int) -> Sets:
    """Return different sets in which every attribute, and every two together, appear about equally often.

    Examples
    --------
    >>> spread(4, 2, 3)
    [(0, 1), (2, 3), (0, 2)]
    """
    if count >= math.comb(attributes, size):
        return list(itertools.combinations(range(attributes), size))
    uses, together = np.zeros(attributes), np.zeros((attributes, attributes))
    sets: dict[tuple[int, ...], None] = {}
    spare = itertools.combinations(range(attributes), size)
    for _ in range(count):
        chosen = [int(np.argmin(uses))]
        while len(chosen) < size:
            score = together[chosen].sum(axis=0) + uses / (1 + size * count)
            score[chosen] = np.inf
            ranked = (tuple(sorted((*chosen, int(i)))) for i in np.argsort(score, kind="stable")[: -len(chosen)])
            last = len(chosen) == size - 1
            chosen = list(next((candidate for candidate in ranked if not (last and candidate in sets)), ())) or list(
                next(candidate for candidate in spare if candidate not in sets)
            )
        sets[tuple(chosen)] = None
        uses[chosen] += 1
        together[np.ix_(chosen, chosen)] += 1
    return list(sets)
