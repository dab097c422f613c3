"""Cursors: questions in, rows of plain values out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

from tacit.adapters.dbapi.errors import InterfaceError, NotSupportedError, ProgrammingError, translate_errors
from tacit.adapters.dbapi.types import type_code
from tacit.estimate.answer import Answer

if TYPE_CHECKING:
    from tacit.adapters.dbapi.connection import Connection

__all__ = ["Cursor"]

Row = tuple[Any, ...]
Column = tuple[str, type, None, None, None, None, bool | None]
"""Name, type code, four unused sizes, and whether NULL is possible."""

PARTS = (("", "value"), ("_low", "low"), ("_high", "high"))
"""Columns of an estimate: suffixes and values."""


class Cursor:
    """One question at a time, and its rows.

    Attributes
    ----------
    arraysize : int
        Default number of rows that `fetchmany` returns.
    description : list of tuple or None
        The columns of the last answer; an estimate ``x`` is three of them: ``x``, ``x_low`` and ``x_high``.
    rowcount : int
        Rows of the last answer; -1 before there is one.
    notes : tuple of str
        Caveats of the last answer, such as few reports or rows selected by estimates.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self.lastrowid = None
        self._closed = False
        self._forget()

    def _forget(self) -> None:
        self.description: list[Column] | None = None
        self.rowcount = -1
        self.notes: tuple[str, ...] = ()
        self._rows: list[Row] | None = None
        self._next = 0

    def _check_open(self) -> None:
        if self._closed:
            message = "The cursor is closed. Open another one."
            raise InterfaceError(message, code="closed")
        self.connection.check_open()

    def execute(self, operation: str, parameters: Sequence[Any] | None = None) -> Self:
        """Ask a question.

        Parameters
        ----------
        operation : str
            One SELECT, or EXPLAIN and one.
        parameters : sequence, optional
            Constants for its question marks, in order: numbers, texts, dates, booleans or None.
        """
        self._check_open()
        self._forget()
        with translate_errors():
            answer = self.connection.ask(operation, () if parameters is None else parameters)
        self.description, self._rows = _to_table(answer)
        self.rowcount, self.notes = len(self._rows), answer.notes
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Sequence[Any]]) -> NoReturn:  # noqa: ARG002
        """Refuse: executemany is for writing, and the database is read-only."""
        self._check_open()
        message = "The database is read only: ask one question at a time with execute."
        raise NotSupportedError(message, code="read-only")

    @property
    def rownumber(self) -> int | None:
        """Index of the next row, counted from 0; None before there is an answer."""
        return None if self._rows is None else self._next

    def fetchone(self) -> Row | None:
        """Return the next row; None after the last."""
        return next(iter(self._take(1)), None)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """Return the next rows, at most ``size``."""
        return self._take(self.arraysize if size is None else size)

    def fetchall(self) -> list[Row]:
        """Return all rows that are left."""
        return self._take(None)

    def _take(self, count: int | None) -> list[Row]:
        self._check_open()
        if self._rows is None:
            message = "There is no answer to fetch rows from. Call execute first."
            raise ProgrammingError(message, code="no-answer")
        end = len(self._rows) if count is None else self._next + max(0, count)
        rows = self._rows[self._next : end]
        self._next += len(rows)
        return rows

    def __iter__(self) -> Iterator[Row]:
        return self

    def __next__(self) -> Row:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Do nothing: sizes of parameters are fixed."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing: sizes of columns are fixed."""

    def close(self) -> None:
        """Drop the rows; the cursor cannot be used again."""
        self._forget()
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *cause: object) -> None:
        self.close()


def _to_table(answer: Answer) -> tuple[list[Column], list[Row]]:
    """Return the columns and rows of an answer as plain values."""
    columns: list[Column] = []
    cells: list[list[Any]] = []
    for index, name in enumerate(answer.columns):
        values = [row[index] for row in answer.rows]
        if name in answer.estimates:
            for suffix, attribute in PARTS:
                columns.append((name + suffix, float, None, None, None, None, True))
                cells.append([_null_if_undefined(getattr(value, attribute)) for value in values])
        else:
            columns.append((name, type_code(values), None, None, None, None, None))
            cells.append(values)
    return columns, list(zip(*cells, strict=True))


def _null_if_undefined(value: float) -> float | None:
    """Return a number, or NULL if it is undefined; the ends of an interval may be infinite."""
    return None if math.isnan(value) else float(value)
