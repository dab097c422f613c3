"""Evidence from reports: a table for each view of a service, and for pairs of views of two services.

**One service.** A view's codes are decoded into unbiased shares of its cells. Where people may have no row, or several,
every attribute has an additional value for each extra cell (none, skip); all attributes of a person are in the same
extra cell or in none.

**Two services.** Pairs of views of two services, `tacit.model.pairs`.

**Public columns** divide people into classes whose shares are known: one more attribute.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.contract.contract import CompiledView, ServiceContract
from tacit.contract.oracles import Oracle
from tacit.contract.oracles.base import Codes
from tacit.errors import UnanswerableError
from tacit.estimate.functional import Functional, Term, Vector
from tacit.model.evidence import Attribute, Margins, NoisyTable
from tacit.model.model import Model
from tacit.model.pairs import Side, by_class, cell_noise, paired_tables, partition_of, proportional_noise

__all__ = ["Reports", "Services", "check_tables", "decode_frequencies", "model_of"]

MOST_VIEW_CELLS = 2**22
"""Maximum cells of a view that is decoded: with more, each cell would be pure noise."""

WIDE, SLOW = 3, 2**20
"""Attributes of a view, and cells visited to make its table, from which on its margins are made one by one."""

MOST_KEPT_CELLS = 2**16
"""Maximum cells of a margin that is kept."""

IMPOSSIBLE = 1e-3
"""Variance of an impossible combination of values, in units of another cell's."""


@dataclass(frozen=True, eq=False)
class Reports:
    """Reports of some services by the same people: for each row a channel and code of each service.

    ``times`` counts equal rows, ``group`` is the class of public columns, and ``left_out`` the share of people whom a
    panel did not ask.
    """

    services: tuple[ServiceContract, ...]
    channels: tuple[Codes, ...]
    codes: tuple[Codes, ...]
    times: Codes
    group: Codes
    left_out: float = 0.0

    def equals(self, other: Reports) -> bool:
        """Return whether these are the same reports."""
        return self.services == other.services and all(
            np.array_equal(left, right) for left, right in zip(self._columns, other._columns, strict=True)
        )

    @property
    def _columns(self) -> tuple[Codes, ...]:
        return (*self.channels, *self.codes, self.times, self.group)

    def reports(self, number: int) -> int:
        """Return how many reports of a service each person has."""
        return self.services[number].service.sends * len(self.services[number].channels)

    def repeats(self, number: int | None) -> int:
        """Return how many rows of the join contain each report of a service."""
        return math.prod(self.reports(place) for place in range(len(self.services)) if place != number)


@dataclass(frozen=True, eq=False)
class Services:
    """The services of a question, and where their attributes are in its functionals.

    Attributes of a service with extra cells have an additional value for each of these; **presence** follows them.
    """

    services: tuple[ServiceContract, ...]

    @property
    def first(self) -> list[int]:
        """The place of each service's first attribute; the last number is that of public classes."""
        widths = [len(service.service.sensitive) + (service.extras > 0) for service in self.services]
        return [0, *itertools.accumulate(widths)]

    def attributes(self) -> list[Attribute]:
        """Return the attributes of all services, each followed by its presence."""
        listed = []
        for compiled, first in zip(self.services, self.first, strict=False):
            presence = first + len(compiled.service.sensitive) if compiled.extras else None
            for attribute in compiled.service.sensitive:
                ordered = attribute.ordered
                apart = compiled.extras + bool(attribute.null)
                listed.append(Attribute(attribute.name, attribute.size + compiled.extras, ordered, apart, presence))
            if compiled.extras:
                listed.append(Attribute(f"rows of {compiled.service.name}", 1 + compiled.extras, apart=compiled.extras))
        return listed

    def places(self, number: int, wanted: frozenset[int] | None) -> list[tuple[int, int]]:
        """Return the requested attributes of a service: their places in the model, and in the service."""
        first, stop = self.first[number : number + 2]
        return [(i, i - first) for i in range(first, stop) if wanted is None or i in wanted]

    def functional(self, functional: Functional, group: Vector | None = None) -> Functional:
        """Return a model functional: attributes are extended to extra cells; ``group`` weights public classes."""
        sizes = [attribute.size for attribute in self.attributes()]
        terms = [self._term(term, len(sizes), group) for term in functional.terms]
        return Functional((*sizes, 1 if group is None else len(group)), tuple(terms))

    def _term(self, term: Term, public: int, group: Vector | None) -> Term:
        coefficient, factors = term.coefficient, dict(term.factors)
        for compiled, first in zip(self.services, self.first, strict=False):
            if not compiled.extras:
                continue
            place = first + len(compiled.service.sensitive)
            shown = [i for i in range(first, place) if i in factors]
            if not shown:
                continue  # presence has its own vector, or makes no difference
            presence = factors.pop(place, np.array([1.0] + [0.0] * compiled.extras))
            if presence[1:].any():
                message = "Counts of people with certain rows are not fitted. Ask without consistent=True."
                raise UnanswerableError(message, code="not-consistent")
            for rank, i in enumerate(shown):
                beside = np.zeros(compiled.extras) if rank == 0 else np.ones(compiled.extras)
                factors[i] = np.concatenate([factors[i], beside])
            coefficient *= float(presence[0])
        if group is not None:
            factors[public] = group
        return Term(coefficient, factors)


def model_of(
    reports: Sequence[Reports], classes: int = 1, wanted: frozenset[int] | None = None, *, in_order: bool = False
) -> Model:
    """Return the model of reports of the same services in several tiers; public classes are its last attribute.

    Pairs of attributes of two services are made for the ``wanted`` attributes, by default for all. Classes that are
    ``in_order`` are smoothed.
    """
    known = Services(reports[0].services)
    attributes = [*known.attributes(), Attribute("public columns", classes, ordered=in_order)]
    people = np.zeros(classes)
    for tier in reports:
        for service in tier.services:
            check_tables(service)
        people += np.bincount(tier.group, tier.times, minlength=classes) / tier.repeats(None)
    shares = people / max(people.sum(), 1.0)
    evidence: list[NoisyTable] = []
    for tier in reports:
        sides = [Side(*side) for side in zip(tier.services, tier.channels, tier.codes, strict=True)]
        for number, side in enumerate(sides):
            place = _Place(side.service, known.first[number], len(attributes) - 1, shares, tier.left_out)
            evidence += place.views(*side.counts(tier.times / tier.repeats(number), tier.group, classes))
        for a, b in itertools.combinations(range(len(sides)), 2):
            times = tier.times / (tier.repeats(None) / tier.reports(a) / tier.reports(b))
            for left, right in itertools.product(known.places(a, wanted), known.places(b, wanted)):
                public = len(attributes) - 1, tier.group, shares
                evidence += paired_tables((sides[a], sides[b]), (left, right), times, public)
    rows = sum(
        float(report.times.sum()) / math.prod(len(service.channels) for service in report.services)
        for report in reports
    )
    return Model(attributes, evidence, rows, {len(attributes) - 1: shares})


def check_tables(service: ServiceContract) -> None:
    """Refuse services whose reports do not describe cells."""
    if service.derived or service.channels[0].parities:
        message = (
            f"{service.service.name}: tables need a mechanism that neither rounds values nor reports parities (this "
            f"one is {service.layout}). Ask with SQL."
        )
        raise UnanswerableError(message, code="no-tables")


def decode_frequencies(oracle: Oracle, codes: Codes, times: npt.NDArray[Any]) -> Vector:
    """Return the unbiased frequencies of a view's cells, from codes and their counts."""
    keep, lie = oracle.support_rates
    shares: Vector = (oracle.tally(codes, times.astype(np.float64)) / times.sum() - lie) / (keep - lie)
    return shares.reshape(oracle.sizes)


def _decode_margin(oracle: Oracle, axes: tuple[int, ...], codes: Codes, times: Vector) -> Vector:
    """Return the unbiased frequencies of a view's cells, summed over all axes but some."""
    sizes = [oracle.sizes[axis] for axis in axes]
    if not len(codes):
        return np.zeros(sizes)
    keep, lie = oracle.support_rates
    ones, summed = [np.ones(size) for size in oracle.sizes], oracle.domain // math.prod(sizes)
    tally = oracle.margin_tally(axes, codes, times.astype(np.float64), ones)
    return np.asarray((tally / times.sum() - lie * summed) / (keep - lie)).reshape(sizes)


def _tables(oracle: Oracle, sent: Sequence[tuple[Codes, Vector]]) -> Vector:
    """Return a view's table in each public class, from the codes sent and their counts."""
    return np.stack([decode_frequencies(oracle, *pair) if len(pair[0]) else np.zeros(oracle.sizes) for pair in sent])


def _margins(oracle: Oracle, sent: Sequence[tuple[Codes, Vector]]) -> Margins:
    """Return the margins of a view's tables in each public class."""
    known: dict[tuple[int, ...], Vector] = {}

    def margin(axes: tuple[int, ...]) -> Vector:
        if axes not in known:
            table = np.stack([_decode_margin(oracle, axes, *of_class) for of_class in sent])
            if table.size > MOST_KEPT_CELLS:
                return table
            known[axes] = table
        return known[axes]

    return margin


def _is_slow(oracle: Oracle, codes: int) -> bool:
    """Return whether margins are better read one by one than from a table of all cells."""
    return oracle.fast_margins and oracle.tally_work(codes) > SLOW


@dataclass(frozen=True, eq=False)
class _Place:
    """A service in a model: the place of its first attribute, and of public classes with their shares."""

    service: ServiceContract
    first: int
    public: int
    shares: Vector
    left_out: float

    def views(self, channels: Codes, codes: Codes, times: Vector, group: Codes) -> Iterator[NoisyTable]:
        """Yield the tables of all views that somebody reported, from rows of channel, code, times and class."""
        classes = len(self.shares)
        block = channels * classes + group
        order = np.lexsort((codes, block))
        block, codes, times = block[order], codes[order], times[order]
        for number, channel in enumerate(self.service.channels):
            edges = np.searchsorted(block, number * classes + np.arange(classes + 1))
            for view in channel.views:
                if not (any(view.levels) or self.service.extras) or not 1 < view.oracle.domain <= MOST_VIEW_CELLS:
                    continue
                ends = [view.offset, view.offset + view.oracle.alphabet]
                spans = [start + np.searchsorted(codes[start:stop], ends) for start, stop in itertools.pairwise(edges)]
                counts = np.array([times[low:high].sum() for low, high in spans])
                sent = [(codes[low:high] - view.offset, times[low:high]) for low, high in spans]
                if not counts.any():
                    continue
                is_kept = self.service.extras or len(view.active) < WIDE or not _is_slow(view.oracle, int(counts.sum()))
                tables = _tables(view.oracle, sent) if is_kept else _margins(view.oracle, sent)
                yield from self._of_view(view, tables, counts)

    def _of_view(self, view: CompiledView, tables: Vector | Margins, counts: Vector) -> Iterator[NoisyTable]:
        """Yield a view's table and, where rows may be missing, that of presence."""
        extras, shown = self.service.extras, [i for i in view.active if view.levels[i]]
        if extras and isinstance(tables, np.ndarray):
            behind = tables.reshape(len(tables), tables.shape[1], -1)[:, -extras:, 0]
            presence = np.concatenate([1 - behind.sum(axis=1, keepdims=True), behind], axis=1)
            place = self.first + len(self.service.service.sensitive)
            exact = np.array([1 / extras] + [1.0] * extras)
            reports, proportional = self._precision(view.oracle, counts, 1 + extras)
            yield from by_class(
                (place,), (np.arange(1 + extras),), presence, reports, (self.public, self.shares), exact, proportional
            )
        if shown:
            exact = np.ones([1] * len(shown))
            if extras and isinstance(tables, np.ndarray):
                tables, possible = _with_extra_cells(tables, extras)
                exact = np.where(possible, 1.0, 1 / IMPOSSIBLE)
            partitions = tuple(partition_of(self.service, view, i) for i in shown)
            places = tuple(self.first + i for i in shown)
            reports, proportional = self._precision(view.oracle, counts, view.oracle.domain)
            yield from by_class(places, partitions, tables, reports, (self.public, self.shares), exact, proportional)

    def _precision(self, oracle: Oracle, counts: Vector, cells: int) -> tuple[Vector, float]:
        """Return the precision of a cell where people are uniform over some cells, and the share of its own people."""
        variance = cell_noise(oracle, cells) + self.left_out * (cells - 1) / cells**2
        return counts / variance, proportional_noise(oracle, cells)


def _with_extra_cells(tables: Vector, extras: int) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """Return tables with extra cells on each axis, not only on the first; and which combinations are possible."""
    sizes = [tables.shape[1], *(size + extras for size in tables.shape[2:])]
    extended, possible = np.zeros((len(tables), *sizes)), np.zeros(sizes, dtype=bool)
    real = (slice(0, sizes[0] - extras), *(slice(0, size) for size in tables.shape[2:]))
    extended[:, *real], possible[real] = tables[:, *real], True
    for extra in range(extras):
        cell = tuple(size - extras + extra for size in sizes)
        extended[:, *cell] = tables[:, cell[0], *[0] * (tables.ndim - 2)]
        possible[cell] = True
    return extended, possible
