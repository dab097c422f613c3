"""Decode totals into contributions: factors of a person's codes, and measures as arithmetic of factors.

Every total is decoded into **factors**, one set for each service, whose values per (channel, code) are uploaded; a
**measure** is a person's part of a total, as a sum of products of factors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tacit.errors import UnanswerableError, UnsupportedSqlError
from tacit.estimate.functional import Functional
from tacit.estimate.reading import Factor
from tacit.sql import names
from tacit.sql.nodes import Measure, Power, Product
from tacit.sql.rounds import Round
from tacit.sql.scope import Scope
from tacit.sql.totals import Piece, Total

__all__ = ["Decoding", "decode_totals"]


@dataclass(frozen=True, eq=False)
class Decoding:
    """The factors and measures of some totals."""

    factors: tuple[tuple[Factor, ...], ...]
    """The factors of each service."""

    measures: tuple[Measure, ...]
    """A person's part of each total."""

    reads_codes: tuple[bool, ...]
    """Whether each measure depends on any codes, so that it is noisy."""

    products: tuple[tuple[int, int, int], ...]
    """A service and two of its factors whose product is summed over a person's reports."""

    def read(self, number: int) -> tuple[int, ...]:
        """Return the indices of a service's factors that read codes."""
        return tuple(place for place, factor in enumerate(self.factors[number]) if factor.readings)

    def channels(self, number: int) -> list[int]:
        """Return the channels of a service that some factor reads."""
        return sorted({channel for factor in self.factors[number] for channel in factor.readings})


def decode_totals(
    scope: Scope, round_: Round, totals: Sequence[Total], guards: Sequence[exp.Expr], powers: Sequence[exp.Expr]
) -> Decoding:
    """Decode totals whose public conditions and columns have the given order."""
    factors = _Factors(scope, round_)
    public = {guard: names.guard(place) for place, guard in enumerate(guards)}
    numbers = {column: names.power(place) for place, column in enumerate(powers)}
    measures, reads = [], []
    for total in totals:
        factors.reads_codes = False
        measures.append(tuple(_product(factors, piece, public, numbers) for piece in total.pieces))
        reads.append(factors.reads_codes)
    return Decoding(tuple(map(tuple, factors.known)), tuple(measures), tuple(reads), tuple(factors.products))


def _product(
    factors: _Factors, piece: Piece, guards: Mapping[exp.Expr, str], numbers: Mapping[exp.Expr, str]
) -> Product:
    """Return a piece of a total: its conditions and public numbers times the codes' contributions."""
    conditions = [guards[guard] for guard in piece.guards]
    powers = [Power(numbers[column], exponent) for column, exponent in piece.powers.items()]
    return Product(1.0, (*conditions, *powers, factors.measure(piece.functional)))


def _check(coefficient: float) -> float:
    """Return a coefficient; refuse one that is too large for an engine."""
    if not math.isfinite(coefficient):
        message = "A number in the question is too large. Use numbers below 1e100."
        raise UnsupportedSqlError(message, code="number-too-large")
    return coefficient


class _Factors:
    """Collects the factors of all services; equal functionals share theirs."""

    def __init__(self, scope: Scope, round_: Round) -> None:
        self._scope, self._round = scope, round_
        self.known: list[list[Factor]] = [[] for _ in scope.sources]
        self.products: dict[tuple[int, int, int], None] = {}
        self.reads_codes = False
        self._places: dict[tuple[int, Hashable], list[tuple[float, list[int]]]] = {}

    def measure(self, functional: Functional) -> Measure:
        """Return a person's contribution to a functional's total."""
        return tuple(
            Product(1.0, tuple(self._sides(parts))) if parts else Product(0.0)
            for parts in self._scope.separate(functional)
        )

    def _sides(self, parts: Mapping[int, Functional]) -> Iterator[Measure]:
        """Yield the factor of each service in a product; a service that is joined with itself has one for both."""
        for number, local in parts.items():
            twins = [source.number for source in self._scope.sources if source.twin == number]
            if twins:
                yield self._two_rows(number, local, parts[twins[0]])
            elif self._scope.sources[number].twin is None:
                yield self._read(number, local)

    def _read(self, number: int, local: Functional) -> Measure:
        return tuple(self._multiply(number, *product) for product in self._decode(number, local))

    def _two_rows(self, number: int, left: Functional, right: Functional) -> Measure:
        """Return a person's sum over pairs of rows: different rows from different reports, equal rows from one report.

        Two given rows are both reported with probability sends (sends - 1) / (most (most - 1)), while each functional
        is scaled for one of them.
        """
        service = self._round.stored[number].service
        most, sends = service.service.rows_at_most, service.service.sends
        if len(service.channels) > 1:
            message = (
                f"Joining {service.service.name} with itself needs a mechanism with one channel. Use hio, fc or pairs."
            )
            raise UnanswerableError(message)
        ratio = (most - 1) * sends / (most * (sends - 1))
        same = self._read(number, (left * right).scaled(sends / most))
        lefts, rights = self._decode(number, left), self._decode(number, right)
        different = []
        for (a, [i]), (b, [j]) in itertools.product(lefts, rights):
            self.products[number, i, j] = None
            both = Product(1.0, (names.factor(number, i), names.factor(number, j)))
            one_report = Product(-1.0, (names.product(number, i, j),))
            different.append(Product(_check(ratio * a * b), ((both, one_report),)))
        return (*same, *different)

    def _decode(self, number: int, local: Functional) -> list[tuple[float, list[int]]]:
        """Return coefficients and factor places of a functional of one service."""
        key = number, local.key
        if key not in self._places:
            self._places[key] = []
            for coefficient, factors in self._round.stored[number].decoder.decode(local).products:
                start = len(self.known[number])
                self.known[number] += factors
                self._places[key].append((coefficient, list(range(start, start + len(factors)))))
        products = self._places[key]
        self.reads_codes |= any(self.known[number][place].readings for _, places in products for place in places)
        return products

    def _multiply(self, number: int, coefficient: float, places: Sequence[int]) -> Product:
        columns = []
        for place in places:
            factor = self.known[number][place]
            if factor.readings:
                columns.append(names.factor(number, place))
            else:
                coefficient *= factor.constant
        return Product(_check(coefficient), tuple(columns))
