"""Many functionals of one service at once: their totals from tables of the views, their contributions at some codes.

Terms over the same attributes differ in few vectors: fifty states times ten ages are sixty vectors, not five hundred
pairs of them. A `TermBatch` keeps each vector once and splits it once. A term t with vectors f_k, read by blue, adds

    c_t(code) = coefficient * (presence_0 A(code) + kappa (1 - O(code) - sum_e E_e(code)) + sum_e presence_e E_e(code))

where A reads the product of the split vectors, O the split of 1, and E_e an extra cell (`tacit.estimate.decoder`). The
same three, read from the tables of all reports instead of one code, give the total.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit.contract.contract import Channel, ServiceContract
from tacit.contract.oracles import Oracle, Subset
from tacit.estimate.decoder import Decoder, Grid, Source
from tacit.estimate.functional import Functional, Term, Vector
from tacit.estimate.reading import WHOLE_ALPHABET
from tacit.estimate.rounding import rewritten
from tacit.estimate.tallies import Tallies

__all__ = ["VALUES_AT_ONCE", "FunctionalBatch", "batch_of"]

Codes = npt.NDArray[np.int64]

Products = Callable[[Sequence[Vector], Codes, Codes], Vector]
"""From axes, picks and codes to sums of products over the cells that codes support."""

VALUES_AT_ONCE = 2**20
"""Codes times functionals whose contributions are in memory together."""

MOST_COMBINATIONS = 2**20
"""Combinations of vectors that one batch of terms reads: beyond it terms are read in two halves."""


class FunctionalBatch:
    """Functionals of one service as batches of terms, and the functional that each term belongs to."""

    def __init__(self, count: int, constants: Vector, terms: Sequence[tuple[TermBatch, Codes]]) -> None:
        self.count, self._constants, self._terms = count, constants, terms
        self._showing: dict[int, tuple[list[tuple[TermBatch, Codes]], Vector]] = {}

    def _reading(self, view: int) -> tuple[list[tuple[TermBatch, Codes]], Vector]:
        """Return the terms that read a view, and what every code of it adds by all others."""
        if view not in self._showing:
            beside = self._constants.copy()
            for batch, owner in self._terms:
                if not batch.reads(view):
                    beside += np.bincount(owner, batch.unread, minlength=self.count)
            self._showing[view] = [one for one in self._terms if one[0].reads(view)], beside
        return self._showing[view]

    def totals(self, tallies: Tallies, views: Iterable[int]) -> Vector:
        """Return what all reports of some views add to each functional; of all views, its unbiased estimate."""
        chosen = list(views)
        reports = sum(tallies.reports(view) for view in chosen)
        added = self._constants * reports
        for batch, owner in self._terms:
            added += np.bincount(owner, batch.totals(tallies, frozenset(chosen), reports), minlength=self.count)
        return added

    def reads_codes(self) -> npt.NDArray[np.bool_]:
        """Tell of each functional whether it reads any codes."""
        reads = np.zeros(self.count, dtype=np.bool_)
        for _, owner in self._terms:
            reads[owner] = True
        return reads

    @cached_property
    def views(self) -> frozenset[int]:
        """The views that are read: codes of any other all add the same."""
        return frozenset(source.view for batch, _ in self._terms for source in batch.grid.read_sources())

    def ranges(self, channel: Channel) -> tuple[Vector, Vector] | None:
        """Return the least and the most that any code adds to each functional; None where codes are too many."""
        if any(channel.views[view].oracle.alphabet > WHOLE_ALPHABET for view in self.views):
            return None
        low, high = np.full(self.count, math.inf), np.full(self.count, -math.inf)
        for number, view in enumerate(channel.views):
            for values in self._extremes(number, view.oracle):
                low, high = np.minimum(low, values.min(axis=0)), np.maximum(high, values.max(axis=0))
        return low, high

    def _extremes(self, view: int, oracle: Oracle) -> Iterator[Vector]:
        """Yield what a view's codes add, those with the extremes among them."""
        if view not in self.views:
            yield self.contributions(view, np.zeros(1, dtype=np.int64))
        elif isinstance(oracle, Subset):  # any w cells, or all of them
            alone = self.contributions(view, np.arange(-1, oracle.domain), cells=True)
            each = np.sort(alone[1:] - alone[0], axis=0)
            yield alone[0] + np.stack([each[: oracle.w].sum(axis=0), each[-oracle.w :].sum(axis=0), each.sum(axis=0)])
        else:
            step = max(1, VALUES_AT_ONCE // max(1, self.count))
            for start in range(0, oracle.alphabet, step):
                yield self.contributions(view, np.arange(start, min(start + step, oracle.alphabet)))

    def contributions(self, view: int, codes: Codes, *, cells: bool = False) -> Vector:
        """Return a column for each functional with what each of a view's codes adds; codes are counted within it.

        Of ``cells``, what a code would add that supports this cell alone; -1 is a code that supports none.
        """
        reading, beside = self._reading(view)
        values = np.tile(beside, (len(codes), 1))
        for batch, owner in reading:
            first = np.flatnonzero(np.diff(owner, prepend=-1))  # the terms of a functional are next to each other
            added = batch.contributions(view, codes, _products_at if cells else None)
            values[:, owner[first]] += np.add.reduceat(added, first, axis=1)
        return values


def batch_of(decoder: Decoder, functionals: Sequence[Functional]) -> FunctionalBatch | None:
    """Return functionals to be read together; None if blue cannot read them from one report of each person."""
    service = decoder.service
    if decoder.name != "blue" or len(service.channels) > 1 or service.channels[0].parities:
        return None
    constants = np.zeros(len(functionals))
    by_grid: dict[Grid, list[tuple[int, Term]]] = {}
    for place, functional in enumerate(functionals):
        for term in rewritten(service, functional).terms:
            if not term.factors:
                constants[place] += term.coefficient
                continue
            attributes = tuple(i for i in sorted(term.factors) if i < len(service.levels))
            parts = decoder.parts(term, attributes)
            if parts is None:
                return None
            for grid, part in parts:
                by_grid.setdefault(grid, []).append((place, part))
    batches = [batch for grid, terms in by_grid.items() for batch in _batches(grid, terms)]
    return FunctionalBatch(len(functionals), constants, batches)


def _batches(grid: Grid, terms: list[tuple[int, Term]]) -> list[tuple[TermBatch, Codes]]:
    """Return batches of terms that have not too many combinations of vectors."""
    made = TermBatch.of(grid, [term for _, term in terms])
    if math.prod(len(vectors) for vectors in made.vectors) > max(MOST_COMBINATIONS, 2 * len(terms)):
        middle = len(terms) // 2
        return _batches(grid, terms[:middle]) + _batches(grid, terms[middle:])
    return [(made, np.array([place for place, _ in terms]))]


@dataclass(frozen=True, eq=False)
class TermBatch:
    """Terms over the same attributes: vectors of each attribute, and which of them each term takes."""

    grid: Grid
    coefficients: Vector
    presence: Vector
    """For each term, its values on a record and on the extra cells, attributes apart."""
    vectors: tuple[Vector, ...]
    picks: Codes
    """Terms x attributes."""

    @classmethod
    def of(cls, grid: Grid, terms: Sequence[Term]) -> TermBatch:
        """Gather terms over the grid's attributes."""
        known: list[dict[Hashable, int]] = [{} for _ in grid.attributes]
        rows: list[list[Vector]] = [[] for _ in grid.attributes]
        picks = np.zeros((len(terms), len(grid.attributes)), dtype=np.int64)
        for number, term in enumerate(terms):
            for k, attribute in enumerate(grid.attributes):
                vector = term.factors[attribute]
                key = vector.tobytes()
                if key not in known[k]:
                    known[k][key] = len(rows[k])
                    rows[k].append(vector)
                picks[number, k] = known[k][key]
        presence = np.stack([grid.presence(term) for term in terms])
        coefficients = np.array([term.coefficient for term in terms])
        return cls(grid, coefficients, presence, tuple(np.stack(own) for own in rows), picks)

    @property
    def service(self) -> ServiceContract:
        """The compiled service."""
        return self.grid.service

    @cached_property
    def _shares(self) -> dict[int, tuple[Source, float]]:
        """Of each view that blue reads, what it shows, and its share in that."""
        return {source.view: (source, share) for source, share in self.grid.read_shares()}

    @cached_property
    def _sources(self) -> dict[int, Source]:
        """Of each view, what it shows."""
        return {source.view: source for source in self.grid.sources}

    def reads(self, view: int) -> bool:
        """Tell whether codes of a view differ in what they add."""
        return view in self._shares or (bool(self.grid.extras) and view in self._sources)

    @cached_property
    def unread(self) -> Vector:
        """What a report adds to each term by a view that is not read."""
        return self.coefficients * self._known_shares

    @cached_property
    def _splits(self) -> list[list[Vector]]:
        """For each attribute and level, the splits of all its vectors as rows, and of 1 as the last."""
        made = []
        for tree, own in zip(self.grid.trees, self.vectors, strict=True):
            rows = np.concatenate([own, np.ones((1, own.shape[1]))])
            made.append([weight * sums for weight, sums in zip(tree.weights, tree.cell_sums(rows), strict=True)])
        return made

    @cached_property
    def _split_picks(self) -> Codes:
        """The splits that each term takes; 1 is the last."""
        return np.concatenate([self.picks, [[len(own) for own in self.vectors]]])

    @cached_property
    def _known_shares(self) -> Vector:
        """Kappa of each term: the multiple of 1, whose total is known, that leaves least to be read."""
        asked: Vector = self.presence[:, 0].copy()
        for k, (tree, own) in enumerate(zip(self.grid.trees, self.vectors, strict=True)):
            asked *= (own @ tree.ones_solved)[self.picks[:, k]]
        return self.grid.known_share(asked, self.presence[:, 1:].sum(axis=1))

    def _gather(self, reports: float, product: Vector, ones: Vector, extras: Vector) -> Vector:
        """Return what some reports add, given what is read of them: of each product, of 1, and of the extra cells."""
        known = self._known_shares * (reports - ones - extras.sum(axis=-1))[..., None]
        added: Vector = self.presence[:, 0] * product + known + extras @ self.presence[:, 1:].T
        return self.coefficients * added

    def totals(self, tallies: Tallies, views: frozenset[int], reports: float) -> Vector:
        """Return what all reports of some views add to each term."""
        shown = [view for view in views if self.reads(view)]
        if not shown:
            return reports * self.unread
        combined = np.zeros(tuple(len(own) + 1 for own in self.vectors))
        for trace, table in self._tables_by_levels(tallies, shown).items():
            combined += _contract_axes(table, [split[depth] for split, depth in zip(self._splits, trace, strict=True)])
        sums = combined[tuple(self._split_picks.T)] if self.vectors else np.full(len(self._split_picks), combined)
        return self._gather(reports, sums[:-1], sums[-1], self._extra_cells(tallies, shown))

    def _tables_by_levels(self, tallies: Tallies, views: Sequence[int]) -> dict[tuple[int, ...], Vector]:
        """Return for each combination of levels the tables of all views that show it, weighted and added up."""
        tables: dict[tuple[int, ...], Vector] = {}
        for view in views:
            table = tallies.table(view) if view in self._shares else None
            if table is None:
                continue
            source, share = self._shares[view]
            weight = share / tallies.probability(view)
            weighted = weight * _over(self.service, source, self.grid.attributes, table)
            tables[source.trace] = tables[source.trace] + weighted if source.trace in tables else weighted
        return tables

    def _extra_cells(self, tallies: Tallies, views: Sequence[int]) -> Vector:
        """Return how many people are in each extra cell."""
        people = np.zeros(self.grid.extras)
        for view in views if self.grid.extras else ():
            table = tallies.table(view) if view in self._sources else None
            if table is not None:
                cells = table.reshape(table.shape[0], -1)[-self.grid.extras :, 0]
                people += cells * (self.grid.extra_share(self._sources[view]) / tallies.probability(view))
        return people

    def contributions(self, view: int, codes: Codes, at: Products | None = None) -> Vector:
        """Return what each of a view's codes adds to each term; ``at`` sums products in place of the oracle."""
        channel = self.service.channels[0]
        oracle, probability = channel.views[view].oracle, channel.probability(view)
        products = at or oracle.products
        keep, lie = oracle.support_rates
        scale = 1 / ((keep - lie) * probability)
        sums, extras = np.zeros((len(codes), len(self._split_picks))), np.zeros((len(codes), self.grid.extras))
        if view in self._shares:
            source, share = self._shares[view]
            axes, picks, factor = self._axes(source)
            sums = (products(axes, picks, codes) - lie * _product_sums(axes, picks)) * (factor * share * scale)
        if self.grid.extras and view in self._sources:
            behind = np.eye(self.grid.extras, oracle.sizes[0], oracle.sizes[0] - self.grid.extras)
            cells = [behind, *(np.eye(1, size) for size in oracle.sizes[1:])]
            picks = np.zeros((self.grid.extras, len(cells)), dtype=np.int64)
            picks[:, 0] = np.arange(self.grid.extras)
            extras = (products(cells, picks, codes) - lie) * (self.grid.extra_share(self._sources[view]) * scale)
        return self._gather(1.0, sums[:, :-1], sums[:, -1], extras)

    def _axes(self, source: Source) -> tuple[list[Vector], Codes, Vector]:
        """Return vectors over the cells of each attribute that a view shows, which of them terms take, and factors."""
        view, picks = self.service.channels[0].views[source.view], self._split_picks
        factor = np.ones(len(picks))
        axes: list[Vector] = []
        chosen: list[Codes] = []
        for i, size in zip(view.active, view.oracle.sizes, strict=True):
            behind = 0 if axes else self.grid.extras
            k = self.grid.attributes.index(i) if i in self.grid.attributes else None
            real = np.ones((1, size - behind)) if k is None else self._splits[k][source.trace[k]]
            axes.append(np.concatenate([real, np.zeros((len(real), behind))], axis=1) if behind else real)
            chosen.append(picks[:, k] if k is not None else np.zeros(len(picks), dtype=np.int64))
        for k, i in enumerate(self.grid.attributes):
            if i not in view.active:  # at its root: a number
                factor *= self._splits[k][source.trace[k]][picks[:, k], 0]
        return axes, np.stack(chosen, axis=1), factor


def _over(service: ServiceContract, source: Source, attributes: tuple[int, ...], table: Vector) -> Vector:
    """Return a view's table over some attributes: others that it shows are added up, extra cells are left out."""
    view = service.channels[0].views[source.view]
    real = table[: len(table) - service.extras]
    others = tuple(axis for axis, i in enumerate(view.active) if i not in attributes)
    summed: Vector = real.sum(axis=others)
    return summed.reshape([service.levels[i][depth].cells for i, depth in zip(attributes, source.trace, strict=True)])


def _contract_axes(table: Vector, rows: Sequence[Vector]) -> Vector:
    """Return the sums of a table times one row for each axis, for all combinations of rows."""
    for own in rows:
        table = np.tensordot(table, own, axes=(0, 1))  # the axis in front goes, its rows come last
    return table


def _products_at(axes: Sequence[Vector], picks: Codes, cells: Codes) -> Vector:
    """Return the value of each product at each cell; 0 at cell -1."""
    places = np.unravel_index(np.maximum(cells, 0), [own.shape[1] for own in axes])
    values = np.ones((len(cells), len(picks)))
    for k, own in enumerate(axes):
        values *= own[picks[:, k]][:, places[k]].T
    values[cells < 0] = 0.0
    return values


def _product_sums(axes: Sequence[Vector], picks: Codes) -> Vector:
    """Return the sum of each product over all cells."""
    total = np.ones(len(picks))
    for k, own in enumerate(axes):
        total *= own.sum(axis=1)[picks[:, k]]
    return total
