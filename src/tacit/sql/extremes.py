"""How far one person can move a total: the smallest and the largest contribution that any codes of hers can make.

Whoever lies about a record, or makes people up, cannot do more than send the codes with the extreme contributions. Of
one service the extremes are found by visiting every code, or every code of each channel where contributions add up. In
a join, people send codes of all services, so the extremes are those of a product of ranges. Public columns that are
summed have no bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tacit.contract.contract import Channel
from tacit.estimate.batch import batch_of
from tacit.estimate.functional import Functional, Vector
from tacit.estimate.reading import WHOLE_ALPHABET, Reading, contributions, view_bounds
from tacit.sql.plan import Plan
from tacit.sql.totals import Piece, Total

__all__ = ["Range", "contribution_range"]


@dataclass(frozen=True)
class Range:
    """Everything between two numbers."""

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
        """Return the range of a product of two numbers that are chosen freely."""
        ends = [a * b if a and b else 0.0 for a in (self.low, self.high) for b in (other.low, other.high)]
        return Range(min(ends), max(ends))


NOTHING, ONE, EVERYTHING = Range(0.0, 0.0), Range(1.0, 1.0), Range(-math.inf, math.inf)


def contribution_range(plan: Plan, total: Total, place: int) -> Range:
    """Return the range of a person's contribution to a total, the plan's measure at a place, whatever they send."""
    if not plan.ranges:
        plan.ranges |= _of_plain_totals(plan)
    if place not in plan.ranges:
        found = _sum(_of_piece(plan, piece) for piece in total.pieces)
        plan.ranges[place] = found.low, found.high
    return Range(*plan.ranges[place])


def _of_plain_totals(plan: Plan) -> dict[int, tuple[float, float]]:
    """Return the ranges of all totals that questions of one service and one report show, read together."""
    [stored, *others] = plan.round.stored
    places = sorted({i for i, _ in plan.pairs if plan.totals[i].functional is not None})
    if others or not stored.is_one_report or not places:
        return {}
    batch = batch_of(stored.decoder, [plan.totals[i].pieces[0].functional for i in places])
    ends = None if batch is None else batch.ranges(stored.service.channels[0])
    return {} if ends is None else dict(zip(places, zip(*(end.tolist() for end in ends), strict=True), strict=True))


def _of_piece(plan: Plan, piece: Piece) -> Range:
    if any(piece.powers.values()):
        return EVERYTHING
    found = _sum(_of_product(plan, parts) for parts in plan.scope.separated(piece.functional))
    if piece.guards or piece.powers:  # who does not fulfil a condition adds nothing
        return Range(min(found.low, 0.0), max(found.high, 0.0))
    return found


def _of_product(plan: Plan, parts: Mapping[int, Functional]) -> Range:
    found = ONE
    for number, local in parts.items():
        twins = [other.number for other in plan.scope.sources if other.twin == number]
        if twins:
            found = found.times(_of_two_rows(plan, number, local, parts[twins[0]]))
        elif plan.scope.sources[number].twin is None:
            found = found.times(_of_service(plan, number, local))
    return found


def _of_two_rows(plan: Plan, number: int, left: Functional, right: Functional) -> Range:
    """Return the range of a sum over pairs of rows: of the same row, and of two different reports."""
    service = plan.round.stored[number].service.service
    most, sends = service.rows_at_most, service.sends
    same = _of_service(plan, number, (left * right).scaled(sends / most))
    one = [_of_service(plan, number, side).scaled(1 / sends) for side in (left, right)]
    return same + one[0].times(one[1]).scaled((most - 1) * sends / (most * (sends - 1)) * sends * (sends - 1))


def _of_service(plan: Plan, number: int, local: Functional) -> Range:
    """Return the range of a functional of one service, over all reports that a person sends to it."""
    stored = plan.round.stored[number]
    sends, products = stored.service.service.sends, plan.decoded(number, local)
    factors = plan.known_factors[number]
    alone = [(coefficient, places[0]) for coefficient, places in products if len(places) == 1]
    linear = Range(*[sends * sum(c * factors[i].constant for c, i in alone)] * 2)
    for index, channel in enumerate(stored.service.channels):
        terms = [(c, factors[i].readings[index]) for c, i in alone if index in factors[i].readings]
        linear += _of_channel(channel, terms).scaled(sends)
    return linear + _sum(_of_factors(plan, number, c, places) for c, places in products if len(places) > 1)


def _of_factors(plan: Plan, number: int, coefficient: float, places: list[int]) -> Range:
    """Return the range of a product of factors, which codes of different channels or of one make."""
    stored, factors = plan.round.stored[number], plan.known_factors[number]
    if stored.is_one_report and stored.service.channels[0].alphabet <= WHOLE_ALPHABET:
        values = contributions(stored.service.channels[0], [factors[i].readings.get(0) for i in places])
        product = coefficient * np.prod(values + np.array([factors[i].constant for i in places]), axis=1)
        return Range(float(product.min()), float(product.max()))
    sends, found = stored.service.service.sends, Range(coefficient, coefficient)
    for i in places:
        one = _sum(_of_channel(stored.service.channels[c], [(1.0, r)]) for c, r in factors[i].readings.items())
        found = found.times((one + Range(*[factors[i].constant] * 2)).scaled(sends))
    return found


def _of_channel(channel: Channel, terms: list[tuple[float, Reading]]) -> Range:
    """Return the range of a combination of readings over a channel's codes, or a wider one if they are too many."""
    if not terms:
        return NOTHING
    weights: Vector = np.array([weight for weight, _ in terms])
    if channel.alphabet <= WHOLE_ALPHABET:
        values = contributions(channel, [reading for _, reading in terms]) @ weights
        return Range(float(values.min()), float(values.max()))
    return _sum(Range(*view_bounds(reading)).scaled(weight) for weight, reading in terms)


def _sum(ranges: Iterable[Range]) -> Range:
    total = NOTHING
    for one in ranges:
        total += one
    return total
