"""The exact loss of a contract from its JSON alone, written apart from all validators and audits.

Small channels are enumerated: every code for every cell, from the sampling rules of `docs/wire.md`. For large ones the
extremes follow from the rule: a code of grr, lh or olh is the true answer with weight ``span - (k-1) flip`` and any
other one with ``flip``; a set of ss has weight ``inside`` or ``outside``; bits of oue are independent.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import Any

SPAN = 2**53
ENUMERATE = 600
"""Codes times cells of a channel that is enumerated."""

Data = dict[str, Any]


def objections(text: str) -> list[str]:
    """Return why nobody should encode by a contract; empty if its loss is within its budget and nothing leaves raw."""
    data = json.loads(text)
    found = []
    worst = Fraction(1)
    for service in data["services"]:
        found += _raw(service)
        reports = service.get("sends", 1) * data.get("reports", 1)
        for channel in service["channels"]:
            ratio = _channel_ratio(service, channel)
            if ratio is None or ratio > _exp_below(Fraction(channel["epsilon"])):
                found.append(f"{channel['name']} tells more than its budget")
            worst *= (ratio or 1) ** reports
    if worst > _exp_below(Fraction(data["epsilon"])):
        found.append("the reports together tell more than the budget")
    return found


def _raw(service: Data) -> list[str]:
    """Return what would leave as it is, or would show who has rows."""
    public = {column["name"].lower() for column in service["attributes"] if column["kind"] == "public"}
    sensitive = {column["name"].lower() for column in service["attributes"] if column["kind"] != "public"}
    found = [f"{name} leaves raw" for name in public & (sensitive | {service["key"].lower()})]
    if public and ("at_most" in service or "optional" in service):
        found.append("public columns show who has rows")
    return found


@lru_cache(maxsize=4096)
def _exp_below(epsilon: Fraction) -> Fraction:
    """Return a lower bound of e**epsilon: a partial sum of its series, cut to 400 bits."""
    total, term = Fraction(0), Fraction(1)
    for k in range(1, 400):
        total += term
        term = Fraction(math.floor(term * epsilon / k * 2**400), 2**400)
    return total


def _values(attribute: Data) -> int:
    """Return how many values an attribute has, NULL not counted."""
    if attribute["kind"] == "categorical":
        return int(attribute["size"]) if "size" in attribute else len(attribute["values"])
    if "cells" in attribute:
        return int(attribute["cells"])
    low, high = attribute["low"], attribute["high"]
    if attribute["kind"] == "date":
        low, high = (date.fromisoformat(bound).toordinal() for bound in (low, high))
    steps = (Fraction(high) - Fraction(low)) / Fraction(attribute["step"])
    assert steps.denominator == 1
    return int(steps) + 1


Column = tuple[int, int, bool, Any]
"""Values, fanout, NULL, and widths with offsets if there are any."""


def _columns(service: Data) -> list[Column]:
    """Return the sensitive and derived attributes."""
    sensitive = [column for column in service["attributes"] if column["kind"] != "public"]
    columns: list[Column] = []
    for column, level in zip(sensitive, service["levels"], strict=True):
        fanout = column.get("fanout", 10**9)
        runs = list(zip(level["widths"], level["offsets"], strict=True)) if "offsets" in level else None
        if "starts" in level:
            runs = [*([len(starts)] for starts in level["starts"]), *(runs or ())]
        columns.append((_values(column), fanout, "null" in column, runs))
    for source, kind in service.get("derived", []):
        count, fanout, *_ = columns[source]
        sizes = {"round": (2, 2), "embed": (2 * count, fanout), "pair": (4, 4)}
        columns.append((*sizes[kind], False, None))
    return columns


def _cells(column: Column, level: int) -> int:
    """Return the cells of a level, counted up from single values."""
    values, fanout, null, runs = column
    if level == 0:
        return 1
    if runs:
        if len(runs[level - 1]) == 1:  # by a calendar: a list of the first values of its cells
            return int(runs[level - 1][0] + null)
        width, offset = runs[level - 1]
        return len({(value + offset) // width for value in range(values)}) + null
    depth = 1
    while fanout**depth < values:
        depth += 1
    width = fanout ** (depth - level)
    return math.ceil(Fraction(values, width)) + null


def _views(channel: Data, columns: list[Column]) -> Iterator[list[int]]:
    """Yield the sizes of what each view tells about, before extra cells."""
    views = channel["views"]
    if "parities" in views:
        yield [2]  # every parity is a channel over two cells
    elif "product" in views:
        for levels in itertools.product(*views["product"]):
            yield [_cells(columns[i], level) for i, level in enumerate(levels) if level] or [1]
    else:
        for view in views["list"]:
            yield [_cells(columns[i], level) for i, level in zip(view[::2], view[1::2], strict=True)] or [1]


def _channel_ratio(service: Data, channel: Data) -> Fraction | None:
    columns = _columns(service)
    extras = 0
    if "pair" not in [kind for _, kind in service.get("derived", [])]:
        extras = min(service.get("at_most", 1), 2) if "at_most" in service or "optional" in service else 0
    worst = Fraction(1)
    for sizes in {tuple(sizes) for sizes in _views(channel, columns)}:
        shape = [sizes[0] + extras, *sizes[1:]]
        oracle = channel["by_domain"].get(str(math.prod(shape)), channel["otherwise"])
        ratio = _known_ratio(json.dumps(oracle), tuple(shape))
        if ratio is None:
            return None
        worst = max(worst, ratio)
    return worst


@lru_cache(maxsize=2**16)
def _known_ratio(oracle: str, shape: tuple[int, ...]) -> Fraction | None:
    return _oracle_ratio(json.loads(oracle), list(shape))


def _oracle_ratio(oracle: Data, shape: list[int]) -> Fraction | None:
    """Return the largest ratio of the probabilities of one code under two cells; None if one of them is 0."""
    cells = math.prod(shape)
    if cells == 1:
        return Fraction(1)
    rows = _rows(oracle, shape)
    if rows is not None:
        assert all(sum(row.values()) == sum(rows[0].values()) for row in rows)
        codes = set().union(*rows)
        columns = [[row[code] for row in rows] for code in codes]
        if any(min(column) == 0 < max(column) for column in columns):
            return None
        return max(Fraction(max(column), min(column)) for column in columns if max(column))
    pairs = {
        "grr": lambda: (SPAN - (cells - 1) * oracle["flip"], oracle["flip"]),
        "lh": lambda: (SPAN - (oracle["g"] - 1) * oracle["flip"], oracle["flip"]),
        "olh": lambda: (SPAN - (oracle["g"] - 1) * oracle["flip"], oracle["flip"]),
        "ss": lambda: (oracle["inside"], oracle["outside"]),
        "oue": lambda: (oracle["one"] * (SPAN - oracle["zero"]), oracle["zero"] * (SPAN - oracle["one"])),
    }
    truth, lie = pairs[oracle["oracle"]]()
    assert min(truth, lie) >= 0
    return Fraction(max(truth, lie), min(truth, lie)) if min(truth, lie) else None


def _rows(oracle: Data, shape: list[int]) -> list[Counter[Any]] | None:
    """Return for each cell the weight of every code, by following the sampling rules; None where that is too much."""
    cells, kind = math.prod(shape), oracle["oracle"]
    if kind == "grr" and cells**2 <= ENUMERATE:
        return [_respond(cell, cells, oracle["flip"]) for cell in range(cells)]
    if kind == "ss" and math.comb(cells, oracle["w"]) * cells <= ENUMERATE:
        return [_subsets(oracle, cells, cell) for cell in range(cells)]
    if kind == "oue" and cells * 2**cells <= ENUMERATE:
        return [_bits(oracle, cells, cell) for cell in range(cells)]
    if kind == "lh":
        digits = [_digits(size, oracle["g"]) for size in shape]
        if cells * oracle["g"] ** (sum(digits) + 1) <= 20 * ENUMERATE:
            return [_hashed(oracle, shape, digits, cell) for cell in itertools.product(*map(range, shape))]
    return None


def _respond(cell: int, cells: int, flip: int) -> Counter[Any]:
    """Count the draws below 2**53 that give each answer."""
    row = Counter({(cell + 1 + shift) % cells: flip for shift in range(cells - 1)})
    row[cell] += SPAN - (cells - 1) * flip
    return row


def _subsets(oracle: Data, cells: int, cell: int) -> Counter[Any]:
    row: Counter[Any] = Counter()
    for members in itertools.combinations(range(cells), oracle["w"]):
        row[members] = oracle["inside"] if cell in members else oracle["outside"]
    row["all"] = SPAN - sum(row.values())
    assert min(row.values()) >= 0
    return row


def _bits(oracle: Data, cells: int, cell: int) -> Counter[Any]:
    row: Counter[Any] = Counter()
    for code in itertools.product((0, 1), repeat=cells):
        weight = 1
        for place, bit in enumerate(code):
            chance = oracle["one"] if place == cell else oracle["zero"]
            weight *= chance if bit else SPAN - chance
        row[code] = weight
    return row


def _digits(size: int, g: int) -> int:
    digits = 0
    while g**digits < size:
        digits += 1
    return digits


def _hashed(oracle: Data, shape: list[int], digits: list[int], cell: tuple[int, ...]) -> Counter[Any]:
    """Count over all seeds: vectors up to multiples, each with the same share of draws."""
    g = oracle["g"]
    points: list[int] = []
    for place, count, size in zip(cell, digits, shape, strict=True):
        assert place < size
        point = place * oracle["multipliers"][str(count)] % g**count
        points += [point // g**k % g for k in reversed(range(count))]
    row: Counter[Any] = Counter()
    for vector in itertools.product(range(g), repeat=len(points)):
        if next((digit for digit in vector if digit), 0) == 1 or not points:
            hashed = sum(a * b for a, b in zip(vector, points, strict=True)) % g
            row.update({(vector, answer): weight for answer, weight in _respond(hashed, g, oracle["flip"]).items()})
    return row
