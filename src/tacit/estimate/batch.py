"""Read many functionals of one service at once: totals from tables of the views, contributions at codes.

Terms over the same attributes differ in few vectors (`tacit.estimate.terms`), which are split once, by the grid that
reads them (`tacit.estimate.term_batch`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tacit.contract.contract import Channel
from tacit.contract.oracles import LinearHash, Oracle, Reader, Subset
from tacit.contract.oracles.base import Codes
from tacit.estimate.decoder import Decoder, Grid
from tacit.estimate.functional import Functional, Term, Vector
from tacit.estimate.reading import WHOLE_ALPHABET
from tacit.estimate.rounding import rewritten
from tacit.estimate.tallies import Tallies
from tacit.estimate.term_batch import TermBatch
from tacit.estimate.terms import Terms

__all__ = ["VALUES_AT_ONCE", "FunctionalBatch", "batch_of", "variance_shares"]

VALUES_AT_ONCE = 2**20
"""Codes times functionals whose contributions are in memory at once."""

MOST_CODES = 2**19
"""Codes whose contributions are computed to find the extremes; of further views, bounds are taken: a second of work."""

VALUES_KEPT = 2**23
"""Maximum contributions that are kept between reading totals and their errors: 64 megabytes."""

MOST_COMBINATIONS = 2**20
"""Maximum combinations of vectors in one batch of terms; larger batches are split in two."""


class _Cached:
    """What codes contribute to some functionals of a batch, for the reports of one group, and their totals."""

    def __init__(self, columns: list[int], totals: WeakKeyDictionary[Tallies, dict[int, Vector]]) -> None:
        self._columns, self._totals, self._left = columns, totals, VALUES_KEPT
        self._values: WeakKeyDictionary[Tallies, dict[int, Vector]] = WeakKeyDictionary()

    def add(self, tallies: Tallies, view: int, values: Vector) -> None:
        """Keep the contributions of a view's codes if they are few enough, and of no second group."""
        size = len(values) * len(self._columns)
        if size <= self._left and (tallies in self._values or not self._values):
            self._left -= size
            self._values.setdefault(tallies, {})[view] = values[:, self._columns]

    def totals(self, tallies: Tallies, view: int) -> Vector | None:
        """Return the sums of contributions over all reports of a view, if the batch has them."""
        known = self._totals.get(tallies, {}).get(view)
        return None if known is None else known[self._columns]

    def take(self, tallies: Tallies, view: int) -> Vector | None:
        """Return the contributions of all codes of a view that occur, which are then kept no longer."""
        return self._values.get(tallies, {}).pop(view, None)


class FunctionalBatch:
    """Functionals of one service as batches of terms."""

    def __init__(
        self,
        count: int,
        constants: Vector,
        terms: Sequence[TermBatch],
        by_attributes: Mapping[tuple[int, ...], Codes],
    ) -> None:
        self.count, self._constants, self.terms = count, constants, terms
        self._by_attributes = by_attributes  # the functionals that have terms over exactly these
        self._besides: dict[frozenset[int], Vector] = {}
        self._of_views: WeakKeyDictionary[Tallies, dict[int, Vector]] = WeakKeyDictionary()
        self._cached: _Cached | None = None
        self._shared: _Cached | None = None

    @property
    def attribute_sets(self) -> frozenset[tuple[int, ...]]:
        """The sets of attributes that terms are over."""
        return frozenset(self._by_attributes)

    def part(self, chosen: Sequence[int]) -> FunctionalBatch:
        """Return some of the functionals, in increasing order: their terms are not divided and split again."""
        place = np.full(self.count, -1)
        place[list(chosen)] = np.arange(len(chosen))
        places = {attributes: place[owner] for attributes, owner in self._by_attributes.items()}
        owners = {attributes: new[new >= 0] for attributes, new in places.items()}
        return FunctionalBatch(
            len(chosen),
            self._constants[list(chosen)],
            [batch.part(place) for batch in self.terms if (place[batch.owner] >= 0).any()],
            {attributes: owner for attributes, owner in owners.items() if len(owner)},
        )

    def _beside(self, view: int) -> Vector:
        """Return the contribution of terms that do not read a view, equal for all its codes."""
        reading = frozenset(number for number, batch in enumerate(self.terms) if batch.grid.reads(view))
        if reading not in self._besides:
            self._besides[reading] = self.beside(reading)
        return self._besides[reading]

    def beside(self, reading: frozenset[int]) -> Vector:
        """Return the contribution of batches of terms that do not read a view, equal for all its reports."""
        beside = self._constants.copy()
        for number, batch in enumerate(self.terms):
            if number not in reading:
                beside += np.bincount(batch.owner, batch.unread, minlength=self.count)
        return beside

    def totals(self, tallies: Tallies, views: Iterable[int]) -> Vector:
        """Return the sum of contributions over all reports of the views; over all views it is the unbiased estimate."""
        chosen = list(views)
        reports = sum(tallies.reports(view) for view in chosen)
        added = self._constants * reports
        for batch in self.terms:
            added += np.bincount(batch.owner, batch.totals(tallies, frozenset(chosen), reports), minlength=self.count)
        return added

    def totals_of_view(self, tallies: Tallies, view: int) -> Vector:
        """Return the sum of contributions over all reports of one view, which totals and their errors both need."""
        known = self._of_views.setdefault(tallies, {})
        if view not in known and self._shared and (shared := self._shared.totals(tallies, view)) is not None:
            known[view] = shared
        if view not in known:
            reading = [batch for batch in self.terms if batch.grid.reads(view)]
            margins = all(batch.reads_margin(view, self.count) for batch in reading)
            if tallies.is_read_by_code(view) and not margins:
                known[view] = self._sum_codes(tallies, view)
                return known[view]
            reports = tallies.reports_of((view,))
            added = reports * self._beside(view)
            for batch in reading:
                totals_of_terms = batch.totals(tallies, frozenset((view,)), reports)
                added += np.bincount(batch.owner, totals_of_terms, minlength=self.count)
            known[view] = added
        return known[view]

    def _sum_codes(self, tallies: Tallies, view: int) -> Vector:
        """Return the sum of contributions over all reports of one view, code by code; keep some for their squares."""
        added = np.zeros(self.count)
        for codes, weights in tallies.codes_of(view, max(1, VALUES_AT_ONCE // max(1, self.count))):
            values = self.contributions(view, codes)
            added += weights @ values
            if self._cached is not None and len(codes) == tallies.codes(view):
                self._cached.add(tallies, view, values)
        return added

    def share_contributions(self, columns: Sequence[int], other: FunctionalBatch) -> None:
        """Keep what codes contribute to some functionals, which are those of another batch, for it to take."""
        self._cached = other._shared = _Cached(list(columns), self._of_views)

    def take_contributions(self, tallies: Tallies, view: int, codes: Codes) -> Vector | None:
        """Return the contributions of some of a view's codes if its totals have kept them; they are kept no longer."""
        values = None if self._shared is None else self._shared.take(tallies, view)
        if values is None:
            return None
        [(every, _)] = tallies.codes_of(view, len(values))
        return values if len(codes) == len(every) else values[np.searchsorted(every, codes)]

    def reads_codes(self) -> npt.NDArray[np.bool_]:
        """Return, for each functional, whether it reads any codes."""
        reads = np.zeros(self.count, dtype=np.bool_)
        for batch in self.terms:
            reads[batch.owner] = True
        return reads

    @cached_property
    def views(self) -> frozenset[int]:
        """The views that are read; all codes of any other view contribute the same."""
        return frozenset(source.view for batch in self.terms for source in batch.grid.read_sources())

    def variance_shares(self) -> dict[int, float]:
        """Return, for each view that is read, its largest share in the variance of any functional.

        Shares are predicted from the noise of the view's oracle, without covariances of terms.
        """
        parts: dict[int, Vector] = {}
        for batch in self.terms:
            for view, variances in batch.variances().items():
                added = np.asarray(np.bincount(batch.owner, variances, minlength=self.count), np.float64)
                parts[view] = parts[view] + added if view in parts else added
        total = sum(parts.values(), np.zeros(self.count))
        return {view: float((part / np.where(total, total, 1.0)).max()) for view, part in parts.items()}

    def ranges(self, channel: Channel) -> tuple[Vector, Vector] | None:
        """Return the smallest and largest contribution of any code to each functional; None for too many codes.

        Where all codes together are many, the ends may lie beyond the contributions, never within.
        """
        if any(channel.views[view].oracle.alphabet > WHOLE_ALPHABET for view in self.views):
            return None
        ends = np.full(self.count, math.inf), np.full(self.count, -math.inf)
        bounds: dict[int, tuple[Vector, Vector]] = {}
        for number, view in enumerate(channel.views):
            if number in self.views and self._is_bounded(view.oracle):
                bounds[number] = self._bounds(number, view.oracle)
            else:
                ends = _widen(ends, self._extremes(number, view.oracle))
        left = MOST_CODES
        for number in _widest_first(bounds):  # most views cannot reach beyond those with the widest bounds
            if (bounds[number][0] < ends[0]).any() or (bounds[number][1] > ends[1]).any():
                oracle = channel.views[number].oracle
                exact = oracle.alphabet <= left
                left -= oracle.alphabet if exact else 0
                ends = _widen(ends, self._extremes(number, oracle) if exact else bounds[number])
        return ends

    def _is_bounded(self, oracle: Oracle) -> bool:
        """Return whether bounds of a view's contributions are much cheaper than those of all its codes."""
        cheap = (oracle.domain + 1) * self.count <= VALUES_KEPT
        return cheap and not isinstance(oracle, Subset) and oracle.alphabet > 2 * oracle.domain

    def _bounds(self, view: int, oracle: Oracle) -> tuple[Vector, Vector]:
        """Return bounds of a view's contributions, as if codes supported any cells, as many as a code can support."""
        alone = self.contributions(view, np.arange(-1, oracle.domain), cells=True)
        each, most = np.sort(alone[1:] - alone[0], axis=0), _most_supported(oracle)
        below, above = np.minimum(each[:most], 0.0).sum(axis=0), np.maximum(each[-most:], 0.0).sum(axis=0)
        return alone[0] + below, alone[0] + above

    def _extremes(self, view: int, oracle: Oracle) -> Iterator[Vector]:
        """Yield contributions of a view's codes that include the extremes."""
        if view not in self.views:
            yield self.contributions(view, np.zeros(1, dtype=np.int64))
        elif isinstance(oracle, Subset):  # any w cells, or all cells
            alone = self.contributions(view, np.arange(-1, oracle.domain), cells=True)
            each = np.sort(alone[1:] - alone[0], axis=0)
            yield alone[0] + np.stack([each[: oracle.w].sum(axis=0), each[-oracle.w :].sum(axis=0), each.sum(axis=0)])
        else:
            step = max(1, VALUES_AT_ONCE // max(1, self.count))
            for start in range(0, oracle.alphabet, step):
                yield self.contributions(view, np.arange(start, min(start + step, oracle.alphabet)))

    def contributions(self, view: int, codes: Codes, *, cells: bool = False) -> Vector:
        """Return a column for each functional with the contributions of a view's codes, numbered within the view.

        With ``cells``, return the contribution of a code that supports this cell alone; -1 supports none.
        """
        oracle = self.terms[0].service.channels[0].views[view].oracle if self.terms else None
        read = partial(_products_at, codes) if cells or oracle is None else oracle.reader(codes)
        return self.contributions_of(view, len(codes), read)

    def contributions_of(
        self, view: int, codes: int, read: Reader, dtype: type[np.floating[Any]] = np.float64
    ) -> npt.NDArray[Any]:
        """Return the contributions of a view's codes, computed by ``read`` in its floating-point type."""
        values = np.repeat(self._beside(view).astype(dtype)[:, None], codes, axis=1).T
        for batch in self.terms:
            if batch.grid.reads(view):
                batch.add_contributions(values, view, read)
        return values


def _widen(ends: tuple[Vector, Vector], contributions: Iterable[Vector]) -> tuple[Vector, Vector]:
    """Return ends that include some contributions."""
    low, high = ends
    for values in map(np.atleast_2d, contributions):
        low, high = np.minimum(low, values.min(axis=0)), np.maximum(high, values.max(axis=0))
    return low, high


def _most_supported(oracle: Oracle) -> int:
    """Return how many cells a code supports at most: a linear hash has each value at one of g points of its digits."""
    points = oracle.g ** (sum(oracle.digits) - 1) if isinstance(oracle, LinearHash) else oracle.domain
    return max(1, min(oracle.domain, int(points)))


def _widest_first(bounds: Mapping[int, tuple[Vector, Vector]]) -> list[int]:
    """Return views by the widths of their bounds, relative to the widest of each functional."""
    widths = {view: high - low for view, (low, high) in bounds.items()}
    widest = np.max([*widths.values()], axis=0) if widths else np.ones(1)
    return sorted(widths, key=lambda view: -float((widths[view] / np.where(widest, widest, 1.0)).max()))


def batch_of(decoder: Decoder, functionals: Sequence[Functional]) -> FunctionalBatch | None:
    """Batch functionals to read them together; None if blue cannot read them from one report per person."""
    service = decoder.service
    if decoder.name != "blue" or len(service.channels) > 1 or service.channels[0].parities:
        return None
    return _batch_of(decoder, [rewritten(service, functional) for functional in functionals])


def _batch_of(decoder: Decoder, functionals: Sequence[Functional]) -> FunctionalBatch | None:
    """Batch functionals of attributes and derived attributes; None if no views show them."""
    constants = np.zeros(len(functionals))
    by_attributes: dict[tuple[int, ...], tuple[list[Term], list[int]]] = {}
    for place, functional in enumerate(functionals):
        for term in functional.terms:
            if not term.factors:
                constants[place] += term.coefficient
                continue
            attributes = tuple(i for i in sorted(term.factors) if i < len(decoder.service.levels))
            terms, owner = by_attributes.setdefault(attributes, ([], []))
            terms.append(term)
            owner.append(place)
    by_grid: dict[Grid, list[Terms]] = {}
    for attributes, (terms, owner) in by_attributes.items():
        parts = decoder.parts(Terms.of(attributes, terms, owner, decoder.service))
        if parts is None:
            return None
        for grid, part in parts:
            by_grid.setdefault(grid, []).append(part)
    batches = [batch for grid, parts in by_grid.items() for batch in _batches(grid, Terms.join_terms(parts))]
    owners = {attributes: np.array(owner) for attributes, (_, owner) in by_attributes.items()}
    return FunctionalBatch(len(functionals), constants, batches, owners)


def variance_shares(decoder: Decoder, attributes: Iterable[tuple[int, ...]]) -> dict[int, float]:
    """Return the shares of views in the variance of typical functionals of the given sets of attributes.

    Typical functionals are products of one value, or of half of the values, of each attribute.
    """
    sizes = tuple(levels.size for levels in decoder.service.levels)
    typical = []
    for attribute in attributes:
        for halves in itertools.product((False, True), repeat=len(attribute)):
            functional = Functional.constant(sizes)
            for i, half in zip(attribute, halves, strict=True):
                values = np.arange(sizes[i])
                vector = abs(values - sizes[i] // 2) <= (sizes[i] // 4 if half else 0)
                functional = functional * Functional.of(sizes, i, vector)
            typical.append(functional)
    batch = _batch_of(decoder, typical)
    return batch.variance_shares() if batch is not None else {}


def _batches(grid: Grid, terms: Terms) -> list[TermBatch]:
    """Split terms into batches within the limit on combinations of vectors."""
    count = len(terms.coefficients)
    if math.prod(len(vectors) for vectors in terms.vectors) > max(MOST_COMBINATIONS, 2 * count):
        middle = count // 2
        halves = (terms.part(slice(0, middle)), terms.part(slice(middle, None)))
        return [batch for half in halves for batch in _batches(grid, half)]
    return [TermBatch(grid, terms)]


def _products_at(cells: Codes, axes: Sequence[Vector], picks: Codes) -> Vector:
    """Return the value of each product at each cell; 0 at cell -1."""
    places = np.unravel_index(np.maximum(cells, 0), [axis.shape[1] for axis in axes])
    values = np.ones((len(cells), len(picks)))
    for k, marks in enumerate(axes):
        values *= marks[picks[:, k]][:, places[k]].T
    values[cells < 0] = 0.0
    return values
