"""Follow a contract for one record: integers in, integers out.

This is the reference for other languages: it reads the JSON contract, knows no formula for a probability, and uses
only whole-number arithmetic (and one division of doubles to bring a floating-point input onto declared steps). Its
codes equal those of the bulk encoder for the same draws, which the test vectors pin down.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from tacit.client.answers import alphabet, answer
from tacit.client.record import value_index
from tacit.errors import RecordError, UnknownNameError

__all__ = ["Interpreter", "draw_of_words"]

Data = dict[str, Any]


def draw_of_words(first: int, second: int) -> int:
    """Return the 53-bit draw of two 32-bit words, in the order they arrive."""
    return second * 2**21 + (first >> 11)


class Interpreter:
    """Encodes single records by the thresholds of a contract."""

    def __init__(self, text: str) -> None:
        data = json.loads(text)
        self._bits: int = data["draw_bits"]
        self._services = {service["name"]: _Service(service, self._bits) for service in data["services"]}

    def __repr__(self) -> str:
        return f"Interpreter(services: {', '.join(self._services)})"

    def _service(self, name: str) -> _Service:
        if name not in self._services:
            raise UnknownNameError("service", name, self._services)
        return self._services[name]

    def draws(self, service: str) -> int:
        """Return how many draws a record of a service consumes, whatever it holds."""
        return self._service(service).draws

    def encode(self, service: str, record: Mapping[str, Any], draws: Sequence[int]) -> list[int]:
        """Return the code of each channel, for a record that holds the service's sensitive attributes."""
        return self._service(service).encode(record, draws)


class _Service:
    """One service's rules."""

    def __init__(self, data: Data, bits: int) -> None:
        self.name: str = data["name"]
        sensitive = [attribute for attribute in data["attributes"] if attribute["kind"] != "public"]
        self.attributes = [
            attribute | levels for attribute, levels in zip(_without_list(sensitive), data["levels"], strict=True)
        ]
        self.channels = [_Channel(channel, self.attributes, bits) for channel in data["channels"]]
        self.draws: int = sum(map(_is_dithered, self.attributes)) + sum(channel.draws for channel in self.channels)

    def encode(self, record: Mapping[str, Any], draws: Sequence[int]) -> list[int]:
        if len(draws) != self.draws:
            problem = f"{len(draws)} draws were given; a record takes {self.draws}."
            raise RecordError(problem, code="wrong-draws", service=self.name)
        stream = iter(draws)
        values = []
        for attribute in self.attributes:
            if attribute["name"] not in record:
                problem = "the column is missing."
                raise RecordError(problem, code="missing-column", service=self.name, column=attribute["name"])
            draw = next(stream) if _is_dithered(attribute) else None
            values.append(value_index(self.name, attribute, record[attribute["name"]], draw))
        return [channel.encode(values, [next(stream) for _ in range(channel.draws)]) for channel in self.channels]


class _Channel:
    """One channel's views, each with its cells, its oracle and the first of its codes."""

    def __init__(self, data: Data, attributes: list[Data], bits: int) -> None:
        self.draws: int = data["draws"]
        self._attributes, self._bits = attributes, bits
        self._views: list[tuple[list[int], list[int], list[int], Data, int]] = []
        offset = 0
        for view in _views(data["views"], len(attributes)):
            active = [i for i, level in enumerate(view) if level] or [0]
            sizes = [_cells(attributes[i], view[i]) for i in active]
            oracle = data["by_domain"].get(str(prod(sizes))) or data["otherwise"]
            self._views.append((view, active, sizes, oracle, offset))
            offset += alphabet(oracle, sizes)

    def encode(self, values: list[int], draws: list[int]) -> int:
        view, active, sizes, oracle, offset = self._views[draws[0] % len(self._views)]
        cells = [_cell(self._attributes[i], view[i], values[i]) for i in active]
        return offset + answer(oracle, sizes, cells, seed=draws[1], answers=draws[2:], bits=self._bits)


def _without_list(attributes: list[Data]) -> list[Data]:
    """Keep a category list under its own word: ``values`` counts the values of every attribute here."""
    return [
        attribute | {"list": attribute["values"]} if attribute["kind"] == "categorical" else attribute
        for attribute in attributes
    ]


def _is_dithered(attribute: Data) -> bool:
    return bool(attribute.get("dither", False)) and attribute["values"] < attribute["ticks"]


def _cells(attribute: Data, level: int) -> int:
    """Return the number of cells of a level; NULL is one of its own below the root."""
    if level == 0:
        return 1
    return int(-(-attribute["values"] // attribute["widths"][level - 1]) + bool(attribute.get("null")))


def _cell(attribute: Data, level: int, value: int) -> int:
    if level == 0:
        return 0
    is_null = value == attribute["values"]
    return _cells(attribute, level) - 1 if is_null else int(value // attribute["widths"][level - 1])


def _views(data: Data, attributes: int) -> list[list[int]]:
    if "product" in data:
        views: list[list[int]] = [[]]
        for levels in data["product"]:
            views = [[*view, level] for view in views for level in levels]
        return views
    views = []
    for sparse in data["list"]:
        view = [0] * attributes
        for attribute, level in zip(sparse[::2], sparse[1::2], strict=True):
            view[attribute] = level
        views.append(view)
    return views
