"""Run a bound question over an engine and turn sums into estimates."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from tacit.answer import Answer, Estimate
from tacit.contract import ServiceContract
from tacit.decode.decoder import Decoder, DecoderName
from tacit.decode.functional import Vector
from tacit.engines.duckdb import DuckDB
from tacit.errors import ReportError
from tacit.sql.aggregates import Dual, Formula
from tacit.sql.bind import Bound
from tacit.sql.plan import Plan, Planner

__all__ = ["run"]

GROUPS_AT_ONCE = 16
"""Sensitive groups per statement: each adds a few columns to the contribution table."""

FEW_REPORTS = 30
"""Effective reports below which an answer warns."""

Row = tuple[tuple[Any, ...], list[Any]]


def run(
    bound: Bound, service: ServiceContract, table: str, engine: DuckDB, *, confidence: float, decoder: DecoderName
) -> Answer:
    """Answer a bound question from the reports of one table."""
    if not engine.has_table(table):
        message = f"No reports of {service.service.name!r} are loaded. Load some first."
        raise ReportError(message, code="no-reports")
    question = _Question(bound, Decoder(service, decoder), table, engine, confidence)
    groups = bound.groups()
    rows: list[Row] = []
    for start in range(0, len(groups), GROUPS_AT_ONCE):
        rows += question.fetch(groups[start : start + GROUPS_AT_ONCE])
    rows.sort(key=lambda row: tuple((value is None, value) for value in row[0]))
    cells = [row for _, row in rows]
    notes = [*_weak(cells), *bound.notes()]
    if bound.selects:
        cells = bound.selected(cells)
        notes.append("rows were ordered or cut by estimates: extremes look more extreme than they are")
    return Answer(bound.names, cells, notes=notes, plan="\n".join(question.explained))


def _weak(rows: list[list[Any]]) -> list[str]:
    estimates = [cell for row in rows for cell in row if isinstance(cell, Estimate)]
    notes = []
    if any(estimate.freedom < FEW_REPORTS - 1 and estimate.error != 0 for estimate in estimates):
        notes.append("fewer than 30 reports really count in some estimates; their intervals are wide")
    if any(math.isnan(estimate.value) or math.isnan(estimate.error) for estimate in estimates):
        notes.append("some estimates or their errors are not defined: too few reports, or a negative variance")
    return notes


class _Question:
    """A bound question with everything that running it takes."""

    def __init__(self, bound: Bound, decoder: Decoder, table: str, engine: DuckDB, confidence: float) -> None:
        self.bound, self.decoder, self.table, self.engine = bound, decoder, table, engine
        self.confidence = confidence
        self.explained: list[str] = []

    def fetch(self, groups: list[tuple[int, ...]]) -> list[Row]:
        """Plan, run and estimate some groups of sensitive values; public groups come with each."""
        bound = self.bound
        publics = [attribute.name for attribute in bound.scope.service.public]
        plan = Plan(
            self.decoder.service,
            self.table,
            where=bound.conditions,
            groups=[attribute.name for attribute in bound.public],
            publics=publics,
        )
        planner = Planner(self.decoder, plan)
        formulas = [bound.formulas(group) for group in groups]
        places = [[[planner.measure(total) for total in f.totals] if f else [] for f in made] for made in formulas]
        moments = _plan_moments(planner, formulas, places)
        occurring = {channel: self.engine.codes(self.table, channel) for channel in plan.large_channels()}
        self.explained.append(plan.explain(groups))
        rows: list[Row] = []
        for record in self.engine.fetch(plan.statement(), plan.parameters, plan.contributions(occurring)):
            keys, sums = record[: len(bound.public)], _Sums(record[len(bound.public) :], plan, moments)
            if bound.public and not sums.count:
                continue
            for group, made, spots in zip(groups, formulas, places, strict=True):
                cells = [self._estimate(f, spot, sums) if f else None for f, spot in zip(made, spots, strict=True)]
                rows.append(((*keys, *group), bound.row(group, keys, cells)))
        return rows

    def _estimate(self, made: Formula, place: list[int], sums: _Sums) -> Estimate:
        size = len(place)
        result = made.evaluate([Dual(sums.measures[index], np.eye(size)[k]) for k, index in enumerate(place)])
        variance = sums.variance(result.gradient, place) if size else 0.0
        error = math.sqrt(variance) if variance >= 0 else math.nan
        return Estimate(result.value, error, sums.count, self.confidence, max(1.0, sums.effective(place) - 1))


def _plan_moments(
    planner: Planner, formulas: list[list[Formula | None]], places: list[list[list[int]]]
) -> dict[tuple[int, int], int]:
    """Plan the totals of products, from which errors follow; return the measure of each pair."""
    needed: dict[tuple[int, int], int] = {}
    for made, spots in zip(formulas, places, strict=True):
        for f, place in zip(made, spots, strict=True):
            for (i, left), (j, right) in itertools.product(enumerate(place), repeat=2):
                if f is not None and left <= right and (left, right) not in needed:
                    needed[left, right] = planner.measure(f.totals[i].times(f.totals[j]))
    planner.plan.pairs = sorted(needed)
    return needed


class _Sums:
    """One fetched row: people, measures, products of measures, and fourth powers."""

    def __init__(self, row: tuple[Any, ...], plan: Plan, moments: dict[tuple[int, int], int]) -> None:
        numbers = [float(value or 0) for value in row]
        cut = 1 + len(plan.measures)
        self.count, self.measures, self.moments = int(numbers[0]), numbers[1:cut], moments
        self.noisy = plan.noisy
        self.products = dict(zip(plan.pairs, numbers[cut : cut + len(plan.pairs)], strict=True))
        self.fourths = dict(zip(sorted({i for i, _ in plan.pairs}), numbers[cut + len(plan.pairs) :], strict=True))

    def variance(self, gradient: Vector, place: list[int]) -> float:
        """Return the variance of a combination of totals; NaN where nothing can be said.

        The covariance of totals is that of contributions, less the contributions of the product. Where this gives
        nothing above zero though there is noise, the sample variance stands in, which is larger on average.
        """
        size = range(len(place))
        exact, safe = np.zeros((len(place), len(place))), np.zeros((len(place), len(place)))
        for a, b in itertools.product(size, size):
            pair = (min(place[a], place[b]), max(place[a], place[b]))
            exact[a, b] = self.products[pair] - self.measures[self.moments[pair]]
            safe[a, b] = self.products[pair] - self.measures[place[a]] * self.measures[place[b]] / max(1, self.count)
        found = float(gradient @ exact @ gradient)
        if found > 0 or math.isnan(found) or not any(self.noisy[index] for index in place):
            return max(0.0, found)
        if self.count < 2:
            return math.nan if self.count else 0.0
        return max(0.0, float(gradient @ safe @ gradient) * self.count / (self.count - 1)) or math.nan

    def effective(self, place: list[int]) -> float:
        """Return how many reports the totals really rest on."""
        return min((self.products[i, i] ** 2 / self.fourths[i] for i in place if self.fourths[i]), default=math.inf)
