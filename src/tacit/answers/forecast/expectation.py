"""The expected error of an answer before anything is collected, and the people needed for a given error.

The exact variance of the contributions is averaged over records with independent attributes: uniform ones, or with the
frequencies of a sample. A column of a question is arithmetic of totals; its error is that of one functional, their
combination by the gradient, because decoding is linear.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.answers.forecast.population import populations_of
from tacit.answers.forecast.rounds import Rounds, one_round
from tacit.answers.intervals import uneven_error, uneven_interval
from tacit.answers.labels import label_rows
from tacit.answers.quantiles import Curve, interpolate
from tacit.answers.rows import PendingEstimate, after, pending_of
from tacit.contract.contract import Contract
from tacit.engines.deadline import check_deadline
from tacit.errors import UnanswerableError, UnsupportedSqlError, UsageError
from tacit.estimate.answer import Answer, Options
from tacit.estimate.decoder import Decoder
from tacit.estimate.estimate import Estimate
from tacit.estimate.functional import Functional, Vector
from tacit.estimate.population import truth_of
from tacit.estimate.variance import expected_covariance, joint_square, joint_variance
from tacit.sql.bind import Bound, bind
from tacit.sql.composite import Column, Leaf, leaves
from tacit.sql.formula import Formula
from tacit.sql.parse import parse, without_explain
from tacit.sql.quantiles import Quantile
from tacit.sql.tables import scope_of, tables_of
from tacit.sql.totals import Total

__all__ = ["Expectation", "people_for", "predict"]

MOST_PEOPLE = 10**12
"""Maximum people of a forecast, as many as `users` may be."""

LINEARISED_PEOPLE = 10**6
"""People at whose expected totals columns are linearised."""

MOST_PAIRED = 6
"""Maximum totals of a column of which every pair's covariance is computed, instead of those of their combinations."""

MOST_PRODUCTS = 30
"""Maximum products of services in one question for a predicted error: every pair of them is evaluated."""


def predict(
    contract: Contract,
    text: str,
    *,
    users: int,
    like: Any,
    options: Options,
    most_groups: int | None = None,
    decoders: dict[str, Decoder] | None = None,
) -> Answer:
    """Return the expected answer for a number of people, with its error; optionally for some groups only.

    ``decoders`` holds those of the contract's services between questions.
    """
    if isinstance(users, bool) or not isinstance(users, int) or not 1 <= users <= MOST_PEOPLE:
        message = "users must be a whole number of people, from 1 to 10**12."
        raise UsageError(message, code="bad-option")
    expected = Expectation(contract, text, like, options, most_groups, decoders)
    rows = expected.rows(users)
    selection = expected.bound.selection
    shown = [row[: len(expected.bound.names)] for row in (selection.apply(rows) if selection.selects else rows)]
    known = "uniform attributes" if like is None else "the given frequencies"
    notes = [f"expected from {users:,} people, assuming {known}, independent of each other (docs/glossary.md#forecast)"]
    if contract.panel:
        notes.append(
            "the number of people is that of the panel, and the errors are those of one round (docs/panels.md)"
        )
    several = [source.service for source in expected.bound.scope.sources if source.service.rows_at_most > 1]
    if several and like is None:
        most = ", ".join(f"0 to {service.rows_at_most} rows in {service.name}" for service in several)
        notes.append(f"assumes that {most} per person are equally likely; pass like= if they are not")
    if several:
        notes.append("assumes that a person's rows are independent; if they are similar, errors are smaller")
    if any(isinstance(cell, Estimate) and math.isinf(cell.margin) for row in shown for cell in row):
        notes.append(
            "no finite interval is likely for some ratios: with this many people their denominators may be zero"
        )
    names, shown, estimates = label_rows(expected.bound, shown)
    if expected.rounds:
        names, shown = expected.rounds.spread(names, shown)
    return Answer(names, shown, notes=[*notes, *expected.bound.notes()], estimates=estimates)


def people_for(
    contract: Contract, text: str, *, error: float | None, relative: float | None, like: Any, options: Options
) -> int:
    """Return the number of people at which the standard error has the given value, by bisection over powers of ten."""
    target = error if error is not None else relative
    if isinstance(target, bool) or not isinstance(target, int | float) or not 0 < target < math.inf:
        message = "Pass users= (a number of people), or error= or relative= (a positive number)."
        raise UsageError(message, code="bad-option")
    expected = Expectation(contract, text, like, options)

    def log_error(people: float) -> float:
        cells = [cell for row in expected.rows(round(people), delta=True) for cell in row if isinstance(cell, Estimate)]
        first = [cell.error if relative is None else cell.error / abs(cell.value or math.nan) for cell in cells]
        worst = max((value for value in first if math.isfinite(value)), default=0.0)
        if worst <= 0:
            message = "The answer is known without error, or its error cannot be predicted, for any number of people."
            raise UnanswerableError(message, code="not-predictable")
        return math.log(worst / target)

    needed = _crossing(log_error)
    if not 1 <= needed <= MOST_PEOPLE:
        side = "less than one person" if needed < 1 else f"more than {MOST_PEOPLE:,} people"
        message = f"This error would need {side}. Ask for another error, or change the collection."
        raise UnanswerableError(message, code="not-predictable")
    return math.ceil(needed) if log_error(1e6) > log_error(1e8) else math.floor(needed)


def _combine(functionals: list[Functional], weights: Vector) -> Functional:
    combined = Functional(functionals[0].sizes, ())
    for weight, functional in zip(weights, functionals, strict=True):
        combined = combined + functional.scaled(float(weight))
    return combined


def _crossing(log_error: Callable[[float], float]) -> float:
    """Return the number of people at which an error, nearly a power law, crosses its target."""
    people = 1e6
    slope = (log_error(1e8) - log_error(1e6)) / math.log(100)
    for _ in range(8):
        step = math.exp(-log_error(people) / slope) if slope else math.inf
        people *= step
        if not 1 <= people <= MOST_PEOPLE or abs(step - 1) < 1e-9:
            break
    return people


class Expectation:
    """A question bound to a contract, with the assumed population."""

    def __init__(
        self,
        contract: Contract,
        text: str,
        like: Any,
        options: Options,
        most_groups: int | None = None,
        decoders: dict[str, Decoder] | None = None,
    ) -> None:
        text, _ = without_explain(text)
        statement = parse(text)
        self.rounds: Rounds | None = None
        if contract.panel:
            statement, self.rounds = one_round(statement, contract.panel, text)
        tables = tables_of(statement, text)
        for table in tables:
            contract[table.name]
        self.bound: Bound = bind(statement, scope_of(tables, contract.schema, text))
        self._weight = float(contract.panel.weight) if contract.panel else 1.0
        if self.bound.conditions or self.bound.public:
            raise _public_unknown(text)
        if any(source.twin is not None for source in self.bound.scope.sources):
            message = "Errors of one-to-many services joined with themselves cannot be predicted."
            raise UnsupportedSqlError(message, code="not-predictable", text=text)
        self._text, self._options = text, options
        services = [contract[source.service.name] for source in self.bound.scope.sources]
        self._populations = populations_of(contract, services, like)
        known = {} if decoders is None else decoders
        for service in services:
            known.setdefault(service.service.name, Decoder(service, options.decoder))
        self._decoders = [known[service.service.name] for service in services]
        groups = self.bound.groups()
        step = 1 if most_groups is None else -(-len(groups) // most_groups)
        self._formulas = [(group, self.bound.formulas(group)) for group in groups[::step]]
        self._covariances: dict[Hashable, Vector] = {}

    def rows(self, users: int, *, delta: bool = False) -> list[list[Any]]:
        """Return the expected rows for this many people; with ``delta``, all errors come from the delta method."""
        return [
            self.bound.row(group, (), [self._cell(column, users, delta=delta) for column in columns])
            for group, columns in self._formulas
        ]

    def widest(self, users: int) -> tuple[str, float]:
        """Return the first column of estimates and its widest half width among the groups.

        The half width is NaN where none can be predicted, and infinite where some group is unlikely to have a finite
        interval.
        """
        place = next((i for i in range(len(self.bound.names)) if not self.bound.is_key(i)), None)
        if place is None:
            return "", math.nan
        widths = [row[place].margin for row in self.rows(users)]
        known = [width for width in widths if not math.isnan(width)]
        return self.bound.names[place], max(known, default=math.nan)

    def linearise(self) -> Iterator[Functional]:
        """Yield, for each group and column, its linearisation at the answer of uniform records.

        A quantile needs its tests, which are counts below each value.
        """
        for _, columns in self._formulas:
            for leaf in (leaf for column in columns for leaf in leaves(column)):
                functionals = [self._functional(total) for total in leaf.totals]
                if not isinstance(leaf, Formula):
                    yield from functionals[:: max(1, len(functionals) // 8)]
                    continue
                result = leaf.evaluate(
                    leaf.at([LINEARISED_PEOPLE * self._mean(functional) for functional in functionals])
                )
                if functionals and np.isfinite(result.gradient).all():
                    yield _combine(functionals, result.gradient)

    def _cell(self, column: Column | None, users: int, *, delta: bool) -> Estimate | None:
        parts = [_Expected(self, leaf, users, delta) for leaf in leaves(column)]
        pending = pending_of(column, parts)
        return None if pending is None else pending.at(self._options.confidence)

    def quantile(self, quantile: Quantile, users: int, level: float) -> Estimate:
        """Return the expected quantile for this many people, with the interval of single tests."""
        functionals = [self._functional(total) for total in quantile.totals]
        tests = np.array([users * self._mean(functional) for functional in functionals])
        variances = interpolate(len(tests), lambda i: users * self._known_covariance([functionals[i]]).item())
        return Curve(quantile, tests, np.sqrt(np.maximum(variances, 0.0)), math.inf, users).at(level, None)

    def estimate(self, formula: Formula, users: int, confidence: float, *, delta: bool) -> Estimate:
        """Return the expected estimate for this many people."""
        if formula.inner is not None:
            return after(formula, self.estimate(formula.inner, users, confidence, delta=delta))
        functionals = [self._functional(total) for total in formula.totals]
        means = [users * self._mean(functional) for functional in functionals]
        result = formula.evaluate(formula.at(means))
        if not functionals:
            return Estimate(result.value, 0.0, users, confidence)
        if math.isnan(result.value) or not np.isfinite(result.gradient).all():
            return Estimate(math.nan, math.nan, users, confidence)
        covariance = self._covariance(functionals, users)
        error = math.sqrt(covariance(result.gradient[None, :]).item())
        if formula.corrects:
            error = math.hypot(error, formula.evaluate(formula.at(means, covariance(np.eye(len(means))))).beyond)
        if delta or not (formula.square or (formula.denominators and error > 0)):
            return Estimate(result.value, error, users, confidence)
        interval = uneven_interval(formula, formula.at(means), covariance, confidence, math.inf)
        error = uneven_error(error, interval, confidence, math.inf)
        return Estimate(result.value, error, users, confidence, interval=interval)

    def _covariance(self, functionals: list[Functional], users: int) -> Callable[[Vector], Vector]:
        """Return the expected covariance of combinations of totals.

        That of few totals is computed once, for any combination and any number of people.
        """

        def covariance(rows: Vector) -> Vector:
            if len(functionals) <= MOST_PAIRED:
                matrix = rows @ self._known_covariance(functionals) @ rows.T
            else:
                matrix = expected_covariance(self._variance, [_combine(functionals, row) for row in rows])
            np.fill_diagonal(matrix, np.maximum(matrix.diagonal(), 0.0))
            return users * matrix

        return covariance

    def _known_covariance(self, functionals: list[Functional]) -> Vector:
        """Return the covariance of one person's contributions to totals, computed once."""
        key = tuple(functional.key for functional in functionals)
        if key not in self._covariances:
            self._covariances[key] = expected_covariance(self._variance, functionals)
        return self._covariances[key]

    def _mean(self, functional: Functional) -> float:
        return sum(
            math.prod(truth_of(local, self._populations[number]).total()[0] for number, local in parts.items())
            for parts in self.bound.scope.separate(functional)
        )

    def _variance(self, functional: Functional) -> float:
        """Return the variance of one person's contribution; in a join, from the moments of its products of services.

        In a panel a person is asked with probability one over the weight, and then counts with the weight.
        """
        check_deadline()
        separated = self.bound.scope.separate(functional)
        if not separated:
            return 0.0
        if len(separated) > MOST_PRODUCTS:
            message = (
                f"The question sums {len(separated)} products of services; at most {MOST_PRODUCTS} are predictable."
            )
            raise UnsupportedSqlError(message, code="not-predictable", text=self._text)
        noise = joint_variance(separated, self._decoders, self._populations)
        if self._weight == 1.0:
            return noise
        return self._weight * noise + (self._weight - 1) * joint_square(separated, self._populations)

    def _functional(self, total: Total) -> Functional:
        if total.functional is None and total.pieces:
            raise _public_unknown(self._text)
        return total.functional or Functional(self.bound.scope.sizes, ())


@dataclass(frozen=True, eq=False)
class _Expected(PendingEstimate):
    """The expected value of a part of a column for a number of people."""

    expectation: Expectation
    leaf: Leaf
    users: int
    delta: bool

    def at(self, level: float) -> Estimate:
        """Return the estimate."""
        if isinstance(self.leaf, Quantile):
            return self.expectation.quantile(self.leaf, self.users, level)
        return self.expectation.estimate(self.leaf, self.users, level, delta=self.delta)


def _public_unknown(text: str) -> UnsupportedSqlError:
    message = "Values of public columns are unknown before collecting. Predict without them."
    return UnsupportedSqlError(message, code="public-not-known", text=text)
