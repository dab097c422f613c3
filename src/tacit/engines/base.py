"""What an engine does: keep contracts, public tables and reports, and run one statement of plain SQL.

Reports live in tables without a key. That a person reports once is decided at the door, when a batch is appended: all
its tables together or none. Statements come in DuckDB's dialect, with ``?`` for parameters and uploaded
tables under the names they are given; user text is never in them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.contract.schema import Service
from tacit.engines.failures import outage
from tacit.errors import EngineError, ReportError, TacitError

__all__ = [
    "Batch",
    "Engine",
    "Stamp",
    "Upload",
    "broken",
    "check_known",
    "is_long",
    "rollup_of",
    "unfit",
    "unrunnable",
]


@dataclass(frozen=True, eq=False)
class Batch:
    """Reports for one table; people who are in a table of ``elsewhere``, with its key, are refused."""

    table: str
    service: Service
    reports: pa.Table
    elsewhere: Sequence[tuple[str, str]] = ()
    rows_before: int | None = None
    """Rows that the table must have if none of these people is in it; None if the sender does not know."""

    @property
    def rows(self) -> int:
        """Number of reports."""
        return len(self.reports)

    @property
    def is_collected(self) -> bool:
        """Whether it comes from a collector, which stores columns without a declared type as text."""
        return self.rows_before is not None


Upload = Mapping[str, pa.Table]
"""Tables that one statement reads beside the reports."""


class Stamp(NamedTuple):
    """Which store a collector's database belongs to, and how many times it was changed for it."""

    identity: str
    generation: int


class Engine(Protocol):
    """Where reports live."""

    whole_alphabet: int
    """Codes of a channel up to which all of them are uploaded; of more, those that occur are asked for first."""

    def contracts(self) -> list[str]:
        """Return the texts of all contracts, in the order of their creation."""

    def add_contract(self, name: str, text: str) -> None:
        """Store a contract."""

    def store_dimension(self, name: str, key: str, table: pa.Table) -> None:
        """Keep a public table; one of the same name is replaced."""

    def dimensions(self) -> list[tuple[str, str, pa.Table]]:
        """Return all public tables with their names and keys."""

    def has_table(self, table: str) -> bool:
        """Tell whether a report table exists."""

    def text_columns(self, table: str) -> frozenset[str]:
        """Return the columns of a report table that hold text."""

    def append(self, batches: Sequence[Batch]) -> list[int]:
        """Add the reports of people who have not reported, all batches or none; return how many each refused."""

    def forget(self, tables: Sequence[tuple[str, str]], person: int | str) -> int:
        """Delete a person from tables, given with their keys, and from their rollups; return how many rows."""

    def add_rollup(self, table: str, by: Sequence[str]) -> None:
        """Keep counts of codes by public columns beside a report table from now on, exact after every batch."""

    def rollups(self) -> dict[str, tuple[str, ...]]:
        """Return the report tables that have a rollup, with its public columns; see `rollup_of` for its name."""

    def codes(self, table: str, channel: int) -> npt.NDArray[np.int64]:
        """Return the distinct codes of a channel, in order."""

    def changes(self) -> Hashable | None:
        """Return what every change of stored reports changes; None where others may change them unnoticed."""

    def fetch(self, statement: str, parameters: Sequence[Any], uploads: Upload) -> pa.Table:
        """Run one statement over the reports and the uploaded tables."""

    def stamp(self) -> Stamp | None:
        """Return the stamp of a collector's database, or None if it has none."""

    def set_stamp(self, stamp: Stamp) -> None:
        """Stamp the database; it is on disk when this returns."""

    def probe(self) -> bool:
        """Write something and tell whether it can be read back."""

    def read_all(self) -> None:
        """Read everything that is stored; raise if something cannot be read, or is not what was written."""

    def clear(self, table: str) -> None:
        """Drop a report table and its rollup."""

    def copy_to(self, path: Any) -> None:
        """Write a copy of everything that is stored to a new file."""

    def close(self) -> None:
        """Let go of what the engine holds."""


def check_known(known: Stamp | None, stamp: Stamp | None) -> None:
    """Refuse a change if the stamp is not the known one: another collector has changed the database since."""
    if known is not None and stamp != known:
        problem = "Another collector has changed this database since. It is compared anew before the next change."
        raise EngineError(problem, code="store-in-use")


def rollup_of(table: str) -> str:
    """Return the name of a report table's rollup."""
    return f"rollup_{table}"


def is_long(rows: int, least: int) -> bool:
    """Tell whether batches have made a rollup so long that it should be rolled up again."""
    return rows > 4 * max(least, 1_000)


def unfit(cause: Exception) -> TacitError:
    """Return the refusal of reports that do not fit the stored ones; the engine's own words may quote a key."""
    if failed := outage("Reports cannot be stored", cause):
        return failed
    problem = f"The reports do not match the stored ones ({type(cause).__name__}). Use the same column types."
    return ReportError(problem, code="reports-do-not-fit")


def broken(cause: Exception) -> EngineError:
    """Return the failure of an engine whose files cannot be read or written."""
    message = f"The database cannot be read or written ({type(cause).__name__}). Check its disk, then open it again."
    return EngineError(message, code="engine-failed")


def unrunnable(cause: Exception) -> EngineError:
    """Return the refusal of a statement; the engine's own words may quote stored values."""
    if failed := outage("The question cannot be answered now", cause):
        return failed
    message = (
        f"The engine could not run the question ({type(cause).__name__}). Compare public columns with values of their "
        "own type: text with text, numbers with numbers."
    )
    return EngineError(message)
