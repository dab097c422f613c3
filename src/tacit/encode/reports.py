"""Reports as a table: the key, slot, channel and code of each, then the public columns.

Only this file defines the columns, their order and types, and the values they may hold. The bulk encoder and the
collector build a `ReportTable`; a database checks it before it stores anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.client.coin import assigned_draws
from tacit.contract.contract import ServiceContract
from tacit.contract.schema import Service
from tacit.encode.assigned import Assignment
from tacit.encode.public import public_array
from tacit.errors import ReportError

__all__ = [
    "NUMBERS",
    "Content",
    "Loaded",
    "ReportRules",
    "ReportTable",
    "column_names",
    "contents_of",
    "report_columns",
    "report_table",
]

NUMBERS = {"slot": pa.int16(), "channel": pa.int32(), "code": pa.int64()}
"""The columns beside the key and the public ones, with their types."""

COLLECTION, SERVICE = "tacit.collection", "tacit.service"
"""Metadata of encoded reports: their collection and service."""

Content = tuple[list[int], list[Any]]
"""The content of a client's report: a code for each channel, and a value for each public column."""

Column: TypeAlias = Any
"""A column: Arrow, numpy or a list."""


@dataclass(frozen=True)
class Loaded:
    """The result of loading: reports stored, and refused because their people had already reported."""

    stored: int
    refused: int


def report_table(collection: str, service: str) -> str:
    """Return the name of the table with the reports of a collection's service."""
    return f"reports_{collection[:16]}_{service}"


def column_names(service: Service) -> list[str]:
    """Return the columns of a service's reports, in order."""
    return [service.key, *NUMBERS, *(attribute.name for attribute in service.public)]


def report_columns(
    service: Service, key: Column, slot: Column, channel: Column, code: Column, public: Sequence[Column]
) -> dict[str, Column]:
    """Return the columns of reports by name, in order and of the right types."""
    numbers = [_as_type(values, kind) for values, kind in zip((slot, channel, code), NUMBERS.values(), strict=True)]
    return dict(zip(column_names(service), [key, *numbers, *public], strict=True))


def _as_type(values: Column, kind: pa.DataType) -> Column:
    return values.cast(kind) if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, kind)


class ReportRules:
    """The valid slots, codes and public values of one service's reports."""

    def __init__(self, compiled: ServiceContract) -> None:
        self.name, self.sends = compiled.service.name, compiled.service.sends
        self.public = {attribute.name: attribute for attribute in compiled.service.public}
        self._compiled = compiled

    @cached_property
    def alphabets(self) -> list[int]:
        """Number of codes of each channel."""
        return [channel.alphabet for channel in self._compiled.channels]

    def knows_slot(self, slot: Any) -> TypeGuard[int]:
        """Return whether a value is the number of a slot."""
        return type(slot) is int and 0 <= slot < self.sends

    def knows_codes(self, codes: Any) -> TypeGuard[list[int]]:
        """Return whether there is a code of its alphabet for each channel."""
        if not isinstance(codes, list) or len(codes) != len(self.alphabets):
            return False
        for code, most in zip(codes, self.alphabets, strict=True):  # `all` takes three times as long
            if type(code) is not int or not 0 <= code < most:
                return False
        return True

    def follows(self, codes: Sequence[int], coin: str, slot: int) -> bool:
        """Return whether known codes are of the views and seeds that a person's coin assigns."""
        for number, (channel, code) in enumerate(zip(self._compiled.channels, codes, strict=True)):
            if not channel.follows_one(code, *assigned_draws(coin, self.name, slot, number)):
                return False
        return True

    def fits_public(self, public: Any) -> bool:
        """Return whether there is a value for each public column that its declaration allows, and nothing else.

        The result does not depend on other reports.
        """
        if public is None:
            return not self.public
        if not isinstance(public, Mapping) or public.keys() != self.public.keys():
            return False
        return all(attribute.accepts(public[name]) for name, attribute in self.public.items())

    def knows_all(self, slot: Column, channel: Column, code: Column) -> bool:
        """Return whether all rows have a slot, a channel and a code of its alphabet."""
        slots, channels, codes = (np.asarray(column).astype(np.int64) for column in (slot, channel, code))
        alphabets = np.array(self.alphabets)
        known = (channels >= 0) & (channels < len(alphabets)) & (slots >= 0) & (slots < self.sends)
        return bool(known.all() and ((codes >= 0) & (codes < alphabets[channels])).all())


def contents_of(texts: Sequence[bytes]) -> list[Content]:
    """Return the contents of reports."""
    contents: list[Content] = json.loads(b"[" + b",".join(texts) + b"]")
    return contents


def _codes_of(texts: Sequence[bytes]) -> npt.NDArray[np.int64] | None:
    """Return the codes of reports without public values as one flat list; None if they are written another way.

    A list for each report would take ten times as long, mostly for garbage collection of the lists.
    """
    flat = b",".join(texts).replace(b"],[]]", b"").replace(b"[[", b"")
    if flat.translate(None, b"0123456789,"):
        return None
    return np.fromstring(flat.decode("ascii"), np.int64, sep=",")


def _with_labels(
    table: pa.Table, collection: str, service: Service, metadata: Mapping[str, str] | None = None
) -> pa.Table:
    """Return the table with its collection and service as metadata."""
    return table.replace_schema_metadata({COLLECTION: collection, SERVICE: service.name, **(metadata or {})})


@dataclass(frozen=True, eq=False)
class ReportTable:
    """Reports of one service of a collection."""

    collection: str
    """The collection's id."""

    compiled: ServiceContract
    arrow: pa.Table

    rows_before: int | None = None
    """Rows of the table before this batch, provided none of these people is in it; only collectors know it."""

    def __repr__(self) -> str:
        """Say how many reports there are, and nothing of them."""
        return f"ReportTable({self.compiled.service.name}, {self.arrow.num_rows} rows)"

    @classmethod
    def from_codes(
        cls,
        collection: str,
        compiled: ServiceContract,
        people: pa.ChunkedArray,
        codes: Sequence[npt.NDArray[np.int64]],
        public: pa.Table,
        **metadata: str,
    ) -> ReportTable:
        """Return encoded reports from an array of codes for each channel, in which a person's slots are adjacent."""
        service = compiled.service
        slots = np.tile(np.arange(service.sends, dtype=np.int16), len(people))
        keys = people if service.sends == 1 else people.take(pa.array(np.repeat(np.arange(len(people)), service.sends)))
        shown = [public.column(attribute.name) for attribute in service.public]
        parts = [
            pa.table(report_columns(service, keys, slots, np.full(len(column), channel, np.int32), column, shown))
            for channel, column in enumerate(codes)
        ]
        return cls(collection, compiled, _with_labels(pa.concat_tables(parts), collection, service, metadata))

    @classmethod
    def from_json(
        cls,
        collection: str,
        compiled: ServiceContract,
        keys: Sequence[str],
        slots: Sequence[int],
        contents: Sequence[bytes],
        *,
        rows_before: int,
    ) -> ReportTable:
        """Return the reports of clients, one for each person and slot, as the encoder would have made them."""
        service, channels, rows = compiled.service, len(compiled.channels), len(contents)
        repeat = pa.array(np.repeat(np.arange(rows), channels))
        codes: Column = _codes_of(contents) if not service.public else None
        public: list[list[Any]] = []
        if codes is None or len(codes) != rows * channels:
            said = contents_of(contents)
            codes, public = [code for listed, _ in said for code in listed], [values for _, values in said]
        columns = report_columns(
            service,
            pa.array(keys, pa.string()).take(repeat),
            pa.array(slots, pa.int16()).take(repeat),
            np.tile(np.arange(channels, dtype=np.int32), rows),
            codes,
            [
                public_array(attribute, [values[number] for values in public]).take(repeat)
                for number, attribute in enumerate(service.public)
            ],
        )
        return cls(collection, compiled, _with_labels(pa.table(columns), collection, service), rows_before)

    @classmethod
    def from_arrow(
        cls, collection: str, compiled: ServiceContract, table: pa.Table, assignment: Assignment | None = None
    ) -> ReportTable:
        """Validate reports from outside; ReportError if they belong to another service, are incomplete or differ."""
        return cls(collection, compiled, table).check(assignment)

    @staticmethod
    def owner(table: Any) -> str:
        """Return the collection id in a table's metadata; empty if there is none."""
        metadata = (table.schema.metadata or {}) if isinstance(table, pa.Table) else {}
        return bytes(metadata.get(COLLECTION.encode(), b"")).decode(errors="replace")

    def check(self, assignment: Assignment | None = None) -> ReportTable:
        """Return the table; refuse reports outside the contract, and people whose reports are incomplete.

        With an assignment, also refuse reports of other views or seeds than it assigns.
        """
        table, service = self.arrow, self.compiled.service
        name, expected = service.name, column_names(service)
        if not isinstance(table, pa.Table) or table.column_names != expected:
            message = f"Reports of {name!r} must be an Arrow table with the columns {', '.join(expected)}."
            raise ReportError(message, code="wrong-columns")
        is_integer = all(pa.types.is_integer(table.schema.field(word).type) for word in NUMBERS)
        if not is_integer or any(table[word].null_count for word in (service.key, *NUMBERS)):
            message = f"A report of {name!r} lacks its key, slot, channel or code, or they are not whole numbers."
            raise ReportError(message, code="wrong-columns")
        rules = ReportRules(self.compiled)
        if not rules.knows_all(*(table[word] for word in NUMBERS)):
            message = f"A report of {name!r} has a slot, channel or code outside the collection's range."
            raise ReportError(message, code="unknown-code")
        kind = table.schema.field(service.key).type
        if not (pa.types.is_int64(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            message = f"Keys of {name!r} must be 64-bit integers or text."
            raise ReportError(message, code="wrong-columns")
        if len(rules.alphabets) * rules.sends > 1 and not self._is_complete():
            message = (
                f"A person's reports of {name!r} are incomplete, or their public columns differ. "
                "Load all slots and channels of a person together."
            )
            raise ReportError(message, code="incomplete-reports")
        if assignment is not None and not self._follows(assignment):
            message = (
                f"A report of {name!r} has another view or seed than the key assigns. Nothing was stored. Pass the "
                f"same key to encode and to load."
            )
            raise ReportError(message, code="not-assigned")
        return self

    def _follows(self, assignment: Assignment) -> bool:
        """Return whether all codes are of the views and seeds that are assigned."""
        service, table = self.compiled.service, self.arrow
        slots, numbers, codes = (np.asarray(table[word]).astype(np.int64) for word in NUMBERS)
        views, seeds = assignment.draws(assignment.coins(table[service.key]), service.name, slots, numbers)
        for number, channel in enumerate(self.compiled.channels):
            mine = numbers == number
            if not channel.follows(codes[mine], views[mine], seeds[mine]):
                return False
        return True

    def _is_complete(self) -> bool:
        """Return whether people have all channels and slots, with the same public columns in all of them."""
        table, service = self.arrow, self.compiled.service
        shared = [service.key, *(attribute.name for attribute in service.public)]
        ordered = table.sort_by([(word, "ascending") for word in ("channel", "slot", service.key)])
        count, sends = len(self.compiled.channels) * service.sends, service.sends
        rows = table.num_rows // count
        even = np.array_equal(np.asarray(ordered["channel"]), np.repeat(np.arange(count) // sends, rows))
        even = even and np.array_equal(np.asarray(ordered["slot"]), np.repeat(np.arange(count) % sends, rows))
        people = ordered.slice(0, rows).select(shared)
        return even and all(ordered.slice(i * rows, rows).select(shared).equals(people) for i in range(1, count))
