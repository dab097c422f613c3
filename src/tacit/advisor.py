"""The error of an answer before anything is collected, and the people that an error takes.

The exact variance of the contributions is averaged over records with independent attributes: uniform ones, or with the
frequencies of a sample. A column of a question is arithmetic of totals; its error is that of the one functional that
its gradient makes of them, because decoding is linear.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tacit.answer import Answer, Options
from tacit.contract import Contract, ServiceContract
from tacit.decode.decoder import Decoder
from tacit.decode.functional import Functional, Vector
from tacit.decode.variance import (
    expected_variance,
    rounding_variance,
    uniform_frequencies,
    with_derived_frequencies,
)
from tacit.encode.tables import as_table
from tacit.encode.values import reader_of
from tacit.errors import UnanswerableError, UnsupportedSqlError, UsageError
from tacit.estimate import Estimate
from tacit.randomness import insecure_rng
from tacit.sql.bind import Bound, bind
from tacit.sql.formula import Formula
from tacit.sql.parse import parse, without_explain
from tacit.sql.tables import scope_of, tables_of
from tacit.sql.totals import Total

__all__ = ["people_for", "predict"]

MOST_PEOPLE = 10**12


def predict(contract: Contract, text: str, *, users: int, like: Any, options: Options) -> Answer:
    """Return the answer that could be expected from a number of people, with its error."""
    if isinstance(users, bool) or not isinstance(users, int) or not 1 <= users <= MOST_PEOPLE:
        message = "users must be a whole number of people, from 1 to 10**12."
        raise UsageError(message, code="bad-option")
    expected = _Expectation(contract, text, like, options)
    rows = expected.rows(users)
    selection = expected.bound.selection
    shown = [row[: len(expected.bound.names)] for row in (selection.apply(rows) if selection.selects else rows)]
    assumed = "uniform attributes" if like is None else "the given frequencies"
    notes = [f"expected from {users:,} people, assuming {assumed}, independent of each other"]
    return Answer(expected.bound.names, shown, notes=[*notes, *expected.bound.notes()])


def people_for(
    contract: Contract, text: str, *, error: float | None, relative: float | None, like: Any, options: Options
) -> int:
    """Return the number of people at which the standard error is as asked for, by bisection over powers of ten."""
    target = error if error is not None else relative
    if isinstance(target, bool) or not isinstance(target, int | float) or not 0 < target < math.inf:
        message = "Give users=, a number of people, or else error= or relative=, a positive number."
        raise UsageError(message, code="bad-option")
    expected = _Expectation(contract, text, like, options)

    def log_error(people: float) -> float:
        cells = [cell for row in expected.rows(round(people)) for cell in row if isinstance(cell, Estimate)]
        first = [cell.error if relative is None else cell.error / abs(cell.value or math.nan) for cell in cells]
        worst = max((value for value in first if math.isfinite(value)), default=0.0)
        if worst <= 0:
            message = "The answer is known without error, or its error cannot be foretold, for any number of people."
            raise UnanswerableError(message, code="not-predictable")
        return math.log(worst / target)

    found = _crossing(log_error)
    if not 1 <= found <= MOST_PEOPLE:
        side = "fewer than one person" if found < 1 else f"more than {MOST_PEOPLE:,} people"
        message = f"That error would take {side}. Ask for another error, or change the collection."
        raise UnanswerableError(message, code="not-predictable")
    return math.ceil(found) if log_error(1e6) > log_error(1e8) else math.floor(found)


def _crossing(log_error: Callable[[float], float]) -> float:
    """Return where an error that is nearly a power of the people crosses its target."""
    people = 1e6
    slope = (log_error(1e8) - log_error(1e6)) / math.log(100)
    for _ in range(8):
        step = math.exp(-log_error(people) / slope) if slope else math.inf
        people *= step
        if not 1 <= people <= MOST_PEOPLE or abs(step - 1) < 1e-9:
            break
    return people


class _Expectation:
    """A question bound to a contract, and what the attributes are assumed to be."""

    def __init__(self, contract: Contract, text: str, like: Any, options: Options) -> None:
        text, _ = without_explain(text)
        statement = parse(text)
        tables = tables_of(statement, text)
        for table in tables:
            contract[table.name]
        self.bound: Bound = bind(statement, scope_of(tables, contract.schema, text))
        if len(self.bound.scope.sources) > 1:
            message = "Errors of joins cannot be foretold yet. Ask about one service."
            raise UnsupportedSqlError(message, code="not-predictable", text=text)
        service = contract[tables[0].name]
        if service.service.extras:
            message = "Errors of services whose people may have no row, or several, cannot be foretold yet."
            raise UnsupportedSqlError(message, code="not-predictable", text=text)
        if self.bound.conditions or self.bound.public:
            raise _public_unknown(text)
        self._text, self._options = text, options
        self._frequencies = uniform_frequencies(service) if like is None else _frequencies(service, like)
        self._decoder = Decoder(service, options.decoder)
        self._formulas = [(group, self.bound.formulas(group)) for group in self.bound.groups()]
        self._variances: dict[Any, float] = {}

    def rows(self, users: int) -> list[list[Any]]:
        """Return the rows that this many people would give."""
        return [
            self.bound.row(group, (), [self._estimate(f, users) if f else None for f in formulas])
            for group, formulas in self._formulas
        ]

    def _estimate(self, made: Formula, users: int) -> Estimate:
        functionals = [self._functional(total) for total in made.totals]
        means = [users * _mean(functional, self._frequencies) for functional in functionals]
        result = made.evaluate(made.at(means))
        confidence = self._options.confidence
        if not functionals:
            return Estimate(result.value, 0.0, users, confidence)
        if math.isnan(result.value) or not np.isfinite(result.gradient).all():
            return Estimate(math.nan, math.nan, users, confidence)
        combined = Functional(functionals[0].sizes, ())
        for weight, functional in zip(result.gradient, functionals, strict=True):
            combined = combined + functional.scaled(float(weight))
        service = self._decoder.service
        variance = expected_variance(service, self._decoder.decode(combined), self._frequencies)
        variance += rounding_variance(service, combined, self._frequencies)
        return Estimate(result.value, math.sqrt(max(0.0, users * variance)), users, confidence)

    def _functional(self, total: Total) -> Functional:
        if total.functional is None and total.pieces:
            raise _public_unknown(self._text)
        return total.functional or Functional(self.bound.scope.sizes, ())


def _public_unknown(text: str) -> UnsupportedSqlError:
    message = "Public columns are not known before collecting. Ask without them."
    return UnsupportedSqlError(message, code="public-not-known", text=text)


def _mean(functional: Functional, frequencies: list[Vector]) -> float:
    return sum(
        term.coefficient * math.prod(float(vector @ frequencies[i]) for i, vector in term.factors.items())
        for term in functional.terms
    )


def _frequencies(service: ServiceContract, like: Any) -> list[Vector]:
    """Return the frequencies of values in a sample table, or as given: attribute -> a weight for each value."""
    if isinstance(like, Mapping) and service.service.key not in like:
        return _given_frequencies(service, like)
    table = as_table(service.service, like)
    found = []
    for i, attribute in enumerate(service.service.sensitive):
        reader = reader_of(service.service.name, attribute)
        column = table.column(attribute.name).combine_chunks()
        draws = insecure_rng(i).draws(len(column)) if i in service.dithered else None
        values = reader.values(*reader.positions(column, 0), draws)
        found.append(np.bincount(values, minlength=attribute.size) / len(column))
    return with_derived_frequencies(service, found)


def _given_frequencies(service: ServiceContract, like: Mapping[str, Any]) -> list[Vector]:
    names = [attribute.name for attribute in service.service.sensitive]
    found = uniform_frequencies(service)[: len(names)]
    for name, weights in like.items():
        if name not in names:
            message = f"like: {str(name)[:60]!r} is no sensitive attribute. Attributes: {', '.join(names)}."
            raise UsageError(message, code="bad-option")
        place = names.index(name)
        given = np.asarray(weights, dtype=np.float64)
        if given.shape != found[place].shape or not (given >= 0).all() or not 0 < given.sum() < math.inf:
            message = f"like: {name} needs one weight, 0 or more, for each of its {len(found[place])} values."
            raise UsageError(message, code="bad-option")
        found[place] = given / given.sum()
    return with_derived_frequencies(service, found)
