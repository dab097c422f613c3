"""Exact matrices of channels, independent of how they are sampled."""

from __future__ import annotations

import itertools
from fractions import Fraction

from tacit.contract.budget import exp_below
from tacit.contract.contract import Channel, Contract, ServiceContract
from tacit.contract.layouts import LAYOUTS, ROUNDED
from tacit.contract.oracles import ORACLES, Oracle


def enumerable() -> list[str]:
    """Return the names of oracles whose codes for two cells can be visited one by one."""
    return [name for name, build in ORACLES.items() if build((2,), exp_below(Fraction(1))).alphabet < 2**20]


def plain_layouts() -> list[str]:
    """Return the names of layouts that take any service and no number."""
    return [name for name in LAYOUTS if name not in ROUNDED and "(k)" not in name]


def oracle_matrix(oracle: Oracle) -> list[list[Fraction]]:
    """Return P(code | cell) for all cells and codes."""
    return [
        [Fraction(oracle.weight(cell, code), oracle.denominator) for code in range(oracle.alphabet)]
        for cell in range(oracle.domain)
    ]


def all_records(service: ServiceContract) -> list[tuple[int, ...]]:
    """Return every record of value indices."""
    return list(itertools.product(*(range(levels.size) for levels in service.levels)))


def cell_in_view(service: ServiceContract, channel: Channel, view_index: int, record: tuple[int, ...]) -> int:
    """Return the flat cell of a record in a view."""
    view = channel.views[view_index]
    flat = 0
    for i, size in zip(view.active, view.oracle.sizes, strict=True):
        flat = flat * size + service.levels[i][view.levels[i]].cell_of(record[i])
    return flat


def channel_row(service: ServiceContract, channel: Channel, record: tuple[int, ...]) -> list[Fraction]:
    """Return P(code | record) over the whole alphabet of a channel."""
    span = channel.views[0].oracle.span
    row: list[Fraction] = []
    for index, view in enumerate(channel.views):
        share = Fraction(channel.view_weight(index), span)
        cell = cell_in_view(service, channel, index, record)
        oracle = view.oracle
        row += [share * Fraction(oracle.weight(cell, code), oracle.denominator) for code in range(oracle.alphabet)]
    return row


def person_ratio(contract: Contract) -> Fraction:
    """Return the worst likelihood ratio of a person's whole output, composed independently of the audit."""
    total = Fraction(1)
    for service in contract.services:
        for channel in service.channels:
            rows = [channel_row(service, channel, record) for record in all_records(service)]
            columns = zip(*rows, strict=True)
            total *= max(max(column) / min(column) for column in columns if max(column) > 0) ** service.service.sends
    return total
