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
"""What DuckDB raises when a file cannot be read or written, or is not what was written."""


class Cursors:
    """The cursors that are in use."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection, self._idle = connection, threading.Condition()
        self._busy: list[duckdb.DuckDBPyConnection] = []

    @contextmanager
    def lend(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lend a cursor to one call: one that threads share mixes up or refuses their results."""
        with self._idle:
            cursor = self._connection.cursor()
            self._busy.append(cursor)
        try:
            yield cursor
        except duckdb.Error as cause:
            if isinstance(cause, BROKEN) or type(cause) is duckdb.Error:  # wrong checksums have no class of their own
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
                self._idle.wait(0.05)  # and again: one that has not begun yet is not stopped by it
            self._connection.close()


def run_statement(
    cursor: duckdb.DuckDBPyConnection, statement: str, parameters: Sequence[Any], uploads: Upload
) -> pa.Table:
    """Run one statement over stored and uploaded tables."""
    for name, table in uploads.items():  # copied into tables of its own: it does not know the size of Arrow tables
        cursor.register(f"arrow_{name}", table)
        copied = "CREATE OR REPLACE TEMP TABLE {table} AS SELECT * FROM {uploaded}"
        cursor.execute(compose(copied, table=name, uploaded=f"arrow_{name}"))
    with interruptible(cursor.interrupt):
        return cursor.sql(statement, params=list(parameters)).to_arrow_table()
