"""Encode and decode values as text and binary, for the types of answers and the catalog."""

from __future__ import annotations

import datetime
import json
import math
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tacit.adapters.pgwire.catalog.facts import oid_of_type
from tacit.adapters.pgwire.catalog.values import array_text, plain_cast, text_of
from tacit.errors import UsageError

__all__ = ["SIZES", "decode", "encode", "type_of_value"]

EPOCH = datetime.date(2000, 1, 1)
MOMENT = datetime.datetime(2000, 1, 1)
SIZES = {
    "bool": 1,
    "int2": 2,
    "int4": 4,
    "int8": 8,
    "oid": 4,
    "float4": 4,
    "float8": 8,
    "date": 4,
    "timestamp": 8,
    "name": 64,
}
"""Bytes of fixed-size types; others have -1."""

NUMBERS = {
    "int2": "!h",
    "int4": "!i",
    "int8": "!q",
    "oid": "!I",
    "regclass": "!I",
    "regtype": "!I",
    "xid": "!I",
    "float4": "!f",
    "float8": "!d",
}


def type_of_value(value: Any) -> str:
    """Infer the type of a value."""
    if isinstance(value, bool):
        return "bool"
    for kind, name in ((int, "int8"), (float, "float8"), (Decimal, "numeric"), (datetime.datetime, "timestamp")):
        if isinstance(value, kind):
            return name
    return "date" if isinstance(value, datetime.date) else "text"


def encode(value: Any, kind: str, form: int) -> bytes | None:
    """Return a value as bytes: as text (0) or binary (1)."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return _text(value, kind).encode() if form == 0 else _binary(value, kind)


def _text(value: Any, kind: str) -> str:
    if kind in ("float4", "float8") or isinstance(value, float):
        number = float(value)
        if math.isinf(number):
            return "Infinity" if number > 0 else "-Infinity"
        return repr(number)
    if kind == "bool":
        return "t" if value else "f"
    if kind in ("int2", "int4", "int8"):
        return str(int(value))
    if isinstance(value, list):
        return " ".join(map(str, value)) if kind.endswith("vector") else array_text(value)
    if isinstance(value, dict):
        return json.dumps(value)
    return value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else text_of(value)


def _binary(value: Any, kind: str) -> bytes:
    if kind in NUMBERS:
        try:
            return struct.pack(NUMBERS[kind], float(value) if kind.startswith("float") else int(value))
        except (struct.error, OverflowError):
            message = f"A value is too large for {kind}."
            raise UsageError(message, code="out-of-range") from None
    if kind == "bool":
        return b"\1" if value else b"\0"
    if kind == "date":
        return struct.pack("!i", (value - EPOCH).days)
    if kind == "timestamp":
        return struct.pack("!q", (value.replace(tzinfo=None) - MOMENT) // datetime.timedelta(microseconds=1))
    if kind == "numeric":
        return _numeric(Decimal(value))
    if isinstance(value, list):
        element = "int2" if kind == "int2vector" else "oid" if kind == "oidvector" else kind.removeprefix("_")
        return _array(value, element)
    return (b"\1" if kind == "jsonb" else b"") + _text(value, kind).encode()


def _array(values: list[Any], kind: str) -> bytes:
    cells = [encode(value, kind, 1) for value in values]
    head = struct.pack("!iiI", 1 if cells else 0, int(None in cells), oid_of_type(kind) or 25)
    size = struct.pack("!ii", len(cells), 1) if cells else b""
    return (
        head + size + b"".join(struct.pack("!i", -1 if cell is None else len(cell)) + (cell or b"") for cell in cells)
    )


def _numeric(value: Decimal) -> bytes:
    """Return the binary form of a number: digits in groups of four around the decimal point."""
    if not value.is_finite():
        return struct.pack("!hhHh", 0, 0, 0xC000, 0)
    sign, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    text = "".join(map(str, digits)) + "0" * max(0, int(exponent))
    integer, part = (text[:-scale] or "0", text[-scale:].rjust(scale, "0")) if scale else (text, "")
    integer, part = integer.rjust(-(-len(integer) // 4) * 4, "0"), part.ljust(-(-len(part) // 4) * 4, "0")
    groups = [int((integer + part)[place : place + 4]) for place in range(0, len(integer + part), 4)]
    weight = len(integer) // 4 - 1
    while groups and groups[0] == 0:
        groups, weight = groups[1:], weight - 1
    return struct.pack(f"!hhHh{len(groups)}h", len(groups), weight, 0x4000 if sign else 0, scale, *groups)


def decode(content: bytes | None, kind: str, form: int) -> Any:
    """Return a parameter: a Python value of the declared or inferred type."""
    if content is None:
        return None
    try:
        return _from_binary(content, kind) if form == 1 else _from_text(content.decode(), kind)
    except (UnicodeDecodeError, struct.error, ValueError, OverflowError, ArithmeticError, LookupError):
        message = f"A parameter cannot be read as {kind}."
        raise UsageError(message, code="bad-parameter") from None


def _from_text(text: str, kind: str) -> Any:
    if "\0" in text:
        raise ValueError
    if kind == "date":
        return datetime.date.fromisoformat(text)
    if kind in ("timestamp", "timestamptz"):
        return datetime.datetime.fromisoformat(text)
    return plain_cast(text, kind)


def _from_binary(content: bytes, kind: str) -> Any:
    if kind in READERS:
        return READERS[kind](content)
    if kind.startswith("_"):
        return _from_array(content, kind[1:])
    text = content.decode()
    if "\0" in text:
        raise ValueError
    return text


def _from_array(content: bytes, kind: str) -> list[Any]:
    dimensions, _, _ = struct.unpack("!iiI", content[:12])
    if dimensions == 0:
        return []
    if dimensions != 1:
        raise ValueError
    count, at, values = struct.unpack("!i", content[12:16])[0], 20, []
    for _ in range(min(count, len(content) // 4)):
        length = struct.unpack("!i", content[at : at + 4])[0]
        at += 4
        values.append(None if length < 0 else _from_binary(content[at : at + length], kind))
        at += max(0, length)
    return values


def _from_numeric(content: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack("!hhHh", content[:8])
    if sign not in (0, 0x4000):
        raise ValueError
    groups = struct.unpack(f"!{count}h", content[8:])
    total = sum((Decimal(group).scaleb(4 * (weight - place)) for place, group in enumerate(groups)), Decimal(0))
    return (-total if sign else total).quantize(Decimal(1).scaleb(-scale)) if scale < 100 else total


def _number(form: str) -> Callable[[bytes], Any]:
    return lambda content: struct.unpack(form, content)[0]


READERS: dict[str, Callable[[bytes], Any]] = {kind: _number(form) for kind, form in NUMBERS.items()} | {
    "bool": lambda content: content != b"\0",
    "date": lambda content: EPOCH + datetime.timedelta(days=_number("!i")(content)),
    "timestamp": lambda content: MOMENT + datetime.timedelta(microseconds=_number("!q")(content)),
    "numeric": _from_numeric,
}
