"""The stored reports of a question's rounds: tables, decoders, rollups and labels."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.contract.contract import ServiceContract
from tacit.contract.panel import Design
from tacit.estimate.decoder import Decoder

__all__ = ["ReportSource", "Rollup", "Round"]


@dataclass(frozen=True)
class Rollup:
    """A table of how many people reported each code, by some public columns."""

    table: str
    by: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ReportSource:
    """A service's reports in one round: the table, how its functionals are decoded, and a rollup if there is one."""

    table: str
    decoder: Decoder
    rollup: Rollup | None = None

    @property
    def service(self) -> ServiceContract:
        """The compiled service."""
        return self.decoder.service

    @property
    def is_one_report(self) -> bool:
        """Whether a person has a single row."""
        return len(self.service.channels) == 1 and self.service.service.sends == 1


@dataclass(frozen=True, eq=False)
class Round:
    """The stored services of one collection, in the order of the scope."""

    labels: dict[str, str]
    stored: tuple[ReportSource, ...]
    design: Design | None = None
    """How the panel chose the round's people."""

    assigned: bool = False
    """Whether views and seeds were assigned to people who could not choose their ids."""

    @property
    def weight(self) -> float:
        """How many people each of its people stands for: a panel asks the others in other rounds."""
        return self.design.weight if self.design else 1.0

    @property
    def name(self) -> str:
        """Its labels, as readable text."""
        return ", ".join(text for text in self.labels.values() if text) or "unnamed"
