"""Run a bound question over an engine and turn sums into estimates."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sqlglot import exp

from tacit.answers.batches import in_batches
from tacit.answers.group_sums import GroupSums
from tacit.answers.intervals import uneven_error, uneven_interval
from tacit.answers.labels import label_rows
from tacit.answers.notes import meaning_notes, tier_notes, weak_notes
from tacit.answers.people import FEW_PEOPLE, FEW_REPORTS, People, ReportProvenance, Terms, add_terms
from tacit.answers.quantiles import PendingQuantile, fetch_quantiles
from tacit.answers.rows import PendingEstimate, Row, after, finish, pending_of, possible_notes
from tacit.answers.sums import Fetch, Values, fetch_sums
from tacit.errors import TacitError, UnanswerableError
from tacit.estimate.answer import Answer, Options, shift_text
from tacit.estimate.estimate import Estimate
from tacit.estimate.functional import Vector
from tacit.estimate.threads import one_thread
from tacit.sql.bind import Bound
from tacit.sql.composite import leaves
from tacit.sql.domains import about_public
from tacit.sql.explain import explain_plan
from tacit.sql.formula import Dual, Formula
from tacit.sql.parse import sql_of
from tacit.sql.plan import Plan
from tacit.sql.public import public_condition
from tacit.sql.quantiles import Quantile
from tacit.sql.report_tables import count_unless_number
from tacit.sql.shifts import Shifts
from tacit.sql.stored_types import constant
from tacit.sql.totals import Piece, Total

__all__ = ["equal_to", "explain_answer", "run", "unbiased_estimates", "value_of"]

Guards = Callable[[], tuple[exp.Expr, ...]]
"""Public conditions, made when somebody asks what an estimate was made of: there may be thousands of groups."""

GROUPS_BY_CODE = 2_048
"""Maximum groups estimated at once from sums by code."""

GROUPS_AT_ONCE = 16
"""Maximum groups per statement: each adds a few columns to the contribution table."""


def run(bound: Bound, people: People, options: Options) -> Answer:
    """Answer a bound question."""
    groups = bound.groups()
    question = _Question(bound, people, options)
    rows = question.rows(groups)
    chosen = finish(bound, rows, options)
    names, shown, estimates = label_rows(bound, chosen)
    return Answer(
        names,
        shown,
        notes=[
            *weak_notes(shown),
            *meaning_notes(bound, people, options),
            *question.not_numbers(),
            *question.not_met(),
            *tier_notes(question.tiers),
            *possible_notes(bound, rows, options),
        ],
        plan=question.explain,
        estimates=estimates,
    )


def explain_answer(answer: Answer, people: People, predict: Callable[[int], object]) -> Answer:
    """Return how a question is answered, and its predicted error for as many people as have reported."""
    lines = answer.explain().splitlines()
    for name, shift in answer.shifts().items():
        lines.append(shift_text(name, shift))
    try:
        users = max(1, people.count())
        lines += ["", f"predicted for {users:,} people:", *str(predict(users)).splitlines()]
    except TacitError as refusal:
        lines += ["", f"no predicted error: {refusal.message}"]
    return Answer(["explain"], [[line] for line in lines])


def unbiased_estimates(
    bound: Bound, people: People, options: Options, columns: Sequence[Formula]
) -> list[dict[Values, PendingEstimate] | None]:
    """Return the unbiased estimate of each column in each public group; None where the reports have none."""
    question = _Question(bound, people, options)
    alike: dict[Hashable, list[int]] = {}
    for place, column in enumerate(columns):
        key = tuple(piece.functional.attributes for total in column.totals for piece in total.pieces)
        alike.setdefault(key, []).append(place)
    estimates: list[dict[Values, PendingEstimate] | None] = [None] * len(columns)
    for places in alike.values():
        with contextlib.suppress(UnanswerableError):
            made_of = in_batches([columns[i] for i in places], GROUPS_BY_CODE, GROUPS_AT_ONCE, question.by_public_group)
            for place, estimate in zip(places, itertools.chain.from_iterable(made_of), strict=True):
                estimates[place] = estimate
    return estimates


class _Question:
    """A bound question with everything needed to run it."""

    def __init__(self, bound: Bound, people: People, options: Options) -> None:
        self.bound, self.people, self.options = bound, people, options
        self._plans: list[tuple[Plan, list[Total]]] = []
        self.tiers: dict[str, float] = {}
        self._met = False

    def explain(self) -> str:
        """Return how the answer was computed."""
        return "\n\n".join(explain_plan(plan, totals) for plan, totals in self._plans)

    def not_numbers(self) -> list[str]:
        """Return notes on values of public columns that were left out because they are not numbers."""
        counts: dict[str, int] = {}
        plans = [plan for plan, _ in self._plans]
        read = {(plan.round.stored[number].table, name) for plan in plans for number, name in plan.read_as_numbers}
        for table, name in sorted(read):
            [not_a_number] = self.people.engine.fetch(*count_unless_number(table, name), {}).column("n").to_pylist()
            counts[name] = counts.get(name, 0) + int(not_a_number)
        return [
            f"{count:,} values of {name} are not numbers and were left out" for name, count in counts.items() if count
        ]

    def not_met(self) -> list[str]:
        """Return notes on public conditions that no report satisfies: mistyped values look like an exact zero."""
        leaves = about_public(self.bound.scope, self.bound.statement, met=self._met)
        counts = {sql_of(leaf): self.people.count((), [public_condition(self.bound.scope, leaf)]) for leaf in leaves}
        notes = [
            f"{text} is true for nobody: no report has such a value" for text, count in counts.items() if not count
        ]
        if self.bound.conditions and not self._met and not notes:
            notes = ["nobody meets all conditions on public columns, so the answer is exact"]
        return notes

    def rows(self, groups: list[tuple[int, ...]]) -> list[Row]:
        """Return the rows of groups of classes: many at once with sums by code, else a few per statement."""
        batches = in_batches(groups, GROUPS_BY_CODE, GROUPS_AT_ONCE, self._fetch)
        return list(itertools.chain.from_iterable(batches))

    def _fetch(self, groups: Sequence[tuple[int, ...]], fetch: Fetch) -> list[Row] | None:
        """Run and estimate some groups of classes; public groups come with each."""
        bound, people = self.bound, self.people
        columns = [bound.formulas(group) for group in groups]
        parts = [leaf for formulas in columns for column in formulas for leaf in leaves(column)]
        plain = [leaf for leaf in parts if isinstance(leaf, Formula)]
        request = people.request()
        places = [request.places(formula.totals) for formula in plain]
        fetched = (fetch if request.totals else fetch_sums)(people, request, bound.public, bound.conditions)
        if fetched is None:
            return None
        by_group, plans = fetched
        self._plans += [(plan, request.totals) for plan in plans]
        self._met |= any(sums.count for sums in by_group.values())
        shifts = list(map(Shifts, plans))
        curves = self._curves([leaf for leaf in parts if isinstance(leaf, Quantile)])
        rows: list[Row] = []
        for values, sums in by_group.items():
            if bound.public and not sums.count:
                continue
            guards = partial(self._guards, values)
            spots = zip(plain, places, strict=True)
            cells = iter([_Pending(self, formula, spot, sums, guards, shifts) for formula, spot in spots])
            quantiles = iter(curves.get(values, ()))
            for group, formulas in zip(groups, columns, strict=True):
                pending = [[next(cells if isinstance(p, Formula) else quantiles) for p in leaves(c)] for c in formulas]
                rows.append(((*values, *group), bound.row(group, values, list(map(pending_of, formulas, pending)))))
        return rows

    def _curves(self, quantiles: list[Quantile]) -> dict[Values, list[PendingQuantile]]:
        """Return the quantiles of each group of public values."""
        if not quantiles:
            return {}
        bound, wider = self.bound, self.options.superpopulation
        curves, plans = fetch_quantiles(self.people, quantiles, bound.public, bound.conditions, superpopulation=wider)
        self._plans += [(plan, list(plan.totals)) for plan in plans]
        return curves

    def by_public_group(self, columns: Sequence[Formula], fetch: Fetch) -> list[dict[Values, PendingEstimate]] | None:
        """Return estimates of columns in each public group; None where ``fetch`` has no sums for them."""
        people, bound = self.people, self.bound
        request = people.request()
        places = [request.places(formula.totals) for formula in columns]
        fetched = fetch(people, request, bound.public, bound.conditions)
        if fetched is None:
            return None
        by_group, plans = fetched
        shifts = list(map(Shifts, plans))
        guards = {values: partial(self._guards, values) for values in by_group}
        return [
            {values: _Pending(self, formula, spot, sums, guards[values], shifts) for values, sums in by_group.items()}
            for formula, spot in zip(columns, places, strict=True)
        ]

    def _guards(self, values: Values) -> tuple[exp.Expr, ...]:
        """Return the public conditions of a question and of one of its groups."""
        return (*self.bound.conditions, *equal_to(self.bound, values))

    def estimate(
        self,
        formula: Formula,
        place: list[int],
        sums: GroupSums,
        guards: Guards,
        level: float,
        shift: Callable[[], float],
    ) -> Estimate:
        """Return the estimate of a column, with an interval at a level."""
        if formula.inner is not None:
            return after(formula, self.estimate(formula.inner, place, sums, guards, level, shift))
        totals = _totals_of(self.people, formula, sums, place)
        result = formula.evaluate(totals)
        options = self.options
        if not place:
            return Estimate(result.value, 0.0, sums.count, level, shift=shift)
        gradient = result.gradient
        variance = self._variance(sums, gradient, place)
        freedom = max(1.0, sums.effective(place, gradient) - 1)
        origin = _origin(self.people, formula, gradient, guards, superpopulation=options.superpopulation)
        self._note_tiers(sums, gradient, place)
        few = freedom < FEW_REPORTS - 1 or sums.count < FEW_PEOPLE
        if few and np.isfinite(gradient).all() and not math.isnan(variance):
            terms = tuple(zip(gradient.tolist(), formula.totals, strict=True))
            variance = max(variance, self.people.planned_variance(terms, sums))
        error = math.hypot(math.sqrt(variance), result.beyond) if variance >= 0 else math.nan
        interval = None
        if formula.square or (formula.denominators and error > 0):
            interval = uneven_interval(formula, totals, self._covariance(sums, place), level, freedom)
            error = uneven_error(error, interval, level, freedom) if not math.isnan(result.value) else math.nan
        return Estimate(result.value, error, sums.count, level, freedom, interval=interval, origin=origin, shift=shift)

    def _variance(self, sums: GroupSums, gradient: Vector, place: list[int]) -> float:
        """Return the variance of a combination of totals."""
        superpopulation = self.options.superpopulation
        if len(place) == 1 and gradient[0] == 1:
            return sums.variance(place[0], superpopulation=superpopulation)
        return sums.covariance(gradient[None, :], place, superpopulation=superpopulation).item()

    def _note_tiers(self, sums: GroupSums, gradient: Vector, place: list[int]) -> None:
        """Record each tier's share of the variance of the first estimate."""
        if self.tiers or not sums.parts or len({round_.labels["tier"] for round_ in self.people.rounds}) < 2:
            return
        parts = [
            part.covariance(gradient[None, :], place, superpopulation=self.options.superpopulation).item()
            for part in sums.parts
        ]
        total = sum(parts)
        for label, part in zip(sums.labels, parts, strict=True):
            self.tiers[label] = self.tiers.get(label, 0.0) + (part / total if total else 0.0)

    def _covariance(self, sums: GroupSums, place: list[int]) -> Callable[[Vector], Vector]:
        superpopulation = self.options.superpopulation
        return lambda rows: sums.covariance(rows, place, superpopulation=superpopulation)


def _totals_of(people: People, formula: Formula, sums: GroupSums, place: list[int]) -> list[Dual]:
    """Return the totals of a formula, with their noise where the value depends on it."""
    totals = [float(sums.totals[index]) for index in place]
    if not formula.corrects or sums.count < 2 or people.is_exact:
        return formula.at(totals)
    return formula.at(totals, *sums.noise(place))


def value_of(people: People, formula: Formula, totals: list[float], conditions: Sequence[exp.Expr]) -> float:
    """Return the value of a column, given its totals over the people that satisfy public conditions."""
    if not formula.corrects:
        return formula.evaluate(formula.at(totals)).value
    request = people.request()
    place = request.places(formula.totals)
    sums, _ = fetch_sums(people, request, (), conditions)
    return formula.evaluate(_totals_of(people, formula, sums[()], place)).value


@dataclass(frozen=True, eq=False)
class _Pending(PendingEstimate):
    """An estimate whose level is not known yet: it may depend on the number of estimates."""

    question: _Question
    formula: Formula
    place: list[int]
    sums: GroupSums
    guards: Guards
    shifts: Sequence[Shifts]

    def at(self, level: float) -> Estimate:
        """Return the estimate."""
        return self.question.estimate(self.formula, self.place, self.sums, self.guards, level, self.shift)

    @one_thread
    def shift(self) -> float:
        """Return how far 1 % of the people can move the estimate, in the round in which they can move it most."""
        moved = [self._shift_of(total, place) for total, place in zip(self.formula.totals, self.place, strict=True)]
        return self.formula.shift([float(self.sums.totals[i]) for i in self.place], moved)

    def _shift_of(self, total: Total, place: int) -> float:
        return max(shifts.shift_of(total, place, self.sums.count) for shifts in self.shifts)


def equal_to(bound: Bound, values: tuple[Any, ...]) -> list[exp.Expr]:
    """Return the conditions of a public group."""
    same = [
        exp.NullSafeEQ(this=key.column, expression=constant(value))
        for key, value in zip(bound.public, values, strict=True)
    ]
    return [exp.paren(condition, copy=False) for condition in same]


def _origin(
    people: People, formula: Formula, gradient: Vector, guards: Guards, *, superpopulation: bool
) -> ReportProvenance:
    def gather() -> tuple[tuple[People, Terms], ...]:
        terms = []
        for weight, total in zip(gradient, formula.totals, strict=True):
            pieces = tuple(Piece(p.functional, (*p.guards, *guards()), p.powers) for p in total.pieces)
            terms.append((float(weight), Total(pieces)))
        return ((people, add_terms((), tuple(terms))),)

    return ReportProvenance(gather, superpopulation)
