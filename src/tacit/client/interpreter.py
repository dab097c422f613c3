"""Follow a contract for one record: integers in, integers out.

This is the reference for other languages: it reads the JSON contract, knows no formula for a probability, and uses
only whole-number arithmetic (and one division of doubles to bring a floating-point input onto declared steps). Its
codes equal those of the bulk encoder for the same draws, which the test vectors pin down.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

from tacit.client.cells import LevelCells, ParityCells, cell_reader
from tacit.client.coin import assign
from tacit.client.dictionary import dictionary_values, sha256_of
from tacit.client.record import BIAS, AttributeEncoder, Read
from tacit.client.shape import read_contract
from tacit.client.steps import BITS, Draw, Step
from tacit.client.views import ChannelSteps, View, count_draws, count_extras, expand, known_attributes, view_sizes
from tacit.errors import RandomnessError, RecordError, SchemaError, UnknownNameError

__all__ = ["Interpreter", "draw_of_words"]

Data = dict[str, Any]


def draw_of_words(first: int, second: int) -> int:
    """Return the 53-bit draw of two 32-bit words, in the order they arrive."""
    return second * 2**21 + (first >> 11)


class Interpreter:
    """Encodes single records by the thresholds of a contract."""

    def __init__(self, text: str) -> None:
        self.data = read_contract(text)
        self._services = {service["name"]: _Service(service) for service in self.data["services"]}

    @property
    def dictionaries(self) -> dict[str, int]:
        """The SHA-256 of every dictionary that is not loaded yet, and how many values it has."""
        columns = [attribute for service in self._services.values() for attribute in service.attributes]
        return {
            column["dictionary"]: column["size"]
            for column in columns
            if "dictionary" in column and "values" not in column
        }

    def load_dictionary(self, data: bytes) -> None:
        """Load the bytes of a dictionary's file; refuse a file that the contract does not name."""
        sha256, missing = sha256_of(data), self.dictionaries
        if sha256 not in missing:
            message = f"The contract names no dictionary with the SHA-256 {sha256[:16]}… that is still missing."
            raise SchemaError(message, code="dictionary-differs")
        values = dictionary_values(data, sha256, missing[sha256])
        for service in self._services.values():
            service.take_values(sha256, values)

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
        """Return how many draws a person's reports to a service consume, whatever they have to report."""
        return self._service(service).draws

    def encode(self, service: str, record: Mapping[str, Any], draws: Sequence[int]) -> list[int]:
        """Return the code of each channel, for a service with one row per person."""
        rules = self._service(service)
        if rules.extras:
            problem = "people may have any number of rows. Use encode_rows with a list of them, which may be empty."
            raise RecordError(problem, code="not-one-to-one", service=service)
        return rules.encode([record], draws)[0]

    def encode_rows(self, service: str, records: Sequence[Mapping[str, Any]], draws: Sequence[int]) -> list[list[int]]:
        """Return the codes of each slot, one for each channel; their number is fixed."""
        rules = self._service(service)
        fewest, most = (0 if rules.extras else 1), (len(records) if rules.many else 1)
        if not fewest <= len(records) <= most:
            problem = "there must be exactly one row, or at most one if the service is optional."
            raise RecordError(problem, code="duplicate-key", service=service)
        return rules.encode(records, draws)

    @property
    def is_assigned(self) -> bool:
        """Whether views, seeds and places follow from the person's coin."""
        return "assigned" in self.data

    def assign(self, service: str, coin: str, draws: Sequence[int]) -> list[int]:
        """Return draws of a person's reports to a service, those of places, views and seeds replaced by the coin's."""
        rules = self._service(service)
        counts = [channel.draws for channel in rules.channels]
        shape: dict[str, Any] = {"sends": rules.sends, "many": rules.many, "own": rules.own_draws, "channels": counts}
        return assign(draws, coin, service, **shape)


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
        read = [[column.read(record) for column in self.columns] for record in self._pad(records)]
        places = self._places(len(records), draws[: self.sends]) if self.many else [0]
        extra, start, codes = int(len(records) > 0), self.sends * self.many, []
        for place in places:
            drawn = draws[start : start + self.report_draws]
            values, used = self._values(read[place], drawn), self.own_draws
            report = []
            for channel in self.channels:
                report.append(channel.encode(values, place < len(records), extra, drawn[used : used + channel.draws]))
                used += channel.draws
            codes.append(report)
            start += self.report_draws
        return codes

    def take_values(self, sha256: str, values: Sequence[str]) -> None:
        """Store the values of a dictionary like those of a short list."""
        for attribute in self.attributes:
            if attribute.get("dictionary") == sha256:
                if attribute.get("other", values[0]) not in values:
                    message = (
                        f"{attribute['name']}: the catch-all is not in the dictionary. Nothing is encoded with it."
                    )
                    raise SchemaError(message, code="bad-dictionary")
                attribute["values"] = values

    @cached_property
    def columns(self) -> list[AttributeEncoder]:
        for attribute in self.attributes:
            if "dictionary" in attribute and "values" not in attribute:
                message = (
                    f"{attribute['name']}: the dictionary {attribute['dictionary'][:16]}… is not loaded. "
                    "Fetch its file, and pass the bytes to load_dictionary."
                )
                raise SchemaError(message, code="dictionary-missing")
        return [AttributeEncoder(self.name, attribute) for attribute in self.attributes]

    def _pad(self, records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the records followed by fillers: up to at_most, and in powers of two beyond."""
        count = self.at_most
        while count < len(records):
            count *= 2
        filler = {column.name: column.filler() for column in self.columns}
        return [*records, *[filler] * (count - len(records))]

    def _places(self, rows: int, draws: Sequence[int]) -> list[int]:
        """Return a different place for each slot; rows are at the first places."""
        chosen: list[int] = []
        for slot, draw in enumerate(draws):
            place = draw % (max(rows, self.at_most) - slot)
            for taken in sorted(chosen):
                place += place >= taken
            chosen.append(place)
        return chosen

    def _values(self, read: Sequence[Read], draws: Sequence[int]) -> list[int]:
        """Return a row's value indices plus BIAS, followed by those of derived attributes."""
        stream = iter(draws)
        values = [
            column.index(value, next(stream) if column.is_dithered else 0)
            for column, value in zip(self.columns, read, strict=True)
        ]
        for source, kind in self.derived:
            count, value = self.attributes[source]["count"], values[source]
            up = next(stream) % (count - 1) + BIAS < value
            doubled = (2 * BIAS + count - 1 - value, count + value)[up]
            values.append(BIAS + up if kind == "round" else doubled)
        return values


class _Channel:
    """One channel's views, each with its cells, its step and the first of its codes."""

    def __init__(self, data: Data, attributes: list[Data], extras: int) -> None:
        self.draws: int = data["draws"]
        self._attributes, self._extras = attributes, extras
        self._parities = "parities" in data["views"]
        self._views: list[tuple[View, list[int], Step, int]] = []
        self._weights = list(accumulate(data.get("weights", ())))
        steps, offset = ChannelSteps(data), 0
        for view in expand(data["views"], attributes):
            step = steps.step(view_sizes(attributes, view, extras, parities=self._parities))
            shown = view or {0: 0}  # a view without attributes uses the first attribute's root
            self._views.append((shown, list(shown), step, offset))
            offset += step.codes

    @property
    def steps(self) -> set[Step]:
        """How views are drawn: one step for all views with cells of the same sizes."""
        return {step for _, _, step, _ in self._views}

    def encode(self, values: Sequence[int], is_row: bool, extra: int, draws: Sequence[int]) -> int:  # noqa: FBT001
        """Return the code of a row's values plus BIAS or, without a row, of an extra cell."""
        number = self._pick(draws[0])
        known = self._readers.get(number)
        if known is None:
            view, active, step, offset = self._views[number]
            cells = cell_reader(view, active, step.sizes, self._attributes, self._extras, parities=self._parities)
            known = self._readers[number] = cells, step.drawing(), offset
        reader, draw, offset = known
        return offset + draw(reader.read(values, is_row=is_row, extra=extra), draws[1:])

    def _pick(self, draw: int) -> int:
        """Return the view that a draw picks: uniformly, or by weight."""
        if not self._weights:
            return draw % len(self._views)
        return bisect_right(self._weights, draw % self._weights[-1])

    @cached_property
    def _readers(self) -> dict[int, tuple[LevelCells | ParityCells, Draw, int]]:
        """Cached encoders of the views drawn so far."""
        return {}


def _is_dithered(attribute: Data) -> bool:
    return bool(attribute.get("dither", False)) and attribute["count"] < attribute["ticks"]
