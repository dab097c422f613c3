"""What a person with any number of rows sends, exactly: probabilities and means over all draws."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

from support.channels import channel_row
from tacit.contract.contract import Channel, ServiceContract

Row = tuple[int, ...]
"""A record as value indices."""


def drawn_places(service: ServiceContract, rows: int) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Yield the places of all slots with their exact probability, draws modulo the places left included."""
    shape, span = service.service, service.channels[0].views[0].oracle.span
    if shape.at_most is None:
        yield (0,), Fraction(1)
        return
    places = max(rows, shape.at_most)
    for picks in itertools.product(*(range(places - slot) for slot in range(shape.sends))):
        chance, left, chosen = Fraction(1), list(range(places)), []
        for slot, pick in enumerate(picks):
            count = places - slot
            chance *= Fraction(span // count + (pick < span % count), span)
            chosen.append(left.pop(pick))
        yield tuple(chosen), chance


def slot_row(service: ServiceContract, channel: Channel, rows: Sequence[Row], place: int) -> list[Fraction]:
    """Return P(code) of one slot's report."""
    if place < len(rows):
        return channel_row(service, channel, rows[place])
    return extra_row(channel, service.service.extras, 1 if rows else 0)


def extra_row(channel: Channel, extras: int, extra: int) -> list[Fraction]:
    """Return P(code) of a report of an extra cell."""
    row: list[Fraction] = []
    for index, view in enumerate(channel.views):
        oracle = view.oracle
        others = oracle.domain // oracle.sizes[0]
        cell = (oracle.sizes[0] - extras + extra) * others
        share = Fraction(channel.view_weight(index), oracle.span)
        row += [share * Fraction(oracle.weight(cell, code), oracle.denominator) for code in range(oracle.alphabet)]
    return row


def sent(service: ServiceContract, rows: Sequence[Row]) -> list[Fraction]:
    """Return the probability of every combination of codes of all slots and channels that a person may send."""
    total: list[Fraction] = []
    for places, chance in drawn_places(service, len(rows)):
        joint = [chance]
        for place in places:
            for channel in service.channels:
                own = slot_row(service, channel, rows, place)
                joint = [known * more for known in joint for more in own]
        total = [a + b for a, b in zip(total, joint, strict=True)] if total else joint
    return total


def possible_people(values: int, at_most: int) -> list[tuple[Row, ...]]:
    """Return everybody a service of one attribute may hold: all multisets of up to at_most + 1 rows."""
    single = [(value,) for value in range(values)]
    return [rows for count in range(at_most + 2) for rows in itertools.combinations_with_replacement(single, count)]
