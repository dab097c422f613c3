"""Sets of attributes whose views are reported: their information, the variances of questions, and the best shares.

A report of a view with k cells carries the information ``u W'W`` about the counts of values: W has a row for each cell,
and u is about ``1 / noise`` of the best oracle over k cells. The views of a set of attributes are products of
partitions, and so are their probabilities; the information of a set is a product of one matrix for each attribute.

Decoders split a question into parts (`tacit.estimate.sets`), whose variances add up. The main effect of an attribute is
read from all sets that show it, whose information adds up. The interaction of several attributes is read from every set
that shows them all, weighted by information.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from tacit.contract.layouts.calendar import copy_size
from tacit.contract.layouts.grams import Matrix
from tacit.contract.layouts.information import information
from tacit.contract.layouts.questions import Grams, QuestionClass
from tacit.contract.layouts.shifted import PartitionFamily, coarse_copy

__all__ = ["POINTS", "STEPS", "AttributeSets", "Set", "SetFamilies", "Shares"]

STEPS = 40
"""Steps of the multiplicative rule: the variance is within half a percent of the least one."""

ENOUGH = 1e-4
"""Part of the variance that a step must save for another one."""

POWER = 0.9
"""Power of the multiplicative rule: 0.5 never overshoots, but takes twice as long."""

LEAST = 1e-9
"""Minimum share of a set while designs are computed."""

FLOOR = 0.02
"""Minimum share of single values, so that every question over a set has an unbiased answer."""

POINTS = 1.12
"""Share of single values, relative to nested levels, where the copy of an attribute is too coarse to decide."""

Set = tuple[int, ...]
Shares = dict[Set, float]
SetFamilies = Mapping[Set, Sequence[PartitionFamily]]
"""For each set of attributes the partitions of each."""


@lru_cache(maxsize=256)
def _grams(family: PartitionFamily) -> Matrix:
    return np.stack(family.grams())


class DesignAxis:
    """One attribute's partitions within a set, on a coarse copy of its values."""

    def __init__(self, family: PartitionFamily, floor: float) -> None:
        self._floor, self._family, self._plain = floor, family, _grams(family)
        self.shares = np.full(len(self._plain), 1 / len(self._plain))
        self.says = np.ones(len(self._plain))

    def refresh(self, alike: dict[object, tuple[Matrix, Matrix]]) -> None:
        """Recompute what depends on the shares; equal axes share it."""
        key = (self._family, np.round(self.shares, 9).tobytes(), np.round(self.says, 9).tobytes())
        if key not in alike:
            matrix = np.tensordot(self.shares * self.says, self._plain, axes=1)
            alike[key] = matrix, np.asarray(np.linalg.inv(matrix), np.float64)
        self.matrix, self.inverse = alike[key]
        self.ones = self.inverse.sum(axis=1)
        self.total = float(self.ones.sum())
        """``1'G^-1 1``."""

    def traces(self, matrix: Matrix) -> Matrix:
        """Return, for each width, the trace of its information times a symmetric matrix."""
        traces: Matrix = self.says * np.tensordot(self._plain, matrix, axes=2)
        return traces

    @property
    def known_inverse(self) -> Matrix:
        """The inverse for contrasts: the total of a vector that is the same everywhere is known."""
        known: Matrix = self.inverse - np.outer(self.ones, self.ones) / self.total
        return known

    def step(self, gains: Matrix) -> None:
        """Multiply each share by almost the variance that more of it would save."""
        shares = np.maximum(gains, 0.0) ** POWER * self.shares
        if len(shares) > 1 and shares.sum() > 0:
            shares[-1] = max(shares[-1], self._floor * shares.sum())
            self.shares = shares / shares.sum()


class _Asked:
    """Questions about the same attributes, with their Gram matrices."""

    def __init__(self, home: Set, questions: Sequence[QuestionClass], places: Sequence[int]) -> None:
        self.home, self.places = home, list(places)
        shown = [questions[place] for place in places]
        self.weights = np.array([question.weight for question in shown])
        self.grams = {i: Grams(shown, i) for i in home}


class AttributeSets:
    """Sets of attributes with the partitions of each."""

    def __init__(self, families: SetFamilies, epsilon: float, *, points: bool = False) -> None:
        grown = math.exp(min(epsilon, 30.0))
        self.epsilon, self._families = epsilon, families
        self._most = copy_size(len({i for shown in families for i in shown}))
        self.axes: dict[Set, list[DesignAxis]] = {}
        self.says: dict[Set, float] = {}
        self._logs: dict[Set, Matrix] = {}
        self.showing: dict[int, list[Set]] = {}
        for shown, families_of_set in families.items():
            cells = itertools.product(*(family.cells() for family in families_of_set))
            logs = np.log([information(math.prod(counts), grown) for counts in cells])
            copies = [coarse_copy(family, self._most) for family in families_of_set]
            floors = [
                POINTS / len(family.nested.groups) if points and copy.values < family.values else FLOOR
                for family, copy in zip(families_of_set, copies, strict=True)
            ]
            self.axes[shown] = [DesignAxis(*parts) for parts in zip(copies, floors, strict=True)]
            self._logs[shown] = logs.reshape([len(axis.shares) for axis in self.axes[shown]])
            for i in shown:
                self.showing.setdefault(i, []).append(shown)
        self._refresh()

    def partitions(self, shown: Set) -> list[tuple[PartitionFamily, list[float]]]:
        """Return the partitions of each attribute of a set, on its coarse copy, and how many cells they really have."""
        return [(coarse_copy(family, self._most), family.cells()) for family in self._families[shown]]

    def take(self, groups: Mapping[Set, Sequence[Matrix]]) -> None:
        """Set the shares of widths."""
        for shown, groups_of_set in groups.items():
            for axis, shares in zip(self.axes[shown], groups_of_set, strict=True):
                axis.shares = shares
        self._refresh()

    def _refresh(self) -> None:
        alike: dict[object, tuple[Matrix, Matrix]] = {}
        for shown, axes in self.axes.items():
            self._fit_information(shown)
            for axis in axes:
                axis.refresh(alike)

    def _fit_information(self, shown: Set) -> None:
        """Approximate u, which depends on all cells of a view, by a product over attributes: the nearest, by shares."""
        logs, axes = self._logs[shown], self.axes[shown]
        mean = logs
        for axis in reversed(axes):
            mean = mean @ axis.shares
        for k, axis in enumerate(axes):
            alone = np.moveaxis(logs, k, 0)
            for other in reversed([candidate for candidate in axes if candidate is not axis]):
                alone = alone @ other.shares
            axis.says = np.exp(alone - mean)
        self.says[shown] = math.exp(float(mean))

    def variances(self, questions: Sequence[QuestionClass], shares: Shares) -> list[float]:
        """Return the variance of each question per report, over uniform records."""
        variances = np.zeros(len(questions))
        inverses = {i: self._inverse(i, shares) for question in questions for i in question.attributes}
        for group in _by_home(questions):
            variances[group.places] = _Costs(self, group, shares, inverses).variances()
        # at large epsilon squares are about as large as what estimates do not add
        spreads = np.array([question.spread for question in questions])
        return [float(value) for value in np.maximum(variances - spreads, variances / 50)]

    def _inverse(self, attribute: int, shares: Shares) -> Matrix:
        """Return the inverse of the information of all sets about an attribute, with means removed."""
        information_matrix: Matrix = sum(
            (shares[shown] * self.scale(shown, attribute)) * self.axis(shown, attribute).matrix
            for shown in self.showing[attribute]
        )  # type: ignore[assignment]
        size = len(information_matrix)
        centred = (
            information_matrix
            - information_matrix.mean(axis=0)
            - information_matrix.mean(axis=1)[:, None]
            + information_matrix.mean()
        )
        return np.asarray(np.linalg.inv(centred + np.trace(centred) / size**2) - size / np.trace(centred) / size)

    def axis(self, shown: Set, attribute: int) -> DesignAxis:
        """Return an attribute's partitions in a set."""
        return self.axes[shown][shown.index(attribute)]

    def scale(self, shown: Set, *attributes: int) -> float:
        """Return the information of one report of a set about some of its attributes, relative to its axes."""
        others = (axis.total for i, axis in zip(shown, self.axes[shown], strict=True) if i not in attributes)
        return self.says[shown] / math.prod(others)

    def design(self, questions: Sequence[QuestionClass], shares: Shares, floors: Shares, steps: int = STEPS) -> Shares:
        """Find shares of sets, and of the widths of their attributes, with the least mean variance.

        Every step multiplies a share by its part of the variance over its share, to a power: it stops where parts equal
        shares, which is the optimum. Shares of sets stay above their floors.
        """
        by_home, cost = _by_home(questions), math.inf
        for _ in range(steps):
            inverses = {i: self._inverse(i, shares) for group in by_home for i in group.home}
            gains = _Gains(self, shares)
            wanted = {i: np.zeros_like(inverse) for i, inverse in inverses.items()}
            for group in by_home:
                costs = _Costs(self, group, shares, inverses)
                for i, gram in costs.add_gains(gains).items():
                    wanted[i] += gram
            for i, gram in wanted.items():
                gains.add_alone(i, inverses[i] @ gram @ inverses[i])
            roots = {
                shown: shares[shown] * (max(gains.of_sets[shown], 0.0) / shares[shown]) ** POWER for shown in shares
            }
            total = sum(roots.values())
            floored = {shown: max(root / total, floors.get(shown, LEAST)) for shown, root in roots.items()}
            shares = {shown: share / sum(floored.values()) for shown, share in floored.items()}
            for shown, axes in self.axes.items():
                for axis, gains_of_axis in zip(axes, gains.of_axes[shown], strict=True):
                    axis.step(gains_of_axis)
            self._refresh()
            before, cost = cost, sum(gains.of_sets.values())
            if before < cost * (1 + ENOUGH):
                break
        return shares


class _Gains:
    """The variance that a larger share of each set, and of each width in a set, would save."""

    def __init__(self, sets: AttributeSets, shares: Shares) -> None:
        self._sets, self._shares = sets, shares
        self.of_sets = dict.fromkeys(shares, 0.0)
        self.of_axes = {shown: [np.zeros(len(axis.shares)) for axis in axes] for shown, axes in sets.axes.items()}
        self._ones: dict[tuple[Set, int], Matrix] = {}

    def add_alone(self, attribute: int, sharp: Matrix) -> None:
        """Add what every set that shows an attribute saves for questions about it alone."""
        for shown in self._sets.showing[attribute]:
            axis = self._sets.axis(shown, attribute)
            says = self._shares[shown] * self._sets.scale(shown, attribute)
            saved = says * axis.traces(sharp)
            part = float(saved @ axis.shares)
            self.of_sets[shown] += part
            for i, gains in zip(shown, self.of_axes[shown], strict=True):
                gains += saved if i == attribute else part * self.of_ones(shown, i)

    def of_ones(self, shown: Set, attribute: int) -> Matrix:
        """Return the parts, which sum to 1, of each width in what an attribute saves for the vector 1."""
        if (shown, attribute) not in self._ones:
            axis = self._sets.axis(shown, attribute)
            self._ones[shown, attribute] = axis.traces(np.outer(axis.ones, axis.ones)) / axis.total
        return self._ones[shown, attribute]

    def add_together(self, shown: Set, parts: Mapping[int, tuple[Matrix, float]], others: float) -> None:
        """Add what a set saves: by widths and by 1 of attributes in ``parts``, ``others`` by 1 of each other one."""
        for i, gains in zip(shown, self.of_axes[shown], strict=True):
            if i in parts:
                sharp, ones = parts[i]
                gains += self._sets.axis(shown, i).traces(sharp) + ones * self.of_ones(shown, i)
            else:
                gains += others * self.of_ones(shown, i)


class _Costs:
    """The variances of questions about the same attributes: alone, and together in the sets that show all of them."""

    def __init__(self, sets: AttributeSets, group: _Asked, shares: Shares, inverses: Mapping[int, Matrix]) -> None:
        self._sets, self._group, self._shares = sets, group, shares
        self._alone = {i: group.grams[i].traces(inverses[i]) for i in group.home}
        if len(group.home) == 1:
            return
        self._showing = [axis for axis in sets.axes if set(group.home) <= set(axis)]
        self._read = {shown: self._parts_of(shown) for shown in self._showing}
        costs = np.array([self._together(shown) for shown in self._showing])
        least = 1 / (1 / np.maximum(costs, 1e-300)).sum(axis=0)
        self._weights = dict(zip(self._showing, least / np.maximum(costs, 1e-300), strict=True))
        self._interactions = least
        smallest = min(self._showing, key=lambda shown: (len(shown), shown))
        self._centres = {i: self._read[smallest][i][1] for i in group.home}

    def _parts_of(self, shown: Set) -> dict[int, tuple[Matrix, Matrix, float]]:
        """Return for each attribute the variances of contrasts, the squares of means, and the variance of 1."""
        parts = {}
        for i in self._group.home:
            axis, grams = self._sets.axis(shown, i), self._group.grams[i]
            known = grams.traces(axis.known_inverse)
            parts[i] = known, grams.traces(np.outer(axis.ones, axis.ones)) / axis.total**2, axis.total
        return parts

    def _together(self, shown: Set) -> Matrix:
        """Return the variance of interactions, which only sets that show all attributes measure."""
        parts = self._read[shown]
        return _interaction(parts) / (self._shares[shown] * self._sets.scale(shown, *self._group.home))

    def variances(self) -> Matrix:
        """Return the variance of each question."""
        home = self._group.home
        if len(home) == 1:
            return self._alone[home[0]]
        variances: Matrix = self._interactions + sum(self._others(i) * self._alone[i] for i in home)
        return variances

    def _others(self, attribute: int) -> Matrix:
        product = np.ones(len(self._group.weights))
        for k in self._group.home:
            product = product * (self._centres[k] if k != attribute else 1.0)
        return product

    def add_gains(self, gains: _Gains) -> dict[int, Matrix]:
        """Add what sets save for interactions; return the Gram matrices that remain for each attribute alone."""
        home, weights = self._group.home, self._group.weights
        if len(home) == 1:
            return {home[0]: self._group.grams[home[0]].total(weights)}
        for shown in self._showing:
            read, scale = self._read[shown], self._shares[shown] * self._sets.scale(shown, *home)
            by = weights * self._weights[shown] ** 2 / scale
            total = float((by * _interaction(read)).sum())
            parts = {}
            for i in home:
                contrasts, means = _derivatives(read, i)
                known = self._sets.axis(shown, i).known_inverse
                sharp = known @ self._group.grams[i].total(by * contrasts) @ known
                parts[i] = sharp, float((by * means * read[i][1] * read[i][2]).sum())
            gains.of_sets[shown] += total
            gains.add_together(shown, parts, total)
        return {i: self._group.grams[i].total(weights * self._others(i)) for i in home}


def _interaction(parts: Mapping[int, tuple[Matrix, Matrix, float]]) -> Matrix:
    """Return the variance of the interaction of a product: without its mean and main effects."""
    variance: Matrix = math.prod(known + centre * ones for known, centre, ones in parts.values())  # type: ignore[assignment]
    means = {i: centre * ones for i, (_, centre, ones) in parts.items()}
    variance = variance - math.prod(means.values())
    for i, (known, *_) in parts.items():
        variance = variance - known * math.prod(mean for k, mean in means.items() if k != i)
    return np.maximum(variance, 0.0)


def _derivatives(parts: Mapping[int, tuple[Matrix, Matrix, float]], attribute: int) -> tuple[Matrix, Matrix]:
    """Return the derivatives of `_interaction` by the variance of an attribute's contrasts, and by that of its mean."""
    others = {i: part for i, part in parts.items() if i != attribute}
    means = {i: centre * ones for i, (_, centre, ones) in others.items()}
    product = math.prod(known + centre * ones for known, centre, ones in others.values())
    contrasts = product - math.prod(means.values())
    alone = sum(known * math.prod(m for k, m in means.items() if k != i) for i, (known, *_) in others.items())
    return np.asarray(contrasts), np.asarray(contrasts - alone)


def _by_home(questions: Sequence[QuestionClass]) -> list[_Asked]:
    places: dict[Set, list[int]] = {}
    for place, question in enumerate(questions):
        places.setdefault(question.attributes, []).append(place)
    return [_Asked(home, questions, listed) for home, listed in places.items()]
