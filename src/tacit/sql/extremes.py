"""How far one person can move a total: the smallest and the largest contribution that any of their codes can make.

A liar, or somebody who invents people, can at most send the codes with extreme contributions. For one service, the
extremes are found by visiting every code, or every code of each channel where contributions are additive. In a join,
people send codes to all services, so the extremes are those of a product of ranges. Sums of public columns have no
bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.contract.contract import Channel
from tacit.estimate.batch import batch_of
from tacit.estimate.functional import Functional, Vector
from tacit.estimate.reading import WHOLE_ALPHABET, Factor, Reading, contributions, view_bounds
from tacit.sql.plan import Plan
from tacit.sql.rounds import ReportSource
from tacit.sql.totals import Piece, Total

__all__ = ["Range", "Ranges"]


@dataclass(frozen=True)
class Range:
    """An interval of numbers."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """How far apart the ends are."""
        return self.high - self.low if self.high > self.low else 0.0

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def scaled(self, by: float) -> Range:
        """Return the range of a multiple."""
        ends = (self.low * by, self.high * by) if by else (0.0, 0.0)
        return Range(min(ends), max(ends))

    def times(self, other: Range) -> Range:
        """Return the range of a product of two independent numbers."""
        ends = [a * b if a and b else 0.0 for a in (self.low, self.high) for b in (other.low, other.high)]
        return Range(min(ends), max(ends))


NOTHING, ONE, EVERYTHING = Range(0.0, 0.0), Range(1.0, 1.0), Range(-math.inf, math.inf)


class Ranges:
    """The range of one person's contribution to each total of a plan, computed on first use."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._known: dict[int, Range] = {}

    @cached_property
    def _paired(self) -> frozenset[int]:
        """Totals whose errors are asked for: whoever asks how far one of them can be moved asks it of all."""
        return frozenset(i for i, _ in self._plan.pairs)

    def prepare(self, places: Iterable[int]) -> None:
        """Read the ranges of some totals together, as far as they are of one service and one report."""
        [stored, *others] = self._plan.round.stored
        totals = self._plan.totals
        read = [place for place in places if place not in self._known and totals[place].functional is not None]
        if others or not stored.is_one_report or not read:
            return
        batch = batch_of(stored.decoder, [totals[place].pieces[0].functional for place in read])
        ends = None if batch is None else batch.ranges(stored.service.channels[0])
        if ends is not None:
            self._known |= {
                place: Range(low, high) for place, low, high in zip(read, *(end.tolist() for end in ends), strict=True)
            }

    def of(self, total: Total, place: int) -> Range:
        """Return the range of a person's contribution to the plan's total at a place, over all codes."""
        if place not in self._known:
            self.prepare(self._paired if place in self._paired else [place])
        if place not in self._known:
            self._known[place] = _sum(self._of_piece(piece) for piece in total.pieces)
        return self._known[place]

    def _of_piece(self, piece: Piece) -> Range:
        if any(piece.powers.values()):
            return EVERYTHING
        total = _sum(self._of_product(parts) for parts in self._plan.scope.separate(piece.functional))
        if piece.guards or piece.powers:  # people who do not meet the condition contribute 0
            return Range(min(total.low, 0.0), max(total.high, 0.0))
        return total

    def _of_product(self, parts: Mapping[int, Functional]) -> Range:
        sources = self._plan.scope.sources
        product = ONE
        for number, local in parts.items():
            twins = [source.number for source in sources if source.twin == number]
            if twins:
                product = product.times(self._of_two_rows(number, local, parts[twins[0]]))
            elif sources[number].twin is None:
                product = product.times(self._of_service(number, local))
        return product

    def _of_two_rows(self, number: int, left: Functional, right: Functional) -> Range:
        """Return the range of a sum over pairs of rows: of the same row, and of two different reports."""
        service = self._plan.round.stored[number].service.service
        most, sends = service.rows_at_most, service.sends
        same = self._of_service(number, (left * right).scaled(sends / most))
        ranges = [self._of_service(number, side).scaled(1 / sends) for side in (left, right)]
        return same + ranges[0].times(ranges[1]).scaled((most - 1) * sends / (most * (sends - 1)) * sends * (sends - 1))

    def _of_service(self, number: int, local: Functional) -> Range:
        """Return the range of a functional of one service, over all reports that a person sends to it."""
        stored = self._plan.round.stored[number]
        sends, products = stored.service.service.sends, stored.decoder.decode(local).products
        alone = [(coefficient, factors[0]) for coefficient, factors in products if len(factors) == 1]
        constant = sends * sum(coefficient * factor.constant for coefficient, factor in alone)
        linear = Range(constant, constant)
        for index, channel in enumerate(stored.service.channels):
            terms = [(c, factor.readings[index]) for c, factor in alone if index in factor.readings]
            linear += _of_channel(channel, terms).scaled(sends)
        return linear + _sum(_of_factors(stored, c, factors) for c, factors in products if len(factors) > 1)


def _of_factors(stored: ReportSource, coefficient: float, factors: Sequence[Factor]) -> Range:
    """Return the range of a product of factors, whose codes belong to one or several channels."""
    if stored.is_one_report and stored.service.channels[0].alphabet <= WHOLE_ALPHABET:
        values = contributions(stored.service.channels[0], [factor.readings.get(0) for factor in factors])
        values += np.array([factor.constant for factor in factors])
        product = coefficient * np.prod(values, axis=1)
        return Range(float(product.min()), float(product.max()))
    sends, result = stored.service.service.sends, Range(coefficient, coefficient)
    for factor in factors:
        of_codes = _sum(_of_channel(stored.service.channels[c], [(1.0, r)]) for c, r in factor.readings.items())
        result = result.times((of_codes + Range(factor.constant, factor.constant)).scaled(sends))
    return result


def _of_channel(channel: Channel, terms: list[tuple[float, Reading]]) -> Range:
    """Return the range of a combination of readings over a channel's codes; a wider one if there are too many codes."""
    if not terms:
        return NOTHING
    weights: Vector = np.array([weight for weight, _ in terms])
    if channel.alphabet <= WHOLE_ALPHABET:
        values = contributions(channel, [reading for _, reading in terms]) @ weights
        return Range(float(values.min()), float(values.max()))
    return _sum(Range(*view_bounds(reading)).scaled(weight) for weight, reading in terms)


def _sum(ranges: Iterable[Range]) -> Range:
    total = NOTHING
    for range_ in ranges:
        total += range_
    return total
