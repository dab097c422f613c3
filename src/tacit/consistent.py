"""Post-processed answers: the same questions, asked of tables fitted to all reports together.

They are never negative and add up, and questions may look at more attributes than any view shows. They are biased: what
reports do not tell is assumed to be smooth, or independent. Their errors are posterior errors of the fit.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.answer import Answer, Options
from tacit.decode.functional import Functional, Term
from tacit.engines.base import Engine
from tacit.errors import UnsupportedSqlError, UsageError
from tacit.estimate import Estimate
from tacit.fit.model import Model
from tacit.marginals.stored import code_counts
from tacit.rows import Row, finished
from tacit.sql.bind import Bound
from tacit.sql.formula import Formula
from tacit.sql.plan import Round, Stored

__all__ = ["Models", "run_consistent"]

NOTE = (
    "post-processed: fitted to all views together, so estimates are biased towards smooth or independent attributes; "
    "errors are those of the fit, if what it assumes holds"
)
ENTROPY = "three attributes and more: by maximum entropy from all pairs{}"
WIDER = ", and from what views that show three and more say beyond them"


def _check(bound: Bound, options: Options) -> None:
    """Refuse questions that tables of one service cannot answer."""
    if options.decoder != "blue" or options.superpopulation:
        message = "consistent=True has its own decoder and errors. Leave decoder= and superpopulation= out."
        raise UsageError(message, code="bad-option")
    scope, reason = bound.scope, ""
    if len(scope.sources) > 1:
        reason = "joins services"
    elif not scope.sources[0].service.one_to_one or scope.sources[0].service.extras:
        reason = f"is about {scope.sources[0].service.name}, of which people may have no row or several"
    elif bound.public or bound.conditions or _looks_at_public(bound):
        reason = "looks at public columns"
    if reason:
        message = f"The question {reason}; consistent answers are about one row each. Ask without consistent=True."
        raise UnsupportedSqlError(message, code="not-consistent", text=scope.text)


def _looks_at_public(bound: Bound) -> bool:
    formulas = [made for made in bound.formulas(bound.groups()[0]) if made]
    return any(not total.is_plain for made in formulas for total in made.totals)


class Models:
    """What the reports of each service say together, kept until reports come or go."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[str, tuple[int, Model]] = {}
        self._door = threading.Lock()

    def clear(self) -> None:
        """Forget all models: there are other reports."""
        self._known.clear()

    def of(self, stored: Stored) -> Model:
        """Return the model of a service's reports; it fits a table when a question first needs it."""
        counting = f'SELECT count(*) AS "0n" FROM "{stored.table}"'  # noqa: S608  a name of ours
        [count] = self._engine.fetch(counting, [], {}).column("0n").to_pylist()
        with self._door:  # two who ask at once wait for one model
            known = self._known.get(stored.table)
            if known is None or known[0] != count:  # another program may have loaded reports
                counts = code_counts(self._engine, stored.table, rollup=stored.rollup is not None)
                known = self._known[stored.table] = count, Model(stored.service, counts)
            return known[1]


def run_consistent(
    bound: Bound, rounds: Sequence[Round], known: Models, options: Options, *, explain: bool = False
) -> Answer:
    """Answer a bound question from the models of its rounds or tiers, or explain how."""
    _check(bound, options)
    models = [known.of(one.stored[0]) for one in rounds]
    asked = [(group, bound.formulas(group)) for group in bound.groups()]
    columns = [made for _, formulas in asked for made in formulas if made]
    pending = iter(_estimates(columns, bound.scope.sizes, models))
    rows: list[Row] = [
        (group, bound.row(group, (), [next(pending) if f else None for f in formulas])) for group, formulas in asked
    ]
    terms = [term for functional in _functionals(columns, bound.scope.sizes) for term in functional.terms]
    used = sorted({pair for term in terms for pair in _tables(term)}, key=lambda table: (len(table), table))
    many = {tuple(sorted(term.factors)) for term in terms if len(term.factors) > 2}
    wider = any(model.wider.faces(attributes) for model in models for attributes in many)
    lines = [NOTE, *([ENTROPY.format(WIDER if wider else "")] if many else [])]

    names = [attribute.name for attribute in bound.scope.sources[0].service.sensitive]
    alone = sorted({t for model in models for t in used if not model.together(t)})
    lines += [f"no view shows {' and '.join(names[i] for i in t)} together: taken as independent" for t in alone]
    weak = sorted({t for model in models for t in used if model.is_weak(t)})
    lines += [f"reports say next to nothing of {' and '.join(names[i] for i in t)}: errors are too small" for t in weak]

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


def _functionals(columns: Sequence[Formula], sizes: tuple[int, ...]) -> list[Functional]:
    return [total.functional or Functional(sizes, ()) for made in columns for total in made.totals]


def _estimates(columns: Sequence[Formula], sizes: tuple[int, ...], models: Sequence[Model]) -> list[_Fitted]:
    """Return what all columns are, with errors: by the delta method, and independent of each other over models."""
    functionals = _functionals(columns, sizes)
    totals = [0.0] * len(functionals)
    for model in models:
        start = 0
        for made in columns:  # the totals of a column are of one table, so that an average is one of its values
            own = slice(start, start := start + len(made.totals))
            means = model.means(functionals[own])
            totals[own] = [known + model.people * mean for known, mean in zip(totals[own], means, strict=True)]
    people, start = sum(model.people for model in models), 0
    values, slopes = [], []
    for made in columns:
        own = slice(start, start := start + len(made.totals))
        result = made.evaluate(made.at(totals[own]))
        slope = None
        if all(math.isfinite(weight) for weight in result.gradient):
            slope = Functional(sizes, ())
            for weight, functional in zip(result.gradient, functionals[own], strict=False):
                slope = slope + functional.scaled(float(weight))
        values.append(result.value)
        slopes.append(slope)
    squares = [0.0] * len(columns)
    for model in models:
        found = model.errors([slope or Functional(sizes, ()) for slope in slopes])
        squares = [known + (model.people * error) ** 2 for known, error in zip(squares, found, strict=True)]
    errors = [math.nan if slope is None else math.sqrt(square) for slope, square in zip(slopes, squares, strict=True)]
    return [_Fitted(value, error, people) for value, error in zip(values, errors, strict=True)]


@dataclass(frozen=True)
class _Fitted:
    """A column's value and error, at a level that is not known yet."""

    value: float
    error: float
    people: int

    def at(self, level: float) -> Estimate:
        """Return the estimate."""
        return Estimate(self.value, self.error, self.people, level)
