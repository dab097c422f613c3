"""Follow a contract for one record: integers in, integers out.

This is the reference for other languages: it reads the JSON contract, knows no formula for a probability, and uses
only whole-number arithmetic (and one division of doubles to bring a floating-point input onto declared steps). Its
codes equal those of the bulk encoder for the same draws, which the test vectors pin down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from tacit.client.answers import alphabet, answer
from tacit.client.record import value_index
from tacit.client.shape import read_contract
from tacit.client.views import View, count_cells, count_draws, count_extras, expand, known_attributes, view_sizes
from tacit.errors import RandomnessError, RecordError, UnknownNameError

__all__ = ["Interpreter", "draw_of_words"]

BITS = 53
"""Bits of a draw."""

Data = dict[str, Any]


def draw_of_words(first: int, second: int) -> int:
    """Return the 53-bit draw of two 32-bit words, in the order they arrive."""
    return second * 2**21 + (first >> 11)


class Interpreter:
    """Encodes single records by the thresholds of a contract."""

    def __init__(self, text: str) -> None:
        self.data = read_contract(text)
        self._services = {service["name"]: _Service(service) for service in self.data["services"]}

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
        if not rules.many and len(records) != 1 and (records or not rules.extras):
            problem = "there must be exactly one row, or at most one if the service is optional."
            raise RecordError(problem, code="duplicate-key", service=service)
        return rules.encode(records, draws)


class _Service:
    """One service's rules."""

    def __init__(self, data: Data) -> None:
        self.name: str = data["name"]
        known = known_attributes(data)
        self.derived: list[tuple[int, str]] = data.get("derived", [])
        self.attributes = known[: len(known) - len(self.derived)]
        self.many, self.sends = "at_most" in data, data.get("sends", 1)
        self.at_most: int = data.get("at_most", 1)
        self.extras = count_extras(data)
        self.channels = [_Channel(channel, known, self.extras) for channel in data["channels"]]
        self.own_draws = sum(map(_is_dithered, self.attributes)) + len(self.derived)
        self.report_draws = self.own_draws + sum(channel.draws for channel in self.channels)
        self.draws = count_draws(data)

    def encode(self, records: Sequence[Mapping[str, Any]], draws: Sequence[int]) -> list[list[int]]:
        if len(draws) != self.draws:
            problem = f"{len(draws)} draws were given; a person's reports take {self.draws}."
            raise RecordError(problem, code="wrong-draws", service=self.name)
        if not all(type(draw) is int and 0 <= draw < 1 << BITS for draw in draws):
            message = "A draw is not a whole number below 2**53. Nothing was encoded."
            raise RandomnessError(message)
        for record in records:  # those that are not drawn must be right, too
            self._values(record, [0] * self.own_draws)
        places = self._places(len(records), draws[: self.sends]) if self.many else [0]
        stream = iter(draws[self.sends * self.many :])
        codes = []
        for place in places:
            own = [next(stream) for _ in range(self.report_draws)]
            dither = own[: self.own_draws]
            values = self._values(records[place], dither) if place < len(records) else None
            extra = 0 if not records else 1
            rest = iter(own[len(dither) :])
            codes.append([c.encode(values, extra, [next(rest) for _ in range(c.draws)]) for c in self.channels])
        return codes

    def _places(self, rows: int, draws: Sequence[int]) -> list[int]:
        """Return a different place for each slot: rows stand at the first ones."""
        chosen: list[int] = []
        for slot, draw in enumerate(draws):
            place = draw % (max(rows, self.at_most) - slot)
            for taken in sorted(chosen):
                place += place >= taken
            chosen.append(place)
        return chosen

    def _values(self, record: Mapping[str, Any], dither: Sequence[int]) -> list[int]:
        stream = iter(dither)
        values = []
        for attribute in self.attributes:
            if attribute["name"] not in record:
                problem = "the column is missing."
                raise RecordError(problem, code="missing-column", service=self.name, column=attribute["name"])
            draw = next(stream) if _is_dithered(attribute) else None
            values.append(value_index(self.name, attribute, record[attribute["name"]], draw))
        for source, kind in self.derived:
            count, value = self.attributes[source]["count"], values[source]
            up = next(stream) % (count - 1) < value
            values.append(int(up) if kind == "round" else count + value if up else count - 1 - value)
        return values


class _Channel:
    """One channel's views, each with its cells, its oracle and the first of its codes."""

    def __init__(self, data: Data, attributes: list[Data], extras: int) -> None:
        self.draws: int = data["draws"]
        self._attributes, self._extras = attributes, extras
        self._parities = "parities" in data["views"]
        self._views: list[tuple[View, list[int], list[int], Data, int]] = []
        offset = 0
        for view in expand(data["views"], attributes):
            sizes = view_sizes(attributes, view, extras, parities=self._parities)
            oracle = data["by_domain"].get(str(prod(sizes)), data["otherwise"])
            shown = view or {0: 0}  # a view of nothing stands on the first attribute's root
            self._views.append((shown, list(shown), sizes, oracle, offset))
            offset += alphabet(oracle, sizes)

    @property
    def oracles(self) -> list[tuple[Data, list[int]]]:
        """The oracle of each view, with the sizes of what it sees."""
        return [(oracle, sizes) for _, _, sizes, oracle, _ in self._views]

    def encode(self, values: list[int] | None, extra: int, draws: list[int]) -> int:
        """Return the code of a record's values or, without any, of an extra cell."""
        view, active, sizes, oracle, offset = self._views[draws[0] % len(self._views)]
        if values is None:
            cells = [sizes[0] - self._extras + extra, *(0 for _ in active[1:])]
        elif self._parities:
            cells = [sum((values[i] & view[i]).bit_count() for i in active) % 2]
        else:
            cells = [_cell(self._attributes[i], view[i], values[i]) for i in active]
        return offset + answer(oracle, sizes, cells, seed=draws[1], answers=draws[2:], bits=BITS)


def _is_dithered(attribute: Data) -> bool:
    return bool(attribute.get("dither", False)) and attribute["count"] < attribute["ticks"]


def _cell(attribute: Data, level: int, value: int) -> int:
    if level == 0:
        return 0
    is_null = value == attribute["count"]
    return count_cells(attribute, level) - 1 if is_null else int(value // attribute["widths"][level - 1])
