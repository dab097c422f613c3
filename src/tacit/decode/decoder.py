"""Functional -> contributions, for every layout: which views are read, with which weights.

For a term over the attributes S, each view shows one level of each attribute of S (its **trace**) and perhaps other
attributes, over which the weights are constant. If the traces fill a grid (every combination of some levels of each
attribute, single values among them), the term's vectors are split level by level (`tacit.decode.split`) and

    gamma_view = (share of the view in its trace) * kron_i g_i[trace_i],

which adds up to the term exactly, whatever the weights. Blue weighs a view by ``probability / (noise * cells of the
other attributes)``, fitted by a product over the attributes; papers' decoders read views of S alone where they exist.
If the traces fill no grid, but each attribute has reports of its own (SC), estimates are multiplied.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from tacit.contract import ServiceContract
from tacit.decode.functional import Functional, Term, Vector
from tacit.decode.reading import Factor, Product, Reading
from tacit.decode.split import BlueTree, Split, cover_split, rdc_split
from tacit.errors import UnanswerableError

__all__ = ["Decoded", "Decoder", "DecoderName"]

DecoderName = Literal["blue", "cover", "rdc"]


@dataclass(frozen=True)
class Decoded:
    """A functional as a sum of coefficients times products of per-person factors."""

    products: tuple[tuple[float, tuple[Factor, ...]], ...]


@dataclass(frozen=True)
class _Source:
    """One view as a source about the attributes S."""

    channel: int
    view: int
    trace: tuple[int, ...]
    weight: float
    pure: bool


class _Grid:
    """All views as sources about some attributes, and whether their traces fill a grid."""

    def __init__(self, service: ServiceContract, attributes: tuple[int, ...]) -> None:
        self.service, self.attributes = service, attributes
        self.sources = list(self._sources())
        self.depths = [sorted({source.trace[k] for source in self.sources}) for k in range(len(attributes))]

    def _sources(self) -> Iterator[_Source]:
        for c, channel in enumerate(self.service.channels):
            for v, view in enumerate(channel.views):
                trace = tuple(view.levels[i] for i in self.attributes)
                if not any(trace) and view.oracle.domain > 1:
                    continue  # it says nothing about these attributes, with noise
                others = [
                    self.service.levels[i][view.levels[i]].cells
                    for i in range(len(view.levels))
                    if i not in self.attributes
                ]
                share = channel.view_weight(v) / view.oracle.span
                noise = float(view.oracle.noise) or 1.0  # one cell: nothing is read from it
                yield _Source(c, v, trace, share / noise / float(np.prod(others)), pure=all(n == 1 for n in others))

    @cached_property
    def is_grid(self) -> bool:
        """Whether the traces are all combinations of some levels, single values among them."""
        finest = all(
            depths[-1] == self.service.levels[i].finest for i, depths in zip(self.attributes, self.depths, strict=True)
        )
        traces = {source.trace for source in self.sources}
        return finest and all(trace in traces for trace in itertools.product(*self.depths) if any(trace))

    @cached_property
    def level_weights(self) -> list[Vector]:
        """Weights of each attribute's levels: the product form nearest to the traces' total weights."""
        totals: dict[tuple[int, ...], float] = {}
        for source in self.sources:
            totals[source.trace] = totals.get(source.trace, 0.0) + source.weight
        told = [trace for trace in totals if any(trace)] or list(totals)
        offsets = np.cumsum([0, *(len(depths) for depths in self.depths)])
        design = np.zeros((len(told), offsets[-1]))
        for row, trace in enumerate(told):
            for k, depth in enumerate(trace):
                design[row, offsets[k] + self.depths[k].index(depth)] = 1
        logs = np.log([totals[trace] for trace in told])
        fitted = np.linalg.lstsq(design, logs, rcond=None)[0]
        weights = []
        for k, (i, depths) in enumerate(zip(self.attributes, self.depths, strict=True)):
            vector = np.zeros(len(self.service.levels[i]))
            vector[depths] = np.exp(fitted[offsets[k] : offsets[k + 1]])
            weights.append(vector / vector.max())
        return weights

    def shares(self, *, pure: bool) -> Iterator[tuple[_Source, float]]:
        """Yield every source that is read, with its share in its trace."""
        by_trace: dict[tuple[int, ...], list[_Source]] = {}
        for source in self.sources:
            by_trace.setdefault(source.trace, []).append(source)
        for group in by_trace.values():
            chosen = [source for source in group if source.pure] if pure else group
            chosen = chosen or group
            total = sum(source.weight for source in chosen)
            yield from ((source, source.weight / total) for source in chosen)


class Decoder:
    """Decodes functionals over one service; grids and trees are made once per set of attributes."""

    def __init__(self, service: ServiceContract, name: DecoderName = "blue") -> None:
        self.service, self.name = service, name
        self._grids: dict[tuple[int, ...], _Grid] = {}
        self._trees: dict[tuple[int, ...], list[BlueTree]] = {}

    def decode(self, functional: Functional) -> Decoded:
        """Return contributions whose mean, for every record, is the functional."""
        constant, linear = 0.0, _Collected(self.service)
        products: list[tuple[float, tuple[Factor, ...]]] = []
        for term in functional.terms:
            attributes = tuple(sorted(term.factors))
            if not attributes:
                constant += term.coefficient
            elif self._grid(attributes).is_grid:
                constant += self._read(term, attributes, linear)
            else:
                products.append((term.coefficient, self._multiply(term, attributes)))
        if constant or linear.products:
            products.insert(0, (1.0, (linear.factor(constant),)))
        return Decoded(tuple(products))

    def _grid(self, attributes: tuple[int, ...]) -> _Grid:
        if attributes not in self._grids:
            self._grids[attributes] = _Grid(self.service, attributes)
        return self._grids[attributes]

    def _multiply(self, term: Term, attributes: tuple[int, ...]) -> tuple[Factor, ...]:
        """Return one factor per attribute, from reports of its own."""
        used: set[int] = set()
        factors = []
        for i in attributes:
            grid = self._grid((i,))
            channels = {source.channel for source in grid.sources}
            if not grid.is_grid or used & channels:
                raise self._refusal(attributes)
            used |= channels
            collected = _Collected(self.service)
            constant = self._read(Term(1.0, {i: term.factors[i]}), (i,), collected)
            factors.append(collected.factor(constant))
        return tuple(factors)

    def _refusal(self, attributes: tuple[int, ...]) -> UnanswerableError:
        names = [self.service.service.sensitive[i].name for i in attributes]
        message = (
            f"{' × '.join(names)} were not collected together in {self.service.service.name!r} "
            f"(mechanism {self.service.layout}), so their joint total has no unbiased estimate. "
            "Mechanisms that could answer: hio, fc, sc; pairs for two attributes."
        )
        return UnanswerableError(message)

    def _read(self, term: Term, attributes: tuple[int, ...], collected: _Collected) -> float:
        """Collect the readings of one term and return its known part."""
        grid = self._grid(attributes)
        vectors = [term.factors[i] for i in attributes]
        parts = [(term.coefficient, self._splits(grid, vectors))]
        if self.name == "blue":
            constant = term.coefficient * self._known_share(grid, vectors)
            parts.append((-constant, [tree.ones_split for tree in self._trees_of(grid)]))
        else:
            constant = 0.0
        read_root = False
        for source, share in grid.shares(pure=self.name != "blue"):
            if not any(source.trace) and self.name == "blue":
                continue  # after the known total, the weights of the all-root view are zero
            read_root |= not any(source.trace)
            for coefficient, split in parts:
                cells = [g[depth] for g, depth in zip(split, source.trace, strict=True)]
                collected.add(source, attributes, cells, coefficient * share)
        if self.name != "blue" and not read_root:  # no view shows nothing: its only cell holds everybody
            roots = [0.0 if split[0] is None else float(split[0][0]) for split in parts[0][1]]
            constant = term.coefficient * float(np.prod(roots))
        return constant

    def _known_share(self, grid: _Grid, vectors: list[Vector]) -> float:
        """Return kappa: the multiple of 1, whose total is known, that leaves least to be read."""
        share = 1.0
        for tree, vector in zip(self._trees_of(grid), vectors, strict=True):
            share *= float(tree.ones_solved @ vector) / float(tree.ones_solved.sum())
        return share

    def _trees_of(self, grid: _Grid) -> list[BlueTree]:
        if grid.attributes not in self._trees:
            pairs = zip(grid.attributes, grid.level_weights, strict=True)
            self._trees[grid.attributes] = [BlueTree(self.service.levels[i], weights) for i, weights in pairs]
        return self._trees[grid.attributes]

    def _splits(self, grid: _Grid, vectors: list[Vector]) -> list[Split]:
        if self.name == "blue":
            return [tree.split(vector) for tree, vector in zip(self._trees_of(grid), vectors, strict=True)]
        split = cover_split if self.name == "cover" else rdc_split
        found = []
        for i, depths, vector in zip(grid.attributes, grid.depths, vectors, strict=True):
            levels = self.service.levels[i]
            if depths[-len(levels) + 1 :] == list(range(1, len(levels))) or len(levels) == 1:
                found.append(split(levels, vector, with_root=depths[0] == 0))
            else:  # some levels were not collected: read single values
                found.append([None] * levels.finest + [vector])
        return found


class _Collected:
    """Products to be read, gathered by channel and view."""

    def __init__(self, service: ServiceContract) -> None:
        self.service = service
        self.products: dict[int, dict[int, list[Product]]] = {}

    def add(self, source: _Source, attributes: tuple[int, ...], cells: list[Vector | None], scale: float) -> None:
        """Read a view: given vectors for the attributes, ones for the others it shows."""
        if scale == 0 or any(vector is None for vector in cells):
            return
        view = self.service.channels[source.channel].views[source.view]
        given = dict(zip(attributes, cells, strict=True))
        product: Product = []
        for i, size in zip(view.active, view.oracle.sizes, strict=True):
            vector = given.pop(i, None)
            product.append(np.ones(size) if vector is None else vector)
        for vector in given.values():  # attributes at their root: a number
            scale *= float(vector[0]) if vector is not None else 1.0
        product[0] = scale * product[0]
        self.products.setdefault(source.channel, {}).setdefault(source.view, []).append(product)

    def factor(self, constant: float) -> Factor:
        """Return the factor of everything collected."""
        readings = {c: Reading(self.service.channels[c], views) for c, views in self.products.items()}
        return Factor(constant, readings)
