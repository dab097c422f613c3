"""A read-only DB-API 2.0 module (PEP 249), for tools that query databases.

An estimate ``x`` becomes three columns, ``x``, ``x_low`` and ``x_high``; NULL if undefined. Parameters are ``?``.

Examples
--------
>>> import tacit as tc
>>> from tacit.datasets import town, town_schema
>>> collection = tc.Collection(town_schema(), epsilon=4.0)
>>> db = tc.connect()
>>> db.create(collection)
>>> _ = db.load(collection.encode(**town(500)))
>>> with connect(db) as connection, connection.cursor() as cursor:
...     cursor.execute("SELECT COUNT(*) AS n FROM clinic WHERE visits >= ?", [0]).fetchone()
...     [column[0] for column in cursor.description]
(500.0, 500.0, 500.0)
['n', 'n_low', 'n_high']
"""

from __future__ import annotations

from tacit.adapters.dbapi.connection import Connection, connect
from tacit.adapters.dbapi.cursor import Cursor
from tacit.adapters.dbapi.errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,  # noqa: A004  PEP 249 names it so
)
from tacit.adapters.dbapi.types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

apilevel = "2.0"
threadsafety = 2
"""Threads may share the module and connections, but not cursors."""
paramstyle = "qmark"
