"""How far 1 % of the people can move a total by lying together.

Where devices choose views and seeds, every liar sends the code with the extreme contribution: the shift is the range of
contributions times the liars. Where views and seeds are assigned, and liars cannot choose their ids, each liar chooses
among the codes of one view and seed only. Who lies does not depend on the key, so the widths of those choices are
independent draws from the key's distribution, and their sum is, by Bernstein's inequality, at most

    m mean + sqrt(2 m log(1/chance)) deviation + largest log(1/chance) / 3

for m liars, except with probability 1e-9 over keys. In joins, and where estimates are multiplied, the first bound is
used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tacit.contract.contract import Channel
from tacit.contract.oracles.linear_hash import LinearHash
from tacit.estimate.functional import Functional, Vector
from tacit.estimate.reading import WHOLE_ALPHABET, Reading, contributions, view_bounds
from tacit.estimate.widths import Widths
from tacit.sql.extremes import Ranges
from tacit.sql.plan import Plan
from tacit.sql.totals import Piece, Total

__all__ = ["Shifts"]

Terms = Sequence[tuple[float, Reading]]


NONE = Widths(0.0, 0.0, 0.0)


class Shifts:
    """How far liars can move each total of a plan, computed on first use."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._ranges = plan, Ranges(plan)
        self._widths: dict[int, Widths | None] = {}

    def prepare(self, places: Sequence[int]) -> None:
        """Read what is needed for the plan's totals at some places together."""
        self._ranges.prepare(places)

    def shift_of(self, total: Total, place: int, people: float) -> float:
        """Return how far 1 % of this many people can move the plan's total at a place."""
        liars, weight = people / 100, self._plan.round.weight
        free = liars * self._ranges.of(total, place).width
        if not self._plan.round.assigned:
            return free * weight
        if place not in self._widths:
            self._widths[place] = _of_total(self._plan, total)
        widths = self._widths[place]
        return weight * (free if widths is None else min(free, widths.shift(liars)))


def _of_total(plan: Plan, total: Total) -> Widths | None:
    """Return the widths of a person's contribution to a total; None where only the free bound is known."""
    widths = NONE
    for piece in total.pieces:
        widths_of_piece = _of_piece(plan, piece)
        if widths_of_piece is None:
            return None
        widths += widths_of_piece
    return widths


def _of_piece(plan: Plan, piece: Piece) -> Widths | None:
    parts = plan.scope.separate(piece.functional)
    if any(piece.powers.values()) or len(plan.round.stored) > 1 or any(len(product) > 1 for product in parts):
        return None
    widths = NONE
    for part in parts:
        for number, local in part.items():
            of_source = _of_service(plan, number, local, guarded=bool(piece.guards or piece.powers))
            if of_source is None:
                return None
            widths += of_source
    return widths


def _of_service(plan: Plan, number: int, local: Functional, *, guarded: bool) -> Widths | None:
    """Return the widths of a functional of one service, over all reports that a person sends to it."""
    stored = plan.round.stored[number]
    sends, products = stored.service.service.sends, stored.decoder.decode(local).products
    if any(len(factors) > 1 for _, factors in products) or (guarded and not stored.is_one_report):
        return None
    alone = [(coefficient, factors[0]) for coefficient, factors in products]
    constant = sum(coefficient * factor.constant for coefficient, factor in alone)
    widths = NONE
    for index, channel in enumerate(stored.service.channels):
        terms = [(c, factor.readings[index]) for c, factor in alone if index in factor.readings]
        low, high, chances = (np.concatenate(ends) for ends in zip(*_coins(channel, terms), strict=True))
        if guarded:  # people who do not meet the condition contribute 0
            low, high = np.minimum(low + constant, 0.0), np.maximum(high + constant, 0.0)
        widths += Widths.of(high - low, chances).scaled(sends)
    return widths


def _coins(channel: Channel, terms: Terms) -> Iterator[tuple[Vector, Vector, Vector]]:
    """Yield, for each view, the smallest and largest contribution of each seed's codes, and the seed's probability."""
    weights = np.array([weight for weight, _ in terms])
    for index, view in enumerate(channel.views):
        oracle, share = view.oracle, channel.probability(index)
        readings = [Reading(channel, {index: reading.products.get(index, [])}) for _, reading in terms]
        readings = [reading if reading.products[index] else Reading(channel, {}) for reading in readings]
        if not any(reading.products for reading in readings):
            yield np.zeros(1), np.zeros(1), np.array([share])
        elif oracle.alphabet > WHOLE_ALPHABET:
            ends = np.array([view_bounds(reading) for reading in readings])
            ordered = np.sort(ends * weights[:, None], axis=1).sum(axis=0)
            yield ordered[:1], ordered[1:], np.array([share])
        else:
            values = contributions(channel, readings, view.offset + np.arange(oracle.alphabet)) @ weights
            rows = values[1:].reshape(-1, oracle.g) if isinstance(oracle, LinearHash) else values[None, :]
            yield rows.min(axis=1), rows.max(axis=1), np.full(len(rows), share / len(rows))
