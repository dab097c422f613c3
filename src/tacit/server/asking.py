"""Questions to a collector: each is logged, and its answer has a watermark."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from tacit.adapters.remote.answers import ABOUT
from tacit.answers.contributions import Contributions
from tacit.answers.crowds import privacy_of
from tacit.answers.marks import Mark
from tacit.collection import Collection
from tacit.contract.readers import Privacy
from tacit.database import Database
from tacit.engines.deadline import time_asked
from tacit.estimate.answer import Answer
from tacit.server.store.log import Log, hash_of
from tacit.server.store.snapshots import Snapshots
from tacit.server.store.watermarks import Watermarks

if TYPE_CHECKING:
    from tacit.server.store.shared.log import SharedLog

__all__ = ["Asking"]

T = TypeVar("T")


class Asking:
    """The part of a collector that answers."""

    log: Log | SharedLog
    snapshots: Snapshots
    _watermarks: Watermarks

    def query(self, text: str, *, asker: str = "", **options: Any) -> Answer:
        """Answer a question about everything acknowledged before it was asked; ``asker`` is a key's name."""
        self.log.add("question", sql=hash_of(text), key=asker)
        parameters = options.get("parameters", ())
        answer, mark = self._watermarks.measure(text, parameters, lambda db: db.sql(text, **options))
        rounds = self.read(lambda db: [collection for collection, _ in db.asked_about(text, parameters)])
        if not rounds:
            return answer  # about tables, not about reports
        return answer.with_privacy(partial(self.privacy, *rounds)).with_watermark(mark.watermark, *mark.notes)

    def privacy(self, *collections: Collection) -> Privacy:
        """Return what reports of the collections reveal about a person, and what answers reveal by now."""
        rounds = [part for collection in collections for part in self.snapshots.rounds_with_people(collection.parts)]
        return privacy_of(rounds, lambda collection: self.snapshots.crowd(collection.id))

    def marginal(self, attributes: Sequence[str], *, asker: str = "", **options: Any) -> Answer:
        """Return the table of some attributes; the log has it as a question."""
        self.log.add("marginal", attributes=list(attributes), key=asker)
        about = attributes, options.get("service")
        answer, mark = self._watermarks.measure(about, (), lambda db: db.marginal(attributes, **options))
        rounds = self.read(lambda database: [collection for collection, _ in database.newest_tiers(*about)])
        return answer.with_privacy(partial(self.privacy, *rounds)).with_watermark(mark.watermark, *mark.notes)

    def synthesize(self, rows: int, *, asker: str = "", **options: Any) -> pa.Table:
        """Return synthetic rows, with a watermark, notes and guarantees as metadata; the log has it as a question."""
        self.log.add("synthesize", rows=rows, key=asker)
        about = (), options.get("service")
        table, mark = self._watermarks.measure(about, (), lambda db: db.synthesize(rows, **options))
        rounds = self.read(lambda database: [collection for collection, _ in database.newest_tiers(*about)])
        marked = {"watermark": mark.watermark, "notes": mark.notes, "privacy": self.privacy(*rounds).to_data()}
        return table.replace_schema_metadata({ABOUT: json.dumps(marked)})

    def contributions(self, text: str, *, asker: str = "", **options: Any) -> tuple[Contributions, dict[str, int]]:
        """Return the contributions of tuples to an answer, and its watermark; logs who inspects single reports."""
        self.log.add("contributions", sql=hash_of(text), key=asker)
        page, mark = self._watermarks.measure(text, (), lambda db: db.contributions(text, **options))
        return page, mark.watermark._asdict()

    def read_marked(self, text: str, work: Callable[[Database], T]) -> tuple[T, Mark]:
        """Return the result of reading what a question is about, with its watermark; for lists, not for answers."""
        return self._watermarks.measure(text, (), work)

    def read_settled(self, work: Callable[[Database], T]) -> T:
        """Return the result of reading the database after moving reports; raise a fault if they cannot be moved."""
        self._watermarks.settle(time_asked())
        return self.read(work)

    def read(self, work: Callable[[Database], T]) -> T:
        """Return the result of reading the database; raise a fault with the reason if it cannot be read."""
        return self._watermarks.read(work)
