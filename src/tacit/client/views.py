"""Validate the compiled part of a service, and expand its views: levels, derived attributes, channels, oracles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, product
from math import comb, isqrt, prod
from typing import Any

from tacit.client.answers import alphabet, digit_count, seed_count
from tacit.client.declarations import budget, check_label, level_of, widths_of
from tacit.client.refusal import need

__all__ = [
    "Limits",
    "View",
    "check_compiled",
    "count_cells",
    "count_draws",
    "count_extras",
    "expand",
    "known_attributes",
    "view_sizes",
]

MAX_VIEWS, MAX_ENTRIES, MAX_CHANNELS, MAX_DRAWS = 100_000, 2**24, 1_000, 1_000_000
MAX_SUBSETS, MAX_PRIME, MAX_HASHES, MAX_BITS = 2**22, 2**20, 2**21, 52
SPAN = 2**53

Data = dict[str, Any]
View = dict[int, int]
"""Levels (masks, for parities) of the attributes that a view tells about."""


class Limits:
    """What is left of the views of a contract."""

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
    need(data["levels"] == [level_of(attribute) for attribute in sensitive], "bad-levels")
    _check_derived(data, sensitive)
    need(len(data["channels"]) <= MAX_CHANNELS, "too-many-channels")
    known = known_attributes(data)
    for channel in data["channels"]:
        _Checker(channel, known, count_extras(data)).check(limits)
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
    """Return the number of cells beside those of rows."""
    if "at_most" in data:
        return min(int(data["at_most"]), 2)
    return int("optional" in data)


def count_draws(data: Data) -> int:
    """Return how many draws a person's reports to a service consume."""
    flags = [attribute.get("dither", False) for attribute in data["attributes"] if attribute["kind"] != "public"]
    dithered = sum(flag and level["count"] < level["ticks"] for flag, level in zip(flags, data["levels"], strict=True))
    own = dithered + len(data.get("derived", ())) + sum(channel["draws"] for channel in data["channels"])
    return int(data.get("sends", 1) * (own + ("at_most" in data)))


def count_cells(attribute: Data, level: int) -> int:
    """Return the number of cells of a level; NULL is one of its own below the root."""
    if level == 0:
        return 1
    return int(-(-attribute["count"] // attribute["widths"][level - 1]) + bool(attribute.get("null")))


def view_sizes(attributes: Sequence[Data], view: View, extras: int, *, parities: bool) -> list[int]:
    """Return the cells of each attribute that a view tells about; one without any stands on the first attribute."""
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


class _Checker:
    """Checks one channel."""

    def __init__(self, data: Data, attributes: list[Data], extras: int) -> None:
        self._data, self._attributes, self._extras = data, attributes, extras
        self._used: set[int] = set()
        self._digits: set[int] = set()
        self._sound: set[tuple[int, ...]] = set()

    def check(self, limits: Limits) -> None:
        data = self._data
        check_label(data["name"])
        budget(data["epsilon"])
        limits.take(self._count_views(), len(self._attributes))
        if "list" in data["views"]:
            need(not _is_product(data["views"]["list"]), "bad-views")
        codes, answers = 0, 1
        for view in expand(data["views"], self._attributes):
            sizes = view_sizes(self._attributes, view, self._extras, parities="parities" in data["views"])
            need(prod(sizes) < SPAN, "codes-too-large")
            oracle = data["by_domain"].get(str(prod(sizes)), data["otherwise"])
            need(oracle is not None, "no-oracle")
            if tuple(sizes) not in self._sound:
                self._check_oracle(oracle, sizes)
                self._sound.add(tuple(sizes))
            codes += alphabet(oracle, sizes)
            answers = max(answers, prod(sizes) if oracle["oracle"] == "oue" else 1)
        need(codes <= SPAN, "codes-too-large")
        need(data["draws"] == 2 + answers, "bad-draws")
        need(data["codes"] == codes, "bad-codes")
        self._check_use()

    def _count_views(self) -> int:
        views = self._data["views"]
        tops = [len(attribute["widths"]) for attribute in self._attributes]
        need(len(views) == 1 and not ("parities" in views and self._extras), "bad-views")
        if "product" in views:
            need(len(views["product"]) == len(tops), "bad-views")
            for top, levels in zip(tops, views["product"], strict=True):
                need(_ascends(levels) and levels[0] >= 0 and levels[-1] <= top, "bad-views")
            return prod(map(len, views["product"]))
        if "parities" in views:
            sizes = _value_counts(self._attributes)
            need(1 <= views["parities"] <= sum(size > 1 for size in sizes), "bad-views")
            return _parity_count(views["parities"], sizes)
        for view in views["list"]:
            need(len(view) % 2 == 0 and _ascends(view[::2]), "bad-views")
            for attribute, level in zip(view[::2], view[1::2], strict=True):
                need(0 <= attribute < len(tops) and 1 <= level <= tops[attribute], "bad-views")
        return len(views["list"])

    def _check_oracle(self, oracle: Data, sizes: list[int]) -> None:
        """Check that an oracle's integers are a channel over cells of these sizes."""
        kind, domain = oracle["oracle"], prod(sizes)
        if kind == "lh":
            self._check_hash(oracle, sizes)
            return
        self._used.add(domain)
        if kind == "grr":
            _check_flip(oracle["flip"], domain)
        elif kind == "ss":
            need(_is_subset(oracle, domain), "bad-subset")
        elif kind == "olh":
            need(2 <= oracle["g"] < MAX_HASHES, "bad-g")
            _check_flip(oracle["flip"], oracle["g"])
        else:
            possible = 0 <= oracle["one"] <= SPAN and 0 <= oracle["zero"] <= SPAN
            need(domain <= MAX_BITS and possible, "bad-bits")

    def _check_hash(self, oracle: Data, sizes: list[int]) -> None:
        g = oracle["g"]
        need(2 <= g <= MAX_PRIME and all(g % n for n in range(2, isqrt(g) + 1)), "bad-g")
        _check_flip(oracle["flip"], g)
        need(seed_count(g, sizes) <= SPAN, "codes-too-large")
        for size in sizes:
            digits = digit_count(size, g)
            self._digits.add(digits)
            factor = oracle["multipliers"].get(str(digits), 0)
            need(1 <= factor <= g**digits and (digits == 0 or factor % g), "bad-multiplier")

    def _check_use(self) -> None:
        """Check that every entry is used, and stands in its place."""
        hashed = self._data["otherwise"]
        need(list(self._data["by_domain"]) == [str(domain) for domain in sorted(self._used)], "unused-entry")
        need(bool(self._digits) == (hashed is not None), "unused-entry")
        if hashed is not None:
            need(list(hashed["multipliers"]) == [str(digits) for digits in sorted(self._digits)], "unused-entry")


def _check_flip(flip: int, cells: int) -> None:
    need(0 <= flip <= SPAN and (cells - 1) * flip <= SPAN, "bad-flip")


def _is_subset(oracle: Data, domain: int) -> bool:
    w, inside, outside = oracle["w"], oracle["inside"], oracle["outside"]
    if not (1 <= w < domain and 0 <= inside <= SPAN and 0 <= outside <= SPAN):
        return False
    count = 1
    for place in range(min(w, domain - w)):  # binomials of large numbers take for ever
        count = count * (domain - place) // (place + 1)
        if count > MAX_SUBSETS:
            return False
    return bool(comb(domain - 1, w - 1) * inside + comb(domain - 1, w) * outside <= SPAN)


def _ascends(numbers: Sequence[int]) -> bool:
    return all(first < second for first, second in pairwise(numbers))


def _is_product(views: list[list[int]]) -> bool:
    """Tell whether a list holds all combinations of some levels in order, and so must be written as a product."""
    levels: dict[int, set[int]] = {}
    mentioned: dict[int, int] = {}
    for view in views:
        for attribute, level in zip(view[::2], view[1::2], strict=True):
            levels.setdefault(attribute, set()).add(level)
            mentioned[attribute] = mentioned.get(attribute, 0) + 1
    counts = {i: len(own) + (mentioned[i] < len(views)) for i, own in levels.items()}
    if prod(counts.values()) != len(views):
        return False
    varying = sorted(i for i, count in counts.items() if count > 1)
    dense = [[dict(zip(view[::2], view[1::2], strict=True)).get(i, 0) for i in varying] for view in views]
    return all(first < second for first, second in pairwise(dense))
