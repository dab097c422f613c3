"""Cursors of one DuckDB connection: each call gets its own, and closing waits for none of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.engines.base import Upload, broken
from tacit.engines.deadline import interruptible
from tacit.tables.statements import compose

__all__ = ["Counts", "Cursors", "count_values", "run_statement"]

Counts = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]

COUNTED_AT_ONCE = 2**22
"""Numbers that are sorted at a time: at most 32 megabytes; short integers are sorted twice as fast."""

BROKEN = (duckdb.FatalException, duckdb.IOException, duckdb.InternalException, duckdb.SerializationException)
"""DuckDB's exceptions when a file cannot be read or written, or was altered."""


class Cursors:
    """The cursors that are in use."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection, self._idle = connection, threading.Condition()
        self._busy: list[duckdb.DuckDBPyConnection] = []

    @contextmanager
    def lend(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lend a cursor to one call: threads that share one get mixed-up results or errors."""
        with self._idle:
            cursor = self._connection.cursor()
            self._busy.append(cursor)
        try:
            yield cursor
        except duckdb.Error as cause:
            if isinstance(cause, BROKEN) or type(cause) is duckdb.Error:  # wrong checksums have no exception class
                raise broken(cause) from None
            raise
        finally:
            with self._idle:
                self._busy = [other for other in self._busy if other is not cursor]
                self._idle.notify_all()
                cursor.close()

    def close(self) -> None:
        """Interrupt running questions, and close the connection."""
        with self._idle:
            while self._busy:
                for cursor in self._busy:
                    cursor.interrupt()
                self._idle.wait(0.05)  # repeatedly: a question that has not begun is not interrupted
            self._connection.close()


def run_statement(
    cursor: duckdb.DuckDBPyConnection, statement: str, parameters: Sequence[Any], uploads: Upload
) -> pa.Table:
    """Run one statement over stored and uploaded tables."""
    for name, table in uploads.items():  # copied: the size of Arrow tables is unknown to DuckDB
        cursor.register(f"arrow_{name}", table)
        copied = "CREATE OR REPLACE TEMP TABLE {table} AS SELECT * FROM {uploaded}"
        cursor.execute(compose(copied, table=name, uploaded=f"arrow_{name}"))
    with interruptible(cursor.interrupt):
        return cursor.sql(statement, params=list(parameters)).to_arrow_table()


def count_values(cursor: duckdb.DuckDBPyConnection, statement: str, parameters: Sequence[Any]) -> Counts | None:
    """Run a statement with one column of whole numbers; return each one, in order, with its count; None if it fails."""
    counts, batches = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)), list[pa.Array]()
    try:
        with interruptible(cursor.interrupt):
            for batch in cursor.sql(statement, params=list(parameters)).to_arrow_reader(COUNTED_AT_ONCE):
                if sum(map(len, batches)) + len(batch) > COUNTED_AT_ONCE:
                    counts, batches = _add_counts(counts, batches), []
                batches.append(batch.column(0))
    except (duckdb.Error, pa.ArrowException):
        return None
    return _add_counts(counts, batches)


def _add_counts(counts: Counts, batches: Sequence[pa.Array]) -> Counts:
    """Add the counts of some numbers to those of others."""
    numbers = np.from_dlpack(pa.concat_arrays(batches)) if batches else np.zeros(0, dtype=np.int64)
    ordered = np.sort(numbers)
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
    values, times = ordered[first].astype(np.int64), np.diff(first, append=len(ordered))
    if not len(counts[0]):
        return values, times
    every, place = np.unique(np.concatenate([counts[0], values]), return_inverse=True)
    return every, np.bincount(place, np.concatenate([counts[1], times])).astype(np.int64)
