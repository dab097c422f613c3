"""A cache of sums by code and the tables computed from them, valid until the reports change.

All questions about one service with the same public conditions and groups need the same sums, and so do all questions
about a join with the same weights. The cache of each engine has a limit in bytes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.answers.columns import integers_of, number_rows, numbers_of, rows_in_order, rows_of
from tacit.answers.sampling import GroupedCodes, Sample, enough_codes, sample_parts
from tacit.answers.shared_cache import SharedCache
from tacit.contract.contract import Channel
from tacit.engines.base import CountsColumns, Engine, rollup_of
from tacit.estimate.batch import FunctionalBatch, variance_shares
from tacit.estimate.decoder import Decoder
from tacit.estimate.functional import Vector
from tacit.estimate.tallies import Tallies
from tacit.sql.nodes import Codes, Sums
from tacit.sql.printing import print_query

__all__ = ["FetchedSums", "cache_of", "cached_counts", "fetch_code_sums"]

CodeArray = npt.NDArray[np.int64]

MOST_BYTES = 2**27
"""Maximum bytes of cached sums for one engine."""

SHORT = 2**31
"""Maximum codes of a channel for which each is a short integer."""

MOST_SAMPLES = 4
"""Maximum samples of codes cached with their sums."""


@dataclass(frozen=True, eq=False, repr=False)
class FetchedSums:
    """Sums by code, the values of each public group, and tables by group and column, computed on first use."""

    values: list[tuple[Any, ...]]
    counts: GroupedCodes
    everybody_of: str | None = None
    """The table, if the sums cover all of its reports; None for a part of them, and for joins."""
    _tallies: dict[tuple[int, int], Tallies] = field(default_factory=dict)
    _samples: OrderedDict[Hashable, Sample] = field(default_factory=OrderedDict)

    def tallies(self, channel: Channel, group: int, column: int) -> Tallies:
        """Return the tables of a group, weighted by a column."""
        if (group, column) not in self._tallies:
            codes, weights = self.counts.of_group(group, column)
            self._tallies[group, column] = Tallies(channel, codes, weights)
        return self._tallies[group, column]

    def sample(self, decoder: Decoder, batch: FunctionalBatch, quota: int) -> Sample:
        """Return a sample of each view's codes; questions about the same sets of attributes share it."""
        key, channel = (batch.attribute_sets, batch.views, quota), decoder.service.channels[0]
        if key not in self._samples:
            known = variance_shares(decoder, sorted(batch.attribute_sets))
            shares = {view: known.get(view, 0.0) for view in batch.views}
            parts = list(sample_parts(channel, self.counts, shares, enough_codes(channel, shares, quota)))
            people = [self.tallies(channel, group, 0) for group in range(self.counts.groups)]
            self._samples[key] = Sample(channel, parts, people)
            while len(self._samples) > MOST_SAMPLES:
                self._samples.popitem(last=False)
        return self._samples[key]


def fetch_code_sums(
    engine: Engine,
    query: Sums,
    channel: Channel,
    uploads: Callable[[], Mapping[str, pa.Table]] = dict,
    weights: Hashable = (),
) -> FetchedSums:
    """Return sums by the codes of a channel, from the cache or the engine; ``weights`` determine the uploads."""
    statement, changes = print_query(query), engine.changes()
    if changes is None:
        return _fetch(engine, query, channel, uploads())
    key = (weights, statement.text, *((type(value), value) for value in statement.parameters))
    return cache_of(engine).get(changes, key, lambda: _fetch(engine, query, channel, uploads()))


def _fetch(engine: Engine, query: Sums, channel: Channel, uploads: Mapping[str, pa.Table]) -> FetchedSums:
    """Fetch sums by code, in the order of codes."""
    [side, *others] = query.people.join.sides
    everybody_of = None if others or query.people.conditions else side.scan.table
    counted = None if uploads else _count(engine, query, channel)
    if counted is not None:
        return FetchedSums([()], counted, everybody_of)
    table = engine.fetch(*print_query(query), uploads)
    keys = len(query.keys)
    group, first = number_rows(table, keys)
    values = rows_of(table, keys, first) if keys else [()]
    if keys:  # engines return groups in any order; samples do not depend on it
        known = np.array(sorted(range(len(values)), key=lambda i: [(v is None, str(type(v)), v) for v in values[i]]))
        values, group = [values[place] for place in known.tolist()], np.argsort(known)[group]
    columns = [numbers_of(table.column(i)) for i in range(keys + 1, table.num_columns)]
    codes = integers_of(table.column(keys))
    order = rows_in_order(codes * len(values) + group, channel.alphabet * len(values))
    order = order[columns[0][order] > 0]  # a rollup may contain rows of deleted people
    counts = GroupedCodes(codes[order], group[order], [column[order] for column in columns], len(values))
    return FetchedSums(values, counts, everybody_of)


def _count(engine: Engine, query: Sums, channel: Channel) -> GroupedCodes | None:
    """Count codes without groups and weights, if the engine can do so faster than by a statement."""
    is_count = query.code is not None and not (query.keys or query.measures or query.people.join.rollup)
    if query.code is None or not is_count or not isinstance(engine, CountsColumns):
        return None
    counted = engine.count_column(*print_query(Codes(query.people, query.code, is_short=channel.alphabet <= SHORT)))
    if counted is None:
        return None
    codes, people = counted
    return GroupedCodes(codes, np.zeros(len(codes), dtype=np.int64), [people.astype(np.float64)], 1)


def cached_counts(engine: Engine, table: str) -> tuple[CodeArray, Vector] | None:
    """Return the codes of a table's current reports, in order, and their counts, if the cache has such sums."""
    changes = engine.changes()
    for fetched in cache_of(engine).values(changes) if changes is not None else ():
        counts = fetched.counts
        if fetched.everybody_of in (table, rollup_of(table)) and len(counts.codes):
            first = np.flatnonzero(np.diff(counts.codes, prepend=-1))  # rows are in the order of codes
            return counts.codes[first], np.add.reduceat(counts.columns[0], first)
    return None


_CACHES: WeakKeyDictionary[Engine, SharedCache[FetchedSums]] = WeakKeyDictionary()
_LOCK = threading.Lock()


def cache_of(engine: Engine) -> SharedCache[FetchedSums]:
    """Return the cache of an engine; it is freed with the engine."""
    with _LOCK:
        return _CACHES.setdefault(engine, SharedCache(lambda: MOST_BYTES, lambda fetched: fetched.counts.nbytes))
