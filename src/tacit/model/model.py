"""The model: tables fitted to noisy tables, for SQL answers, marginals and synthetic rows.

Tables of single attributes come first; a pair's table has exactly these marginals, so answers add up. A table is fitted
when a question first needs it. Only the attribute's own table distinguishes cells finer than `PAIR_CELLS`. Larger
tables have maximum entropy given all pairs, and given those sets of three attributes and more that evidence shows
together.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from tacit.errors import UnanswerableError
from tacit.estimate.functional import Functional, Vector
from tacit.model.classes import classes
from tacit.model.coarse import hidden_means
from tacit.model.entropy import maximum_entropy
from tacit.model.evidence import Attribute, Cells, NoisyTable, along, finest_within, indicators, within
from tacit.model.hidden import HiddenRange
from tacit.model.joint import Joint, check_cells, connected_parts, mean_of_term
from tacit.model.settled import settled_fit
from tacit.model.smooth import TableAxis
from tacit.model.spanning import path_between, spanning_tree
from tacit.model.synthesis import mutual_information
from tacit.model.table import Fit, Prior, fit_table, learn_prior

__all__ = ["Model"]

ONE_CELLS, PAIR_CELLS = 2048, 128
"""Maximum cells of an attribute in its own table, and in tables of pairs."""

WIDE_CELLS = 2**12
"""Maximum cells of a fitted table of three attributes and more."""

SMALL_CELLS, POOLED = 64, 48
"""Maximum cells of a table of categories that shares its prior with similar tables, and how many of these are used."""

MOST_EDGES = 128
"""Maximum pairs fitted to find the dependence of attributes that no table shows together."""

JOINT_CELLS, MOST_CLASSES = 2**18, 16
"""Maximum cells of a table of maximum entropy, and classes of one of its attributes."""

WHOLE_WORK, MOST_AXES = 2**19, 12
"""Upper limits for one joint table over all attributes: cells × marginals, and number of attributes."""

WEAK = 0.5
"""Effective parameters below which the evidence carries almost no information about a table."""

AT_ONCE = 64
"""Directions whose errors are computed together."""
Key = tuple[int, ...]


class Model:
    """Fitted tables of some attributes, as shares of the people."""

    def __init__(
        self,
        attributes: Sequence[Attribute],
        evidence: Sequence[NoisyTable],
        people: float,
        known: Mapping[int, Vector] | None = None,
    ) -> None:
        """Use this evidence; the shares of values of public attributes are ``known``."""
        self.attributes, self.evidence, self.people = tuple(attributes), tuple(evidence), people
        self._known = known or {}
        self._shown = {table.attributes for table in evidence}
        self._ones: dict[int, tuple[Fit | None, Vector]] = {}
        self._faces: dict[Key, tuple[Fit, Vector]] = {}
        self._fits: dict[Key, tuple[Fit, list[Key], list[Vector]]] = {}
        self._priors: dict[int, Prior] = {}
        self._tree: dict[int, list[int]] | None = None
        self._joints: dict[Key, Joint] = {}
        self._cells: dict[tuple[int, int], Cells] = {}
        self._door = threading.RLock()

    def means(self, functionals: Sequence[Functional]) -> list[float]:
        """Return the mean of each functional over people, from one table if one of them uses all attributes."""
        attributes = {i for functional in functionals for i in functional.attributes}
        if all(len(functional.attributes) < len(attributes) for functional in functionals):
            return [mean for functional in functionals for mean in self.means([functional])]
        if len(attributes) > 1:
            joint = self.joint(functionals)
            return [joint.mean(functional) for functional in functionals]
        shares = {i: self.values(i) for i in attributes}
        return [sum(mean_of_term(term, shares) for term in functional.terms) for functional in functionals]

    def table(self, attributes: Sequence[int]) -> Vector:
        """Return the shares of all combinations of values, attributes in the given order."""
        ordered = tuple(sorted(attributes))
        sizes = [self.attributes[i].size for i in ordered]
        check_cells(sizes)
        if len(ordered) == 1:
            return self.values(ordered[0])
        joint = self._joint_of(ordered)
        if joint is None:
            joint = self._joint_table(ordered)
        axes = tuple(k for k, i in enumerate(joint.attributes) if i not in ordered)
        spread = [self._within(i, PAIR_CELLS).T for i in ordered]
        return along(joint.table.sum(axis=axes), spread).transpose([ordered.index(i) for i in attributes])

    def errors(self, functionals: Sequence[Functional]) -> list[float]:
        """Return the standard error of each functional's mean."""
        squares = [0.0] * len(functionals)
        together: dict[Key, list[tuple[int, Functional]]] = {}
        for place, functional in enumerate(functionals):
            for part in connected_parts(functional):
                together.setdefault(part.attributes, []).append((place, part))
        for attributes, parts in together.items():
            for start in range(0, len(parts), AT_ONCE):
                batch = parts[start : start + AT_ONCE]
                for (place, _), error in zip(batch, self._errors(attributes, [part for _, part in batch]), strict=True):
                    squares[place] += float(error) ** 2
        return [math.sqrt(square) for square in squares]

    def _errors(self, attributes: Key, functionals: Sequence[Functional]) -> Vector:
        """Return the errors of functionals of the same attributes: those of their parts, from the respective fits."""
        if len(attributes) == 1:
            [i] = attributes
            scaled = [
                [t.coefficient * t.factors[i] for t in functional.terms if t.factors] for functional in functionals
            ]
            return self._one_errors(i, [np.sum(vectors, axis=0) for vectors in scaled])
        square = np.zeros(len(functionals))
        pairs = [pair for pair in itertools.combinations(attributes, 2) if self.together(pair)]
        functions: dict[Key, list[Vector]] = {}
        for place, functional in enumerate(functionals):
            joint = self.joint([functional]).of(functional)
            if len(attributes) > 2 and pairs:
                missed = min(self.face(pair)[0].missed for pair in pairs)
                square[place] += (joint.widest_weight(functional) * missed) ** 2
            faces = [tuple(map(joint.attributes.index, face)) for face in self.faces(joint.attributes)]
            for axes, function in joint.parts(functional, faces).items():
                key, groups = tuple(joint.attributes[axis] for axis in axes), [joint.held[axis].T for axis in axes]
                if len(key) == 1:
                    functions.setdefault(key, []).append(groups[0] @ function + joint.within(functional, axes[0]))
                elif self.together(key):  # others are assumed independent
                    cells = [self._within(i, PAIR_CELLS) @ values for i, values in zip(key, groups, strict=True)]
                    functions.setdefault(key, []).append(along(function, cells))
        for key, weights in functions.items():
            errors = self._one_errors(key[0], weights) if len(key) == 1 else self.face(key)[0].errors(np.stack(weights))
            square += errors**2
        return cast("Vector", np.sqrt(square))

    def _one_errors(self, attribute: int, weights: Sequence[Vector]) -> Vector:
        """Return the errors of weighted sums of an attribute's values."""
        fit = self._fit_of(attribute)[0]
        if fit is None:
            return np.zeros(len(weights))
        holds = indicators(self._cells_of(attribute, ONE_CELLS))
        return fit.errors(np.stack(weights) @ (holds / holds.sum(axis=1, keepdims=True)).T)

    def hidden(self, functionals: Sequence[Functional]) -> HiddenRange:
        """Return by how much means can be below and above the fitted ones, given only what tables show together."""
        return hidden_means(self, functionals)

    def how(self, attributes: Key) -> str:
        """Return how the table of some attributes was fitted."""
        if not self.together(attributes):
            return "no view reports them together: assumed independent"
        fit = self._fit_of(attributes[0])[0] if len(attributes) == 1 else self.face(attributes)[0]
        return fit.how if fit else "known"

    def is_weak(self, attributes: Key) -> bool:
        """Return whether the evidence carries too little information about attributes to determine their table."""
        if not self.together(attributes):
            return len(attributes) == 1
        fit = self._fit_of(attributes[0])[0] if len(attributes) == 1 else self.face(attributes)[0]
        return fit is not None and fit.learned < WEAK

    def together(self, attributes: Sequence[int]) -> bool:
        """Return whether some table of the evidence shows all of these attributes."""
        return any(set(attributes) <= set(shown) for shown in self._shown)

    def faces(self, attributes: Sequence[int], least: int = 3) -> list[Key]:
        """Return the largest fitted sets of some attributes, ``least`` or more, that evidence shows together."""
        faces: list[Key] = []
        widest = max((len(shown) for shown in self._shown), default=0)
        cells = {i: int(self._cells_of(i, PAIR_CELLS).max()) + 1 for i in attributes}
        for size in range(min(widest, len(attributes)), least - 1, -1):
            for subset in itertools.combinations(sorted(attributes), size):
                small = size < 3 or math.prod(cells[i] for i in subset) <= WIDE_CELLS
                if small and self.together(subset) and not any(set(subset) <= set(larger) for larger in faces):
                    faces.append(subset)
        return faces

    def values(self, attribute: int) -> Vector:
        """Return the share of each value; values that the table does not distinguish have equal shares."""
        cells = self._cells_of(attribute, ONE_CELLS)
        share: Vector = self._fit_of(attribute)[1][cells] / np.bincount(cells)[cells]
        return share

    def _fit_of(self, attribute: int) -> tuple[Fit | None, Vector]:
        """Return the fit of an attribute's own table, and the table; no fit if the table is known."""
        with self._door:
            if attribute not in self._ones:
                cells = self._cells_of(attribute, ONE_CELLS)
                if attribute in self._known:
                    self._ones[attribute] = None, indicators(cells) @ self._known[attribute]
                else:
                    even = np.bincount(cells) / len(cells)
                    axes, fine = self._axes([(attribute, cells)]), ([cells], [np.full(len(cells), 1 / len(cells))])
                    fit = settled_fit(
                        self.evidence,
                        (attribute,),
                        fine,
                        None,
                        lambda seen: fit_table(seen, even, ((),), axes, (even,)),
                    )
                    self._ones[attribute] = fit, self._as_present(attribute, fit.table)
            return self._ones[attribute]

    def _as_present(self, attribute: int, table: Vector) -> Vector:
        """Rescale a table so that its real and extra cells have the shares of the service's presence."""
        presence = self.attributes[attribute].presence
        if presence is None:
            return table
        shares = self.values(presence)
        real = table[: len(table) - len(shares) + 1]
        return np.concatenate([real * (shares[0] / real.sum()), shares[1:]])

    def _possible(self, face: Key) -> Vector:
        """Return 1 for possible combinations of cells: an extra cell of one attribute is that of all attributes."""
        cells = [self._cells_of(i, PAIR_CELLS) for i in face]
        table = np.ones([int(cell.max()) + 1 for cell in cells])
        for (a, i), (b, j) in itertools.combinations(enumerate(face), 2):
            presence = self.attributes[i].presence
            if presence is not None and presence == self.attributes[j].presence:
                extras = self.attributes[presence].size - 1
                first, second = (np.maximum(np.arange(n) - (n - extras), -1) for n in (table.shape[a], table.shape[b]))
                alike = first[:, None] == second
                table = table * alike.reshape([n if k in (a, b) else 1 for k, n in enumerate(table.shape)])
        return table

    def face(self, face: Key) -> tuple[Fit, Vector]:
        """Return the fit of two attributes or more, and its table, which agrees with those of smaller sets."""
        with self._door:
            if face not in self._faces:
                fit, places, margins = self._alone(face)
                if self._is_small(face):
                    fit = replace(fit, prior=self._prior(len(face)))
                sizes = fit.observed.shape
                self._faces[face] = fit, maximum_entropy(sizes, places, margins, fit.table).table
            return self._faces[face]

    def _alone(self, face: Key) -> tuple[Fit, list[Key], list[Vector]]:
        """Return the fit of a set alone; the margins it preserves, by their axes, and their tables."""
        if face not in self._fits:
            cells, values = [self._cells_of(i, PAIR_CELLS) for i in face], [self.values(i) for i in face]
            margins = [indicators(partition) @ share for partition, share in zip(cells, values, strict=True)]
            axes, marginals = self._axes(list(zip(face, cells, strict=True))), margins
            places: list[Key] = [(0,), (1,)]
            if len(face) > 2:
                places, axes = list(itertools.combinations(range(len(face)), 2)), []
                margins = [self._pair((face[a], face[b])) for a, b in places]
            base = maximum_entropy(list(map(len, marginals)), places, margins, self._possible(face)).table
            fit = settled_fit(
                self.evidence,
                face,
                (cells, values),
                base,
                lambda seen: fit_table(seen, base, tuple(places), axes, marginals),
            )
            self._fits[face] = fit, places, margins
        return self._fits[face]

    def _is_small(self, face: Key) -> bool:
        """Return whether a table is too small to estimate the scatter of its cells around the base from it alone."""
        cells = [int(self._cells_of(i, PAIR_CELLS).max()) + 1 for i in face]
        return min(cells) > 1 and math.prod(cells) <= SMALL_CELLS and not any(self.attributes[i].ordered for i in face)

    def _prior(self, order: int) -> Prior:
        """Return the distribution of strengths among small tables of a number of attributes."""
        if order not in self._priors:
            shown = sorted({face for table in self._shown for face in itertools.combinations(sorted(table), order)})
            small = [face for face in shown if self._is_small(face)]
            sampled = small[:: -(-len(small) // POOLED)]
            self._priors[order] = learn_prior([self._alone(face)[0] for face in sampled])
        return self._priors[order]

    def _pair(self, pair: Key) -> Vector:
        """Return the table of a pair; if no table shows it, derive it through other pairs, or use the product."""
        if self.together(pair):
            return self.face(pair)[1]
        path = self._path(pair)
        if path:
            tables = [(a < b, self._pair((min(a, b), max(a, b)))) for a, b in itertools.pairwise(path)]
            turned = [table if in_order else table.T for in_order, table in tables]
            chain = turned[0]
            for table in turned[1:]:
                sums = table.sum(axis=1, keepdims=True)
                chain = chain @ np.divide(table, sums, out=np.zeros_like(table), where=sums > 0)
            return chain
        sides = [indicators(self._cells_of(i, PAIR_CELLS)) @ self.values(i) for i in pair]
        return maximum_entropy([len(side) for side in sides], [(0,), (1,)], sides, self._possible(pair)).table

    def _path(self, pair: Key) -> list[int]:
        """Return attributes from one to another, each shown with the next; empty if there is no such path."""
        with self._door:
            if self._tree is None:
                edges = {edge for shown in self._shown for edge in itertools.combinations(sorted(shown), 2)}
                edges = {edge for edge in edges if all(self._varies(i) for i in edge)}
                few = edges if len(edges) <= MOST_EDGES else set()
                self._tree = spanning_tree({edge: mutual_information(self._pair(edge)) for edge in sorted(few)})
        return path_between(self._tree, *pair)

    def pair_cells(self, attribute: int) -> Cells:
        """Return the cells of an attribute in tables of pairs."""
        return self._cells_of(attribute, PAIR_CELLS)

    def _cells_of(self, attribute: int, most: int) -> Cells:
        """Return the cells in which an attribute is fitted: single values, or the finest partition of few cells."""
        if (attribute, most) not in self._cells:
            size = self.attributes[attribute].size
            finest: Cells = np.arange(size)
            if size > most:
                shown = [table.partition(attribute) for table in self.evidence if attribute in table.attributes]
                finest = finest_within(finest, shown, most)
            self._cells[attribute, most] = finest
        return self._cells[attribute, most]

    def _axes(self, fitted: Sequence[tuple[int, Cells]]) -> list[TableAxis]:
        """Return the axes of a table that may be smooth; none if no attribute is ordered."""
        axes = []
        for attribute, cells in fitted:
            declared = self.attributes[attribute]
            alone = np.bincount(cells)[cells[len(cells) - declared.apart :]] == 1
            axes.append(TableAxis(int(cells.max()) + 1, declared.ordered, declared.apart if alone.all() else 0))
        return axes if any(axis.ordered for axis in axes) else []

    def _within(self, attribute: int, most: int) -> Vector:
        """Return cells of a fit x values: the share of a cell's people that each value has."""
        return within(self._cells_of(attribute, most), self.values(attribute))

    def _joint_of(self, wanted: Key) -> Joint | None:
        """Return the table that answers about some attributes: of all attributes if it is small, or else of these."""
        if len(wanted) == 2:
            return self._joint_table(wanted)
        varying = tuple(i for i in range(len(self.attributes)) if i in wanted or self._varies(i))
        for attributes in (varying, wanted):
            if len(attributes) <= MOST_AXES:
                cells = math.prod(int(self._cells_of(i, PAIR_CELLS).max()) + 1 for i in attributes)
                marginals = math.comb(len(attributes), 2)
                if cells * marginals <= WHOLE_WORK and cells * (marginals + len(self.faces(attributes))) <= WHOLE_WORK:
                    return self._joint_table(attributes)
        return None

    def _varies(self, attribute: int) -> bool:
        """Return whether an attribute belongs in a table of all attributes."""
        is_known = attribute in self._known or any(other.presence == attribute for other in self.attributes)
        return self.attributes[attribute].size > 1 and not is_known and self.together((attribute,))

    def joint(self, functionals: Sequence[Functional]) -> Joint:
        """Return a table for some functionals: of all attributes if it is small, else of theirs, or of classes."""
        attributes = tuple(sorted({i for functional in functionals for i in functional.attributes}))
        return self._joint_of(attributes) or self.over_groups(attributes, self._classes(attributes, functionals))

    def _joint_table(self, attributes: Key) -> Joint:
        """Return the table of some attributes in the cells of tables of pairs."""
        with self._door:
            if attributes not in self._joints:
                cells = [indicators(self._cells_of(i, PAIR_CELLS)) for i in attributes]
                self._joints[attributes] = self.over_groups(attributes, cells)
            return self._joints[attributes]

    def over_groups(self, attributes: Key, groups: Sequence[Vector]) -> Joint:
        """Return the table of maximum entropy over given groups of values."""
        values = tuple(self.values(i) for i in attributes)
        sides = [group @ self._within(i, PAIR_CELLS).T for i, group in zip(attributes, groups, strict=True)]
        places = {i: place for place, i in enumerate(attributes)}
        wide = self.faces(attributes) if len(attributes) > 2 else []
        margins = {tuple(places[i] for i in face): self.face(face)[1] for face in wide}
        for pair in itertools.combinations(attributes, 2):
            if not any(set(pair) <= set(face) for face in wide):
                margins[places[pair[0]], places[pair[1]]] = self._pair(pair)
        tables = [along(table, [sides[axis] for axis in axes]) for axes, table in margins.items()]
        sizes = [len(group) for group in groups]
        table = tables[0] if len(attributes) == 2 else maximum_entropy(sizes, list(margins), tables).table
        return Joint(attributes, tuple(groups), values, table)

    def _classes(self, attributes: Key, functionals: Sequence[Functional]) -> list[Vector]:
        """Return groups of values that functionals do not distinguish."""
        most = max(2, min(MOST_CLASSES, int(JOINT_CELLS ** (1 / len(attributes)))))
        groups = []
        for attribute in attributes:
            terms = [term for functional in functionals for term in functional.terms]
            vectors = [term.factors[attribute] for term in terms if attribute in term.factors]
            groups.append(classes(np.unique(vectors, axis=0), self.values(attribute), most))
        if math.prod(len(group) for group in groups) > JOINT_CELLS:
            message = f"{len(attributes)} attributes are too many for maximum entropy. Ask for fewer."
            raise UnanswerableError(message)
        return groups
