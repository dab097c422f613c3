"""Synthetic people: one row in each one-to-one service, several in one-to-many services, and public columns.

All are drawn from the model that answers SQL over the join. The one-to-one rows are drawn first, beginning with the
public columns. Given these, every place for a row of another service is filled or left empty; otherwise the rows of a
person are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from sqlglot import exp

from tacit.answers.evidence import RoundSample, samples_of
from tacit.answers.question import Question
from tacit.contract.schema import Service
from tacit.errors import UnanswerableError, UnsupportedSqlError
from tacit.estimate.functional import Vector
from tacit.model.questions import check_rows
from tacit.model.stored import Models
from tacit.model.synthesis import Ints, Progress, Sampler
from tacit.sql.syntax import column, count_people, group_by, select, table, with_alias
from tacit.sql.vectors import shown_value

__all__ = ["synthetic_people"]

R = TypeVar("R")

Types = Callable[[str], Mapping[str, pa.DataType]]
"""From a service to the types of its key and public columns."""


def _question_of(services: Sequence[Service], *, public: bool) -> str:
    """Return the question that counts the people of the services, by all public columns or by none."""
    keys = [column(attribute.name, service.name) for service in services for attribute in service.public if public]
    first, *others = services
    query = select([*keys, with_alias(count_people(), "n")], table(first.name))
    for other in others:
        query.append("joins", exp.Join(this=table(other.name), using=[exp.to_identifier(first.key, quoted=True)]))
    return group_by(query, [key.copy() for key in keys]).sql(dialect="duckdb")


def synthetic_people(
    ask: Callable[[str], Question[R]],
    known: Models,
    services: Sequence[Service],
    count: int,
    seed: int | None,
    types: Types,
    progress: Progress | None,
) -> tuple[dict[str, pa.Table], list[R]]:
    """Return the rows of ``count`` synthetic people in each service, and the rounds they come from."""
    check_rows(count, seed)
    question = ask(_question_of(services, public=True))
    try:
        [sample, *others] = samples_of(question.bound, question.people, known, (), every=True)
    except UnsupportedSqlError:  # too many combinations of public values for a model
        question = ask(_question_of(services, public=False))
        [sample, *others] = samples_of(question.bound, question.people, known, (), every=True)
    if others or sample.designs:
        message = "A panel asks only some people in each round, so nobody has all rows. Query it with SQL."
        raise UnanswerableError(message, code="no-tables")
    return _Drawing(sample, count, np.random.default_rng(seed), progress).tables(types), question.rounds


class _Drawing:
    """Draws the people of one model."""

    def __init__(self, sample: RoundSample, count: int, rng: np.random.Generator, progress: Progress | None) -> None:
        self._sample, self._model, self._count, self._rng = sample, sample.model, count, rng
        self._services, self._first = sample.services.services, sample.services.first
        self._public = len(self._model.attributes) - 1
        sizes = {i: attribute.size for i, attribute in enumerate(self._model.attributes)}
        drawn = {i: sizes[i] for number in range(len(self._services)) for i in self._places(number)}
        every = drawn | {self._public: sizes[self._public]}
        self._sampler = Sampler(every, self._table, rng, progress, len(drawn))

    def _places(self, number: int) -> range:
        """Return the places of a service's attributes in the model."""
        first = self._first[number]
        return range(first, first + len(self._services[number].service.sensitive))

    def _table(self, attributes: Sequence[int]) -> Vector:
        table = self._model.table(attributes)
        return np.asarray(table / table.sum())

    def tables(self, types: Types) -> dict[str, pa.Table]:
        """Return the rows of each service."""
        people = {self._public: self._rng.choice(len(self._sample.classes), self._count, p=self._shares())}
        single = [number for number, service in enumerate(self._services) if not service.extras]
        wanted = [i for number in single for i in self._places(number)]
        people = self._sampler.draw(wanted, people, self._count)
        tables = {}
        for number, service in enumerate(self._services):
            owner, values = np.arange(self._count), people
            if service.extras:
                owner, values = self._rows(number, people)
            tables[service.service.name] = self._label(number, owner, values, types(service.service.name))
        return tables

    def _shares(self) -> Vector:
        shares = np.maximum(self._model.values(self._public), 0.0)
        return np.asarray(shares / shares.sum())

    def _rows(self, number: int, people: Mapping[int, Ints]) -> tuple[Ints, dict[int, Ints]]:
        """Return the owners and values of a service's rows: the places that are filled."""
        service, places = self._services[number], list(self._places(number))
        owner = np.repeat(np.arange(self._count), service.service.rows_at_most)
        first = self._sampler.next_of(places, list(people), places)
        drawn = self._sampler.draw([first], {i: column[owner] for i, column in people.items()}, len(owner))
        real = {i: attribute.size for i, attribute in zip(places, service.service.sensitive, strict=True)}
        filled = np.flatnonzero(drawn[first] < real[first])
        drawn = {i: column[filled] for i, column in drawn.items()}

        def table_of(attributes: Sequence[int]) -> Vector:
            table = self._model.table(attributes)
            part = table[tuple(slice(0, real.get(i, size)) for i, size in zip(attributes, table.shape, strict=True))]
            return np.asarray(part / max(part.sum(), 1e-300))

        self._sampler.limit(real, table_of)
        return owner[filled], self._sampler.draw([i for i in places if i != first], drawn, len(filled))

    def _label(self, number: int, owner: Ints, values: Mapping[int, Ints], types: Mapping[str, Any]) -> pa.Table:
        """Return rows with keys, values as they were declared, and public columns of their stored types."""
        service = self._services[number].service
        columns: dict[str, Any] = {service.key: pa.array(owner + 1).cast(types.get(service.key, pa.int64()))}
        before = sum(len(compiled.service.public) for compiled in self._services[:number])
        indices = dict(zip((attribute.name for attribute in service.sensitive), self._places(number), strict=True))
        shown = {column.name: before + k for k, column in enumerate(service.public)}
        for declared in service.attributes:
            if declared.name in shown:
                known = self._sample.classes != ((),)
                listed = [classes[shown[declared.name]] if known else None for classes in self._sample.classes]
                columns[declared.name] = pa.array(listed, types.get(declared.name)).take(pa.array(values[self._public]))
            else:
                attribute = service.sensitive[[candidate.name for candidate in service.sensitive].index(declared.name)]
                listed = [shown_value(attribute, i) for i in range(attribute.size)]
                columns[declared.name] = pa.array(listed).take(pa.array(values[indices[declared.name]]))
        return pa.table(columns)
