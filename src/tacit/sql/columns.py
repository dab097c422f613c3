"""Tables and columns that questions can name, with plain types, for the catalogs that database tools read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from tacit.contract.schema import Attribute, Public, Service
from tacit.sql.lookup import Dimension
from tacit.sql.scope import LABELS
from tacit.sql.vectors import shown_value

__all__ = ["Column", "ColumnType", "Shape", "dimension_shape", "plain_type", "service_shape"]

ColumnType = Literal["boolean", "bigint", "double", "date", "timestamp", "text", "unknown"]
Role = Literal["key", "sensitive", "public", "label"]

ARROW_TYPES: tuple[tuple[Any, ColumnType], ...] = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_integer, "bigint"),
    (pa.types.is_floating, "double"),
    (pa.types.is_decimal, "double"),  # sums of decimals are estimates, whose digits are not exact
    (pa.types.is_date, "date"),
    (pa.types.is_timestamp, "timestamp"),
    (pa.types.is_string, "text"),
    (pa.types.is_large_string, "text"),
)


@dataclass(frozen=True)
class Column:
    """A column: its name, type and role, and whether it may be NULL."""

    name: str
    type: ColumnType
    role: Role
    nullable: bool


@dataclass(frozen=True)
class Shape:
    """A service or a public dimension as a table."""

    name: str
    kind: Literal["service", "dimension"]
    columns: tuple[Column, ...]


def plain_type(kind: pa.DataType) -> ColumnType:
    """Return the plain type of an Arrow type.

    Examples
    --------
    >>> plain_type(pa.int16()), plain_type(pa.dictionary(pa.int8(), pa.string())), plain_type(pa.null())
    ('bigint', 'text', 'unknown')
    """
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return next((plain for is_kind, plain in ARROW_TYPES if is_kind(kind)), "unknown")


def service_shape(service: Service, stored: Mapping[str, pa.DataType]) -> Shape:
    """Return a service as a table; ``stored`` has the types of its key and its public columns."""
    key = Column(service.key, plain_type(stored[service.key]), "key", nullable=False)
    labels = [Column(name, "text", "label", nullable=False) for name in LABELS]
    return Shape(
        service.name, "service", (key, *(_column(attribute, stored) for attribute in service.attributes), *labels)
    )


def dimension_shape(dimension: Dimension) -> Shape:
    """Return a public dimension as a table."""
    columns = [Column(field.name, plain_type(field.type), "public", field.nullable) for field in dimension.table.schema]
    return Shape(dimension.name, "dimension", tuple(columns))


def _column(attribute: Attribute, stored: Mapping[str, pa.DataType]) -> Column:
    if isinstance(attribute, Public):
        return Column(attribute.name, plain_type(stored[attribute.name]), "public", nullable=True)
    shown = {type(shown_value(attribute, index)) for index in range(min(attribute.size, 2))} - {type(None)}
    kind = plain_type(pa.scalar(shown_value(attribute, 0)).type) if shown != {int, float} else "double"
    return Column(attribute.name, kind, "sensitive", attribute.null)
