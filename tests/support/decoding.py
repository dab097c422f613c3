"""Exact means and variances of decoded functionals, by summing over every code of every view."""

from __future__ import annotations

import math

import numpy as np

from support.channels import cell_in_view
from tacit.contract.contract import ServiceContract
from tacit.contract.oracles import Oracle
from tacit.estimate.decoder import Decoded
from tacit.estimate.functional import Functional
from tacit.estimate.reading import Factor, Reading


def oracle_row(oracle: Oracle, cell: int) -> np.ndarray:
    """Return P(code | cell) as doubles."""
    return np.array([oracle.weight(cell, code) / oracle.denominator for code in range(oracle.alphabet)])


def oracle_table(oracle: Oracle) -> np.ndarray:
    """Return P(code | cell) as doubles, a row for each cell, of codes with one weight in their support, one outside."""
    codes = np.arange(oracle.alphabet)
    marks = oracle.support(codes).T
    inside, outside = marks.argmax(axis=0), (~marks).argmax(axis=0)  # a cell of either kind, where there is one
    weights = [[oracle.weight(int(cells[c]), int(c)) for c in codes] for cells in (inside, outside)]
    table: np.ndarray = np.where(marks, *np.array(weights, dtype=np.float64)) / oracle.denominator
    return table


class Exact:
    """Moments of decoded functionals for single records."""

    def __init__(self, service: ServiceContract) -> None:
        self.service = service
        self._rows: dict[tuple[Oracle, int], np.ndarray] = {}

    def _moment(self, channel: int, reading: Reading, record: tuple[int, ...], power: int) -> float:
        values, total = reading.contributions(), 0.0
        own = self.service.channels[channel]
        for index, view in enumerate(own.views):
            cell = cell_in_view(self.service, own, index, record)
            if (view.oracle, cell) not in self._rows:
                self._rows[view.oracle, cell] = oracle_row(view.oracle, cell)
            part = values[view.offset : view.offset + view.oracle.alphabet]
            total += own.view_weight(index) / view.oracle.span * float(self._rows[view.oracle, cell] @ part**power)
        return total

    def factor_mean(self, factor: Factor, record: tuple[int, ...]) -> float:
        """Return the mean of a factor."""
        return factor.constant + sum(self._moment(c, reading, record, 1) for c, reading in factor.readings.items())

    def factor_variance(self, factor: Factor, record: tuple[int, ...]) -> float:
        """Return the variance of a factor; channels are independent."""
        return sum(
            self._moment(c, reading, record, 2) - self._moment(c, reading, record, 1) ** 2
            for c, reading in factor.readings.items()
        )

    def mean(self, decoded: Decoded, record: tuple[int, ...]) -> float:
        """Return the mean of a person's contribution."""
        return sum(
            coefficient * math.prod(self.factor_mean(factor, record) for factor in factors)
            for coefficient, factors in decoded.products
        )


def random_functional(source: np.random.Generator, sizes: tuple[int, ...], terms: int = 2) -> Functional:
    """Return a sum of products of random value vectors and random predicates."""
    total = Functional.constant(sizes, float(source.normal()))
    for _ in range(terms):
        product = Functional.constant(sizes, float(source.normal()))
        for i in source.choice(len(sizes), source.integers(1, len(sizes) + 1), replace=False):
            vector = source.normal(size=sizes[i]) if source.random() < 0.5 else source.random(sizes[i]) < 0.5
            product = product * Functional.of(sizes, int(i), vector)
        total = total + product
    return total


def range_functional(source: np.random.Generator, sizes: tuple[int, ...], volume: float) -> Functional:
    """Return a conjunction of random ranges, each of the given share of its domain."""
    total = Functional.constant(sizes)
    for i, size in enumerate(sizes):
        width = max(1, round(size * volume))
        low = int(source.integers(0, size - width + 1))
        total = total * Functional.of(sizes, i, (np.arange(size) >= low) & (np.arange(size) < low + width))
    return total
