"""The dialect: addresses, connections and names that SQLAlchemy needs to use the DB-API module.

Statements are compiled as plain SQL, with ``?`` for constants, which the cursor binds. More columns are returned than
were selected: the question's own columns are found by name, next to their ``x_low`` and ``x_high``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sqlalchemy import exc, pool, types
from sqlalchemy.engine import default
from sqlalchemy.engine.url import URL
from sqlalchemy.sql.compiler import IdentifierPreparer
from sqlglot.dialects import DuckDB

import tacit.adapters.dbapi
from tacit.adapters.remote.address import url_of
from tacit.adapters.remote.database import RemoteDatabase
from tacit.adapters.sqlalchemy.reflection import columns_of, dimension_names, service_names
from tacit.database import Database
from tacit.errors import UsageError

if TYPE_CHECKING:
    from types import ModuleType

    from sqlalchemy.engine import Connection, Engine
    from sqlalchemy.engine.interfaces import (
        ConnectArgsType,
        DBAPIConnection,
        ReflectedColumn,
        ReflectedPrimaryKeyConstraint,
    )

__all__ = ["TacitDialect"]

OPTIONS = ("confidence", "decoder", "engine")
REMOTE_OPTIONS = ("confidence", "decoder", "key_file")
"""Options in the query string of an address: of a local database, and of a collector."""


class _Preparer(IdentifierPreparer):
    """Quotes every name that the question parser would read as a keyword."""

    reserved_words = IdentifierPreparer.reserved_words | {word.lower() for word in DuckDB.tokenizer_class.KEYWORDS}


class _Number(types.Numeric[Any]):
    """Keeps numbers unchanged: estimates are floats, and ten decimal places would not make them exact."""

    def result_processor(self, *_: Any) -> None:
        """Change nothing."""


class TacitDialect(default.DefaultDialect):
    """Estimates through SQLAlchemy."""

    name = "tacit"
    driver = "dbapi"
    default_paramstyle = "qmark"
    preparer = _Preparer
    colspecs = {types.Numeric: _Number}  # noqa: RUF012  as the base class has it
    supports_statement_cache = True
    supports_native_boolean = True
    supports_alter = False
    supports_sane_multi_rowcount = False
    postfetch_lastrowid = False
    div_is_floordiv = False  # SUM(a) / COUNT(*) is a ratio of estimates, never integer division

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """Return the DB-API module."""
        return tacit.adapters.dbapi

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        """Return a single connection for a database in memory, otherwise the usual pool."""
        return pool.StaticPool if url.database == ":memory:" else pool.QueuePool

    def create_connect_args(self, url: URL) -> ConnectArgsType:
        """Return the arguments of `tacit.adapters.dbapi.connect`."""
        arguments = _place(url)
        options = REMOTE_OPTIONS if url.host else OPTIONS
        for option, value in url.query.items():
            if option not in options or not isinstance(value, str):
                message = f"An address has {', '.join(options)} once each, not {option!r}."
                raise exc.ArgumentError(message)
            arguments[option] = _confidence(value) if option == "confidence" else value
        return [], arguments

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        """Hide the password in an engine's address: SQLAlchemy prints the query string unchanged."""
        address = engine.url.query.get("engine")
        if isinstance(address, str):
            hidden = re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", address)
            hidden = re.sub(r"\b(password=)[^&]*", r"\1***", hidden)
            engine.url = engine.url.update_query_dict({"engine": hidden})

    def do_ping(self, dbapi_connection: DBAPIConnection) -> bool:
        """Return whether a connection is open, without a question."""
        dbapi_connection.commit()
        return True

    def is_disconnect(self, e: BaseException, connection: Any, cursor: Any) -> bool:  # noqa: ARG002
        """Return whether an error means that the connection is closed."""
        return isinstance(e, tacit.adapters.dbapi.InterfaceError)

    def _get_server_version_info(self, connection: Connection) -> None:
        """Return nothing: there is no server version."""

    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> bool:
        """Return whether there is a service with reports, or a dimension, of this name."""
        return schema is None and columns_of(_database(connection), table_name) is not None

    def get_schema_names(self, connection: Connection, **_: Any) -> list[str]:  # noqa: ARG002
        """Return nothing: tables are not in schemas."""
        return []

    def get_table_names(self, connection: Connection, schema: str | None = None, **_: Any) -> list[str]:
        """Return the services with reports."""
        return [] if schema else service_names(_database(connection))

    def get_view_names(self, connection: Connection, schema: str | None = None, **_: Any) -> list[str]:
        """Return the public dimensions, which can only be joined to services."""
        return [] if schema else dimension_names(_database(connection))

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> list[ReflectedColumn]:
        """Return the key, the attributes and the labels of a service, or the columns of a dimension."""
        columns = None if schema else columns_of(_database(connection), table_name)
        if columns is None:
            raise exc.NoSuchTableError(table_name)
        return columns

    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **_: Any
    ) -> ReflectedPrimaryKeyConstraint:
        """Return no primary key: a person may have several rows, and rows cannot be queried."""
        self.get_columns(connection, table_name, schema)
        return {"constrained_columns": [], "name": None}

    def _none_of(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> list[Any]:
        """Return nothing, for a table that exists."""
        self.get_columns(connection, table_name, schema)
        return []

    get_foreign_keys = get_indexes = get_unique_constraints = get_check_constraints = _none_of


def _place(url: URL) -> dict[str, Any]:
    """Return the database of an address: a file, or a collector with its key, which SQLAlchemy hides as a password."""
    if not url.host:
        if url.username or url.password or url.port:
            message = "An address without a host has no key: write tacit:///file.tacit, or tacit://:key@host."
            raise exc.ArgumentError(message)
        return {"database": url.database} if url.database else {}
    if url.host.lower().endswith(".tacit"):
        message = "This is a file, not a host: write tacit:///file.tacit, with three slashes."
        raise exc.ArgumentError(message)
    port = f":{url.port}" if url.port else ""
    host = f"[{url.host}]" if ":" in url.host else url.host
    place = f"tacit://{host}{port}/{url.database or ''}"
    try:
        url_of(place)
    except UsageError as cause:
        raise exc.ArgumentError(cause.message) from None
    return {"database": place} | ({"key": str(url.password)} if url.password else {})


def _confidence(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        message = "confidence must be a number between 0 and 1, such as 0.95."
        raise exc.ArgumentError(message) from None


def _database(connection: Connection) -> Database | RemoteDatabase:
    """Return the database behind a connection of SQLAlchemy."""
    driver: tacit.adapters.dbapi.Connection = connection.connection.driver_connection  # type: ignore[assignment]
    return driver.database
