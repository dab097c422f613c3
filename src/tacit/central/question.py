"""Questions to a release: the same SQL as for a collection, with estimates from noisy counts instead of reports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tacit.answers.intervals import uneven_error, uneven_interval
from tacit.answers.labels import label_rows
from tacit.answers.quantiles import FEW_CORRELATED, WIDE, Curve, Noise, interpolate, spread
from tacit.answers.rows import PendingEstimate, Row, after, finish, pending_of
from tacit.central.body import Body
from tacit.central.origin import ReleaseProvenance
from tacit.contract.schema import Schema, Service
from tacit.errors import UnknownNameError, UnsupportedSqlError
from tacit.estimate.answer import Answer, Options
from tacit.estimate.estimate import Estimate
from tacit.estimate.functional import Functional, Vector
from tacit.sql.bind import Bound, bind
from tacit.sql.composite import Leaf, leaves
from tacit.sql.explain import describe
from tacit.sql.formula import Formula
from tacit.sql.lookup import Dimension
from tacit.sql.parse import parse, without_explain
from tacit.sql.quantiles import Quantile
from tacit.sql.tables import scope_of, tables_of
from tacit.sql.totals import Total

__all__ = ["ask"]


def ask(body: Body, service: Service, dimensions: Mapping[str, Dimension], text: str, options: Options) -> Answer:
    """Answer a question from a release; after EXPLAIN, describe how it would be answered."""
    text, explain = without_explain(text)
    statement = parse(text)
    tables = tables_of(statement, text)
    for table in tables:
        if table.name.lower() not in (service.name.lower(), *dimensions):
            known = [service.name, *(dimension.name for dimension in dimensions.values())]
            raise UnknownNameError("table", table.name, known, code="unknown-table")
    scope = scope_of(tables, Schema([service]), text, dimensions)
    bound = bind(statement, scope)
    if bound.public or bound.conditions:
        raise _no_labels(text)
    if explain:
        return Answer(["explain"], [[line] for line in _explain(body, bound).splitlines()])
    rows: list[Row] = []
    for group in bound.groups():
        columns = bound.formulas(group)
        parts = [[_Pending(body, leaf, text, options) for leaf in leaves(column)] for column in columns]
        rows.append((group, bound.row(group, (), list(map(pending_of, columns, parts)))))
    shown = finish(bound, rows, options)
    names, shown, _ = label_rows(bound, shown)
    return Answer(names, shown, notes=_notes(body, bound, options), plan=lambda: _explain(body, bound))


def _no_labels(text: str) -> UnsupportedSqlError:
    message = "A release has no rounds, tiers or public columns. Ask about its attributes."
    return UnsupportedSqlError(message, code="unsupported-condition", text=text)


def _functional(total: Total, sizes: tuple[int, ...], text: str) -> Functional:
    if not total.pieces:
        return Functional(sizes, ())
    if total.functional is None:
        raise _no_labels(text)
    return total.functional


@dataclass(frozen=True, eq=False)
class _Pending(PendingEstimate):
    """A column of a row, to be estimated at a level."""

    body: Body
    leaf: Leaf
    text: str
    options: Options

    def at(self, level: float) -> Estimate:
        """Return the estimate; the number of rows is protected, so n is 0."""
        functionals = [_functional(total, self.body.sizes, self.text) for total in self.leaf.totals]
        if isinstance(self.leaf, Quantile):
            return self._quantile(self.leaf, functionals, level)
        return self._estimate(self.leaf, functionals, level)

    def _quantile(self, quantile: Quantile, functionals: list[Functional], level: float) -> Estimate:
        tests = np.array([self.body.value(functional) for functional in functionals])
        variances = interpolate(len(functionals), lambda i: self.body.covariance(functionals[i], functionals[i]))
        curve = Curve(quantile, tests, np.sqrt(np.maximum(variances, 0.0)), math.inf, 0)
        first, last = curve.reach(WIDE)
        places = spread(last + 1, FEW_CORRELATED, max(0, first - 1))

        def noise() -> Noise:
            return Noise(
                places,
                np.array([[self.body.covariance(functionals[i], functionals[j]) for j in places] for i in places]),
                (),
            )

        return curve.at(level, noise)

    def _estimate(self, formula: Formula, functionals: list[Functional], level: float) -> Estimate:
        if formula.inner is not None:
            return after(formula, self._estimate(formula.inner, functionals, level))
        values = [self.body.value(functional) for functional in functionals]
        matrix = np.array(
            [[self.body.covariance(functional, other) for other in functionals] for functional in functionals]
        )
        totals = formula.at(values, matrix if formula.corrects else None)
        result = formula.evaluate(totals)
        if not functionals:
            return Estimate(result.value, 0.0, 0, level)
        if not np.isfinite(result.gradient).all():
            return Estimate(result.value, np.nan, 0, level)
        origin = ReleaseProvenance(((self.body, _weighted_sum(functionals, result.gradient)),), level)
        error, freedom = origin.error()
        error = math.hypot(error, result.beyond)
        interval = None
        if formula.square or (formula.denominators and error > 0):

            def covariance(rows: Vector) -> Vector:
                return self._wider_covariance(rows @ matrix @ rows.T, [_weighted_sum(functionals, row) for row in rows])

            interval = uneven_interval(formula, totals, covariance, level, freedom)
            error = uneven_error(error, interval, level, freedom)
        return Estimate(result.value, error, 0, level, freedom, interval=interval, origin=origin)

    def _wider_covariance(self, matrix: Vector, functionals: list[Functional]) -> Vector:
        """Return the covariance of some estimates, whose variances are at least the squares of their stated errors."""
        known = np.sqrt(np.maximum(np.diag(matrix), 0.0))
        stated = np.array([self.body.deviation(functional)[0] for functional in functionals])
        widths = np.maximum(known, stated)
        scale = np.divide(widths, known, out=np.ones_like(known), where=known > 0)
        wider = matrix * np.multiply.outer(scale, scale)
        np.fill_diagonal(wider, widths**2)
        return np.asarray(wider)


def _weighted_sum(functionals: list[Functional], weights: Vector) -> Functional:
    """Return the weighted sum of functionals."""
    combined = Functional(functionals[0].sizes, ())
    for weight, functional in zip(weights, functionals, strict=True):
        combined = combined + functional.scaled(float(weight))
    return combined


def _notes(body: Body, bound: Bound, options: Options) -> list[str]:
    notes = bound.notes()
    threshold = getattr(body, "threshold", 0)
    if threshold:
        notes.append(f"cells with noisy counts below {threshold} were dropped; the people in them are not counted")
    elif not body.unbiased:
        evenly = "people are assumed to be spread evenly within boxes; errors include an estimate of what that misses"
        notes.append(getattr(body, "assumption", evenly))
    if options.simultaneous:
        notes.append(f"all intervals hold simultaneously at {options.confidence:.4g} (Bonferroni)")
    return notes


def _explain(body: Body, bound: Bound) -> str:
    evenly = getattr(body, "assumption", "people spread evenly inside boxes")
    lines = [f"release: {body.kind}, {'unbiased' if body.unbiased else evenly}"]
    totals = [
        total
        for group in bound.groups()[:12]
        for formula in bound.formulas(group)
        if formula
        for total in formula.totals
    ]
    return "\n".join([*lines, *(f"total {i}: {describe(bound.scope, total)}" for i, total in enumerate(totals[:12]))])
