"""Plan the queries for one round: from totals, public groups and conditions to nodes that an engine runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from sqlglot import exp

from tacit.contract.oracles.base import Codes
from tacit.estimate.reading import WHOLE_ALPHABET, contributions
from tacit.sql import names
from tacit.sql.decoding import Decoding, decode_totals
from tacit.sql.nodes import CodeCounts, ContributionScan, FilteredJoin, Join, PersonSums, Scan, Side, Sums
from tacit.sql.rounds import Round
from tacit.sql.scope import LABELS, BoundColumn, Scope
from tacit.sql.stored_types import StoredTypes, columns_in
from tacit.sql.totals import Total

__all__ = ["RULES", "Plan", "Rule", "why_no_rollup"]

Rule = Callable[[Sums, Round], Sums]


@dataclass(frozen=True, eq=False)
class Plan:
    """The query for one round: totals are sums over people; pairs index the products that are also summed."""

    scope: Scope
    round: Round
    totals: Sequence[Total]
    pairs: Sequence[tuple[int, int]]
    keys: Sequence[BoundColumn]
    conditions: Sequence[exp.Expr]
    types: StoredTypes
    by_code: Sums | None = None
    """The query that was run instead, where sums by code sufficed."""
    from_tables: bool = False
    """Whether these sums were converted to tables of the views."""

    @cached_property
    def guards(self) -> list[exp.Expr]:
        """The distinct public conditions in totals."""
        return list(dict.fromkeys(g for total in self.totals for piece in total.pieces for g in piece.guards))

    @cached_property
    def powers(self) -> list[exp.Expr]:
        """The distinct public columns that totals multiply by."""
        return list(dict.fromkeys(c for total in self.totals for piece in total.pieces for c in piece.powers))

    @cached_property
    def read_as_numbers(self) -> set[tuple[int, str]]:
        """Services and their columns whose texts are read as numbers."""
        read = self.types.numbers([*self.guards, *self.powers, *self.conditions])
        return {(number, name) for number, name in read if name not in LABELS}

    @cached_property
    def decoding(self) -> Decoding:
        """The factors and measures of the totals."""
        return decode_totals(self.scope, self.round, self.totals, self.guards, self.powers)

    @cached_property
    def reports(self) -> Sums:
        """The reports of all services, joined, with their public groups, after the rules."""
        stored = zip(self.scope.sources, self.round.stored, strict=True)
        scans = tuple(Scan(source.number, reports.table, source.service.key) for source, reports in stored)
        conditions, guards, powers, keys = (
            tuple(map(self.types.resolve, nodes))
            for nodes in (self.conditions, self.guards, self.powers, [key.column for key in self.keys])
        )
        query = Sums(FilteredJoin(Join(scans), conditions, guards, powers), keys)
        for rule in RULES:
            query = rule(query, self.round)
        return query

    @cached_property
    def people(self) -> FilteredJoin:
        """The people of the join, with the factors of their reports; a service joined with itself is read once."""
        people = self.reports.people
        sides = tuple(
            self._side(scan.scan)
            for scan, source in zip(people.join.sides, self.scope.sources, strict=True)
            if source.twin is None
        )
        return replace(people, join=Join(sides))

    def _side(self, scan: Scan) -> Side:
        """Return a service's people with the factors of their reports."""
        stored, decoding = self.round.stored[scan.number], self.decoding
        factors = tuple((place, decoding.factors[scan.number][place].constant) for place in decoding.read(scan.number))
        if stored.is_one_report:
            return ContributionScan(scan, factors) if factors else scan
        public = tuple(attribute.name for attribute in stored.service.service.public)
        products = tuple((i, j) for number, i, j in decoding.products if number == scan.number)
        return PersonSums(scan, public, factors, products)

    @property
    def sums(self) -> Sums:
        """The query that joins reports with contributions and adds up."""
        fourths = tuple(sorted({i for i, _ in self.pairs}))
        return Sums(self.people, self.reports.keys, None, self.decoding.measures, tuple(self.pairs), fourths)

    def sums_by_code(self, side: int, pairs: Sequence[tuple[int, int]], fourths: Sequence[int]) -> Sums:
        """Return the query that adds up the totals, as weights, for each public group and code of one service."""
        measures = self.decoding.measures
        return Sums(self.people, self.reports.keys, side, measures, tuple(pairs), tuple(fourths))

    @property
    def code_counts(self) -> CodeCounts:
        """The query that counts combinations of codes by everything public that totals depend on."""
        return CodeCounts(self.reports.people, self.reports.keys)

    @property
    def query(self) -> Sums:
        """The query that answers."""
        return self.by_code or self.sums

    def uploads(self, codes_of: Callable[[str, int], Codes], whole_alphabet: int) -> dict[str, pa.Table]:
        """Return the (channel, code) -> factor values tables.

        Channels of up to ``whole_alphabet`` codes are uploaded completely; for others, ``codes_of`` returns the codes
        in a table.
        """
        tables = {}
        for side in self.reports.people.join.sides:
            number = side.scan.number
            parts = []
            for channel in self.decoding.channels(number):
                alphabet = self.round.stored[number].service.channels[channel].alphabet
                is_whole = alphabet <= min(whole_alphabet, WHOLE_ALPHABET)
                parts.append(self._values(number, channel, None if is_whole else codes_of(side.scan.table, channel)))
            if parts:
                tables[names.contributions(number)] = pa.concat_tables(parts)
        return tables

    def _values(self, number: int, channel: int, codes: Codes | None) -> pa.Table:
        """Return the values of a service's factors at the codes of one channel."""
        places = self.decoding.read(number)
        readings = [self.decoding.factors[number][place].readings.get(channel) for place in places]
        values = contributions(self.round.stored[number].service.channels[channel], readings, codes)
        columns: dict[str, object] = {
            "channel": np.full(len(values), channel, dtype=np.int32),
            "code": np.arange(len(values)) if codes is None else codes,
        }
        columns |= {names.factor(number, place): values[:, i] for i, place in enumerate(places)}
        return pa.table(columns)


def _columns_read(query: Sums, number: int) -> set[str]:
    """Return the public columns and labels of a service that a query reads."""
    people = query.people
    return columns_in((*people.conditions, *people.guards, *people.powers, *query.keys), number)


def why_no_rollup(query: Sums, round_: Round) -> str:
    """Return why the reports are read instead of their rollup; empty if the rollup suffices."""
    [first, *others] = round_.stored
    if first.rollup is None or others:
        return "joins need one row per person" if others else "none exists"
    missing = sorted(_columns_read(query, 0) - {*first.rollup.by, *LABELS})
    return f"it does not include {', '.join(missing)}" if missing else ""


def use_rollup(query: Sums, round_: Round) -> Sums:
    """Read a rollup instead of the reports of a single service, if it has all columns."""
    rollup = round_.stored[0].rollup
    if rollup is None or why_no_rollup(query, round_):
        return query
    [side] = query.people.join.sides
    return _with_scans(query, [replace(side.scan, table=rollup.table, rollup=True)])


def show_labels(query: Sums, round_: Round) -> Sums:
    """Add the labels that the query reads to every row."""
    scans = []
    for side in query.people.join.sides:
        read = _columns_read(query, side.scan.number)
        labels = tuple((name, round_.labels[name]) for name in LABELS if name in read)
        scans.append(replace(side.scan, labels=labels))
    return _with_scans(query, scans)


def _with_scans(query: Sums, scans: Sequence[Scan]) -> Sums:
    return replace(query, people=replace(query.people, join=Join(tuple(scans))))


RULES: tuple[Rule, ...] = (use_rollup, show_labels)
"""Rules that rewrite a scan of all reports of a round, in order."""
