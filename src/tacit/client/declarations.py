"""Validate what a contract declares: labels, budgets, services, attributes and their levels."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction
from itertools import pairwise
from math import gcd
from typing import Any

from tacit.client.refusal import need

__all__ = ["budget", "check_declarations", "check_label", "check_labels", "check_level", "widths_of"]

MAX_EPSILON = 30
MAX_ATTRIBUTES, MAX_ROWS, MAX_TICKS, MAX_VALUES, MAX_BOUND = 500, 1_000, 2**31, 1_000_000, 2**53
MAX_PARTITIONS = 256
"""Limits of docs/wire.md on epsilon, schemas, attributes and their levels."""

NAMES_IN_USE = {"slot", "channel", "code", "people", "rng", "progress", "round", "self", "tier"}

LABEL = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]{0,200}")
DECIMAL = re.compile(r"(0|[1-9][0-9]{0,99})(\.[0-9]{0,99}[1-9])?")
FRACTION = re.compile(r"([1-9][0-9]{0,99})/([1-9][0-9]{0,99})")

Data = dict[str, Any]


def check_labels(data: Data) -> None:
    """Check the labels and the total budget at the top of a contract."""
    for name in ("round", "tier", "mechanism", "oracle"):
        check_label(data.get(name, "-"), empty=name != "tier")
    if "panel" in data:
        named = data["panel"] and LABEL.fullmatch(data["panel"]) and not data["round"]
        need(named and 2 <= data["rounds"] <= 1000 and 1 <= data["reports"] <= data["rounds"], "bad-panel")
    budget(data["epsilon"])


def check_label(text: str, *, empty: bool = True) -> None:
    """Check that a text is short and has no control, line-breaking or direction characters."""
    need(LABEL.fullmatch(text) and (text or empty), "bad-label")


def budget(text: str) -> Fraction:
    """Return a budget in canonical form: a decimal, or a reduced fraction that has no decimal form."""
    match = FRACTION.fullmatch(text)
    if match:
        top, bottom = int(match[1]), int(match[2])
        remainder = bottom
        for prime in (2, 5):
            while remainder % prime == 0:
                remainder //= prime
        need(gcd(top, bottom) == 1 and remainder > 1, "bad-epsilon")
    else:
        need(DECIMAL.fullmatch(text), "bad-epsilon")
    need(0 < Fraction(text) <= MAX_EPSILON, "bad-epsilon")
    return Fraction(text)


def check_declarations(services: list[Data]) -> None:
    """Check names, limits, attributes and rows of all services."""
    for service in services:
        for attribute in service["attributes"]:
            _check_attribute(attribute)
        _check_service(service)
    _check_distinct([service["name"] for service in services])


def _check_name(name: str) -> None:
    need(re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,62}", name), "bad-name")
    need(name.lower() not in NAMES_IN_USE, "reserved-name")


def _check_distinct(names: list[str]) -> None:
    need(len({name.lower() for name in names}) == len(names), "duplicate-name")


def _check_service(data: Data) -> None:
    _check_name(data["name"])
    _check_name(data["key"])
    attributes = data["attributes"]
    _check_distinct([data["key"], *(attribute["name"] for attribute in attributes)])
    need(len(attributes) <= MAX_ATTRIBUTES, "domain-too-large")
    public = [attribute for attribute in attributes if attribute["kind"] == "public"]
    need(len(public) < len(attributes), "empty-domain")
    if "at_most" in data:
        possible = 1 <= data["sends"] <= data["at_most"] <= MAX_ROWS and "optional" not in data
        need(possible, "bad-option")
    need(not public or not ("at_most" in data or "optional" in data), "public-not-possible")


def _check_attribute(data: Data) -> None:
    kind = data["kind"]
    if kind == "categorical":
        need(("values" in data) != ("dictionary" in data), "bad-option")
        need("other" not in data or data["other"] in data.get("values", [data["other"]]), "bad-option")
    _check_name(data["name"])
    if kind in ("ordinal", "date"):
        _check_ordinal(data)
    if kind == "categorical":
        if "values" in data:
            _check_values(data["values"])
        else:
            hashed = re.fullmatch("[0-9a-f]{64}", data["dictionary"]) and type(data.get("other", "")) is str
            need(hashed and data["size"] >= 1, "bad-option")
            need(data["size"] <= MAX_VALUES, "domain-too-large")
        need(2 <= data.get("fanout", 2) <= 64 and not {"fanout", "other"} <= data.keys(), "bad-option")
    if kind == "public":
        if "values" in data:
            _check_values(data["values"])
            need(not any("\0" in value for value in data["values"] if type(value) is str), "bad-option")
        need(data.get("type", "int") in ("int", "float", "str", "bool"), "bad-option")
        need(not ("values" in data and "type" in data), "bad-option")
        need("null" not in data or "values" in data or "type" in data, "bad-option")


def _check_values(values: list[Any]) -> None:
    need(len(values) <= MAX_VALUES, "domain-too-large")
    kind = type(values[0])
    need(all(type(value) is kind for value in values), "bad-option")
    need(len(set(values)) == len(values), "duplicate-name")
    need(kind is str or all(abs(value) < MAX_BOUND for value in values), "bad-option")


def _bound(data: Data, name: str) -> Fraction:
    if data["kind"] == "date" and name != "step":
        return Fraction(date.fromisoformat(data[name]).toordinal())
    value = Fraction(data[name])
    need(abs(value) < MAX_BOUND, "bad-bound")
    return value


def _check_ordinal(data: Data) -> None:
    need(2 <= data["fanout"] <= 64, "bad-option")
    need(data.get("cells", 2) >= 2, "bad-option")
    low, high = _bound(data, "low"), _bound(data, "high")
    need(low <= high, "empty-domain")
    step = _bound(data, "step")
    need(step > 0, "bad-bound")
    ticks = (high - low) / step + 1
    need(ticks.denominator == 1, "uneven-step")
    need(ticks <= MAX_TICKS, "domain-too-large")
    need(data.get("cells", ticks) <= ticks, "bad-option")
    need(data.get("cells", ticks) <= MAX_VALUES, "domain-too-large")


def level_of(data: Data) -> Data:
    """Return the levels of an attribute, as the contract must state them."""
    if data["kind"] == "categorical":
        count = data["size"] if "size" in data else len(data["values"])
        fanout: int = data["fanout"] if "fanout" in data else max(2, count)
        return {"count": count, "widths": widths_of(count, fanout, null="null" in data)}
    ticks = int((_bound(data, "high") - _bound(data, "low")) / _bound(data, "step")) + 1
    count = data.get("cells", ticks)
    return {"ticks": ticks, "count": count, "widths": widths_of(count, data["fanout"], null="null" in data)}


def check_level(attribute: Data, level: Data) -> None:
    """Check the levels of an attribute: those that follow from it, or partitions with offsets."""
    follows = level_of(attribute)
    if "offsets" in level and "fanout" in attribute:
        widths, offsets, starts, count = level["widths"], level["offsets"], level.get("starts", []), follows["count"]
        need(len(widths) == len(offsets) <= MAX_PARTITIONS - len(starts), "bad-levels")
        runs = list(zip(widths, offsets, strict=True))
        for width, offset in runs:
            need(0 <= offset < width <= count and ("null" in attribute or count + offset > width), "bad-levels")
        ordered = all((-first[0], first[1]) < (-second[0], second[1]) for first, second in pairwise(runs))
        need(ordered and runs[-1] == (1, 0), "bad-levels")
        need(starts or any(offsets) or widths != follows["widths"], "bad-levels")
        for here, before in zip(starts, [[0], *starts], strict=False):
            ascending = here[0] == 0 and all(first < second for first, second in pairwise(here))
            need(ascending and here[-1] < count and len(before) < len(here) < count, "bad-levels")
        follows = {**follows, "widths": widths, "offsets": offsets} | ({"starts": starts} if starts else {})
    need(level == follows, "bad-levels")


def widths_of(count: int, fanout: int, *, null: bool = False) -> list[int]:
    """Return the widths of the levels below the root, coarsest first."""
    if count == 1 and not null:
        return []
    widths = [1]
    while widths[0] * fanout < count:
        widths.insert(0, widths[0] * fanout)
    return widths
