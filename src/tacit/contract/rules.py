"""The rules of a valid contract that concern its text: size, JSON, version, canonical form, members and their types.

`docs/wire.md` states all rules in the order in which they are checked. `tacit.contract.wire` checks the others. Both
clients check the same rules with their own code; in all three, the error names the first broken rule.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any, Never

from tacit.contract.oracles import STEPS, Oracle
from tacit.errors import ContractError

__all__ = ["MAX_BYTES", "RESERVED", "RULES", "canonical_text", "is_label", "parse", "reformat", "refuse"]

MAX_BYTES = 256 * 1024
"""Maximum bytes of a contract: every client downloads it."""

MAX_DEPTH = 16
"""Maximum nesting of a contract's JSON; valid ones have 8 levels."""

MAX_NUMBER = 2**53
"""Integers up to this are the same in all languages."""

PRETTY_DEPTH = 4
"""Nesting levels that are written on separate lines; deeper structures stay on one line."""

RULES = {
    "too-large": "the text has at most 262,144 bytes",
    "not-json": "the text is JSON, at most 16 levels deep",
    "version": "the version is 1, or 2 if and only if something in the contract needs it",
    "not-canonical": "the text is the canonical writing of its JSON, members in the order of the table",
    "reserved": "reserved members and kinds of version 2 are absent",
    "unknown-member": "every member is in the table",
    "missing-member": "every member that the table does not mark as optional is there",
    "unknown-kind": "the kinds of attributes and the oracles are known",
    "wrong-type": "every member has the type in the table",
    "empty": "lists marked + have an element",
    "draw-bits": "draws have 53 bits",
    "bad-label": "labels are short and printable",
    "bad-panel": "a panel has a name, from 2 to 1,000 rounds, at least one report and at most one for each round",
    "bad-epsilon": "budgets are above 0 and at most 30, written as the package writes them",
    "bad-name": "names are letters, digits and underscores, at most 63, and do not start with a digit",
    "reserved-name": "names are not those the package uses itself",
    "duplicate-name": "names and listed values differ from each other",
    "bad-option": "options are within their limits",
    "bad-bound": "bounds and steps are exact and below 2**53",
    "empty-domain": "ranges are not empty, and a service has a sensitive attribute",
    "uneven-step": "high is a whole number of steps above low",
    "domain-too-large": "attributes, ticks and values are within their limits",
    "public-not-possible": "public columns are in services with one row per person",
    "bad-levels": "levels follow from the attributes, or have offsets and end with single values",
    "bad-derived": "derived attributes are possible",
    "not-for-clients": "clients do not offer double rounding",
    "too-many-channels": "a service has at most 1,000 channels",
    "bad-views": "views name levels that exist, in the one form for them",
    "too-many-views": "there are at most 100,000 views, and views times attributes are at most 2**24",
    "bad-weights": "weights are one for each view, at least 1, and add up to a power of two of at most 2**20",
    "no-oracle": "every view has an oracle",
    "bad-g": "g is a number of hash values in range; a prime for lh",
    "bad-flip": "flips are weights",
    "bad-subset": "subsets have a possible size and weights",
    "bad-bits": "bits fit a code, and their thresholds are probabilities",
    "bad-multiplier": "multipliers permute",
    "codes-too-large": "the cells of a view, its seeds, and the codes of a channel fit 53 bits",
    "bad-draws": "draws are as many as the views need",
    "bad-codes": "codes are as many as the views have",
    "unused-entry": "every oracle and multiplier is used, in ascending order",
    "too-many-draws": "a person's reports to a service take at most 1,000,000 draws",
    "lie-likelier": "the truth is likelier than a lie",
    "over-budget": "no code reveals more than its channel's budget allows",
    "over-total": "the budgets of all reports together are at most the total",
}
"""Every rule of `docs/wire.md`, with its requirement."""

CODES = {"too-large": "contract-too-large", "not-json": "contract-not-json", "version": "contract-version"}
"""Error codes other than ``contract-damaged``."""


def refuse(rule: str) -> Never:
    """Raise the error for a contract that breaks a rule."""
    message = f"The contract breaks the rule {rule!r}: {RULES[rule]}. Fetch it again, or use the version that made it."
    raise ContractError(message, code=CODES.get(rule, "contract-damaged"), rule=rule)


def parse(text: str) -> dict[str, Any]:
    """Return the data of a contract whose text, version and members are valid."""
    if len(text) > MAX_BYTES or len(text.encode(errors="replace")) > MAX_BYTES:
        refuse("too-large")
    try:
        data = json.loads(text, parse_int=_integer, parse_constant=_no_constant)
        written = canonical_text(data)
    except (ValueError, RecursionError):
        refuse("not-json")
    version = data.get("tacit") if isinstance(data, dict) else None
    if isinstance(version, bool) or version not in (1, 2):
        refuse("version")
    if written != text:
        refuse("not-canonical")
    Members(version).check_object(data, "contract")
    if version == 2 and not {"panel", "assigned"} & data.keys() and not any(map(_is_second, data["services"])):
        refuse("version")
    return dict(data)


def reformat(text: str) -> str:
    """Return the canonical form of a contract that was reformatted; any other text unchanged."""
    if len(text) > MAX_BYTES:
        return text
    try:
        data = json.loads(text, parse_int=_integer, parse_constant=_no_constant, object_pairs_hook=_distinct)
        return canonical_text(data) or text
    except (ValueError, RecursionError):
        return text


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({word for word, _ in pairs}) != len(pairs):
        raise ValueError
    return dict(pairs)


def _is_second(service: Mapping[str, Any]) -> bool:
    """Return whether a service has anything that version 1 lacks."""
    typed = any(map(_is_second_attribute, service["attributes"]))
    designed = any("offsets" in level for level in service["levels"])
    return typed or designed or any("weights" in channel for channel in service["channels"])


def _is_second_attribute(attribute: Mapping[str, Any]) -> bool:
    words = {"public": ("values", "type"), "categorical": ("dictionary", "fanout")}.get(attribute["kind"], ())
    return any(word in attribute for word in words)


def _integer(digits: str) -> int | float:
    """Return a number of any length in bounded time; floats are never canonical."""
    return int(digits) if len(digits) < 18 else float(digits)


def _no_constant(word: str) -> Never:
    raise ValueError(word)


def canonical_text(data: Any) -> str | None:
    """Return the canonical form of JSON data, or None if it has none; raise ValueError if it is too deep."""
    try:
        written = _write(data, 0) + "\n"
        written.encode()
    except (TypeError, UnicodeEncodeError):  # not an integer, too large, or a lone surrogate
        return None
    return written


def _write(value: Any, depth: int) -> str:
    """Write canonical JSON, a line for each item down to ``PRETTY_DEPTH``."""
    if depth > MAX_DEPTH:
        raise ValueError
    if isinstance(value, dict):
        items = [f"{_quote(name)}: {_write(value[name], depth + 1)}" for name in sorted(value, key=_place)]
        return _join("{", items, "}", depth, pretty=True)
    if isinstance(value, list):
        items = [_write(item, depth + 1) for item in value]
        return _join("[", items, "]", depth, pretty=bool(value) and isinstance(value[0], dict))
    if isinstance(value, float) or (isinstance(value, int) and abs(value) > MAX_NUMBER):
        raise TypeError
    return _quote(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False)


def _quote(value: object) -> str:
    if type(value) is str:
        return encode_basestring(value)
    return repr(value) if type(value) is int else _ENCODER.encode(value)


def _join(start: str, items: list[str], end: str, depth: int, *, pretty: bool) -> str:
    if not (items and pretty and depth < PRETTY_DEPTH):
        return start + ", ".join(items) + end
    pad = "\n" + " " * (depth + 1)
    return start + pad + ("," + pad).join(items) + "\n" + " " * depth + end


_INDEX = re.compile(r"(0|[1-9][0-9]{0,9})\Z")


def _place(name: str) -> int:
    """Return the key that puts names of whole numbers first, in ascending order, and leaves the others in place."""
    number = int(name) if _INDEX.match(name) else 2**32
    return min(number, 2**32 - 1)


LABEL = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]{0,200}\Z")


def is_label(text: str) -> bool:
    """Return whether a text has at most 200 characters and no control, line-breaking or direction characters."""
    return LABEL.match(text) is not None


def _entry(step: type[Oracle]) -> str:
    """Return the members of a step's entry."""
    names = step.parameter_names()
    return " ".join(["oracle:text", *(f"{name}:{'factors' if name in step.tables else 'int'}" for name in names)])


OPTIONS = "cells?:int dither?:bool outside?:clamp null?:true"

TABLE = {
    "contract": "tacit:int round:text tier?:text epsilon:text mechanism:text oracle:text draw_bits:int "
    "services:service+",
    "service": "name:text key:text at_most?:int sends?:int optional?:true attributes:attribute+ "
    "layout:text why?:text levels:level+ derived?:derived+ channels:channel+",
    "ordinal": f"name:text kind:text low:number high:number step:number fanout:int {OPTIONS}",
    "date": f"name:text kind:text low:date high:date step:int fanout:int {OPTIONS}",
    "categorical": "name:text kind:text values:scalar+ other?:scalar null?:true",
    "public": "name:text kind:text",
    "level": "ticks?:int count:int widths:int*",
    "channel": "name:text epsilon:text draws:int codes:int views:views by_domain:domains otherwise:hash",
    "views": "product?:levels+ list?:view+ parities?:int",
    **{name: _entry(step) for name, step in STEPS.items()},
}
"""The members of every object, in order: ``?`` optional, ``*`` a list, ``+`` a non-empty list."""

SECOND = {
    "contract": TABLE["contract"].replace(" epsilon", " panel?:text rounds?:int reports?:int assigned?:true epsilon"),
    "categorical": "name:text kind:text values?:scalar+ dictionary?:text size?:int other?:scalar fanout?:int "
    "null?:true",
    "public": TABLE["public"] + " values?:scalar+ type?:text null?:true",
    "level": TABLE["level"] + " offsets?:int+ starts?:levels+",
    "channel": TABLE["channel"].replace(" by_domain", " weights?:int+ by_domain"),
}
"""The members of objects that have more of them in version 2."""

TOGETHER = (
    ("at_most", "sends"),
    ("cells", "dither"),
    ("panel", "rounds"),
    ("rounds", "reports"),
    ("dictionary", "size"),
)
"""Members that are either both present or both absent."""

RESERVED_OF_CONTRACTS = ("panel", "rounds", "reports", "questions", "ratios")
RESERVED_OF_SERVICES = ("partitions", "dictionary", "size", "starts", "probabilities", "steps", "assigned")
RESERVED = (*RESERVED_OF_CONTRACTS, *RESERVED_OF_SERVICES)
RESERVED_KINDS = ("boolean", "timestamp")

DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,15})\.[0-9]{0,39}[1-9]\Z")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")


def _is_int(value: Any) -> bool:
    return type(value) is int


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_date(text: str) -> bool:
    try:
        return DATE.match(text) is not None and bool(datetime.date.fromisoformat(text))
    except ValueError:
        return False


SIMPLE: dict[str, Callable[[Any], bool]] = {
    "int": _is_int,
    "text": _is_text,
    "bool": lambda value: isinstance(value, bool),
    "true": lambda value: value is True,
    "clamp": lambda value: value == "clamp",
    "scalar": lambda value: _is_int(value) or _is_text(value),
    "number": lambda value: _is_int(value) or (_is_text(value) and DECIMAL.match(value) is not None),
    "date": lambda value: _is_text(value) and _is_date(value),
    "derived": lambda value: isinstance(value, list) and len(value) == 2 and _is_int(value[0]) and _is_text(value[1]),
}


class Members:
    """Checks the members of every object, from the top down and in their order."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._table = TABLE | SECOND if version == 2 else TABLE

    def check_object(self, value: Any, name: str) -> None:
        if not isinstance(value, dict):
            refuse("wrong-type")
        members = dict(item.split(":") for item in self._table[name].split())
        known = {member.rstrip("?") for member in members}
        for word in value:
            if word not in known:
                refuse("reserved" if self._version == 2 and word in RESERVED else "unknown-member")
        if any(member not in value for member in members if not member.endswith("?")):
            refuse("missing-member")
        if any((first in value) != (second in value) for first, second in TOGETHER):
            refuse("missing-member")
        if list(value) != [member.rstrip("?") for member in members if member.rstrip("?") in value]:
            refuse("not-canonical")
        for member, kind in members.items():
            if member.rstrip("?") in value:
                self.check(value[member.rstrip("?")], kind)

    def check(self, value: Any, kind: str) -> None:
        if kind[-1] in "*+":
            if not isinstance(value, list):
                refuse("wrong-type")
            if kind[-1] == "+" and not value:
                refuse("empty")
            for item in value:
                self.check(item, kind[:-1])
        elif kind in ("levels", "view"):
            self.check(value, "int+" if kind == "levels" else "int*")
        elif kind in SIMPLE:
            if not SIMPLE[kind](value):
                refuse("wrong-type")
        elif kind == "attribute":
            self._check_kind(value, "kind", ("ordinal", "date", "categorical", "public"))
        elif kind == "hash":
            if value is not None:
                self._check_kind(value, "oracle", [name for name, step in STEPS.items() if step.tables])
        elif kind in ("domains", "factors"):
            self._check_entries(value, kind)
        else:
            self.check_object(value, kind)

    def _check_entries(self, value: Any, kind: str) -> None:
        if not isinstance(value, dict):
            refuse("wrong-type")
        for item in value.values():
            if kind == "factors":
                self.check(item, "int")
            else:
                self._check_kind(item, "oracle", [name for name, step in STEPS.items() if not step.tables])

    def _check_kind(self, value: Any, word: str, known: Sequence[str]) -> None:
        """Check an object whose members depend on one of them."""
        if not isinstance(value, dict):
            refuse("wrong-type")
        kind = value.get(word)
        if self._version == 2 and kind in RESERVED_KINDS:
            refuse("reserved")
        if not isinstance(kind, str) or kind not in known:
            refuse("unknown-kind")
        self.check_object(value, kind)
