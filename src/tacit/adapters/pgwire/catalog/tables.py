"""Relations of the catalog, filled from the shapes of a collector's tables; all others are empty."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tacit.adapters.pgwire.catalog.facts import (
    COLUMN_TYPES,
    TYPE_ROWS,
    oid_of_type,
    relation_name,
    relation_oid,
    relations,
    written_type,
)
from tacit.adapters.pgwire.catalog.values import Relation
from tacit.sql.columns import Column, Shape

__all__ = ["PUBLIC", "SYSTEM", "PgCatalog"]

SYSTEM, PUBLIC, STANDARD = 11, 2200, 13_000
"""Oids of the schemas pg_catalog, public and information_schema."""

OWNER, HEAP, DATABASE, FIRST_OID = 10, 2, 5, 16_384
"""Oids of the superuser, the heap access method and the database, and the first oid of a user's table."""

SCHEMAS = {"pg_catalog": SYSTEM, "public": PUBLIC, "information_schema": STANDARD}
ABSENT: Mapping[str, Any] = {
    "bool": False,
    "int2": 0,
    "int4": 0,
    "int8": 0,
    "oid": 0,
    "name": "",
    "char": "",
    "float4": 0.0,
}
"""Default values of columns; columns not listed hold NULL."""

NULLABLE = {"relacl", "datacl", "nspacl", "typacl", "attacl", "relpartbound", "rolvaliduntil"}
COMMENTS = {
    "key": "the person's key: for JOIN and COUNT(DISTINCT …) only",
    "sensitive": "sensitive: every answer about it is an estimate",
    "public": "public: as the server knows it",
    "label": "label of the collection",
}
PRECISION = {"int8": (64, 2, 0), "float8": (53, 2, None)}

Row = dict[str, Any]


class PgCatalog:
    """The relations of one connection.

    Parameters
    ----------
    shapes : sequence of Shape
        The tables.
    user, database : str
        Names of the connection.
    settings : mapping
        The settings for SHOW.
    """

    def __init__(self, shapes: Sequence[Shape], user: str, database: str, settings: Mapping[str, str]) -> None:
        self.shapes, self.user, self.database, self.settings = tuple(shapes), user, database, settings
        self._oids: dict[str, int] = {}
        for shape in self.shapes:
            oid = FIRST_OID + zlib.crc32(shape.name.encode()) % (1 << 30)  # equal for a name in every connection
            while oid in self._oids.values():
                oid += 1
            self._oids[shape.name] = oid
        self._relations: dict[tuple[str, str], Relation] = {}

    def oid_of(self, name: str) -> int | None:
        """Return the oid of a table or a relation of the catalog, by its name as written in a query."""
        schema, _, plain = name.rpartition(".")
        plain, schema = (part[1:-1] if part.startswith('"') else part.lower() for part in (plain, schema))
        if schema in ("", "public") and plain in self._oids:
            return self._oids[plain]
        return relation_oid(plain) if schema != "public" else None

    def name_of(self, oid: int) -> str | None:
        """Return the name of a table by its oid."""
        return next((name for name, number in self._oids.items() if number == oid), None) or relation_name(oid)

    def find(self, schema: str, name: str) -> tuple[str, str] | None:
        """Return the schema and name of a relation of the catalog; None if there is none."""
        places = [schema] if schema else ["pg_catalog"]
        return next(((place, name) for place in places if (place, name) in relations()), None)

    def relation(self, place: tuple[str, str]) -> Relation:
        """Return a relation of the catalog; settings change, the others stay."""
        if place not in self._relations or place[1] == "pg_settings":
            columns = relations()[place]
            make = ROWS.get(".".join(place))
            rows = [] if make is None else [_complete_row(columns, row) for row in make(self)]
            self._relations[place] = Relation(tuple(n for n, _ in columns), tuple(t for _, t in columns), rows)
        return self._relations[place]

    def columns(self) -> Iterable[tuple[Shape, int, int, Column]]:
        """Yield every column with its table, the table's oid, and its position from 1."""
        for shape in self.shapes:
            for place, column in enumerate(shape.columns, 1):
                yield shape, self._oids[shape.name], place, column


def _complete_row(columns: Sequence[tuple[str, str]], row: Row) -> tuple[Any, ...]:
    return tuple(row[name] if name in row else None if name in NULLABLE else ABSENT.get(kind) for name, kind in columns)


def _namespaces(_: PgCatalog) -> Iterable[Row]:
    return ({"oid": oid, "nspname": name, "nspowner": OWNER} for name, oid in SCHEMAS.items())


def _classes(catalog: PgCatalog) -> Iterable[Row]:
    for shape in catalog.shapes:
        yield {
            "oid": catalog.oid_of(f'"{shape.name}"'),
            "relname": shape.name,
            "relnamespace": PUBLIC,
            "relowner": OWNER,
            "relam": HEAP if shape.kind == "service" else 0,
            "reltuples": -1.0,
            "relpersistence": "p",
            "relkind": "r" if shape.kind == "service" else "v",
            "relnatts": len(shape.columns),
            "relispopulated": True,
            "relreplident": "d",
            "relhasrules": shape.kind == "dimension",
            "relacl": [_readable_by(catalog.user)],
        }


def _readable_by(user: str) -> str:
    """Return the access privileges of a table: its owner may read it."""
    name = user if user.isalnum() else '"' + user.replace('"', '""') + '"'
    return f"{name}=r/{name}"


def _attributes(catalog: PgCatalog) -> Iterable[Row]:
    types = {row["typname"]: row for row in TYPE_ROWS()}
    for _, oid, place, column in catalog.columns():
        kind = types[COLUMN_TYPES[column.type]]
        yield {
            "attrelid": oid,
            "attname": column.name,
            "atttypid": kind["oid"],
            "attstattarget": -1,
            "attlen": kind["typlen"],
            "attnum": place,
            "attcacheoff": -1,
            "atttypmod": -1,
            "attbyval": kind["typbyval"],
            "attalign": kind["typalign"],
            "attstorage": kind["typstorage"],
            "attnotnull": not column.nullable,
            "attislocal": True,
            "attcollation": kind["typcollation"],
        }


def _types(_: PgCatalog) -> Iterable[Row]:
    for row in TYPE_ROWS():
        yield row | {
            "typnamespace": SYSTEM,
            "typowner": OWNER,
            "typisdefined": True,
            "typtypmod": -1,
            "typoutput": str(row["typinput"]).removesuffix("in") + "out",
            "typreceive": str(row["typinput"]).removesuffix("in") + "recv",
            "typsend": str(row["typinput"]).removesuffix("in") + "send",
            "typsubscript": "array_subscript_handler" if row["typelem"] and row["typlen"] == -1 else "-",
            "typmodin": "-",
            "typmodout": "-",
            "typanalyze": "-",
        }


def _descriptions(catalog: PgCatalog) -> Iterable[Row]:
    for _, oid, place, column in catalog.columns():
        comment = COMMENTS[column.role]
        yield {"objoid": oid, "classoid": relation_oid("pg_class"), "objsubid": place, "description": comment}


def _databases(catalog: PgCatalog) -> Iterable[Row]:
    named = {"datname": catalog.database, "datcollate": "C.UTF-8", "datctype": "C.UTF-8"}
    yield (
        {"oid": DATABASE, "datdba": OWNER, "encoding": 6, "datlocprovider": "c", "datallowconn": True}
        | named
        | {
            "datconnlimit": -1,
            "dattablespace": 1663,
        }
    )


def _roles(catalog: PgCatalog) -> Iterable[Row]:
    can = {"rolinherit": True, "rolcanlogin": True, "rolconnlimit": -1, "rolpassword": "********"}
    yield {"oid": OWNER, "rolname": catalog.user} | can


def _users(catalog: PgCatalog) -> Iterable[Row]:
    yield {"usename": catalog.user, "usesysid": OWNER, "passwd": "********"}


def _settings(catalog: PgCatalog) -> Iterable[Row]:
    for name, value in catalog.settings.items():
        yield {
            "name": name,
            "setting": value,
            "category": "tacit",
            "context": "user",
            "vartype": "string",
            "source": "default",
        }


def _tables(catalog: PgCatalog) -> Iterable[Row]:
    for shape in catalog.shapes:
        if shape.kind == "service":
            yield {"schemaname": "public", "tablename": shape.name, "tableowner": catalog.user}


def _views(catalog: PgCatalog) -> Iterable[Row]:
    for shape in catalog.shapes:
        if shape.kind == "dimension":
            yield {"schemaname": "public", "viewname": shape.name, "viewowner": catalog.user, "definition": ""}


def _schemata(catalog: PgCatalog) -> Iterable[Row]:
    for name in SCHEMAS:
        yield {"catalog_name": catalog.database, "schema_name": name, "schema_owner": catalog.user}


def _standard_tables(catalog: PgCatalog) -> Iterable[Row]:
    for shape in catalog.shapes:
        kind = "BASE TABLE" if shape.kind == "service" else "VIEW"
        yield _place(catalog, shape) | {"table_type": kind, "is_insertable_into": "NO", "is_typed": "NO"}


def _standard_views(catalog: PgCatalog) -> Iterable[Row]:
    for shape in catalog.shapes:
        if shape.kind == "dimension":
            yield _place(catalog, shape) | {"check_option": "NONE", "is_updatable": "NO", "is_insertable_into": "NO"}


def _standard_columns(catalog: PgCatalog) -> Iterable[Row]:
    for shape, _, place, column in catalog.columns():
        kind = COLUMN_TYPES[column.type]
        precision, radix, scale = PRECISION.get(kind, (None, None, None))
        yield _place(catalog, shape) | {
            "column_name": column.name,
            "ordinal_position": place,
            "is_nullable": "YES" if column.nullable else "NO",
            "data_type": written_type(oid_of_type(kind)),
            "character_octet_length": 1 << 30 if kind == "text" else None,
            "numeric_precision": precision,
            "numeric_precision_radix": radix,
            "numeric_scale": scale,
            "datetime_precision": {"date": 0, "timestamp": 6}.get(kind),
            "udt_catalog": catalog.database,
            "udt_schema": "pg_catalog",
            "udt_name": kind,
            "dtd_identifier": str(place),
            "is_self_referencing": "NO",
            "is_identity": "NO",
            "identity_cycle": "NO",
            "is_generated": "NEVER",
            "is_updatable": "NO",
        }


def _place(catalog: PgCatalog, shape: Shape) -> Row:
    return {"table_catalog": catalog.database, "table_schema": "public", "table_name": shape.name}


def _privileges(catalog: PgCatalog) -> Iterable[Row]:
    for shape in catalog.shapes:
        who = {"grantor": catalog.user, "grantee": catalog.user, "privilege_type": "SELECT"}
        yield _place(catalog, shape) | who | {"is_grantable": "NO", "with_hierarchy": "YES"}


def _fixed_rows(*rows: Row) -> Callable[[PgCatalog], Iterable[Row]]:
    return lambda _: rows


ROWS: dict[str, Callable[[PgCatalog], Iterable[Row]]] = {
    "pg_catalog.pg_namespace": _namespaces,
    "pg_catalog.pg_class": _classes,
    "pg_catalog.pg_attribute": _attributes,
    "pg_catalog.pg_type": _types,
    "pg_catalog.pg_description": _descriptions,
    "pg_catalog.pg_database": _databases,
    "pg_catalog.pg_roles": _roles,
    "pg_catalog.pg_authid": _roles,
    "pg_catalog.pg_user": _users,
    "pg_catalog.pg_settings": _settings,
    "pg_catalog.pg_tables": _tables,
    "pg_catalog.pg_views": _views,
    "pg_catalog.pg_am": _fixed_rows(
        {"oid": HEAP, "amname": "heap", "amhandler": "heap_tableam_handler", "amtype": "t"}
    ),
    "pg_catalog.pg_collation": _fixed_rows(
        {"oid": 100, "collname": "default", "collnamespace": SYSTEM, "collowner": OWNER, "collprovider": "d"},
        {"oid": 950, "collname": "C", "collnamespace": SYSTEM, "collowner": OWNER, "collprovider": "c"},
    ),
    "pg_catalog.pg_tablespace": _fixed_rows({"oid": 1663, "spcname": "pg_default", "spcowner": OWNER}),
    "pg_catalog.pg_language": _fixed_rows({"oid": 14, "lanname": "sql", "lanowner": OWNER, "lanpltrusted": True}),
    "information_schema.schemata": _schemata,
    "information_schema.tables": _standard_tables,
    "information_schema.views": _standard_views,
    "information_schema.columns": _standard_columns,
    "information_schema.table_privileges": _privileges,
    "information_schema.role_table_grants": _privileges,
}
"""Relations that have rows."""
