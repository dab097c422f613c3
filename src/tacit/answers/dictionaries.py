"""Dictionaries of a database: long lists of values, stored beside its public tables, so that it is self-contained."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from tacit.contract.categories import Categorical, Dictionary, keep_values
from tacit.contract.schema import Schema
from tacit.engines.base import Engine

__all__ = ["PREFIX", "dictionaries_of", "read_dictionaries", "store_dictionaries"]

PREFIX = "listed."
"""Prefix of the tables that store values; no public table can have such a name."""


def dictionaries_of(schema: Schema) -> dict[str, Dictionary]:
    """Return the dictionaries of a schema's attributes, by SHA-256."""
    attributes = [
        attribute
        for service in schema.services
        for attribute in service.sensitive
        if isinstance(attribute, Categorical)
    ]
    return {
        attribute.dictionary.sha256: attribute.dictionary
        for attribute in attributes
        if attribute.dictionary is not None
    }


def store_dictionaries(engine: Engine, schema: Schema) -> None:
    """Store the values of all dictionaries of a schema; refuse one whose file is not loaded."""
    known = {name for name, _, _ in engine.dimensions()} if dictionaries_of(schema) else set()
    for sha256, dictionary in dictionaries_of(schema).items():
        if PREFIX + sha256[:32] not in known:
            places = pa.array(range(len(dictionary)), pa.int64())
            engine.store_dimension(
                PREFIX + sha256[:32], "place", pa.table({"place": places, "value": list(dictionary)})
            )


def read_dictionaries(stored: Iterable[tuple[str, str, pa.Table]]) -> None:
    """Load the stored values of a database; their hash identifies the file."""
    for name, _, table in stored:
        if name.startswith(PREFIX):
            keep_values(table.sort_by("place")["value"].to_pylist())
