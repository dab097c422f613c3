"""Describe services with reports and public dimensions as SQLAlchemy tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import types

from tacit.adapters.remote.database import RemoteDatabase
from tacit.database import Database
from tacit.sql.columns import Column

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import ReflectedColumn

__all__ = ["columns_of", "dimension_names", "service_names"]

TYPES: dict[str, type[types.TypeEngine[Any]]] = {
    "boolean": types.Boolean,
    "bigint": types.BigInteger,
    "double": types.Double,
    "date": types.Date,
    "timestamp": types.DateTime,
    "text": types.String,
}
COMMENTS = {"key": "the person's key", "label": "label of the collection"}


def service_names(database: Database | RemoteDatabase) -> list[str]:
    """Return the names of the services with reports."""
    return [table.name for table in database.tables() if table.kind == "service"]


def dimension_names(database: Database | RemoteDatabase) -> list[str]:
    """Return the names of the public tables that can be joined to services."""
    return [table.name for table in database.tables() if table.kind == "dimension"]


def columns_of(database: Database | RemoteDatabase, table: str) -> list[ReflectedColumn] | None:
    """Return the columns of a service or dimension; None if there is no such table."""
    for known in database.tables():
        if known.name.lower() == table.lower():
            return [_reflect(column) for column in known.columns]
    return None


def _reflect(column: Column) -> ReflectedColumn:
    kind = TYPES.get(column.type, types.NullType)()
    comment = COMMENTS.get(column.role, column.role)
    return {"name": column.name, "type": kind, "nullable": column.nullable, "default": None, "comment": comment}
