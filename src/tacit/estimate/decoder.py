"""Functional -> contributions, for every layout: which views are read, with which weights.

For a term over the attributes S, each view shows one level of each attribute of S (its **trace**) and perhaps other
attributes, over which the weights are constant. If the traces fill a grid (every combination of some levels of each
attribute, single values among them), the term's vectors are split level by level (`tacit.estimate.split`) and

    gamma_view = (share of the view in its trace) * kron_i g_i[trace_i],

which adds up to the term exactly, whatever the weights. Blue weighs a view by ``probability / (noise * cells of the
other attributes)``, fitted by a product over the attributes; papers' decoders read views of S alone where they exist.
If the traces do not fill a grid, but each attribute has its own reports (SC), estimates are multiplied. Weighted views
come from a design, and are read set by set (`tacit.estimate.sets`); their noise includes which cell a person is in.

A service whose people may have no row has extra cells (none, skip), and its functionals have one more attribute, the
last: **presence**, with index 0 for a record and 1, 2 for the extra cells. Attributes have no value on extra cells, so
a term with both is zero there. Every view shows each extra cell separately.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import numpy as np

from tacit.contract.contract import ServiceContract
from tacit.errors import UnanswerableError
from tacit.estimate.collected import Collected
from tacit.estimate.fourier import Parities
from tacit.estimate.functional import Functional, Term, Vector
from tacit.estimate.partitions import is_nested, solver
from tacit.estimate.reading import Factor
from tacit.estimate.rounding import rewritten
from tacit.estimate.sets import GridSets
from tacit.estimate.split import Solver, Split, cover_split, rdc_split
from tacit.estimate.terms import Terms, presence_of

__all__ = ["COVERS", "Decoded", "Decoder", "DecoderName", "Grid", "ViewSource"]

DecoderName = Literal["blue", "cover", "rdc", "rdc(1)", "rdc(4)", "rdc(8)", "rdc(16)"]

COVERS: dict[str, int] = {"rdc": 2, "rdc(1)": 1, "rdc(4)": 4, "rdc(8)": 8, "rdc(16)": 16}
"""Number of signed covers averaged per attribute; with d attributes the paper's k is this number to the power d."""


@dataclass(frozen=True)
class Decoded:
    """A functional as a sum of coefficients times products of per-person factors."""

    products: tuple[tuple[float, tuple[Factor, ...]], ...]


@dataclass(frozen=True)
class ViewSource:
    """One view as a source about the attributes S."""

    channel: int
    view: int
    trace: tuple[int, ...]
    weight: float
    cell_weight: float
    pure: bool


class Grid:
    """All views as sources about some attributes, and whether their traces fill a grid."""

    def __init__(
        self,
        service: ServiceContract,
        attributes: tuple[int, ...],
        *,
        informative: bool = False,
        together: bool = False,
        exact: Sequence[int] | None = None,
    ) -> None:
        """Use all views, ``informative`` ones, those that show all ``together``, or only these: of ``exact`` views."""
        self.service, self.attributes = service, attributes
        self.extras, self._informative, self._among = service.extras, informative, exact
        self.sources = list(self._sources())
        if together or exact is not None:
            self.sources = [source for source in self.sources if all(source.trace) and (source.pure or exact is None)]
        self.depths = [sorted({source.trace[k] for source in self.sources}) for k in range(len(attributes))]

    def _sources(self) -> Iterator[ViewSource]:
        for c, channel in enumerate(self.service.channels):
            for v in range(len(channel.views)) if self._among is None else self._among:
                view = channel.views[v]
                trace = tuple(view.levels[i] for i in self.attributes)
                if not any(trace) and view.oracle.domain > 1 and (self._informative or not self.extras):
                    continue  # it carries only noise about these attributes
                others = [
                    self.service.levels[i][view.levels[i]].cells
                    for i in range(len(view.levels))
                    if i not in self.attributes
                ]
                share = channel.probability(v)
                noise = float(view.oracle.noise) or 1.0  # one cell: nothing is read from it
                if channel.weights:
                    noise += 1 / view.oracle.domain  # which cell a person is in, for uniform records
                pure = all(n == 1 for n in others)
                yield ViewSource(c, v, trace, share / noise / float(np.prod(others)), share / noise, pure=pure)

    @cached_property
    def is_grid(self) -> bool:
        """Whether the traces are all combinations of some levels, including single values."""
        by_attribute = zip(self.attributes, self.depths, strict=True)
        finest = all(depths[-1:] == [self.service.levels[i].finest] for i, depths in by_attribute)
        traces = {source.trace for source in self.sources}
        needed = [trace for trace in itertools.product(*self.depths) if any(trace) or self.extras]
        return finest and all(trace in traces for trace in needed)

    @cached_property
    def level_weights(self) -> list[Vector]:
        """Weights of each attribute's levels: the product form nearest to the traces' total weights."""
        totals: dict[tuple[int, ...], float] = {}
        for source in self.sources:
            totals[source.trace] = totals.get(source.trace, 0.0) + source.weight
        traces = [trace for trace in totals if any(trace) or self.extras] or list(totals)
        offsets = np.cumsum([0, *(len(depths) for depths in self.depths)])
        design = np.zeros((len(traces), offsets[-1]))
        for row, trace in enumerate(traces):
            for k, depth in enumerate(trace):
                design[row, offsets[k] + self.depths[k].index(depth)] = 1
        logs = np.log([totals[trace] for trace in traces])
        designed = any(channel.weights for channel in self.service.channels)
        counts = np.exp(logs / 2 if designed else 0 * logs)  # shares of rare designed views are rounded up
        fitted = np.linalg.lstsq(counts[:, None] * design, counts * logs, rcond=None)[0]
        weights = []
        for k, (i, depths) in enumerate(zip(self.attributes, self.depths, strict=True)):
            vector = np.zeros(len(self.service.levels[i]))
            vector[depths] = np.exp(fitted[offsets[k] : offsets[k + 1]])
            weights.append(vector)
        return weights

    @cached_property
    def trees(self) -> list[Solver]:
        """A solver for each attribute."""
        if not self.attributes:
            return []
        return [solver(self.service.levels[i], w) for i, w in zip(self.attributes, self.level_weights, strict=True)]

    @cached_property
    def cell_weight(self) -> float:
        """Total weight with which views show an extra cell."""
        return sum(source.cell_weight for source in self.sources)

    def known_share(self, products: Vector, beside: Vector) -> Vector:
        """Return kappa: the multiple of 1, whose total is known, that minimises what has to be read.

        ``products`` is, for each term, its value on records times the product of ``1'G^-1 f`` over attributes;
        ``beside`` the sum of its values on extra cells.
        """
        ones = math.prod(float(tree.ones_solved.sum()) for tree in self.trees)
        if not self.attributes:
            total = sum(source.weight for source in self.sources)
            products, ones = products / total, ones / total
        if self.extras:
            products, ones = products + beside / self.cell_weight, ones + self.extras / self.cell_weight
        return products / ones

    @cached_property
    def read_shares(self) -> list[tuple[ViewSource, float]]:
        """Every source that blue reads, with its share in its trace."""
        shares = self.shares(pure=False)
        # after the known total, the weights of the all-root view are zero
        return [(source, share) for source, share in shares if any(source.trace) or self.extras]

    def read_sources(self) -> list[ViewSource]:
        """Return every source from which blue reads anything."""
        return self.sources if self.extras else [source for source, _ in self.read_shares]

    @cached_property
    def _by_view(self) -> dict[int, ViewSource]:
        return {source.view: source for source in self.sources}

    @cached_property
    def _share_by_view(self) -> dict[int, float]:
        return {source.view: share for source, share in self.read_shares}

    def source(self, view: int) -> ViewSource:
        """Return a view as a source."""
        return self._by_view[view]

    def share(self, view: int) -> float:
        """Return the share of a view in its trace; 0 if blue reads no records from it."""
        return self._share_by_view.get(view, 0.0)

    def reads(self, view: int) -> bool:
        """Return whether the contributions of a view's codes differ."""
        return view in self._share_by_view or (bool(self.extras) and view in self._by_view)

    def extra_share(self, source: ViewSource) -> float:
        """Return the share of a source in the estimate of extra cells."""
        return source.cell_weight / self.cell_weight

    def shares(self, *, pure: bool) -> Iterator[tuple[ViewSource, float]]:
        """Yield every source that is read, with its share in its trace."""
        by_trace: dict[tuple[int, ...], list[ViewSource]] = {}
        for source in self.sources:
            by_trace.setdefault(source.trace, []).append(source)
        for group in by_trace.values():
            chosen = [source for source in group if source.pure] if pure else group
            chosen = chosen or group
            total = sum(source.weight for source in chosen)
            yield from ((source, source.weight / total) for source in chosen)


class Decoder:
    """Decodes functionals over one service; grids and trees are built once per set of attributes."""

    def __init__(self, service: ServiceContract, name: DecoderName = "blue") -> None:
        self.service, self.name = service, name
        self._grids: dict[tuple[tuple[int, ...], bool, bool], Grid] = {}
        self._parities = Parities(service) if service.channels[0].parities else None

    def decode(self, functional: Functional) -> Decoded:
        """Return contributions whose mean, for every record, is the functional."""
        constant, linear = 0.0, Collected(self.service)
        products: list[tuple[float, tuple[Factor, ...]]] = []
        for term in rewritten(self.service, functional).terms:
            attributes = tuple(i for i in sorted(term.factors) if i < len(self.service.levels))
            if not term.factors:
                constant += term.coefficient
            elif self._parities:
                constant += self._parities.read(term, linear.products.setdefault(0, {}))
            elif (parts := self.parts(Terms.of(attributes, [term], [0], self.service))) is not None:
                constant += sum(self._read(part.first_term(self.service), grid, linear) for grid, part in parts)
            else:
                products.append((term.coefficient, self._multiply(term, attributes)))
        if constant or linear.products:
            products.insert(0, (1.0, (linear.factor(constant),)))
        return Decoded(tuple(products))

    def parts(self, terms: Terms) -> list[tuple[Grid, Terms]] | None:
        """Split terms into parts, each with the grid that reads it; None if no views show their attributes together.

        The grid consists of all views or, where too few show parts of the attributes, of the views that show all of
        them.
        """
        if self._sets and terms.attributes:
            home = self._sets.home(terms.attributes)
            if home and self.name != "blue":
                return [self._sets.from_one_set(terms, home)]
            return list(self._sets.parts(terms, home)) if home else None
        grid = self._grid(terms.attributes)
        grid = grid if grid.is_grid else self._grid(terms.attributes, together=True)
        return [(grid, terms)] if grid.is_grid else None

    @cached_property
    def _sets(self) -> GridSets | None:
        """The grids of designed views, by the attributes they show; None if views are equally likely."""
        [channel, *others] = self.service.channels
        if others or not channel.weights:
            return None
        shown = sorted({view.active for view in channel.views if any(view.levels)})
        views: dict[frozenset[int], list[int]] = {}  # by the attributes that they carry information about
        for v, view in enumerate(channel.views):
            telling = frozenset(i for i in view.active if self.service.levels[i][view.levels[i]].cells > 1)
            views.setdefault(telling, []).append(v)
        grids = {}
        for attributes in shown:
            exact = [v for telling, numbers in views.items() if telling <= {*attributes} for v in numbers]
            grids[attributes] = Grid(self.service, attributes, exact=sorted(exact))
        return GridSets(self.service, grids) if all(grid.is_grid for grid in grids.values()) else None

    def _grid(self, attributes: tuple[int, ...], *, informative: bool = False, together: bool = False) -> Grid:
        key = attributes, informative, together
        if key not in self._grids:
            self._grids[key] = Grid(self.service, attributes, informative=informative, together=together)
        return self._grids[key]

    def _multiply(self, term: Term, attributes: tuple[int, ...]) -> tuple[Factor, ...]:
        """Return one factor per attribute, each from its own reports."""
        used: set[int] = set()
        factors: list[Factor] = []
        for i in attributes:
            grid = self._grid((i,), informative=True)
            channels = {source.channel for source in grid.sources}
            if not grid.is_grid or used & channels:
                raise self._refusal(attributes)
            used |= channels
            collected = Collected(self.service)
            factors_of_term = {i: term.factors[i]}
            if self.service.extras:
                presence = presence_of(self.service, term)
                factors_of_term[len(self.service.levels)] = presence / presence[0] if factors else presence
            constant = self._read(Term(1.0, factors_of_term), grid, collected)
            factors.append(collected.factor(constant))
        if self.service.service.sends > 1:
            message = "Products of estimates cannot be summed over several reports of a person. Use hio, fc or pairs."
            raise UnanswerableError(message)
        return tuple(factors)

    def _refusal(self, attributes: tuple[int, ...]) -> UnanswerableError:
        sensitive = self.service.service.sensitive
        names = [sensitive[i].name if i < len(sensitive) else "a rounded attribute" for i in attributes]
        message = (
            f"{' × '.join(names)} were not collected together in {self.service.service.name!r} "
            f"(mechanism {self.service.layout}), so their joint total has no unbiased estimate. "
            "Ask with consistent=True for a fitted answer, or collect with hio, fc or sc; or pairs, for two attributes "
            "(docs/glossary.md#view)."
        )
        return UnanswerableError(message)

    def _read(self, term: Term, grid: Grid, collected: Collected) -> float:
        """Collect the readings of one term, and return its known part."""
        vectors = [term.factors[i] for i in grid.attributes]
        presence = presence_of(self.service, term)
        share = self._known_share(grid, vectors, presence) if self.name == "blue" else 0.0
        constant = term.coefficient * share
        parts = [(term.coefficient * presence[0], self._splits(grid, vectors))]
        if share:
            parts.append((-constant, [tree.ones_split for tree in grid.trees]))
        read_root = False
        for source, part in grid.read_shares if self.name == "blue" else grid.shares(pure=True):
            read_root |= not any(source.trace)
            for coefficient, split in parts:
                cells = [g[depth] for g, depth in zip(split, source.trace, strict=True)]
                collected.add(source.channel, source.view, grid.attributes, cells, coefficient * part)
        if self.name != "blue" and not read_root and not grid.extras:
            # an empty view is not collected: its only cell is known to hold everybody
            roots = [0.0 if split[0] is None else float(split[0][0]) for split in parts[0][1]]
            constant = term.coefficient * float(np.prod(roots))
        if grid.extras:
            beside = term.coefficient * presence[1:] - constant
            for source in grid.sources:
                collected.add_extras(source.channel, source.view, beside * grid.extra_share(source))
        return constant

    def _known_share(self, grid: Grid, vectors: list[Vector], presence: Vector) -> float:
        read = presence[0] * math.prod(
            float(tree.ones_solved @ vector) for tree, vector in zip(grid.trees, vectors, strict=True)
        )
        return float(grid.known_share(np.array(read), np.array(presence[1:].sum())))

    def _splits(self, grid: Grid, vectors: list[Vector]) -> list[Split]:
        if self.name == "blue":
            return [
                tree.split(vector) if np.ptp(vector) or vector[0] != 1 else tree.ones_split
                for tree, vector in zip(grid.trees, vectors, strict=True)
            ]
        covers = COVERS.get(self.name)
        split = cover_split if covers is None else partial(rdc_split, count=covers)
        splits = []
        for i, depths, vector in zip(grid.attributes, grid.depths, vectors, strict=True):
            levels = self.service.levels[i]
            complete = depths[-len(levels) + 1 :] == list(range(1, len(levels))) or len(levels) == 1
            if complete and is_nested(levels):
                splits.append(split(levels, vector, with_root=depths[0] == 0))
            else:  # some levels were not collected, or they overlap: read single values
                splits.append([None] * levels.finest + [vector])
        return splits
