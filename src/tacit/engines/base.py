"""The interface of an engine: store contracts, public tables and reports, and run one statement of plain SQL.

Report tables have no primary key. Appending a batch enforces that a person reports once: all tables of the batch are
stored or none. Statements come in DuckDB's dialect, with ``?`` for parameters and uploaded tables under the given
names; they never contain user text.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.contract.schema import Service
from tacit.engines.failures import outage
from tacit.errors import EngineError, ReportError, TacitError

__all__ = [
    "CountsColumns",
    "CountsRows",
    "Engine",
    "ReportBatch",
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
class ReportBatch:
    """Reports for one table; people who are in a table of ``elsewhere`` (given with its key) are refused."""

    table: str
    service: Service
    reports: pa.Table
    elsewhere: Sequence[tuple[str, str]] = ()
    rows_before: int | None = None
    """Rows of the table if none of these people is in it; None if the sender does not know."""

    @property
    def rows(self) -> int:
        """Number of reports."""
        return len(self.reports)

    @property
    def is_collected(self) -> bool:
        """Whether it comes from a collector, which stores columns without a declared type as text."""
        return self.rows_before is not None


Integers = npt.NDArray[np.int64]
Upload = Mapping[str, pa.Table]
"""Tables that one statement reads besides the reports."""


class Stamp(NamedTuple):
    """The store that a collector's database belongs to, and its number of changes."""

    identity: str
    generation: int


class Engine(Protocol):
    """Stores reports and runs statements over them."""

    whole_alphabet: int
    """Maximum codes of a channel that are all uploaded; for more, only codes that occur."""

    def contracts(self) -> list[str]:
        """Return the texts of all contracts, in the order of their creation."""

    def add_contract(self, name: str, text: str) -> None:
        """Store a contract."""

    def store_dimension(self, name: str, key: str, table: pa.Table) -> None:
        """Store a public table; one of the same name is replaced."""

    def dimensions(self) -> list[tuple[str, str, pa.Table]]:
        """Return all public tables with their names and keys."""

    def has_table(self, table: str) -> bool:
        """Return whether a report table exists."""

    def text_columns(self, table: str) -> frozenset[str]:
        """Return the columns of a report table that hold text."""

    def append(self, batches: Sequence[ReportBatch]) -> list[int]:
        """Add the reports of people who have not reported, all batches or none; return the refused rows of each."""

    def forget(self, tables: Sequence[tuple[str, str]], person: int | str) -> int:
        """Delete a person from tables, given with their keys, and from rollups; return the number of rows."""

    def add_rollup(self, table: str, by: Sequence[str]) -> None:
        """Maintain counts of codes by public columns for a report table, exact after every batch."""

    def rollups(self) -> dict[str, tuple[str, ...]]:
        """Return the report tables that have a rollup, with its public columns; see `rollup_of` for its name."""

    def codes(self, table: str, channel: int) -> npt.NDArray[np.int64]:
        """Return the distinct codes of a channel, in order."""

    def changes(self) -> Hashable | None:
        """Return a version that every change of stored reports changes; None where changes may go unnoticed."""

    def fetch(self, statement: str, parameters: Sequence[Any], uploads: Upload) -> pa.Table:
        """Run one statement over the reports and the uploaded tables."""

    def stamp(self) -> Stamp | None:
        """Return the stamp of a collector's database, or None if it has none."""

    def set_stamp(self, stamp: Stamp) -> None:
        """Stamp the database; it is on disk when this returns."""

    def probe(self) -> bool:
        """Write a value, and return whether it can be read back."""

    def read_all(self) -> None:
        """Read everything that is stored; raise if anything is unreadable or altered."""

    def clear(self, table: str) -> None:
        """Drop a report table and its rollup."""

    def copy_to(self, path: Any) -> None:
        """Copy everything that is stored to a new file."""

    def close(self) -> None:
        """Release the engine's resources."""


@runtime_checkable
class CountsColumns(Protocol):
    """An engine that counts the values of a column faster than its statements group by it.

    It runs in this process, so that fetching a column costs little, and counting sorted numbers takes a quarter of the
    time of grouping by so many.
    """

    def count_column(self, statement: str, parameters: Sequence[Any]) -> tuple[Integers, Integers] | None:
        """Run a statement with one column of whole numbers; return each number, in order, and its count.

        None if it fails: the statement that groups by the column then fails as well, and its error says why.
        """


@runtime_checkable
class CountsRows(Protocol):
    """An engine that knows how many rows a report table has without reading it."""

    def count_rows(self, table: str) -> int:
        """Return how many rows a report table has, 0 if there is none."""


def check_known(known: Stamp | None, stamp: Stamp | None) -> None:
    """Refuse a change if the stamp is not the known one, because another collector has changed the database."""
    if known is not None and stamp != known:
        problem = (
            "Another collector has changed this database in the meantime. It is compared again before the next change."
        )
        raise EngineError(problem, code="store-in-use")


def rollup_of(table: str) -> str:
    """Return the name of a report table's rollup."""
    return f"rollup_{table}"


def is_long(rows: int, least: int) -> bool:
    """Return whether batches have made a rollup so long that it should be compacted."""
    return rows > 4 * max(least, 1_000)


def unfit(cause: Exception) -> TacitError:
    """Return the error for reports that do not match the stored ones; the engine's own message may quote a key."""
    if failed := outage("Reports cannot be stored", cause):
        return failed
    problem = f"The reports do not match the stored ones ({type(cause).__name__}). Use the same column types."
    return ReportError(problem, code="reports-do-not-fit")


def broken(cause: Exception) -> EngineError:
    """Return the error of an engine whose files cannot be read or written."""
    message = f"The database cannot be read or written ({type(cause).__name__}). Check its disk, then open it again."
    return EngineError(message, code="engine-failed")


def unrunnable(cause: Exception) -> EngineError:
    """Return the error for a statement that failed; the engine's own message may quote stored values."""
    if failed := outage("The question cannot be answered now", cause):
        return failed
    message = (
        f"The engine could not run the question ({type(cause).__name__}). Compare public columns with values of their "
        "own type: text with text, numbers with numbers."
    )
    return EngineError(message)
