"""The fitted model of a service: tables of attributes and pairs fitted to all reports, and answers from them.

Tables of single attributes come first; a pair's table has exactly these marginals, so answers add up. A pair is fitted
when a question first needs it. Only the attribute's own table distinguishes cells finer than `PAIR_CELLS`. Totals over
three attributes and more come from the table of maximum entropy.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

import numpy as np

from tacit.contract.contract import ServiceContract
from tacit.contract.schema import Ordinal
from tacit.errors import UnanswerableError
from tacit.estimate.functional import Functional, Term, Vector
from tacit.model.coefficients import along
from tacit.model.fit.classes import classes, rake
from tacit.model.fit.joint import Beyond, Joint, connected_parts, widest
from tacit.model.fit.smooth import Axis
from tacit.model.fit.table import Fit, fit_table
from tacit.model.fit.views import see
from tacit.model.fit.wider import Wider
from tacit.model.views import Counts, view_tables

__all__ = ["FittedModel"]

ONE_CELLS, PAIR_CELLS = 2048, 128
"""Maximum cells of an attribute in its own table, and in tables of pairs."""

JOINT_CELLS, MOST_CLASSES = 2**18, 16
"""Maximum cells of a table of maximum entropy, and classes of one of its attributes."""

WHOLE_WORK, MOST_AXES = 2**19, 12
"""Upper limits for one joint table over all attributes: cells × marginals, and number of attributes."""

WEAK = 2.0
"""Effective parameters below which the reports carry almost no information about a table."""

AT_ONCE = 64
"""Directions whose errors are computed together."""


class FittedModel:
    """Fitted tables of one service, as shares of its people."""

    def __init__(self, service: ServiceContract, counts: Counts) -> None:
        self.service = service
        self.people = max((int(times.sum()) for _, times in counts.values()), default=0)
        self.counts, self.seen = counts, view_tables(service, counts)
        self._ones: dict[int, tuple[Fit, Vector]] = {}
        self._pairs: dict[tuple[int, int], tuple[Fit, Vector]] = {}
        self._joints: dict[tuple[int, ...], Joint] = {}
        self.wider = Wider(service.levels, self.seen)
        self._door = threading.RLock()

    def means(self, functionals: Sequence[Functional]) -> list[float]:
        """Return the mean of each functional over people, from one table if one of them uses all attributes."""
        attributes = {i for functional in functionals for i in functional.attributes}
        if all(len(functional.attributes) < len(attributes) for functional in functionals):
            return [mean for functional in functionals for mean in self.means([functional])]
        if len(attributes) > 1:
            joint = self._joint(functionals)
            return [joint.mean(functional) for functional in functionals]
        shares = {i: self._values(i) for i in attributes}
        return [sum(_alone(term, shares) for term in functional.terms) for functional in functionals]

    def errors(self, functionals: Sequence[Functional]) -> list[float]:
        """Return the standard error of each functional's mean."""
        squares = [0.0] * len(functionals)
        together: dict[tuple[int, ...], list[tuple[int, Functional]]] = {}
        for place, functional in enumerate(functionals):
            for part in connected_parts(functional):
                together.setdefault(part.attributes, []).append((place, part))
        for attributes, parts in together.items():
            for start in range(0, len(parts), AT_ONCE):
                some = parts[start : start + AT_ONCE]
                errors = self._errors(attributes, [part for _, part in some])
                for (place, _), error in zip(some, errors, strict=True):
                    squares[place] += float(error) ** 2
        return [math.sqrt(square) for square in squares]

    def _errors(self, attributes: tuple[int, ...], functionals: Sequence[Functional]) -> Vector:
        """Return the errors of functionals of the same attributes: those of their parts, from the respective fits."""
        if len(attributes) == 1:
            [i] = attributes
            scaled = [[term.coefficient * term.factors[i] for term in own.terms if term.factors] for own in functionals]
            return self._one_errors(i, [np.sum(vectors, axis=0) for vectors in scaled])
        square = np.zeros(len(functionals))
        pairs = [pair for pair in itertools.combinations(attributes, 2) if self.together(pair)]
        functions: dict[tuple[int, ...], list[Vector]] = {}
        for place, functional in enumerate(functionals):
            joint = self._joint([functional]).of(functional)
            if len(attributes) > 2 and pairs:
                square[place] += (joint.widest_weight(functional) * min(self._fit(pair).missed for pair in pairs)) ** 2
            faces = [tuple(map(joint.attributes.index, face)) for face in self.wider.faces(joint.attributes)]
            for one, function in joint.parts(functional, faces).items():
                own, held = tuple(joint.attributes[axis] for axis in one), [joint.held[axis].T for axis in one]
                if len(own) == 1:
                    functions.setdefault(own, []).append(held[0] @ function + joint.within(functional, one[0]))
                elif len(own) == 2 and not self.together(own):
                    continue  # assumed independent
                elif len(own) == 2:
                    cells = [self._cells(i) @ values for i, values in zip(own, held, strict=True)]
                    functions.setdefault(own, []).append(along(function, cells))
                else:
                    square[place] += self.wider.error(own, along(function, held)) ** 2
        for own, weights in functions.items():
            errors = self._one_errors(own[0], weights) if len(own) == 1 else self._fit(own).errors(np.stack(weights))
            square += errors**2
        return cast("Vector", np.sqrt(square))

    def _one_errors(self, attribute: int, weights: Sequence[Vector]) -> Vector:
        """Return the errors of weighted sums of an attribute's values."""
        level = self.service.levels[attribute][self._depth(attribute, ONE_CELLS)]
        directions = np.stack(weights) @ level.matrix().T / np.bincount(level.table())
        return self.one(attribute)[0].errors(directions[:, :, None])

    def _cells(self, attribute: int) -> Vector:
        """Return cells of the tables of pairs x values: 1 / the values of a cell where it holds one."""
        level = self.service.levels[attribute][self._depth(attribute, PAIR_CELLS)]
        shares: Vector = level.matrix() / np.bincount(level.table())[:, None]
        return shares

    def how(self, attributes: tuple[int, ...]) -> str:
        """Return how the table of one or two attributes was fitted."""
        return (
            self._fit(attributes).how
            if self.together(attributes)
            else "no view reports them together: assumed independent"
        )

    def is_weak(self, attributes: tuple[int, ...]) -> bool:
        """Return whether the reports say so little about one or two attributes that their table is an assumption."""
        return self._fit(attributes).learned < WEAK

    def together(self, attributes: tuple[int, ...]) -> bool:
        """Return whether some view reports all of these attributes."""
        return any(set(attributes) <= set(view.shown.attributes) for view in self.seen)

    def table(self, attributes: tuple[int, ...]) -> Vector:
        """Return the table of one or two attributes, in the cells it was fitted in."""
        return self.one(attributes[0])[1] if len(attributes) == 1 else self.pair((attributes[0], attributes[1]))[1]

    def one(self, attribute: int) -> tuple[Fit, Vector]:
        """Return the fit of an attribute's own table, and the table."""
        with self._door:
            if attribute not in self._ones:
                axis = self._axis(attribute, ONE_CELLS)
                depth = self._depth(attribute, ONE_CELLS)
                observed = see(self.service.levels, self.seen, (attribute,), (depth,))
                base = np.full((axis.cells, 1), 1 / axis.cells)
                fit = fit_table(observed, base, (axis,), (base[:, 0],))
                self._ones[attribute] = fit, fit.table[:, 0]
            return self._ones[attribute]

    def pair(self, pair: tuple[int, int]) -> tuple[Fit, Vector]:
        """Return the fit of a pair, and its table, which has the attributes' own tables as marginals."""
        with self._door:
            if pair not in self._pairs:
                depths = [self._depth(i, PAIR_CELLS) for i in pair]
                marginals = tuple(self._within(i).sum(axis=1) for i in pair)
                base = np.multiply.outer(*marginals)
                axes = tuple(self._axis(i, PAIR_CELLS) for i in pair)
                even = all(self.one(i)[0].is_smooth for i in pair)
                observed = see(self.service.levels, self.seen, pair, depths)
                fit = fit_table(observed, base, axes, marginals, smooth_axes=even)
                self._pairs[pair] = fit, rake(fit.table, *marginals)
            return self._pairs[pair]

    def _fit(self, attributes: tuple[int, ...]) -> Fit:
        return (self.one(attributes[0]) if len(attributes) == 1 else self.pair((attributes[0], attributes[1])))[0]

    def _depth(self, attribute: int, most: int) -> int:
        """Return the finest level of an attribute with few enough cells; level 1 if there is none."""
        levels = self.service.levels[attribute]
        return max((j for j in range(1, len(levels)) if levels[j].cells <= most), default=min(1, levels.finest))

    def _axis(self, attribute: int, most: int) -> Axis:
        level = self.service.levels[attribute][self._depth(attribute, most)]
        return Axis(level.cells, isinstance(self.service.service.sensitive[attribute], Ordinal), level.null)

    def _values(self, attribute: int) -> Vector:
        """Return the share of each value; values that its table does not distinguish are even."""
        level = self.service.levels[attribute][self._depth(attribute, ONE_CELLS)]
        cells = level.table()
        share: Vector = self.one(attribute)[1][cells] / np.bincount(cells)[cells]
        return share

    def _within(self, attribute: int) -> Vector:
        """Return the share of each value, in the row of its cell in tables of pairs."""
        level = self.service.levels[attribute][self._depth(attribute, PAIR_CELLS)]
        made: Vector = level.matrix() * self._values(attribute)
        return made

    def _average(self, attribute: int, vectors: Vector) -> Vector:
        """Return the means of vectors, one or in rows, within each cell of the tables of pairs."""
        within = self._within(attribute)
        whole = within.sum(axis=1)
        plain = vectors @ self._cells(attribute).T
        means: Vector = np.where(whole > 0, vectors @ within.T / np.where(whole > 0, whole, 1.0), plain)
        return means

    def _joint(self, functionals: Sequence[Functional]) -> Joint:
        """Return a table for some functionals: of all attributes if it is small, else of theirs, or of classes."""
        own = tuple(sorted({i for functional in functionals for i in functional.attributes}))
        if len(own) == 2:
            return self._whole(own)
        for attributes in (tuple(range(len(self.service.levels))), own):
            cells = [self.service.levels[i][self._depth(i, PAIR_CELLS)].cells for i in attributes]
            faces = math.comb(len(attributes), 2) + len(self.wider.faces(attributes)) if len(cells) <= MOST_AXES else 0
            if faces and math.prod(cells) * faces <= WHOLE_WORK:
                return self._whole(attributes)
        return self._maximum_entropy(own, self._classes(own, functionals))

    def _whole(self, attributes: tuple[int, ...]) -> Joint:
        """Return the table of some attributes in the cells of tables of pairs."""
        with self._door:
            if attributes not in self._joints:
                cells = [self.service.levels[i][self._depth(i, PAIR_CELLS)].matrix() for i in attributes]
                self._joints[attributes] = self._maximum_entropy(attributes, cells)
            return self._joints[attributes]

    def _maximum_entropy(self, attributes: tuple[int, ...], held: Sequence[Vector]) -> Joint:
        """Return the table of maximum entropy over given groups of values."""
        values = tuple(self._values(i) for i in attributes)
        sides = [self._average(i, own) for i, own in zip(attributes, held, strict=True)]
        pairs: dict[tuple[int, ...], Vector] = {
            (a, b): sides[a] @ self.table((attributes[a], attributes[b])) @ sides[b].T
            for a, b in itertools.combinations(range(len(attributes)), 2)
        }
        wider: dict[tuple[int, ...], Beyond] = {}
        for face in self.wider.faces(attributes):
            places = tuple(map(attributes.index, face))
            groups, shares = [held[place] for place in places], [values[place] for place in places]
            wider[places] = partial(self.wider.table, face, held=groups, values=shares)
        return Joint(attributes, tuple(held), values, widest([len(own) for own in held], pairs, wider))

    def _classes(self, attributes: tuple[int, ...], functionals: Sequence[Functional]) -> list[Vector]:
        """Return groups of values that functionals treat alike."""
        most = max(2, min(MOST_CLASSES, int(JOINT_CELLS ** (1 / len(attributes)))))
        held = []
        for attribute in attributes:
            terms = [term for functional in functionals for term in functional.terms]
            vectors = [term.factors[attribute] for term in terms if attribute in term.factors]
            held.append(classes(np.unique(vectors, axis=0), self._values(attribute), most))
        if math.prod(len(own) for own in held) > JOINT_CELLS:
            message = f"{len(attributes)} attributes are too many for maximum entropy. Ask for fewer."
            raise UnanswerableError(message)
        return held


def _alone(term: Term, shares: Mapping[int, Vector]) -> float:
    """Return the mean of a term of one attribute or none."""
    for attribute, vector in term.factors.items():
        return term.coefficient * float(vector @ shares[attribute])
    return term.coefficient
