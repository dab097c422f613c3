"""What readers of a shuffled crowd can tell apart, by exact enumeration; written apart from the accountant."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from math import comb

Row = Sequence[Fraction]
Histogram = dict[tuple[int, ...], Fraction]


def histograms(rows: Sequence[Row]) -> Histogram:
    """Return the distribution of how often each code occurs, given each person's row of the channel."""
    found: Histogram = {(0,) * len(rows[0]): Fraction(1)}
    for row in rows:
        more: Histogram = {}
        for seen, chance in found.items():
            for code, weight in enumerate(row):
                if weight:
                    place = (*seen[:code], seen[code] + 1, *seen[code + 1 :])
                    more[place] = more.get(place, Fraction(0)) + chance * weight
        found = more
    return found


def divergence(first: Histogram, second: Histogram, e: Fraction) -> Fraction:
    """Return the hockey-stick divergence at ``e = e**epsilon``."""
    return sum((max(Fraction(0), p - e * second.get(seen, Fraction(0))) for seen, p in first.items()), Fraction(0))


def true_delta(matrix: Sequence[Row], people: int, e: Fraction) -> Fraction:
    """Return the largest divergence over all values of everybody, when one person's value changes."""
    worst, values = Fraction(0), range(len(matrix))
    for others in itertools.combinations_with_replacement(values, people - 1):
        shown = [histograms([*(matrix[z] for z in others), matrix[x]]) for x in values]
        for a, b in itertools.permutations(values, 2):
            worst = max(worst, divergence(shown[a], shown[b], e))
    return worst


def worst_ratio(matrix: Sequence[Row]) -> Fraction:
    """Return the largest ratio of two entries of a column."""
    return max(max(column) / min(column) for column in zip(*matrix, strict=True) if max(column) > 0)


def least_share(matrix: Sequence[Row]) -> Fraction:
    """Return the share of clones by its definition, over all pairs of rows that differ."""
    shares = [Fraction(1)]
    for x, other in itertools.combinations(range(len(matrix)), 2):
        if matrix[x] == matrix[other]:
            continue
        for code, column in enumerate(zip(*matrix, strict=True)):
            if both := matrix[x][code] + matrix[other][code]:
                shares.append(2 * min(column) / both)
    return min(shares)


def clone_delta(people: int, p: Fraction, share: Fraction, e: Fraction) -> Fraction:
    """Return the divergence of the two pairs of numbers of the clone bound, as a double sum of fractions."""
    total = Fraction(0)
    for c in range(people):
        weight = comb(people - 1, c) * share**c * (1 - share) ** (people - 1 - c)
        for a in range(c + 2):
            with_it, without = Fraction(comb(c, a - 1) if a else 0, 2**c), Fraction(comb(c, a), 2**c)
            first, second = p * with_it + without, with_it + p * without
            total += weight * max(Fraction(0), first - e * second) / (p + 1)
    return total
