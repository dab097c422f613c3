"""Collections, their reports, and questions about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from tacit.answers.answer_cache import AnswerCache
from tacit.answers.catalog import Catalog
from tacit.answers.contributions import Contributions, Page, contributions_to
from tacit.answers.crowds import ClassSizes, Crowds
from tacit.answers.dictionaries import read_dictionaries, store_dictionaries
from tacit.answers.enrolment import Enrolments
from tacit.answers.fitting import Fitting
from tacit.answers.loading import batches_of
from tacit.answers.people import People
from tacit.answers.question import Question
from tacit.answers.run import explain_answer, run
from tacit.answers.unions import questions_in, union_of
from tacit.answers.watch import Watch
from tacit.collection import Collection
from tacit.contract.contract import ServiceContract
from tacit.contract.readers import Privacy
from tacit.contract.schema import Service
from tacit.encode.bulk import Progress
from tacit.encode.reports import Loaded, ReportTable, report_table
from tacit.engines.base import Engine
from tacit.errors import ReportError, UsageError
from tacit.estimate.answer import Answer, Options
from tacit.estimate.decoder import DecoderName
from tacit.estimate.threads import one_thread
from tacit.sql.bind import bind
from tacit.sql.columns import Shape, dimension_shape, service_shape
from tacit.sql.lookup import Dimension
from tacit.sql.moments import clock_for
from tacit.sql.parse import parse, without_explain
from tacit.sql.scope import Scope
from tacit.sql.tables import check_rounds, scope_of, services_of, tables_of
from tacit.tables.html import table_html
from tacit.tables.read import as_arrow

if TYPE_CHECKING:
    from tacit.model.labelled import Marginal

__all__ = ["Database", "Loaded"]


class Database(AbstractContextManager["Database"]):
    """Reports of any number of collections, and SQL queries over them."""

    def __init__(self, engine: Engine, unbound: set[str] | None = None) -> None:
        self._engine, self._unbound = engine, set() if unbound is None else unbound
        stored = engine.dimensions()
        read_dictionaries(stored)
        self._enrolments = Enrolments(engine, stored)
        self._catalog: Catalog[Collection] = Catalog(engine, self._enrolments, self._unbound)
        self._people: dict[tuple[object, ...], People] = {}
        self._crowds, self._watch, self._fitting = Crowds(engine), Watch(engine), Fitting(engine, self._catalog)
        self._cache: AnswerCache[list[Collection], Question[Collection]] = AnswerCache(engine)
        self._dimensions = {name.lower(): Dimension(name, key, table) for name, key, table in stored if "." not in name}
        for text in engine.contracts():
            self._catalog.add(Collection.from_json(text).parts)

    def create(self, collection: Collection) -> None:
        """Add a collection; adding it again changes nothing."""
        if not isinstance(collection, Collection):
            message = f"A {type(collection).__name__} is not a collection. Pass tc.Collection(schema, epsilon=…)."
            raise UsageError(message, code="bad-option")
        if collection.contract.member:
            message = "This is one round of a panel. Create the panel, which has all of them."
            raise UsageError(message, code="bad-option")
        if any(self._catalog.get(part.id) is None for part in collection.parts):
            self.check_new(collection)
            store_dictionaries(self._engine, collection.schema)
            self._crowds.change(partial(self._engine.add_contract, collection.id, collection.to_json()))
            self._catalog.add(collection.parts)
            self._cache.redefine()

    def unbind(self, collection: str) -> None:
        """Note that people of a collection may have chosen their ids: assigned views then bound no liar."""
        self._unbound.add(collection)
        self._people.clear()
        self._cache.redefine()

    def check_new(self, collection: Collection) -> None:
        """Refuse a collection that `create` would refuse."""
        for part in collection.parts:
            self._catalog.check_new(part)

    @property
    def collections(self) -> list[Collection]:
        """The collections, in the order of their creation; a panel appears as its rounds."""
        return self._catalog.collections

    def forget(self, person: int | str, collections: Sequence[str] | None = None, services: Sequence[str] = ()) -> int:
        """Delete a person's reports, everywhere or in the given collections and services; return their number."""
        tables = self._catalog.stored_tables(collections, services)
        return self._crowds.change(partial(self._engine.forget, tables, person))

    def dimension(self, name: str, table: Any, *, key: str) -> None:
        """Add a public table (products, shops) that questions join on a sensitive attribute, its key.

        Parameters
        ----------
        name : str
            Its name in questions; an existing dimension of that name is replaced.
        table : table or path
            One row for each key.
        key : str
            The column whose values sensitive attributes hold.
        """
        self._catalog.check_dimension(name)
        dimension = Dimension.of(name, as_arrow(name, table), key)
        self._crowds.change(partial(self._engine.store_dimension, name, key, dimension.table))
        self._dimensions[name.lower()] = dimension
        self._cache.redefine()

    def enrol(self, panel: Collection, people: Iterable[int] | Iterable[str]) -> None:
        """Register the members of a panel, or of one round of it: everybody, whether asked in that round or not.

        Totals of a round then refer to these people, with smaller errors. Only two numbers for each round are stored.
        """
        self._catalog.check_known(panel.parts)
        self._crowds.change(partial(self._enrolments.store, panel.contract_id, panel.contract, people))
        self._people.clear()
        self._cache.redefine()

    def rollup(self, service: str, *, by: Sequence[str] = ()) -> None:
        """Maintain counts of codes for a service, so that queries do not slow down as more people report.

        The counts are updated with every load, and answer questions about this service alone that use no public columns
        except those in ``by``; EXPLAIN says whether they were used. Each person must send one report.

        Parameters
        ----------
        service : str
            A service with reports.
        by : sequence of str
            Public columns to count by, with few values each.
        """
        for table in self._catalog.rolled_up(service, by):
            self._crowds.change(partial(self._engine.add_rollup, table, tuple(by)))
        self._people.clear()
        self._cache.redefine()

    def copy_to(self, path: Any) -> None:
        """Write a copy of everything except deleted data to a new file; others may keep reading."""
        self._engine.copy_to(path)

    def close(self) -> None:
        """Close the database, as the end of a ``with`` block does."""
        self._crowds.close()
        self._engine.close()

    def __exit__(self, *cause: object) -> None:
        self.close()

    def load(
        self,
        reports: Mapping[str, pa.Table | ReportTable],
        *,
        key: str | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Loaded]:
        """Store encoded reports, as `Collection.encode` returns them; a person's second report is refused.

        All tables are stored, or none if one is refused or the machine fails; ``progress`` gets the rows stored and the
        total. If views and seeds are assigned, ``key`` is the key that assigned them; other reports are refused.
        """
        if not isinstance(reports, Mapping):
            message = "Reports are a dict of Arrow tables, one for each service, as Collection.encode returns them."
            raise ReportError(message, code="wrong-columns")
        batches = batches_of(self._catalog, self._engine, reports, key)
        refused = self._crowds.change(partial(self._engine.append, batches), [batch.table for batch in batches])
        self._watch.note_growth(batches)
        if progress is not None:
            progress(*[sum(batch.rows for batch in batches)] * 2)
        counts = zip(reports, batches, refused, strict=True)
        return {service: Loaded(batch.rows - count, count) for service, batch, count in counts}

    @one_thread
    def sql(
        self,
        text: str,
        parameters: Sequence[Any] = (),
        *,
        confidence: float = 0.95,
        decoder: DecoderName = "blue",
        simultaneous: bool = False,
        superpopulation: bool = False,
        consistent: bool = False,
    ) -> Answer:
        """Answer a question: every aggregate is an estimate with an error.

        Parameters
        ----------
        text : str
            One SELECT; with EXPLAIN, the result describes how it would be answered.
        parameters : sequence
            Constants for each ``?`` in the question, in order: numbers, text, dates, booleans or None.
        confidence : float
            Level of the intervals.
        decoder : {"blue", "cover", "rdc", "rdc(1)", "rdc(4)", "rdc(8)", "rdc(16)"}
            Least squares, or those of the papers; rdc averages two signed covers of an attribute, or the given number.
        simultaneous : bool
            Whether all intervals of the answer hold simultaneously at the confidence (Bonferroni).
        superpopulation : bool
            Whether errors treat the people as a sample from a larger population.
        consistent : bool
            Whether to post-process: answers add up and work for any number of attributes, but are biased.
        """
        options = Options(confidence, decoder, simultaneous=simultaneous, superpopulation=superpopulation)
        statement, explain = without_explain(text)
        if not explain:
            ask = partial(self.sql, **vars(options), consistent=consistent)
            several = union_of(statement, parameters, ask, self._privacy_of, self.tables, self._questions, options)
            if several is not None:
                return several
        if not explain and not consistent:
            answer, rounds = self._cache.answer(self._answer, statement, parameters, options)
            return answer.with_privacy(self._crowds.note_answer(rounds))
        question = self.question(statement, parameters, options)
        if consistent:
            answer = self._fitting.answer(question, options, explain=explain)
            return answer.with_privacy(self._crowds.note_answer(question.rounds))
        answer = run(question.bound, question.people, options).with_privacy(self._crowds.note_answer(question.rounds))
        expected = partial(question.newest.predict, question.question, confidence=confidence, decoder=decoder)
        return explain_answer(answer, question.people, lambda n: expected(users=n))

    def _privacy_of(self, texts: list[str]) -> Callable[[], Privacy]:
        """Return a function that computes the joint guarantees of several questions."""
        rounds = [tier for text in texts for question in self._questions(text, ()) for tier in question.rounds]
        return self._crowds.note_answer(list(dict.fromkeys(rounds)))

    def _answer(self, text: str, parameters: Sequence[Any], options: Options) -> tuple[Answer, list[Collection]]:
        question = self.question(text, parameters, options)
        answer = run(question.bound, question.people, options)
        return self._watch.with_notes(answer, question.people.rounds), question.rounds

    def marginal(
        self,
        attributes: Sequence[str],
        *,
        service: str | None = None,
        method: str | None = None,
        confidence: float = 0.95,
    ) -> Marginal:
        """Return how many people have each combination of values, in the newest round.

        Parameters
        ----------
        attributes : sequence of str
            Any number of sensitive attributes of one service.
        service : str, optional
            Needed if several services have these attributes.
        method : {"fit", "calm", "linear", "em", "uniform"}, optional
            How views become tables. Default: fit, as with ``consistent=True``; em if attributes were reported apart.
            ``linear`` is unbiased, and refused for attributes that no view reports together.
        confidence : float
            Level of the intervals.
        """
        marginal = self._fitting.tables.marginal(attributes, service=service, method=method, confidence=confidence)
        rounds = [collection for collection, _ in self.newest_tiers(attributes, service)]
        return cast("Marginal", marginal.with_privacy(self._crowds.note_answer(rounds)))

    def synthesize(
        self, rows: int, *, seed: int | None = None, service: str | None = None, method: str | None = None
    ) -> pa.Table:
        """Return synthetic rows of a service that follow its marginals; no row is anybody's record.

        Parameters
        ----------
        rows : int
            The number of rows; their keys are 1, 2, 3, …
        seed : int, optional
            Makes the rows reproducible.
        service, method : str, optional
            Needed if several services have reports (`synthesize_people` joins them); as for `marginal`.
        """
        known = self._fitting.tables.service_of((), service)
        if known.public and known.one_to_one and method is None and self._catalog.newest_design(known.name) is None:
            return self.synthesize_people(rows, [known.name], seed=seed)[known.name]
        self._crowds.note_answer([tier for tier, _ in self.newest_tiers((), service)])
        return self._fitting.tables.synthesize(rows, seed=seed, service=service, method=method)

    def synthesize_people(
        self, people: int, services: Sequence[str] = (), *, seed: int | None = None, progress: Progress | None = None
    ) -> dict[str, pa.Table]:
        """Return synthetic people with their rows in the given services (default: all), from the joint model."""
        named = [self._fitting.tables.service_of((), name) for name in services] or self.services()
        ask, types = partial(self.question, parameters=(), options=Options()), self.stored_types
        tables, rounds = self._fitting.synthetic_people(ask, named, people, seed, types, progress)
        self._crowds.note_answer(rounds)
        return tables

    def newest_tiers(self, attributes: Sequence[str], service: str | None) -> list[tuple[Collection, ServiceContract]]:
        """Return the collections, each with its service, that marginals and synthetic rows are computed from."""
        name = self._fitting.tables.service_of(attributes, service).name
        return [(tier, tier.contract[name]) for tier in self._catalog.newest_tiers(name)]

    def contributions(
        self,
        text: str,
        parameters: Sequence[Any] = (),
        *,
        group: Mapping[str, Any] | None = None,
        decoder: DecoderName = "blue",
        **page: Any,
    ) -> Contributions:
        """Return the contribution of each encoded tuple to an answer, page by page; their sum is the answer.

        This shows reports of single people, which `sql` never does: it is for audits and demonstrations.

        Parameters
        ----------
        text, parameters, decoder
            The question, as in `sql`.
        group : dict
            For a question with GROUP BY, the row of the answer: its columns of GROUP BY with their values.
        **page
            ``order`` (``"size"``, the default, ``"value"`` or ``"person"``), ``measure`` (a total, from 0),
            ``descending``, ``offset``, ``limit``, and ``part``, the round or tier to show (default the last).
        """
        question = self.question(without_explain(text)[0], parameters, Options(decoder=decoder))
        return contributions_to(question.bound, question.people, group or {}, Page(**page))

    def forecast_inputs(self, text: str) -> tuple[Collection, int, str]:
        """Return the inputs of a forecast: collection, people (of the largest public group), non-public attributes."""
        question = self.question(without_explain(text)[0], (), Options())
        bound = question.bound
        return question.newest, question.people.count(bound.public, bound.conditions), bound.sensitive_part()

    def class_sizes(self, collection: Collection) -> ClassSizes:
        """Count a collection's people, and those of the smallest class that questions can single out."""
        return self._crowds.sizes(collection)

    def asked_about(self, text: str, parameters: Sequence[Any] = ()) -> list[tuple[Collection, ServiceContract]]:
        """Return the collections, with their services, whose reports a question reads."""
        tables = {table for question in self._questions(text, parameters) for table in question.people.reports}
        pairs = [(collection, service) for collection in self.collections for service in collection.contract.services]
        return [pair for pair in pairs if report_table(pair[0].id, pair[1].service.name) in tables]

    def _questions(self, text: str, parameters: Sequence[Any]) -> list[Question[Collection]]:
        """Bind the questions of a text: a union has several, and a question about the catalog none."""
        return [self.question(*q, Options()) for q in questions_in(without_explain(text)[0], parameters, self.tables)]

    def question(self, question: str, parameters: Sequence[Any], options: Options) -> Question[Collection]:
        """Return a question as it is bound to reports, without answering it."""
        return self._cache.question(self._bind, question, parameters, options)

    def _bind(self, question: str, parameters: Sequence[Any], options: Options) -> Question[Collection]:
        """Bind a question to the newest collection that can answer it, and to the rounds it covers."""
        statement = parse(question, parameters, now=clock_for(question))
        tables = tables_of(statement, question)
        services = [table.name for table in services_of(tables, self._dimensions, question)]
        newest = self._catalog.find(services)
        scope = scope_of(tables, newest.schema, question, self._dimensions, self._catalog.stored_values(newest))
        bound = bind(statement, scope)
        rounds = self._catalog.rounds(newest, services, every=scope.uses_round(statement))
        if len({collection.contract.round for collection in rounds}) > 1:
            check_rounds(statement, question, superpopulation=options.superpopulation)
        plain = statement.sql(dialect="duckdb") if parameters or clock_for(question) else question
        return Question(plain, newest, bound, self._people_of(scope, rounds, options.decoder), rounds)

    def _people_of(self, scope: Scope, rounds: list[Collection], decoder: DecoderName) -> People:
        """Return the people of some services: the same object for the same reports, so that answers can be combined."""
        services = [source.service.name for source in scope.sources]
        key = (*services, *(collection.id for collection in rounds), decoder)
        if key not in self._people:
            self._people[key] = People(self._engine, scope, self._catalog.stored_rounds(rounds, services, decoder))
        return self._people[key]

    def services(self) -> list[Service]:
        """Return the services with reports, by name, each as the newest collection that has some defines it."""
        return self._catalog.services()

    def stored_types(self, service: str) -> dict[str, pa.DataType]:
        """Return the types of the columns stored unperturbed: a service's key and its public columns."""
        return self._catalog.stored_types(service)

    def __repr__(self) -> str:
        names = [service.name for service in self.services()] or ["no reports"]
        return f"Database({', '.join(names)}; {len(self.collections)} collections)"

    def _repr_html_(self) -> str:
        rows = [[t.name, t.kind, ", ".join(f"{c.name} {c.type}" for c in t.columns)] for t in self.tables()]
        return table_html(["table", "kind", "columns"], rows, caption=repr(self))

    def dimensions(self) -> list[Dimension]:
        """Return the public tables, by name."""
        return [dimension for _, dimension in sorted(self._dimensions.items())]

    def tables(self) -> list[Shape]:
        """Return services with reports, and public dimensions, as tables with typed columns."""
        services = (service_shape(service, self.stored_types(service.name)) for service in self.services())
        return [*services, *map(dimension_shape, self.dimensions())]
