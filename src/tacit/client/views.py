"""Validate the compiled part of a service, and expand its views: levels, derived attributes, channels, oracles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, product
from math import prod
from typing import Any

from tacit.client.declarations import budget, check_label, check_level, widths_of
from tacit.client.refusal import fail, need
from tacit.client.steps import SPAN, LinearHash, Step, step_of

__all__ = [
    "ChannelSteps",
    "Limits",
    "View",
    "check_compiled",
    "count_cells",
    "count_draws",
    "count_extras",
    "expand",
    "known_attributes",
    "run_of",
    "view_sizes",
]

MAX_VIEWS, MAX_ENTRIES, MAX_CHANNELS, MAX_DRAWS, MAX_WEIGHTS = 100_000, 2**24, 1_000, 1_000_000, 2**20
"""Limits of docs/wire.md on the views and channels of a service."""

Data = dict[str, Any]
View = dict[int, int]
"""Levels (masks, for parities) of the attributes that a view reports."""


class Limits:
    """The remaining limits on the views of a contract."""

    def __init__(self) -> None:
        self._views, self._entries = MAX_VIEWS, MAX_ENTRIES

    def take(self, views: int, attributes: int) -> None:
        """Count views; refuse more than the limit."""
        self._views -= views
        self._entries -= views * attributes
        need(self._views >= 0 and self._entries >= 0, "too-many-views")


def check_compiled(data: Data, limits: Limits) -> None:
    """Check the labels, levels, derived attributes and channels of a service."""
    check_label(data["layout"])
    check_label(data.get("why", "-"), empty=False)
    sensitive = [attribute for attribute in data["attributes"] if attribute["kind"] != "public"]
    need(len(data["levels"]) == len(sensitive), "bad-levels")
    for attribute, level in zip(sensitive, data["levels"], strict=True):
        check_level(attribute, level)
    _check_derived(data, sensitive)
    need(len(data["channels"]) <= MAX_CHANNELS, "too-many-channels")
    known = known_attributes(data)
    for channel in data["channels"]:
        _check_channel(channel, known, count_extras(data), limits)
    need(count_draws(data) <= MAX_DRAWS, "too-many-draws")


def _check_derived(data: Data, sensitive: list[Data]) -> None:
    derived = data.get("derived", [])
    need(not any(kind == "pair" for _, kind in derived), "not-for-clients")
    one_to_one = "at_most" not in data and "optional" not in data
    for source, kind in derived:
        need(0 <= source < len(sensitive) and kind in ("round", "embed"), "bad-derived")
        attribute = sensitive[source]
        possible = attribute["kind"] != "categorical" and "null" not in attribute
        need(possible and data["levels"][source]["count"] > 1 and one_to_one, "bad-derived")
    need(len({kind for _, kind in derived}) <= 1, "bad-derived")
    need(len({source for source, _ in derived}) == len(derived), "bad-derived")


def known_attributes(data: Data) -> list[Data]:
    """Return the sensitive attributes with their levels, then the derived ones."""
    sensitive = [attribute for attribute in data["attributes"] if attribute["kind"] != "public"]
    known = [attribute | level for attribute, level in zip(sensitive, data["levels"], strict=True)]
    return known + [_derived_levels(known[source], kind) for source, kind in data.get("derived", [])]


def _derived_levels(attribute: Data, kind: str) -> Data:
    """Return the levels of a rounded attribute (two values) or of one in a doubled domain."""
    count, fanout = (2, 2) if kind == "round" else (2 * attribute["count"], attribute["fanout"])
    return {"count": count, "widths": widths_of(count, fanout)}


def count_extras(data: Data) -> int:
    """Return the number of extra cells."""
    if "at_most" in data:
        return min(int(data["at_most"]), 2)
    return int("optional" in data)


def count_draws(data: Data) -> int:
    """Return how many draws a person's reports to a service consume."""
    flags = [attribute.get("dither", False) for attribute in data["attributes"] if attribute["kind"] != "public"]
    dithered = sum(flag and level["count"] < level["ticks"] for flag, level in zip(flags, data["levels"], strict=True))
    draws = dithered + len(data.get("derived", ())) + sum(channel["draws"] for channel in data["channels"])
    return int(data.get("sends", 1) * (draws + ("at_most" in data)))


def count_cells(attribute: Data, level: int) -> int:
    """Return the number of cells of a level; below the root, NULL is a separate cell."""
    if level == 0:
        return 1
    starts = attribute.get("starts", ())
    if level <= len(starts):
        return len(starts[level - 1]) + bool(attribute.get("null"))
    width, offset = run_of(attribute, level)
    return int(-(-(attribute["count"] + offset) // width) + bool(attribute.get("null")))


def run_of(attribute: Data, level: int) -> tuple[int, int]:
    """Return the width and the offset of a level below the root and the levels that list their starts."""
    place = level - 1 - len(attribute.get("starts", ()))
    return attribute["widths"][place], attribute["offsets"][place] if "offsets" in attribute else 0


def view_sizes(attributes: Sequence[Data], view: View, extras: int, *, parities: bool) -> list[int]:
    """Return the cells of each attribute that a view reports; a view without any uses the first attribute."""
    sizes = [2] if parities else [count_cells(attributes[i], level) for i, level in view.items()] or [1]
    sizes[0] += extras
    return sizes


def expand(views: Data, attributes: Sequence[Data]) -> Iterator[View]:
    """Yield the views of a channel."""
    if "parities" in views:
        return _parities(views["parities"], _value_counts(attributes))
    if "product" in views:
        combined = product(*views["product"])
        return ({i: level for i, level in enumerate(levels) if level} for levels in combined)
    return (dict(zip(view[::2], view[1::2], strict=True)) for view in views["list"])


def _value_counts(attributes: Sequence[Data]) -> list[int]:
    return [attribute["count"] + bool(attribute.get("null")) for attribute in attributes]


def _parities(order: int, sizes: list[int]) -> Iterator[View]:
    """Yield a mask of bits for each attribute: parities of one attribute first, the last mask changing fastest."""
    telling = [i for i, size in enumerate(sizes) if size > 1]
    for count in range(1, order + 1):
        for chosen in combinations(telling, count):
            for masks in product(*(range(1, 1 << (sizes[i] - 1).bit_length()) for i in chosen)):
                yield dict(zip(chosen, masks, strict=True))


def _parity_count(order: int, sizes: list[int]) -> int:
    """Return the number of parities, or anything beyond the limit."""
    counts = [1] + [0] * order
    for size in sizes:
        masks = (1 << (size - 1).bit_length()) - 1
        counts = [1] + [min(MAX_VIEWS + 1, counts[i] + masks * counts[i - 1]) for i in range(1, order + 1)]
    return sum(counts[1:])


class ChannelSteps:
    """How the views of a channel are drawn: by the entry for their number of cells, or by the one for all others."""

    def __init__(self, data: Data) -> None:
        self._by_domain, self._otherwise = data["by_domain"], data["otherwise"]
        self._of_sizes: dict[tuple[int, ...], Step] = {}

    def step(self, sizes: Sequence[int]) -> Step:
        """Return the step of views with these sizes: one object for all of them."""
        key = tuple(sizes)
        known = self._of_sizes.get(key)
        if known is None:
            entry = self._by_domain.get(str(prod(sizes)), self._otherwise)
            known = self._of_sizes[key] = fail("no-oracle") if entry is None else step_of(entry, key)
        return known

    def check_use(self) -> None:
        """Check that every entry is used, and in order."""
        used = self._of_sizes.values()
        domains = {step.domain for step in used if step.entry is not self._otherwise}
        need(list(self._by_domain) == [str(domain) for domain in sorted(domains)], "unused-entry")
        digits = {count for step in used if isinstance(step, LinearHash) for count in step.digits}
        need(bool(digits) == (self._otherwise is not None), "unused-entry")
        if self._otherwise is not None:
            need(list(self._otherwise["multipliers"]) == [str(count) for count in sorted(digits)], "unused-entry")


def _check_channel(data: Data, attributes: list[Data], extras: int, limits: Limits) -> None:
    check_label(data["name"])
    budget(data["epsilon"])
    count = _count_views(data["views"], attributes, extras)
    limits.take(count, len(attributes))
    if "list" in data["views"]:
        need(not _is_product(data["views"]["list"]), "bad-views")
    if "weights" in data:
        weights, total = data["weights"], sum(data["weights"])
        need(len(weights) == count and all(weight >= 1 for weight in weights), "bad-weights")
        need(total <= MAX_WEIGHTS and total.bit_count() == 1, "bad-weights")
    steps, checked = ChannelSteps(data), set[int]()
    codes, answers = 0, 1
    for view in expand(data["views"], attributes):
        sizes = view_sizes(attributes, view, extras, parities="parities" in data["views"])
        need(prod(sizes) < SPAN, "codes-too-large")
        step = steps.step(sizes)
        if id(step) not in checked:
            step.check()
            checked.add(id(step))
        codes += step.codes
        answers = max(answers, step.answers)
    need(codes <= SPAN, "codes-too-large")
    need(data["draws"] == 2 + answers, "bad-draws")
    need(data["codes"] == codes, "bad-codes")
    steps.check_use()


def _count_views(views: Data, attributes: list[Data], extras: int) -> int:
    """Return the number of views of a channel, without expanding them; check that the levels exist."""
    tops = [len(attribute.get("starts", ())) + len(attribute["widths"]) for attribute in attributes]
    need(len(views) == 1 and not ("parities" in views and extras), "bad-views")
    if "product" in views:
        need(len(views["product"]) == len(tops), "bad-views")
        for top, levels in zip(tops, views["product"], strict=True):
            need(_ascends(levels) and levels[0] >= 0 and levels[-1] <= top, "bad-views")
        return prod(map(len, views["product"]))
    if "parities" in views:
        sizes = _value_counts(attributes)
        need(1 <= views["parities"] <= sum(size > 1 for size in sizes), "bad-views")
        return _parity_count(views["parities"], sizes)
    for view in views["list"]:
        need(len(view) % 2 == 0 and _ascends(view[::2]), "bad-views")
        for attribute, level in zip(view[::2], view[1::2], strict=True):
            need(0 <= attribute < len(tops) and 1 <= level <= tops[attribute], "bad-views")
    return len(views["list"])


def _ascends(numbers: Sequence[int]) -> bool:
    return all(first < second for first, second in pairwise(numbers))


def _is_product(views: list[list[int]]) -> bool:
    """Return whether a list has all combinations of some levels in order, and so must be written as a product."""
    levels: dict[int, set[int]] = {}
    mentioned: dict[int, int] = {}
    for view in views:
        for attribute, level in zip(view[::2], view[1::2], strict=True):
            levels.setdefault(attribute, set()).add(level)
            mentioned[attribute] = mentioned.get(attribute, 0) + 1
    counts = {i: len(listed) + (mentioned[i] < len(views)) for i, listed in levels.items()}
    if prod(counts.values()) != len(views):
        return False
    varying = sorted(i for i, count in counts.items() if count > 1)
    dense = [[dict(zip(view[::2], view[1::2], strict=True)).get(i, 0) for i in varying] for view in views]
    return all(first < second for first, second in pairwise(dense))
