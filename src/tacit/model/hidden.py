"""What the margins of a table leave open: the range of a total over all tables with the same margins.

    U = max { w . q : q >= 0, margins of q = margins of p }  =  min { sum_S P_S . f_S : sum_S f_S >= w in every cell }

Any functions f_S of the margins' cells that satisfy the right-hand side give an upper bound, so the search may stop at
any time. It fits them one by one to the others, first with a soft maximum over the cells that share a margin's cell
(iterative proportional fitting of a table that leans towards large weights), then with a hard one. If the margins are
wrong, U is wrong by as much as sum_S P_S . f_S, so the error of an end is that of this functional: of two rare values,
the number of people with the rarer one, and not the product of two small shares.

Reference   Dobra and Fienberg 2000 (bounds of cells given margins); Cuturi 2013 (the soft maximum).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.estimate.functional import Functional, Term, Vector
from tacit.model.joint import Joint

__all__ = ["HiddenRange", "error_of_range", "hidden_range", "hidden_ranges", "largest_means"]

SHARPNESS = (4.0, 16.0, 64.0, 256.0, 1024.0)
"""How close the soft maximum is to the maximum, relative to the range of the weights, in order."""

MOST_ROUNDS, LEAST_ROUNDS, WORK = 40, 4, 2**20
"""Rounds of each sharpness, and cells times rounds up to which there are as many as possible."""

AT_ONCE = 2**18
"""Cells of tables whose ranges are computed together."""

HARD = 3
"""Rounds with a hard maximum, which make the functions as small as they can be one by one."""

SMALL = 1e-12
"""Smallest share of a margin's cell."""


@dataclass(frozen=True, eq=False)
class HiddenRange:
    """By how much means can be below and above the fitted ones, and the standard errors of both ends."""

    low: Vector
    high: Vector
    low_error: Vector
    high_error: Vector

    def error(self, fitted: Vector) -> Vector:
        """Return the root mean squared distance of fitted means from the possible ones, given their errors."""
        low, high = (np.sqrt(np.maximum(end**2 - fitted**2, 0.0)) for end in (self.low_error, self.high_error))
        return np.hypot(fitted, error_of_range(self.low - low, self.high + high))


def hidden_ranges(
    sizes: tuple[int, ...],
    count: int,
    joints: Sequence[tuple[int, Joint, Functional]],
    reported: Callable[[tuple[int, ...]], Sequence[tuple[int, ...]]],
) -> tuple[tuple[Vector, Vector], tuple[list[Functional], list[Functional]]]:
    """Return by how much some totals can be below and above the fitted ones, given only the tables that are reported.

    Each has several parts: its place, a table and a functional. ``reported`` returns sets of some attributes. The
    functionals of the given sizes that come second have the errors of the ends.
    """
    ends = np.zeros(count), np.zeros(count)
    terms: tuple[list[list[Term]], list[list[Term]]] = [[] for _ in range(count)], [[] for _ in range(count)]
    alike: dict[tuple[tuple[int, ...], tuple[int, ...]], list[tuple[int, Vector, Vector, list[Vector]]]] = {}
    for place, joint, part in joints:
        held = [groups for i, groups in zip(joint.attributes, joint.held, strict=True) if i in part.attributes]
        shape = tuple(map(len, held))  # the other attributes have one class
        cells = place, joint.table.reshape(shape), joint.weights(part).reshape(shape), held
        alike.setdefault((part.attributes, shape), []).append(cells)
    for (attributes, shape), parts in alike.items():
        faces = [tuple(sorted(face)) for face in reported(attributes)]
        sets = [tuple(map(attributes.index, face)) for face in faces]
        step = max(1, AT_ONCE // math.prod(shape))
        for start in range(0, len(parts), step):
            places, tables, weights, held_by_part = zip(*parts[start : start + step], strict=True)
            table, weight = np.stack(tables), np.stack(weights)
            means = (table * weight).sum(axis=tuple(range(1, table.ndim)))
            for sign, end, of_end in ((-1.0, ends[0], terms[0]), (1.0, ends[1], terms[1])):
                most, functions = _largest(table, sign * weight, sets)
                np.add.at(end, list(places), sign * np.maximum(most - sign * means, 0.0))
                for k, (place, held) in enumerate(zip(places, held_by_part, strict=True)):
                    for face, axes, function in zip(faces, sets, functions, strict=True):
                        of_end[place] += _terms(face, [held[axis] for axis in axes], function[k])
    lowest, highest = ([Functional(sizes, tuple(of_total)) for of_total in of_end] for of_end in terms)
    return ends, (lowest, highest)


def _terms(face: tuple[int, ...], held: Sequence[Vector], function: Vector) -> list[Term]:
    """Return the terms of a function of groups of values of some attributes."""
    values = function.reshape([len(groups) for groups in held])
    *first, last = range(len(face))
    terms = []
    for place in itertools.product(*(range(len(held[axis])) for axis in first)):
        vectors = {face[axis]: held[axis][group] for axis, group in zip(first, place, strict=True)}
        vectors[face[last]] = values[place] @ held[last]
        constant = math.prod(float(vector[0]) for vector in vectors.values() if np.ptp(vector) == 0)
        terms.append(Term(constant, {i: vector for i, vector in vectors.items() if np.ptp(vector) > 0}))
    return [term for term in terms if term.coefficient and term.factors]


def hidden_range(table: Vector, weights: Vector, sets: Sequence[tuple[int, ...]]) -> tuple[Vector, Vector]:
    """Return by how much totals can be below and above those of a table, given its margins over sets of axes.

    Tables and weights may have leading axes, one for each total.

    Examples
    --------
    >>> even, all_three = np.full((1, 2, 2, 2), 1 / 8), np.zeros((1, 2, 2, 2))
    >>> all_three[0, 1, 1, 1] = 1.0
    >>> low, high = hidden_range(even, all_three, [(0, 1), (0, 2), (1, 2)])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([-0.125], [0.125])
    """
    means = (table * weights).sum(axis=tuple(range(1, table.ndim)))
    high = largest_means(table, weights, sets) - means
    low = -largest_means(table, -weights, sets) - means
    return np.minimum(low, 0.0), np.maximum(high, 0.0)


def largest_means(table: Vector, weights: Vector, sets: Sequence[tuple[int, ...]]) -> Vector:
    """Return upper bounds of totals over all tables with the margins of the given ones over sets of axes."""
    return _largest(table, weights, sets)[0]


def _largest(table: Vector, weights: Vector, sets: Sequence[tuple[int, ...]]) -> tuple[Vector, list[Vector]]:
    """Return upper bounds of totals, and the functions of margins whose sums they are."""
    axes = tuple(range(1, table.ndim))
    others = [tuple(axis for axis in axes if axis - 1 not in face) for face in sets]
    return _above(weights, others, [np.maximum(table.sum(axis=other, keepdims=True), SMALL) for other in others])


def error_of_range(low: Vector, high: Vector) -> Vector:
    """Return the root mean squared distance from 0 of a number of which no more is known than a range around it."""
    return np.sqrt((low**2 + low * high + high**2) / 3)


def _above(
    weights: Vector, others: Sequence[tuple[int, ...]], margins: Sequence[Vector]
) -> tuple[Vector, list[Vector]]:
    """Return an upper bound of each total, and the functions that give it."""
    axes = tuple(range(1, weights.ndim))
    scale = np.ptp(weights, axis=axes, keepdims=True)
    scale = np.where(scale > 0, scale, 1.0)
    functions = [np.zeros(margin.shape) for margin in margins]
    rounds = min(MOST_ROUNDS, max(LEAST_ROUNDS, WORK // weights[0].size))
    left = weights.copy()
    """Weights less all functions."""
    for sharpness in SHARPNESS:
        for _ in range(rounds):
            for place, (other, margin) in enumerate(zip(others, margins, strict=True)):
                top = left.max(axis=other, keepdims=True)
                soft = np.log(np.exp((left - top) * (sharpness / scale)).sum(axis=other, keepdims=True) / margin)
                step = top + soft * (scale / sharpness)
                functions[place] += step
                left -= step
    for _ in range(HARD):
        for place, other in enumerate(others):
            step = left.max(axis=other, keepdims=True)
            functions[place] += step
            left -= step
    return np.asarray(sum((f * m).sum(axis=axes) for f, m in zip(functions, margins, strict=True))), functions
