"""Cursors of one DuckDB connection: each call gets its own, and closing waits for none of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from tacit.engines.base import Upload, broken
from tacit.engines.deadline import interruptible
from tacit.tables.statements import compose

__all__ = ["Cursors", "run_statement"]

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
