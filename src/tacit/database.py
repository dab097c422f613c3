"""Collections, their reports, and questions about them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tacit.answer import Answer
from tacit.collection import Collection
from tacit.decode.decoder import DecoderName
from tacit.engines.duckdb import DuckDB
from tacit.errors import ReportError, UnknownNameError, UsageError
from tacit.query import run
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
        if collection.id not in self._collections:
            self._engine.add_contract(collection.id, collection.to_json())
            self._collections[collection.id] = collection

    def close(self) -> None:
        """Close the database."""
        self._engine.close()

    def load(self, reports: dict[str, pa.Table]) -> dict[str, Loaded]:
        """Store encoded reports, as `Collection.encode` returns them; a person's second report is refused."""
        checked = [self._check(name, table) for name, table in reports.items()]
        loaded = {}
        for name, table, collection in checked:
            service = collection.contract[name].service
            refused = self._engine.append(_table(collection, name), service, table)
            loaded[name] = Loaded(table.num_rows - refused, refused)
        return loaded

    def _check(self, name: str, table: pa.Table) -> tuple[str, pa.Table, Collection]:
        metadata = (table.schema.metadata or {}) if isinstance(table, pa.Table) else {}
        collection = self._collections.get(metadata.get(b"tacit.collection", b"").decode())
        if collection is None:
            message = f"The reports of {name!r} belong to no collection of this database. Create it first."
            raise ReportError(message, code="unknown-collection")
        compiled = collection.contract[name]
        service = compiled.service
        expected = [service.key, "slot", "channel", "code", *(attribute.name for attribute in service.public)]
        if table.column_names != expected:
            message = f"Reports of {name!r} must have the columns {', '.join(expected)}."
            raise ReportError(message, code="wrong-columns")
        alphabets = np.array([channel.alphabet for channel in compiled.channels])
        channel, code, slot = (np.asarray(table[word]) for word in ("channel", "code", "slot"))
        known = (channel >= 0) & (channel < len(alphabets)) & (slot >= 0) & (slot < service.sends)
        if not known.all() or not ((code >= 0) & (code < alphabets[channel])).all():
            message = f"A report of {name!r} has a slot, channel or code that the collection does not know."
            raise ReportError(message, code="unknown-code")
        return name, table, collection

    def sql(self, text: str, *, confidence: float = 0.95, decoder: DecoderName = "blue") -> Answer:
        """Answer a question: every aggregate is an estimate with an error."""
        if not 0 < confidence < 1:
            message = f"confidence is {confidence!r}; it must lie between 0 and 1, such as 0.95."
            raise UsageError(message, code="bad-option")
        if decoder not in ("blue", "cover", "rdc"):
            raise UnknownNameError("decoder", str(decoder), ["blue", "cover", "rdc"])
        statement = parse(text)
        name = service_name(statement, text)
        collection = self.find(name)
        service = next(item for item in collection.contract.services if item.service.name.lower() == name.lower())
        bound = bind(statement, text, service.service)
        table = _table(collection, service.service.name)
        return run(bound, service, table, self._engine, confidence=confidence, decoder=decoder)

    def find(self, name: str) -> Collection:
        """Return the newest collection that has a service of this name."""
        for collection in reversed(self._collections.values()):
            if any(service.name.lower() == name.lower() for service in collection.schema.services):
                return collection
        known = sorted({service.name for item in self._collections.values() for service in item.schema.services})
        raise UnknownNameError("service", name, known, code="unknown-table")


def _table(collection: Collection, service: str) -> str:
    return f"reports_{collection.id[:16]}_{service}"
