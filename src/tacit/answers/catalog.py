"""The collections, rounds, tiers and services of a database that hold reports."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import cache
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from tacit.answers.enrolment import Enrolments
from tacit.contract.attributes import check_name
from tacit.contract.contract import Contract, ServiceContract
from tacit.contract.panel import Design
from tacit.contract.schema import Schema, Service
from tacit.encode.reports import report_table
from tacit.engines.base import Engine, rollup_of
from tacit.errors import ReportError, UnknownNameError, UsageError
from tacit.estimate.decoder import Decoder, DecoderName
from tacit.sql.report_tables import distinct_values, first_row
from tacit.sql.rounds import ReportSource, Rollup, Round
from tacit.sql.scope import MOST_STORED, StoredValues
from tacit.sql.vectors import kind_of

__all__ = ["Catalog"]


class CompiledCollection(Protocol):
    """A collection."""

    @property
    def id(self) -> str:
        """The contract's hash."""

    @property
    def contract_id(self) -> str:
        """The hash of the contract's bytes, which the rounds of a panel share."""

    @property
    def contract(self) -> Contract:
        """The compiled contract."""

    @property
    def schema(self) -> Schema:
        """The services."""


C = TypeVar("C", bound=CompiledCollection)


class Catalog(Generic[C]):
    """The collections of an engine, in the order of their creation."""

    def __init__(self, engine: Engine, enrolments: Enrolments, unbound: Container[str] = ()) -> None:
        self._engine, self._enrolments, self._unbound = engine, enrolments, unbound
        self._collections: dict[str, C] = {}

    @property
    def collections(self) -> list[C]:
        """The collections, in the order of their creation."""
        return list(self._collections.values())

    def get(self, name: str) -> C | None:
        """Return the collection with an id, or None."""
        return self._collections.get(name)

    def add(self, collections: Iterable[C]) -> None:
        """Add collections atomically: other threads may be iterating over them."""
        self._collections = self._collections | {collection.id: collection for collection in collections}

    def check_new(self, collection: C) -> None:
        """Refuse a collection in which people would report twice in one round."""
        mine = collection.contract
        for other in self._collections.values():
            same = (other.contract.round, other.contract.tier) == (mine.round, mine.tier)
            if same and other.schema == collection.schema and other.id != collection.id:
                message = (
                    "A collection with this schema, round and tier but another contract exists: people would report "
                    "twice in one round. Give the new one another round= or tier= (docs/glossary.md#round)."
                )
                raise UsageError(message, code="round-exists")

    def check_known(self, collections: Sequence[C]) -> None:
        """Refuse collections that are not in this catalog."""
        if any(self.get(collection.id) is None for collection in collections):
            message = "Name a collection of this database, or a round of its panel. Create it first."
            raise UsageError(message, code="bad-option")

    def check_dimension(self, name: str) -> None:
        """Refuse a name that no public table can have."""
        check_name("dimension", name)
        if name.lower() in {
            service.name.lower() for collection in self.collections for service in collection.schema.services
        }:
            message = f"{name!r} is the name of a service. Choose another one."
            raise UsageError(message, code="bad-option")

    def other_tiers(self, collection: C) -> list[C]:
        """Return the other tiers of a round: a person is in one of them."""
        mine = collection.contract
        return [
            other
            for other in self._collections.values()
            if other.contract.tier != mine.tier
            and other.contract.round == mine.round
            and other.schema == collection.schema
        ]

    def find(self, names: Sequence[str]) -> C:
        """Return the newest collection with reports of these services; refuse unknown services and empty ones."""
        wanted = {name.lower() for name in names}
        known = sorted({service.name for item in self._collections.values() for service in item.schema.services})
        for name in names:
            if name.lower() not in (service.lower() for service in known):
                raise UnknownNameError("service", name, known, code="unknown-table")
        having = [
            collection
            for collection in reversed(self._collections.values())
            if wanted <= {service.name.lower() for service in collection.schema.services}
        ]
        if not having:
            message = f"No collection has all of {', '.join(names)}. Join services of one collection."
            raise ReportError(message, code="not-one-collection")
        loaded = [collection for collection in having if self._has_reports(collection, names)]
        if not loaded:
            message = f"No reports of {' and '.join(names)} are loaded. Load some first."
            raise ReportError(message, code="no-reports", services=names)
        return loaded[0]

    def rounds(self, newest: C, services: Sequence[str], *, every: bool = True) -> list[C]:
        """Return the newest collection with reports of each tier of the newest round, or of every one, oldest first."""
        rounds: dict[tuple[str, str], C] = {}
        for collection in self._collections.values():
            if collection.schema == newest.schema and self._has_reports(collection, services):
                rounds[collection.contract.round, collection.contract.tier] = collection
        return [known for known in rounds.values() if every or known.contract.round == newest.contract.round]

    def newest_round(self, service: str) -> list[tuple[ServiceContract, str]]:
        """Return the tiers of the newest round of a service: their contracts, and the tables of their reports."""
        tiers = self.newest_tiers(service)
        return [(tier.contract[service], report_table(tier.id, tier.contract[service].service.name)) for tier in tiers]

    def newest_tiers(self, service: str) -> list[C]:
        """Return the tiers of the newest round of a service."""
        newest = self.find([service])
        return self.rounds(newest, [service], every=False)

    def rolled_up(self, service: str, by: Sequence[str]) -> list[str]:
        """Return the report tables of a service for a rollup; refuse services that a rollup cannot count."""
        newest = self.find([service])
        rolled = newest.contract[service]
        public = [attribute.name for attribute in rolled.service.public]
        for name in by:
            if name not in public:
                raise UnknownNameError("public column", name, public)
        if len(rolled.channels) > 1 or rolled.service.sends > 1:
            message = f"{service}: people send several reports, which belong together. Rollups are for one report each."
            raise UsageError(message, code="several-reports")
        return [report_table(tier.id, rolled.service.name) for tier in self.rounds(newest, [service])]

    def newest_design(self, service: str) -> Design | None:
        """Return how a panel chose the people of the newest round of a service; None outside panels."""
        return self.design_of(self.find([service]))

    def stored_tables(self, collections: Sequence[str] | None, services: Sequence[str]) -> list[tuple[str, str]]:
        """Return the report tables, with their keys, of the given collections and services, or of all."""
        chosen = [collection for collection in self.collections if collections is None or collection.id in collections]
        tables = [
            (report_table(collection.id, service.name), service.key)
            for collection in chosen
            for service in collection.schema.services
            if not services or service.name in services
        ]
        return [(table, key) for table, key in tables if self._engine.has_table(table)]

    def services(self) -> list[Service]:
        """Return the services with reports, by name, each as the newest collection that has some defines it."""
        named = {
            service.name.lower(): service
            for collection in self._collections.values()
            for service in collection.schema.services
            if self._has_reports(collection, [service.name])
        }
        return [named[name] for name in sorted(named)]

    def _has_reports(self, collection: C, services: Sequence[str]) -> bool:
        names = {collection.contract[name].service.name for name in services}
        return all(self._engine.has_table(report_table(collection.id, name)) for name in names)

    def stored_rounds(self, rounds: Sequence[C], services: Sequence[str], decoder: DecoderName) -> list[Round]:
        """Return the storage and decoder of the reports of the given rounds, service by service."""
        stored = []
        for collection in rounds:
            labels = {"round": collection.contract.round, "tier": collection.contract.tier}
            sources = tuple(self._source(collection, name, decoder) for name in services)
            assigned = collection.contract.assigned and collection.id not in self._unbound
            stored.append(Round(labels, sources, self.design_of(collection), assigned))
        return stored

    def design_of(self, collection: C) -> Design | None:
        """Return how the people of a round were chosen; None if everybody reports in it."""
        panel = collection.contract.panel
        if panel is None:
            return None
        return panel.design(self._enrolments.get(collection.contract_id, collection.contract.member))

    def _source(self, collection: C, name: str, decoder: DecoderName) -> ReportSource:
        table = report_table(collection.id, name)
        by = self._engine.rollups().get(table)
        rollup = None if by is None else Rollup(rollup_of(table), by)
        return ReportSource(table, Decoder(collection.contract[name], decoder), rollup)

    def stored_values(self, newest: C) -> StoredValues:
        """Return how to look up the values of public columns in the reports of all rounds of a schema."""

        @cache
        def values_of(service: str, name: str) -> list[Any]:
            distinct: set[Any] = set()
            for collection in self.rounds(newest, [service]):
                query = distinct_values(report_table(collection.id, service), name, MOST_STORED + 1)
                distinct.update(self._engine.fetch(*query, {}).column(0).to_pylist())
            known = sorted(distinct - {None}, key=lambda value: (kind_of(value), value))
            return [*known, *([None] if None in distinct else [])]

        return values_of

    def stored_types(self, service: str) -> dict[str, pa.DataType]:
        """Return the types of the columns stored unperturbed: a service's key and its public columns."""
        collection = self.find([service])
        declared = collection.contract[service].service
        query = first_row(
            report_table(collection.id, declared.name), [declared.key, *(column.name for column in declared.public)]
        )
        return {field.name: field.type for field in self._engine.fetch(*query, {}).schema}
