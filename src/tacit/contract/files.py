"""Schemas as plain data, the common form of collection files (TOML or JSON) and contracts.

Defaults are omitted, unknown settings are refused, and the order of attributes is kept, so equal schemas have equal
text.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tacit.contract.categories import Dictionary
from tacit.contract.kinds import Boolean, Date, Timestamp
from tacit.contract.schema import Attribute, Categorical, Ordinal, Public, Schema, Service
from tacit.errors import ContractError, SchemaError, UnknownNameError

__all__ = [
    "attribute_data",
    "read_attribute",
    "read_schema",
    "read_service",
    "read_text",
    "schema_hash",
    "service_data",
]

TABLES = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")
"""Suffixes of tables, which are easily named in place of the file that declares them."""


def read_text(path: Path, name: str) -> str:
    """Return the text of a collection file or a contract."""
    if path.suffix.lower() in TABLES:
        message = f"{name} is a table. Name the .toml or .json file that declares it; `tacit init {name}` proposes one."
        raise ContractError(message, code="unreadable-file")
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors write a byte-order mark
    except (OSError, UnicodeDecodeError) as cause:
        message = f"{name} cannot be read ({type(cause).__name__}). Name a .toml or .json file."
        raise ContractError(message, code="unreadable-file") from None


def _number(value: Any) -> Any:
    """Return a bound in an exact form for JSON and TOML: integers as such, dates and decimals as text."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value if isinstance(value, int) else format(value, "f")  # never 1E-7, which no contract may have


def attribute_data(attribute: Attribute) -> dict[str, Any]:
    """Return an attribute as plain data."""
    data: dict[str, Any] = {"name": attribute.name}
    if isinstance(attribute, Public):
        data["kind"] = "public"
        if attribute.values is not None:
            data["values"] = list(attribute.values)
        if attribute.type is not None:
            data["type"] = attribute.type
    elif isinstance(attribute, Categorical):
        data["kind"] = "categorical"
        if attribute.dictionary is None:
            data["values"] = list(attribute.values)
        else:
            data |= {"dictionary": attribute.dictionary.sha256, "size": len(attribute.values)}
        if attribute.other is not None:
            data["other"] = attribute.other
        if attribute.fanout is not None:
            data["fanout"] = attribute.fanout
    else:
        data |= {
            "kind": "date" if attribute.is_date else "ordinal",
            "low": _number(attribute.low),
            "high": _number(attribute.high),
            "step": _number(attribute.step),
            "fanout": attribute.fanout,
        }
        if attribute.cells is not None:
            data |= {"cells": attribute.cells, "dither": attribute.dither}
        if attribute.outside != "refuse":
            data["outside"] = attribute.outside
    if attribute.null:
        data["null"] = True
    return data


def service_data(service: Service) -> dict[str, Any]:
    """Return a service as plain data."""
    data: dict[str, Any] = {"name": service.name, "key": service.key}
    if service.at_most is not None:
        data |= {"at_most": service.at_most, "sends": service.sends}
    if service.optional:
        data["optional"] = True
    data["attributes"] = [attribute_data(attribute) for attribute in service.attributes]
    return data


def _date(value: Any) -> Any:
    try:
        return datetime.date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        message = f"The date {value!r} is not of the form 2026-11-15."
        raise SchemaError(message, code="bad-bound") from None


def _read_date(**options: Any) -> Ordinal | Categorical:
    if "unit" in options:
        return Date(**options)
    bounds = {name: _date(options[name]) for name in ("low", "high") if name in options}
    for name, bound in bounds.items():
        if type(bound) is not datetime.date:
            message = f"{name} of a date attribute must be a date such as 2026-11-15."
            raise SchemaError(message, code="bad-bound")
    return Ordinal(**(options | bounds))


def _read_categorical(**options: Any) -> Categorical:
    """Return categories; a contract's have a dictionary's hash and size, and a fanout if they are ordered."""
    if "size" in options:
        options["dictionary"] = Dictionary(str(options.get("dictionary", "")), options.pop("size"))
    return Categorical(**({"ordered": True} if "fanout" in options else {}) | options)


ORDINAL_WORDS = ("step", "fanout", "cells", "dither", "outside", "null")

KINDS: dict[str, tuple[Callable[..., Attribute], tuple[str, ...], tuple[str, ...]]] = {
    "ordinal": (Ordinal, ("name", "low", "high"), ORDINAL_WORDS),
    "date": (_read_date, ("name", "low", "high"), (*ORDINAL_WORDS, "unit")),
    "timestamp": (Timestamp, ("name", "low", "high"), ("unit", "outside", "null")),
    "boolean": (Boolean, ("name",), ("null",)),
    "categorical": (
        _read_categorical,
        ("name",),
        ("values", "dictionary", "size", "other", "ordered", "fanout", "null"),
    ),
    "public": (Public, ("name",), ("values", "type", "null")),
}
"""Kind of attribute -> constructor, required settings, and allowed settings."""


def _check_words(owner: str, data: Mapping[str, Any], needed: tuple[str, ...], possible: tuple[str, ...]) -> None:
    for word in data:
        if word not in needed and word not in possible:
            raise UnknownNameError(f"setting of {owner}", str(word), (*needed, *possible), code="unknown-word")
    for word in needed:
        if word not in data:
            message = f"{owner} lacks {word!r}. It needs: {', '.join(needed)}."
            raise SchemaError(message, code="missing-word")


def _table(owner: str, data: Any) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        message = f"{owner} is a {type(data).__name__}; it must be a table of settings."
        raise SchemaError(message, code="bad-option")
    return data


def read_attribute(data: Any) -> Attribute:
    """Return an attribute from plain data."""
    table = dict(_table("An attribute", data))
    kind = table.pop("kind", "categorical" if "values" in table or "dictionary" in table else "ordinal")
    if not isinstance(kind, str) or kind not in KINDS:
        raise UnknownNameError("kind of attribute", str(kind), KINDS, code="unknown-word")
    make, needed, possible = KINDS[kind]
    _check_words(f"attribute {table.get('name', '?')!r}", table, needed, possible)
    return make(**table)


def read_service(data: Any, folder: Path | None = None) -> Service:
    """Return a service from plain data; files of dictionaries are named relative to a folder."""
    table = dict(_table("A service", data))
    _check_words(
        f"service {table.get('name', '?')!r}", table, ("name", "key", "attributes"), ("at_most", "sends", "optional")
    )
    attributes = table.pop("attributes")
    if not isinstance(attributes, list):
        message = "attributes must be a list."
        raise SchemaError(message, code="bad-option")
    return Service(attributes=[read_attribute(_in_folder(item, folder)) for item in attributes], **table)


def _in_folder(item: Any, folder: Path | None) -> Any:
    if folder is None or not isinstance(item, Mapping) or not isinstance(item.get("dictionary"), str) or "size" in item:
        return item
    return {**item, "dictionary": str(folder / item["dictionary"])}


def read_schema(data: Any, folder: Path | None = None) -> Schema:
    """Return a schema from plain data."""
    if not isinstance(data, list):
        message = "services must be a list of services."
        raise SchemaError(message, code="bad-option")
    return Schema([read_service(item, folder) for item in data])


def schema_hash(schema: Schema) -> str:
    """Return a short name of a schema; equal schemas have equal names."""
    text = json.dumps([service_data(service) for service in schema.services])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
