"""Releases that somebody else wrote: a publisher writes any id, so everything in the file may be forged."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.adult import SCHEMA, adult_table
from tacit import Service, central
from tacit.central.release import _hash
from tacit.errors import ContractError

SERVICE = Service("adult", key="uid", attributes=SCHEMA["adult"].sensitive)
TABLE = adult_table().select(["uid", "age", "work", "edu", "hours"])
ENDLESS = ("1e99999", "1/0")
"""A short text with an exponent is a number of any length."""


def members(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield all numbers and fractions of a release's facts, with their paths."""
    if isinstance(data, list | dict):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from members(value, (*path, key))
    elif type(data) is int or (isinstance(data, str) and not set(data) - set("0123456789./")):
        yield path, data


def forge(path: Path, table: pa.Table, metadata: dict[str, Any]) -> None:
    """Write a release with the id of what it says."""
    metadata = metadata | {"id": _hash(metadata, table)}
    pq.write_table(table.replace_schema_metadata({b"tacit.release": json.dumps(metadata)}), path)


@pytest.mark.parametrize("method", ["cells", "blue", "kdtree", "adaptive", "marginals"])
def test_forged_numbers_are_refused_or_read_at_once(method: str, tmp_path: Path) -> None:
    central.release(TABLE, SERVICE, 1, method=method).save(tmp_path / "good.parquet")
    table = pq.read_table(tmp_path / "good.parquet")
    metadata = json.loads(table.schema.metadata[b"tacit.release"])
    del metadata["id"]
    found = list(members(metadata["reading"]))
    assert any(isinstance(before, str) for _, before in found)
    for path, before in found[:: -(-len(found) // 12)]:
        for value in (*ENDLESS, None, [], -(10**30), 10**12):
            changed = json.loads(json.dumps(metadata))
            functools.reduce(lambda at, key: at[key], path[:-1], changed["reading"])[path[-1]] = value
            forge(tmp_path / "bad.parquet", table, changed)
            with suppress(ContractError):
                loaded = central.Release.load(tmp_path / "bad.parquet")
                assert not (isinstance(before, str) and value in ENDLESS), path
                loaded.sql("SELECT COUNT(*) AS n FROM adult WHERE age > 3")


def test_facts_without_end_are_refused(tmp_path: Path) -> None:
    endless = pa.table({"count": [1]}).replace_schema_metadata({b"tacit.release": b"[" * 100_000})
    pq.write_table(endless, tmp_path / "bad.parquet")
    with pytest.raises(ContractError) as caught:
        central.Release.load(tmp_path / "bad.parquet")
    assert caught.value.code == "unreadable-file"
