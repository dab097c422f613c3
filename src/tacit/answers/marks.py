"""How many acknowledged reports an answer counts, and the note if it does not count all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tacit.contract.contract import ServiceContract
from tacit.encode.reports import report_table
from tacit.engines.base import Engine
from tacit.engines.row_counts import stored_rows
from tacit.estimate.answer import Watermark

__all__ = ["Mark", "Sizes", "count_reports", "notes_of"]


class Sizes(NamedTuple):
    """Numbers of reports of one place."""

    known: int = 0
    """Acknowledged and not deleted."""

    pending: int = 0
    """Of these, not yet in the analytical database."""

    damaged: int = 0
    """Of these, altered by the disk and never counted."""

    lost: int = 0
    """Of these, lost with an analytical database: the inbox does not have their content."""

    bulk: int = 0
    """Loaded in bulk instead of sent by people."""

    @property
    def acknowledged(self) -> int:
        """Reports that a complete answer counts."""
        return self.known + self.bulk

    @property
    def settled(self) -> int:
        """Reports that came through the inbox and must be in the analytical database."""
        return self.known - self.pending - self.damaged - self.lost


@dataclass(frozen=True)
class Mark:
    """A watermark and its notes."""

    watermark: Watermark
    notes: tuple[str, ...] = ()


def count_reports(engine: Engine, collection: str, service: ServiceContract) -> int:
    """Return how many reports of a collection's service an engine has."""
    table = report_table(collection, service.service.name)
    return stored_rows(engine, table) // len(service.channels) if engine.has_table(table) else 0


def notes_of(watermark: Watermark, sizes: Sequence[Sizes]) -> list[str]:
    """Return the notes if an answer does not count exactly what was acknowledged."""
    acknowledged, counted = watermark
    if acknowledged == counted:
        return []
    if counted > acknowledged:
        return [f"{counted:,} reports are counted, but only {acknowledged:,} of them came through this collector"]
    pending, damaged = sum(size.pending for size in sizes), sum(size.damaged for size in sizes)
    reasons = {"wait to be moved or for the rest of their person's reports": pending, "are damaged": damaged}
    again = "are of people whose reports were loaded in bulk, or " if any(size.bulk for size in sizes) else ""
    reasons[f"{again}were lost with an earlier analytical database"] = acknowledged - counted - pending - damaged
    why = ", ".join(f"{number:,} {reason}" for reason, number in reasons.items() if number > 0)
    return [f"{acknowledged:,} reports were acknowledged, but {counted:,} counted: {why} (docs/glossary.md#watermark)"]
