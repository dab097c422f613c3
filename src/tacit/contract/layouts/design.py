"""How likely views should be: least mean variance of the answers that are wanted, by a convex design.

A report of a view with k cells says ``u W'W`` about the counts of values: W has a row for each cell, and u is about
``1 / noise`` of the best oracle over k cells. Probabilities pi add these up to ``G = sum_v pi_v u_v W_v'W_v``, and a
question f has variance ``f' G^-1 f`` per report. The views of a set of attributes are products of partitions, with
probabilities that are products too, so G of a set is a product of matrices of one attribute each, and so is the
variance of a product of vectors.

Every step multiplies a probability by the root of its share of the variance (it rests where shares equal
probabilities, which is the optimum), first for the partitions of each attribute, then for the sets.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.contract.layouts.calendar import calendar_gram, coarse_cells, copy_size
from tacit.contract.layouts.grams import centred_gram, point_gram, range_gram, value_gram
from tacit.contract.layouts.information import information
from tacit.contract.layouts.shifted import Family, Shape, coarse_copy
from tacit.contract.layouts.steer import steer

__all__ = [
    "Question",
    "SetDesign",
    "coarse_vector",
    "design_sets",
    "design_variances",
    "standard_questions",
]

STEPS = 40
"""Steps of the multiplicative rule: the variance is within a percent of the least one."""

ROUNDS = 5
"""Designs that are tried until no question has a larger variance than with nested levels."""

MANY_SETS = 30
"""Sets of attributes above which one design must do."""

LEAST_GROUP = 0.01
"""Share of a set's people below which a width is left out."""

FLOOR = 0.02
"""Share of single values at least, so that every question over a set keeps an unbiased answer."""

POINTS = 1.12
"""Share of single values, over that among nested levels, where copies of an attribute are too coarse to tell."""

UNASKED = 0.05
"""Share of all people who report sets of attributes that no question is about, so that these can be asked later."""

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Question:
    """A class of questions: a weight, and for each attribute the mean of f f' over its vectors f."""

    weight: float
    grams: Mapping[int, Matrix]

    @property
    def attributes(self) -> tuple[int, ...]:
        """The attributes it is about."""
        return tuple(sorted(self.grams))

    @property
    def spread(self) -> float:
        """Variance of f itself over uniform records, which estimates do not add."""
        squares = math.prod(float(np.trace(gram)) / len(gram) for gram in self.grams.values())
        return squares - math.prod(float(gram.mean()) for gram in self.grams.values())


@dataclass(frozen=True, eq=False)
class SetDesign:
    """The views of one set of attributes: their share of people, and the shares of each attribute's widths."""

    attributes: tuple[int, ...]
    share: float
    families: tuple[Family, ...]
    groups: tuple[npt.NDArray[np.float64], ...]


def standard_questions(shapes: Sequence[Shape], sets: Sequence[tuple[int, ...]]) -> list[Question]:
    """Return the default classes of questions, with equal weights.

    Of one attribute: ranges, single values, and its values (sums and means); of two: ranges of both, and values of one
    under a range of the other. Categories have single values for ranges; dates also months, quarters and years.
    """
    asked = []
    for own in sets:
        if len(own) == 1:
            values, null, ordered, calendar = shapes[own[0]]
            grams = [range_gram, point_gram, value_gram] if ordered else [point_gram]
            asked += [Question(1.0, {own[0]: gram(values, null)}) for gram in grams]
            if calendar:
                asked.append(Question(1.0, {own[0]: calendar_gram(values, null, calendar)}))
        elif len(own) == 2:
            some = {i: (range_gram if shapes[i][2] else point_gram)(*shapes[i][:2]) for i in own}
            asked.append(Question(1.0, some))
            if any(shapes[i][2] for i in own):
                asked.append(Question(1.0, {i: point_gram(*shapes[i][:2]) for i in own}))
            for i in own:
                if shapes[i].calendar:
                    months = calendar_gram(shapes[i].values, shapes[i].null, shapes[i].calendar)
                    asked.append(Question(1.0, some | {i: months}))
                if shapes[i][2]:
                    asked.append(Question(0.5, some | {i: value_gram(*shapes[i][:2])}))
                    asked.append(Question(0.5, some | {i: centred_gram(*shapes[i][:2])}))
    return asked


@lru_cache(maxsize=256)
def _grams(family: Family) -> Matrix:
    return np.stack(family.grams())


class _Axis:
    """One attribute's partitions within a set, on a coarse copy of its values."""

    def __init__(self, family: Family, says: npt.NDArray[np.float64], floor: float) -> None:
        self._floor, self.key = floor, (family, tuple(says.round(3)), floor)
        self._grams = _grams(family) * says[:, None, None]
        self.shares = np.full(len(self._grams), 1 / len(self._grams))
        self.refresh()

    def refresh(self) -> None:
        """Compute what follows from the shares."""
        self.matrix = np.tensordot(self.shares, self._grams, axes=1)
        self.inverse = np.linalg.inv(self.matrix)
        self.ones = self.inverse.sum(axis=1)

    @property
    def known_inverse(self) -> Matrix:
        """The inverse for contrasts: the total of a vector that is the same everywhere is known."""
        known: Matrix = self.inverse - np.outer(self.ones, self.ones) / self.ones.sum()
        return known

    def variance(self, gram: Matrix) -> float:
        """Return the mean of ``f' G^-1 f``."""
        return float((self.inverse * gram).sum())

    def centre(self, gram: Matrix) -> float:
        """Return the mean square of the weighted mean of a vector."""
        return float(self.ones @ gram @ self.ones) / float(self.ones.sum()) ** 2

    def design(self, wanted: Matrix, *, alone: bool) -> None:
        """Find the shares with the least variance of a mean Gram matrix; ``alone``, if the total is known."""
        for _ in range(STEPS if len(self.shares) > 1 else 0):
            inverse = self.known_inverse if alone else self.inverse
            parts = np.tensordot(self._grams, inverse @ wanted @ inverse, axes=2)
            shares = np.sqrt(np.maximum(parts, 0.0)) * self.shares
            shares[-1] = max(shares[-1], self._floor * shares.sum())
            self.shares = shares / shares.sum()
            self.refresh()


SetFamilies = Mapping[tuple[int, ...], Sequence[Family]]
"""For each set of attributes the partitions of each."""


def design_sets(
    families: SetFamilies,
    questions: Sequence[Question],
    epsilon: float,
    *,
    points: bool = False,
    people: tuple[int, Sequence[bool]] | None = None,
) -> list[SetDesign]:
    """Return how likely each set of attributes, and each width of its attributes, should be.

    Questions count by their weights, relative to their variances with nested levels of equal probabilities. They are
    over coarse copies of the attributes. Sets that no question is about get a small share. With ``points``, single
    values of attributes that are larger than their copies keep the share that they have among nested levels.
    ``people`` is their expected number, with what attributes are ordered.
    """
    nested = Sets({own: [family.nested for family in some] for own, some in families.items()}, epsilon)
    levels = {own: math.prod(len(axis.shares) for axis in axes) for own, axes in nested.axes.items()}
    before = nested.variances(questions, {own: count / sum(levels.values()) for own, count in levels.items()})
    weights = [one.weight for one in questions]
    for _ in range(ROUNDS if len(families) <= MANY_SETS else 1):
        wanted = [Question(w / old, one.grams) for w, old, one in zip(weights, before, questions, strict=True)]
        sets = Sets(families, epsilon, points=points)
        sets.design_axes(wanted)
        shares = sets.design_shares(wanted)
        ratios = [new / old for new, old in zip(sets.variances(questions, shares), before, strict=True)]
        if max(ratios) <= 1:
            break
        weights = [weight * max(1.0, ratio) ** 3 for weight, ratio in zip(weights, ratios, strict=True)]
    if people:
        shares = steer(sets, shares, questions, *people, anything=points)
    return [_drop_rare(own, shares[own], families[own], sets.axes[own]) for own in families]


def design_variances(designs: Sequence[SetDesign], questions: Sequence[Question], epsilon: float) -> list[float]:
    """Return the variance of questions per report, over uniform records, with views as designed."""
    sets = Sets({one.attributes: one.families for one in designs}, epsilon)
    sets.take({one.attributes: one.groups for one in designs})
    return sets.variances(questions, {one.attributes: one.share for one in designs})


def coarse_vector(vector: Matrix, shape: Shape, most: int) -> Matrix:
    """Return a vector on the coarse copy of an attribute's values: the mean over the values of each cell."""
    values, null, _, calendar = shape
    cells = coarse_cells(values, calendar, most)
    means = np.bincount(cells, vector[:values]) / np.bincount(cells)
    return np.append(means, vector[values:]) if null else means


def _information(families: Sequence[Family], grown: float) -> tuple[float, list[npt.NDArray[np.float64]]]:
    """Return what a report of a set says, and for each attribute how much its widths say relative to each other.

    Views of few cells say less. The table over all combinations of widths is taken for a product.
    """
    cells = [family.cells() for family in families]
    table = [information(math.prod(some), grown) for some in itertools.product(*cells)]
    logs = np.log(table).reshape([len(own) for own in cells])
    axes = range(len(cells))
    relative = [np.exp(logs.mean(axis=tuple(k for k in axes if k != i)) - logs.mean()) for i in axes]
    return float(np.exp(logs.mean())), relative


def _drop_rare(own: tuple[int, ...], share: float, families: Sequence[Family], axes: Sequence[_Axis]) -> SetDesign:
    """Return the design of a set without widths that too few people would report."""
    kept = [
        [g for g, share in enumerate(axis.shares) if share >= LEAST_GROUP or g == len(axis.shares) - 1] for axis in axes
    ]
    groups = [axis.shares[some] for axis, some in zip(axes, kept, strict=True)]
    left = tuple(family.keep(some) for family, some in zip(families, kept, strict=True))
    return SetDesign(own, share, left, tuple(shares / shares.sum() for shares in groups))


class Sets:
    """Sets of attributes with the partitions of each: what their reports say, and what questions cost."""

    def __init__(self, families: SetFamilies, epsilon: float, *, points: bool = False) -> None:
        grown = math.exp(min(epsilon, 30.0))
        self.epsilon, self._families = epsilon, families
        self._most = copy_size(len({i for own in families for i in own}))
        self.axes: dict[tuple[int, ...], list[_Axis]] = {}
        self._says: dict[tuple[int, ...], float] = {}
        self._fixed: dict[Question, tuple[float, dict[int, float]]] = {}
        for own, some in families.items():
            self._says[own], relative = _information(some, grown)
            copies = [coarse_copy(family, self._most) for family in some]
            floors = [
                POINTS / len(family.nested.groups) if points and copy.values < family.values else FLOOR
                for family, copy in zip(some, copies, strict=True)
            ]
            self.axes[own] = [_Axis(*parts) for parts in zip(copies, relative, floors, strict=True)]

    def partitions(self, own: tuple[int, ...]) -> list[tuple[Family, list[float]]]:
        """Return the partitions of each attribute of a set, on its coarse copy, and how many cells they really have."""
        return [(coarse_copy(family, self._most), family.cells()) for family in self._families[own]]

    def take(self, groups: Mapping[tuple[int, ...], Sequence[npt.NDArray[np.float64]]]) -> None:
        """Take shares of widths as given."""
        for own, some in groups.items():
            for axis, shares in zip(self.axes[own], some, strict=True):
                axis.shares = shares
                axis.refresh()
        self._fixed.clear()
        self.__dict__.pop("_alone", None)

    def design_axes(self, questions: Sequence[Question]) -> None:
        """Find the shares of widths, attribute by attribute, given those of the others in a set."""
        alike: dict[tuple[Any, ...], npt.NDArray[np.float64]] = {}
        for own, axes in self.axes.items():
            about = [one for one in questions if one.attributes == own]
            for axis, i in zip(axes, own, strict=True):
                others = [(k, other) for k, other in zip(own, axes, strict=True) if k != i]
                factors = [one.weight * math.prod(other.variance(one.grams[k]) for k, other in others) for one in about]
                if not about:
                    continue
                relative = np.array(factors) / sum(factors)
                key = (axis.key, not others, *relative.round(2), *(id(one.grams[i]) for one in about))
                if key not in alike:  # attributes alike have the same shares
                    wanted = sum(factor * one.grams[i] for factor, one in zip(relative, about, strict=True))
                    axis.design(np.asarray(wanted), alone=not others)
                    alike[key] = axis.shares
                axis.shares = alike[key]
                axis.refresh()

    @cached_property
    def _alone(self) -> dict[int, tuple[list[tuple[int, ...]], Matrix]]:
        """For each attribute the sets that show it, and what one report of each says about it; means are taken out."""
        showing: dict[int, list[tuple[int, ...]]] = {}
        for own in self.axes:
            for i in own:
                showing.setdefault(i, []).append(own)
        return {i: (sets, np.stack([self._information(own, i) for own in sets])) for i, sets in showing.items()}

    def _information(self, own: tuple[int, ...], attribute: int) -> Matrix:
        places = dict(zip(own, self.axes[own], strict=True))
        others = math.prod(float(axis.ones.sum()) for i, axis in places.items() if i != attribute)
        matrix = places[attribute].matrix * (self._says[own] / others)
        centred: Matrix = matrix - matrix.mean(axis=0) - matrix.mean(axis=1)[:, None] + matrix.mean()
        return centred

    def design_shares(self, questions: Sequence[Question]) -> dict[tuple[int, ...], float]:
        """Return the shares of sets with the least mean variance."""
        asked = {one.attributes for one in questions}
        shares = {own: 1 / len(self.axes) for own in self.axes}
        for _ in range(STEPS if len(asked) > 1 else 0):
            totals = dict.fromkeys(shares, 0.0)
            for one, parts in zip(questions, self.parts(questions, shares), strict=True):
                for own, part in parts.items():
                    totals[own] += one.weight * part
            roots = {own: math.sqrt(max(totals[own], 0.0) * shares[own]) for own in shares}
            shares = {own: root / sum(roots.values()) for own, root in roots.items()}
        rest = [own for own in shares if own not in asked]
        whole = sum(shares[own] for own in asked)
        left = UNASKED if rest else 0.0
        return {own: left / len(rest) if own in rest else (1 - left) * shares[own] / whole for own in shares}

    def variances(self, questions: Sequence[Question], shares: Mapping[tuple[int, ...], float]) -> list[float]:
        """Return the variance of each question per report, over uniform records."""
        parts = self.parts(questions, shares)
        squares = [sum(own.values()) for own in parts]  # at large epsilon about as large as what estimates do not add
        return [max(square - one.spread, square / 10) for square, one in zip(squares, questions, strict=True)]

    def parts(
        self, questions: Sequence[Question], shares: Mapping[tuple[int, ...], float]
    ) -> list[dict[tuple[int, ...], float]]:
        """Return for each question what the reports of each set add to its variance."""
        inverses: dict[int, Matrix] = {}
        alone: dict[tuple[int, int], dict[tuple[int, ...], float]] = {}

        def of_one(i: int, gram: Matrix) -> dict[tuple[int, ...], float]:
            showing, matrices = self._alone[i]
            if i not in inverses:
                whole = np.tensordot([shares[own] for own in showing], matrices, axes=1) + 1 / len(gram)
                inverses[i] = np.asarray(np.linalg.inv(whole) - 1 / len(gram), dtype=np.float64)
            if (i, id(gram)) not in alone:
                parts = np.tensordot(matrices, inverses[i] @ gram @ inverses[i], axes=2).tolist()
                alone[i, id(gram)] = {own: shares[own] * part for own, part in zip(showing, parts, strict=True)}
            return alone[i, id(gram)]

        return [self._question_parts(one, shares, of_one) for one in questions]

    def _question_parts(
        self,
        question: Question,
        shares: Mapping[tuple[int, ...], float],
        of_one: Callable[[int, Matrix], dict[tuple[int, ...], float]],
    ) -> dict[tuple[int, ...], float]:
        """Return the parts of one question's variance: from its own set, and from other sets with its attributes."""
        home = question.attributes
        if len(home) == 1:
            return dict(of_one(home[0], question.grams[home[0]]))
        if question not in self._fixed:
            self._fixed[question] = self._fixed_parts(question)
        together, others = self._fixed[question]
        parts: dict[tuple[int, ...], float] = {}
        for i in home:
            for shown, part in of_one(i, question.grams[i]).items():
                parts[shown] = parts.get(shown, 0.0) + others[i] * part
        parts[home] = parts.get(home, 0.0) + together / (self._says[home] * shares[home])
        return parts

    def _fixed_parts(self, question: Question) -> tuple[float, dict[int, float]]:
        """Return what does not depend on the shares of sets: what only its own set shows, and factors of the others."""
        home = question.attributes
        axes = dict(zip(home, self.axes[home], strict=True))
        ones = {i: float(axis.ones.sum()) for i, axis in axes.items()}
        centres = {i: axis.centre(question.grams[i]) for i, axis in axes.items()}
        others = {i: math.prod(centres[k] for k in home if k != i) for i in home}
        together = math.prod(axis.variance(question.grams[i]) for i, axis in axes.items())
        together -= math.prod(centres[i] * ones[i] for i in home)
        for i, axis in axes.items():
            own = float((axis.known_inverse * question.grams[i]).sum())
            together -= others[i] * own * math.prod(ones[k] for k in home if k != i)
        return max(together, 0.0), others
