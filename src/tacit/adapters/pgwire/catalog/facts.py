"""The catalog of PostgreSQL 15: its relations with their columns, and types with their oids."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = [
    "COLUMN_TYPES",
    "TYPE_ROWS",
    "oid_of_type",
    "relation_name",
    "relation_oid",
    "relations",
    "type_of_oid",
    "written_type",
]

COLUMN_TYPES = {
    "boolean": "bool",
    "bigint": "int8",
    "double": "float8",
    "date": "date",
    "timestamp": "timestamp",
    "text": "text",
    "unknown": "text",
}
"""Types of the package's tables as PostgreSQL names them."""

ALIASES = {
    "integer": "int4",
    "int": "int4",
    "smallint": "int2",
    "bigint": "int8",
    "boolean": "bool",
    "character varying": "varchar",
    "double precision": "float8",
    "double": "float8",
    "real": "float4",
    "float": "float8",
    "decimal": "numeric",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
    "character": "bpchar",
    '"char"': "char",
}


@cache
def _facts() -> dict[str, Any]:
    text = files(__package__).joinpath("postgres15.json").read_text(encoding="utf-8")
    result: dict[str, Any] = json.loads(text)
    return result


@cache
def relations() -> dict[tuple[str, str], tuple[tuple[str, str], ...]]:
    """Return the columns of every relation, names with types, by schema and name."""
    result = {}
    for name, (_, columns) in _facts()["relations"].items():
        schema, _, relation = name.partition(".")
        pairs = (column.split(" ") for column in columns.split(", "))
        result[schema, relation] = tuple((column, kind) for column, kind in pairs)
    return result


@cache
def _relation_oids() -> dict[str, int]:
    return {name.partition(".")[2]: oid for name, (oid, _) in _facts()["relations"].items()}


def relation_oid(name: str) -> int | None:
    """Return the oid of a relation of the catalog."""
    return _relation_oids().get(name)


def relation_name(oid: int) -> str | None:
    """Return the name of a relation of the catalog by its oid."""
    return next((name for name, number in _relation_oids().items() if number == oid), None)


@cache
def _type_rows() -> tuple[dict[str, Any], ...]:
    names = _facts()["type_columns"].split()
    return tuple(dict(zip(names, row, strict=True)) for row in _facts()["types"])


TYPE_ROWS = _type_rows
"""Rows of pg_type, with `written`, the name that format_type gives."""


@cache
def _oids() -> dict[str, int]:
    return {row["typname"]: row["oid"] for row in _type_rows()}


def oid_of_type(name: str) -> int | None:
    """Return the oid of a type by any of its names.

    Examples
    --------
    >>> oid_of_type("text"), oid_of_type("integer"), oid_of_type("text[]"), oid_of_type("nothing")
    (25, 23, 1009, None)
    """
    plain = name.strip().lower().removeprefix("pg_catalog.").strip('"') if name != '"char"' else "char"
    if plain.endswith("[]"):
        plain = f"_{ALIASES.get(plain[:-2], plain[:-2])}"
    return _oids().get(ALIASES.get(plain, plain))


@cache
def _by_oid() -> dict[int, dict[str, Any]]:
    return {row["oid"]: row for row in _type_rows()}


def type_of_oid(oid: int) -> str | None:
    """Return the name of a type by its oid."""
    row = _by_oid().get(oid)
    return None if row is None else str(row["typname"])


def written_type(oid: int | None) -> str:
    """Return a type as format_type writes it.

    Examples
    --------
    >>> written_type(20), written_type(1)
    ('bigint', '???')
    """
    row = _by_oid().get(oid or 0)
    return "???" if row is None else str(row["written"])
