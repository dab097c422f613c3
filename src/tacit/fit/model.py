"""What all reports of a service say together: fitted tables of attributes and pairs, and questions about them.

Tables of single attributes come first; a pair's table has them as marginals exactly, so answers add up. A pair is
fitted when a question first needs it. Cells finer than `PAIR_CELLS` of an attribute are told apart by the attribute's
own table alone. Totals over three attributes and more are those of the table of maximum entropy.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from tacit.contract import ServiceContract
from tacit.decode.functional import Functional, Term, Vector
from tacit.errors import UnanswerableError
from tacit.fit.classes import classes, rake
from tacit.fit.joint import Faces, Wider, contracted, shifted, widest
from tacit.fit.smooth import Axis
from tacit.fit.table import Fit, fit_table
from tacit.fit.views import between, see
from tacit.marginals.views import Counts, view_tables
from tacit.schema import Ordinal

__all__ = ["Model"]

ONE_CELLS, PAIR_CELLS = 2048, 128
"""Most cells of an attribute in its own table, and in tables of pairs."""

JOINT_CELLS, MOST_CLASSES = 2**18, 16
"""Cells of a table of maximum entropy, and classes of one of its attributes."""

WHOLE_CELLS = 2**16
"""Cells of a table that is kept whole, so that all answers from it add up; larger ones are made for each question."""

TINY = 1e-300

WEAK = 2.0
"""Parameters below which reports have told next to nothing of a table."""

AT_ONCE = 64
"""Directions whose errors are found side by side."""


class Model:
    """Fitted tables of one service, as shares of its people."""

    def __init__(self, service: ServiceContract, counts: Counts) -> None:
        self.service = service
        self.people = max((int(times.sum()) for _, times in counts.values()), default=0)
        self._seen = view_tables(service, counts)
        self._ones: dict[int, tuple[Fit, Vector]] = {}
        self._pairs: dict[tuple[int, int], tuple[Fit, Vector]] = {}
        self._joints: dict[tuple[int, ...], Vector | None] = {}
        self.wider = Wider(service.levels, self._seen)
        self._door = threading.RLock()

    def means(self, functionals: Sequence[Functional]) -> list[float]:
        """Return the mean of each functional over people."""
        return [sum(self._term(term) for term in functional.terms) for functional in functionals]

    def errors(self, functionals: Sequence[Functional]) -> list[float]:
        """Return the standard error of each functional's mean."""
        found = [0.0] * len(functionals)
        together: dict[tuple[int, ...], list[int]] = {}
        for place, functional in enumerate(functionals):
            if len(functional.attributes) > 2:
                found[place] = sum(self._joint_error(term) for term in functional.terms)
            elif functional.attributes:
                together.setdefault(functional.attributes, []).append(place)
        for attributes, places in together.items():
            for start in range(0, len(places), AT_ONCE):
                part = places[start : start + AT_ONCE]
                directions = np.stack([self._direction(functionals[place], attributes) for place in part])
                for place, error in zip(part, self._errors(attributes, directions), strict=True):
                    found[place] = float(error)
        return found

    def _errors(self, attributes: tuple[int, ...], directions: Vector) -> Vector:
        """Return the errors of sums of cells: for a pair, of what each attribute says by itself, and of the rest."""
        if len(attributes) == 1:
            return self.one(attributes[0])[0].errors(directions)
        fit, table = self.pair((attributes[0], attributes[1]))
        mean = (directions * table).sum((1, 2), keepdims=True)
        square, rest = np.zeros(len(directions)), directions + mean
        for axis, attribute in enumerate(attributes):
            other = 2 - axis
            own = table.sum(1 - axis, keepdims=True)
            alone = (directions * table).sum(other, keepdims=True) / np.maximum(own, TINY)
            depths = self._depth(attribute, ONE_CELLS), self._depth(attribute, PAIR_CELLS)
            finer = alone.reshape(len(directions), -1) @ between(self.service.levels[attribute], *depths)
            square += self.one(attribute)[0].errors(finer[:, :, None]) ** 2
            rest = rest - alone
        return cast("Vector", np.sqrt(square + fit.errors(rest) ** 2))

    def how(self, attributes: tuple[int, ...]) -> str:
        """Return how the table of one or two attributes was fitted."""
        return self._fit(attributes).how if self.together(attributes) else "no view shows them together: independent"

    def is_weak(self, attributes: tuple[int, ...]) -> bool:
        """Tell whether reports say so little about one or two attributes that their table is what was assumed."""
        return self._fit(attributes).told < WEAK

    def together(self, attributes: tuple[int, ...]) -> bool:
        """Tell whether some view shows all of some attributes."""
        return any(set(attributes) <= set(view.shown.attributes) for view in self._seen)

    def table(self, attributes: tuple[int, ...]) -> Vector:
        """Return the table of one or two attributes, at the cells it was fitted in."""
        return self.one(attributes[0])[1] if len(attributes) == 1 else self.pair((attributes[0], attributes[1]))[1]

    def one(self, attribute: int) -> tuple[Fit, Vector]:
        """Return the fit of an attribute's own table, and the table."""
        with self._door:
            if attribute not in self._ones:
                axis = self._axis(attribute, ONE_CELLS)
                depth = self._depth(attribute, ONE_CELLS)
                observed = see(self.service.levels, self._seen, (attribute,), (depth,))
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
                observed = see(self.service.levels, self._seen, pair, depths)
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
        """Return the share of each value; those that its table does not tell apart are even."""
        level = self.service.levels[attribute][self._depth(attribute, ONE_CELLS)]
        cells = level.table()
        share: Vector = self.one(attribute)[1][cells] / np.bincount(cells)[cells]
        return share

    def _within(self, attribute: int) -> Vector:
        """Return the share of each value, in the row of its cell in tables of pairs."""
        level = self.service.levels[attribute][self._depth(attribute, PAIR_CELLS)]
        made: Vector = level.matrix() * self._values(attribute)
        return made

    def _averaged(self, attribute: int, vector: Vector) -> Vector:
        """Return the mean of a vector within each cell of the tables of pairs."""
        within = self._within(attribute)
        whole = within.sum(axis=1)
        level = self.service.levels[attribute][self._depth(attribute, PAIR_CELLS)]
        plain = level.matrix() @ vector / np.bincount(level.table())
        found: Vector = np.where(whole > 0, within @ vector / np.where(whole > 0, whole, 1.0), plain)
        return found

    def _term(self, term: Term) -> float:
        attributes = tuple(sorted(term.factors))
        if not attributes:
            return term.coefficient
        if len(attributes) == 1:
            return term.coefficient * float(term.factors[attributes[0]] @ self._values(attributes[0]))
        if len(attributes) == 2:
            left, right = (self._averaged(i, term.factors[i]) for i in attributes)
            return term.coefficient * float(left @ self.table(attributes) @ right)
        table = self._joint(attributes)
        if table is None:
            return term.coefficient * self._classes(term).value({})
        return term.coefficient * contracted(table, [self._averaged(i, term.factors[i]) for i in attributes])

    def _direction(self, functional: Functional, attributes: tuple[int, ...]) -> Vector:
        """Return a functional of one or two attributes as weights of the cells of their table."""
        total = np.zeros(self._fit(attributes).table.shape)
        for term in functional.terms:
            vectors = [term.factors.get(i, np.ones(functional.sizes[i])) for i in attributes]
            if len(attributes) == 1:
                level = self.service.levels[attributes[0]][self._depth(attributes[0], ONE_CELLS)]
                sides = [level.matrix() @ vectors[0] / np.bincount(level.table()), np.ones(1)]
            else:
                sides = [self._averaged(i, vector) for i, vector in zip(attributes, vectors, strict=True)]
            total += term.coefficient * np.multiply.outer(*sides)
        return total

    def _joint(self, attributes: tuple[int, ...]) -> Vector | None:
        """Return the table of three attributes and more in the cells of tables of pairs; None if it is too large."""
        with self._door:
            if attributes not in self._joints:
                depths = [self.service.levels[i][self._depth(i, PAIR_CELLS)] for i in attributes]
                sizes, table = [level.cells for level in depths], None
                if math.prod(sizes) <= WHOLE_CELLS:
                    places = itertools.combinations(range(len(attributes)), 2)
                    pairs: Faces = {(a, b): self.table((attributes[a], attributes[b])) for a, b in places}
                    table = widest(sizes, pairs, self._wider(attributes, [level.matrix() for level in depths]))
                self._joints[attributes] = table
            return self._joints[attributes]

    def _wider(self, attributes: tuple[int, ...], matrices: Sequence[Vector]) -> dict[tuple[int, ...], Vector]:
        """Return what views say about three of these attributes and more, by their places, summed by matrices."""
        found = {}
        for face in self.wider.faces(attributes):
            places = tuple(map(attributes.index, face))
            own = [matrices[place] for place in places]
            found[places] = self.wider.table(face, own, alone=len(face) == len(attributes))
        return found

    def _classes(self, term: Term) -> _Classes:
        """Return a term's table in classes of values."""
        attributes = tuple(sorted(term.factors))
        most = max(2, min(MOST_CLASSES, int(JOINT_CELLS ** (1 / len(attributes)))))
        cut = [classes(term.factors[i], self._values(i), most) for i in attributes]
        sizes = [len(means) for _, means in cut]
        if math.prod(sizes) > JOINT_CELLS:
            message = f"{len(attributes)} attributes at once are too many for maximum entropy. Ask for fewer of them."
            raise UnanswerableError(message)
        held = [
            (member == np.arange(size)[:, None]).astype(np.float64)
            for (member, _), size in zip(cut, sizes, strict=True)
        ]
        shares = [np.stack([self._averaged(i, row) for row in rows]) for i, rows in zip(attributes, held, strict=True)]
        pairs: dict[tuple[int, ...], Vector] = {
            (a, b): shares[a] @ self.table((attributes[a], attributes[b])) @ shares[b].T
            for a, b in itertools.combinations(range(len(attributes)), 2)
        }
        return _Classes(sizes, [means for _, means in cut], pairs, self._wider(attributes, held))

    def _joint_error(self, term: Term) -> float:
        """Return the error of a term: of three attributes and more, from those of its tables, one by one."""
        attributes = tuple(sorted(term.factors))
        if len(attributes) < 3:
            return self.errors([Functional(tuple(levels.size for levels in self.service.levels), (term,))])[0]
        cut = self._classes(term)
        value, square = cut.value({}), 0.0
        for places, table in (cut.pairs | cut.wider).items():
            mine = {attributes[k]: term.factors[attributes[k]] for k in places}
            if len(places) == 2:
                sizes = tuple(levels.size for levels in self.service.levels)
                error = self.errors([Functional(sizes, (Term(1.0, mine),))])[0]
            else:
                error = self.wider.error(tuple(mine), list(mine.values()))
            moved = shifted(table, [cut.means[k] for k in places], error)
            square += (cut.value({places: moved}) - value) ** 2
        return abs(term.coefficient) * math.sqrt(square)


@dataclass(frozen=True, eq=False)
class _Classes:
    """Classes of the values of some attributes: how many, their means, and the tables of pairs and more."""

    sizes: list[int]
    means: list[Vector]
    pairs: dict[tuple[int, ...], Vector]
    wider: dict[tuple[int, ...], Vector]

    def value(self, moved: Faces) -> float:
        """Return the mean of the product, with some tables replaced."""
        pairs = {places: moved.get(places, table) for places, table in self.pairs.items()}
        wider = {places: moved.get(places, table) for places, table in self.wider.items()}
        return contracted(widest(self.sizes, pairs, wider), self.means)
