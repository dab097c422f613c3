"""What all reports of a service say together: fitted tables of attributes and pairs, and questions about them.

Tables of single attributes come first; a pair's table has them as marginals exactly, so answers add up. A pair is
fitted when a question first needs it. Cells finer than `PAIR_CELLS` of an attribute are told apart by the attribute's
own table alone. Totals over three attributes and more are those of the table of maximum entropy.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tacit.contract import ServiceContract
from tacit.decode.functional import Functional, Term, Vector
from tacit.errors import UnanswerableError
from tacit.fit.classes import classes, rake
from tacit.fit.smooth import Axis
from tacit.fit.table import Fit, fit_table
from tacit.fit.views import see
from tacit.marginals.entropy import maximum_entropy
from tacit.marginals.views import Counts, view_tables
from tacit.schema import Ordinal

__all__ = ["Model"]

ONE_CELLS, PAIR_CELLS = 2048, 128
"""Most cells of an attribute in its own table, and in tables of pairs."""

JOINT_CELLS, MOST_CLASSES = 2**18, 16
"""Cells of a table of maximum entropy, and classes of one of its attributes."""

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
                for place, error in zip(part, self._fit(attributes).errors(directions), strict=True):
                    found[place] = float(error)
        return found

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
        table, means = self._joint(term)
        return term.coefficient * _contracted(table, means)

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

    def _joint(self, term: Term) -> tuple[Vector, list[Vector]]:
        """Return the table of maximum entropy of a term's classes, and the classes' means."""
        sizes, means, pairs = self._classes(term)
        return _widest(sizes, pairs), means

    def _classes(self, term: Term) -> tuple[list[int], list[Vector], dict[tuple[int, int], Vector]]:
        attributes = sorted(term.factors)
        most = max(2, min(MOST_CLASSES, int(JOINT_CELLS ** (1 / len(attributes)))))
        cut = [classes(term.factors[i], self._values(i), most) for i in attributes]
        sizes = [len(means) for _, means in cut]
        if math.prod(sizes) > JOINT_CELLS:
            message = f"{len(attributes)} attributes at once are too many for maximum entropy. Ask for fewer of them."
            raise UnanswerableError(message)
        shares = [self._members(i, member, size) for i, (member, _), size in zip(attributes, cut, sizes, strict=True)]
        pairs = {
            (a, b): shares[a] @ self.pair((attributes[a], attributes[b]))[1] @ shares[b].T
            for a, b in itertools.combinations(range(len(attributes)), 2)
        }
        return sizes, [means for _, means in cut], pairs

    def _members(self, attribute: int, member: npt.NDArray[np.int64], size: int) -> Vector:
        """Return the share of each class in each cell of the tables of pairs."""
        return np.stack([self._averaged(attribute, (member == k).astype(np.float64)) for k in range(size)])

    def _joint_error(self, term: Term) -> float:
        """Return the error of a term: of three attributes and more, from those of its pairs, one by one."""
        attributes = tuple(sorted(term.factors))
        if len(attributes) < 3:
            return self.errors([Functional(tuple(levels.size for levels in self.service.levels), (term,))])[0]
        sizes, means, pairs = self._classes(term)
        value, square = _contracted(_widest(sizes, pairs), means), 0.0
        for (a, b), table in pairs.items():
            two = Term(1.0, {attributes[a]: term.factors[attributes[a]], attributes[b]: term.factors[attributes[b]]})
            error = self.errors([Functional(tuple(levels.size for levels in self.service.levels), (two,))])[0]
            moved = pairs | {(a, b): _shifted(table, means[a], means[b], error)}
            square += (_contracted(_widest(sizes, moved), means) - value) ** 2
        return abs(term.coefficient) * math.sqrt(square)


def _widest(sizes: Sequence[int], pairs: Mapping[tuple[int, int], Vector]) -> Vector:
    """Return the table of maximum entropy that has these tables of pairs."""
    return maximum_entropy(sizes, list(pairs), list(pairs.values())).table


def _contracted(table: Vector, means: Sequence[Vector]) -> float:
    """Return the mean of a product of class means."""
    for vector in reversed(means):
        table = table @ vector
    return float(table)


def _shifted(table: Vector, left: Vector, right: Vector, error: float) -> Vector:
    """Return a table whose mean product is larger by an error, or as near to it as cells stay positive."""
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    tilt = np.multiply.outer(rows * (left - rows @ left), columns * (right - columns @ right))
    gain = float(left @ tilt @ right)
    moved: Vector = np.maximum(table + tilt * (error / gain if gain else 0.0), table / 10)
    return moved
