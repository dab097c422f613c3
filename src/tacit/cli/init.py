"""The work of `tacit init`; its options are in `cli.options`."""

from __future__ import annotations

import argparse
import datetime
import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tacit.cli.tables import named_tables
from tacit.collection import Collection
from tacit.contract.attributes import check_distinct
from tacit.contract.budget import decimal_text, parse_epsilon
from tacit.encode.tables import as_arrow
from tacit.errors import SchemaError, UsageError

__all__ = ["run"]

MOST_CATEGORIES = 64
"""A column with at most this many distinct texts becomes categorical."""

MOST_EXACT_VALUES = 1_000
"""A column with more distinct integers than this is collected in 100 cells."""

EXAMPLE = """\
[[services]]
name = "users"
key = "uid"
attributes = [
  { name = "age", low = 0, high = 124 },
  { name = "income", low = 0, high = 200000, cells = 100, outside = "clamp" },
  { name = "state", kind = "categorical", values = ["CA", "NY"], other = "elsewhere", null = true },
  { name = "os", kind = "public" },
]
"""

HEAD = """\
# Everybody who takes part can read this file, so it must not contain secrets: check the bounds and lists of values.
# `tacit plan` predicts the error of a question; `tacit audit` proves how much anyone can learn.
epsilon = {epsilon}              # per person and round, over all services
mechanism = "auto"

"""


def run(options: argparse.Namespace) -> int:
    """Write the file; never overwrite one."""
    path = Path(options.file)
    if path.suffix.lower() != ".toml":
        message = f"{path.name} must end in .toml."
        raise UsageError(message, code="bad-option")
    services, notes = [], []
    for name, source in named_tables(options.tables).items():
        text, left_out = _service(name, as_arrow(name, source))
        services.append(text)
        notes += [f"{name}.{column}: {why}" for column, why in left_out]
    epsilon = decimal_text(parse_epsilon(options.epsilon))
    written = HEAD.format(epsilon=epsilon) + ("\n".join(services) or EXAMPLE)
    collection = Collection.from_toml(written)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(written)
    except OSError as cause:
        why = "exists already" if isinstance(cause, FileExistsError) else f"cannot be written ({type(cause).__name__})"
        message = f"{path.name} {why}. Choose a new file in an existing folder."
        raise UsageError(message, code="unwritable-file") from None
    if options.json:
        print(json.dumps({"file": path.name, "collection": collection.id, "left_out": notes}))
    else:
        print(f"{path.name} written. Review it before you collect with it.")
        for note in notes:
            print(f"  left out: {note}")
    return 0


def _service(name: str, table: pa.Table) -> tuple[str, list[tuple[str, str]]]:
    """Return a service proposed from a table's columns, and the columns left out."""
    check_distinct("column", table.column_names)
    if not table.num_rows:
        message = f"{name}: the table has no rows to propose columns from. Pass at least one row."
        raise SchemaError(message, code="empty-table")
    key = next((c for c in table.column_names if _is_key(table.column(c), table.num_rows)), None)
    if key is None:
        message = f"{name}: no column is unique, so there is no key. Declare one-to-many tables by hand."
        raise SchemaError(message, code="no-key")
    attributes, left_out = [], []
    for column in table.column_names:
        if column == key:
            continue
        settings, why = _attribute(table.column(column))
        if settings:
            attributes.append({"name": column} | settings)
        else:
            left_out.append((column, why))
    lines = [f'[[services]]\nname = "{name}"\nkey = "{key}"\nattributes = [']
    lines += [f"  {{ {', '.join(f'{word} = {_toml(value)}' for word, value in one.items())} }}," for one in attributes]
    return "\n".join([*lines, "]\n"]), left_out


def _is_key(column: pa.ChunkedArray, rows: int) -> bool:
    keyed = pa.types.is_integer(column.type) or pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return keyed and not column.null_count and pc.count_distinct(column).as_py() == rows


def _attribute(column: pa.ChunkedArray) -> tuple[dict[str, Any], str]:
    """Return an attribute's settings, or why the column is left out."""
    null = {"null": True} if column.null_count else {}
    kind = column.type
    if column.null_count == len(column):
        return {}, "it is empty"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        values = sorted(value for value in pc.unique(column).to_pylist() if value is not None)
        if len(values) > MOST_CATEGORIES:
            return {}, f"it has {len(values)} different texts, too many for categories"
        return {"kind": "categorical", "values": values} | null, ""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        ends = pc.min_max(column).as_py()
        low, high = _round_bounds(ends["min"], ends["max"])
        if not all(map(math.isfinite, (low, high))):
            return {}, "it has infinite numbers"
        cells = {"cells": 100} if high - low >= MOST_EXACT_VALUES or pa.types.is_floating(kind) else {}
        return {"low": low, "high": high} | cells | {"outside": "clamp"} | null, ""
    if pa.types.is_date(kind):
        ends = pc.min_max(column).as_py()
        first, last = datetime.date(ends["min"].year, 1, 1), datetime.date(ends["max"].year, 12, 31)
        return {"kind": "date", "low": first, "high": last, "outside": "clamp"} | null, ""
    if pa.types.is_boolean(kind):
        return {}, "make it a text or a number"
    return {}, f"declare columns of type {kind} by hand"


def _round_bounds(low: float, high: float) -> tuple[int, int]:
    """Return round bounds around the data, so that the file does not reveal anybody's extreme values."""
    step = 10 ** max(0, math.floor(math.log10(max(1.0, abs(low), abs(high)))))
    below, above = math.floor(low / step) * step, math.ceil((high + 1) / step) * step
    return below, above - 1 if step > 1 else above


def _toml(value: Any) -> str:
    if isinstance(value, datetime.date):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False)
