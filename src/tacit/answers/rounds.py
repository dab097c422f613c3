"""Errors over several rounds: a panel's rounds exclude each other, and the people of all rounds count."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tacit.answers.columns import Values
from tacit.estimate.functional import Vector

if TYPE_CHECKING:
    from tacit.answers.group_sums import GroupSums

__all__ = ["across_rounds", "effective_over_rounds", "without_rounding"]

EMPTY = 1e-13
"""A total below this share of the people times the largest value of one is rounding: what it adds up cancels."""


def across_rounds(sums: GroupSums, gradients: Vector, place: list[int]) -> Vector:
    """Bound what the covariance between a panel's rounds adds to the variances of combinations.

    A person asked in one round is less likely to be asked in another. With h(r) a person's contribution to the
    combination in round r, covariances sum to ``repulsion`` times the sum over people of ``-h(r) h(s)``, r and s
    different, which is ``sum of h(r)**2 - (sum of h(r))**2``. The second part is not observed; over n people it is at
    least the square of the whole total, over n. The Cauchy-Schwarz inequality is a second bound. Where the number of
    people is known, h is centred, which makes the total zero.
    """
    if sums.design is None or len(sums.parts) < 2 or not sums.request.squares:
        return np.zeros(len(gradients))
    each = np.stack([_squares(part, gradients, place) for part in sums.parts])
    total = np.zeros(len(gradients))
    if not any(part.design and part.design.enrolled for part in sums.parts):
        people = max(part.design.weight * part.count for part in sums.parts if part.design)
        spread = np.einsum("ij,jk,ik->i", gradients, sums.moments(place)[0], gradients)
        total = np.maximum(0.0, np.square(gradients @ sums.totals[place]) - spread) / max(1.0, people)
    bound: Vector = np.minimum(np.square(np.sqrt(each).sum(axis=0)) - each.sum(axis=0), each.sum(axis=0) - total)
    return sums.design.repulsion * np.maximum(bound, 0.0)


def _squares(sums: GroupSums, gradients: Vector, place: list[int]) -> Vector:
    """Return sums over a round's people of squared combinations, around the mean if the number of people is known."""
    moments = np.zeros((len(place), len(place)))
    for a, b in itertools.product(range(len(place)), repeat=2):
        pair = (min(place[a], place[b]), max(place[a], place[b]))
        moments[a, b] = sums.totals[sums.request.pairs[pair]]
        if sums.design and sums.design.enrolled:
            moments[a, b] -= sums.totals[place[a]] * sums.totals[place[b]] / sums.design.enrolled.people
    squares: Vector = np.maximum(0.0, np.einsum("ij,jk,ik->i", gradients, moments, gradients))
    return squares


def effective_over_rounds(parts: Sequence[GroupSums], gradient: Vector, place: list[int]) -> float:
    """Return the effective number of reports behind a combination of totals over several rounds; 0 if unknown.

    It is the squared sum of squares over the sum of fourth powers. Reports of different rounds are independent, so both
    add up over rounds; within a round, Minkowski's inequality bounds the fourth powers of a combination.
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


def without_rounding(by_group: dict[Values, GroupSums]) -> dict[Values, GroupSums]:
    """Return groups' sums with zeros for totals that are rounding alone: a quotient of two would be any number."""
    peaks: dict[int, float] = {}
    request = next((sums.request for sums in by_group.values()), None)
    bounds = np.array([total.bound(peaks) for total in request.totals] if request else [])
    return {values: _without_rounding(sums, EMPTY * max(1, sums.count) * bounds) for values, sums in by_group.items()}


def _without_rounding(sums: GroupSums, rounding: Vector) -> GroupSums:
    empty = (np.abs(sums.totals) < rounding) & (sums.totals != 0)
    if not empty.any():
        return sums
    products = {
        pair: 0.0 if empty[pair[0]] and abs(value) < rounding[pair[0]] ** 2 else value
        for pair, value in sums.products.items()
    }
    return replace(sums, totals=np.where(empty, 0.0, sums.totals), products=products)
