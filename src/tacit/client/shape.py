"""Is a contract what the interpreter takes it for? Every value of a record must have a cell, or noise would miss it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tacit.client.record import bound_of

__all__ = ["is_shaped", "is_whole"]

MOST_CELLS, MOST_TICKS, MOST_ROWS, MOST_FANOUT = 1_000_000, 2**31, 1_000, 64

Data = dict[str, Any]


def is_whole(number: object, low: int, high: int) -> bool:
    """Tell whether something is a whole number within bounds; true and false are not."""
    return type(number) is int and low <= number <= high


def is_shaped(data: Data) -> bool:
    """Tell whether services differ in name, and levels, rows and derived attributes fit what is declared."""
    services = data["services"]
    return bool(services) and len({s["name"] for s in services}) == len(services) and all(map(_service, services))


def _service(data: Data) -> bool:
    sensitive = [attribute for attribute in data["attributes"] if attribute["kind"] != "public"]
    levels, most, sends = data["levels"], data.get("at_most"), data.get("sends", 1)
    if not sensitive or len(sensitive) != len(levels) or not data["channels"]:
        return False
    rows = (most is None or is_whole(most, 1, MOST_ROWS)) and is_whole(sends, 1, most or 1)
    tops = [len(one["widths"]) for one in levels] + [MOST_FANOUT] * len(data.get("derived", []))
    return (
        rows
        and all(_attribute(*pair) for pair in zip(sensitive, levels, strict=True))
        and all(_views(channel["views"], tops) for channel in data["channels"])
    )


def _views(views: Data, tops: list[int]) -> bool:
    """Tell whether every view names levels that exist; those of derived attributes are looked up when they are read."""
    if "parities" in views:
        return is_whole(views["parities"], 1, len(tops))
    if "product" in views:
        listed = [(attribute, level) for attribute, own in enumerate(views["product"]) for level in own]
    else:
        listed = [pair for view in views["list"] for pair in zip(view[::2], view[1::2], strict=True)]
    return all(is_whole(a, 0, len(tops) - 1) and is_whole(level, 0, tops[a]) for a, level in listed)


def _attribute(attribute: Data, levels: Data) -> bool:
    count, widths, ticks = levels["count"], levels["widths"], levels.get("ticks", 0)
    if not is_whole(count, 1, MOST_CELLS) or not all(is_whole(width, 1, count) for width in widths):
        return False
    if attribute["kind"] == "categorical":
        values = attribute["values"]
        kind = type(values[0])
        alike = kind in (str, int) and all(type(value) is kind for value in values)
        return alike and len(set(values)) == len(values) == count and attribute.get("other", values[0]) in values
    low, high, step = bound_of(attribute, "low"), bound_of(attribute, "high"), Fraction(attribute["step"])
    if not is_whole(ticks, 1, MOST_TICKS) or step <= 0 or high - low != step * (ticks - 1):
        return False
    return bool(count == attribute.get("cells", ticks) and count <= ticks)
