"""A collector's analytical database, opened without the collector: answers state what they leave out.

The inbox knows which reports were acknowledged and which deletions wait: a file in the same folder or, in PostgreSQL,
tables of the same database.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import pyarrow as pa

from tacit.adapters.remote.answers import ABOUT
from tacit.answers.crowds import OPEN, privacy_of
from tacit.answers.marks import Mark, Sizes, count_reports, notes_of
from tacit.collection import Collection
from tacit.contract.contract import ServiceContract
from tacit.database import Database
from tacit.engines import is_postgres, open_engine
from tacit.engines.base import Engine
from tacit.errors import EngineError, OverloadedError
from tacit.estimate.answer import Answer, Watermark
from tacit.sql.parse import without_explain
from tacit.tables.sqlite_files import has_log, open_read_only

if TYPE_CHECKING:
    from tacit.model.labelled import Marginal

__all__ = ["SIZES", "BesideInbox", "open_database"]

SIZES = """
SELECT collection, service, known, (SELECT count(*) FROM waiting WHERE waiting.place = sizes.place),
  damaged, lost, bulk FROM sizes JOIN places USING (place)
"""

SHARED_SIZES = """
SELECT p.collection, p.service, s.known, coalesce(w.n, 0) AS pending, s.damaged, s.lost, s.bulk
FROM tacit_places AS p JOIN (SELECT place, sum(known) AS known, sum(damaged) AS damaged, sum(lost) AS lost,
  sum(bulk) AS bulk FROM tacit_sizes GROUP BY place) AS s ON s.place = p.place
LEFT JOIN (SELECT place, count(*) AS n FROM tacit_waiting GROUP BY place) AS w ON w.place = p.place
"""

TRIES = 3
"""Maximum repetitions of a question because a collector moved reports in the meantime."""

UNREADABLE = "the inbox of this store cannot be read: reports may be missing"

T = TypeVar("T")

Services = Sequence[tuple[Collection, ServiceContract]]


class InboxState(NamedTuple):
    """What an inbox knows: the reports of each service of a collection, and deletions that the database lacks."""

    sizes: Mapping[tuple[str, str], Sizes]
    deletions: int = 0


ReadInbox = Callable[[], InboxState | None]
"""Reads an inbox; None if it cannot be read."""


class BesideInbox(Database):
    """A database whose inbox is read with every question."""

    def __init__(self, engine: Engine, read_inbox: ReadInbox) -> None:
        super().__init__(engine)
        self._read_inbox = read_inbox

    def sql(self, text: str, parameters: Sequence[Any] = (), **options: Any) -> Answer:
        """Answer a question as `Database.sql` does, with a watermark."""
        ask = partial(super().sql, text, parameters, **options)
        answer, services, mark = self._measure(ask, lambda: self.asked_about(without_explain(text)[0], parameters))
        return _with_mark(answer, services, mark)

    def marginal(self, attributes: Sequence[str], **options: Any) -> Marginal:
        """Return a table as `Database.marginal` does, with a watermark."""
        ask = partial(super().marginal, attributes, **options)
        table, services, mark = self._measure(ask, lambda: self.newest_tiers(attributes, options.get("service")))
        return cast("Marginal", _with_mark(table, services, mark))

    def synthesize(self, rows: int, **options: Any) -> pa.Table:
        """Return synthetic rows as `Database.synthesize` does, with a watermark and notes as metadata."""
        ask = partial(super().synthesize, rows, **options)
        table, _, mark = self._measure(ask, lambda: self.newest_tiers((), options.get("service")))
        return table.replace_schema_metadata({ABOUT: json.dumps({"watermark": mark.watermark, "notes": mark.notes})})

    def _measure(self, ask: Callable[[], T], asked_about: Callable[[], Services]) -> tuple[T, Services, Mark]:
        """Return an answer, what it is about, and the watermark; ask again if reports were moved in the meantime."""
        for _ in range(TRIES):
            before = self._engine.changes()
            inbox = self._read_inbox()
            if inbox is not None and inbox.deletions:
                message = "People were deleted, and this database has not applied it yet. Start the collector."
                raise OverloadedError(message, code="deletion-pending")
            answer, services = ask(), asked_about()
            mark = self._mark(services, inbox)
            if self._engine.changes() == before:
                break
        return answer, services, mark

    def _mark(self, services: Services, inbox: InboxState | None) -> Mark:
        counted = sum(count_reports(self._engine, collection.id, service) for collection, service in services)
        if inbox is None:
            return Mark(Watermark(counted, counted), (UNREADABLE,))
        sizes = [inbox.sizes.get((collection.id, service.service.name), Sizes()) for collection, service in services]
        watermark = Watermark(sum(size.acknowledged for size in sizes), counted)
        return Mark(watermark, tuple(notes_of(watermark, sizes)))


def _with_mark(answer: Answer, services: Services, mark: Mark) -> Answer:
    """Return an answer with its watermark; a collector counts reports as they arrive, so no crowd hides anybody."""
    if not services:
        return answer  # about tables, not about reports
    rounds = list(dict.fromkeys(collection for collection, _ in services))
    notes = [note for note in mark.notes if note not in answer.notes]
    return answer.with_privacy(partial(privacy_of, rounds, lambda _: OPEN)).with_watermark(mark.watermark, *notes)


def open_database(path: Any, engine: Any, *, read_only: bool = False) -> Database:
    """Open a database; one of a collector states what its answers leave out."""
    opened = open_engine(path, engine, read_only=read_only)
    if isinstance(path, str | Path) and Path(path).name == "reports.tacit":
        inbox = Path(path).with_name("inbox.db")
        return BesideInbox(opened, partial(_read_file, inbox)) if inbox.is_file() else Database(opened)
    is_shared = is_postgres(path, engine) and opened.has_table("tacit_waiting")
    return BesideInbox(opened, partial(_read_shared, opened)) if is_shared else Database(opened)


def _read_file(path: Path) -> InboxState | None:
    try:
        with open_read_only(path, live=has_log(path)) as file:
            rows = file.execute(SIZES).fetchall()
            [(deletions,)] = file.execute("SELECT count(*) FROM deletions").fetchall()
    except (sqlite3.Error, OSError):
        return None
    return InboxState({(collection, service): Sizes(*counts) for collection, service, *counts in rows}, deletions)


def _read_shared(engine: Engine) -> InboxState | None:
    try:
        rows = engine.fetch(SHARED_SIZES, [], {}).to_pylist()
        [deletions] = engine.fetch("SELECT count(*) AS n FROM tacit_deletions", [], {})["n"].to_pylist()
    except EngineError:
        return None
    sizes = {(row.pop("collection"), row.pop("service")): Sizes(*map(int, row.values())) for row in rows}
    return InboxState(sizes, int(deletions))
