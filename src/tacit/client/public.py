"""Check a public value against its column's declaration; errors never show the value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tacit.client.record import is_plain

__all__ = ["MOST_PUBLIC", "allowed_text", "public_bytes", "takes"]

MOST_PUBLIC = 4_096
"""Maximum bytes of a report's public values, as JSON."""

TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "str": (str,), "bool": (bool,)}

WORDS = {"int": "a whole number of 64 bits", "float": "a finite number", "str": "text", "bool": "true or false"}

Data = dict[str, Any]


def takes(column: Data, value: object) -> bool:
    """Return whether a public column allows a value."""
    typed = "values" in column or "type" in column
    if value is None:
        return not typed or "null" in column
    if not is_plain(value):
        return False
    if "values" in column:
        return type(value) is type(column["values"][0]) and value in column["values"]
    return not typed or type(value) in TYPES[column["type"]]


def allowed_text(column: Data) -> str:
    """Return in words what a public column allows."""
    if "values" in column:
        more = ", …" if len(column["values"]) > 8 else ""
        words = f"one of: {', '.join(map(str, column['values'][:8]))}{more}"
    else:
        words = WORDS.get(column.get("type", ""), "text, a number of 64 bits, true, false or null")
    return f"{words}; or null" if "null" in column else words


def public_bytes(values: Sequence[Any]) -> bytes:
    """Return the public values of a report as JSON, as collectors store them."""
    return json.dumps(values, separators=(",", ":"), ensure_ascii=False).encode()
