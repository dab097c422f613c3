"""Post-processed answers: the same questions, asked of tables fitted to all reports together.

They are never negative and add up, and questions may look at more attributes than any view shows. They are biased: what
reports do not tell is assumed to be smooth, or independent. So errors do not rest on the fit where the reports have an
unbiased estimate: they are what that estimate leaves open about a possible number, around the fitted value.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.answers.fitted_quantiles import fitted_quantiles
from tacit.answers.people import People
from tacit.answers.rows import Pending, Row, finished, pending_of
from tacit.answers.run import unbiased_estimates
from tacit.engines.base import Engine
from tacit.errors import UnsupportedSqlError, UsageError
from tacit.estimate.answer import Answer, Options
from tacit.estimate.estimate import Estimate, t_quantile
from tacit.estimate.functional import Functional, Term, Vector
from tacit.estimate.truncated import Truncated, open_interval
from tacit.model.fit.bounds import mean_bounds, ratio_bounds
from tacit.model.fit.fitted_model import FittedModel
from tacit.model.stored import code_counts
from tacit.model.views import Counts
from tacit.sql.bind import Bound
from tacit.sql.composite import Leaf, leaves
from tacit.sql.formula import Formula
from tacit.sql.plan import ReportSource
from tacit.sql.quantiles import Quantile

__all__ = ["Models", "run_consistent"]

NOTE = (
    "post-processed: fitted to all views together, so values are biased towards smooth or independent attributes; "
    "errors and intervals come from the unbiased estimates of the same reports, limited to possible values "
    "(docs/glossary.md#consistent)"
)
ENTROPY = "three attributes and more: by maximum entropy from all pairs{}"
WIDER = " and from views of three attributes and more"
ASSUMED = (
    "some columns have no unbiased estimate: attributes that no view reports together are assumed independent given "
    "the rest (maximum entropy). Their errors come from the fit, and cover neither this assumption nor a poor fit"
)


def _check(bound: Bound, options: Options) -> None:
    """Refuse questions that tables of one service cannot answer."""
    if options.decoder != "blue" or options.superpopulation:
        message = "consistent=True cannot be combined with decoder= or superpopulation=. Remove them."
        raise UsageError(message, code="bad-option")
    scope, reason = bound.scope, ""
    if len(scope.sources) > 1:
        reason = "joins services"
    elif not scope.sources[0].service.one_to_one or scope.sources[0].service.extras:
        reason = f"is about {scope.sources[0].service.name}, where a person may have no row or several"
    elif bound.public or bound.conditions or _looks_at_public(bound):
        reason = "uses public columns"
    if reason:
        message = f"The question {reason}, which consistent=True does not support. Ask without consistent=True."
        raise UnsupportedSqlError(message, code="not-consistent", text=scope.text)


def _looks_at_public(bound: Bound) -> bool:
    formulas = [made for group in bound.groups()[:1] for made in bound.formulas(group) if made]
    return any(not total.is_plain for made in formulas for total in made.totals)


class Models:
    """The model of each service's reports, kept as long as the counts of their codes are the same."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._models: dict[str, FittedModel] = {}
        self._lock = threading.Lock()

    def of(self, stored: ReportSource) -> FittedModel:
        """Return the model of a service's reports; it fits a table when a question first needs it."""
        counts = code_counts(self._engine, stored.table, rollup=stored.rollup is not None)
        with self._lock:  # two who ask at once wait for one model
            model = self._models.get(stored.table)
            if model is None or not _are_equal(model.counts, counts):
                model = self._models[stored.table] = FittedModel(stored.service, counts)
            return model


def _are_equal(left: Counts, right: Counts) -> bool:
    return left.keys() == right.keys() and all(
        np.array_equal(left[channel][part], right[channel][part]) for channel in left for part in (0, 1)
    )


def run_consistent(bound: Bound, people: People, known: Models, options: Options, *, explain: bool = False) -> Answer:
    """Answer a bound question from the models of its rounds or tiers, or explain how."""
    _check(bound, options)
    models = [known.of(one.stored[0]) for one in people.rounds]
    asked = [(group, bound.formulas(group)) for group in bound.groups()]
    parts = [leaf for _, formulas in asked for made in formulas for leaf in leaves(made)]
    columns = [leaf for leaf in parts if isinstance(leaf, Formula)]
    anchors = unbiased_estimates(bound, people, options, columns)
    pending = iter(_estimates(columns, bound.scope.sizes, models, anchors))
    ranked = iter(fitted_quantiles([leaf for leaf in parts if isinstance(leaf, Quantile)], people, models))
    rows: list[Row] = []
    for group, formulas in asked:
        own = [[next(pending if isinstance(leaf, Formula) else ranked) for leaf in leaves(made)] for made in formulas]
        rows.append((group, bound.row(group, (), list(map(pending_of, formulas, own)))))
    terms = [term for functional in _functionals(parts, bound.scope.sizes) for term in functional.terms]
    used = sorted({pair for term in terms for pair in _tables(term)}, key=lambda table: (len(table), table))
    many = {tuple(sorted(term.factors)) for term in terms if len(term.factors) > 2}
    wider = any(model.wider.faces(attributes) for model in models for attributes in many)
    lines = [NOTE, *([ENTROPY.format(WIDER if wider else "")] if many else [])]
    lines += [ASSUMED] if None in anchors else []

    names = [attribute.name for attribute in bound.scope.sources[0].service.sensitive]
    alone = sorted({t for model in models for t in used if not model.together(t)})
    lines += [
        f"no view reports {' and '.join(names[i] for i in t)} together: they are assumed independent. No error is "
        "stated, because none would cover that; the interval is the range of possible values (docs/glossary.md#view)"
        for t in alone
    ]
    weak = sorted({t for model in models for t in used if model.is_weak(t)})
    lines += [
        f"the reports carry almost no information about {' × '.join(names[i] for i in t)}: its table is an assumption"
        for t in weak
    ]

    def plan() -> str:
        told = [f"{' × '.join(names[i] for i in t)}: {model.how(t)}" for model in models for t in used]
        return "\n".join([*lines, *told])

    if explain:
        return Answer(["explain"], [[line] for line in plan().splitlines()])
    return Answer(
        bound.names,
        finished(bound, rows, options),
        notes=[*lines, *bound.notes()],
        plan=plan,
        estimates=[name for place, name in enumerate(bound.names) if not bound.is_key(place)],
    )


def _tables(term: Term) -> list[tuple[int, ...]]:
    """Return the tables that a term is read from."""
    return list(itertools.combinations(sorted(term.factors), min(2, len(term.factors)))) if term.factors else []


def _functionals(columns: Sequence[Leaf], sizes: tuple[int, ...]) -> list[Functional]:
    return [total.functional or Functional(sizes, ()) for made in columns for total in made.totals]


def _estimates(
    columns: Sequence[Formula], sizes: tuple[int, ...], models: Sequence[FittedModel], anchors: Sequence[Pending | None]
) -> list[_Fitted]:
    """Return the columns' fitted values, each with what bounds its error: the unbiased estimate, or the fit's error."""
    functionals = _functionals(columns, sizes)
    totals = [0.0] * len(functionals)
    for model in models:
        start = 0
        for made in columns:  # the totals of a column are of one table, so that an average is one of its values
            own = slice(start, start := start + len(made.totals))
            means = model.means(functionals[own])
            totals[own] = [known + model.people * mean for known, mean in zip(totals[own], means, strict=True)]
    people, start = sum(model.people for model in models), 0
    values, slopes, bounds = [], [], []
    for made in columns:
        own = slice(start, start := start + len(made.totals))
        result = made.evaluate(made.at(totals[own]))
        slope = _slope(result.gradient, functionals[own], sizes)
        values.append(result.value)
        slopes.append(slope)
        bounds.append(_bounds(made, totals[own], functionals[own], slope, people))
    unanchored = [place for place, anchor in enumerate(anchors) if anchor is None]
    errors = dict(zip(unanchored, _own_errors([slopes[place] for place in unanchored], sizes, models), strict=True))
    errors |= {place: math.nan for place in unanchored if _is_assumed(columns[place], sizes, models)}
    return [
        _Fitted(value, errors.get(place, math.nan), people, anchors[place], bounds[place], linear=made.is_linear)
        for place, (made, value) in enumerate(zip(columns, values, strict=True))
    ]


def _is_assumed(made: Formula, sizes: tuple[int, ...], models: Sequence[FittedModel]) -> bool:
    """Tell whether a column looks at two attributes that some model's views do not show together: nothing bounds it."""
    pairs = {pair for one in _functionals([made], sizes) for term in one.terms for pair in _tables(term)}
    return any(not model.together(pair) for model in models for pair in pairs)


def _slope(gradient: Vector, functionals: Sequence[Functional], sizes: tuple[int, ...]) -> Functional | None:
    """Return the functional whose total changes as a column does; None where it has no gradient."""
    if not all(math.isfinite(weight) for weight in gradient):
        return None
    slope = Functional(sizes, ())
    for weight, functional in zip(gradient, functionals, strict=False):
        slope = slope + functional.scaled(float(weight))
    return slope


def _bounds(
    made: Formula, totals: Sequence[float], functionals: Sequence[Functional], slope: Functional | None, people: int
) -> tuple[float, float]:
    """Return between which numbers a column lies, whatever the people are like."""
    if made.is_linear and slope is not None:
        low, high = mean_bounds(slope)
        fixed = made.evaluate(made.at([0.0] * len(totals))).value
        return fixed + people * low, fixed + people * high
    if made.numerator is not None and len(functionals) == 2 and made.affine[0]:  # AVG, and ratios of two totals
        scale, offset = made.affine
        low, high = sorted(scale * end + offset for end in ratio_bounds(*functionals))
        return low, high
    return -math.inf, math.inf


def _own_errors(
    slopes: Sequence[Functional | None], sizes: tuple[int, ...], models: Sequence[FittedModel]
) -> list[float]:
    """Return the errors of the fit, by the delta method; models are independent of each other."""
    squares = [0.0] * len(slopes)
    for model in models if slopes else ():
        found = model.errors([slope or Functional(sizes, ()) for slope in slopes])
        squares = [known + (model.people * error) ** 2 for known, error in zip(squares, found, strict=True)]
    return [math.nan if slope is None else math.sqrt(square) for slope, square in zip(slopes, squares, strict=True)]


@dataclass(frozen=True)
class _Fitted(Pending):
    """A column's fitted value, at a level that is not known yet, and what bounds its error.

    Where the reports have an unbiased estimate, the stated error is what that leaves open about the truth within its
    bounds, around the fitted value; the fit's own error assumes that its model is right, and is stated elsewhere.
    """

    value: float
    error: float
    people: int
    anchor: Pending | None
    bounds: tuple[float, float]
    linear: bool

    def at(self, level: float) -> Estimate:
        """Return the estimate."""
        if self.anchor is None:
            if math.isnan(self.error):
                return Estimate(self.value, math.nan, self.people, level, interval=self.bounds)
            quantile = t_quantile(0.5 + level / 2, math.inf)
            ends = (self._inside(self.value - quantile * self.error), self._inside(self.value + quantile * self.error))
            return Estimate(self.value, self.error, self.people, level, interval=ends)
        anchor = self.anchor.at(level)
        if anchor.error == 0 and anchor.value == anchor.value:
            return Estimate(anchor.value, 0.0, self.people, level)
        quantile = t_quantile(0.5 + level / 2, anchor.freedom)
        centre, error = anchor.value, anchor.error
        if not self.linear:
            centre, error = (anchor.low + anchor.high) / 2, anchor.margin / quantile
        low, high = open_interval(centre, error, self.bounds, level, quantile)
        error = Truncated.of(centre, error, *self.bounds).error_around(self.value)
        interval = min(low, self.value), max(high, self.value)
        return Estimate(self.value, error, self.people, level, anchor.freedom, interval=interval)

    def _inside(self, end: float) -> float:
        return min(max(end, self.bounds[0]), self.bounds[1])
