"""What rounds together add to errors: a panel's rounds exclude each other, and the people of all rounds count."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tacit.estimate.functional import Vector

if TYPE_CHECKING:
    from tacit.answers.sums import Sums

__all__ = ["across_rounds", "effective_over_rounds"]


def across_rounds(sums: Sums, gradients: Vector, place: list[int]) -> Vector:
    """Return a bound of what the covariance of a panel's rounds adds to the variances of combinations.

    Whoever is asked in one round is asked in another less often. With h(r) what a person adds to the combination in
    round r, covariances add up to ``repulsion`` times the sum over people of ``-h(r) h(s)``, r and s different. That is
    ``sum of h(r)**2 - (sum of h(r))**2``. Nobody observes the second part; over n people it is at least the square of
    the whole total, over n. Cauchy and Schwarz bound the covariances, too. Where the number of people is known, h is
    reduced by its mean, which leaves no total.
    """
    if sums.design is None or len(sums.parts) < 2 or not sums.asked.squares:
        return np.zeros(len(gradients))
    each = np.stack([_squares(part, gradients, place) for part in sums.parts])
    total = np.zeros(len(gradients))
    if not any(part.design and part.design.enrolled for part in sums.parts):
        people = max(part.design.weight * part.count for part in sums.parts if part.design)
        spread = np.einsum("ij,jk,ik->i", gradients, sums.moments(place)[0], gradients)
        total = np.maximum(0.0, np.square(gradients @ sums.totals[place]) - spread) / max(1.0, people)
    bound: Vector = np.minimum(np.square(np.sqrt(each).sum(axis=0)) - each.sum(axis=0), each.sum(axis=0) - total)
    return sums.design.repulsion * np.maximum(bound, 0.0)


def _squares(sums: Sums, gradients: Vector, place: list[int]) -> Vector:
    """Return sums over a round's people of squared combinations, around the mean if the number of people is known."""
    moments = np.zeros((len(place), len(place)))
    for a, b in itertools.product(range(len(place)), repeat=2):
        pair = (min(place[a], place[b]), max(place[a], place[b]))
        moments[a, b] = sums.totals[sums.asked.pairs[pair]]
        if sums.design and sums.design.enrolled:
            moments[a, b] -= sums.totals[place[a]] * sums.totals[place[b]] / sums.design.enrolled.people
    squares: Vector = np.maximum(0.0, np.einsum("ij,jk,ik->i", gradients, moments, gradients))
    return squares


def effective_over_rounds(parts: Sequence[Sums], gradient: Vector, place: list[int]) -> float:
    """Return how many reports a combination of totals over several rounds rests on; 0 if that is not known.

    That is the squared sum of squares over the sum of fourth powers. People of different rounds report apart, so these
    add up over rounds; within one, Minkowski's inequality bounds the fourth powers of a combination.
    """
    if len(parts) < 2 or not np.isfinite(gradient).all():
        return 0.0
    squares = fourths = 0.0
    for part in parts:
        pairs = [[part.products[min(i, j), max(i, j)] for j in place] for i in place]
        squares += float(gradient @ np.array(pairs) @ gradient)
        roots = [abs(weight) * part.fourths[i] ** 0.25 for weight, i in zip(gradient, place, strict=True)]
        fourths += float(sum(roots)) ** 4
    return squares**2 / fourths if fourths else 0.0
