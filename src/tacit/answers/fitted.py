"""Post-processed answers: the same questions, answered from tables fitted to all reports together.

The answers are never negative and add up, and questions may use more attributes than any view reports together. They
are biased: where the reports carry no information, the fit assumes smoothness or independence. So where the reports
have an unbiased estimate, errors come from that estimate, limited to possible values, around the fitted value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.answers.evidence import RoundSample, samples_of
from tacit.answers.fitted_quantiles import fitted_quantiles, quantile_anchors
from tacit.answers.labels import label_rows
from tacit.answers.people import People
from tacit.answers.rows import PendingEstimate, Row, finish, pending_of
from tacit.answers.run import unbiased_estimates
from tacit.errors import UnsupportedSqlError, UsageError
from tacit.estimate.answer import Answer, Options
from tacit.estimate.estimate import Estimate, t_quantile
from tacit.estimate.functional import Functional, Vector
from tacit.estimate.truncated import Truncated, open_interval
from tacit.model.bounds import ratio_bounds
from tacit.model.hidden import HiddenRange
from tacit.model.stored import Models
from tacit.sql.bind import Bound
from tacit.sql.composite import leaves
from tacit.sql.formula import Formula
from tacit.sql.quantiles import Quantile

__all__ = ["Models", "run_consistent"]

NOTE = (
    "post-processed: fitted to all views together, so values are biased towards smooth or independent attributes; "
    "errors are the model's own, widened by half of the unbiased error and by differences from the unbiased estimate "
    "(docs/glossary.md#consistent)"
)
ENTROPY = "tables of three attributes and more are the maximum-entropy tables given all pairs{}"
WIDER = " and from views of three attributes and more"
ASSUMED = (
    "some columns have no unbiased estimate: attributes that no view reports together are assumed independent given "
    "the rest (maximum entropy). Their intervals contain whatever the tables that views report leave possible"
)
SMOOTHED = (
    "the panel's rounds are fitted together: each is drawn towards its neighbours, so a sudden change looks smaller "
    "than it is; errors and intervals come from each round's own reports (docs/panels.md)"
)
LEFT = 0.5
"""Share of the unbiased error that stays in the error of a fitted value, however sure the model is of it.

Its square is multiplied by the share of the data that the fit does not follow: one less its variance over the unbiased.
"""

BENT = 0.25
"""Margin of the unbiased estimate of a curved column, relative to its value, above which its interval may be skewed."""

AT_ENDS = 2.0
"""Errors of an end of a hidden range that count as one: fits draw rare values towards nothing, and their errors too."""

NOTHING = HiddenRange(*np.zeros(4))
"""The hidden range of columns that views report."""

MOST_WIDE = 32
"""Columns over several attributes up to which the model's own errors are computed."""

APART = 4.0
"""Distance of a fitted value from the unbiased estimate, in standard errors, above which a note is added."""


def _check(bound: Bound, options: Options) -> None:
    """Refuse questions and options that models do not support."""
    if options.decoder != "blue" or options.superpopulation:
        message = "consistent=True cannot be combined with decoder= or superpopulation=. Remove them."
        raise UsageError(message, code="bad-option")
    if any(source.twin is not None for source in bound.scope.sources):
        message = (
            "The question joins a service with itself, which consistent=True does not support. "
            "Ask without consistent=True."
        )
        raise UnsupportedSqlError(message, code="not-consistent", text=bound.scope.text)


def run_consistent(bound: Bound, people: People, known: Models, options: Options, *, explain: bool) -> Answer:
    """Answer a bound question from the models of its rounds, or explain how."""
    _check(bound, options)
    groups = [(group, bound.formulas(group)) for group in bound.groups()]
    parts = [leaf for _, formulas in groups for formula in formulas for leaf in leaves(formula)]
    columns = [leaf for leaf in parts if isinstance(leaf, Formula)]
    ranked = [leaf for leaf in parts if isinstance(leaf, Quantile)]
    samples = samples_of(bound, people, known, parts)
    totals = tuple(total.key for column in parts for total in column.totals)  # they contain public tables
    key = tuple(sorted(people.reports)), bound.statement.sql(), totals
    stated: dict[tuple[Any, ...], dict[int, float]] = known.remember((key, "errors"), dict)
    anchors = known.remember(key, lambda: unbiased_estimates(bound, people, options, columns))
    curves = quantile_anchors(ranked, bound, people)
    rows: list[Row] = []
    fitted: list[_Fitted] = []
    for values in dict.fromkeys(values for sample in samples for values in sample.groups):
        unbiased = [None if anchor is None else anchor.get(values) for anchor in anchors]
        pending = _estimates(columns, samples, unbiased, values, stated)
        fitted += pending
        cells, quantiles = iter(pending), iter(fitted_quantiles(ranked, curves, samples, values))
        for group, formulas in groups:
            pending_leaves = [
                [next(cells if isinstance(leaf, Formula) else quantiles) for leaf in leaves(c)] for c in formulas
            ]
            rows.append(((*values, *group), bound.row(group, values, list(map(pending_of, formulas, pending_leaves)))))
    sets = sorted({face for sample in samples for face in sample.sets(parts)}, key=lambda face: (len(face), face))
    lines = _notes(samples, sets, fitted)

    def plan() -> str:
        few = [face for face in sets if len(face) < 3]
        methods = [f"{sample.names_of(face)}: {sample.model.how(face)}" for sample in samples for face in few]
        return "\n".join([*lines, *methods])

    if explain:
        return Answer(["explain"], [[line] for line in plan().splitlines()])
    names, shown, estimates = label_rows(bound, finish(bound, rows, options))
    return Answer(names, shown, notes=[*lines, *bound.notes()], plan=plan, estimates=estimates)


def _notes(samples: Sequence[RoundSample], sets: Sequence[tuple[int, ...]], fitted: Sequence[_Fitted]) -> list[str]:
    """Return the notes of a fitted answer."""
    many = [face for face in sets if len(face) > 2]
    wider = any(sample.model.faces(face) for sample in samples for face in many)
    lines = [NOTE, *([ENTROPY.format(WIDER if wider else "")] if many else [])]
    lines += [SMOOTHED] if any(sample.is_smoothed for sample in samples) else []
    lines += [ASSUMED] if any(cell.anchor is None for cell in fitted) else []
    alone = {sample.names_of(face) for sample in samples for face in sets if len(face) == 2 and sample.is_apart(face)}
    lines += [
        f"no view reports {text.replace(' × ', ' and ')} together: they are assumed independent, and intervals contain "
        "every dependence (docs/glossary.md#view)"
        for text in sorted(alone)
    ]
    few = [face for face in sets if len(face) < 3]
    weak = {sample.names_of(face) for sample in samples for face in few if sample.model.is_weak(face)}
    lines += [
        f"the reports carry almost no information about {text}: its table is an assumption" for text in sorted(weak)
    ]
    apart = sum(cell.is_apart for cell in fitted)
    if apart:
        lines.append(
            f"{apart} of {len(fitted)} fitted values differ from the unbiased estimate by more than {APART:.0f} "
            "standard errors: the model does not hold there. Ask without consistent=True for these"
        )
    return lines


def _estimates(
    columns: Sequence[Formula],
    samples: Sequence[RoundSample],
    anchors: Sequence[PendingEstimate | None],
    values: tuple[Any, ...],
    stated: dict[tuple[Any, ...], dict[int, float]],
) -> list[_Fitted]:
    """Return the columns' fitted values, each with the basis of its error: the unbiased estimate or the fit's error."""
    functionals_of = [[sample.functionals(column, values) for sample in samples] for column in columns]
    people = sum(sample.people_of(values) for sample in samples)
    results, slopes, bounds = [], [], []
    for column, by_sample in zip(columns, functionals_of, strict=True):
        totals = [0.0] * len(column.totals)
        for sample, functionals in zip(samples, by_sample, strict=True):
            means = sample.model.means(functionals) if functionals else []
            totals = [known + sample.model.people * mean for known, mean in zip(totals, means, strict=True)]
        result = column.evaluate(column.at(totals))
        slope = [_slope(result.gradient, functionals) for functionals in by_sample]
        results.append(result.value)
        slopes.append(slope)
        bounds.append(_bounds(column, by_sample, slope, samples, len(totals)))
    alone = [place for place, anchor in enumerate(anchors) if anchor is None]
    if values not in stated:
        needed = alone + [place for place in _quickly_known(slopes) if anchors[place] is not None]
        stated[values] = dict(zip(needed, _own_errors([slopes[place] for place in needed], samples), strict=True))
    errors = stated[values]
    hidden = dict(zip(alone, _hidden([slopes[place] for place in alone], samples), strict=True))
    return [
        _Fitted(
            value,
            errors.get(place, math.nan),
            people,
            anchors[place],
            bounds[place],
            hidden=hidden.get(place, NOTHING),
            linear=columns[place].is_linear,
            curved=not columns[place].is_linear and columns[place].quotient is None,
        )
        for place, value in enumerate(results)
    ]


def _slope(gradient: Vector, functionals: Sequence[Functional]) -> Functional | None:
    """Return the functional that is a column's linearisation; None where it has no gradient."""
    if not all(math.isfinite(weight) for weight in gradient):
        return None
    slope = Functional((), ())
    for weight, functional in zip(gradient, functionals, strict=False):
        slope = (slope if slope.sizes else Functional(functional.sizes, ())) + functional.scaled(float(weight))
    return slope


def _bounds(
    column: Formula,
    by_sample: Sequence[Sequence[Functional]],
    slopes: Sequence[Functional | None],
    samples: Sequence[RoundSample],
    count: int,
) -> tuple[float, float]:
    """Return the range in which a column must lie for any population."""
    if column.is_linear and None not in slopes:
        ends = [sample.bounds(slope) for sample, slope in zip(samples, slopes, strict=True) if slope is not None]
        fixed = column.evaluate(column.at([0.0] * count)).value
        return fixed + sum(low for low, _ in ends), fixed + sum(high for _, high in ends)
    if column.quotient is not None:  # AVG, and ratios of two totals
        scale, offset = column.quotient
        ends = [ratio_bounds(*functionals) for functionals in by_sample]
        low, high = sorted(scale * end + offset for end in (min(a for a, _ in ends), max(b for _, b in ends)))
        return low, high
    return -math.inf, math.inf


def _quickly_known(slopes: Sequence[Sequence[Functional | None]]) -> list[int]:
    """Return the columns whose errors the fit can state at once: of one attribute, or few."""
    widths = [
        max((len(term.factors) for slope in by_sample if slope for term in slope.terms), default=0)
        for by_sample in slopes
    ]
    several = [place for place, width in enumerate(widths) if width > 1]
    return [place for place, width in enumerate(widths) if width == 1 or len(several) <= MOST_WIDE]


def _own_errors(slopes: Sequence[Sequence[Functional | None]], samples: Sequence[RoundSample]) -> list[float]:
    """Return the errors of the fit, by the delta method; models are independent of each other."""
    squares = [0.0] * len(slopes)
    for number, sample in enumerate(samples) if slopes else ():
        errors = sample.model.errors([by_sample[number] or Functional((), ()) for by_sample in slopes])
        squares = [
            known + (sample.model.people * error) ** 2 + sample.asked_variance(by_sample[number] or Functional((), ()))
            for known, error, by_sample in zip(squares, errors, slopes, strict=True)
        ]
    return [
        math.nan if None in by_sample else math.sqrt(square) for by_sample, square in zip(slopes, squares, strict=True)
    ]


def _hidden(slopes: Sequence[Sequence[Functional | None]], samples: Sequence[RoundSample]) -> list[HiddenRange]:
    """Return by how much columns can be below and above their fitted values, given what views report together."""
    ends, squares = np.zeros((2, len(slopes))), np.zeros((2, len(slopes)))
    for number, sample in enumerate(samples) if slopes else ():
        hidden = sample.model.hidden([by_sample[number] or Functional((), ()) for by_sample in slopes])
        ends += sample.model.people * np.stack([hidden.low, hidden.high])
        squares += np.square(sample.model.people * np.stack([hidden.low_error, hidden.high_error]))
    return [HiddenRange(*end, *error) for end, error in zip(ends.T, np.sqrt(squares).T, strict=True)]


@dataclass(frozen=True)
class _Fitted(PendingEstimate):
    """A column's fitted value, at a level that is not known yet, and the basis of its error.

    Where the reports have an unbiased estimate, the stated error has three parts: the fit's own error, which assumes
    that the model is right; a share of the unbiased error, because it may be wrong, unless the fit follows the reports:
    then its error is already theirs; and by how much the two estimates differ beyond the unbiased error. Where these
    exceed the unbiased error, all possible values that the unbiased estimate does not exclude are covered instead, or,
    if that is less, what lies within the unbiased error and the difference. So they are for ``curved`` columns, such as
    standard deviations: the error of the fit is that of a tangent, which says little where the curve bends. Where it
    bends much, only the first of the two holds. Without an unbiased estimate the error is the fit's own, and
    whatever the tables of views leave possible is covered too: ``hidden`` says how far that is below and above.
    """

    value: float
    error: float
    people: int
    anchor: PendingEstimate | None
    bounds: tuple[float, float]
    linear: bool
    curved: bool
    hidden: HiddenRange = NOTHING

    def at(self, level: float) -> Estimate:
        """Return the estimate."""
        if self.anchor is None:
            if math.isnan(self.error):
                return Estimate(self.value, math.nan, self.people, level, interval=self.bounds)
            hidden, fitted = self.hidden, np.array(self.error)
            error, quantile = float(hidden.error(fitted)), t_quantile(0.5 + level / 2, math.inf)
            if error == self.error:
                return self._with_error(error, level, math.inf)
            low, high = (AT_ENDS * np.maximum(end, fitted) for end in (hidden.low_error, hidden.high_error))
            ends = self.value + hidden.low - quantile * low, self.value + hidden.high + quantile * high
            interval = self._inside(float(ends[0])), self._inside(float(ends[1]))
            return Estimate(self.value, error, self.people, level, interval=interval)
        anchor = self.anchor.at(level)
        if anchor.error == 0 and anchor.value == anchor.value:
            return Estimate(anchor.value, 0.0, self.people, level)
        if math.isnan(self.value):  # the fit has nobody to average over
            ends = self._inside(anchor.low), self._inside(anchor.high)
            return Estimate(math.nan, math.nan, self.people, level, anchor.freedom, interval=ends)
        quantile = t_quantile(0.5 + level / 2, anchor.freedom)
        centre, error = anchor.value, anchor.error
        if not self.linear:
            centre, error = (anchor.low + anchor.high) / 2, anchor.margin / quantile
        apart = self.value - self._inside(centre)
        followed = min(1.0, (self.error / error) ** 2) if error else 1.0
        least = math.hypot(self.error, LEFT * error * math.sqrt(1 - followed))
        sure = math.hypot(least, math.sqrt(max(0.0, apart**2 - error**2)))
        bends = self.curved and not anchor.margin <= BENT * abs(anchor.value)
        if sure <= error < math.inf and not self.curved:
            return self._with_error(sure, level, anchor.freedom)
        low, high = self._around(quantile * min(least, error) if math.isfinite(least) else 0.0)
        left, right = open_interval(centre, error, self.bounds, level, quantile)
        low, high = min(low, left), max(high, right)
        reached = self._around(quantile * math.hypot(error, apart))
        if not bends and reached[1] - reached[0] < high - low:
            low, high = reached
        error = Truncated.of(centre, error, *self.bounds).error_around(self.value)
        return Estimate(self.value, error, self.people, level, anchor.freedom, interval=(low, high))

    @property
    def is_apart(self) -> bool:
        """Whether the fitted value contradicts the unbiased estimate."""
        if self.anchor is None:
            return False
        anchor = self.anchor.at(0.95)
        return anchor.error > 0 and abs(self.value - self._inside(anchor.value)) > APART * anchor.error

    def _with_error(self, error: float, level: float, freedom: float) -> Estimate:
        """Return the estimate with an error; its interval ends at the possible values."""
        plain = Estimate(self.value, error, self.people, level, freedom)
        ends = self._inside(plain.low), self._inside(plain.high)
        if ends == (plain.low, plain.high):
            return plain
        return Estimate(self.value, error, self.people, level, freedom, interval=ends)

    def _around(self, margin: float) -> tuple[float, float]:
        return self._inside(self.value - margin), self._inside(self.value + margin)

    def _inside(self, end: float) -> float:
        return min(max(end, self.bounds[0]), self.bounds[1])
