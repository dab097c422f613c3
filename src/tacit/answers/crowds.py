"""How many people a person is hidden among in answers: the size of the smallest class that a question can single out.

Questions can filter and group by public columns, and join services. Two people are in one class if they agree in all
public columns and have reported to the same services equally often; answers distinguish classes, and people within a
class only by their codes. Questions cannot read keys. A set of people that grows between two answers hides nobody: the
difference of the answers concerns the newcomers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from tacit.contract.audit import Audit
from tacit.contract.contract import Contract, ServiceContract
from tacit.contract.readers import Privacy, central_loss, no_claim, over_rounds
from tacit.contract.schema import Schema
from tacit.encode.reports import report_table
from tacit.engines.base import Engine
from tacit.engines.row_counts import stored_rows
from tacit.sql import report_tables
from tacit.sql.printing import Statement
from tacit.sql.report_tables import ClassTable, count_people_with_first

__all__ = ["GROWN", "OPEN", "ClassSizes", "Crowds", "class_sizes", "privacy_of"]

T = TypeVar("T")

CLOSED = "the database was closed before the people were counted. Read privacy while it is open."

OPEN = (
    "the collector counts every report as it arrives, and the difference of two answers concerns the newcomers alone. "
    "With tacit serve --snapshot N answers advance by at least N people."
)

GROWN = (
    "reports came in after an answer, and the difference of two answers concerns the newcomers alone. "
    "Ask when all reports are in, or let a collector answer in snapshots (tacit serve --snapshot)."
)


class Audited(Protocol):
    """The part of a collection that is needed here."""

    @property
    def id(self) -> str:
        """SHA-256 of the contract."""

    @property
    def contract(self) -> Contract:
        """The compiled contract."""

    def audit(self) -> Audit:
        """Return the exact audit."""


class ClassSizes(NamedTuple):
    """The number of people who have reported to any service of a collection, and of those in the smallest class."""

    people: int
    smallest: int


class Crowds:
    """The crowds of a database's collections, counted on demand, and again after reports were added."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[str, tuple[list[Hashable], ClassSizes]] = {}
        self._answered: set[str] = set()
        self._grown: set[str] = set()
        self._version: Hashable | None = None
        """The version of the engine's reports after the last answer, or the last change by this connection."""

        self._is_closed = False

    def close(self) -> None:
        """Stop counting people: the database is closed."""
        self._is_closed = True

    def change(self, work: Callable[[], T], tables: Iterable[str] = ()) -> T:
        """Change the database, possibly adding reports to these tables; earlier changes by others are noticed."""
        self._notice()
        result = work()
        self._grown |= self._answered & set(tables)
        if self._answered:
            self._version = self._engine.changes()
        return result

    def _notice(self) -> None:
        """Detect whether other programs changed reports since the last answer: they may have added some."""
        if self._answered and (version := self._engine.changes()) != self._version:
            self._grown |= self._answered
            self._version = version

    def note_answer(self, rounds: Sequence[Audited]) -> Callable[[], Privacy]:
        """Record an answer about some rounds and tiers, and return a function that computes their guarantees."""
        self._notice()
        if not self._answered:
            self._version = self._engine.changes()
        self._answered |= {table for collection in rounds for table, _ in _tables(collection)}
        return partial(self._privacy, rounds)

    def _privacy(self, rounds: Sequence[Audited]) -> Privacy:
        return privacy_of(rounds, self._crowd)

    def _crowd(self, collection: Audited) -> ClassSizes | str:
        if self._is_closed:
            return CLOSED
        self._notice()
        return GROWN if self._grown.intersection(table for table, _ in _tables(collection)) else self.sizes(collection)

    def sizes(self, collection: Audited) -> ClassSizes:
        """Count a collection's people, and those of the smallest class."""
        tables = [(table, service) for table, service in _tables(collection) if self._engine.has_table(table)]
        changes = self._engine.changes()
        version: list[Hashable] = [table for table, _ in tables]
        version += [changes] if changes is not None else [stored_rows(self._engine, table) for table, _ in tables]
        if self._known.get(collection.id, ([], None))[0] != version:
            self._known[collection.id] = version, class_sizes(self._engine, tables)
        return self._known[collection.id][1]


def _tables(collection: Audited) -> list[tuple[str, ServiceContract]]:
    """Return the report tables of a collection, with their services."""
    return [(report_table(collection.id, service.service.name), service) for service in collection.contract.services]


def privacy_of(rounds: Iterable[Audited], crowd: Callable[[Audited], ClassSizes | str]) -> Privacy:
    """Return both guarantees of answers about the given rounds and tiers, from their crowds or why there are none."""
    losses = []
    panels = {}
    schemas: list[Schema] = []
    for collection in rounds:
        if collection.contract.schema not in schemas:
            schemas.append(collection.contract.schema)
        name = f"{schemas.index(collection.contract.schema)} {collection.contract.round}"  # losses of schemas add up
        if collection.contract.panel:
            panels[name] = collection.contract.panel
        audit, sizes = collection.audit(), crowd(collection)
        ratio = audit.ratio if audit.ok else None
        if isinstance(sizes, str):
            central = no_claim(sizes)
        else:
            central = central_loss(
                collection.contract, ratio, people=max(1, sizes.people), alike=max(1, sizes.smallest)
            )
        losses.append((name, audit.worst_loss, central))
    return over_rounds(losses, panels)


def class_sizes(engine: Engine, tables: Sequence[tuple[str, ServiceContract]]) -> ClassSizes:
    """Count the people of a collection's report tables, and of their smallest class."""
    if not tables:
        return ClassSizes(0, 0)
    texts = {service.service.key in engine.text_columns(table) for table, service in tables}
    counted = [_class_table(engine, table, service) for table, service in tables]
    [sizes] = engine.fetch(*report_tables.class_sizes(counted, same_keys=len(texts) == 1), {}).to_pylist()
    return ClassSizes(sizes["people"] or 0, sizes["smallest"] or 0)


def _class_table(engine: Engine, table: str, compiled: ServiceContract) -> ClassTable:
    service = compiled.service
    each = len(compiled.channels) * service.sends
    is_whole = each > 1 and stored_rows(engine, table) == each * _count(engine, count_people_with_first(table))
    return ClassTable(table, service.key, tuple(column.name for column in service.public), each == 1, is_whole)


def _count(engine: Engine, statement: Statement) -> int:
    return int(engine.fetch(*statement, {})["n"][0].as_py())
