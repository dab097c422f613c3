"""Follow a contract for one record: integers in, integers out.

This is the reference for other languages: it reads the JSON contract, knows no formula for a probability, and uses
only whole-number arithmetic (and one division of doubles to bring a floating-point input onto declared steps). Its
codes equal those of the bulk encoder for the same draws, which the test vectors pin down.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import Any

from tacit.client.answers import Respond, alphabet, responder
from tacit.client.cells import LevelCells, ParityCells, cell_reader
from tacit.client.record import BIAS, Column, Read
from tacit.errors import ContractError, RandomnessError, RecordError, UnknownNameError

__all__ = ["Interpreter", "draw_of_words"]

VERSION = 1
"""Version of the wire format that this interpreter follows."""

BITS = 53
"""Bits of a draw."""

Data = dict[str, Any]


def draw_of_words(first: int, second: int) -> int:
    """Return the 53-bit draw of two 32-bit words, in the order they arrive."""
    return second * 2**21 + (first >> 11)


class Interpreter:
    """Encodes single records by the thresholds of a contract."""

    def __init__(self, text: str) -> None:
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("tacit") != VERSION or data.get("draw_bits") != BITS:
            message = f"This is not a contract of version {VERSION}. Fetch it again."
            raise ContractError(message, code="contract-version")
        self._services = {service["name"]: _Service(service) for service in data["services"]}

    def __repr__(self) -> str:
        return f"Interpreter(services: {', '.join(self._services)})"

    def _service(self, name: str) -> _Service:
        if name not in self._services:
            raise UnknownNameError("service", name, self._services)
        return self._services[name]

    def channels(self, service: str) -> list[_Channel]:
        """Return a service's channels, for audits."""
        return self._service(service).channels

    def draws(self, service: str) -> int:
        """Return how many draws a person's reports to a service consume, whatever she has to report."""
        return self._service(service).draws

    def encode(self, service: str, record: Mapping[str, Any], draws: Sequence[int]) -> list[int]:
        """Return the code of each channel, for a service with one row per person."""
        rules = self._service(service)
        if rules.extras:
            problem = "people may have any number of rows. Use encode_rows with a list of them, which may be empty."
            raise RecordError(problem, code="not-one-to-one", service=service)
        return rules.encode([record], draws)[0]

    def encode_rows(self, service: str, records: Sequence[Mapping[str, Any]], draws: Sequence[int]) -> list[list[int]]:
        """Return the codes of each slot, one for each channel: as many whatever the number of records."""
        rules = self._service(service)
        fewest, most = (0 if rules.extras else 1), (len(records) if rules.many else 1)
        if not fewest <= len(records) <= most:
            problem = "there must be exactly one row, or at most one if the service is optional."
            raise RecordError(problem, code="duplicate-key", service=service)
        return rules.encode(records, draws)


class _Service:
    """One service's rules."""

    def __init__(self, data: Data) -> None:
        self.name: str = data["name"]
        sensitive = [attribute for attribute in data["attributes"] if attribute["kind"] != "public"]
        self.attributes = [a | levels for a, levels in zip(sensitive, data["levels"], strict=True)]
        self.many, self.sends = "at_most" in data, data.get("sends", 1)
        self.at_most: int = data.get("at_most", 1)
        self.extras = (1 if self.at_most == 1 else 2) if self.many or data.get("optional") else 0
        self.derived: list[tuple[int, str]] = data.get("derived", [])
        if any(kind == "pair" for _, kind in self.derived):
            message = f"{self.name}: double rounding is a baseline for comparisons; clients do not offer it. Use hio."
            raise ContractError(message, code="not-for-clients")
        known = self.attributes + [_derived_levels(self.attributes[source], kind) for source, kind in self.derived]
        self.channels = [_Channel(channel, known, self.extras) for channel in data["channels"]]
        self.own_draws = sum(map(_is_dithered, self.attributes)) + len(self.derived)
        self.report_draws = self.own_draws + sum(channel.draws for channel in self.channels)
        self.draws: int = self.sends * (self.report_draws + self.many)

    def encode(self, records: Sequence[Mapping[str, Any]], draws: Sequence[int]) -> list[list[int]]:
        if len(draws) != self.draws:
            problem = f"{len(draws)} draws were given; a person's reports take {self.draws}."
            raise RecordError(problem, code="wrong-draws", service=self.name)
        if not all(type(draw) is int and 0 <= draw < 1 << BITS for draw in draws):
            message = "A draw is not a whole number below 2**53. Nothing was encoded."
            raise RandomnessError(message)
        read = [[column.read(record) for column in self.columns] for record in self._padded(records)]
        places = self._places(len(records), draws[: self.sends]) if self.many else [0]
        extra, start, codes = int(len(records) > 0), self.sends * self.many, []
        for place in places:
            own = draws[start : start + self.report_draws]
            values, used = self._values(read[place], own), self.own_draws
            report = []
            for channel in self.channels:
                report.append(channel.encode(values, place < len(records), extra, own[used : used + channel.draws]))
                used += channel.draws
            codes.append(report)
            start += self.report_draws
        return codes

    @cached_property
    def columns(self) -> list[Column]:
        return [Column(self.name, attribute) for attribute in self.attributes]

    def _padded(self, records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the records with fillers behind them: up to at_most, and in powers of two beyond."""
        count = self.at_most
        while count < len(records):
            count *= 2
        filler = {column.name: column.filler() for column in self.columns}
        return [*records, *[filler] * (count - len(records))]

    def _places(self, rows: int, draws: Sequence[int]) -> list[int]:
        """Return a different place for each slot: rows stand at the first ones."""
        chosen: list[int] = []
        for slot, draw in enumerate(draws):
            place = draw % (max(rows, self.at_most) - slot)
            for taken in sorted(chosen):
                place += place >= taken
            chosen.append(place)
        return chosen

    def _values(self, read: Sequence[Read], draws: Sequence[int]) -> list[int]:
        """Return a row's value indices plus BIAS, those of derived attributes behind them."""
        stream = iter(draws)
        values = [
            column.index(own, next(stream) if column.is_dithered else 0)
            for column, own in zip(self.columns, read, strict=True)
        ]
        for source, kind in self.derived:
            count, value = self.attributes[source]["count"], values[source]
            up = next(stream) % (count - 1) + BIAS < value
            doubled = (2 * BIAS + count - 1 - value, count + value)[up]
            values.append(BIAS + up if kind == "round" else doubled)
        return values


class _Channel:
    """One channel's views, each with its cells, its oracle and the first of its codes."""

    def __init__(self, data: Data, attributes: list[Data], extras: int) -> None:
        self.draws: int = data["draws"]
        self._attributes, self._extras = attributes, extras
        self._parities = "parities" in data["views"]
        self._views: list[tuple[list[int], list[int], list[int], Data, int]] = []
        offset = 0
        for view in _views(data["views"], attributes):
            active = [i for i, level in enumerate(view) if level] or [0]
            sizes = [2] if self._parities else [_cells(attributes[i], view[i]) for i in active]
            sizes[0] += extras
            oracle = data["by_domain"].get(str(prod(sizes))) or data["otherwise"]
            self._views.append((view, active, sizes, oracle, offset))
            offset += alphabet(oracle, sizes)
        self.codes = offset

    @property
    def oracles(self) -> list[tuple[Data, list[int]]]:
        """The oracle of each view, with the sizes of what it sees."""
        return [(oracle, sizes) for _, _, sizes, oracle, _ in self._views]

    def encode(self, values: Sequence[int], is_row: bool, extra: int, draws: Sequence[int]) -> int:  # noqa: FBT001
        """Return the code of a row's values plus BIAS or, if it is none, of an extra cell."""
        number = draws[0] % len(self._views)
        known = self._readers.get(number)
        if known is None:
            view, active, sizes, oracle, offset = self._views[number]
            cells = cell_reader(view, active, sizes, self._attributes, self._extras, parities=self._parities)
            known = self._readers[number] = cells, responder(oracle, sizes, BITS), offset
        reader, respond, offset = known
        return offset + respond(reader.read(values, is_row=is_row, extra=extra), draws[1:])

    @cached_property
    def _readers(self) -> dict[int, tuple[LevelCells | ParityCells, Respond, int]]:
        """What encodes each view that was drawn before."""
        return {}


def _is_dithered(attribute: Data) -> bool:
    return bool(attribute.get("dither", False)) and attribute["count"] < attribute["ticks"]


def _derived_levels(attribute: Data, kind: str) -> Data:
    """Return the levels of a rounded attribute (two values) or of one in a doubled domain."""
    count, fanout = (2, 2) if kind == "round" else (2 * attribute["count"], attribute.get("fanout", 5))
    widths = [1]
    while widths[0] * fanout < count:
        widths.insert(0, widths[0] * fanout)
    return {"count": count, "widths": widths}


def _cells(attribute: Data, level: int) -> int:
    """Return the number of cells of a level; NULL is one of its own below the root."""
    if level == 0:
        return 1
    return int(-(-attribute["count"] // attribute["widths"][level - 1]) + bool(attribute.get("null")))


def _views(data: Data, attributes: list[Data]) -> list[list[int]]:
    if "parities" in data:
        return _parities(data["parities"], [_cells(attribute, len(attribute["widths"])) for attribute in attributes])
    if "product" in data:
        views: list[list[int]] = [[]]
        for levels in data["product"]:
            views = [[*view, level] for view in views for level in levels]
        return views
    views = []
    for sparse in data["list"]:
        view = [0] * len(attributes)
        for attribute, level in zip(sparse[::2], sparse[1::2], strict=True):
            view[attribute] = level
        views.append(view)
    return views


def _parities(order: int, sizes: list[int]) -> list[list[int]]:
    """Return a mask of bits for each attribute: parities of one attribute first, the last mask changing fastest."""
    telling = [i for i, size in enumerate(sizes) if size > 1]
    views = []
    for count in range(1, order + 1):
        for chosen in combinations(telling, count):
            for masks in product(*(range(1, 1 << (sizes[i] - 1).bit_length()) for i in chosen)):
                view = [0] * len(sizes)
                for i, mask in zip(chosen, masks, strict=True):
                    view[i] = mask
                views.append(view)
    return views
