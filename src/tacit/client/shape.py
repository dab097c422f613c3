"""Validate a contract: its text, its version, and the members and types of every object.

The rules and their order are those of `docs/wire.md`; the error names the first broken one. A fetched contract is not
trusted, so limits are checked before any work that depends on its numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Never

from tacit.client.declarations import check_declarations, check_labels
from tacit.client.refusal import fail, need
from tacit.client.steps import STEPS
from tacit.client.views import Limits, check_compiled

__all__ = ["read_contract"]

MAX_BYTES, MAX_DEPTH, MAX_NUMBER, PRETTY_DEPTH = 262_144, 16, 2**53, 4
"""Limits of docs/wire.md: bytes, nesting, the largest integer, and the nesting that is written on lines of its own."""

Data = dict[str, Any]
Check = Callable[[Any], None]


def read_contract(text: str) -> Data:
    """Return the data of a valid contract; otherwise raise a ContractError that names the broken rule."""
    data = _parse(text)
    _shape(data["tacit"])(data)
    columns = [column for service in data["services"] for column in service["attributes"]]
    typed = any(word in column for column in columns for word in SECOND.get(column["kind"], ()))
    shifted = any("offsets" in level for service in data["services"] for level in service["levels"])
    weighted = any("weights" in channel for service in data["services"] for channel in service["channels"])
    second = typed or shifted or weighted or "panel" in data or "assigned" in data
    need(second == (data["tacit"] == 2), "version")
    need(data["draw_bits"] == 53, "draw-bits")
    check_labels(data)
    check_declarations(data["services"])
    limits = Limits()
    for service in data["services"]:
        check_compiled(service, limits)
    return data


def _parse(text: str) -> Data:
    need(len(text) <= MAX_BYTES and len(text.encode(errors="replace")) <= MAX_BYTES, "too-large")
    try:
        data = json.loads(text, parse_int=_number, parse_constant=_refuse_constant)
        written = _write(data, 0) + "\n"
    except (ValueError, RecursionError):
        fail("not-json")
    version = data.get("tacit") if type(data) is dict else None
    need(version in (1, 2) and version is not True, "version")
    need(written == text and not re.search("[\ud800-\udfff]", text), "not-canonical")
    return dict(data)


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) < 18 else float(digits)  # thousands of digits take long


def _refuse_constant(word: str) -> Never:
    raise ValueError(word)


def _write(value: Any, depth: int) -> str:
    """Return canonical JSON; NaN, which equals no text, for numbers without a canonical form."""
    if depth > MAX_DEPTH:
        raise ValueError
    if type(value) is dict:
        names = sorted(value, key=lambda name: int(name) if _is_index(name) else 2**32)
        parts = [f"{json.dumps(name, ensure_ascii=False)}: {_write(value[name], depth + 1)}" for name in names]
        return _bracket("{}", parts, depth if parts else PRETTY_DEPTH)
    if type(value) is list:
        is_pretty = bool(value) and type(value[0]) is dict
        return _bracket("[]", [_write(item, depth + 1) for item in value], depth if is_pretty else PRETTY_DEPTH)
    if type(value) is float or (type(value) is int and abs(value) > MAX_NUMBER):
        return "NaN"
    return json.dumps(value, ensure_ascii=False)


def _is_index(name: str) -> bool:
    return re.fullmatch("0|[1-9][0-9]{0,9}", name) is not None and int(name) < 2**32 - 1


def _bracket(signs: str, parts: list[str], depth: int) -> str:
    if depth >= PRETTY_DEPTH:
        return signs[0] + ", ".join(parts) + signs[1]
    line = "\n" + " " * depth
    return signs[0] + ",".join(f"{line} {part}" for part in parts) + line + signs[1]


def _is(test: Callable[[Any], bool]) -> Check:
    return lambda value: need(test(value), "wrong-type")


def _matches(pattern: str) -> Callable[[Any], bool]:
    return lambda value: type(value) is str and re.fullmatch(pattern, value) is not None


def _is_date(value: Any) -> bool:
    if not _matches("[0-9]{4}-[0-9]{2}-[0-9]{2}")(value):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


TEXT = _is(lambda value: type(value) is str)
WHOLE = _is(lambda value: type(value) is int)
FLAG = _is(lambda value: type(value) is bool)
TRUE = _is(lambda value: value is True)
CLAMP = _is(lambda value: value == "clamp")
SCALAR = _is(lambda value: type(value) in (int, str))
DECIMAL = _matches(r"-?(0|[1-9][0-9]{0,15})\.[0-9]{0,39}[1-9]")
NUMBER = _is(lambda value: type(value) is int or DECIMAL(value))
DATE = _is(_is_date)
DERIVED = _is(lambda value: type(value) is list and [type(item) for item in value] == [int, str])


def _list(check: Check, *, least: int = 1) -> Check:
    def check_list(value: Any) -> None:
        need(type(value) is list, "wrong-type")
        need(len(value) >= least, "empty")
        for item in value:
            check(item)

    return check_list


def _entries(check: Check) -> Check:
    def check_entries(value: Any) -> None:
        need(type(value) is dict, "wrong-type")
        for item in value.values():
            check(item)

    return check_entries


RESERVED = {
    *("panel", "rounds", "reports", "questions", "ratios"),
    *("partitions", "dictionary", "size", "starts", "probabilities", "steps", "assigned"),
}
RESERVED_KINDS = ("boolean", "timestamp")
SECOND = {"public": ("values", "type"), "categorical": ("dictionary", "fanout")}
"""Members of attributes that version 1 does not have."""


def _object(version: int, fields: Mapping[str, Check]) -> Check:
    """Return the check of an object with these members, in this order; those with ? may be absent."""
    checks = {name.rstrip("?"): check for name, check in fields.items()}
    needed = [name for name in fields if not name.endswith("?")]

    def check_object(value: Any) -> None:
        need(type(value) is dict, "wrong-type")
        for name in value:
            if name not in checks:
                fail("reserved" if version == 2 and name in RESERVED else "unknown-member")
        need(all(name in value for name in needed), "missing-member")
        need(("at_most" in value) == ("sends" in value), "missing-member")
        need(("cells" in value) == ("dither" in value), "missing-member")
        need(("dictionary" in value) == ("size" in value), "missing-member")
        need(("panel" in value) == ("rounds" in value) == ("reports" in value), "missing-member")
        need(list(value) == [name for name in checks if name in value], "not-canonical")
        for name, item in value.items():
            checks[name](item)

    return check_object


def _kinds(version: int, word: str, kinds: Mapping[str, Mapping[str, Check]]) -> Check:
    """Return the check of an object whose members depend on one of them."""
    checks = {
        kind: _object(version, dict.fromkeys(("name", word)[word == "oracle" :], TEXT) | dict(fields))
        for kind, fields in kinds.items()
    }

    def check_kind(value: Any) -> None:
        need(type(value) is dict, "wrong-type")
        kind = value.get(word)
        if version == 2 and kind in RESERVED_KINDS:
            fail("reserved")
        need(type(kind) is str and kind in checks, "unknown-kind")
        checks[kind](value)

    return check_kind


def _shape(version: int) -> Check:
    """Return the check of a whole contract."""
    end = {"fanout": WHOLE, "cells?": WHOLE, "dither?": FLAG, "outside?": CLAMP, "null?": TRUE}
    typed = {"values?": _list(SCALAR), "type?": TEXT, "null?": TRUE}
    listed = {"values": _list(SCALAR), "other?": SCALAR, "null?": TRUE}
    if version == 2:
        listed = {"values?": _list(SCALAR), "dictionary?": TEXT, "size?": WHOLE}
        listed |= {"other?": SCALAR, "fanout?": WHOLE, "null?": TRUE}
    attribute = _kinds(
        version,
        "kind",
        {
            "ordinal": {"low": NUMBER, "high": NUMBER, "step": NUMBER, **end},
            "date": {"low": DATE, "high": DATE, "step": WHOLE, **end},
            "categorical": listed,
            "public": typed if version == 2 else {},
        },
    )
    steps = {
        name: dict.fromkeys(step.numbers, WHOLE) | dict.fromkeys(step.tables, _entries(WHOLE))
        for name, step in STEPS.items()
    }
    by_domain = _kinds(version, "oracle", {name: step for name, step in steps.items() if not STEPS[name].tables})
    otherwise = _kinds(version, "oracle", {name: step for name, step in steps.items() if STEPS[name].tables})
    views = {
        "product?": _list(_list(WHOLE)),
        "list?": _list(_list(WHOLE, least=0)),
        "parities?": WHOLE,
    }
    channel = {
        "name": TEXT,
        "epsilon": TEXT,
        "draws": WHOLE,
        "codes": WHOLE,
        "views": _object(version, views),
        **({"weights?": _list(WHOLE)} if version == 2 else {}),
        "by_domain": _entries(by_domain),
        "otherwise": lambda value: None if value is None else otherwise(value),
    }
    level = {"ticks?": WHOLE, "count": WHOLE, "widths": _list(WHOLE, least=0)}
    if version == 2:
        level |= {"offsets?": _list(WHOLE), "starts?": _list(_list(WHOLE))}
    service = {
        "name": TEXT,
        "key": TEXT,
        "at_most?": WHOLE,
        "sends?": WHOLE,
        "optional?": TRUE,
        "attributes": _list(attribute),
        "layout": TEXT,
        "why?": TEXT,
        "levels": _list(_object(version, level)),
        "derived?": _list(DERIVED),
        "channels": _list(_object(version, channel)),
    }
    contract = {
        "tacit": WHOLE,
        "round": TEXT,
        "tier?": TEXT,
        **({"panel?": TEXT, "rounds?": WHOLE, "reports?": WHOLE, "assigned?": TRUE} if version == 2 else {}),
        "epsilon": TEXT,
        "mechanism": TEXT,
        "oracle": TEXT,
        "draw_bits": WHOLE,
        "services": _list(_object(version, service)),
    }
    return _object(version, contract)
