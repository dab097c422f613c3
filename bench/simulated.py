"""Reports drawn as counts of codes: what encoding everybody comes to, without a row for each person.

A campaign of one service, each of whose people sends one report, says no more than how often each code occurs. Here the
counts are drawn directly. Everybody draws a view; of the people of a view in one of its cells, the codes are
multinomial. An oracle whose codes weigh ``most`` for the cells that they support and ``least`` for the others is a
mixture: some people report any code, all alike; the others any of the codes that support their cell. So counts are
drawn from two even multinomials, and the result has exactly the distribution of `Collection.encode`.

Several services are joined by person: their reports are drawn person by person, and put where the database reads them.

    simulated = Simulated(collection, {"t": {"uid": range(1000), "x": values}})
    for number in range(20):
        simulated.draw(number)
        answer = simulated.database.sql("SELECT COUNT(*) FROM t WHERE x < 3")

The database is the same for all draws, so that what depends on the contract alone is prepared once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import tacit as tc
from tacit.contract.contract import Channel, CompiledView, ServiceContract
from tacit.contract.oracles import Oracle
from tacit.encode.bulk import encode_rows
from tacit.encode.reports import report_columns, report_table
from tacit.encode.values import reader_of
from tacit.engines.base import rollup_of
from tacit.sql.names import PEOPLE

__all__ = ["Simulated", "simulate_counts", "value_indices"]

Codes = npt.NDArray[np.int64]
Counts = tuple[Codes, Codes]
"""The codes that occur, in order, and how often each does."""

MOST_MARKED = 2**21
"""Codes times cells of an oracle up to which supports are listed; above, people are drawn one by one."""


@dataclass(frozen=True, eq=False)
class _Mixture:
    """An oracle as a mixture: of code 0 (or none), of any other code, and of any code that supports the true cell."""

    shares: npt.NDArray[np.float64]
    """The probabilities of these three."""

    first: int
    """The first code that is not for everybody."""

    supporting: Codes
    """Cells x the codes that support each."""


@lru_cache(maxsize=4096)
def _mixture_of(oracle: Oracle) -> _Mixture | None:
    """Return the mixture that an oracle is; None where it is none, or its codes are too many to list."""
    if oracle.name not in ("grr", "ss", "lh") or oracle.domain < 2:
        return None
    if oracle.alphabet * oracle.domain > MOST_MARKED:
        return None
    support = oracle.support(np.arange(oracle.alphabet))
    first = int(support[0].all())  # code 0 of ss and lh supports all cells, and has one weight
    listed = [first + np.flatnonzero(own) for own in support[first:].T]
    unsupported = next(code for code in range(first, oracle.alphabet) if not support[code].all())
    most = oracle.weight(0, int(listed[0][0]))
    least = oracle.weight(int(np.flatnonzero(~support[unsupported])[0]), unsupported)
    codes, chosen = oracle.alphabet - first, len(listed[0])
    weights = [oracle.denominator - codes * least - chosen * (most - least), codes * least, chosen * (most - least)]
    shares = np.array([float(weight / oracle.denominator) for weight in weights])
    return _Mixture(shares / shares.sum(), first, np.stack(listed))


def _counts_of_view(view: CompiledView, cells: list[Codes], source: np.random.Generator) -> Counts:
    """Return the counts of a view's codes, given the cells of its people in each attribute."""
    oracle, people = view.oracle, len(cells[0])
    mixture = _mixture_of(oracle)
    if mixture is None:
        shape = (people,) if oracle.answers == 1 else (people, oracle.answers)
        draws = [source.integers(0, oracle.span, own, dtype=np.uint64) for own in (people, shape)]
        codes, counts = np.unique(oracle.randomise(cells, *draws), return_counts=True)
        return codes, counts
    total = np.zeros(oracle.alphabet, dtype=np.int64)
    held = np.bincount(np.ravel_multi_index(tuple(cells), oracle.sizes), minlength=oracle.domain)
    honest = source.binomial(held, mixture.shares[2])
    others = people - int(honest.sum())
    nothing = mixture.shares[0] / (mixture.shares[0] + mixture.shares[1])
    null = int(source.binomial(others, nothing)) if mixture.first else 0
    total[0] += null
    total[mixture.first :] += _even(others - null, oracle.alphabet - mixture.first, source)
    chosen = mixture.supporting.shape[1]
    if honest.sum() < chosen * np.count_nonzero(honest):
        cell = np.repeat(np.arange(oracle.domain), honest)
        total += np.bincount(mixture.supporting[cell, source.integers(0, chosen, len(cell))], minlength=oracle.alphabet)
    else:
        for own in np.flatnonzero(honest):
            total[mixture.supporting[own]] += _even(int(honest[own]), chosen, source)
    codes = np.flatnonzero(total)
    return codes, total[codes]


def _even(people: int, codes: int, source: np.random.Generator) -> Codes:
    """Return how many of some people pick each of some codes that are all alike."""
    if people < codes:
        return np.bincount(source.integers(0, codes, people), minlength=codes)
    return np.asarray(source.multinomial(people, np.full(codes, 1 / codes)))


def value_indices(service: ServiceContract, table: Mapping[str, Any]) -> list[Codes]:
    """Return the index of every person's value among those of each sensitive attribute."""
    made = []
    for attribute in service.service.sensitive:
        reader = reader_of(service.service.name, attribute)
        made.append(reader.values(*reader.positions(pa.array(table[attribute.name]), 0), None))
    return made


def simulate_counts(service: ServiceContract, values: list[Codes], source: np.random.Generator) -> list[Counts]:
    """Return the counts of each channel's codes; those of several channels are not those of the same person."""
    if service.service.sends > 1 or service.extras or service.derived or service.dithered:
        message = f"{service.service.name}: only services of one plain report are simulated. Encode people instead."
        raise ValueError(message)
    return [_counts_of_channel(service, channel, values, source) for channel in service.channels]


def _counts_of_channel(
    service: ServiceContract, channel: Channel, values: list[Codes], source: np.random.Generator
) -> Counts:
    span = channel.views[0].oracle.span
    picked = channel.pick_views(source.integers(0, span, len(values[0]), dtype=np.uint64))
    order = np.argsort(picked.astype(np.uint16 if len(channel.views) <= 1 << 16 else np.uint32), kind="stable")
    bounds = np.concatenate(([0], np.cumsum(np.bincount(picked, minlength=len(channel.views)))))
    grouped = [own[order] for own in values]
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for index in np.flatnonzero(np.diff(bounds)):
        view, mine = channel.views[index], slice(bounds[index], bounds[index + 1])
        if view.parity:
            masks = [np.bitwise_count(grouped[i][mine] & view.levels[i]) for i in view.active]
            cells = [(np.bitwise_xor.reduce(masks) & 1).astype(np.int64)]
        else:
            cells = [service.levels[i][view.levels[i]].table()[grouped[i][mine]] for i in view.active]
        codes, counts = _counts_of_view(view, cells, source)
        found.append((codes + view.offset, counts))
    codes, counts = (np.concatenate(own) for own in zip(*found, strict=True))
    return codes, counts


class Simulated:
    """A collection, its people, and a database of their reports that can be drawn again and again."""

    def __init__(self, collection: tc.Collection, tables: Mapping[str, Mapping[str, Any]]) -> None:
        """Take the columns of each service, the key among them; all services have the same people, in one order."""
        self.collection, self.database = collection, tc.connect()
        self.database.create(collection)
        self._services = collection.contract.services
        self._values, self._tables = [], []
        first: dict[str, Any] = {
            name: {column: np.asarray(own)[:1] for column, own in some.items()} for name, some in tables.items()
        }
        self.database.load(collection.encode(**first, rng=tc.insecure_rng(0)))  # makes the tables
        for one in self._services:
            table = tables[one.service.name]
            self._tables.append(pa.table({name: pa.array(np.asarray(own)) for name, own in table.items()}))
            self._values.append(value_indices(one, table))
        self.is_counted = len(self._services) == 1 and len(self._services[0].channels) == 1
        self.is_counted = self.is_counted and not self._services[0].service.public
        if self.is_counted:
            self.database.rollup(self._services[0].service.name)

    def draw(self, seed: int) -> None:
        """Replace all reports by new ones of the same people."""
        source = np.random.default_rng(seed)
        for one, values, table in zip(self._services, self._values, self._tables, strict=True):
            name = report_table(self.collection.id, one.service.name)
            if self.is_counted:
                [(codes, counts)] = simulate_counts(one, values, source)
                rows = {"channel": pa.array(np.zeros(len(codes)), pa.int32()), "code": codes, PEOPLE: counts}
                self._replace(rollup_of(name), pa.table(rows))
            else:
                drawn = encode_rows(one, table, tc.insecure_rng(int(source.integers(2**32))))
                shown = [table.column(own.name) for own in one.service.public]
                parts = [
                    pa.table(report_columns(one.service, table.column(one.service.key), slot, channel, own, shown))
                    for number, own in enumerate(drawn)
                    for slot, channel in [(np.zeros(len(own)), np.full(len(own), number))]
                ]
                self._replace(name, pa.concat_tables(parts))

    def _replace(self, name: str, rows: pa.Table) -> None:
        """Put other rows in a table of the database, as a change that it notices."""
        engine: Any = self.database._engine  # noqa: SLF001
        with engine._changing(), engine._cursor() as connection:  # noqa: SLF001
            connection.register("incoming", rows)
            connection.execute(f'CREATE OR REPLACE TABLE "{name}" AS SELECT * FROM incoming')
            connection.unregister("incoming")

    def close(self) -> None:
        """Close the database."""
        self.database.close()
