"""Functions in catalog questions: by name, each with its result type.

They access nothing but the catalog of the connection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from sqlglot.dialects import Postgres

from tacit.adapters.pgwire.catalog.facts import oid_of_type, written_type
from tacit.adapters.pgwire.catalog.tables import PUBLIC, SYSTEM, PgCatalog
from tacit.adapters.pgwire.catalog.values import array_text, check_length, check_text, text_of

__all__ = ["FUNCTIONS", "SETS", "VERSION", "Function"]

VERSION = "15.0"
"""The version of PostgreSQL whose catalog is shown to tools."""

Function = tuple[str, Callable[..., Any]]
"""The result type, and the function of the catalog and the arguments."""

CHANGES = ("insert", "update", "delete", "truncate", "references", "trigger", "create", "temp", "temporary", "execute")


def _constant(kind: str, value: object) -> Function:
    return kind, lambda *_: value


def _strict(kind: str, work: Callable[..., Any]) -> Function:
    """Return a function that is NULL if any argument is NULL."""
    return kind, lambda _, *arguments: None if any(value is None for value in arguments) else work(*arguments)


def _may(_: PgCatalog, *arguments: Any) -> bool | None:
    """Return whether the last argument names a privilege to read, perhaps several with commas."""
    if arguments[-1] is None:
        return None
    return any(word.strip().split(" ")[0] not in CHANGES for word in str(arguments[-1]).lower().split(","))


def _setting(catalog: PgCatalog, name: Any, *_: Any) -> str | None:
    return None if name is None else catalog.settings.get(str(name).lower())


def _schemas(_: PgCatalog, implicit: Any = False) -> list[str]:  # noqa: FBT002  as SQL calls it
    return ["pg_catalog", "public"] if implicit else ["public"]


def _class(catalog: PgCatalog, name: Any) -> int | None:
    return None if name is None else catalog.oid_of(str(name))


def _column_comment(catalog: PgCatalog, oid: Any, place: Any) -> str | None:
    rows = catalog.relation(("pg_catalog", "pg_description")).rows
    return next((row[3] for row in rows if row[0] == oid and row[2] == place), None)


def _format_type(_: PgCatalog, oid: Any, modifier: Any = None) -> str | None:
    del modifier
    return None if oid is None else "-" if oid == 0 else written_type(oid)


def _quote(text: str) -> str:
    return text if re.fullmatch(r"[a-z_][a-z0-9_]*", text) else '"' + text.replace('"', '""') + '"'


def _literal(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def _format(_: PgCatalog, pattern: Any, *arguments: Any) -> str | None:
    """Fill %s, %I (a name) and %L (a constant) with values, one after the other."""
    if pattern is None:
        return None
    values = iter(arguments)

    def fill(sign: re.Match[str]) -> str:
        if sign[1] == "%":
            return "%"
        value = next(values, None)
        if value is None:
            return "NULL" if sign[1] == "L" else ""
        return {"s": text_of, "I": lambda name: _quote(str(name)), "L": _literal}[sign[1]](value)

    return check_text(re.sub("%([%sIL])", fill, str(pattern)))


def _parse_identifier(text: Any, *_: Any) -> list[str]:
    """Return the parts of a dotted name: quoted parts unchanged, others in lower case."""
    parts = re.findall(r'"((?:[^"]|"")*)"|([^."]+)', str(text))
    return [quoted.replace('""', '"') if quoted else plain.strip().lower() for quoted, plain in parts]


def _part(text: str, separator: str, place: int) -> str:
    parts = text.split(separator) if separator else [text]
    return parts[place - 1] if 1 <= place <= len(parts) else ""


def _object(_: PgCatalog, *arguments: Any) -> str:
    return json.dumps({str(name): value for name, value in zip(arguments[::2], arguments[1::2], strict=False)})


def _replace(text: str, old: str, new: str) -> str:
    """Replace a part of a text; the length of the result is checked first."""
    if not old:
        return text
    check_length(len(text) + text.count(old) * len(new))
    return text.replace(old, new)


def _join_texts(values: Any, separator: Any, missing: Any = None) -> str:
    check_length(len(values) * len(str(separator)))
    shown = [missing if value is None else text_of(value) for value in values]
    return check_text(str(separator).join(str(value) for value in shown if value is not None))


TRUE, NULL_TEXT, ZERO = _constant("bool", value=True), _constant("text", None), _constant("int8", 0)

FUNCTIONS: dict[str, Function] = {
    "version": _constant("text", f"PostgreSQL {VERSION} (tacit: estimates with error bars, read only)"),
    "current_database": ("name", lambda catalog: catalog.database),
    "current_catalog": ("name", lambda catalog: catalog.database),
    "current_user": ("name", lambda catalog: catalog.user),
    "session_user": ("name", lambda catalog: catalog.user),
    "user": ("name", lambda catalog: catalog.user),
    "current_role": ("name", lambda catalog: catalog.user),
    "current_schema": _constant("name", "public"),
    "current_schemas": ("_name", _schemas),
    "current_setting": ("text", _setting),
    "set_config": ("text", lambda _, __, value, *___: value),
    "pg_backend_pid": _constant("int4", 0),
    "pg_index_column_has_property": _constant("bool", None),
    "pg_index_has_property": _constant("bool", None),
    "pg_indexam_has_property": _constant("bool", None),
    "pg_my_temp_schema": _constant("oid", 0),
    "pg_is_other_temp_schema": _constant("bool", value=False),
    "pg_is_in_recovery": _constant("bool", value=False),
    "pg_postmaster_start_time": _constant("timestamptz", None),
    "pg_conf_load_time": _constant("timestamptz", None),
    "pg_advisory_unlock_all": _constant("void", ""),
    "txid_current": _constant("int8", 0),
    "inet_server_addr": _constant("inet", None),
    "inet_client_addr": _constant("inet", None),
    "inet_server_port": _constant("int4", None),
    "format_type": ("text", _format_type),
    "to_regclass": ("regclass", _class),
    "to_regtype": _strict("regtype", lambda name: oid_of_type(str(name))),
    "to_regnamespace": _strict("regnamespace", {"public": PUBLIC, "pg_catalog": SYSTEM}.get),
    "col_description": ("text", _column_comment),
    "pg_get_userbyid": ("name", lambda catalog, _: catalog.user),
    "pg_encoding_to_char": _constant("name", "UTF8"),
    "pg_char_to_encoding": _constant("int4", 6),
    "pg_client_encoding": _constant("name", "UTF8"),
    "pg_size_pretty": _constant("text", "0 bytes"),
    "pg_column_is_updatable": _constant("bool", value=False),
    "pg_relation_is_publishable": _constant("bool", value=False),
    "pg_relation_is_updatable": _constant("int4", 0),
    "quote_ident": _strict("text", lambda text: _quote(str(text))),
    "quote_literal": _strict("text", _literal),
    "format": ("text", _format),
    "parse_ident": _strict("_text", _parse_identifier),
    "array_to_string": _strict("text", _join_texts),
    "array_upper": _strict("int4", lambda values, _: len(values) or None),
    "array_lower": _strict("int4", lambda values, _: 1 if values else None),
    "array_length": _strict("int4", lambda values, *_: len(values) or None),
    "cardinality": _strict("int4", len),
    "array_position": _strict("int4", lambda values, member: values.index(member) + 1 if member in values else None),
    "string_to_array": _strict("_text", lambda text, by: str(text).split(by) if by else [text]),
    "json_build_object": ("json", _object),
    "jsonb_build_object": ("jsonb", _object),
    "lower": _strict("text", lambda text: str(text).lower()),
    "upper": _strict("text", lambda text: str(text).upper()),
    "length": _strict("int4", lambda text: len(str(text))),
    "char_length": _strict("int4", lambda text: len(str(text))),
    "octet_length": _strict("int4", lambda text: len(str(text).encode())),
    "replace": _strict("text", lambda text, old, new: _replace(str(text), str(old), str(new))),
    "substring": _strict("text", lambda text, start, count=None: _cut(str(text), start, count)),
    "substr": _strict("text", lambda text, start, count=None: _cut(str(text), start, count)),
    "left": _strict("text", lambda text, count: str(text)[:count]),
    "right": _strict("text", lambda text, count: str(text)[-count:] if count else ""),
    "trim": _strict("text", lambda text, letters=" ": str(text).strip(letters)),
    "btrim": _strict("text", lambda text, letters=" ": str(text).strip(letters)),
    "ltrim": _strict("text", lambda text, letters=" ": str(text).lstrip(letters)),
    "rtrim": _strict("text", lambda text, letters=" ": str(text).rstrip(letters)),
    "split_part": _strict("text", _part),
    "strpos": _strict("int4", lambda text, part: str(text).find(part) + 1),
    "starts_with": _strict("bool", lambda text, start: str(text).startswith(start)),
    "abs": _strict("int8", abs),
    "concat": (
        "text",
        lambda _, *arguments: check_text("".join(text_of(value) for value in arguments if value is not None)),
    ),
    "array_out": _strict("text", array_text),
}
FUNCTIONS |= dict.fromkeys(
    (
        "pg_table_is_visible",
        "pg_type_is_visible",
        "pg_function_is_visible",
        "pg_collation_is_visible",
        "pg_opclass_is_visible",
        "pg_opfamily_is_visible",
        "pg_operator_is_visible",
        "pg_conversion_is_visible",
        "pg_ts_config_is_visible",
        "pg_statistics_obj_is_visible",
    ),
    TRUE,
)
FUNCTIONS |= dict.fromkeys(
    (
        "obj_description",
        "shobj_description",
        "pg_get_expr",
        "pg_get_constraintdef",
        "pg_get_indexdef",
        "pg_get_viewdef",
        "pg_get_ruledef",
        "pg_get_triggerdef",
        "pg_get_partkeydef",
        "pg_get_functiondef",
        "pg_get_function_arguments",
        "pg_get_function_identity_arguments",
        "pg_get_function_result",
        "pg_get_statisticsobjdef_columns",
        "pg_get_serial_sequence",
        "pg_tablespace_location",
        "pg_get_replica_identity_index",
    ),
    NULL_TEXT,
)
FUNCTIONS |= dict.fromkeys(
    ("pg_relation_size", "pg_table_size", "pg_total_relation_size", "pg_indexes_size", "pg_database_size"), ZERO
)
FUNCTIONS |= dict.fromkeys(
    (
        "has_table_privilege",
        "has_any_column_privilege",
        "has_column_privilege",
        "has_schema_privilege",
        "has_database_privilege",
        "has_function_privilege",
        "pg_has_role",
    ),
    ("bool", _may),
)


def _cut(text: str, start: int, count: int | None) -> str:
    begin = max(0, start - 1)
    return text[begin:] if count is None else text[begin : max(begin, start - 1 + count)]


def _expand(values: Any) -> list[dict[str, Any]]:
    return [{"x": value, "n": place} for place, value in enumerate(values or (), 1)]


MOST_NUMBERS = 100_000
"""Maximum rows of generate_series."""


def _numbers(_: PgCatalog, first: Any, last: Any, step: Any = 1) -> list[int]:
    if first is None or last is None or not step:
        return []
    return list(range(first, last + (1 if step > 0 else -1), step)[:MOST_NUMBERS])


def _keywords(_: PgCatalog) -> list[dict[str, str]]:
    words = sorted(word.lower() for word in Postgres.tokenizer_class.KEYWORDS if word.isalpha())
    return [{"word": word, "catcode": "R", "catdesc": "reserved"} for word in words]


SETS: dict[str, Function] = {
    "generate_series": ("int4", _numbers),
    "unnest": ("text", lambda _, values: list(values or ())),
    "explode": ("text", lambda _, values: list(values or ())),
    "generate_subscripts": ("int4", lambda _, values, *__: list(range(1, len(values or ()) + 1))),
    "_pg_expandarray": ("record", lambda _, values: _expand(values)),
    "pg_get_keywords": ("record", _keywords),
    "aclexplode": ("record", lambda _, __: []),
    "pg_options_to_table": ("record", lambda _, __: []),
    "pg_listening_channels": ("text", lambda _: []),
}
"""Functions that return several rows."""
