"""The evidence for a question: the reports of its rounds, in all services that it joins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tacit.answers.columns import number_rows, rows_of
from tacit.answers.people import People
from tacit.answers.sums import stored_types
from tacit.contract.panel import Design
from tacit.errors import UnsupportedSqlError
from tacit.estimate.functional import Functional, Term, Vector
from tacit.model.bounds import mean_bounds
from tacit.model.model import Model
from tacit.model.reports import Reports, Services
from tacit.model.stored import FetchedReports, Models
from tacit.sql.bind import Bound
from tacit.sql.composite import Leaf
from tacit.sql.plan import Plan
from tacit.sql.printing import print_query
from tacit.sql.rounds import Round
from tacit.sql.stored_types import StoredTypes
from tacit.sql.totals import Total

__all__ = ["RoundSample", "samples_of"]

MOST_CLASSES = 64
"""Maximum combinations of public values and panel rounds that a question may distinguish."""

SURELY = 7.0
"""Standard deviations within which the number of people asked in a round is assumed to lie."""


def samples_of(
    bound: Bound, people: People, known: Models, columns: Sequence[Leaf], *, every: bool = False
) -> list[RoundSample]:
    """Return a sample for each round, with its tiers merged; the rounds of a panel are one sample.

    It has the pairs of attributes of two services that the columns read, or ``every`` pair.
    """
    totals = list({total.key: total for column in columns for total in column.totals}.values())
    samples: dict[str, list[tuple[Round, StoredTypes]]] = {}
    for round_, types in zip(people.rounds, stored_types(people.engine, people.rounds), strict=True):
        label = round_.labels["round"]
        samples.setdefault(label.rpartition("/")[0] if round_.design else label, []).append((round_, types))
    return [_sample(bound, parts, known, totals, every=every) for parts in samples.values()]


def _sample(
    bound: Bound, parts: list[tuple[Round, StoredTypes]], known: Models, totals: Sequence[Total], *, every: bool
) -> RoundSample:
    plans = [Plan(bound.scope, round_, totals, [], bound.public, bound.conditions, types) for round_, types in parts]
    services = Services(tuple(stored.service for stored in parts[0][0].stored))
    designs = {round_.labels["round"]: round_.design for round_, _ in parts if round_.design}
    plain = not (plans[0].keys or plans[0].conditions or plans[0].guards or plans[0].powers)
    stored = [round_.stored[0] for round_, _ in parts]
    if plain and len(services.services) == 1 and len(designs) < 2:
        model = known.of_service([(source.service, source.table, source.rollup is not None) for source in stored])
        return RoundSample(services, model, plans[0], (tuple(designs),), designs)
    read = [services.functional(piece.functional) for total in totals for piece in total.pieces]
    attributes = None if every else frozenset(i for functional in read for i in functional.attributes)
    statements = [print_query(plan.code_counts) for plan in plans]
    key = tuple(text for text, _ in statements), repr([parameters for _, parameters in statements]), attributes

    def fetch() -> FetchedReports:
        return _fetch(bound, plans, known)

    model, classes = known.of(key, fetch, attributes)
    return RoundSample(services, model, plans[0], classes, designs)


def _fetch(bound: Bound, plans: Sequence[Plan], known: Models) -> FetchedReports:
    """Return the reports of all tiers or rounds of a panel, with numbers for the combinations of public values.

    The round of a panel is the last public value.
    """
    classes: dict[tuple[Any, ...], int] = {}
    parts = []
    for plan in plans:
        table = known.engine.fetch(*print_query(plan.code_counts), {})
        width = len(plan.keys) + len(plan.guards) + len(plan.powers)
        number, rows = number_rows(table, width)
        design, label = plan.round.design, plan.round.labels["round"]
        values = [(*row, label) if design else row for row in rows_of(table.take(rows), width)]
        if len({*classes, *values}) > MOST_CLASSES:
            message = (
                f"The question distinguishes more than {MOST_CLASSES} combinations of public values and rounds, which "
                "consistent=True does not support. Ask without consistent=True, or for fewer of them."
            )
            raise UnsupportedSqlError(message, code="not-consistent", text=bound.scope.text)
        for value in values:
            classes.setdefault(value, len(classes))
        class_of = np.array([classes[value] for value in values], dtype=np.int64)
        columns = [np.asarray(table.column(i)).astype(np.int64) for i in range(width, table.num_columns)]
        services = tuple(stored.service for stored in plan.round.stored)
        codes = tuple(columns[0:-1:2]), tuple(columns[1:-1:2]), columns[-1], class_of[number]
        parts.append(Reports(services, *codes, left_out=1 - 1 / design.weight if design else 0.0))
    if not classes:
        message = (
            "Nobody meets the question's public conditions, so there is nothing to fit. Ask without consistent=True."
        )
        raise UnsupportedSqlError(message, code="not-consistent", text=bound.scope.text)
    rounds = {plan.round.labels["round"] for plan in plans if plan.round.design}
    return FetchedReports(tuple(parts), tuple(classes), in_order=len(classes) == len(rounds) > 1)


@dataclass(frozen=True, eq=False)
class RoundSample:
    """The people of one round, or of all rounds of a panel: their model, and the public values of each of its classes.

    The public values are those of keys, whether guards hold, and public measures, in the order of the plan; then a
    panel's round, for which ``designs`` describes how its people were chosen.
    """

    services: Services
    model: Model
    plan: Plan
    classes: tuple[tuple[Any, ...], ...]
    designs: Mapping[str, Design] = field(default_factory=dict)

    @property
    def is_smoothed(self) -> bool:
        """Whether rounds of a panel are fitted together."""
        return len({class_[-1] for class_ in self.classes}) > 1 if self.designs else False

    @cached_property
    def _weights(self) -> Vector:
        """How many people each member of a class stands for."""
        return np.array([self.designs[class_[-1]].weight if self.designs else 1.0 for class_ in self.classes])

    @property
    def groups(self) -> list[tuple[Any, ...]]:
        """The distinct values of public keys."""
        return list(dict.fromkeys(class_[: len(self.plan.keys)] for class_ in self.classes))

    @cached_property
    def _shares(self) -> Vector:
        return self.model.values(self._public)

    @property
    def _public(self) -> int:
        """The place of public classes."""
        return len(self.model.attributes) - 1

    def people_of(self, values: tuple[Any, ...]) -> int:
        """Return the number of reports in a public group."""
        return round(self.model.people * float(self._shares @ self._holds(values)))

    def _holds(self, values: tuple[Any, ...]) -> Vector:
        return np.array([class_[: len(values)] == values for class_ in self.classes], dtype=np.float64)

    def functionals(self, column: Leaf, values: tuple[Any, ...]) -> list[Functional]:
        """Return the totals of a column, within a public group, as functionals of the model."""
        return [self._functional(total, self._holds(values) * self._weights) for total in column.totals]

    def _functional(self, total: Total, holds: Vector) -> Functional:
        functional = self.services.functional(Functional((), ()), holds)
        for piece in total.pieces:
            weights = holds.copy()
            for guard in piece.guards:
                weights = weights * self._column(len(self.plan.keys) + self.plan.guards.index(guard))
            for column, power in piece.powers.items():
                place = self.plan.powers.index(column)
                numbers = self._column(len(self.plan.keys) + len(self.plan.guards) + place)
                weights = weights * np.where(np.isnan(numbers), 0.0, np.nan_to_num(numbers) ** power)
            functional = functional + _without_even_classes(
                self.services.functional(piece.functional, weights), self._public
            )
        return functional

    def _column(self, place: int) -> Vector:
        """Return the numbers of a guard or a public measure; NaN where it is NULL."""
        return np.array([np.nan if class_[place] is None else float(class_[place]) for class_ in self.classes])

    def bounds(self, slope: Functional) -> tuple[float, float]:
        """Return the range of a functional's total, given the number of people of each class."""
        low = high = 0.0
        for number, share in enumerate(self._shares):
            terms = []
            for term in slope.terms:
                factors = dict(term.factors)
                weight = factors.pop(self._public, None)
                terms.append(Term(term.coefficient * (1.0 if weight is None else float(weight[number])), factors))
            ends = mean_bounds(Functional(slope.sizes, tuple(term for term in terms if term.coefficient)))
            reports = self.model.people * float(share)
            least, most = self._people_between(number, reports)
            low, high = low + min(least * ends[0], most * ends[0]), high + max(least * ends[1], most * ends[1])
        return float(low), float(high)

    def _people_between(self, number: int, reports: float) -> tuple[float, float]:
        """Return the fewest and the most reports that a class could have: a panel's coin decides who is asked."""
        if not self.designs:
            return reports, reports
        design = self.designs[self.classes[number][-1]]
        share = min(1.0, reports / design.enrolled.asked) if design.enrolled else 0.0
        spread = SURELY * math.sqrt(reports * (1 - 1 / design.weight) * (1 - share))
        return max(0.0, reports - spread), reports + spread

    def asked_variance(self, slope: Functional) -> float:
        """Bound the variance of a functional's total due to who was asked in a panel.

        A person of weight w adds w (w - 1) y**2 to it, and rounds exclude each other, which adds at most w y**2.
        """
        return self.model.people * self.model.means([slope * slope])[0] if self.designs else 0.0

    def sets(self, columns: Sequence[Leaf]) -> set[tuple[int, ...]]:
        """Return the sets of attributes that columns read: those of each term, and their pairs."""
        terms = [
            term.factors
            for column in columns
            for total in column.totals
            for piece in total.pieces
            for term in self.services.functional(piece.functional).terms
        ]
        sets = {tuple(sorted(factors)) for factors in terms if factors}
        return sets | {
            pair for attributes in sets for pair in itertools.combinations(attributes, min(2, len(attributes)))
        }

    def is_apart(self, pair: tuple[int, ...]) -> bool:
        """Return whether no view reports two attributes together."""
        return not self.model.together(pair)

    def names_of(self, face: tuple[int, ...]) -> str:
        """Return the names of attributes."""
        return " × ".join(self.model.attributes[i].name for i in face)


def _without_even_classes(functional: Functional, public: int) -> Functional:
    """Replace equally weighted public classes of a functional with a constant."""
    constant = Functional.constant(functional.sizes)
    terms = [term for term in functional.terms if not term.vanishes]
    result = Functional(functional.sizes, ())
    for term in terms:
        weight = term.factors.get(public)
        if weight is not None and np.ptp(weight) == 0:
            others = {i: vector for i, vector in term.factors.items() if i != public}
            term = Term(term.coefficient * float(weight[0]), others)
        result = result + Functional(functional.sizes, (term,)) * constant
    return result
