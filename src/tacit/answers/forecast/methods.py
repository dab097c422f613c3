"""Predictions of a collection before anything is collected: errors of questions, people needed, verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa

from tacit.contract.schema import Schema, Service
from tacit.encode.prepare import prepare_tables
from tacit.errors import UnknownNameError
from tacit.estimate.answer import Answer, Options
from tacit.estimate.decoder import DecoderName
from tacit.estimate.threads import one_thread
from tacit.tables.compute import pc

if TYPE_CHECKING:
    from tacit.answers.forecast.verdicts import Forecast, Planned

__all__ = ["Forecasting"]

SAMPLE = 20_000
"""Maximum people of a sample that value frequencies are estimated from; more would not change a verdict."""


class Forecasting:
    """The methods of a collection that predict answers."""

    @overload
    def predict(
        self: Planned,
        text: str,
        *,
        users: int,
        like: Any = None,
        confidence: float = 0.95,
        decoder: DecoderName = "blue",
    ) -> Answer: ...

    @overload
    def predict(
        self: Planned,
        text: str,
        *,
        error: float | None = None,
        relative: float | None = None,
        like: Any = None,
        decoder: DecoderName = "blue",
    ) -> int: ...

    @one_thread
    def predict(
        self: Planned,
        text: str,
        *,
        users: int | None = None,
        error: float | None = None,
        relative: float | None = None,
        like: Any = None,
        confidence: float = 0.95,
        decoder: DecoderName = "blue",
    ) -> Answer | int:
        """Predict the errors of a question, or the number of people it needs, before anything is collected.

        Attributes are assumed to be independent and uniform, or distributed as ``like`` says.

        Parameters
        ----------
        users : int
            The number of people (for a panel, all its members); the result is a table of expected values with their
            errors.
        error : float
            Instead of users: the wanted standard error; the result is the number of people. Errors of averages shrink
            with more people, so this is the smallest number; errors of totals grow, so it is the largest.
        relative : float
            Instead of users: the wanted standard error relative to the value; the result is the number of people.
        like : table or dict, optional
            A sample of records, or a dict from attributes to a weight for each value; for several services, or to give
            the share of people without rows, a dict of these by service.
        """
        from tacit.answers.forecast.expectation import people_for, predict

        options = Options(confidence, decoder)
        if users is not None:
            return predict(self.contract, text, users=users, like=like, options=options)
        return people_for(self.contract, text, error=error, relative=relative, like=like, options=options)

    @one_thread
    def report(
        self: Planned, questions: Iterable[str] | str | None = None, *, users: int | None = None, like: Any = None
    ) -> Forecast:
        """Report how accurate questions would be, whether that is good enough, and what would help.

        Parameters
        ----------
        questions : sequence of str, optional
            Default: ten that the schema suggests.
        users : int, optional
            People expected to report. Default: those of ``like``, or 100,000.
        like : table, path or dict, optional
            Raw tables, as for `prepare`, from which the frequencies of values are taken: one, or a dict by service.
            Attributes are assumed to be independent, and uniform by default.
        """
        from tacit.answers.forecast.likely import likely_questions
        from tacit.answers.forecast.population import frequencies_of
        from tacit.answers.forecast.verdicts import forecast_questions

        schema, samples = self.contract.schema, None
        if like is not None:
            names = [service.name for service in schema.services]
            by_service = isinstance(like, Mapping) and like.keys() <= set(names)
            if isinstance(like, Mapping) and not by_service:
                _refuse_unknown(like, schema.services[0], names)
            tables, _ = prepare_tables(schema, like if by_service else {schema.services[0].name: like})
            people, sampled = sample_people(schema, tables)
            rows = len(next(iter(sampled.values()))) if any(schema[name].one_to_one for name in sampled) else 0
            samples = {name: frequencies_of(schema[name], table, rows) for name, table in sampled.items()}
            users = people if users is None else users
        if questions is None:
            questions = likely_questions(schema)
        texts = [questions] if isinstance(questions, str) else list(questions)
        return forecast_questions(self, texts, users=100_000 if users is None else users, like=samples)


def _refuse_unknown(like: Mapping[str, Any], service: Service, names: Sequence[str]) -> None:
    """Refuse a dict that is neither of services nor of columns: it has no column of the first service."""
    columns = [service.key, *(attribute.name for attribute in service.attributes)]
    if not any(str(name) in columns for name in like):
        raise UnknownNameError("service", str(next(iter(like), "")), names)


def sample_people(schema: Schema, tables: Mapping[str, pa.Table]) -> tuple[int, dict[str, pa.Table]]:
    """Return the number of people, and all rows of some of them."""
    services = sorted(
        (service for service in schema.services if service.name in tables), key=lambda service: not service.one_to_one
    )
    first = services[0]
    keys = pc.unique(tables[first.name].column(first.key))
    if len(keys) <= SAMPLE:
        return len(keys), {service.name: tables[service.name] for service in services}
    chosen = keys.take(pa.array(np.linspace(0, len(keys) - 1, SAMPLE).astype(np.int64)))
    return len(keys), {service.name: _rows_of(service, tables[service.name], chosen) for service in services}


def _rows_of(service: Service, table: pa.Table, people: pa.Array) -> pa.Table:
    column = table.column(service.key)
    return table.filter(pc.is_in(column, value_set=people.cast(column.type)))
