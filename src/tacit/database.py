"""Collections, their reports, and questions about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tacit.advisor import check_options
from tacit.answer import Answer
from tacit.collection import Collection
from tacit.decode.decoder import DecoderName
from tacit.engines.duckdb import DuckDB
from tacit.errors import ReportError, UnknownNameError, UsageError
from tacit.query import run
from tacit.reports import check_reports
from tacit.sql.bind import bind, service_name
from tacit.sql.parse import parse

__all__ = ["Database", "Loaded", "connect"]


@dataclass(frozen=True)
class Loaded:
    """What became of reports: stored, and refused because their people had reported already."""

    stored: int
    refused: int


def connect(path: str | Path | None = None) -> Database:
    """Open a database file, or one in memory."""
    return Database(DuckDB(path))


class Database:
    """Reports of any number of collections, and SQL over them."""

    def __init__(self, engine: DuckDB) -> None:
        self._engine = engine
        self._collections: dict[str, Collection] = {}
        for text in engine.contracts():
            collection = Collection.from_json(text)
            self._collections[collection.id] = collection

    def create(self, collection: Collection) -> None:
        """Add a collection; adding it again changes nothing."""
        if not isinstance(collection, Collection):
            message = f"A {type(collection).__name__} is not a Collection."
            raise UsageError(message, code="bad-option")
        if collection.id not in self._collections:
            self._engine.add_contract(collection.id, collection.to_json())
            self._collections[collection.id] = collection

    def close(self) -> None:
        """Close the database."""
        self._engine.close()

    def load(self, reports: Mapping[str, pa.Table]) -> dict[str, Loaded]:
        """Store encoded reports, as `Collection.encode` returns them; a person's second report is refused.

        All tables are checked before the first is stored.
        """
        if not isinstance(reports, Mapping):
            message = "Reports are a dict of Arrow tables, one for each service, as Collection.encode returns them."
            raise ReportError(message, code="wrong-columns")
        checked = [self._check(name, table) for name, table in reports.items()]
        loaded = {}
        for name, table, collection in checked:
            service = collection.contract[name].service
            refused = self._engine.append(_table(collection, name), service, table)
            loaded[name] = Loaded(table.num_rows - refused, refused)
        return loaded

    def _check(self, name: str, table: pa.Table) -> tuple[str, pa.Table, Collection]:
        metadata = (table.schema.metadata or {}) if isinstance(table, pa.Table) else {}
        owner = metadata.get(b"tacit.collection", b"").decode(errors="replace")
        collection = self._collections.get(owner)
        if collection is None or not isinstance(name, str):
            message = f"The reports of {str(name)[:60]!r} belong to no collection of this database. Create it first."
            raise ReportError(message, code="unknown-collection")
        check_reports(collection.contract[name], table)
        return name, table, collection

    def sql(self, text: str, *, confidence: float = 0.95, decoder: DecoderName = "blue") -> Answer:
        """Answer a question: every aggregate is an estimate with an error."""
        check_options(confidence, decoder)
        statement = parse(text)
        name = service_name(statement, text)
        collection = self.find(name)
        service = collection.contract[name]
        bound = bind(statement, text, service.service)
        table = _table(collection, service.service.name)
        return run(bound, service, table, self._engine, confidence=confidence, decoder=decoder)

    def find(self, name: str) -> Collection:
        """Return the newest collection with reports of this service, or else the newest that has the service."""
        having = [
            (collection, service.name)
            for collection in reversed(self._collections.values())
            for service in collection.schema.services
            if service.name.lower() == name.lower()
        ]
        loaded = [item for item, service in having if self._engine.has_table(_table(item, service))]
        if having:
            return (loaded or [having[0][0]])[0]
        known = sorted({service.name for item in self._collections.values() for service in item.schema.services})
        raise UnknownNameError("service", name, known, code="unknown-table")


def _table(collection: Collection, service: str) -> str:
    return f"reports_{collection.id[:16]}_{service}"
