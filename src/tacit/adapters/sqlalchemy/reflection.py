"""What can be queried: services with reports, and public dimensions, as SQLAlchemy describes tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlalchemy import types

from tacit.contract.schema import Attribute, Public, Service
from tacit.database import Database
from tacit.sql.scope import LABELS
from tacit.sql.vectors import shown_value

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import ReflectedColumn

__all__ = ["columns_of", "dimension_names", "service_names"]


def service_names(database: Database) -> list[str]:
    """Return the names of the services with reports."""
    return [service.name for service in database.services()]


def dimension_names(database: Database) -> list[str]:
    """Return the names of the public tables that can be joined to services."""
    return [dimension.name for dimension in database.dimensions()]


def columns_of(database: Database, table: str) -> list[ReflectedColumn] | None:
    """Return the columns of a service or dimension; None if there is no such table."""
    for service in database.services():
        if service.name.lower() == table.lower():
            return _service_columns(database, service)
    for dimension in database.dimensions():
        if dimension.name.lower() == table.lower():
            return [_column(f.name, _of_arrow(f.type), "public", nullable=f.nullable) for f in dimension.table.schema]
    return None


def _service_columns(database: Database, service: Service) -> list[ReflectedColumn]:
    stored = database.stored_types(service.name)
    key = _column(service.key, _of_arrow(stored[service.key]), "the person's key", nullable=False)
    labels = [_column(name, types.String(), "label of the collection", nullable=False) for name in LABELS]
    return [key, *(_attribute(attribute, stored) for attribute in service.attributes), *labels]


def _attribute(attribute: Attribute, stored: dict[str, pa.DataType]) -> ReflectedColumn:
    if isinstance(attribute, Public):
        return _column(attribute.name, _of_arrow(stored[attribute.name]), "public", nullable=True)
    shown = {type(shown_value(attribute, index)) for index in range(min(attribute.size, 2))} - {type(None)}
    kind = _of_arrow(pa.scalar(shown_value(attribute, 0)).type) if shown != {int, float} else types.Double()
    return _column(attribute.name, kind, "sensitive", nullable=attribute.null)


def _column(name: str, kind: types.TypeEngine[Any], comment: str, *, nullable: bool) -> ReflectedColumn:
    return {"name": name, "type": kind, "nullable": nullable, "default": None, "comment": comment}


def _of_arrow(kind: pa.DataType) -> types.TypeEngine[Any]:
    """Return the type of a column. Decimals are floats, because estimates of sums are not exact."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    known: list[tuple[Any, type[types.TypeEngine[Any]]]] = [
        (pa.types.is_boolean, types.Boolean),
        (pa.types.is_integer, types.BigInteger),
        (pa.types.is_floating, types.Double),
        (pa.types.is_decimal, types.Double),
        (pa.types.is_date, types.Date),
        (pa.types.is_timestamp, types.DateTime),
        (pa.types.is_string, types.String),
        (pa.types.is_large_string, types.String),
    ]
    return next((made for is_kind, made in known if is_kind(kind)), types.NullType)()
