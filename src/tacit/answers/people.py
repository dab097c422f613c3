"""The people of a question, and the provenance of estimates, from which errors of combinations are computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sqlglot import exp

from tacit.answers.group_sums import GroupSums, SumsRequest
from tacit.answers.sums import fetch_sums
from tacit.contract.schema import Ordinal
from tacit.engines.base import Engine
from tacit.engines.deadline import check_deadline
from tacit.errors import UnanswerableError, UsageError
from tacit.estimate.functional import Functional, Vector, with_values_sorted
from tacit.estimate.population import Population
from tacit.estimate.variance import expected_covariance, joint_variance
from tacit.sql.rounds import Round
from tacit.sql.scope import BoundColumn, Scope
from tacit.sql.totals import Piece, Total

__all__ = ["FEW_PEOPLE", "FEW_REPORTS", "People", "ReportProvenance", "Terms", "add_terms"]

FEW_REPORTS, FEW_PEOPLE = 30, 1_000
"""Effective reports below which an answer has a warning; below either number the planned error is a lower limit."""

MOST_PRODUCTS = 8
"""Maximum products of services in one total for a planned error: every pair of them is evaluated."""

Terms = tuple[tuple[float, Total], ...]
"""Totals with their weights."""


class People:
    """The people of a question: joined services, in one or more rounds, decoded in one way."""

    def __init__(self, engine: Engine, scope: Scope, rounds: Sequence[Round]) -> None:
        self.engine, self.scope, self.rounds = engine, scope, rounds
        self._known: dict[Hashable, Vector] = {}

    def request(self) -> SumsRequest:
        """Return an empty request for sums over these people."""
        return SumsRequest(self._has_products, rounded=self._rounded)

    def squares(self, totals: Sequence[Total]) -> bool:
        """Return whether squares of totals have unbiased estimates: products exist, no value is rounded randomly."""
        read = {i for total in totals for piece in total.pieces for i in piece.functional.attributes}
        return self._has_products and not read & self._rounded.keys()

    @cached_property
    def _has_products(self) -> bool:
        """Whether products of a person's totals have estimates: not with several rows, nor rounded to few values."""
        services = [stored.service for round_ in self.rounds for stored in round_.stored]
        several = any(source.service.rows_at_most > 1 for source in self.scope.sources)
        return not several and not any(service.derived for service in services)

    @cached_property
    def _rounded(self) -> dict[int, int]:
        """The attributes whose values clients round randomly, with the number of their representatives."""
        return {
            source.first + i: attribute.values
            for source in self.scope.sources
            for i, attribute in enumerate(source.service.sensitive)
            if isinstance(attribute, Ordinal) and attribute.dithered
        }

    @property
    def is_exact(self) -> bool:
        """Whether reports have no noise and show all rows; only in tests."""
        services = [stored.service for round_ in self.rounds for stored in round_.stored]
        return all(service.service.sends == service.service.rows_at_most for service in services) and not any(
            view.oracle.noise for service in services for channel in service.channels for view in channel.views
        )

    @property
    def reports(self) -> set[str]:
        """Tables of the reports that are read."""
        return {stored.table for round_ in self.rounds for stored in round_.stored}

    def count(self, keys: Sequence[BoundColumn] = (), conditions: Sequence[exp.Expr] = ()) -> int:
        """Return the number of people who satisfy public conditions, in the largest public group."""
        sums, _ = fetch_sums(self, SumsRequest(), keys, conditions)
        return max((round(group.stands_for) for group in sums.values()), default=0)

    def error_of(self, terms: Terms, *, superpopulation: bool) -> tuple[float, float]:
        """Return the standard error of a combination of totals, and its degrees of freedom."""
        totals = [total for _, total in terms]
        request = self.request()
        place = request.places(totals)
        sums, _ = fetch_sums(self, request, (), ())
        gradient = np.array([[weight for weight, _ in terms]])
        variance = sums[()].covariance(gradient, place, superpopulation=superpopulation).item()
        freedom = max(1.0, sums[()].effective(place, gradient[0]) - 1)
        few = freedom < FEW_REPORTS - 1 or sums[()].count < FEW_PEOPLE
        if few and not math.isnan(variance):
            variance = max(variance, self.planned_variance(terms, sums[()]))
        return math.sqrt(variance) if variance >= 0 else math.nan, freedom

    def planned_variance(self, terms: Terms, sums: GroupSums) -> float:
        """Return the variance of a combination over uniform records; 0 where it cannot be predicted.

        Pieces under different public conditions are treated as independent: each covers other people.
        """
        by_place: dict[Hashable, tuple[Piece, list[float], list[Functional]]] = {}
        for weight, total in terms:
            for piece in total.pieces:
                _, weights, functionals = by_place.setdefault(piece.place, (piece, [], []))
                weights.append(weight)
                functionals.append(piece.functional)
        variance = 0.0
        for piece, listed, functionals in by_place.values():
            vector = np.array(listed)
            variance += sums.weight(piece) * max(0.0, float(vector @ self._planned_covariance(functionals) @ vector))
        return variance

    def _planned_covariance(self, functionals: Sequence[Functional]) -> Vector:
        """Return the planned covariance of one person's contributions, cached because groups repeat it."""
        functionals = with_values_sorted(functionals, self._unordered)
        key = tuple(functional.key for functional in functionals)
        if key not in self._known:
            self._known[key] = np.zeros((len(functionals), len(functionals)))
            with suppress(UnanswerableError):
                self._known[key] = expected_covariance(self._planned_variance, functionals)
        return self._known[key]

    @cached_property
    def _unordered(self) -> frozenset[int]:
        """The attributes of which every view shows single values or nothing: uniform records treat all values alike."""
        places: set[int] = set()
        for source, stored in zip(self.scope.sources, self.rounds[-1].stored, strict=True):
            of_attributes = stored.service.levels[: len(source.service.sensitive)]
            places.update(
                source.first + i
                for i, levels in enumerate(of_attributes)
                if all(level.cells in (1, levels.size) for level in levels.levels)
            )
        return frozenset(places - self._rounded.keys())

    def _planned_variance(self, functional: Functional) -> float:
        """Return the planned variance of one person's contribution; 0 where that takes too long, or is not known."""
        check_deadline()
        products = self.scope.separate(functional)
        if (
            not products
            or len(products) > MOST_PRODUCTS
            or any(source.twin is not None for source in self.scope.sources)
        ):
            return 0.0
        decoders = [stored.decoder for stored in self.rounds[-1].stored]
        return max(0.0, joint_variance(products, decoders, [Population.of(decoder.service) for decoder in decoders]))


@dataclass(frozen=True, eq=False)
class ReportProvenance:
    """The provenance of an estimate: weighted totals over people, which give errors of sums of estimates."""

    gather: Callable[[], tuple[tuple[People, Terms], ...]]
    superpopulation: bool

    @cached_property
    def parts(self) -> tuple[tuple[People, Terms], ...]:
        """The people and their totals, computed when an estimate is first combined with another."""
        return self.gather()

    def scaled(self, by: float) -> ReportProvenance:
        """Return the provenance of a multiple."""
        parts = tuple((people, tuple((by * w, total) for w, total in terms)) for people, terms in self.parts)
        return ReportProvenance(lambda: parts, self.superpopulation)

    def plus(self, other: ReportProvenance) -> ReportProvenance:
        """Return the provenance of a sum; refuse estimates from the same reports that cannot be combined."""
        parts = dict(self.parts)
        for people, terms in other.parts:
            shared = people not in parts and any(part.reports & people.reports for part in parts)
            if shared or other.superpopulation != self.superpopulation:
                message = (
                    "These estimates share reports, but come from different joins, decoders or options, so the error "
                    "of their combination is unknown. Ask for the combination in one question."
                )
                raise UsageError(message, code="unknown-covariance")
            parts[people] = add_terms(parts.get(people, ()), terms)
        return ReportProvenance(lambda: tuple(parts.items()), self.superpopulation)

    def error(self) -> tuple[float, float]:
        """Return the standard error and its degrees of freedom; people of different collections are independent."""
        errors = [people.error_of(terms, superpopulation=self.superpopulation) for people, terms in self.parts if terms]
        return math.hypot(*(error for error, _ in errors)), min((freedom for _, freedom in errors), default=math.inf)


def add_terms(left: Terms, right: Terms) -> Terms:
    """Add up the weights of equal totals."""
    weights: dict[Hashable, tuple[float, Total]] = {}
    for weight, total in (*left, *right):
        weights[total.key] = weight + weights.get(total.key, (0.0, total))[0], total
    return tuple((weight, total) for weight, total in weights.values() if weight and total.pieces)
