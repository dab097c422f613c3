"""Connections: a database opened read-only, with the options for its questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from tacit.adapters.beside import open_database
from tacit.adapters.dbapi import errors
from tacit.adapters.dbapi.cursor import Cursor
from tacit.adapters.remote.address import is_address
from tacit.adapters.remote.database import RemoteDatabase
from tacit.database import Database
from tacit.engines import is_there
from tacit.errors import EngineError, UsageError
from tacit.estimate.answer import Answer, Options
from tacit.tables.places import place_text

__all__ = ["Connection", "connect"]


def connect(
    database: Any = None,
    *,
    engine: Any = "duckdb",
    confidence: float = 0.95,
    decoder: str = "blue",
    key: str | None = None,
    key_file: Any = None,
) -> Connection:
    """Open a database for questions.

    Parameters
    ----------
    database : str, Path or Database
        An existing file, the address of a PostgreSQL database (``postgresql://…``) or of a running collector
        (``https://host``, ``tacit://host``), or a `tacit.Database`, which stays open when the connection is closed.
        Default, and ``":memory:"``: an empty database in memory, to be filled as ``connection.database``.
    engine : str or SparkSession
        As for `tacit.connect`.
    confidence : float
        Level of the intervals.
    decoder : {"blue", "cover", "rdc"}
        The decoder: least squares, or those of the papers.
    key, key_file : str, optional
        A collector's key, or a file that holds it, as for `tacit.connect`.
    """
    with errors.translate_errors():
        options = Options(confidence, decoder)
        if isinstance(database, Database | RemoteDatabase):
            return Connection(database, options, owned=False)
        if is_address(database):
            return Connection(RemoteDatabase(database, key=key, key_file=key_file), options, owned=True)
        if isinstance(database, str) and database in ("", ":memory:"):
            database = None
        _check_exists(database, engine)
        opened = open_database(database, engine, read_only=database is not None)
        return Connection(opened, options, owned=True)


def _check_exists(path: Any, engine: Any) -> None:
    """Refuse databases that do not exist: a question must not create one."""
    if engine == "duckdb" and isinstance(path, str | Path) and not is_there(path):
        message = f"There is no database {Path(place_text(path)).name!r}. Create one with tacit load."
        raise EngineError(message, code="no-database")


class Connection:
    """A database, a confidence and a decoder. Threads may share it, each with its own cursors."""

    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    def __init__(self, database: Database | RemoteDatabase, options: Options, *, owned: bool) -> None:
        self._database, self._options, self._owned = database, options, owned
        self.closed = False

    @property
    def database(self) -> Database | RemoteDatabase:
        """The database behind the connection."""
        self.check_open()
        return self._database

    def check_open(self) -> None:
        """Raise if the connection is closed."""
        if self.closed:
            message = "The connection is closed. Open another one."
            raise errors.InterfaceError(message, code="closed")

    def ask(self, question: str, parameters: Sequence[Any]) -> Answer:
        """Answer a question with the connection's options."""
        if not isinstance(question, str):
            message = f"A question must be text, not a {type(question).__name__}."
            raise UsageError(message, code="bad-option")
        options = self._options
        return self.database.sql(question, parameters, confidence=options.confidence, decoder=options.decoder)

    def cursor(self) -> Cursor:
        """Return a new cursor."""
        self.check_open()
        return Cursor(self)

    def commit(self) -> None:
        """Do nothing: there is nothing to commit."""
        self.check_open()

    def rollback(self) -> None:
        """Do nothing: nothing was changed."""
        self.check_open()

    def close(self) -> None:
        """Close the connection, and the database if the connection opened it."""
        if self._owned and not self.closed:
            self._database.close()
        self.closed = True

    def __enter__(self) -> Self:
        self.check_open()
        return self

    def __exit__(self, *cause: object) -> None:
        self.close()
